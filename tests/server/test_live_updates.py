"""Tests of replaced workspaces: clients get events, and running requests continue."""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import uvicorn
from ports import free_socket

from iterations import iterations
from zlens import _native
from zlens.cli.serve import config
from zlens.live.feeds import ReplayClock, ReplayFeed
from zlens.live.watcher import Watcher
from zlens.readers import streaming as forms
from zlens.server import metrics
from zlens.server.app import create_app
from zlens.server.live_updates import LiveWorkspace, event
from zlens.server.sql_workers import GoneError, WorkerResponse
from zlens.server.workspace import Workspace
from zlens.session.session import CoreSession

#: A timeout longer than any of these tests needs.
PATIENCE_S = 120


class Few(Watcher):
    """A watcher that computes only two measures; its events are the same."""

    @staticmethod
    def _names(session: CoreSession) -> list[str]:
        return ["load", "cpu"]


class Served:
    """A live system with a server, stepped by the test."""

    def __init__(self, path: Path, intervals: int) -> None:
        form = forms.stream_format("zvm.monwrite")
        assert form is not None
        moments = form.write_times(str(path))[: intervals + 1]
        self._now = [0.0]
        self.live = Few(
            [ReplayFeed(str(path), moments, ReplayClock(60, lambda: self._now[0]))], findings=False
        )
        self.following = LiveWorkspace(self.place())
        listening = free_socket()
        app = create_app(self.following)
        self.server = uvicorn.Server(config(app))
        self.thread = threading.Thread(target=lambda: self.server.run(sockets=[listening]), daemon=True)
        self.thread.start()
        self.address = f"http://127.0.0.1:{listening.getsockname()[1]}"

    def place(self) -> Workspace:
        return Workspace(self.live.session(), ["demo"], live=True)

    def pass_by(self, seconds: float) -> None:
        """Advance the clock and send an event for closed intervals."""
        self._now[0] += seconds
        step = self.live.step()
        if step is not None:
            place = self.place()
            self.following.replace(place, event(place, self.live, step))

    def end(self) -> None:
        self.following.end()
        self.server.should_exit = True
        self.thread.join(PATIENCE_S)
        self.following.close()
        self.live.close()


@pytest.fixture
def served(demo_folder: Path) -> Iterator[Served]:
    found = Served(demo_folder / "zldemo.monwrite", 8)
    yield found
    found.end()


