"""Options of commands that serve the web UI: address, access and limits."""

from __future__ import annotations

import argparse
import secrets
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import TYPE_CHECKING

from msgspec import Struct

from zlens.cli import listen_socket
from zlens.errors import InputError, QueryError
from zlens.server.limits import RequestLimits

if TYPE_CHECKING:
    from zlens.server.guard import Guard
    from zlens.server.proxy import Proxy, PublicUrl
    from zlens.server.request_log import RequestLog

#: Shorter tokens can be guessed.
_MIN_TOKEN_LENGTH = 16
_TOKEN_CURE = "leave --token-file out to generate a token"
_GB = 1024**3
LIMITS = RequestLimits()


#: Options for address, proxy and limits of the web UI.
OPTIONS = f"""
address:
--port N:int              port on this machine ({listen_socket.DEFAULT_PORT}, or the next free one)
--listen HOST:PORT        serve other machines too: 0.0.0.0:8017; needs a token. unix:FILE: a Unix socket, for
                          a proxy
--token-file FILE         read the token from FILE, which only you can read (default: generate and print one)
--open                    open the web UI in the browser
behind a proxy:
--public-url URL          the address that users see: https://perf.example/zlens
--user-header NAME        the header in which the proxy names the user: X-Forwarded-User; needs --trust-proxy
--trust-proxy ADDRESS...  believe that header from this address or network, or from the Unix socket (unix);
                          repeatable
--log FILE                append a line of JSON per request: user and request, without any data; - is standard
                          error
limits:
--metrics-rows N:int [{LIMITS.rows}]  rows of each measure and system in /metrics, the largest
                          (%(default)s); 0: all
--user-requests N:int [{LIMITS.questions}]  requests that a user of --user-header may have in progress
                          (%(default)s); of SQL and scenarios one at a time
--query-memory GB:float [{LIMITS.memory / _GB}]  memory of an SQL query, or of a scenario (%(default)g)
--request-time SECONDS:float [{LIMITS.seconds}]  time limit of a request (%(default)g)
"""


class ServeOptions(Struct, frozen=True):
    """Options of a server.

    listener   bound socket
    token      token that requests must present, if any
    printed    whether to print the token
    public     public address if the server is behind a proxy
    proxy      proxy that names users
    limits     limits of requests
    log        log of requests
    """

    listener: socket.socket
    token: str | None
    printed: bool
    public: PublicUrl | None
    proxy: Proxy | None
    limits: RequestLimits
    log: RequestLog | None

    def guard(self) -> Guard:
        """Return the access control of the server."""
        from zlens.server.guard import Guard, own_names

        _, host, port = listen_socket.address(self.listener)
        hosts = frozenset({host, *own_names()}) if self.token is not None else frozenset()
        return Guard(hosts, self.token, f"zlens_{port}", self.public, self.proxy)

    def show(self, *, open: bool, view: str = "") -> None:
        """Print the address, and with `open` show it in the browser."""
        local_address, _, _ = listen_socket.address(self.listener)
        address = str(self.public) if self.public is not None else local_address
        print(address + view, flush=True)
        if self.printed:
            print(f"token: {self.token}", flush=True)
        if open:
            import webbrowser

            webbrowser.open(address + view)


@contextmanager
def open_server(arguments: argparse.Namespace) -> Iterator[ServeOptions]:
    """Yield the options of a server, with its socket bound and its log open."""
    from zlens.server.request_log import RequestLog

    public, proxy = _proxy(arguments)
    limits = _limits(arguments)
    token, printed = _token(arguments, proxy)
    with (
        listen_socket.open_socket(arguments) as listener,
        nullcontext() if arguments.log is None else closing(RequestLog(arguments.log)) as log,
    ):
        yield ServeOptions(listener, token, printed, public, proxy, limits, log)


def _proxy(arguments: argparse.Namespace) -> tuple[PublicUrl | None, Proxy | None]:
    """Return the public address and the proxy that names users, if any."""
    from zlens.server.proxy import Proxy, PublicUrl

    public = None if arguments.public_url is None else PublicUrl.read(arguments.public_url)
    if arguments.user_header is None:
        if arguments.trust_proxy:
            raise QueryError("--trust-proxy needs --user-header", cure="name the header that the proxy sets")
        return public, None
    if not arguments.trust_proxy:
        raise QueryError(
            "--user-header needs --trust-proxy",
            cure="name the address of the proxy, or unix: anybody else could name a user",
        )
    return public, Proxy.read(arguments.user_header, arguments.trust_proxy)


def _limits(arguments: argparse.Namespace) -> RequestLimits:
    for name, value, minimum, maximum in (
        ("--user-requests", arguments.user_requests, 1, 64),
        ("--query-memory", arguments.query_memory, 0.25, 1024),
        ("--request-time", arguments.request_time, 1, 86400),
    ):
        if not minimum <= value <= maximum:
            raise QueryError(f"{name} {value:g} is out of range", expected=f"{minimum:g} to {maximum:g}")
    rows = arguments.metrics_rows
    if rows < 0:
        raise QueryError(f"--metrics-rows {rows} is not a number of rows", expected="0 (all) or more")
    memory = int(arguments.query_memory * _GB)
    return RequestLimits(arguments.request_time, memory, arguments.user_requests, rows or None)


def _token(arguments: argparse.Namespace, proxy: Proxy | None) -> tuple[str | None, bool]:
    """Return the required token, if any, and whether to print it.

    No token is needed if a proxy names users, or if the permissions of a Unix socket control access.
    """
    if arguments.listen is None:
        if arguments.token_file is not None:
            raise QueryError("--token-file needs --listen", cure="leave --token-file out")
        return None, False
    if arguments.port is not None:
        raise QueryError("--listen includes the port", cure="leave --port out")
    if arguments.token_file is None:
        if proxy is not None or arguments.listen.startswith(listen_socket.UNIX):
            return None, False
        return secrets.token_urlsafe(24), True
    from zlens.schema import user_files

    try:
        text = (
            user_files.read_secret(arguments.token_file, 4096, "token", _TOKEN_CURE).decode("ascii").strip()
        )
    except UnicodeDecodeError:
        text = ""
    if len(text) < _MIN_TOKEN_LENGTH or not all(char.isalnum() or char in "-_.~" for char in text):
        raise InputError(
            "contains no token",
            file=arguments.token_file,
            expected=f"one line of {_MIN_TOKEN_LENGTH} or more letters, digits and -_.~",
            cure=_TOKEN_CURE,
        )
    return text, False
