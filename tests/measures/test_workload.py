"""Tests of the measure workload: goals, velocity, performance index, response times, unknown values."""

from __future__ import annotations

from typing import Any

import pytest

from smf72_rows import UNITS, Row, one, opened, period
from zlens.inputs.options import Options

#: Flags of a goal: its kind, and the unit of a response time.
PERCENTILE, AVERAGE, VELOCITY, DISCRETIONARY, SYSTEM = 128, 64, 32, 16, 8
MILLISECONDS, SECONDS, MINUTES, HOURS = 128, 64, 32, 16


def buckets(**counts: int) -> list[int]:
    """Return counts by bucket number, b1 to b14."""
    return [counts.get(f"b{n}", 0) for n in range(1, 15)]


def percentile(percent: int, counts: list[int], *, flags: int = 0, goal_ms: int = 500) -> Row:
    return period(
        crgf=PERCENTILE, crtf=MILLISECONDS, cval=goal_ms, cpct=percent, rtdm=goal_ms, buckets=counts,
        crs1=flags, crcp=sum(counts),
    )  # fmt: skip


def test_velocity_and_its_index() -> None:
    row = period(crgf=VELOCITY, cval=50, ctou=300, ctot=700, cimp=2, ctsa=2000.0, ccde=400)
    assert one("goal_kind, goal, velocity_pct, importance, cpu_delay_pct", row) == (
        "velocity",
        50.0,
        30.0,
        2,
        20.0,
    )
    assert one("performance_index", row)[0] == pytest.approx(50 / 30)


def test_velocity_without_samples_is_null() -> None:
    row = period(crgf=VELOCITY, cval=50)
    assert one("velocity_pct, performance_index, cpu_delay_pct", row) == (None, None, None)


@pytest.mark.parametrize(
    ("unit", "goal", "seconds"),
    [(MILLISECONDS, 250, 0.25), (SECONDS, 3, 3.0), (MINUTES, 2, 120.0), (HOURS, 1, 3600.0)],
)
def test_average_response_time(unit: int, goal: int, seconds: float) -> None:
    """1000 transactions of 2 s each, recorded in units of 1024 microseconds."""
    row = period(crgf=AVERAGE, crtf=unit, cval=goal, crcp=1000, ctet=2000 / 0.001024, cxet=1500 / 0.001024)
    assert one("goal_kind, goal", row) == ("average", seconds)
    response, execution, index = one("response_s, execution_s, performance_index", row)
    assert (response, execution) == (pytest.approx(2.0), pytest.approx(1.5))
    assert index == pytest.approx(2.0 / seconds)


def test_microsecond_fields_are_preferred() -> None:
    row = period(crcp=100, ctet=1 / 0.001024, ctetx=100e6, cqdt=9 / 0.001024)
    assert one("response_s, round(queue_s, 6)", row) == (1.0, 0.09)


@pytest.mark.parametrize(
    ("percent", "counts", "index"),
    [
        (90, buckets(b1=90, b14=10), 0.5),
        (90, buckets(b1=89, b2=1, b14=10), 0.6),
        (90, buckets(b1=50, b6=40, b7=10), 1.0),
        (90, buckets(b1=89, b13=1, b14=10), 4.0),
        (90, buckets(b1=89, b14=11), 5.5),
        (90, buckets(b12=1), 2.0),
        (90, buckets(), None),
    ],
)
def test_percentile_goal(percent: int, counts: list[int], index: float | None) -> None:
    assert one("performance_index", percentile(percent, counts)) == (index,)


def test_share_within_goal() -> None:
    row = percentile(80, buckets(b1=10, b6=60, b7=20, b14=10))
    assert one("goal, goal_percent, within_goal_pct, performance_index", row) == (0.5, 80.0, 70.0, 1.1)


def test_goals_without_performance_index() -> None:
    for flag, kind in ((DISCRETIONARY, "discretionary"), (SYSTEM, "system"), (0, None)):
        found = one(
            "goal_kind, goal, performance_index, importance", period(crgf=flag, cval=40, ctou=1, ctot=1)
        )
        assert found == (kind, None, None, None)


def test_mixed_report_class_period_has_no_goal() -> None:
    row = percentile(90, buckets(b1=5), flags=0b1000_0000)
    found = one("heterogeneous, goal_kind, goal, performance_index, within_goal_pct", row)
    assert found == (True, None, None, None, None)
    with opened([row]) as session:
        assert session.sql("SELECT * FROM workload_response").rows == []


def test_buckets_with_their_bounds() -> None:
    counts = buckets(b1=10, b6=60, b7=20, b14=10)
    with opened([percentile(90, counts)]) as session:
        rows = session.sql(
            "SELECT bucket, bound_pct, bound_s, ended, reached, reached_pct "
            "FROM workload_response ORDER BY bucket"
        ).rows
    assert [row[3] for row in rows] == counts
    assert rows[0] == (1, 50.0, 0.25, 10, 10, 10.0)
    assert rows[5] == (6, 100.0, 0.5, 60, 70, 70.0)
    assert rows[11][1:3] == (200.0, 1.0)
    assert rows[13] == (14, None, None, 10, 100, 100.0)


