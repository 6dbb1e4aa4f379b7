"""Connections to the server: sockets, not questions."""

from __future__ import annotations

import asyncio
import socket

from zlens.cli import serve


def test_no_answer_waits_for_the_acknowledgment_of_the_one_before():
    # asyncio sets TCP_NODELAY only if it knows the protocol; without it every kept connection waits 40 ms.
    async def delays() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def meet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.set_result(
                writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            )
            writer.close()

        with serve._bound("127.0.0.1", 0) as listening:
            async with await asyncio.start_server(meet, sock=listening):
                _, writer = await asyncio.open_connection(*listening.getsockname())
                found = await accepted
                writer.close()
                return found

    assert asyncio.run(delays()) != 0
