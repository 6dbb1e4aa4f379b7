"""Tests of the server's /metrics: access, formats, and scrapes by Prometheus and other collectors."""

from __future__ import annotations

from pathlib import Path

import pytest

import otel_collector
import pcp
from conftest import Serve, Served
from exposition_parser import samples
from prometheus_server import answered, started
from zlens.api import Session
from zlens.cli.listen_socket import DEFAULT_PORT
from zlens.server.guard import Guard
from zlens.server.metrics import OPENMETRICS
from zlens.session.session import empty_session

CONTRIB = Path(__file__).parents[2] / "contrib"
TOKEN = "a-token-that-nobody-guesses"


@pytest.mark.long
def test_scrape_has_requested_format(served: Served) -> None:
    text = served.client.get("/metrics")
    assert text.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    opened = served.client.get("/metrics", headers={"accept": OPENMETRICS})
    assert opened.headers["content-type"] == f"{OPENMETRICS}; version=1.0.0; charset=utf-8"
    assert opened.text.endswith("# EOF\n")
    assert samples(opened.content) == samples(text.content)
    assert ("zvm_system_busy_ratio") in {name for name, _ in samples(text.content)}


def test_metrics_are_computed_once_per_interval(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    page = served.client.get("/metrics").content
    monkeypatch.setattr("zlens.server.metrics.render", lambda *_, **__: pytest.fail("computed again"))
    assert served.client.get("/metrics").content == page


def test_scrape_allows_only_get(served: Served) -> None:
    answer = served.client.post("/metrics", json={})
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert served.client.head("/metrics").content == b""
    assert served.client.post("/healthz", json={}).status_code == 405


def test_metrics_need_token_and_health_does_not(serve_over: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zlens.server.metrics.render", lambda *_, **__: b"what else is tested\n")
    with serve_over(Session(empty_session()), [], Guard(token=TOKEN)) as served:
        assert served.client.get("/metrics").status_code == 401
        # A token in the URL is refused: it would appear in the scraper's logs.
        assert served.client.get("/metrics", params={"token": TOKEN}).status_code == 401
        assert served.client.get("/metrics", headers={"host": "evil.example"}).status_code == 403
        assert served.client.get("/metrics", headers={"sec-fetch-site": "cross-site"}).status_code == 403
        bearer = {"authorization": f"Bearer {TOKEN}"}
        assert served.client.get("/metrics", headers=bearer).status_code == 200
        for path in ("/healthz", "/readyz"):
            answer = served.client.get(path)
            assert answer.status_code == (200 if path == "/healthz" else 503)
            assert served.client.get(path, headers={"host": "evil.example"}).status_code == 403


def test_server_without_interval_is_not_ready(serve_over: Serve) -> None:
    with serve_over(Session(empty_session()), []) as served:
        answer = served.client.get("/readyz")
        assert (answer.status_code, answer.text) == (503, "no interval yet\n")
        assert served.client.get("/healthz").status_code == 200
        assert served.client.get("/metrics").status_code == 200


def test_prometheus_returns_sql_number(tmp_path: Path, served: Served, demo_files: list[Path]) -> None:
    """A Prometheus scrapes the server; PromQL and SQL return the same number."""
    with started(tmp_path, served.address) as prometheus:
        found = answered(prometheus, "sum by (system) (zvm_cpu_busy_ratio) * 100")
        assert answered(prometheus, "up") == {"": 1.0}
        assert answered(prometheus, "zvm_interval_end_timestamp_seconds") != {}
    assert found == pytest.approx({"ZLDEMO": busy(served.session)}, rel=1e-12)


def test_pcp_returns_sql_numbers(tmp_path: Path, served: Served) -> None:
    """PCP's agent scrapes the server with the file in contrib/; pminfo and SQL return the same numbers."""
    url = (CONTRIB / "pcp" / "zlens.url").read_text(encoding="utf-8")
    with pcp.running(tmp_path, url.replace(f"http://127.0.0.1:{DEFAULT_PORT}", served.address)) as agent:
        found = agent.values("openmetrics.zlens.zvm_cpu_busy_ratio")
    assert sum(found.values()) * 100 == pytest.approx(busy(served.session), rel=1e-9)
    assert all("system:ZLDEMO" in labels for labels in found)


def test_collector_forwards_sql_numbers(tmp_path: Path, served: Served) -> None:
    """With the file in contrib/: OTLP to one backend, remote write to a Prometheus."""
    backend = otel_collector.Backend()
    text = (CONTRIB / "opentelemetry" / "collector.yaml").read_text(encoding="utf-8")
    wanted = pytest.approx(busy(served.session), rel=1e-12)
    with started(tmp_path, None) as prometheus:
        for there, here in {
            f"127.0.0.1:{DEFAULT_PORT}": served.address.removeprefix("http://"),
            "http://127.0.0.1:4318": backend.address,
            "http://127.0.0.1:9090": prometheus,
            "scrape_interval: 1m": "scrape_interval: 5s",
            "scrape_timeout: 30s": "scrape_timeout: 5s",
        }.items():
            assert text.count(there) == 1
            text = text.replace(there, here)
        with otel_collector.running(tmp_path, text):
            points = backend.points("zvm_cpu_busy_ratio")
            written = answered(prometheus, "sum by (system) (zvm_cpu_busy_ratio) * 100")
    backend.end()
    assert sum(value for _, value, _ in points) * 100 == wanted
    assert {attributes["system"] for attributes, *_ in points} == {"ZLDEMO"}
    assert written == {"ZLDEMO": wanted}


def busy(session: Session) -> float:
    [(total,)] = session.sql(
        "SELECT sum(busy_pct) FROM cpu WHERE interval_end = (SELECT max(interval_end) FROM interval)"
    ).rows
    return float(total)
