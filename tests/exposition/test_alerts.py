"""Tests of Prometheus alerts written from finding rules: an alert fires where its rule holds.

The expected values come from the rules' own SQL on the same data.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

import zlens
from prometheus_server import answered, program, started
from zlens.catalog import exposition, rules
from zlens.exposition import alerts
from zlens.exposition.render import render
from zlens.session.session import CoreSession

RULES = Path(__file__).parents[2] / "contrib" / "prometheus" / "rules.yml"


@pytest.fixture(scope="module")
def built_alerts() -> list[alerts.PrometheusAlert]:
    """The alerts of all rules, each of which is compiled."""
    return [*alerts.alerts()]


def test_promtool_accepts_file() -> None:
    checked = subprocess.run(
        [program("promtool"), "check", "rules", str(RULES)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert "SUCCESS" in checked.stdout


def test_alert_file_is_current() -> None:
    assert RULES.read_text(encoding="utf-8") == alerts.rules_file(), "make contrib"


@pytest.mark.parametrize(
    ("rule", "prefix", "expr"),
    [
        ("STO-001", "zvm", "zvm_storage_overcommit_ratio > 2"),
        ("RMF-004", "zos", 'zos_workload_performance_index{class_kind="service"} > 1'),
        (
            "CPU-001",
            "zvm",
            "(zvm_guest_cpu_ratio * 100 / (zvm_guest_vcpus != 0)) >= 85 "
            'and on (system, user) zvm_guest_info{cpu_pool=""} unless zvm_guest_limit_wait_ratio * 100 >= 1',
        ),
        (
            "SMT-002",
            "zvm",
            "zvm_core_busy_ratio * 100 >= 5 unless zvm_core_productivity_ratio * 100 "
            # If no core has a productivity, it is not missing.
            "and on (system) zvm_core_productivity_ratio",
        ),
    ],
)
def test_alert_conditions(
    built_alerts: list[alerts.PrometheusAlert], rule: str, prefix: str, expr: str
) -> None:
    [found] = [one.expr for one in built_alerts if (one.rule.id, one.prefix) == (rule, prefix)]
    assert found == expr


@pytest.mark.parametrize("rule", ["CPU-005", "MF-004", "SHR-001", "LGR-001", "LPAR-006", "CPU-008"])
def test_rules_without_plain_threshold_have_no_alert(
    built_alerts: list[alerts.PrometheusAlert], rule: str
) -> None:
    """Several measures, all intervals, windows, events, roles, texts that are not labels of the value."""
    assert rule in rules.builtin()
    assert rule not in {one.rule.id for one in built_alerts}


def test_heuristic_rules_have_no_alert(built_alerts: list[alerts.PrometheusAlert]) -> None:
    """Findings omit them too: only balances are always checked."""
    assert all(one.rule.threshold_class != "heuristic" or one.rule.kind == "balance" for one in built_alerts)


@contextmanager
def published(page: bytes) -> Iterator[str]:
    """Serve a page of metrics and yield its address."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def everything(demo_files: list[Path]) -> Iterator[CoreSession]:
    with zlens.open(demo_files[:1] + demo_files[2:]) as session:
        yield session._core


@pytest.mark.long
def test_alerts_agree_with_rules(
    tmp_path: Path, everything: CoreSession, built_alerts: list[alerts.PrometheusAlert]
) -> None:
    """Each alert is compared at its threshold and at one that half of the subjects exceed."""
    page = render(everything, openmetrics=False, rows=None)
    compared = 0
    sources = exposition.names().sources
    with published(page) as address, started(tmp_path, address) as prometheus:
        answered(prometheus, "zvm_system_online")
        for alert in built_alerts:
            rule = alert.rule
            selected = ", ".join(repr(source) for source, prefix in sources.items() if prefix == alert.prefix)
            source = f"AND source IN ({selected})" if selected else ""
            holds = "AND holds" if "holds" in rule.gives else ""
            values = everything.sql(
                f"SELECT value FROM ({rule.sql()}) WHERE value IS NOT NULL {source} {holds} "
                "AND (system, source, interval_end) IN "
                "(SELECT (system, source, max(interval_end)) FROM interval GROUP BY system, source)"
            ).rows
            numbers = sorted(float(value) for (value,) in values)
            for threshold in {rule.threshold["T"], *numbers[len(numbers) // 2 :][:1]}:
                before = f"{rule.compare} {rule.threshold['T']:g}"
                # Next to the threshold, because PromQL computes values in another order.
                beside = threshold + (1e-9 if rule.compare in (">", ">=") else -1e-9) * max(abs(threshold), 1)
                query = alert.expr.replace(before, f"{rule.compare} {beside!r}", 1)
                answer = httpx.get(f"{prometheus}/api/v1/query", params={"query": query}, timeout=30).json()
                assert answer["status"] == "success", (query, answer)
                above = rule.compare in (">", ">=")
                expected = [number for number in numbers if (number > beside if above else number < beside)]
                assert len(answer["data"]["result"]) == len(expected), (rule.id, alert.prefix, query)
                compared += len(expected)
    assert compared > 15
