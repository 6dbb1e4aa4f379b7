"""Tests of queues, ready work, capping, capacity groups, and power from SMF 70-1.

Formulas are computed here from the fields written. Sources: IBM, SMF manual, ASID Data Area Section; RMF
Report Analysis, CPU Activity; smf2db for capping; M. Packer, mainframeperformancetopics.com, 2025-05-02, for
power.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from iterations import draws
from smf70_builder import Cpu, Logical, Lpar, Record, record, session
from zlens.api import Session

SECONDS = 900.0
KINDS = {
    "I": "IN Queue", "R": "IN READY Queue", "O": "OUT READY Queue", "W": "OUT WAIT Queue",
    "L": "LOGICAL OUT READY Queue", "A": "LOGICAL OUT WAIT Queue", "B": "BATCH Address Spaces",
    "S": "STC Address Spaces", "T": "TSO Address Spaces", "P": "ASCH Address Spaces",
    "X": "OMVS Address Spaces",
}  # fmt: skip
BUCKETS = (
    "<=N", "=N+1", "=N+2", "=N+3", "<=N+5", "<=N+10", "<=N+15", "<=N+20", "<=N+30", "<=N+40",
    "<=N+60", "<=N+80", "<=N+100", "<=N+120", "<=N+150", ">N+150",
)  # fmt: skip


def smf70_record(
    control: dict[str, Any] | None = None, asid: dict[str, Any] | None = None, **partition: Any
) -> Record:
    """Return a record of a partition with two CPs, of which one is parked half of the time, and a zIIP."""
    cpus = [Cpu(0, 0, 300.0), Cpu(1, 0, 100.0, parked_s=450.0), Cpu(2, 2, 800.0)]
    logical = [
        Logical("CP", 0, 500.0, 490.0, fields={"NSW": 180, "NCA": 90}),
        Logical("CP", 1, 300.0, 290.0, fields={"NSW": 180, "NCA": 45}),
        Logical("IIP", 2, 50.0, 49.0),
    ]
    lpar = Lpar("LP1", 1, logical, fields=partition)
    given = record(SECONDS, [lpar], cpus, own=1, physical={"CP": 4, "IIP": 2}, control=control)
    if asid is not None:
        given["asid"] = [asid]
    return given


def rows(given: Record, query: str, **way: Any) -> Sequence[tuple[Any, ...]]:
    with session({"SYSA": [given]}, SECONDS, **way) as opened:
        return opened.sql(query).rows


def test_queues_of_address_spaces() -> None:
    rng = draws("queues")
    fields: dict[str, int] = {}
    expected = {}
    for letter, kind in KINDS.items():
        least, most, total = rng.randrange(9), rng.randrange(9, 99), rng.randrange(10**6)
        fields |= {f"{letter}MN": least, f"{letter}MM": most, f"{letter}TT": total}
        expected[kind] = (least, most, pytest.approx(total / 1800))
    found = rows(smf70_record(asid=fields), "SELECT kind, least, most, average FROM address_spaces")
    assert {kind: values for kind, *values in found} == {kind: [*values] for kind, values in expected.items()}


def test_queues_of_short_asid_sections() -> None:
    """A section that ends after the first queue has no others, and says nothing of work units."""
    short = {"asid": {"RTT": 1800}, "lengths": {"asid": 72}}
    given = smf70_record(asid=short["asid"])
    assert rows(given, "SELECT kind, average FROM address_spaces", lengths=short["lengths"]) == [
        ("IN READY Queue", 1.0)
    ]
    for measure in ("ready_work", "work_units"):
        assert rows(given, f"SELECT count(*) FROM {measure}", lengths=short["lengths"]) == [(0,)]


@pytest.mark.parametrize("measure", ["address_spaces", "ready_work", "work_units"])
def test_invalid_samples_of_queues_are_skipped(measure: str) -> None:
    given = smf70_record(asid={"SRM": 10, "U00": 10})
    assert rows(given, f"SELECT count(*) > 0 FROM {measure}") == [(True,)]
    given["product"][0]["FLA"] = ["ISS"]
    assert rows(given, f"SELECT count(*) > 0 FROM {measure}") == [(False,)]


def test_distribution_of_ready_work_units() -> None:
    rng = draws("distribution")
    samples = [rng.randrange(1, 1000) for _ in BUCKETS]
    fields = {f"U{number:02}": count for number, count in enumerate(samples)}
    found = rows(smf70_record(asid=fields), "SELECT bucket, samples_pct FROM ready_work ORDER BY place")
    assert found == [
        (bucket, pytest.approx(100 * count / sum(samples)))
        for bucket, count in zip(BUCKETS, samples, strict=True)
    ]


def test_distribution_without_samples() -> None:
    assert rows(smf70_record(asid={}), "SELECT count(*) FROM ready_work") == [(0,)]


def test_work_units_by_type_of_processor() -> None:
    fields = {
        "SRM": 900, "CMN": 1, "CMM": 20, "CTT": 4050, "EMM": 6, "ETT": 1800, "U00": 300, "U01": 600,
    }  # fmt: skip
    found = rows(
        smf70_record(asid=fields),
        "SELECT cpu_type, least, most, average, processors, per_processor, waiting_pct FROM work_units "
        "ORDER BY cpu_type",
    )
    # One CP is parked half of the time; zAAPs have no work units.
    assert found == [
        ("CP", 1, 20, 4.5, 1.5, 3.0, pytest.approx(200 / 3)),
        ("ZIIP", 0, 6, 2.0, 1.0, 2.0, None),
    ]


def test_work_units_without_samples() -> None:
    assert rows(smf70_record(asid={"CTT": 5}), "SELECT count(*) FROM work_units") == [(0,)]


PARTITION = (
    "SELECT cpu_type, wlm_capped_pct, cap_reached_pct, capacity_group, capacity_group_limit FROM partition "
    "ORDER BY cpu_type"
)


def test_capping_and_groups_of_partitions() -> None:
    """Shares of 1800 samples, of the processor with the most; MSU are of CPs."""
    given = smf70_record(PFL=["GRP"], GNM="GROUP1", GMU=800)
    assert rows(given, PARTITION) == [("CP", 10.0, 5.0, "GROUP1", 800.0), ("ZIIP", 0.0, 0.0, "GROUP1", None)]


def test_capacity_group_needs_its_flag() -> None:
    assert [row[3:] for row in rows(smf70_record(GNM="GROUP1", GMU=800), PARTITION)] == [(None, None)] * 2


def test_capping_without_samples() -> None:
    given = smf70_record(control={"DSA": 0})
    assert [row[1:3] for row in rows(given, PARTITION)] == [(None, None)] * 2


POWER: dict[str, Any] = {
    "INB": ["SON"], "CPUPOWER": 210_000_000, "STORAGEPOWER": 3_000_000, "IOPOWER": 6_000_000,
    "CPCTOTALPOWER": 9_000_000_000, "CPCUNASSRESPOWER": 1_500_000_000, "CPCINFRAPOWER": 3_000_000_000,
    "NUMPOWERSAMPLES": 3, "POWERPARTITIONNAME": "LP1",
}  # fmt: skip
MACHINE = "SELECT power_w, unassigned_power_w, infrastructure_power_w, partition_power_w FROM environment"
OWN = "SELECT partition, power_w, processor_power_w, memory_power_w, io_power_w FROM partition_use"


def test_power_of_machine_and_partition() -> None:
    """Microwatts added over three samples."""
    given = smf70_record(control=POWER)
    assert rows(given, MACHINE) == [(3000.0, 500.0, 1000.0, 1500.0)]
    assert rows(given, OWN) == [("LP1", 73.0, 70.0, 1.0, 2.0)]


@pytest.mark.parametrize("changed", [{"INB": 0}, {"INB": ["SON", "SUF"]}, {"NUMPOWERSAMPLES": 0}])
def test_power_that_is_not_recorded(changed: dict[str, Any]) -> None:
    given = smf70_record(control={**POWER, **changed})
    assert rows(given, MACHINE) == rows(given, OWN) == []


def test_power_needs_a_section_that_has_it() -> None:
    given = smf70_record(control=POWER)
    assert rows(given, MACHINE, lengths={"control": 404}) == []


def findings(opened: Session) -> set[str]:
    return {found.rule.id for found in opened.findings() if found.rule.area == "rmf"}


@pytest.mark.parametrize(("within", "expected"), [(39, {"RMF-001"}), (40, set())])
def test_finding_of_latent_demand_in_smf70(within: int, expected: set[str]) -> None:
    with session({"SYSA": [smf70_record(asid={"U00": within, "U01": 100 - within})] * 3}, SECONDS) as opened:
        assert findings(opened) == expected
