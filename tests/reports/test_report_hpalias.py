"""HPALIAS against IBM's published intervals.

Publication: z/VM 6.4 Performance Update (IBM, 2016-2018), output of the HPALIAS package: a pool of 16 aliases
that minidisk I/O and paging I/O share as 20 to 140. Counters are fed that give the published numbers.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from moved_pages import moved, same

import zlens
from monwrite_made import MINUTE_US, SIM_CONFIG, configuration, interval, record, sim_record, write
from zlens import reports

PUBLISHED = """
2016-09-01,22:02:18 0600    0 MDISK          20     2.00     2.37    27.18
2016-09-01,22:02:18 0600    0 PAGING        140    14.00    13.63     5.19
2016-09-01,22:03:18 0600    0 MDISK          20     2.00     2.29    27.26
2016-09-01,22:03:18 0600    0 PAGING        140    14.00    13.71     6.18
2016-09-01,22:04:18 0600    0 MDISK          20     2.00     2.32    27.21
2016-09-01,22:04:18 0600    0 PAGING        140    14.00    13.68     6.31
2016-09-01,22:05:18 0600    0 MDISK          20     2.00     3.99    25.30
2016-09-01,22:05:18 0600    0 PAGING        140    14.00    12.01     3.78
"""
NOW = datetime(2026, 11, 21, 8, 0, 0)
START_US = round(datetime(2016, 9, 1, 22, 1, 18, tzinfo=UTC).timestamp() * 1e6)


def made(path: Path, make: Any = sim_record, config: Any = SIM_CONFIG) -> Path:
    """The published intervals as counters of a pool."""
    rows = [line.split() for line in PUBLISHED.strip().split("\n")]
    counters = {"MDISK": [0, 0], "PAGING": [0, 0]}
    groups = [configuration(START_US, config)]
    for n in range(len(rows) // 2 + 1):
        end = START_US + n * MINUTE_US
        entries = []
        for _, _, _, use, share, _, in_use, queued in rows[2 * n - 2 : 2 * n] if n else rows[:2]:
            if n:
                counters[use][0] += round(float(in_use) * MINUTE_US)
                counters[use][1] += round(float(queued) * MINUTE_US)
            busy, waited = counters[use]
            entries.append(
                {"IODHPP_ZLTYPE": use, "IODHPP_ZLSHARE": int(share)}
                | {"IODHPP_ZLINUSE": busy, "IODHPP_ZLQUEUED": waited}
            )
        values = {"IODHPP_HPPOOLNM": 0, "IODHPP_HPPTOKEN": 0x0600, "IODHPP_HPPNALIS": 16}
        groups.append(interval(end, [make("D6R28", end - 100, values, {"CALUSE": entries})]))
    return write(path, groups)


def lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("2016-")]


def test_every_published_interval_is_printed_as_it_was(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a")]) as session:
        text = session.report("hpalias")
    assert lines(text) == [
        # Without the zero before the point, as all reports here.
        line.replace(" 0.", "  .")
        for line in PUBLISHED.strip().split("\n")
    ]
    assert "__ISO-UTC__________ SSID Pool __Type__ _Share__ _EntMnt_ _InUse__ _Queued_" in text


def test_the_uses_of_a_pool_have_all_its_aliases_between_them(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a")]) as session:
        answer = session.sql(
            "SELECT sum(in_use), sum(entitlement) FROM alias_pool WHERE io_type <> 'ALL' "
            "GROUP BY interval_end ORDER BY interval_end"
        )
        assert [tuple(round(value, 2) for value in row) for row in answer.rows] == [(16.0, 16.0)] * 4


def test_it_is_not_bound_to_our_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zlens.open([made(tmp_path / "a")]) as session:
        ours = reports.render("hpalias", session, now=NOW)
    elsewhere = moved(tmp_path, ["D6R28"], "7.3", monkeypatch)
    with zlens.open([made(tmp_path / "b", elsewhere.record, elsewhere.config)]) as session:
        assert same(ours, reports.render("hpalias", session, now=NOW))


def test_pools_are_shown_without_uses_where_no_layout_tells_of_them(tmp_path: Path) -> None:
    groups = [configuration(START_US)]
    for n in range(3):
        end = START_US + n * MINUTE_US
        values = {
            "IODHPP_HPPOOLNM": 3,
            "IODHPP_HPPTOKEN": 0x0701,
            "IODHPP_HPPNALIS": 8,
            "IODHPP_HPPTRIES": 600 * n,
        }
        groups.append(interval(end, [record("D6R28", end - 100, values)]))
    with zlens.open([write(tmp_path / "a", groups)]) as session:
        printed = [line.split() for line in lines(session.report("hpalias"))]
        assert [fields[1:] for fields in printed] == [["0701", "3", "ALL", *["........"] * 4]] * 2
        assert session.sql("SELECT tries_rate, aliases FROM alias_pool").rows == [(10.0, 8)] * 2


def test_every_sums_times_and_computes_again(tmp_path: Path) -> None:
    from zlens.inputs.options import Options

    with zlens.open([made(tmp_path / "a")], options=Options(every_s=3600)) as session:
        rows = session.sql(
            "SELECT io_type, in_use, queued, entitlement FROM alias_pool WHERE io_type <> 'ALL'"
        ).rows
    means = {"MDISK": (2.7425, 26.7375, 2.0), "PAGING": (13.2575, 5.365, 14.0)}
    assert {row[0]: pytest.approx(row[1:]) for row in rows} == means
