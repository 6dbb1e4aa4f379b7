"""Tests of the demo dump's RMF and job records against its counters and the RMF report of the same hour."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from zlens import demo
from zlens.api import Session
from zlens.demo import machine, zos
from zlens.inputs.options import parse_zone

#: A job-end record repeats the values of its step-end record.
JOBS = (
    "(SELECT a.interval_end, a.smf30cpt, a.smf30cps, p.smf30scn, c.smf30_inst_cp_task, "
    "c.smf30_inst_cp_preemptsrb FROM smf30_cas AS a "
    'JOIN smf30_prf AS p USING (file, "offset") JOIN smf30_counter AS c USING (file, "offset") '
    "WHERE a.subtype <> 5)"
)
SERVICE = "class_kind = 'service'"


@pytest.fixture(scope="module")
def session(dump_session: Session) -> Session:
    return dump_session


def test_demo_dumps_have_no_problems(session: Session) -> None:
    assert session._core.all_problems() == []
    (info,) = session.systems
    assert (info.lpar, info.lpar_number, info.nominal_s) == (machine.ZOS_PARTITION, 3, 60)


def test_counters_have_polarity_and_parked_time(session: Session) -> None:
    rows = session.sql(
        "SELECT polarity, parked_pct, cpu_type, core_id, count(*) FROM cpumf GROUP BY ALL"
    ).rows
    assert sorted(rows) == [("Vh", 0.0, "CP", cpu, 60) for cpu in range(3)]


def test_smf_and_rmf_agree_on_partitions_and_processors(demo_folder: Path) -> None:
    """The report truncates times to the millisecond and prints two decimals."""
    partitions = (
        "SELECT interval_end, partition, cpu_type, weight, logical_cpus, effective_s, total_s, "
        "effective_pct, total_pct, msu_actual FROM partition ORDER BY ALL"
    )
    processors = (
        "SELECT interval_end, cpu_id, cpu_type, polarity, parked_pct, online_pct, entitlement_pct, busy_pct, "
        "mvs_busy_pct, io_interrupt_rate FROM cpu ORDER BY ALL"
    )
    pools = (
        "SELECT interval_end, cpu_type, physical, effective_s, total_s, phys_total_pct FROM cec ORDER BY ALL"
    )
    with (
        zlens.open(demo_folder / demo.SMF_NAME) as smf,
        zlens.open(demo_folder / demo.RMF_NAME, options=zlens.Options(tz=parse_zone(demo.ZONE))) as xml,
    ):
        for question in (partitions, processors, pools):
            found, printed = smf.sql(question).rows, xml.sql(question).rows
            assert len(found) == len(printed) > 4
            for mine, theirs in zip(found, printed, strict=True):
                for value, expected in zip(mine, theirs, strict=True):
                    if isinstance(value, float):
                        # Service units are printed as integers.
                        slack = 0.51 if value is mine[-1] and "msu" in question else 0.0061
                        assert value == pytest.approx(expected, abs=slack), (mine, theirs)
                    else:
                        assert value == expected


def test_classes_and_address_spaces_add_up(session: Session) -> None:
    """Time of a service class equals that of its address spaces; time of the system equals its dispatched
    time."""
    classes = session.sql(
        f"SELECT interval_end, class, appl_cp_pct * seconds / 100 FROM workload WHERE {SERVICE} ORDER BY ALL"
    ).rows
    spaces = session.sql(
        f"SELECT interval_end, smf30scn, sum(smf30cpt + smf30cps) / 100 FROM {JOBS} GROUP BY ALL ORDER BY ALL"
    ).rows
    assert len(classes) == 4 * len(zos.CLASSES)
    for (end, name, charged), (other_end, other_name, summed) in zip(classes, spaces, strict=True):
        assert (end, name) == (other_end, other_name)
        assert charged == pytest.approx(summed, rel=1e-9)
    captured = session.sql(
        "SELECT charged / effective_s FROM (SELECT interval_end, sum(appl_cp_pct * seconds / 100) AS charged "
        f"FROM workload WHERE {SERVICE} GROUP BY ALL) JOIN partition USING (interval_end) "
        f"WHERE partition = '{machine.ZOS_PARTITION}'"
    ).rows
    assert len(captured) == 4
    assert all(0.9 < part < zos.CAPTURED for (part,) in captured)


def test_rmf_instructions_equal_counters(session: Session) -> None:
    rows = session.sql(
        "SELECT instructions, counted, charged FROM (SELECT interval_end, "
        "sum(smf30_inst_cp_task + smf30_inst_cp_preemptsrb) AS instructions, "
        "sum(smf30cpt + smf30cps) / 100 AS charged "
        f"FROM {JOBS} GROUP BY ALL) JOIN ("
        "SELECT time_bucket(INTERVAL 15 minutes, interval_end - INTERVAL 1 second) + INTERVAL 15 minutes "
        "AS interval_end, sum(instructions) AS counted FROM cpumf GROUP BY ALL) USING (interval_end) "
        "ORDER BY interval_end"
    ).rows
    dispatched = session.sql(
        f"SELECT effective_s FROM partition WHERE partition = '{machine.ZOS_PARTITION}' ORDER BY interval_end"
    ).rows
    assert len(rows) == 4
    for (instructions, counted, charged), (effective,) in zip(rows, dispatched, strict=True):
        assert instructions / counted == pytest.approx(charged / effective, rel=1e-6)


def test_response_times_are_those_of_distribution(session: Session) -> None:
    rows = session.sql(
        "SELECT ended_rate * seconds, response_s, performance_index FROM workload WHERE class = 'CICSHI'"
    ).rows
    counts = session.sql(
        "SELECT sum(" + " + ".join(f"r723trdb_{n}" for n in range(1, 15)) + ") FROM smf72_rts "
        'WHERE scs_no IS NOT NULL GROUP BY file, "offset"'
    ).rows
    assert len(rows) == 4
    # The report class counts the same transactions.
    assert sorted(round(ended) for ended, _, _ in rows for _ in "12") == sorted(count for (count,) in counts)
    for _, response_s, index in rows:
        assert 0.04 < response_s < 0.1
        assert 0.5 <= index < 1


def test_recorded_average_follows_from_use(demo_folder: Path) -> None:
    """By minute of z/VM's records; the four hours before were like the first five minutes."""
    query = "SELECT effective_s FROM partition WHERE partition = 'ZLZOS' ORDER BY interval_end"
    with zlens.open(demo_folder / demo.MONWRITE_NAME) as vm:
        minutes = [row[0] for row in vm.sql(query).rows]
    with zlens.open(demo_folder / demo.SMF_NAME) as zos_system:
        recorded = [
            row[0] for row in zos_system.sql("SELECT rolling_msu FROM image_capacity ORDER BY ALL").rows
        ]
    # Three CPs of 105 MSU.
    before = sum(minutes[:5]) / 300
    expected = [
        round(105 * (before * (14_400 - 900 * quarter) + sum(minutes[: 15 * quarter])) / 14_400)
        for quarter in range(1, 5)
    ]
    assert recorded == expected
