"""OpenTelemetry Collector, if `make collector` has built it."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import tools

PROGRAM = Path(__file__).parents[1] / "target" / "collector" / "collector"
#: Timeout for scraped metrics to arrive, in seconds.
_PATIENCE_S = 60
#: Uncompressed OTLP as JSON, which a test can read.
_READABLE = ("encoding: json", "compression: none")


class Backend:
    """Server that receives metrics by OTLP over HTTP."""

    def __init__(self) -> None:
        self._received: Queue[Any] = Queue()
        received = self._received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                received.put(json.loads(body))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def points(self, name: str) -> list[tuple[dict[str, str], float, str]]:
        """Wait for points of a metric; return attributes, value, and the unit of the metric."""
        while True:
            for metric in _metrics(self._received.get(timeout=_PATIENCE_S)):
                if metric["name"] == name:
                    [kind] = metric.keys() & {"gauge", "sum"}
                    return [
                        (_attributes(point), float(point["asDouble"]), metric.get("unit", ""))
                        for point in metric[kind]["dataPoints"]
                    ]


def _metrics(request: Any) -> Iterator[Any]:
    for resource in request["resourceMetrics"]:
        for scope in resource["scopeMetrics"]:
            yield from scope["metrics"]


def _attributes(point: Any) -> dict[str, str]:
    return {each["key"]: each["value"].get("stringValue", "") for each in point.get("attributes", ())}


@contextmanager
def running(folder: Path, configuration: str) -> Iterator[None]:
    """Run a Collector with a configuration; skip the test if it is not installed."""
    tools.require("collector", present=PROGRAM.exists())
    path = folder / "collector.yaml"
    path.write_text(configuration, encoding="utf-8")
    words = [f"--config=yaml:exporters::otlphttp::{setting}" for setting in _READABLE]
    command = [str(PROGRAM), f"--config=file:{path}", *words]
    with (folder / "collector.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield
            assert process.poll() is None, (folder / "collector.log").read_text()
        finally:
            process.terminate()
            process.wait(30)
