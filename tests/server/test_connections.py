"""Tests of the server's connections."""

from __future__ import annotations

import asyncio
import resource
import socket
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import uvicorn
from ports import free_socket
from server_process import program

from patience import until
from zlens.cli import listen_socket
from zlens.cli.serve import config, serve_app
from zlens.server import response_bodies
from zlens.server.connections import TimeoutProtocol
from zlens.server.response_bodies import BodySender
from zlens.server.running_requests import RunningRequests


def _own_loop(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in a thread, because UI tests leave an event loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result(60)


def test_address_is_shown_when_requests_are_accepted(monkeypatch: pytest.MonkeyPatch):
    """What the server imports and its event loop need no time of the first request."""
    turns: list[float] = []
    monkeypatch.setattr("sys.setswitchinterval", turns.append)

    def show() -> None:
        assert asyncio.get_running_loop().is_running()
        # Threads that compute let the event loop respond.
        assert turns == [pytest.approx(0.001)]
        raise EOFError

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError

    with free_socket() as listener, ThreadPoolExecutor(1) as pool, pytest.raises(EOFError):
        pool.submit(serve_app, app, RunningRequests(), listener, show).result(60)


def test_response_does_not_wait_for_acknowledgment():
    # asyncio sets TCP_NODELAY only for known protocols; without it, reused connections wait 40 ms.
    async def delays() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def meet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.set_result(
                writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            )
            writer.close()

        with listen_socket._bind("127.0.0.1", 0) as listener:
            async with await asyncio.start_server(meet, sock=listener):
                _, writer = await asyncio.open_connection(*listener.getsockname())
                found = await accepted
                writer.close()
                return found

    assert _own_loop(delays()) != 0


def _connected(served) -> socket.socket:
    url = httpx.URL(served.address)
    return socket.create_connection((url.host, url.port), timeout=20)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: loc", b"G"])
def test_partial_request_header_times_out(served, monkeypatch, sent):
    monkeypatch.setattr(TimeoutProtocol, "arrival_s", 0.3)
    with _connected(served) as client:
        client.sendall(sent)
        assert client.recv(1) == b"", "it is ended without an answer"


def test_slow_request_header_times_out(served, monkeypatch):
    monkeypatch.setattr(TimeoutProtocol, "arrival_s", 0.5)
    with _connected(served) as client:
        client.settimeout(0.02)
        end = time.monotonic() + 60
        ended = False
        while not ended:
            assert time.monotonic() < end
            try:
                client.sendall(b"G")
                ended = client.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                ended = True


def test_reused_connection_survives_header_timeout(served, monkeypatch):
    monkeypatch.setattr(TimeoutProtocol, "arrival_s", 0.5)
    with httpx.Client(base_url=served.address, timeout=60) as client:
        assert client.get("/api/v1/running").status_code == 200
        time.sleep(1)
        assert client.get("/api/v1/running").status_code == 200


def _is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_oldest_half_open_connections_are_closed(served, monkeypatch):
    # By default half of the open files; without a limit, 1,200 such connections stopped the server.
    monkeypatch.setattr(TimeoutProtocol, "most", 8)
    clients = []
    for _ in range(20):
        clients.append(_connected(served))
        clients[-1].sendall(b"GET / HT")
    with httpx.Client(base_url=served.address, timeout=20) as client:
        for _ in range(3):
            assert client.get("/api/v1/running").status_code == 200
    until(lambda: sum(map(_is_open, clients)) <= 6)
    assert not any(map(_is_open, clients[:14])), "the oldest ones are closed"
    for each in clients:
        each.close()


@pytest.mark.parametrize(("most", "open_connections"), [(8, 6), (100, 10)])
def test_running_requests_keep_connections(monkeypatch, most, open_connections):
    monkeypatch.setattr(TimeoutProtocol, "most", most)
    started, release = [], threading.Event()

    async def app(scope, receive, send) -> None:
        started.append(scope)
        while not release.is_set():
            await asyncio.sleep(0.01)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    listening = free_socket()
    server = uvicorn.Server(config(app))
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    clients = []
    for number in range(10):
        clients.append(socket.create_connection(listening.getsockname(), timeout=20))
        clients[-1].sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        expected = min(number + 1, open_connections)
        until(lambda expected=expected: len(started) == expected)
    # Three quarters of all may be from one address; of more, the new one is closed.
    until(lambda: [_is_open(each) for each in clients] == [n < open_connections for n in range(10)])
    release.set()
    for each in clients[:open_connections]:
        each.setblocking(True)
        assert each.recv(15) == b"HTTP/1.1 200 OK"
        each.close()
    server.should_exit = True
    thread.join(10)
    listening.close()


def test_open_file_limit_prints_one_line(demo_files):
    with program(str(demo_files[0])) as server:
        with server.client() as client:
            assert client.get("/running").status_code == 200
        url = httpx.URL(server.address)
        # Below the files that are open, as when inputs take more of them later.
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (24, 24))
        clients = [socket.create_connection((url.host, url.port), timeout=20) for _ in range(60)]
        time.sleep(2.5)
        for each in clients:
            each.close()
        with server.client() as client:
            assert client.get("/running").status_code == 200
        status, errors = server.end()
    assert (status, errors) == (143, "zlens: connections cannot be accepted: too many open files\n")


def test_unread_responses_share_memory_limit(served):
    counts: list[int] = []

    async def ask() -> None:
        bodies = BodySender(most=1000, patience_s=0.2)
        slow, never = bodies.response(b"x" * 600, 200), asyncio.Event()
        with pytest.raises(response_bodies.BusyError, match="0 MB of memory"):
            bodies.response(b"x" * 600, 200)

        async def stuck(message) -> None:
            if message["type"] == "http.response.body":
                await never.wait()

        with pytest.raises(TimeoutError):
            await slow({}, None, stuck)
        # A timed-out response frees its memory, and a single response of any size can be sent.
        sent = []

        async def took(message) -> None:
            sent.append(message)

        large = bodies.response(b"y" * 600_000, 200)
        await large({}, None, took)
        counts.append(len(sent))
        assert b"".join(message.get("body", b"") for message in sent) == b"y" * 600_000
        assert [message["more_body"] for message in sent[1:]] == [True, True, False]

    _own_loop(ask())
    assert counts == [4]


def test_response_rows_are_limited_by_values(served, monkeypatch):
    from zlens.server import json_values

    whole = served.post("rows", table="cpu", limit=100).json()
    assert len(whole["rows"]) == 100
    monkeypatch.setattr(json_values, "MOST", 10 * len(whole["columns"]))
    cut = served.post("rows", table="cpu", limit=100).json()
    assert cut["rows"] == whole["rows"][:10]
    assert cut["more"] is True
