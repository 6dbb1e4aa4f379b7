"""The log of requests: a line of JSON for each, without anything of the data."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest

from zlens.server.log import Logged


def logged(path: str, method: str = "GET", error: Exception | None = None) -> dict[str, Any]:
    """The line of a request."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if error is not None:
            raise error
        await send({"type": "http.response.body", "body": b"abc", "more_body": True})
        await send({"type": "http.response.body", "body": b"de"})

    async def nothing(*_: Any) -> None:
        return None

    stream = io.StringIO()
    scope = {"type": "http", "method": method, "path": path, "query_string": b"system=SECRET"}
    try:
        asyncio.run(Logged(app, stream)(scope, nothing, nothing))  # type: ignore[arg-type]
    except ValueError:
        assert error is not None
    [line] = stream.getvalue().splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_request_is_one_line() -> None:
    line = logged("/api/v1/schema")
    assert [*line] == ["time", "method", "path", "status", "bytes", "seconds"]
    assert (line["method"], line["path"], line["status"], line["bytes"]) == ("GET", "/api/v1/schema", 200, 5)
    assert line["time"].endswith("Z")
    assert 0 <= line["seconds"] < 60


@pytest.mark.parametrize("path", ["/SECRET", "/api/v1/SECRET", '/"\n{SECRET'])
def test_what_a_client_makes_up_is_not_written(path: str) -> None:
    line = logged(path, "SECRET")
    assert (line["path"], line["method"]) == ("other", "other")
    assert "SECRET" not in json.dumps(line)


def test_a_request_that_fails_has_its_line() -> None:
    assert logged("/metrics", error=ValueError())["bytes"] == 0
