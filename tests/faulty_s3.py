"""An S3 server of moto behind a proxy that injects faults. moto honors If-None-Match and If-Match of PUT."""

from __future__ import annotations

import http.client
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import boto3
from moto.server import ThreadedMotoServer

#: Whether a request fails, by its method and path.
Which = Callable[[str, str], bool]
BUCKET = "lake"
_CONDITIONS = ("if-none-match", "if-match")


class ObjectStore:
    """A bucket at an address that records requests and injects faults.

    Kinds of faults: a status such as 503; `cut`: half of the response is sent; `short`: half of it is sent as
    if it were all; `lost`: the request is executed but not answered; `late`: the response is sent after
    `late_s`; `deaf`: conditions are ignored; `pages`: a list is sent in pages of one object.
    """

    def __init__(self) -> None:
        # Suppress the log line for each request.
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._moto.start()
        self.behind = self._moto.get_host_and_port()
        outer = self

        class Handler(_Handler):
            store = outer

        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._proxy.daemon_threads = True
        threading.Thread(target=self._proxy.serve_forever, args=(0.01,), daemon=True).start()
        self.late_s = 3.0
        self.requests: list[tuple[str, str]] = []
        self._faults: list[tuple[str | int, Which, int]] = []
        self._lock = threading.Lock()
        self.client = boto3.client(
            "s3",
            endpoint_url="http://{}:{}".format(*self.behind),
            aws_access_key_id="a",
            aws_secret_access_key="b",
            region_name="us-east-1",
        )
        self.client.create_bucket(Bucket=BUCKET)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._proxy.server_address[1]}",
            "AWS_ALLOW_HTTP": "true",
        }

    def close(self) -> None:
        self._proxy.shutdown()
        self._proxy.server_close()
        self._moto.stop()

    @contextmanager
    def fault(self, kind: str | int, which: Which, times: int = 1) -> Iterator[None]:
        """Inject a fault into the first matching requests in the block."""
        with self._lock:
            self._faults = [(kind, which, times)]
        try:
            yield
        finally:
            with self._lock:
                self._faults = []

    def take(self, method: str, path: str) -> str | int | None:
        """Record a request and return its fault."""
        with self._lock:
            self.requests.append((method, path))
            for at, (kind, which, times) in enumerate(self._faults):
                if times and which(method, path):
                    self._faults[at] = kind, which, times - 1
                    return kind
        return None

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Return the objects below a prefix by their names without it."""
        found = {}
        for page in self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/"):
            for entry in page.get("Contents", []):
                body = self.client.get_object(Bucket=BUCKET, Key=entry["Key"])["Body"].read()
                found[entry["Key"].removeprefix(f"{prefix}/")] = body
        return found


class _Handler(BaseHTTPRequestHandler):
    #: Headers and body are sent separately; the second would wait for the acknowledgment of the first.
    disable_nagle_algorithm = True
    protocol_version = "HTTP/1.1"
    store: ObjectStore

    def _do(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        kind = self.store.take(self.command, self.path)
        if isinstance(kind, int):
            self.send_response(kind)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        if kind == "late":
            time.sleep(self.store.late_s)
        left_out = ("connection", *(_CONDITIONS if kind == "deaf" else ()))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in left_out}
        connection = http.client.HTTPConnection(*self.store.behind)
        path = f"{self.path}&max-keys=1" if kind == "pages" else self.path
        connection.request(self.command, path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        if kind == "short":
            data = data[: len(data) // 2]
        if kind == "lost":
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                self.send_header(name, value)
        length = answer.getheader("content-length") if self.command == "HEAD" else str(len(data))
        self.send_header("content-length", length or "0")
        self.end_headers()
        if kind == "cut":
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            self.connection.close()
        elif self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _do  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass
