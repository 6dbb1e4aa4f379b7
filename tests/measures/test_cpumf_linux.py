"""Tests of CPU MF on Linux: counts by name and by number have the same metrics as in a record of z/OS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zlens
from smf113_rows import opened, row, values
from zlens.catalog import cpumf, generations, linux_events
from zlens.inputs.options import Options

METRICS = (
    "cpi, problem_state_pct, l1mp, l15p, l2lp, l2rp, l2p, l3p, l4lp, l4rp, memp, rni, rni_status, "
    "workload_hint, workload_hint_status, est_finite_cpi, est_instr_cmplx_cpi, est_scpl1m, tlb_cpu_miss_pct, "
    "tlb_cycles_per_miss, tlb_pte_pct, basis, transactions, cycles, instructions"
)


def counts(generation: str) -> dict[str, float]:
    """Return all counters of a generation, with similar counts for all sources of L1 misses."""
    found = {"B0": 4e9, "B1": 2e9, "B2": 3e7, "B3": 2e8, "B4": 5e7, "B5": 6e8, "P32": 1e9, "P33": 5e8}
    letters = {each.name: each.letter for each in cpumf.sets().values()}
    for number, counter in cpumf.generation(generation).counters.items():
        found.setdefault(f"{letters[counter.set]}{number}", 1e5 + number)
    return found


def printed(generation: str, *, named: bool) -> str:
    """Return output of perf stat -x."""
    counters = cpumf.generation(generation).counters
    lines = []
    for name, value in counts(generation).items():
        number = cpumf.number_of(name)
        assert number is not None
        event = counters[number].name if named else f"r{number:x}"
        lines.append(f"{value:.0f},,cpum_cf/{event}/,60000000000,100.00,,\n")
    return "".join(lines)


def of_linux(path: Path, text: str, options: Options | None = None) -> dict[str, Any]:
    path.write_text(text, encoding="utf-8")
    with zlens.open(path, options=options) as session:
        (found,) = values(session, f"generation, generation_by, {METRICS}")
        return found


@pytest.mark.parametrize("generation", generations.names())
def test_linux_counts_give_same_metrics(tmp_path: Path, generation: str) -> None:
    (expected,) = values(opened([row(counts(generation), generation=generation)]), METRICS)
    found = of_linux(tmp_path / "counts.csv", printed(generation, named=True))
    assert found.pop("generation_by").startswith("names of counters")
    found_generation = found.pop("generation")
    events = [
        linux_events.LinuxEvent(counter.name) for counter in cpumf.generation(generation).counters.values()
    ]
    assert found_generation == linux_events.possible_generations(events).generation_names
    assert found == pytest.approx(expected)
    # LSPR categories exist only where the weights are known well.
    assert (found["workload_hint"] is not None) == (expected["workload_hint"] is not None)


def test_numbers_need_machine(tmp_path: Path) -> None:
    (expected,) = values(opened([row(counts("z13"), generation="z13")]), METRICS)
    alone = of_linux(tmp_path / "counts.csv", printed("z13", named=False))
    assert alone["generation"] is None
    assert alone["generation_by"].endswith("only metrics that all machines have in common")
    assert (alone["cpi"], alone["l1mp"], alone["l3p"], alone["workload_hint"]) == (2.0, 4.0, None, None)
    service_levels = "CPU-MF: Counter facility: version=1.4 authorization=002f\n"
    (tmp_path / "service_levels").write_text(service_levels)
    with zlens.open(tmp_path) as session:
        (found,) = values(session, f"generation, {METRICS}")
    assert found.pop("generation") == "z13"
    assert found == pytest.approx(expected)


def test_linux_unverified_formulas_need_permission(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    assert of_linux(path, printed("z15", named=True))["rni"] is None
    allowed = of_linux(path, printed("z15", named=True), Options(allow_unverified=True))
    columns = "rni, rni_status, workload_hint, workload_hint_status"
    (expected,) = values(
        opened([row(counts("z15"), generation="z15")], Options(allow_unverified=True)), columns
    )
    assert (allowed["rni"], allowed["rni_status"]) == (pytest.approx(expected["rni"]), "unverified")
    assert allowed["workload_hint"] == expected["workload_hint"] is not None
    assert allowed["workload_hint_status"] == expected["workload_hint_status"] == "unverified"
    # Even then, metrics that two indistinguishable generations weigh differently are left out.
    either = of_linux(path, printed("z14", named=True), Options(allow_unverified=True))
    assert (either["generation"], either["rni"]) == ("z14 or z15", None)
    assert either["l4lp"] is not None


def test_common_formulas_of_possible_machines_are_used(tmp_path: Path) -> None:
    """The names of the TLB counters fit z14 to z17, which compute cycles per miss alike."""
    counters = cpumf.generation("z17").counters
    numbers = [
        cpumf.number_of(name) for name in ("B0", "B1", "B3", "B5", "E129", "E130", "E134", "E135", "E143")
    ]
    lines = [
        f"{1e6 + number:.0f},,cpum_cf/{counters[number].name}/,60000000000,100.00,,\n" for number in numbers
    ]
    path = tmp_path / "tlb.csv"
    path.write_text("".join(lines), encoding="utf-8")
    with zlens.open(path) as session:
        (found,) = values(session, "generation, generation_by, tlb_cycles_per_miss, l3p")
    possible = found["generation"].split(" or ")
    assert {"z14", "z15", "z16", "z17"} <= set(possible)
    e = {number: 1e6 + number for number in numbers}
    expected = (e[130] + e[135]) / (e[129] + e[134]) * e[143] / (e[3] + e[5])
    assert found["tlb_cycles_per_miss"] == pytest.approx(expected)
    assert found["generation_by"].endswith(
        "/proc/sysinfo or /proc/service_levels next to the file determines which"
    )


def test_processor_count_of_summed_counters_is_unknown(tmp_path: Path) -> None:
    path = _written(tmp_path / "all.csv", printed("z13", named=True))
    with zlens.open(path) as session:
        assert session.sql("SELECT processors, cycles FROM cpumf_type").rows == [(None, 4_000_000_000)]
    each = "".join(f"CPU{n},4000,,cpum_cf/CPU_CYCLES/,60,100.00,,\n" for n in range(3))
    with zlens.open(_written(tmp_path / "each.csv", each)) as session:
        assert session.sql("SELECT processors, cycles FROM cpumf_type").rows == [(3, 12_000)]


def test_scaled_counts_are_not_withheld(tmp_path: Path) -> None:
    """More instructions in problem state than in total contradict, unless counters are multiplexed."""
    path = tmp_path / "counts.csv"
    lines = "4000000,,cycles,60,{part},,\n2000000,,instructions,60,{part},,\n"
    lines += "3000000,,instructions:u,60,100.00,,\n"
    with zlens.open(_written(path, lines.format(part="100.00"))) as session:
        assert values(session, "cpi") == []
        assert any("more instructions in problem state" in p.detail for p in session._core.all_problems())
        assert "CPU MF data of the system is withheld" in session.report("cpumf")
    with zlens.open(_written(path, lines.format(part="50.00"))) as session:
        assert values(session, "cpi") == [{"cpi": 2.0}]
        assert session.sql("SELECT scaled FROM linux_cpumf").rows == [(True,)]


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
