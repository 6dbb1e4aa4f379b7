"""Tests of the CPU MF tables: formulas by machine, withheld values, the user's weights, and sums."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes import HEADER, MINUTE_US, START_US, FakeSource, FakeTable, system
from smf113_rows import opened, row, values
from zlens.api import Session
from zlens.catalog import cpumf, cpumf_formulas, generations
from zlens.catalog.cpumf import FormulaPolicy
from zlens.catalog.raw_columns import RawColumn
from zlens.errors import InputError
from zlens.inputs.data_quality import find_quality_problems
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval

EARLY = ("z10", "z196", "zEC12")
WITHOUT_ECC = (*EARLY, "z13", "z14")

BASIC = {"B0": 4e9, "B1": 2e9, "B2": 3e7, "B3": 2e8, "B4": 5e7, "B5": 6e8, "P32": 1e9, "P33": 5e8}


def counters(generation: str, share: float = 0.01) -> dict[str, float]:
    """Return all counters of a generation; each source of L1 misses has this share of them."""
    misses = BASIC["B2"] + BASIC["B4"]
    found = {f"E{number}": 1e6 for number in cpumf.generation(generation).counters if 128 <= number < 288}
    found |= {f"E{number}": share * misses for number in cpumf.l1_source_counters(generation)}
    found |= {f"C{number}": 1e6 for number in cpumf.generation(generation).counters if 64 <= number < 84}
    return {**BASIC, **found}


def one_of_each(**facts: object) -> list:
    return [
        row(counters(name), generation=name, cpu_id=cpu, cpsp=5000, **facts)
        for cpu, name in enumerate(generations.names())
    ]


@pytest.fixture(scope="module")
def each_machine():
    return {found["generation"]: found for found in values(opened(one_of_each()), "*")}


@pytest.fixture(scope="module")
def allowed():
    session = opened(one_of_each(), Options(allow_unverified=True))
    return {found["generation"]: found for found in values(session, "*")}


# Machines


def test_formulas_of_every_machine(each_machine) -> None:
    assert list(each_machine) == list(generations.names())
    for name, found in each_machine.items():
        sourced = cpumf.l1_source_counters(name)
        assert found["cpi"] == 2
        assert found["l1mp"] == 4
        assert found["problem_state_pct"] == 25
        assert found["generation_by"] == "machine type"
        assert (found["l15p"] is None) == (name != "z10")
        assert (found["l3p"] is None) == (name == "z10")
        assert (found["transactions"] is None) == (name in ("z10", "z196"))
        assert (found["ecc_fn_rate"] is None) == (name in WITHOUT_ECC)
        functions = 4 if name in WITHOUT_ECC else 5
        assert found["crypto_busy_pct"] == pytest.approx(functions * 100 * 1e6 / 3e11)
        shares = [found[share] for share in cpumf.SHARES if found[share] is not None]
        # Up to zEC12, memory includes misses without a source counter.
        total = 100 if name in EARLY else len(sourced)
        assert sum(shares) == pytest.approx(total)
    assert each_machine["z13"]["l4rp"] == pytest.approx(18)
    assert each_machine["z15"]["l4lp"] == pytest.approx(11)
    assert each_machine["z16"]["memp"] == pytest.approx(8)
    assert each_machine["z17"]["memp"] == pytest.approx(4)
    assert each_machine["z17"]["transactions"] == 5_000_000


def test_tlb_metrics_have_basis(each_machine) -> None:
    assert len({each_machine[name]["basis"] for name in EARLY}) == 1
    assert len({each_machine[name]["basis"] for name in ("z14", "z15", "z16", "z17")}) == 1
    assert len({found["basis"] for found in each_machine.values()}) == 3
    for name, found in each_machine.items():
        assert found["tlb_pte_pct"] == 50
        scale = 1 if name in EARLY else 1e6 / 8e8
        assert found["tlb_cycles_per_miss"] == pytest.approx(scale)
        assert found["tlb_cpu_miss_pct"] == pytest.approx(100 * 2e6 / 4e9 * scale)


def test_unverified_metrics_are_null_with_status(each_machine) -> None:
    for name, found in each_machine.items():
        status = cpumf.generation(name).metrics["rni"].status
        assert found["rni_status"] == status
        assert (found["rni"] is None) == (status == "unverified")
        assert (found["workload_hint"] is None) == (status == "unverified")
        assert found["workload_hint_status"] == (None if status == "unverified" else "verified-secondary")
    early = each_machine["zEC12"]
    assert early["finite_cpi_status"] == "unverified"
    assert early["est_finite_cpi"] is early["est_scpl1m"] is early["est_instr_cmplx_cpi"] is None
    assert each_machine["z10"]["est_finite_cpi"] == pytest.approx(0.84 * 0.4)
    assert each_machine["z13"]["est_finite_cpi"] == pytest.approx(1e6 / 2e9)
    assert each_machine["z13"]["est_scpl1m"] == pytest.approx(1e6 / 8e7)
    assert each_machine["z13"]["finite_cpi_status"] == "linux"


def test_unverified_metrics_can_be_allowed(each_machine, allowed) -> None:
    unverified = FormulaPolicy(unverified=True)
    for name, found in allowed.items():
        assert found["rni_status"] == each_machine[name]["rni_status"]
        assert (found["rni"] is None) == (cpumf_formulas.counter_formula(name, "rni", unverified) is None)
        # A hint has the status of its RNI.
        sure = each_machine[name]["workload_hint"] is not None
        assert found["workload_hint_status"] == (
            "verified-secondary" if sure else None if found["rni"] is None else "unverified"
        )
        assert (found["workload_hint"] is None) == (found["rni"] is None)
    assert allowed["z16"]["rni"] == pytest.approx(4.3 * (0.45 * 8 + 1.3 * 14 + 5 * 5 + 6.1 * 8) / 100)
    assert allowed["z13"]["rni"] == each_machine["z13"]["rni"]
    early = allowed["zEC12"]
    assert early["finite_cpi_status"] == "unverified"
    assert early["est_finite_cpi"] == pytest.approx((0.54 + 0.04 * early["rni"]) * 0.4)
    assert early["est_instr_cmplx_cpi"] == pytest.approx(2 - early["est_finite_cpi"])


def test_user_weights_are_applied(tmp_path: Path, each_machine) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        "z16 = { rni = [2, 1, 1, 1, 1] }\nz17 = { rni = [1, 0, 0, 0, 1], finite = [0.5, 0.1] }\n"
        "zEC12 = { finite = [0.5, 0] }\n",
        encoding="utf-8",
    )
    session = opened(one_of_each(), Options(weights=str(path)))
    found = {each["generation"]: each for each in values(session, "*")}
    assert found["z16"]["rni"] == pytest.approx(2 * (8 + 14 + 5 + 8) / 100)
    assert (found["z16"]["rni_status"], found["z16"]["finite_cpi_status"]) == ("user", "linux")
    assert found["z16"]["workload_hint"] == "AVERAGE"
    assert found["z16"]["workload_hint_status"] == "user"
    # No table of hints is known for z17.
    assert found["z17"]["rni"] == pytest.approx(0.04)
    assert found["z17"]["workload_hint"] is None
    assert found["z17"]["est_finite_cpi"] == pytest.approx((0.5 + 0.1 * 0.04) * 0.4)
    assert found["z17"]["finite_cpi_status"] == "user"
    assert found["zEC12"]["est_instr_cmplx_cpi"] == pytest.approx(2 - 0.5 * 0.4)
    assert found["zEC12"]["finite_cpi_status"] == "user"
    assert found["z13"] == each_machine["z13"]


def test_unreadable_weights_are_error(tmp_path: Path) -> None:
    session = opened(one_of_each(), Options(weights=str(tmp_path / "nothing.toml")))
    with pytest.raises(InputError, match="nothing"):
        session.sql("SELECT rni FROM cpumf")


def test_unknown_machine_has_common_metrics() -> None:
    z17 = counters("z17")
    rows = [
        row(z17, cpu_id=0, machine_type="9999", version1=3, version2=9),
        row(z17, cpu_id=1, machine_type="2964", version1=1, version2=5),
        row(z17, cpu_id=2, version1=3, version2=8),
    ]
    session = opened(rows)
    strange, other, versioned = values(session, "*")
    for found in (strange, other):
        assert (found["cpi"], found["l1mp"], found["problem_state_pct"]) == (2, 4, 25)
        assert found["sha_fn_rate"] == pytest.approx(1e6 / 60)
        missing = ("generation", "l3p", "est_finite_cpi", "rni", "rni_status", "basis", "transactions")
        assert [found[name] for name in missing] == [None] * len(missing)
    assert strange["generation_by"].startswith("machine type 9999 is not known")
    assert other["generation_by"].startswith("counter version 5 does not belong to machine type 2964")
    assert (versioned["generation"], versioned["generation_by"]) == ("z17", "counter version")
    assert versioned["l3p"] == pytest.approx(8)
    problems = quality_problems(session)
    assert [(each.system, each.source, each.kind) for each in problems] == [("SYSA", "smf", "no_layout")] * 2
    assert sum("machine type 9999 is not known" in each.detail for each in problems) == 1


# Balances


def quality_problems(session: Session) -> list[Problem]:
    return find_quality_problems(session._core.queries.rows, lambda *_: [], {"counter"})


def withheld(*rows, options: Options | None = None) -> list[str]:
    session = opened([*rows, row(counters("z13"), generation="z13", system="GOOD")], options)
    shown = {each["system"] for each in values(session, "system")}
    assert "GOOD" in shown
    problems = [each for each in quality_problems(session) if each.kind == "section"]
    assert {each.system for each in problems} == {"GOOD", "SYSA"} - shown
    if problems:
        assert values(session, "*", "core_type")[0]["system"] == "GOOD"
    return [each.detail for each in problems]


def test_contradicting_counters_are_withheld() -> None:
    good = counters("z13")
    [detail] = withheld(
        row(good, generation="z13"),
        row({**good, "P33": 3e9}, generation="z13", minute=1, cpu_id=4),
    )
    assert detail.startswith("CPU MF of this system is not shown: more instructions in problem state than in")
    assert "(processor 4, 2023-11-14 22:15:00 UTC: 3000000000 against 2000000000; 1 time in all)" in detail


def test_single_damaged_sample_is_dropped() -> None:
    """One damaged sample of twenty does not change the meaning of counters."""
    good = counters("z13")
    rows = [row(good, generation="z13", minute=minute) for minute in range(20)]
    rows[7] = row({**good, "P33": 3e9}, generation="z13", minute=7)
    session = opened(rows)
    assert len(values(session, "cpi")) == 19
    [problem] = quality_problems(session)
    assert (problem.kind, problem.record) == ("impossible", "CPU MF")
    assert problem.detail.startswith(
        "CPU MF of 1 of 20 samples is left out: more instructions in problem state"
    )


def test_counter_balances_hold() -> None:
    good = counters("z14")
    details = withheld(
        row({**good, "P32": 5e9}, generation="z14"),
        row({**good, "E144": 8e7}, generation="z14", minute=1),
        row({**good, "E144": 8e7}, generation="z14", minute=2),
        row(good, generation="z14", minute=3, problem_counters=6),
        row(good, generation="z14", minute=4, crypto_counters=20),
        row(good, generation="z14", minute=5, extended_counters=160),
        row(good, generation="z14", minute=6, mt_diag_counters=2),
        row(good, generation="z14", minute=7, basic_counters=5),
    )
    assert len(details) == 7
    assert sum("2 times in all" in detail for detail in details) == 1
    assert sum("does not have the size of its version" in detail for detail in details) == 5


def test_plausible_counters_are_not_withheld() -> None:
    good = counters("z14")
    assert not withheld(
        # Counters are read in sequence and differ by events in between.
        row({**good, "P33": 2e9 * 1.0005}, generation="z14"),
        row({"B0": 100, "B1": 50, "P32": 900, "P33": 60}, generation="z14", minute=1),
        # Lost counters imply nothing.
        row({**good, "P33": 9e9}, generation="z14", minute=2, lost=True),
        # Unrecorded sets and reset counters have no differences.
        row({"B0": 4e9, "B1": 2e9}, generation="z14", minute=3, extended_counters=None),
        row({}, generation="z14", minute=4, seconds=None),
        # Unknown versions have no known sizes.
        row(BASIC, machine_type="9999", version1=4, version2=12, minute=5, extended_counters=999),
    )


# Over time and over processors


def test_every_sums_counters_and_computes_again() -> None:
    rows = [
        row({"B0": 6e9, "B1": 1e9, "B2": 0, "B4": 1e7, "E143": 3e9}, generation="z15", cpsp=5000, minute=1),
        row({"B0": 4e9, "B1": 3e9, "B2": 0, "B4": 9e7, "E143": 1e9}, generation="z15", cpsp=5000, minute=2),
        row({"B0": 9e9, "B1": 9e9}, generation="z15", cpsp=5000, minute=3, seconds=5, flag="short"),
    ]
    [found] = values(opened(rows, Options(every_s=3600)), "*")
    assert (found["cycles"], found["instructions"], found["seconds"]) == (10**10, 4 * 10**9, 120)
    assert found["cpi"] == 2.5
    assert found["l1mp"] == 2.5
    assert found["est_finite_cpi"] == 1
    assert found["est_scpl1m"] == 40
    assert found["lpar_cpu_pct"] == pytest.approx(100 * 10 / 5 / 120)
    assert (found["generation"], found["generation_by"]) == ("z15", "machine type")


def test_processors_of_type() -> None:
    rows = [
        row({"B0": 3e11, "M448": 1e11, "M449": 5e10}, generation="z13", cpu_id=0, core_id=0, cpsp=5000),
        row({"B0": 0}, generation="z13", cpu_id=1, core_id=0, cpsp=5000),
        row({"B0": 3e11, "M448": 5e10, "M449": 1e11}, generation="z13", cpu_id=2, core_id=1, cpsp=5000),
        row({"B0": 6e11}, generation="z13", cpu_id=3, core_id=1, cpsp=5000, seconds=120.0, flag="gap"),
        row({"B0": 3e10}, generation="z13", cpu_id=8, core_id=4, cpsp=5000, cpu_type="ZIIP"),
        row({"B0": 0}, generation="z13", cpu_id=9, core_id=5, cpsp=5000, cpu_type="6"),
    ]
    session = opened(rows)
    assert [each["cpu_type"] for each in values(session, "cpu_type")] == [*["CP"] * 4, "ZIIP", "6"]
    strange, cp, ziip = values(session, "*", "core_type")
    assert [each["cpu_type"] for each in (cp, ziip, strange)] == ["CP", "ZIIP", "6"]
    # A processor that was offline for a while counts with the length of its own interval.
    assert cp["lpar_cpu_pct"] == pytest.approx(300)
    assert cp["core_busy_pct"] == pytest.approx(50)
    assert cp["thread_density"] == pytest.approx(1.5)
    assert cp["max_capacity_factor_pct"] is cp["productivity_pct"] is cp["mt_utilization_pct"] is None
    assert ziip["lpar_cpu_pct"] == pytest.approx(10)
    assert (ziip["core_busy_pct"], ziip["cores"]) == (None, 1)
    cores = values(session, "core_id, core_busy_pct, thread_density", "core")
    assert [list(each.values()) for each in cores] == [
        [0, pytest.approx(50), pytest.approx(4 / 3)],
        [1, pytest.approx(50), pytest.approx(5 / 3)],
    ]


def test_core_is_not_counted_twice() -> None:
    """z/VM reports the counters of the core on each of its threads."""
    core = {"B0": 1e9, "M448": 1e11, "M449": 1e11}
    rows = [row(core, generation="z14", cpu_id=cpu, core_id=0, cpsp=5000) for cpu in (0, 1)]
    session = opened(rows)
    [found] = values(session, "*", "core")
    assert found["core_busy_pct"] == pytest.approx(100 * 2e11 / 3e11)
    [found] = values(session, "*", "core_type")
    assert found["core_busy_pct"] == pytest.approx(100 * 2e11 / 3e11)
    assert (found["cores"], found["sampled_s"]) == (1, 60)


def test_no_counters_no_rows() -> None:
    session = opened([row({"B0": 0, "B1": 0, "B2": 0, "B4": 0}, generation="z14", cpsp=0)])
    [found] = values(session, "cpi, l1mp, l3p, rni, lpar_cpu_pct, executed_mips, workload_hint")
    assert set(found.values()) == {None}


RMF = tuple(
    RawColumn(name, type)
    for name, type in (
        ("row_kind", "text"),
        ("cpu_number", "text"),
        ("priority", "text"),
        ("online_pct", "float"),
        ("parked_pct", "float"),
    )
)


def rmf(minute: float, *, local: bool = False) -> FakeSource:
    """Return an RMF source with a quarter of an hour of two processors."""
    end = round(START_US + minute * MINUTE_US)
    info = system("SYSA", known=[Interval(end, 900.0)], local_time=local)
    info.source = "rmf-xml"
    head = ("SYSA", "rmf-xml", "x", 0, end, end, 900.0, None)
    rows = [
        (*head, "processor", "0", "HIGH", 100.0, 0.0),
        (*head, "processor", "1F", "LOW", 100.0, 75.0),
    ]
    return FakeSource([info], [FakeTable("rmf_cpu", (*HEADER, *RMF), rows)])


@pytest.mark.parametrize(
    ("minute", "local", "expected"),
    [
        # The quarter of an hour ends in the middle of the second minute: it contains only the first.
        (0.4, False, [("Vh", 0.0), ("Vl", 75.0), (None, None), (None, None)]),
        (10, False, [("Vh", 0.0), ("Vl", 75.0), ("Vh", 0.0), ("Vl", 75.0)]),
        (60, False, [(None, None)] * 4),
        (10, True, [(None, None)] * 4),
    ],
)
def test_polarity_and_parked_time_of_another_record(minute, local, expected) -> None:
    rows = [row(BASIC, generation="z14", cpu_id=cpu, minute=at) for at in (0, 1) for cpu in (0, 31)]
    session = opened(rows, others=[rmf(minute, local=local)])
    found = values(session, "polarity, parked_pct")
    assert [tuple(each.values()) for each in found] == expected
