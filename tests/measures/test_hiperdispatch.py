"""Tests of decisions, topology and goals from SMF 99.

Formulas and conditions: IBM, SMF Explorer, mapping of SMF 99 subtypes 6, 12 and 14, computed here from the
fields written.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import zlens
from fakes import START_US
from iterations import draws
from smf70_builder import US, encoded
from smf99_builder import DECREASE, INCREASE, decision, goals, interval, topology, written
from zlens import _native
from zlens.inputs.options import Options, parse_time_spec

#: Records after the first minute, which ends at 22:15.
AFTER_A_MINUTE = Options(start=parse_time_spec("2023-11-14 22:15:00"), utc=True)
WANT, UNPARK = f"{INCREASE}DISCRUPREQU", f"{INCREASE}DISCRUNPARK"
WANT_PARK, PARK = f"{DECREASE}DISCRPAREQU", f"{DECREASE}DISCRPARK"
CAPPED = f"{DECREASE}PRSMCAPVHUTIL"


def when(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(START_US / US + seconds, dt.UTC)


def rows(path: Path, query: str, options: Options | None = None) -> Sequence[tuple[Any, ...]]:
    with zlens.open([path], options=options) as session:
        return session.sql(query).rows


def test_values_of_decisions(tmp_path: Path) -> None:
    path = written(tmp_path, [decision(10, {}, {"HD_INT_CAP_PROCTYPE": 4, "VCM_D204CPUTYPECAPVAL": 250})])
    found = rows(
        path,
        "SELECT cpu_type, interval_end, seconds, unparked, parked, mvs_busy_pct, projected_busy_pct, "
        "lpar_busy_pct, used_pct, guaranteed_pct, machine_pct, machine_free_pct, unpark_limit_pct, "
        "park_limit_pct, absolute_cap "
        "FROM decision ORDER BY cpu_type",
    )
    # 4.5 s of 2 s on each of five processors; 3 s and 5 s in percent of 2 s.
    same = (when(10), 2.0, 3, 2, 75.0, 80.0, 45.0, 225.0, 150.0, 60.0, 250.0, 95.0, 50.0)
    assert found == [("CP", *same, None), ("ZIIP", *same, 2.5)]


@pytest.mark.parametrize(
    ("flag", "known"), [("VCM_CECCAPVALID", (None, None, 60.0)), ("VCM_LPARCAPVALID", (45.0, 225.0, None))]
)
def test_capacities_that_are_not_valid(tmp_path: Path, flag: str, known: tuple[float | None, ...]) -> None:
    path = written(tmp_path, [decision(10, VCM_FLAG2=[flag])])
    assert rows(path, "SELECT lpar_busy_pct, used_pct, machine_pct FROM decision") == [known]


def test_system_without_processors_of_a_type(tmp_path: Path) -> None:
    none = {"VCM_CPUHI": 0, "VCM_CPUMED": 0, "VCM_CPULO": 0}
    path = written(tmp_path, [decision(10, none)])
    assert rows(path, "SELECT lpar_busy_pct FROM decision") == [(None,)]


#: Increase, decrease, other fields; the decision.
DECISIONS: list[tuple[list[str], list[str], dict[str, Any], tuple[str | None, bool | None]]] = [
    ([], [], {}, (None, None)),
    ([WANT, UNPARK], [], {}, ("unpark", False)),
    ([UNPARK], [CAPPED], {}, ("unpark", True)),
    ([], [f"{DECREASE}EFFLOWTHR", PARK, WANT_PARK], {}, ("park", False)),
    ([], [CAPPED, f"{DECREASE}PRSMCAPEFFECTTHR", WANT_PARK], {}, ("park", True)),
    # Busy at the limit, with exactly and with more than the free capacity of 2 s x 95%.
    ([], [], {"VCM_MVSBUSY": 1520, "VCM_CECCAPFREE": 1_900_000}, ("no unpark", False)),
    ([], [], {"VCM_MVSBUSY": 1520, "VCM_CECCAPFREE": 1_900_001}, (None, None)),
    ([], [], {"VCM_MVSBUSY": 1519, "VCM_CECCAPFREE": 0}, (None, None)),
    ([WANT], [], {"VCM_CPULOPARKED": 0}, ("no unpark", False)),
    ([WANT], [], {}, (None, None)),
    ([f"{INCREASE}UNUSEDCAP", WANT, UNPARK], [], {}, ("unpark", False)),
    ([f"{INCREASE}UNUSEDCAP", UNPARK], [CAPPED], {}, ("unpark", True)),
    ([], [f"{DECREASE}BUSYTHR", PARK, WANT_PARK], {}, ("park", False)),
    ([], [f"{DECREASE}PRSMCAPBUSYTHR", WANT_PARK], {}, ("park", True)),
    ([], [f"{DECREASE}EFFECTNONE", PARK, WANT_PARK], {}, ("park", False)),
    ([], [f"{DECREASE}EFFECTSMALL", PARK, WANT_PARK], {}, ("park", False)),
    ([], [f"{DECREASE}EFFECTTHR", PARK, WANT_PARK], {}, ("park", False)),
    ([], [f"{DECREASE}PRSMCAPEFFECTTHR", f"{DECREASE}PRSMCAP", WANT_PARK], {}, ("park", True)),
    ([], [f"{DECREASE}BUSYTHR", WANT_PARK], {}, (None, None)),
    # The condition listed last counts.
    ([WANT, UNPARK], [f"{DECREASE}BUSYTHR", PARK, WANT_PARK], {}, ("park", False)),
]


def test_decisions_of_diagnostic_bits(tmp_path: Path) -> None:
    decisions = [
        decision(10 + 2 * number, {"VCM_DIAGCAPINCR": more, "VCM_DIAGCAPDECR": less, **fields})
        for number, (more, less, fields, _) in enumerate(DECISIONS)
    ]
    found = rows(
        written(tmp_path, decisions), "SELECT request, capped, reason FROM decision ORDER BY interval_end"
    )
    assert [row[:2] for row in found] == [expected for *_, expected in DECISIONS]
    reasons = [row[2] for row in found if row[2]]
    assert (reasons[0], reasons[4]) == ("busy above the limit", "no free capacity (inferred)")
    # Capped and not capped, the reasons of a condition are the same.
    assert len(set(reasons)) == 9


def test_decisions_by_interval(tmp_path: Path) -> None:
    """Brute force over the decisions written, also of several minutes together."""
    rng = draws("decisions")
    decisions = []
    for at_s in range(2, 181, 2):
        parked = rng.randrange(4)
        capacity = {
            "VCM_MVSBUSY": rng.randrange(1600),
            "VCM_CPULOUNPARKED": 3 - parked,
            "VCM_CPULOPARKED": parked,
            "VCM_LPARCAPUSEDADJ": rng.randrange(10_000_000),
            # Without parked processors, there is nothing to unpark.
            "VCM_DIAGCAPINCR": [WANT, UNPARK] if rng.random() < 0.2 and parked else 0,
        }
        decisions.append((at_s, capacity, rng.random() < 0.8))
    records = [
        decision(at_s, capacity, VCM_FLAG2=["VCM_CECCAPVALID", *(["VCM_LPARCAPVALID"] if valid else [])])
        for at_s, capacity, valid in decisions
    ]
    path = written(tmp_path, records, intervals=3)
    query = (
        "SELECT interval_end, seconds, decisions, unparks, mvs_busy_pct, unparked, parked, used_pct "
        "FROM hiperdispatch ORDER BY interval_end"
    )

    def expected(first: int, last: int) -> tuple[Any, ...]:
        within = [each for each in decisions if first < each[0] <= last]

        def mean(values: Sequence[float]) -> Any:
            return pytest.approx(sum(values) / len(values))

        return (
            len(within),
            sum(bool(capacity["VCM_DIAGCAPINCR"]) for _, capacity, _ in within),
            mean([capacity["VCM_MVSBUSY"] / 16 for _, capacity, _ in within]),
            mean([2 + capacity["VCM_CPULOUNPARKED"] for _, capacity, _ in within]),
            mean([capacity["VCM_CPULOPARKED"] for _, capacity, _ in within]),
            mean([capacity["VCM_LPARCAPUSEDADJ"] / 20_000 for _, capacity, valid in within if valid]),
        )

    assert rows(path, query) == [(when(60 * n), 60.0, *expected(60 * n - 60, 60 * n)) for n in (1, 2, 3)]
    (hour,) = rows(path, query, Options(every_s=3600))
    assert hour[1:] == (180.0, *expected(0, 180))


def test_decisions_do_not_divide_intervals(tmp_path: Path) -> None:
    path = written(tmp_path, [decision(at_s) for at_s in range(2, 121, 2)])
    assert rows(path, "SELECT interval_end, seconds, flag FROM interval ORDER BY 1") == [
        (when(60), 60.0, None),
        (when(120), 60.0, None),
    ]


def test_decisions_of_a_window(tmp_path: Path) -> None:
    path = written(tmp_path, [decision(at_s) for at_s in (30, 60, 62, 90, 122)])
    options = AFTER_A_MINUTE
    assert rows(path, "SELECT interval_end FROM decision ORDER BY 1", options) == [(when(62),), (when(90),)]
    assert rows(path, "SELECT interval_end, decisions FROM hiperdispatch", options) == [(when(120), 2)]


def test_raw_decisions_of_a_window(tmp_path: Path) -> None:
    """They are selected by the intervals of their times, not by their ends."""
    path = written(tmp_path, [decision(at_s) for at_s in (30, 60, 62, 90, 122)])
    query = "SELECT interval_end FROM smf99_12_hd_capacity ORDER BY 1"
    assert rows(path, query, AFTER_A_MINUTE) == [(when(62),), (when(90),)]


def test_dumps_that_overlap_count_decisions_once(tmp_path: Path) -> None:
    path = written(tmp_path, [decision(30), decision(30)])
    assert rows(path, "SELECT decisions FROM hiperdispatch") == [(1,)]


def test_decisions_without_intervals_of_a_system(tmp_path: Path) -> None:
    path = written(tmp_path, [decision(30)], intervals=0)
    assert rows(path, "SELECT count(*) FROM decision") == [(1,)]
    assert rows(path, "SELECT count(*) FROM hiperdispatch") == [(0,)]


def processor(number: int, polarity: int, *levels: int, **fields: Any) -> dict[str, Any]:
    location = {f"CP_CI_NL{level}": value for level, value in enumerate(levels, 1)}
    return {
        "HD_TOPOCHG_CPU_INDEX": number,
        "CP_MISC": 0x40 | polarity,
        "CP_CI_NLINUSE": len(levels),
        **location,
        **fields,
    }


TOPOLOGY = (
    "SELECT interval_end, core_id, cpu_type, polarity, node, nest_4, nest_3, nest_2, nest_1 FROM topology "
    "ORDER BY interval_end, core_id"
)


def test_topology_of_hiperdispatch(tmp_path: Path) -> None:
    first = [
        processor(0, 3, 4, 2, 1),
        processor(1, 2, 5, 2, 1, CP_CPUTYPE=4),
        processor(2, 1, 6, 3, CP_CI_FLAGS=["CP_CI_NOTOPOINFO"]),
        processor(3, 0),
    ]
    moved = [processor(0, 3, 7, 2, 1), *first[1:]]
    nodes = {0: 1, 1: 2, 2: 1}
    # Repetitions are no changes.
    times = {20: first, 40: first, 80: moved, 100: moved}
    records = [topology(at_s, processors, nodes) for at_s, processors in times.items()]

    def expected(at_s: float, level_1: int) -> list[tuple[Any, ...]]:
        return [
            (when(at_s), 0, "CP", "Vh", 1, None, 1, 2, level_1),
            (when(at_s), 1, "ZIIP", "Vm", 2, None, 1, 2, 5),
            (when(at_s), 2, "CP", "Vl", 1, None, None, None, None),
            (when(at_s), 3, "CP", "Hor", None, None, None, None, None),
        ]

    path = written(tmp_path, records)
    assert rows(path, TOPOLOGY) == [*expected(20, 4), *expected(80, 7)]
    # The first one still applies after the first minute, but not where another one is recorded at its end.
    assert rows(path, TOPOLOGY, AFTER_A_MINUTE) == [*expected(20, 4), *expected(80, 7)]
    path = written(tmp_path, [topology(20, first, nodes), topology(60, moved, nodes)])
    assert rows(path, TOPOLOGY, AFTER_A_MINUTE) == expected(60, 7)


@pytest.mark.parametrize(
    ("highest", "expected"), [(0, []), (1, []), (3, [(0, "Vh", None, 3, 2, 1)]), (6, [(0, "Vh", 4, 3, 2, 1)])]
)
def test_topology_of_processors_of_smf70(
    tmp_path: Path, highest: int, expected: list[tuple[Any, ...]]
) -> None:
    levels = {f"CORDL{level}": level for level in range(1, 7)}
    content = interval(POF=0xC0, MAXNL=highest, **levels)
    path = tmp_path / "made.smf"
    writer = _native.SmfWriter(str(path))
    writer.write([piece for n in (1, 2) for piece in encoded("SYSA", content, START_US + n * 60 * US, 60.0)])
    writer.finish()
    assert rows(path, "SELECT core_id, polarity, nest_4, nest_3, nest_2, nest_1 FROM topology") == expected


def test_goals_of_policy_intervals(tmp_path: Path) -> None:
    periods = [
        {
            "ECLASS_NAME": "ONLINE", "PER_NUM": 2, "GOALTYPE": 2, "PERCENTILE": 90, "GOALVAL": 250,
            "IMPOR": 2, "LOCAL_PI": 130, "SYSPLEX_PI": 95, "DP": 245, "RUA": 40,
        },
        {"ECLASS_NAME": "BATCH", "PER_NUM": 1, "GOALTYPE": 3, "GOALVAL": 30, "IMPOR": 4, "LOCAL_PI": 0},
        {"ICLASS_NAME": "$SRMGOOD", "PER_NUM": 1},
    ]  # fmt: skip
    found = rows(
        written(tmp_path, [goals(10, periods)]),
        "SELECT class, period, goal_kind, goal, goal_percent, importance, local_index, sysplex_index, "
        "priority, ready FROM policy_interval ORDER BY class",
    )
    assert found == [
        ("BATCH", 1, "velocity", 30.0, None, 4, None, None, 0, 0.0),
        ("ONLINE", 2, "response time", 0.25, 90.0, 2, 1.3, 0.95, 245, 2.5),
    ]
