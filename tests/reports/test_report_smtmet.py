"""SMTMET against IBM's four published listings.

Publication: IBM, "z/VM and simultaneous multithreading", 2015 and 2020: Per-Core-Type and Per-Core Reports
($SMTMET) of AMPDGLD1 MONDATA and IDLESYS MONDATA. Counters are fed that give the published rows, and every
printed field is held against the listing. Listings show some of a file's intervals; others are added that
lead to the published means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from moved_pages import moved, same

import zlens
from monwrite_made import (
    S_US,
    SIM_CONFIG,
    START_US,
    TOD_S,
    configuration,
    interval,
    minutes,
    sim_record,
    write,
)

LENGTH_S = 30


@dataclass
class Core:
    """One core in one interval. A productivity of None is one that z/VM could not compute."""

    busy_pct: float
    density: float
    productivity_pct: float | None
    factor_pct: float = 0.0
    maximum_pct: float = 0.0
    sampled_s: float = 30.0


Interval = Mapping[int, Core]


OWN = (sim_record, SIM_CONFIG)


def made(path: Path, first_end: str, intervals: Sequence[Interval], way: Any = OWN) -> Path:
    """Monitor data of two threads per core whose differences are these intervals."""
    record, config = way
    cores = sorted({core for each in intervals for core in each})
    sampled, busy, threads = (dict.fromkeys(cores, 0) for _ in range(3))
    end = round(datetime.fromisoformat(f"2015-02-14 {first_end}").replace(tzinfo=UTC).timestamp()) * S_US
    end -= LENGTH_S * S_US
    groups = [configuration(end - S_US, config, LENGTH_S)]
    for each in ({}, *intervals):
        records = []
        for core in cores:
            now = each.get(core)
            ratios = {}
            if now is not None:
                sampled[core] += round(now.sampled_s * TOD_S)
                busy[core] += (ran := round(now.sampled_s * TOD_S * now.busy_pct / 100))
                threads[core] += round(ran * now.density)
                ratios = {
                    "SYTPRP_ZLCPRODN": numerator(now.productivity_pct),
                    "SYTPRP_ZLTCAPFN": numerator(now.factor_pct),
                    "SYTPRP_ZLTMAXFN": numerator(now.maximum_pct),
                }
            for thread in (0, 1):
                values = {
                    "SYTPRP_PFXCPUAD": 2 * core + thread,
                    "SYTPRP_PFXCPUTY": 3,
                    "SYTPRP_ZLCORE": core,
                    "SYTPRP_ZLTHRD": thread,
                    "SYTPRP_ZLCSAMPT": sampled[core],
                    "SYTPRP_ZLCBUSYT": busy[core],
                    "SYTPRP_ZLCTHRDT": threads[core],
                    **ratios,
                }
                records.append(record("D0R2", end - 100, values))
        groups.append(interval(end, records))
        end += LENGTH_S * S_US
    return write(path, groups)


def numerator(percent: float | None) -> int:
    """Over 1024, the one nearest to the printed tenth."""
    return 0 if percent is None else round(percent * 1024 / 100)


def printed(path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """The fields of the rows of both tables, the per-type one first."""
    with zlens.open([path]) as session:
        assert session.all_problems() == []
        text = session.report("smtmet")
    types, cores = text.split("By core type\n")[1].split("By core\n")
    return fields(types), fields(cores)


def fields(text: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n") if line.startswith((">>", "13:", "21:"))]


def published(text: str) -> list[list[str]]:
    """Rows of a listing. SMTMET prints a zero before the point, our reports do not."""
    return [
        [word.removeprefix("0") if word.startswith("0.") else word for word in line.split()]
        for line in text.strip().split("\n")
        if line
    ]


LOADED_TYPES = """
>>Mean>> IFL       120.0        4.0       93.6      156.4      167.1       86.0       1.83
21:32:02 IFL       120.0        4.0       93.6      159.2      170.1       74.5       1.84
21:32:32 IFL       120.0        4.0       93.6      158.7      169.6       89.7       1.84
21:33:02 IFL       120.0        4.0       93.2      157.7      169.2       89.3       1.83
21:33:32 IFL       119.6        4.0       93.4      158.9      170.1       89.3       1.84
21:34:02 IFL       120.0        4.0       93.3      159.2      170.5       89.4       1.84
21:34:32 IFL       120.0        4.0       93.5      158.9      169.9       89.8       1.84
21:35:02 IFL       120.0        4.0       94.1      161.1      171.1       91.2       1.86
21:35:32 IFL       120.0        4.0       93.4      159.0      170.1       89.8       1.84
21:36:02 IFL       120.0        4.0       93.8      159.5      170.0       90.5       1.85
21:36:32 IFL       120.0        4.0       93.0      158.5      170.4       88.7       1.83
21:37:02 IFL       120.0        4.0       93.4      159.1      170.3       89.7       1.84
21:37:32 IFL       120.0        4.0       93.7      159.4      170.1       90.2       1.85
21:38:02 IFL       120.0        4.0       93.7      159.0      169.6       90.4       1.85
"""
IDLE_TYPES = """
>>Mean>> IFL        90.0        3.0       76.7      124.1      172.1        0.0       1.36
13:51:42 IFL       119.8        4.0       80.6      137.3      175.7        0.0       1.49
13:52:12 IFL       120.1        4.0       80.9      136.1      173.4        0.0       1.49
13:52:42 IFL       120.0        4.0       80.8      135.8      173.7        0.0       1.49
13:53:12 IFL       120.1        4.0       80.3      137.2      177.3        0.0       1.50
13:53:42 IFL       120.0        4.0       82.1      132.1      164.1        0.0       1.48
13:54:12 IFL        60.0        2.0       81.2      134.0      171.9        0.1       1.49
13:54:42 IFL        60.0        2.0       70.0      106.5      167.1        0.1       1.18
13:55:12 IFL        60.0        2.0       59.2      103.2      200.0        0.1       1.12
13:55:42 IFL        60.0        2.0       86.0      101.0      118.2        0.1       1.09
13:56:12 IFL        60.0        2.0       66.0      118.0      200.0        0.1       1.26
"""
LOADED_CORES = """
>>Mean>>   00 IFL        30.0       93.6       86.0       1.83      92.06
>>Mean>>   01 IFL        30.0       93.5       86.0       1.83      91.92
>>Mean>>   02 IFL        30.0       93.7       86.3       1.83      92.20
>>Mean>>   03 IFL        30.0       93.6       85.9       1.84      91.86
21:32:02   00 IFL        30.0       93.4       74.0       1.84      79.26
21:32:02   01 IFL        30.0       93.1       74.4       1.83      79.91
21:32:02   02 IFL        30.0       93.8       74.2       1.85      79.11
21:32:02   03 IFL        30.0       93.8       75.4       1.85      80.39
21:32:32   00 IFL        30.0       94.1       91.2       1.86      96.86
21:32:32   01 IFL        30.0       93.3       88.8       1.84      95.16
21:32:32   02 IFL        30.0       92.7       88.3       1.82      95.28
21:32:32   03 IFL        30.0       94.0       90.7       1.86      96.42
"""
IDLE_CORES = """
>>Mean>>   00 IFL        30.0       71.7        0.1       1.20       0.05
>>Mean>>   01 IFL        30.0       78.8        0.1       1.39       0.11
>>Mean>>   02 IFL        30.0        0.0        0.0       1.38       0.01
>>Mean>>   03 IFL        30.0        0.0        0.0       1.40       0.01
13:52:42   00 IFL        30.0 .......... ..........       1.24       0.02
13:52:42   01 IFL        30.0       80.8        0.1       1.55       0.12
13:52:42   02 IFL        29.9 .......... ..........       1.40       0.01
13:52:42   03 IFL        30.0 .......... ..........       1.40       0.01
13:53:12   00 IFL        30.0 .......... ..........       1.25       0.02
13:53:12   01 IFL        30.0       80.3        0.1       1.55       0.12
13:53:12   02 IFL        30.1 .......... ..........       1.39       0.01
13:53:12   03 IFL        30.0 .......... ..........       1.40       0.01
"""
DOTS = "." * 10


def type_interval(row: list[str], busy_pct: float | None = None) -> Interval:
    """As many cores as the row has, all alike; busy follows from utilization where that says enough."""
    seconds, cores, productivity, factor, maximum, utilization, density = map(float, row[2:])
    count = round(cores)
    busy = busy_pct or 100 * utilization / (100 * numerator(productivity) / 1024)
    one = Core(busy, density, productivity, factor, maximum, seconds / count)
    return dict.fromkeys(range(count), one)


def added(rows: list[list[str]], count: int) -> list[Interval]:
    """Intervals alike that lead from the rows shown to the mean shown."""
    means, *shown = ([float(word) for word in row[2:]] for row in rows)
    total = len(shown) + count
    wanted = [(mean * total - sum(row[i] for row in shown)) / count for i, mean in enumerate(means)]
    return [type_interval(["", "", *map(str, wanted)])] * count


def test_types_under_load(tmp_path: Path) -> None:
    rows = published(LOADED_TYPES)
    intervals = [*map(type_interval, rows[1:]), *added(rows, 8)]
    types, _ = printed(made(tmp_path / "ampdgld1", "21:32:02", intervals))
    assert types[: len(rows)] == rows


def test_types_of_an_idle_system(tmp_path: Path) -> None:
    """The whole listing: the mean is the plain mean of its rows, whatever their core-seconds."""
    rows = published(IDLE_TYPES)
    intervals = [type_interval(row, 0.02 if row[7] == ".0" else 0.08) for row in rows[1:]]
    for wanted in rows[7:]:
        busy = 6 / float(wanted[4])
        intervals[rows.index(wanted) - 1] = type_interval(wanted, busy)
    types, _ = printed(made(tmp_path / "idlesys", "13:51:42", intervals))
    assert types == rows


def core_of(row: list[str], hidden: float = 0.0) -> Core:
    seconds, productivity, _, density, busy = row[3:]
    known = None if productivity == DOTS else float(productivity)
    # What the printed hundredth of busy hides brings utilization to the printed tenth.
    return Core(float(busy) + hidden, float(density), known, sampled_s=float(seconds))


def test_cores_under_load(tmp_path: Path) -> None:
    rows = published(LOADED_CORES)
    count = 18
    intervals = [{n: core_of(rows[4 + 4 * k + n], 0.004) for n in range(4)} for k in range(2)]
    others: list[dict[int, Core]] = [{} for _ in range(count)]
    for n in range(4):
        shown = [each[n] for each in intervals]
        wanted = core_of(rows[n])
        rest = Core(*(
            (getattr(wanted, key) * (count + 2) - sum(getattr(one, key) for one in shown)) / count
            for key in ("busy_pct", "density", "productivity_pct")
        ))  # fmt: skip
        assert rest.productivity_pct is not None
        utilization = (
            float(rows[n][5]) * (count + 2) - sum(float(rows[4 + 4 * k + n][5]) for k in range(2))
        ) / count
        # Busier when less productive: mean utilization is below the product of the means.
        sway = (rest.productivity_pct * rest.busy_pct - 100 * utilization) / 2
        for k, other in enumerate(others):
            sign = 1 if k % 2 else -1
            other[n] = Core(rest.busy_pct - sway * sign, rest.density, rest.productivity_pct + 2 * sign)
    _, cores = printed(made(tmp_path / "ampdgld1", "21:32:02", [*intervals, *others]))
    assert cores[:12] == rows


def test_cores_with_extremes(tmp_path: Path) -> None:
    rows = published(IDLE_CORES)
    intervals = [{n: core_of(rows[4 + 4 * k + n]) for n in range(4)} for k in range(2)]
    for k in range(8):
        # Of core 00 two intervals could be computed, of core 02 and 03 none.
        first = Core(0.17, 1.189, 71.7) if k < 2 else Core(0.02, 1.189, None)
        intervals.append(
            {
                0: first,
                1: Core(0.1075, 1.35, 78.36),
                2: Core(0.01, 1.376, None),
                3: Core(0.01, 1.40, None),
            }
        )
    types, cores = printed(made(tmp_path / "idlesys", "13:52:42", intervals))
    # Where nothing could be computed, IBM's program prints means of 0.0.
    for row in rows[2:4]:
        assert row[4:6] == [".0", ".0"]
        row[4:6] = [DOTS, DOTS]
    assert cores[:12] == rows
    # The type's productivity is that of core 01 alone, and its utilization is over all four cores.
    by_time = {row[0]: row for row in types}
    assert (by_time["13:52:42"][4], by_time["13:52:42"][7]) == ("80.8", ".0")
    assert by_time["13:52:42"][8] == "1.49"


def test_without_fields_of_multithreading(tmp_path: Path) -> None:
    path = write(tmp_path / "plain", [configuration(START_US), *minutes(3)])
    with zlens.open([path]) as session:
        assert "This input has nothing for this report" in session.report("smtmet")
        assert session.sql("SELECT * FROM core").rows == []
        assert session.sql("SELECT * FROM core_type WHERE core_busy_pct IS NOT NULL").rows == []


def test_fields_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is bound to the places that our own pack gives the fields."""
    intervals = [type_interval(row) for row in published(LOADED_TYPES)[1:5]]
    elsewhere = moved(tmp_path, ["D0R2"], "7.3", monkeypatch)
    texts = []
    for name, way in (("own", OWN), ("moved", (elsewhere.record, elsewhere.config))):
        with zlens.open([made(tmp_path / name, "21:32:02", intervals, way)]) as session:
            texts.append(session.report("smtmet"))
    assert "21:33:02 IFL" in texts[0]
    # Footnotes tell of faults by release.
    assert same(*(re.sub("Run .{19}", "", text).split("\n* ")[0] for text in texts))
