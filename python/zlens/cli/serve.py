"""Serve the web UI for the inputs and print its address. Only this machine can reach it; with --listen other
machines can too, if they present the printed token. Behind a proxy that authenticates users, --user-header
replaces the token. The web UI needs no network access and reads only INPUT. Press Ctrl-C to stop.

Examples:
  zlens serve monwrite.data
  zlens serve zvm/*.data rmf.xml --tz Europe/Berlin --open
  zlens serve monwrite.data --listen 0.0.0.0:8017 --token-file token
  zlens serve --rig rig
  zlens serve lake --listen unix:/run/zlens/zlens.sock --public-url https://perf.example/zlens \\
    --user-header X-Forwarded-User --trust-proxy unix --log requests.log
"""

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

from zlens.cli import complain, inputs, serve_options
from zlens.errors import QueryError

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from zlens.cli.serve_options import ServeOptions
    from zlens.server.rig_runs import RigRuns
    from zlens.server.running_requests import RunningRequests
    from zlens.server.workspace import Workspace
    from zlens.session.session import CoreSession

#: New objects between two garbage collections.
_OBJECTS = 10_000
#: Seconds after which a computing thread gives up the lock of the interpreter, by default 0.005: the thread
#: that sends responses waits for it several times per request.
_TURN_S = 0.001
#: DuckDB's allocator returns memory after 0.2 s: by default it keeps as much as the tables take, and at once
#: takes a tenth more CPU time.
_ALLOCATOR = ("DUCKDB_JE_MALLOC_CONF", "dirty_decay_ms:200,muzzy_decay_ms:0")

OPTIONS = f"""{inputs.ANY_INPUTS}
--rig DIR  runs of the rig, from zlens rig run -o DIR: their results, and each as an input to open
{serve_options.OPTIONS}{inputs.SELECTING}"""


def run(arguments: argparse.Namespace) -> int:
    # Read when DuckDB is loaded.
    os.environ.setdefault(*_ALLOCATOR)
    try:
        return _run(arguments)
    except SystemExit as ending:
        if threading.active_count() == 1 or not isinstance(ending.code, int):
            raise
        # Everything is closed. With a thread that still waits for the engine, finalizing the
        # interpreter would print leaks of the engine.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ending.code)


def _run(arguments: argparse.Namespace) -> int:
    from zlens.progress import Progress
    from zlens.session.session import CoreSession

    options = inputs.parse_options(arguments)
    runs, input_names = _runs(arguments)
    with (
        serve_options.open_server(arguments) as server,
        inputs.input_files(input_names) as files,
        Progress() as progress,
        CoreSession(files, options, progress) as session,
    ):
        progress.close()
        # Fork workers before any thread starts.
        with closing(_place(session, files, runs, server)) as workspace:
            session.keeps_tables = True
            inputs.print_throughput_notes(session)
            status = inputs.exit_status(session.problems, strict=arguments.strict)
            view = "" if runs is None else "#/rig"
            _serve(workspace, server, lambda: server.show(open=arguments.open, view=view))
            return status


def _runs(arguments: argparse.Namespace) -> tuple[RigRuns | None, list[str]]:
    """Return the runs of the rig, if any, and the inputs; without inputs, the first run is the input."""
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


def _place(session: CoreSession, files: list[str], runs: RigRuns | None, server: ServeOptions) -> Workspace:
    """Create the workspace, on Linux with workers for SQL and scenarios."""
    from zlens.server import app
    from zlens.server.sql_workers import SqlWorkers
    from zlens.server.workspace import Workspace

    workspace = Workspace(session, files, runs=runs)
    if sys.platform == "linux":
        workspace.processes = SqlWorkers(
            lambda request, _: app.answer_apart(workspace, request), server.listener, server.limits
        )
    return workspace


def _serve(workspace: Workspace, server: ServeOptions, show: Callable[[], None]) -> None:
    from zlens.server.app import create_app
    from zlens.server.running_requests import RunningRequests
    from zlens.server.warmup import Warmup

    running = RunningRequests(server.limits)
    warmup = Warmup(workspace)
    app = create_app(workspace, server.guard(), running, log=server.log)
    try:
        serve_app(app, running, server.listener, show)
    finally:
        warmup.end()
        running.cancel_all()


def serve_app(
    app: ASGIApp,
    running: RunningRequests,
    listener: socket.socket,
    show: Callable[[], None],
    ending: Callable[[], None] = lambda: None,
) -> None:
    """Serve until Ctrl-C or SIGTERM.

    show    is called when requests are accepted
    ending  is called before requests in progress are canceled
    """
    import asyncio

    import uvicorn

    from zlens.server.connections import accept_errors

    # Unlike a command, a server does not end soon, and closed sessions are reference cycles.
    gc.set_threshold(_OBJECTS, 10, 10)
    sys.setswitchinterval(_TURN_S)

    class Ending(uvicorn.Server):
        """A server that cancels requests before it ends, so that they can respond."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            asyncio.get_running_loop().set_exception_handler(accept_errors(complain))
            await super().startup(sockets)
            show()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            ending()
            await asyncio.to_thread(running.cancel_all)
            await super().shutdown(sockets)

    Ending(config(app)).run(sockets=[listener])


def config(app: ASGIApp) -> uvicorn.Config:
    """Return the configuration of HTTP: no server header, and no headers of proxies."""
    import uvicorn

    from zlens.server.connections import BACKLOG, TimeoutProtocol

    return uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        server_header=False,
        ws="none",
        loop="asyncio",
        backlog=BACKLOG,
        http=TimeoutProtocol,
        h11_max_incomplete_event_size=64 * 1024,
        timeout_graceful_shutdown=2,
        proxy_headers=False,
    )
