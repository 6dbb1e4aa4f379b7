"""zlens serve: serve the page to the browser."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from zlens.cli import inputs, listening
from zlens.errors import InputError, QueryError
from zlens.exposition import limits as exposition
from zlens.server.limits import Limits

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from zlens.server.guard import Guard
    from zlens.server.place import Place
    from zlens.server.proxy import Proxy, PublicUrl
    from zlens.server.request_log import RequestLog
    from zlens.server.runs import Runs
    from zlens.session.session import Session

DESCRIPTION = """\
Serve the page for the inputs and print its address. Only this machine can reach it; with --listen other
machines can too, if they present the printed token. Behind a proxy that knows its users, --user-header takes
the place of the token. The page needs no network access and reads nothing but INPUT. Press Ctrl-C to stop.
"""
EXAMPLES = """\
Examples:
  zlens serve monwrite.data
  zlens serve zvm/*.data rmf.xml --tz Europe/Berlin --open
  zlens serve monwrite.data --listen 0.0.0.0:8017 --token-file token
  zlens serve --rig rig
  zlens serve lake --listen unix:/run/zlens/zlens.sock --public-url https://perf.example/zlens \\
    --user-header X-Forwarded-User --trust-proxy unix --log requests.log
"""
#: A token shorter than this can be guessed.
_SHORTEST = 16
_TOKEN_CURE = "leave --token-file out to generate a token"
_GB = 1024**3
LIMITS = Limits()


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_inputs(parser, required=False)
    parser.add_argument(
        "--rig",
        metavar="DIR",
        help="runs of the rig, from zlens rig run -o DIR: their results, and each as an input to open",
    )
    where = parser.add_argument_group("address")
    where.add_argument(
        "--port", type=int, metavar="N", help=f"port on this machine ({listening.PORT}, or the next free one)"
    )
    where.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="serve other machines too: 0.0.0.0:8017; needs a token. unix:FILE: a Unix socket, for a proxy",
    )
    where.add_argument(
        "--token-file",
        metavar="FILE",
        help="read the token from FILE (default: generate and print one)",
    )
    where.add_argument("--open", action="store_true", help="open the page in the browser")
    team = parser.add_argument_group("behind a proxy")
    team.add_argument(
        "--public-url", metavar="URL", help="the address that users see: https://perf.example/zlens"
    )
    team.add_argument(
        "--user-header",
        metavar="NAME",
        help="the header in which the proxy names the user: X-Forwarded-User; needs --trust-proxy",
    )
    team.add_argument(
        "--trust-proxy",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="believe that header from this address or network, or from the Unix socket (unix); repeatable",
    )
    team.add_argument(
        "--log",
        metavar="FILE",
        help="append a line of JSON per request: who asked what, without any data; - is standard error",
    )
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--metrics-rows",
        type=int,
        default=exposition.ROWS,
        metavar="N",
        help="rows of each measure and system in /metrics, the largest (%(default)s); 0: all",
    )
    limits.add_argument(
        "--user-questions",
        type=int,
        metavar="N",
        default=LIMITS.questions,
        help="requests that a user of --user-header may have in progress (%(default)s), of SQL one at a time",
    )
    limits.add_argument(
        "--question-memory",
        type=float,
        metavar="GB",
        default=LIMITS.memory / _GB,
        help="memory of a question in SQL (%(default)g)",
    )
    limits.add_argument(
        "--question-time",
        type=float,
        metavar="SECONDS",
        default=LIMITS.seconds,
        help="time of any question (%(default)g)",
    )
    inputs.add_options(parser)


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
    from zlens.server.guard import Guard, own_names

    public, proxy = _proxy(arguments)
    limits = _limits(arguments)
    token, printed = _token(arguments, proxy)
    rows = _rows(arguments.metrics_rows)
    options = inputs.options_of(arguments)
    runs, named = _runs(arguments)
    with (
        listening.opened(arguments) as listener,
        _log(arguments) as log,
        inputs.files_of(named) as files,
        Progress() as progress,
        zlens.open(files, options=options, progress=progress) as session,
    ):
        progress.close()
        # Forked before anything starts a thread.
        with closing(_place(session, files, runs, listener, limits)) as place:
            inputs.say_throughput(session)
            status = inputs.status_of(session.problems, strict=arguments.strict)
            address, host, port = listening.address(listener)
            hosts = frozenset({host, *own_names()}) if token is not None else frozenset()
            guard = Guard(hosts, token, f"zlens_{port}", public, proxy)
            view = "" if runs is None else "#/rig"
            address = str(public) if public is not None else address
            print(address + view, flush=True)
            if printed:
                print(f"token: {token}", flush=True)
            if arguments.open:
                import webbrowser

                webbrowser.open(address + view)
            _serve(place, guard, listener, limits, rows, log)
            return status


def _proxy(arguments: argparse.Namespace) -> tuple[PublicUrl | None, Proxy | None]:
    """The address that users see and the proxy that names them, if there is a proxy."""
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


def _limits(arguments: argparse.Namespace) -> Limits:
    for name, value, least, most in (
        ("--user-questions", arguments.user_questions, 1, 64),
        ("--question-memory", arguments.question_memory, 0.25, 1024),
        ("--question-time", arguments.question_time, 1, 86400),
    ):
        if not least <= value <= most:
            raise QueryError(f"{name} {value:g} is out of range", expected=f"{least:g} to {most:g}")
    return Limits(arguments.question_time, int(arguments.question_memory * _GB), arguments.user_questions)


@contextmanager
def _log(arguments: argparse.Namespace) -> Iterator[RequestLog | None]:
    if arguments.log is None:
        yield None
        return
    from zlens.server.request_log import RequestLog

    with closing(RequestLog(arguments.log)) as log:
        yield log


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


def _place(
    session: Session, files: list[str], runs: Runs | None, listener: socket.socket, limits: Limits
) -> Place:
    """What the server answers from, with processes for SQL of the user where the system can make them."""
    from zlens.server import app
    from zlens.server.place import Place
    from zlens.server.processes import Processes

    place = Place(session, files, runs=runs)
    if sys.platform == "linux":
        place.processes = Processes(lambda request: app.answer_sql(place, request), listener, limits)
    return place


def _rows(number: int) -> exposition.Limits:
    """The rows of each measure and system that are exported."""
    if number < 0:
        raise QueryError(f"--metrics-rows {number} is not a number of rows", expected="0 (all) or more")
    return exposition.Limits(number or None)


def _serve(
    place: Place,
    guard: Guard,
    listener: socket.socket,
    limits: Limits,
    exported: exposition.Limits,
    log: RequestLog | None,
) -> None:
    import asyncio

    import uvicorn

    from zlens.server.app import create
    from zlens.server.running import Running
    from zlens.server.warming import Warming

    running = Running(limits)
    warming = Warming(place)

    class Ending(uvicorn.Server):
        """Cancels running queries first, so that they can still answer that they were canceled."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await asyncio.to_thread(running.cancel_all)
            await super().shutdown(sockets)

    app = create(place, guard, running, exported=exported, log=log)
    try:
        Ending(config(app)).run(sockets=[listener])
    except KeyboardInterrupt:
        # The normal end of a server.
        return
    finally:
        warming.end()
        running.cancel_all()


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


def _token(arguments: argparse.Namespace, proxy: Proxy | None) -> tuple[str | None, bool]:
    """The required token, if any, and whether to print it.

    Where a proxy names the users, or the rights of a Unix socket say who may connect, none is needed.
    """
    if arguments.listen is None:
        if arguments.token_file is not None:
            raise QueryError("--token-file needs --listen", cure="leave --token-file out")
        return None, False
    if arguments.port is not None:
        raise QueryError("--listen includes the port", cure="leave --port out")
    if arguments.token_file is None:
        if proxy is not None or arguments.listen.startswith(listening.UNIX):
            return None, False
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
