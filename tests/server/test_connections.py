"""Tests of the server's connections."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from zlens.cli import listen_socket
from zlens.server import response_bodies
from zlens.server.connections import TimeoutProtocol
from zlens.server.response_bodies import BodySender


def _own_loop(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in a thread, because UI tests leave an event loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result(60)


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


def test_unread_responses_share_memory_limit(served):
    told: list[int] = []

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
        told.append(len(sent))
        assert b"".join(message.get("body", b"") for message in sent) == b"y" * 600_000
        assert [message["more_body"] for message in sent[1:]] == [True, True, False]

    _own_loop(ask())
    assert told == [4]


def test_response_rows_are_limited_by_values(served, monkeypatch):
    from zlens.server import json_values

    whole = served.post("rows", table="cpu", limit=100).json()
    assert len(whole["rows"]) == 100
    monkeypatch.setattr(json_values, "MOST", 10 * len(whole["columns"]))
    cut = served.post("rows", table="cpu", limit=100).json()
    assert cut["rows"] == whole["rows"][:10]
    assert cut["more"] is True
