"""zlens serve: serve the page to the browser."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from zlens.cli import inputs
from zlens.errors import InputError, QueryError

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from zlens.server.guard import Guard
    from zlens.server.place import Place
    from zlens.server.running import Running
    from zlens.server.runs import Runs
    from zlens.session.session import Session

DESCRIPTION = """\
Serve the page for the inputs and print its address. Only this machine can reach it; with --listen other
machines can too, if they present the printed token. The page needs no network access and reads nothing but
INPUT. Press Ctrl-C to stop.
"""
EXAMPLES = """\
Examples:
  zlens serve monwrite.data
  zlens serve zvm/*.data rmf.xml --tz Europe/Berlin --open
  zlens serve monwrite.data --listen 0.0.0.0:8017 --token-file token
  zlens serve --rig rig
"""
PORT = 8017
#: Number of ports tried after the default one if none is given.
_NEXT = 20
#: A token shorter than this can be guessed.
_SHORTEST = 16
_TOKEN_CURE = "leave --token-file out to generate a token"


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_inputs(parser, required=False)
    parser.add_argument(
        "--rig",
        metavar="DIR",
        help="runs of the rig, from zlens rig run -o DIR: their results, and each as an input to open",
    )
    add_address(parser)
    inputs.add_options(parser)


def add_address(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where the page is served."""
    where = parser.add_argument_group("address")
    where.add_argument(
        "--port", type=int, metavar="N", help=f"port on this machine ({PORT}, or the next free one)"
    )
    where.add_argument(
        "--listen", metavar="HOST:PORT", help="serve other machines too: 0.0.0.0:8017; requires a token"
    )
    where.add_argument(
        "--token-file",
        metavar="FILE",
        help="read the token from FILE (default: generate and print one)",
    )
    where.add_argument("--open", action="store_true", help="open the page in the browser")


def run(arguments: argparse.Namespace) -> int:
    try:
        return _run(arguments)
    except SystemExit as ending:
        if threading.active_count() == 1 or not isinstance(ending.code, int):
            raise
        # Everything is closed. A thread that still waits for the engine would make the end of the
        # interpreter print what the engine calls leaks.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ending.code)


def _run(arguments: argparse.Namespace) -> int:
    import zlens
    from zlens.progress import Progress

    options = inputs.options_of(arguments)
    runs, named = _runs(arguments)
    address = Address.of(arguments)
    listening = address.listening
    with (
        listening,
        inputs.files_of(named) as files,
        Progress() as progress,
        zlens.open(files, options=options, progress=progress) as session,
    ):
        progress.close()
        # Forked before anything starts a thread.
        with closing(_place(session, files, runs, listening)) as place:
            inputs.say_throughput(session)
            status = inputs.status_of(session.problems, strict=arguments.strict)
            address.show(open=arguments.open, view="" if runs is None else "#/rig")
            _serve(place, address)
            return status


@dataclass(frozen=True, slots=True)
class Address:
    """Where the page is served: the bound socket, and the token that requests must present, if any.

    printed   whether the token is printed
    """

    listening: socket.socket
    token: str | None
    printed: bool

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Self:
        """The address that the options name; the socket is bound."""
        token, printed = _token(arguments)
        return cls(_socket(arguments), token, printed)

    def guard(self) -> Guard:
        """What checks requests to it."""
        from zlens.server.guard import Guard, own_names

        host, port = self.listening.getsockname()[:2]
        hosts = frozenset({_display_host(host), *own_names()}) if self.token is not None else frozenset()
        return Guard(hosts, self.token, f"zlens_{port}")

    def show(self, *, open: bool, view: str = "") -> None:
        """Print the address, and open it in the browser."""
        host, port = self.listening.getsockname()[:2]
        display_host = _display_host(host)
        address = f"http://{f'[{display_host}]' if ':' in display_host else display_host}:{port}/"
        print((f"{address}?token={self.token}" if self.printed else address) + view, flush=True)
        if open:
            import webbrowser

            webbrowser.open((f"{address}?token={self.token}" if self.token else address) + view)


def _runs(arguments: argparse.Namespace) -> tuple[Runs | None, list[str]]:
    """The runs of the rig, if any, and the inputs; without inputs, the first run is the input."""
    from zlens.server.runs import Runs

    if arguments.rig is None:
        if not arguments.inputs:
            raise QueryError("nothing to serve", cure="name an INPUT, or runs of the rig with --rig DIR")
        return None, arguments.inputs
    runs = Runs(arguments.rig)
    names = runs.names()
    if arguments.inputs:
        return runs, arguments.inputs
    if not names:
        raise QueryError(f"{arguments.rig} has no monitor data of a run", cure="name an INPUT too")
    return runs, runs.files(names[0])[0]


def _place(session: Session, files: list[str], runs: Runs | None, listening: socket.socket) -> Place:
    """What the server answers from, with processes for SQL of the user where the system can make them."""
    from zlens.server import app
    from zlens.server.place import Place
    from zlens.server.processes import Processes

    place = Place(session, files, runs=runs)
    if sys.platform == "linux":
        place.processes = Processes(lambda request: app.answer_sql(place, request), listening)
    return place


def _serve(place: Place, address: Address) -> None:
    from zlens.server.app import create
    from zlens.server.running import Running
    from zlens.server.warming import Warming

    running = Running()
    warming = Warming(place)
    try:
        serve_app(create(place, address.guard(), running), running, address.listening)
    finally:
        warming.end()
        running.cancel_all()


def serve_app(
    app: ASGIApp, running: Running, listening: socket.socket, ending: Callable[[], None] = lambda: None
) -> None:
    """Serve until Ctrl-C or SIGTERM; `ending` is called first then."""
    import asyncio

    import uvicorn

    class Ending(uvicorn.Server):
        """Cancels running queries first, so that they can still answer that they were canceled."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            ending()
            await asyncio.to_thread(running.cancel_all)
            await super().shutdown(sockets)

    try:
        Ending(config(app)).run(sockets=[listening])
    except KeyboardInterrupt:
        # The normal end of a server.
        return


def config(app: ASGIApp) -> uvicorn.Config:
    """How the server speaks HTTP: it says nothing of itself, and believes no proxy."""
    import uvicorn

    from zlens.server.connections import Patient

    return uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        server_header=False,
        ws="none",
        loop="asyncio",
        http=Patient,
        h11_max_incomplete_event_size=64 * 1024,
        timeout_graceful_shutdown=2,
        proxy_headers=False,
    )


def _token(arguments: argparse.Namespace) -> tuple[str | None, bool]:
    """The required token, if any, and whether to print it."""
    if arguments.listen is None:
        if arguments.token_file is not None:
            raise QueryError("--token-file needs --listen", cure="leave --token-file out")
        return None, False
    if arguments.port is not None:
        raise QueryError("--listen includes the port", cure="leave --port out")
    if arguments.token_file is None:
        return secrets.token_urlsafe(24), True
    from zlens.schema import user_files

    try:
        text = user_files.content(arguments.token_file, 4096, "token", _TOKEN_CURE).decode("ascii").strip()
    except UnicodeDecodeError:
        text = ""
    if len(text) < _SHORTEST or not all(char.isalnum() or char in "-_.~" for char in text):
        raise InputError(
            "contains no token",
            file=arguments.token_file,
            expected=f"one line of {_SHORTEST} or more letters, digits and -_.~",
            cure=_TOKEN_CURE,
        )
    return text, False


def _socket(arguments: argparse.Namespace) -> socket.socket:
    """The bound socket, opened before any input is read, so that a taken port fails at once."""
    if arguments.listen is not None:
        host, colon, text = arguments.listen.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not (text.isascii() and text.isdecimal()) or int(text) > 65535:
            raise QueryError(
                f"{arguments.listen!r} is not an address", expected="HOST:PORT, such as 0.0.0.0:8017"
            )
        return _bound(host, int(text))
    if arguments.port is not None:
        if not 0 <= arguments.port <= 65535:
            raise QueryError(f"{arguments.port} is not a port", expected="0 to 65535; 0: any free port")
        return _bound("127.0.0.1", arguments.port)
    for port in range(PORT, PORT + _NEXT):
        try:
            bound = _bound("127.0.0.1", port)
        except QueryError:
            continue
        if port != PORT:
            print(f"zlens: port {PORT} is in use; using {port}", file=sys.stderr)
        return bound
    return _bound("127.0.0.1", 0)


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # With its protocol, which asyncio asks for: else an answer on a kept connection waits 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise QueryError(f"{host} is not the address of a machine: {error.strerror or error}") from None
    try:
        if os.name == "posix":
            # Otherwise the port of a server that just ended stays in use for a minute.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise QueryError(
            f"cannot listen on port {port} of {host}: {(error.strerror or str(error)).lower()}",
            cure="choose another port with --port or --listen HOST:PORT; 0 takes any free port",
        ) from None
    return listener


def _display_host(host: str) -> str:
    """The host to print: the machine's name if all its addresses are listened on."""
    return socket.gethostname().lower() if host in ("0.0.0.0", "::") else host
