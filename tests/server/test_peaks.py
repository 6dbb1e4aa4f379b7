"""Tests of /peak and /correlations for the busiest interval of the demo."""

from __future__ import annotations

from itertools import pairwise

import pytest

from zlens.models import interval_choice
from zlens.server import peaks


def data(response):
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture(scope="module")
def happened(served):
    return data(served.get("peak", system="ZLDEMO"))


def test_busiest_interval_equals_laboratory(served, happened):
    end = interval_choice.choose_interval(served.session, "ZLDEMO", None)
    assert happened["busiest"]["to"] == end.timestamp()
    for model in ("shares", "partitions"):
        answer = data(served.post("expected", model=model, system="ZLDEMO"))
        assert answer["at"] == end.isoformat().replace("+00:00", "Z")
    plan = data(served.post("plan", system="ZLDEMO"))
    assert "interval that ended 2010-03-09 09:11:00" in plan["answer"]["title"]
    assert happened["busiest"]["value"] == pytest.approx(99.78, abs=0.01)


def test_peak_is_above_half_way_from_median(served, happened):
    [row] = served.session.sql("SELECT median(busy_pct) FROM load").rows
    assert happened["busiest"]["usual"] == pytest.approx(row[0])
    half = (happened["busiest"]["value"] + happened["busiest"]["usual"]) / 2
    rows = served.session.sql("SELECT epoch(interval_end), busy_pct FROM load ORDER BY 1").rows
    peak = happened["peak"]
    inside = [busy for end, busy in rows if peak["from"] < end <= peak["to"]]
    assert min(inside) > half
    by_end = dict(rows)
    assert by_end[peak["from"]] <= half
    assert by_end[peak["to"] + 60] <= half


def test_peak_of_quiet_window_is_its_busiest_interval(served, happened):
    usual = happened["busiest"]["usual"]
    sql = "SELECT epoch(interval_end), seconds, busy_pct FROM load WHERE system = 'ZLDEMO' ORDER BY 1"
    rows = served.session.sql(sql).rows
    quiet = [
        (end - seconds, end)
        for (end, seconds, busy), (*_, later) in pairwise(rows)
        if busy < usual < later and (usual + busy) / 2 < later
    ]
    assert quiet
    for start, end in quiet:
        found = data(served.get("peak", system="ZLDEMO", **{"from": start, "to": end}))
        assert found["peak"] == {"from": pytest.approx(start), "to": end}


def test_windows_of_one_peak_share_its_growth(served, happened, monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(peaks, "_by_subject", refuse)
    peak = happened["peak"]
    near = data(served.get("peak", system="ZLDEMO", **{"from": peak["from"] - 600, "to": peak["to"] + 600}))
    assert near == happened
    assert near["growth"]


def test_peak_links_to_vary_off_and_logon(happened):
    events = {(event["kind"], event["subject"]): event for event in happened["events"]}
    assert events["vary off processor", "CPU 3"]["view"] == "processors"
    assert events["vary off processor", "CPU 3"]["settings"] == {"cpu": "3"}
    assert events["logon", "guest LNXBAT01"]["settings"] == {"user": "LNXBAT01"}
    # Frequent events do not explain the peak.
    assert not [kind for kind, _ in events if kind.startswith("transaction")]


def test_new_guest_has_largest_growth(happened):
    groups = {group["title"]: group for group in happened["growth"]}
    first = groups["Guests"]["rows"][0]
    assert first["subject"] == "LNXBAT01"
    # The guest was logged on only during the peak and a few minutes after it; without rows its use is 0.
    assert first["usual"] < 5 < 50 < first["value"]
    # The logoff has one record for each of its two virtual CPUs.
    assert [event["kind"] for event in first["events"]] == ["logon", "logoff", "logoff"]
    batch, *paging = [row["subject"] for row in groups["Devices: requests"]["rows"]]
    assert "LNX012" in batch
    assert all("530PG" in name for name in paging)
    assert groups["Devices: requests queued"]["rows"][0]["subject"] == batch


def test_window_has_own_busiest_interval(served, happened):
    early = data(served.get("peak", system="ZLDEMO", to=happened["peak"]["from"]))
    assert early["busiest"]["to"] <= happened["peak"]["from"]
    assert early["busiest"]["usual"] == happened["busiest"]["usual"]
    empty = data(served.get("peak", system="ZLDEMO", to=0))
    assert empty["busiest"] is None
    assert empty["growth"] == empty["events"] == []


def test_correlations_with_busy(served):
    answer = data(served.get("correlations", system="ZLDEMO"))
    rows = {row["explain"]: row for row in answer["rows"]}
    assert rows["cec.total_pct"]["correlation"] > answer["least"]
    assert rows["cec.total_pct"]["value"] > 1.5 * rows["cec.total_pct"]["usual"]
    strengths = [abs(row["correlation"]) for row in answer["rows"]]
    assert strengths == sorted(strengths, reverse=True)
    # Components of busy correlate with it by definition.
    assert "load.guest_pct" not in rows
    short = data(served.get("correlations", system="ZLDEMO", **{"from": 1268122260, "to": 1268122500}))
    assert short["rows"] == []


def test_unknown_system_is_error(served):
    for name in ("peak", "correlations"):
        assert served.get(name, system="NOSUCH").json()["error"]["message"] == "no system is named 'NOSUCH'"


def test_window_changes_are_from_the_rest(served):
    """Ten minutes around the peak: value and usual are the means inside and outside of them."""
    start = 1268121900
    answer = data(served.get("window_changes", system="ZLDEMO", **{"from": start, "to": start + 600}))
    metrics = {row["explain"]: row for row in answer["metrics"]}
    inside = f"epoch(interval_end) > {start + 1} AND epoch(interval_end) <= {start + 601}"
    query = (
        "SELECT sum(busy_s) FILTER ({0}) / sum(online * seconds) FILTER ({0}) * 100, "
        "sum(busy_s) FILTER (NOT ({0})) / sum(online * seconds) FILTER (NOT ({0})) * 100 FROM load "
        "WHERE system = 'ZLDEMO'"
    )
    [row] = served.session.sql(query.format(inside)).rows
    busy = metrics["load.busy_pct"]
    assert (busy["value"], busy["usual"]) == (pytest.approx(row[0]), pytest.approx(row[1]))
    sizes = [abs(row["value"] - row["usual"]) / max(row["value"], row["usual"]) for row in answer["metrics"]]
    assert sizes == sorted(sizes, reverse=True)
    groups = {group["title"]: group["rows"] for group in answer["groups"]}
    assert groups["Guests"][0]["subject"] == "LNXBAT01"
    # Guests that end in the rest of the recording decline.
    after = data(served.get("window_changes", system="ZLDEMO", **{"from": start + 1200, "to": start + 1500}))
    [batch] = [row for row in after["groups"][0]["rows"] if row["subject"] == "LNXBAT01"]
    assert batch["value"] < batch["usual"]


def test_complete_recording_has_no_changes(served):
    assert data(served.get("window_changes", system="ZLDEMO")) == {"metrics": [], "groups": []}
