"""zlens serve: serve the page to the browser."""

from __future__ import annotations

import argparse
import gc
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from zlens.cli import inputs, serve_options
from zlens.errors import QueryError

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from zlens.cli.serve_options import ServeOptions
    from zlens.server.rig_runs import RigRuns
    from zlens.server.running_requests import RunningRequests
    from zlens.server.workspace import Workspace
    from zlens.session.session import CoreSession

#: New objects between two searches for reference cycles.
_OBJECTS = 10_000

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


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_inputs(parser, required=False)
    parser.add_argument(
        "--rig",
        metavar="DIR",
        help="runs of the rig, from zlens rig run -o DIR: their results, and each as an input to open",
    )
    serve_options.add_options(parser)
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

    options = inputs.parse_options(arguments)
    runs, named = _runs(arguments)
    with (
        serve_options.open_server(arguments) as where,
        inputs.input_files(named) as files,
        Progress() as progress,
        zlens.open(files, options=options, progress=progress) as session,
    ):
        progress.close()
        # Forked before anything starts a thread.
        with closing(_place(session, files, runs, where)) as place:
            inputs.print_throughput_notes(session)
            status = inputs.exit_status(session.problems, strict=arguments.strict)
            where.show(open=arguments.open, view="" if runs is None else "#/rig")
            _serve(place, where)
            return status


def _runs(arguments: argparse.Namespace) -> tuple[RigRuns | None, list[str]]:
    """The runs of the rig, if any, and the inputs; without inputs, the first run is the input."""
    from zlens.server.rig_runs import RigRuns

    if arguments.rig is None:
        if not arguments.inputs:
            raise QueryError("nothing to serve", cure="name an INPUT, or runs of the rig with --rig DIR")
        return None, arguments.inputs
    runs = RigRuns(arguments.rig)
    names = runs.names()
    if arguments.inputs:
        return runs, arguments.inputs
    if not names:
        raise QueryError(f"{arguments.rig} has no monitor data of a run", cure="name an INPUT too")
    return runs, runs.files(names[0])[0]


def _place(session: CoreSession, files: list[str], runs: RigRuns | None, where: ServeOptions) -> Workspace:
    """What the server answers from, with processes for SQL and scenarios where the system can make them."""
    from zlens.server import app
    from zlens.server.sql_workers import SqlWorkers
    from zlens.server.workspace import Workspace

    place = Workspace(session, files, runs=runs)
    if sys.platform == "linux":
        place.processes = SqlWorkers(
            lambda request, _: app.answer_apart(place, request), where.listener, where.limits
        )
    return place


def _serve(place: Workspace, where: ServeOptions) -> None:
    from zlens.server.app import create_app
    from zlens.server.running_requests import RunningRequests
    from zlens.server.warmup import Warmup

    running = RunningRequests(where.limits)
    warming = Warmup(place)
    app = create_app(place, where.guard(), running, exported=where.exported, log=where.log)
    try:
        serve_app(app, running, where.listener)
    finally:
        warming.end()
        running.cancel_all()


def serve_app(
    app: ASGIApp, running: RunningRequests, listener: socket.socket, ending: Callable[[], None] = lambda: None
) -> None:
    """Serve until Ctrl-C or SIGTERM; `ending` is called first then."""
    import asyncio

    import uvicorn

    # Commands leave reference cycles to their end, which a server has not; closed sessions are such cycles.
    gc.set_threshold(_OBJECTS, 10, 10)

    class Ending(uvicorn.Server):
        """Cancels running queries first, so that they can still answer that they were canceled."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            ending()
            await asyncio.to_thread(running.cancel_all)
            await super().shutdown(sockets)

    try:
        Ending(config(app)).run(sockets=[listener])
    except KeyboardInterrupt:
        # The normal end of a server.
        return


def config(app: ASGIApp) -> uvicorn.Config:
    """How the server speaks HTTP: it says nothing of itself, and believes no proxy."""
    import uvicorn

    from zlens.server.connections import TimeoutProtocol

    return uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        server_header=False,
        ws="none",
        loop="asyncio",
        http=TimeoutProtocol,
        h11_max_incomplete_event_size=64 * 1024,
        timeout_graceful_shutdown=2,
        proxy_headers=False,
    )
