"""The server as a separate program, with its child processes."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx


class Program:
    """A running server program."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address

    def client(self, seconds: float = 60) -> httpx.Client:
        # Without certificates, which every client would load again.
        return httpx.Client(base_url=f"{self.address}api/v1", timeout=seconds, verify=False)

    def sql(self, query: str, rows: int = 1000, id: str | None = None) -> httpx.Response:
        with self.client() as client:
            return client.post("/sql", json={"query": query, "rows": rows, "id": id})

    def cancel(self, id: str) -> int:
        with self.client() as client:
            found: int = client.post("/cancel", json={"id": id}).json()["cancelled"]
            return found

    def numbers(self) -> list[int]:
        """Return the ids of all its processes."""
        found = [self.process.pid]
        for number in found:
            try:
                found += map(int, Path(f"/proc/{number}/task/{number}/children").read_text().split())
            except OSError:
                continue
        return found

    def megabytes(self) -> float:
        """Return their resident memory."""
        pages = 0
        for number in self.numbers():
            try:
                pages += int(Path(f"/proc/{number}/statm").read_text().split()[1])
            except OSError:
                continue
        return pages * 4096 / 1e6

    def end(self, sign: signal.Signals = signal.SIGTERM, seconds: float = 30) -> tuple[int, str]:
        """Stop it; return its exit status and standard error."""
        self.process.send_signal(sign)
        status = self.process.wait(seconds)
        assert self.process.stderr is not None
        return status, self.process.stderr.read()


@contextmanager
def program(*words: str, command: str = "serve") -> Iterator[Program]:
    with subprocess.Popen(
        [sys.executable, "-m", "zlens", command, "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\n", line), line
        try:
            yield Program(process, line.strip())
        finally:
            process.kill()