def test_bucket_has_index_of_its_percentile() -> None:
    """IBM, SMF Explorer: the upper bound / the goal; 5.5 in the bucket without one."""
    with opened([percentile(90, buckets(b1=1))]) as session:
        rows = session.sql("SELECT performance_index FROM workload_response ORDER BY bucket").rows
    assert [row[0] for row in (rows[0], rows[5], rows[12], rows[13])] == [0.5, 1.0, 4.0, 5.5]


def test_unreported_resources_are_null() -> None:
    """A class of CICS transactions reports no resources: its counters are 0 without a meaning."""
    names = "cpu_s, cp_s, ziip_s, appl_cp_pct, appl_ziip_pct, service_rate"
    assert one(names, period(cadf=0b0110_0000, crcp=5)) == (None,) * 6
    assert one(names, period(crcp=5)) == (0.0,) * 6


def test_invalid_factor_makes_dependents_null() -> None:
    of = {"mflg_hisf": True, "mcf": 1024, "mcfs": 1400}
    row = period(of=of, ccpu=90 * UNITS, csup=45 * UNITS)
    assert one("cp_s, ziip_s, max_capacity_ziip, appl_cp_pct, appl_ziip_pct", row) == (
        45.0,
        45.0,
        None,
        None,
        None,
    )


def test_levels_without_ziips_and_multithreading() -> None:
    """Their sections end before such fields: all time is of CPs."""
    row = period(
        of={"mcf": None, "mcfs": None, "mcfi": None, "nffs": None, "nffi": None},
        ccpu=90 * UNITS, csup=None, csuc=None, cifa=None, cifc=None, ctetx=None, crcp=9, ctet=9 / 0.001024,
    )  # fmt: skip
    assert one("cp_s, appl_cp_pct, ziip_s, appl_ziip_pct", row) == (90.0, 10.0, None, None)
    assert one("response_s", row) == (pytest.approx(1.0),)


def test_all_parts_of_cp_time() -> None:
    row = period(
        of={"nffs": 512, "nffi": 256, "msrb": 20_000},
        ccpu=100 * UNITS, csrb=20 * UNITS, crct=1e6, ciit=2e6, chst=3e6, csup=10 * UNITS, cifa=5 * UNITS,
    )  # fmt: skip
    found = one("cpu_s, srb_s, rct_s, iit_s, hst_s, ziip_s, ziip_cp_s, zaap_s, cp_s", row)
    assert found == (100.0, 10.0, 1.0, 2.0, 3.0, 10.0, 20.0, 5.0, 91.0)


def test_zero_service_coefficient_gives_null() -> None:
    row = period(of={"mcpu": 0}, ccpu=0.0, csup=0.0)
    assert one("cpu_s, cp_s, appl_cp_pct", row) == (None, None, None)
    assert one("srb_s", period(of={"msrb": 0})) == (0.0,), (
        "without service of requests there was no time of them"
    )


def test_names_of_class() -> None:
    of = {"mcnm": "RCLASS", "mscf_mrcl": True, "mwnm": "", "ggnm": "LIMITED", "mcde": "all of it"}
    found = one(
        "class, class_kind, period, workload, policy, resource_group, description", period(of=of, cper=2)
    )
    assert found == ("RCLASS", "report", 2, None, "POLICY", "LIMITED", "all of it")
    assert one("class_kind, workload, resource_group", period()) == ("service", "WORK", None)


def test_workload_over_several_intervals() -> None:
    """Times, samples and buckets are added; indexes and percentages are computed again."""
    first = percentile(90, buckets(b1=100)) | {"seconds": 900.0}
    first["period"] |= {"r723ccpu": 90 * UNITS, "r723ctou": 90, "r723ctot": 10}
    second = percentile(90, buckets(b1=10, b8=90))
    second["period"] |= {"r723ccpu": 450 * UNITS, "r723ctou": 10, "r723ctot": 90}
    options = Options(every_s=3600)
    with opened([first], [second], options=options) as session:
        found = session.sql(
            "SELECT seconds, cpu_s, appl_cp_pct, velocity_pct, performance_index, within_goal_pct, ended "
            "FROM workload"
        ).rows
    assert found == [(1800.0, 540.0, 30.0, 50.0, 1.2, 55.0, 200)]


def test_classes_of_one_name() -> None:
    """A report class may have the name of a service class; periods are separate rows."""
    rows: list[dict[str, Any]] = [
        period(of={"mcnm": "BATCH"}, ccpu=9 * UNITS),
        period(of={"mcnm": "BATCH"}, cper=2, ccpu=18 * UNITS),
        period(of={"mcnm": "BATCH", "mscf_mrcl": True}, ccpu=27 * UNITS),
    ]
    with opened(rows) as session:
        found = session.sql("SELECT class_kind, period, appl_cp_pct FROM workload ORDER BY ALL").rows
    assert found == [("report", 1, 3.0), ("service", 1, 1.0), ("service", 2, 2.0)]


def test_states_of_samples() -> None:
    row = period(
        ctsa=1000.0, ccus=100, supu=50, ciou=25, ctot=225, ccde=125, capr=10, caco=15, cidl=500, cunk=75
    )
    with opened([row]) as session:
        found = session.sql(
            "SELECT cpu_using_pct, ziip_using_pct, io_using_pct, delay_pct, cpu_delay_pct, paging_delay_pct, "
            "idle_pct, unknown_pct FROM workload_state"
        ).rows
    assert found == [(10.0, 5.0, 2.5, 22.5, 12.5, 2.5, 50.0, 7.5)]
