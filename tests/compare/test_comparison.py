"""Tests of comparisons: published tables, forms, comparability, and parts that add up."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import re
from pathlib import Path

import pytest

import zlens
from zlens.catalog import comparison_metrics as declared
from zlens.catalog import measures
from zlens.compare import (
    CompareOptions,
    Comparison,
    Side,
    SideRun,
    compare,
    data_format,
    measure_run,
    render,
    tables,
)
from zlens.compare import waterfall as falls
from zlens.compare.comparison import ComparisonRow
from zlens.compare.sides import SystemRun
from zlens.errors import CatalogError, QueryError
from zlens.inputs.options import Options, parse_time_spec
from zlens.session.session import empty_session

START = dt.datetime(2026, 3, 2, 9, tzinfo=dt.UTC)
CPU_TX = "per_transaction.cpu_s"


def side(
    name: str, values: dict[str, float], *, subject: tuple[str, ...] = (), runs: int = 1, **facts: str
) -> Side:
    """Return a side with these values of metrics in each of twelve intervals, in units of the tables."""
    machine_type = facts.pop("machine_type", None)
    system = facts.pop("system", "SYSA")
    side_runs = []
    for number in range(runs):
        run = SystemRun(system, facts, intervals=12, machine_type=machine_type)
        run.first, run.last = START, START + dt.timedelta(minutes=12)
        for key, value in values.items():
            ends = [START + dt.timedelta(minutes=minute) for minute in range(12)]
            run.series[key, subject] = [(end, value, 1.0) for end in ends]
        side_runs.append(SideRun(f"{name}{number}", {system: run}))
    return Side(name, side_runs)


def row_of(comparison: Comparison, key: str) -> ComparisonRow:
    return next(row for row in comparison.systems[0].rows if row.metric.key == key)


def cases() -> list[Side]:
    """Return CPU/tx of the four cases of z/VM Performance Update 6.4, from the published ratios."""
    cost, sides = 0.002, []
    for name, ratio in (("case1", 1.0), ("case2A", 1.56), ("case2B", 0.891), ("case3", 1.105)):
        cost *= ratio
        sides.append(side(name, {CPU_TX: cost}))
    return sides


@pytest.mark.parametrize(
    ("against", "printed"), [("base", ("1.56", "1.39", "1.54")), ("previous", ("1.56", "0.891", "1.105"))]
)
def test_comparison_of_published_tcpnje(against: str, printed: tuple[str, ...]) -> None:
    """RSCS TCPNJE encryption: Ratio, CPU/tx, incremental and since Case 1."""
    comparison = compare(cases(), CompareOptions(against=against))
    changes = row_of(comparison, CPU_TX).changes
    assert [change.base for change in changes] == ([0, 0, 0] if against == "base" else [0, 1, 2])
    for change, text in zip(changes, printed, strict=True):
        assert change.form == "other/base"
        assert change.value is not None
        assert f"{change.value:.{len(text.partition('.')[2])}f}" == text


#: Exploring CPU MF (Burg, SHARE 8882, 2011), HiperDispatch=Yes customer improvement on z10: without and with.
#: Numbers in the table are rounded; these round to them, and their ratios to the published ratios.
HIPERDISPATCH = {
    "cpi": (8.22, 7.46, "1.10"), "problem_state_pct": (53.7, 52.8, "1.02"),
    "est_instr_cmplx_cpi": (3.79, 3.74, "1.01"), "est_finite_cpi": (4.45, 3.71, "1.20"),
    "est_scpl1m": (115, 97, "1.19"), "l1mp": (3.87, 3.83, "1.01"), "l15p": (63.7, 70.3, "0.91"),
    "l2lp": (23.1, 19.8, "1.17"), "l2rp": (6.68, 3.71, "1.80"), "memp": (6.6, 6.3, "1.05"),
    "rni": (0.89, 0.76, "1.17"), "lpar_cpu_pct": (1745.1, 1632.3, "1.07"),
}  # fmt: skip


def test_exploring_cpumf_hiperdispatch_improvement() -> None:
    sides = [
        side(name, {f"cpumf_type.{key}": each[at] for key, each in HIPERDISPATCH.items()}, subject=("CP",))
        for at, name in enumerate(("No", "Yes"))
    ]
    text = render(compare(sides, CompareOptions(burg=True)), "text")
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("CPU MF of CP"))
    table = lines[start + 1 : lines.index("", start)]
    ratios = next(line for line in table if line.startswith("Yes improvement"))
    # In the order of the publication.
    assert ratios.split()[2:] == [each[2] for each in HIPERDISPATCH.values()]
    assert table[-3].split()[0] == "No"
    assert table[-2].split()[:2] == ["Yes", "7.4600"]
    heading = " ".join(table[at] for at in range(4))
    for word in ("CPI", "Prb", "SCPL1M", "L15P", "MEMP", "Intensity", "LPARCPU"):
        assert word in heading
    # The form is always base/other, also of shares.
    forms = {
        change.form
        for row in compare(sides, CompareOptions(burg=True)).systems[0].rows
        for change in row.changes
    }
    assert forms == {"base/other"}


#: Exploring CPU MF (Burg, SHARE 8882, 2011), DB2 10 batch job with pages of 4 KB and of 1 MB on a z10: the
#: columns of TLB misses, and the printed improvement.
PAGES = {
    "tlb_cpu_miss_pct": (16.0, 15.6, "1.03"), "tlb_cycles_per_miss": (83, 65, "1.28"),
    "tlb_pte_pct": (19.2, 13.7, "1.40"),
}  # fmt: skip


def test_exploring_cpumf_one_megabyte_pages() -> None:
    sides = [
        side(
            name,
            {f"cpumf_type.{key}": each[at] for key, each in PAGES.items()} | {"cpumf_type.l2rp": 0.0},
            subject=("CP",),
        )
        for at, name in enumerate(("4K", "1MB"))
    ]
    lines = render(compare(sides, CompareOptions(burg=True)), "text").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("CPU MF of CP"))
    table = lines[start + 1 : lines.index("", start)]
    heading = " ".join(" ".join(line.split()) for line in table)
    for word in ("L2RP", "TLB1", "PTE%"):
        assert word in heading
    # A share of 0 is printed as 0; an improvement of 0 on 0 has no factor.
    assert [line.split() for line in table[-3:]] == [
        ["4K", "0.0000", "16.00", "83.00", "19.20"],
        ["1MB", "0.0000", "15.60", "65.00", "13.70"],
        ["1MB", "improvement", "....", *(each[2] for each in PAGES.values())],
    ]


#: z/VM Performance Update (Bitner and Wade, IBM, 2013), High Performance FICON, 1 record per I/O: runs with
#: command-mode and with transport-mode I/O; service time in ms, and CP time in percent of a processor per I/O
#: per second.
FICON = {"device.serv_s": (0.2326e-3, 0.1855e-3, "-20.25"), "load.cp_io_s": (0.00156e-2, 0.00090e-2, "-42.3")}


def test_zvm_performance_update_high_performance_ficon() -> None:
    sides = [
        side(name, {key: each[at] for key, each in FICON.items()})
        for at, name in enumerate(("JB001238", "JB001239"))
    ]
    rows = {row.metric.key: row for row in compare(sides, CompareOptions(form="percent")).systems[0].rows}
    for key, (_, _, delta) in FICON.items():
        (change,) = rows[key].changes
        assert change.value is not None
        assert f"{change.value:.{len(delta.partition('.')[2])}f}" == delta
    assert [rows[key].metric.unit for key in FICON] == ["ms", "ms"]


#: z/VM Performance Update (Bitner and Wade, IBM, 2013), High Performance FICON: Some Numbers. Runs with
#: I/Os/vol/sec, Serv/I/O (msec), %Busy/vol and %CP-CPU/I/O, then Delta and %Delta as printed. The %Delta of
#: the last column is that of the printed values, though: IBM's -42.33 and -75.17 are of more digits.
TRANSPORT_MODE = {
    "1 record per I/O": (
        ("JB001238", 3605.1, 0.2326, 83.8508, 0.00156),
        ("JB001239", 4914.6, 0.1855, 91.1570, 0.00090),
        "Delta 1309.5 -0.0471 7.3062 -0.00066",
        "%Delta 36.32 -20.25 8.71 -42.31",
    ),
    "64 records per I/O": (
        ("JB001246", 359.4, 2.6454, 95.0844, 0.00976),
        ("JB001247", 554.4, 1.7660, 97.9029, 0.00242),
        "Delta 195.0 -0.8794 2.8185 -0.00734",
        "%Delta 54.26 -33.24 2.96 -75.20",
    ),
}


@pytest.mark.parametrize("workload", TRANSPORT_MODE)
def test_transport_mode_table_has_delta_rows(workload: str) -> None:
    *runs, delta, percent = TRANSPORT_MODE[workload]
    sides = []
    for name, rate, serv, busy, cp in runs:
        measured_side = side(
            name,
            {"device.rate": rate, "device.serv_s": serv / 1000, "device.busy_pct": busy},
            subject=("0100",),
        )
        (run,) = measured_side.runs
        run.systems["SYSA"].series |= side(name, {"load.cp_io_s": cp / 100}).runs[0].systems["SYSA"].series
        sides.append(measured_side)
    lines = render(compare(sides, CompareOptions(delta=True)), "text").splitlines()
    start = lines.index("I/O of 0100")
    table = [line.split() for line in lines[start + 1 : lines.index("", start)]]
    # The first line of a heading of two is above the others.
    assert table[:-5] == [["Serv/I/O"], ["I/Os/vol/sec", "(msec)", "%Busy/vol", "%CP-CPU/I/O"]]
    for run, line in zip(runs, table[-4:], strict=False):
        assert line == [run[0], f"{run[1]:.1f}", f"{run[2]:.4f}", f"{run[3]:.4f}", f"{run[4]:.5f}"]
    assert table[-2:] == [delta.split(), percent.split()]
    plain = render(compare(sides, CompareOptions()), "text")
    assert "Delta" not in plain
    assert "Busy of device 0100" in plain


def test_delta_rows_name_their_sides() -> None:
    sides = [
        side(name, {"device.rate": rate}, subject=("0100",)) for name, rate in (("a", 2), ("b", 3), ("c", 4))
    ]
    text = render(compare(sides, CompareOptions(delta=True, against="previous")), "text")
    lines = [line.split() for line in text.splitlines() if "Delta" in line]
    assert lines == [
        ["Delta", "b", ":", "a", "1.0"], ["%Delta", "b", ":", "a", "50.00"],
        ["Delta", "c", ":", "b", "1.0"], ["%Delta", "c", ":", "b", "33.33"],
    ]  # fmt: skip


#: z/VM support for eighty logical processors, tables 8 (LARGE) and 9 (SMALL), the largest run of each:
#: percent of a processor and counters, per transaction.
LARGE = {
    "guest_s": 0.2292,
    "chargeable_cp_s": 0.1682,
    "nonchargeable_cp_s": 0.0314,
    "cp_s": 0.1997,
    "instructions": 6525397.94,
    "cpi": 3.429,
    "est_instr_cmplx_cpi": 1.146,
    "est_finite_cpi": 2.283,
}
SMALL = {
    "guest_s": 0.2813,
    "chargeable_cp_s": 0.1197,
    "nonchargeable_cp_s": 0.0203,
    "cp_s": 0.1400,
    "instructions": 6257968.36,
    "cpi": 3.510,
    "est_instr_cmplx_cpi": 1.135,
    "est_finite_cpi": 2.375,
}


def published(run: dict[str, float]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, value in run.items():
        found[f"per_transaction.{name}"] = value / 100 if name.endswith("_s") else value
    total = run["guest_s"] + run["chargeable_cp_s"] + run["nonchargeable_cp_s"]
    found[CPU_TX] = total / 100
    return found


def test_zvm_eighty_processors_transaction_change() -> None:
    place, cause = falls.build_waterfalls(published(LARGE), published(SMALL))
    assert place.start == pytest.approx(4.288)
    assert place.end == pytest.approx(4.213)
    assert {part.name: part.change for part in place.parts} == {
        "guests": pytest.approx(0.521),
        "CP, chargeable": pytest.approx(-0.485),
        "CP, non-chargeable": pytest.approx(-0.111),
    }
    parts = {part.name: part.change for part in cause.parts}
    assert math.fsum(parts.values()) == pytest.approx(cause.end - cause.start)
    # Fewer instructions, each of which waited longer; the speed of the processors is not known.
    assert parts["instructions"] < 0
    assert parts["complexity CPI"] < 0
    assert parts["finite CPI"] > 0
    assert parts["instructions"] == pytest.approx(
        4.25 * math.log(SMALL["instructions"] / LARGE["instructions"]), rel=0.01
    )
    assert cause.note
    # No rest is left, since the speed is derived from these counters.
    assert [*parts] == ["instructions", "complexity CPI", "finite CPI", "cycles per busy second"]


def test_waterfall_is_same_in_either_direction() -> None:
    one, other = published(LARGE), published(SMALL)
    for there, back in zip(
        falls.build_waterfalls(one, other), falls.build_waterfalls(other, one), strict=True
    ):
        for a, b in zip(there.parts, back.parts, strict=True):
            assert a.name == b.name
            assert a.change == pytest.approx(-b.change)


def test_waterfall_shows_unexplained_rest() -> None:
    """The counters include the speed here, and explain less time than the timers measure."""
    one = {**published(LARGE), "per_transaction.ghz": 5.2}
    other = {**published(SMALL), "per_transaction.ghz": 5.2, CPU_TX: 0.05}
    cause = falls.cpu_time_by_cause(one, other)
    assert cause is not None
    parts = {part.name: part.change for part in cause.parts}
    assert parts["speed"] == 0
    assert math.fsum(parts.values()) == pytest.approx(cause.end - cause.start)
    explained = 1000 * (SMALL["instructions"] * 3.510 - LARGE["instructions"] * 3.429) / 5.2e9
    assert parts["not explained"] == pytest.approx(cause.end - cause.start - explained)


def test_waterfall_of_faster_machine() -> None:
    one = {**published(LARGE), "per_transaction.ghz": 5.0}
    other = {**published(LARGE), "per_transaction.ghz": 5.5}
    cause = falls.cpu_time_by_cause(one, other)
    assert cause is not None
    assert {part.name for part in cause.parts if part.change < 0} == {"speed"} | {
        part.name for part in cause.parts if part.name.startswith("not") and part.change < 0
    }


def test_waterfall_without_transactions_is_of_busy() -> None:
    names = ("busy_pct", "guest_pct", "chargeable_cp_pct", "nonchargeable_cp_pct")
    one = {f"load.{name}": value for name, value in zip(names, (50.0, 40.0, 6.0, 4.0), strict=True)}
    other = {f"load.{name}": value for name, value in zip(names, (60.0, 47.0, 8.0, 5.0), strict=True)}
    [only] = falls.build_waterfalls(one, other)
    assert [part.change for part in only.parts] == [7.0, 2.0, 1.0]
    assert falls.build_waterfalls({}, {}) == []
    assert falls.build_waterfalls({**one, CPU_TX: 0.0}, {**other, CPU_TX: 0.0}) == []


@pytest.mark.parametrize(
    ("form", "value"), [("other/base", 1.25), ("base/other", 0.8), ("percent", 25.0), ("points", 0.5)]
)
def test_comparison_formats(form: str, value: float) -> None:
    sides = [
        side("a", {CPU_TX: 0.002, "load.busy_pct": 40.0}),
        side("b", {CPU_TX: 0.0025, "load.busy_pct": 50.0}),
    ]
    comparison = compare(sides, CompareOptions(form=form))
    [change] = row_of(comparison, CPU_TX).changes
    assert (change.form, change.value) == (form, pytest.approx(value))
    # Shares are compared in points, whatever the form.
    [share] = row_of(comparison, "load.busy_pct").changes
    assert (share.form, share.value) == ("points", pytest.approx(10))


def test_csv_has_differences() -> None:
    sides = [
        side(name, {"load.tv": value, "load.busy_pct": 10 * value})
        for name, value in (("a", 1.0), ("b", 1.5))
    ]
    rows = list(csv.DictReader(io.StringIO(render(compare(sides, CompareOptions(form="percent")), "csv"))))
    assert {row["metric"]: row["form"] for row in rows} == {"load.tv": "percent", "load.busy_pct": "points"}
    busy = next(row for row in rows if row["metric"] == "load.busy_pct")
    assert float(busy["change"]) == pytest.approx(5)
    assert float(busy["percent"]) == pytest.approx(50)


def test_systems_are_paired_by_name_or_if_single() -> None:
    one, two = side("a", {"load.tv": 1.0}), side("b", {"load.tv": 1.0}, system="SECOND")
    assert [compared.title for compared in compare([one, two]).systems] == ["SYSA - SECOND"]
    both = Side("both", [SideRun("r", {**one.runs[0].systems, **two.runs[0].systems})])
    comparison = compare([both, one])
    assert [compared.title for compared in comparison.systems] == ["SYSA"]
    assert comparison.notes == ["not on every side, so not compared: SECOND"]
    assert "Note: not on every side" in render(comparison, "text")
    third = side("c", {"load.tv": 1.0}, system="THIRD")
    with pytest.raises(QueryError, match=r"no system in common \(both: SYSA, SECOND; c: THIRD\)"):
        compare([both, third])


def test_better_and_worse() -> None:
    names = {"per_transaction.etr": (100.0, 94.0), CPU_TX: (0.002, 0.0019), "load.online": (4.0, 6.0)}
    sides = [side(name, {key: both[at] for key, both in names.items()}) for at, name in enumerate("ab")]
    comparison = compare(sides)
    changes = {key: row_of(comparison, key).changes[0] for key in names}
    assert [changes[key].better for key in names] == [False, True, None]
    # IBM's criterion is 5%: 0.94 and 0.95 of the base.
    assert [changes[key].is_outside_criterion for key in names] == [True, False, True]
    text = render(comparison, "text")
    assert "ETR: b/a 0.940, outside, WORSE; beyond the noise" in text
    assert "CPU/tx: b/a 0.950, within; beyond the noise" in text
    assert [tables.marks(changes[key]) for key in names] == ["*!-", "*+", "*!"]


def test_significant_differences_are_first() -> None:
    names = {"load.tv": (1.2, 1.2), "per_transaction.etr": (100.0, 99.0), "load.page_rate": (100.0, 300.0)}
    sides = [side(name, {key: both[at] for key, both in names.items()}) for at, name in enumerate("ab")]
    [compared] = compare(sides).systems
    ordered = compared.ordered()
    assert [row.metric.key for row in ordered.beyond] == ["load.page_rate", "per_transaction.etr"]
    assert [row.metric.key for row in ordered.within] == ["load.tv"]


def test_untested_differences_follow_those_beyond_noise(demo_files: list[Path]) -> None:
    """30% against 72% busy is a large difference, but the drift of the load prevents a test."""
    sides = []
    windows = {
        "base": Options(end=parse_time_spec("08:40")),
        "other": Options(start=parse_time_spec("09:00")),
    }
    for name, window in windows.items():
        with zlens.open(demo_files[0], options=window) as session:
            sides.append(Side(name, [measure_run(session._core, name)]))
    comparison = compare(sides)
    text = render(comparison, "text")
    beyond, untested, within = map(text.index, ("Beyond the noise", "\nNot tested", "\nWithin the noise"))
    assert set(re.findall(r" ([*?])[!+-]* +[\d.]+ / [\d.]+$", text[beyond:untested], re.MULTILINE)) == {"*"}
    table = text[untested:within]
    assert "*" not in table
    assert re.search(r"^Busy .*30\.10 .*71\.73 .*\?", table, re.MULTILINE)
    assert re.search(r"^CPU of guest LNXBAT01 +% +\.{4} +54\.9", table, re.MULTILINE)
    assert re.search(r"^I/O of device 0120 ", table, re.MULTILINE)
    (compared,) = comparison.systems
    first = compared.ordered().untested
    assert first.index(next(row for row in first if row.name == "CPU of guest LNXBAT01")) < first.index(
        next(row for row in first if row.name == "Busy")
    )
    for metric in ("guest.cpu_pct", "device.rate"):
        rows = [row for row in compared.rows if row.metric.key == metric and row.subject]
        assert 0 < len(rows) <= 10


def test_one_sided_metrics_are_last() -> None:
    """A listing has few metrics of a monitor file; a missing guest used nothing."""
    sides = [
        side("listing", {"load.tv": 1.2, "load.page_rate": 100.0}),
        side("monitor", {"load.tv": 1.2, "load.page_rate": 110.0, "load.busy_pct": 70.0}),
    ]
    for one, name in zip(sides, ("A", "B"), strict=True):
        series = one.runs[0].systems["SYSA"].series
        series["guest.cpu_pct", (name,)] = series["load.tv", ()]
    sides[1].runs[0].systems["SYSA"].series["core.busy_pct", ("IFL",)] = [(START, 50.0, 1.0)]
    comparison = compare(sides)
    [compared] = comparison.systems
    ordered = compared.ordered()
    assert {row.metric.key for row in ordered.one_sided} >= {"load.busy_pct"}
    others = [*ordered.beyond, *ordered.untested, *ordered.within]
    assert not {row.metric.key for row in others} & {"load.busy_pct", "core.busy_pct"}
    assert {row.subject for row in ordered.untested if row.metric.key == "guest.cpu_pct"} == {("A",), ("B",)}
    for form in ("text", "html"):
        # Charts precede the tables.
        text = render(comparison, form).rpartition("</figure>")[2]
        assert text.index("largest first") < text.index("CPU of guest") < text.index("Of one side only")
        assert text.index("Of one side only") < text.rindex("Busy")
    data = [each for each in data_format.objects(comparison) if each["kind"] == "difference"]
    assert data[-1]["change"] is None


def test_generations_are_compared_by_few_metrics() -> None:
    names = ("cpi", "l1mp", "memp", "problem_state_pct", "ghz", "rni", "est_finite_cpi", "l3p")
    values = {f"cpumf_type.{name}": 2.0 for name in names}
    sides = [
        side("old", values, subject=("CP",), machine_type="2097"),
        side("new", values, subject=("CP",), machine_type="3906"),
    ]
    sides[0].runs[0].systems["SYSA"].series["load.tv", ()] = [(START, 1.0, 1.0)]
    [compared] = compare(sides).systems
    assert {row.metric.column for row in compared.rows} == set(names[:5])
    assert any("different generations (z10 and z14)" in note for note in compared.notes)
    [everything] = compare(sides, CompareOptions(across_generations=True)).systems
    assert {row.metric.column for row in everything.rows} == {*names, "tv"}
    assert any("different generations" in warning for warning in everything.warnings)
    # Models of the same generation are compared by all metrics.
    sides[1] = side("new", values, subject=("CP",), machine_type="2098")
    assert len(compare(sides).systems[0].rows) == len(names) + 1


@pytest.mark.parametrize("fact", declared.ComparabilityFile.load().fact, ids=lambda fact: fact.name)
def test_every_differing_fact_is_warning(fact: declared.ComparabilityFact) -> None:
    sides = [side("a", {CPU_TX: 1.0}, **{fact.name: "one"}), side("b", {CPU_TX: 1.0}, **{fact.name: "two"})]
    [compared] = compare(sides).systems
    assert compared.warnings == [f"{fact.name} differs: a one; b two ({fact.why})"]
    same = [side(name, {CPU_TX: 1.0}, **{fact.name: "one"}) for name in "ab"]
    assert compare(same).systems[0].warnings == []
    # A fact that one side does not have is not a difference.
    assert compare([same[0], side("b", {CPU_TX: 1.0})]).systems[0].warnings == []


def test_comparability_facts_are_declared() -> None:
    """Machine, capability, cores, MT level, release, storage and interval are declared."""
    names = {fact.name for fact in declared.ComparabilityFile.load().fact}
    assert names >= {
        "machine",
        "capability",
        "cores",
        "processors online",
        "threads of a core",
        "release",
        "storage",
        "interval",
    }


def test_comparison_html_is_self_contained() -> None:
    one = {**published(LARGE), "per_transaction.etr": 3745.58}
    two = {**published(SMALL), "per_transaction.etr": 3417.83}
    sides = [
        side("large <b>", {key: value for key, value in run.items() if value is not None})
        for run in (one, two)
    ]
    sides[1].name = "small"
    for each in sides:
        run = each.runs[0].systems.pop("SYSA")
        run.system = "<i>SYS"
        each.runs[0].systems["<i>SYS"] = run
    text = render(compare(sides), "html")
    assert text.startswith("<!DOCTYPE html>")
    assert "default-src 'none'" in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in text
    assert "large &lt;b&gt;" in text
    assert "<b>" not in text
    assert "<i>" not in text
    # Differences, two waterfalls, and series.
    assert text.count("<svg") >= 5
    assert text.count("<polyline") >= 2
    assert "CPU time of a transaction, by cause" in text
    assert "ETR: small/large &lt;b&gt; 0.912, outside, WORSE" in text


def test_unverified_metrics_are_marked() -> None:
    values = {"cpumf_type.est_finite_cpi": 1.0, "cpumf_type.cpi": 3.0}
    sides = [side(name, values, subject=("CP",)) for name in "ab"]
    sides[1].runs[0].systems["SYSA"].doubts["est_finite_cpi"] = "unverified"
    comparison = compare(sides)
    assert "Finite CPI CP (unverified)" in render(comparison, "text")
    assert "Finite CPI CP (unverified)" in render(comparison, "html")
    assert row_of(comparison, "cpumf_type.cpi").name == "CPI CP"
    assert '"doubt": "unverified"' in render(comparison, "json")


def test_compare_without_common_values() -> None:
    with pytest.raises(QueryError, match="nothing to compare with"):
        compare([side("a", {CPU_TX: 1.0})])
    text = render(compare([side("a", {}), side("b", {})]), "text")
    assert "These inputs have no values to compare" in text
    assert render(compare([side("a", {}), side("b", {})]), "csv").count("\n") == 1
    assert "<svg" not in render(compare([side("a", {}), side("b", {})]), "html")


def test_one_side_without_value() -> None:
    comparison = compare([side("a", {CPU_TX: 0.002, "load.tv": 1.1}), side("b", {CPU_TX: 0.002})])
    row = row_of(comparison, "load.tv")
    assert row.values == (pytest.approx(1.1), None)
    assert row.changes[0].value is None
    for form in ("text", "csv", "json", "html"):
        assert render(comparison, form)


def test_change_from_and_to_zero() -> None:
    comparison = compare([side("a", {"load.page_rate": 0.0}), side("b", {"load.page_rate": 5.0})])
    [change] = row_of(comparison, "load.page_rate").changes
    assert change.value is None
    assert change.is_beyond_noise
    for form in ("text", "csv", "json", "html"):
        assert render(comparison, form)
    # Metrics that are zero on all sides are left out.
    assert not compare([side(name, {"load.page_rate": 0.0}) for name in "ab"]).systems[0].rows


def test_required_metrics_are_declared() -> None:
    keys = {metric.key for metric in declared.compared_metrics()}
    wanted = ("etr", "itr", "response_s", "cpu_s", "guest_s", "cp_s", "instructions", "est_finite_cpi")
    assert {f"per_transaction.{name}" for name in (*wanted, "est_instr_cmplx_cpi")} <= keys
    assert {"load.busy_pct", "load.guest_pct", "load.chargeable_cp_pct", "load.nonchargeable_cp_pct"} <= keys
    assert {"load.tv", "load.page_rate", "cpumf_type.rni", "cpumf_type.l3p", "cpumf_type.memp"} <= keys
    assert {"guest.cpu_wait_pct", "guest.page_wait_pct", "device.resp_s", "workload.response_s"} <= keys
    for metric in declared.compared_metrics():
        column = measures.load_measure(metric.table).column(metric.column)
        assert column is not None
        # Shares are compared in points.
        if metric.form == "points":
            assert column.unit == "%"


@pytest.mark.parametrize("query", [fact.query for fact in declared.ComparabilityFile.load().fact])
def test_comparability_queries_run(query: str) -> None:
    with empty_session() as session:
        assert session.sql(query).rows == []


GROUP = 'title = "T"\norder = 1\n\n[[metric]]\n'
GOOD = 'table = "load"\ncolumn = "tv"\nheading = "T/V"\n'
SPIN = 'table = "lock"\ncolumn = "spin_pct"\nheading = "Spin"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GROUP + GOOD.replace('"tv"', '"nothing"'), "load.nothing is not a numeric column"),
        (GROUP + GOOD + 'where = { nothing = "a" }\n', "load has no column 'nothing'"),
        (GROUP + GOOD + 'weight = ["online"]\n', "weight is not known here"),
        (GROUP + SPIN, "rows of lock with different mode are never merged"),
        (
            GROUP + SPIN.replace("lock", "device").replace("spin_pct", "seek_cylinders"),
            "seek_cylinders has no mean",
        ),
        (GROUP + SPIN.replace("lock", "cpu").replace("spin_pct", "entitlement_pct"), "return no value"),
        (GROUP + GOOD + 'form = "percent"\n', 'form is "percent"'),
        (GROUP + GOOD + 'direction = "up"\n', 'direction is "up"'),
        (
            'published_form = "table"\n' + GROUP + GOOD + 'published = "T/V"\n',
            "without a form of publications",
        ),
        (GROUP + GOOD + "color = 1\n", "metric[1].color is not known here"),
        (GROUP + GOOD + 'by = ["seconds"]\n', "by accepts columns of the key"),
        (GROUP + GOOD + 'where = { flag = "x\' OR 1" }\n', "metric[1].where.flag is"),
        (GROUP + GOOD + "[[metric]]\n" + GOOD, "load.tv is compared twice"),
        (GROUP + 'table = "load"\ncolumn = "tv"\n', "metric[1].heading is missing"),
        (GOOD, "table is not known here"),
        ("order = ", "is not valid TOML"),
    ],
)
def test_wrong_declarations(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogError, match=re.escape(said)):
        declared.read(tmp_path)


def test_valid_comparison_declaration(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(GROUP + GOOD, encoding="utf-8")
    [metric] = declared.read(tmp_path)
    assert (metric.key, metric.unit, metric.by) == ("load.tv", "ratio", ())