@pytest.mark.long
def test_metrics_are_computed_before_scrape(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics are computed when an interval closes, only if the previous ones were scraped."""
    computed: queue.Queue[int] = queue.Queue()

    def counted(session: CoreSession, **_: Any) -> bytes:
        page = str(session.sql("SELECT max(interval_end) FROM load").rows).encode()
        computed.put(len(page))
        return page

    monkeypatch.setattr(metrics, "render", counted)
    served.pass_by(2)
    for _ in range(2):
        first = httpx.get(f"{served.address}/metrics", timeout=PATIENCE_S, verify=False).text
    computed.get(timeout=PATIENCE_S)
    assert computed.empty()
    served.pass_by(2)
    computed.get(timeout=PATIENCE_S)
    second = httpx.get(f"{served.address}/metrics", timeout=PATIENCE_S, verify=False).text
    assert first != second
    assert computed.empty()
    served.pass_by(2)
    computed.get(timeout=PATIENCE_S)
    # The previous metrics were not scraped.
    served.pass_by(2)
    with pytest.raises(queue.Empty):
        computed.get(timeout=1)


@contextmanager
def events(address: str) -> Iterator[Iterator[dict[str, object]]]:
    with httpx.stream("GET", f"{address}/api/v1/follow", timeout=PATIENCE_S, verify=False) as response:
        assert response.headers["content-type"] == "text/event-stream"
        lines = response.iter_lines()
        yield (json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: "))


def test_health_and_readiness(served: Served) -> None:
    assert httpx.get(f"{served.address}/healthz", timeout=PATIENCE_S, verify=False).status_code == 200
    assert httpx.get(f"{served.address}/readyz", timeout=PATIENCE_S, verify=False).status_code == 503
    served.pass_by(3)
    assert httpx.get(f"{served.address}/readyz", timeout=PATIENCE_S, verify=False).status_code == 200


def test_blocked_watcher_is_unready(served: Served) -> None:
    served.pass_by(3)
    served.following.block(True)
    for path, status, text in (
        ("healthz", 200, "ok\n"),
        ("readyz", 503, "new data cannot be stored\n"),
    ):
        response = httpx.get(f"{served.address}/{path}", timeout=PATIENCE_S, verify=False)
        assert (response.status_code, response.text) == (status, text)


def test_clients_hear_of_blocked_storage() -> None:
    following = LiveWorkspace(cast("Workspace", object()))

    async def heard() -> list[bytes]:
        following.block(True)
        found = []
        # A client that connects later hears of it, too.
        async with asyncio.timeout(PATIENCE_S), aclosing(following.events()) as sent:
            async for text in sent:
                found.append(text)
                if len(found) == 3:
                    break
                following.block(len(found) < 2)
        return found

    retry, *events = asyncio.run(heard())
    assert retry.startswith(b"retry: ")
    assert events == [
        b'event: storage\ndata: {"blocked":true}\n\n',
        b'event: storage\ndata: {"blocked":false}\n\n',
    ]


def test_closed_interval_sends_event(served: Served) -> None:
    with events(served.address) as found:
        served.pass_by(3)
        first = next(found)
        assert {each["system"] for each in first["systems"]} == {"ZLDEMO"}  # type: ignore[attr-defined]
        served.pass_by(2)
        second = next(found)
        assert second["step"] > first["step"]  # type: ignore[operator]
        body = {"table": "load", "columns": ["busy_pct"], "limit": 100}
        rows = httpx.post(
            f"{served.address}/api/v1/rows", json=body, timeout=PATIENCE_S, verify=False
        ).json()["rows"]
        (system,) = second["systems"]  # type: ignore[misc]
        # The first row belongs to an interval that only ends the first samples.
        assert len(rows) >= system["intervals"] > 1
        schema = httpx.get(f"{served.address}/api/v1/schema", timeout=PATIENCE_S, verify=False).json()
        assert schema["live"] is True
        assert schema["systems"][0]["end"] == system["end"]


def test_replaced_session_stays_open_while_in_use(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Workspace] = []
    close = Workspace.close
    monkeypatch.setattr(Workspace, "close", lambda place: (closed.append(place), close(place)))
    served.pass_by(3)
    with served.following.use() as before:
        served.pass_by(2)
        assert served.following.current is not before
        assert before.session.sql("SELECT count(*) FROM load").rows[0][0] > 0
        assert before not in closed
    assert before in closed
    with served.following.use() as after:
        assert after.session.sql("SELECT count(*) FROM load").rows[0][0] > 0


class Changing:
    """A worker pool that finds the workspace's data removed, optionally after a replacement."""

    def __init__(self, replace: Callable[[], None]) -> None:
        self._replace = replace
        self.query_count = 0

    def run_query(self, request: dict[str, Any], data: object = None) -> WorkerResponse:
        self.query_count += 1
        self._replace()
        raise GoneError("the data changed")

    def close(self) -> None:
        return None


@pytest.mark.parametrize("newer", [True, False])
def test_query_of_removed_data_is_repeated(served: Served, newer: bool) -> None:
    served.pass_by(3)
    changing = Changing((lambda: served.pass_by(2)) if newer else (lambda: None))
    served.following.current.processes = changing  # type: ignore[assignment]
    body = {"query": "SELECT count(*) FROM load"}
    answer = httpx.post(f"{served.address}/api/v1/sql", json=body, timeout=PATIENCE_S, verify=False)
    assert answer.status_code == (200 if newer else 400)
    assert changing.query_count == 1


def test_many_clients_get_newest_event(served: Served) -> None:
    """Late and slow clients get only the newest event."""
    clients = iterations(200, 10)
    served.pass_by(3)
    served.pass_by(1)
    newest = served.live.step_number
    got: list[object] = []

    def follow() -> None:
        with events(served.address) as found:
            got.append(next(found)["step"])

    threads = [threading.Thread(target=follow, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert got == [newest] * clients


def test_cut_points_are_known_without_decoding(demo_folder: Path) -> None:
    file = _native.MonwriteFile.open(str(demo_folder / "zldemo.monwrite"))
    cuts = file.split_points()
    assert len(cuts) == len(file.interval_ends())
    assert all(
        offset < cut <= file.size for (_, _, offset), (_, cut) in zip(file.interval_ends(), cuts, strict=True)
    )
