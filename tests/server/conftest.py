"""Fixtures with an HTTP server over the demo files, on a port of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from ports import free_socket

import zlens
from zlens.api import Session
from zlens.cli.serve import config
from zlens.server.app import create_app
from zlens.server.guard import Guard
from zlens.server.running_requests import RunningRequests
from zlens.server.workspace import Workspace

#: Runs a server over a session inside a `with` block.
Serve = Callable[..., AbstractContextManager["Served"]]


class Served:
    """A running server with its workspace and session."""

    def __init__(self, place: Workspace, running: RunningRequests, address: str) -> None:
        self.place = place
        self.session = place.session
        self.running = running
        self.address = address
        self.client = httpx.Client(base_url=address, timeout=60, verify=False)

    def get(self, name: str, /, **parameters: object) -> httpx.Response:
        return self.client.get(f"/api/v1/{name}", params=parameters)  # type: ignore[arg-type]

    def post(self, name: str, /, **parameters: object) -> httpx.Response:
        return self.client.post(f"/api/v1/{name}", json=parameters)


@contextmanager
def serving(
    session: Session, inputs: list[str], guard: Guard | None = None, running: RunningRequests | None = None
) -> Iterator[Served]:
    place, running, listening = Workspace(session._core, inputs), running or RunningRequests(), free_socket()
    server = uvicorn.Server(config(create_app(place, guard, running)))
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    served = Served(place, running, f"http://127.0.0.1:{listening.getsockname()[1]}")
    try:
        yield served
    finally:
        running.cancel_all()
        served.client.close()
        server.should_exit = True
        thread.join(10)
        listening.close()


@pytest.fixture(scope="session")
def served(demo_files: list[Path]) -> Iterator[Served]:
    """A server over the z/VM demo file; shared, because tests do not change its data."""
    path = str(demo_files[0])
    with zlens.open(path) as session, serving(session, [path]) as found:
        yield found


@pytest.fixture(scope="session")
def serve_over() -> Serve:
    return serving
