"""Tests of scaling studies: published tables from raw rows, rolloff, notes and errors."""

from __future__ import annotations

import math
from typing import Any

import pytest
from published_runs import (
    BUSY_OF_UNPARKED,
    CAF,
    IDEAL,
    PAGED,
    RICH,
    SERIALIZATION,
    WAITS,
    runs_of,
    serialization,
)

from zlens import studies
from zlens.errors import QueryError, ScenarioError
from zlens.rendering.answer import Answer, by_name
from zlens.studies.runs import WorkloadRun


def study(runs: list[dict[str, Any]], *, as_published: bool = False, **keys: Any) -> Answer:
    return studies.solve("scaling", {"run": runs, **keys}, as_published=as_published)


def rows(answer: Answer, table: str = "scaling") -> dict[Any, dict[str, Any]]:
    return by_name(answer.table(table))


# "z/VM Support for Eighty Logical Processors" -------------------------------------------------------

RICH_RUNS = [(table, run) for table, found in RICH.items() for run in found]
PAGED_RUNS = [(table, run) for table, found in PAGED.items() for run in found]


@pytest.mark.parametrize(("table", "run"), RICH_RUNS)
def test_eighty_logical_processors_memory_rich(table: str, run: str) -> None:
    _, etr, itr, busy, itrr, expected = RICH[table][run]
    found = rows(study(runs_of(table), factors=CAF))[run]
    assert (found["etr"], found["busy_pct"]) == (etr, busy)
    assert found["itr"] == pytest.approx(itr, abs=0.06)
    assert found["itrr"] == pytest.approx(itrr, abs=0.0051)
    # Factors of these sizes are not printed: they are interpolated, for 95 extrapolated.
    assert found["expected"] == pytest.approx(expected, rel=0.012)


@pytest.mark.parametrize(("table", "run"), PAGED_RUNS)
def test_eighty_logical_processors_paging(table: str, run: str) -> None:
    published = PAGED[table][run]
    answer = study(runs_of(table), as_published=True, factors=CAF)
    found = rows(answer)[run] | rows(answer, "cpu")[run] | rows(answer, "cycles")[run]
    assert found["busy_pct"] == published["busy"]
    assert found["itr"] == pytest.approx(published["itr"], abs=0.06)
    assert found["itrr"] == pytest.approx(published["itrr"], abs=0.00051)
    assert found["expected"] == pytest.approx(published["expected"], abs=0.0065)
    assert found["total_pct"] == pytest.approx(published["total_busy"], abs=0.0002)
    assert found["tv"] == pytest.approx(published["tv"], abs=0.0051)
    assert found["cpi"] == pytest.approx(published["cpi"], abs=0.0011)
    assert found["instructions"] == published["instructions"]
    for key in ("guest_tx", "chargeable_tx", "nonchargeable_tx", "cp_tx"):
        # The table has percent of a processor per transaction per second: ten milliseconds each.
        assert found[key] / 10 == pytest.approx(published[key], abs=0.000051), key
    assert found["cpu_tx"] == pytest.approx(found["guest_tx"] + found["cp_tx"])
    assert found["complexity_tx"] + found["finite_tx"] == pytest.approx(found["cpu_tx"])


@pytest.mark.parametrize(("table", "run"), PAGED_RUNS)
def test_eighty_logical_processors_instructions(table: str, run: str) -> None:
    """CPU time x 5.208 GHz / CPI, within 0.4%: the tables do not print the speed of a z14."""
    runs = runs_of(table)
    for one in runs:
        del one["instructions"]
        one["ghz"] = 5.208
    found = rows(study(runs), "cycles")[run]
    assert found["instructions"] == pytest.approx(PAGED[table][run]["instructions"], rel=0.004)
    # The reverse: clock speed.
    published = rows(study(runs_of(table)), "cycles")[run]
    assert published["clock_ghz"] == pytest.approx(5.208, rel=0.004)


def test_itr_of_unrounded_busy_differs() -> None:
    """The published tables print 65.5% for 65.49%."""
    exact = rows(study(runs_of("table 8")))["AP1Z604G"]
    assert exact["busy_pct"] == pytest.approx(65.49185)
    assert exact["itr"] == pytest.approx(5031.68, abs=0.01)
    assert abs(exact["itr"] - 5031.1) > 0.5


@pytest.mark.parametrize("table", BUSY_OF_UNPARKED)
def test_eighty_logical_processors_table_10(table: str) -> None:
    found = rows(study(runs_of(table)), "beside")
    busy = [one["busy_of_unparked_pct"] for one in found.values()]
    # Unparked processors are printed to 0.1.
    assert busy == pytest.approx(list(BUSY_OF_UNPARKED[table]), abs=0.26)
    assert [one["unparked"] for one in found.values()] == [one["unparked"] for one in PAGED[table].values()]


@pytest.mark.parametrize("table", WAITS)
def test_eighty_logical_processors_table_11(table: str) -> None:
    answer = study(runs_of(table))
    also, beside = answer.table("also"), rows(answer, "beside")
    assert list(
        zip(
            also.column("wait_clients_us"),
            also.column("wait_servers_us"),
            (one["response_ms"] for one in beside.values()),
            strict=True,
        )
    ) == list(WAITS[table])
    # Decimals are those of the file.
    assert [column.decimals for column in also.columns[1:]] == [0, 2, 2]
    ratios = [one["response_ratio"] for one in beside.values()]
    assert ratios == pytest.approx([row[2] / WAITS[table][0][2] for row in WAITS[table]])


def test_eighty_logical_processors_table_2() -> None:
    runs = [{"name": str(n), "processors": n, "itr": 1.0} for n in (16, 32, 48, 64, 80)]
    answer = study(runs, factors=CAF).table("scaling")
    assert answer.column("caf") == [0.721, 0.646, 0.603, 0.578, 0.554]
    assert answer.column("capability") == pytest.approx([11.54, 20.67, 28.94, 36.99, 44.32], abs=0.0065)
    assert answer.column("expected") == pytest.approx([1, 1.79, 2.51, 3.21, 3.84], abs=0.0065)


def test_eighty_logical_processors_table_3() -> None:
    """The capability of n partitions on eighty processors is n times the capability of one."""
    for partitions, total in ((1, 44.32), (2, 49.76), (4, 55.44), (8, 64.16)):
        one = study([{"name": "one", "processors": 80 // partitions, "itr": 1.0}], factors=CAF)
        (capability,) = one.table("scaling").column("capability")
        assert isinstance(capability, float)
        assert partitions * capability == pytest.approx(total, abs=0.0051)


# Rolloff, as published for the same runs ------------------------------------------------------------


def test_table_4_rolls_off_after_57_processors() -> None:
    answer = study(runs_of("table 4"), factors=CAF)
    assert answer.figure("rolls_off_after") == 57
    assert any("From 57 to 76 cores" in note and "rolls off" in note for note in answer.notes)
    assert not any("From 38 to 57" in note for note in answer.notes)


@pytest.mark.parametrize("table", ["table 5", "table 6", "table 7", "table 8", "table 9"])
def test_other_tables_do_not_roll_off(table: str) -> None:
    answer = study(runs_of(table), factors=CAF)
    assert "rolls_off_after" not in [one.key for one in answer.figures]
    assert any(note.startswith("No rolloff") for note in answer.notes)


def test_rolloff_bound_is_configurable() -> None:
    assert study(runs_of("table 7"), factors=CAF, rolloff_gain=0.85).figure("rolls_off_after") == 38
    answer = study(runs_of("table 4"), factors=CAF, rolloff_gain=0.5)
    assert answer.figure("rolls_off_after") == 76
    assert "rolloff_gain" not in [one.name for one in answer.assumptions]
    assert "rolloff_gain" in [one.name for one in study(runs_of("table 4"), factors=CAF).assumptions]


def test_falling_itr_is_noted() -> None:
    runs = [{"name": "a", "processors": 2, "itr": 10.0}, {"name": "b", "processors": 4, "itr": 9.0}]
    assert "From 2 to 4 cores the ITR falls." in study(runs).notes


def test_efficiency_finds_vswitch() -> None:
    efficiency = study(runs_of("table 4"), factors=CAF).table("scaling").column("efficiency")
    assert efficiency == pytest.approx([1, 1.04, 1.03, 0.97, 0.81], abs=0.013)


# Notes ----------------------------------------------------------------------------------------------


def test_less_busy_base_is_noted() -> None:
    """IBM on table 7: percent-busy of the first run is too low, its ITR optimistically high."""
    answer = study(runs_of("table 7"), factors=CAF)
    assert any("AS1Z216F is 76.3% busy and AS5Z216F 93.9%" in note for note in answer.notes)
    assert "busy_apart" in [one.name for one in answer.assumptions]
    calm = study(runs_of("table 4"), factors=CAF)
    assert not any("% busy" in note for note in calm.notes)
    assert "busy_apart" not in [one.name for one in calm.assumptions]


def test_busier_base_is_noted() -> None:
    """IBM on table 8: ITR of large partitions might be optimistic."""
    notes = study(runs_of("table 8"), factors=CAF).notes
    assert any("AP1Z604G is 65.5% busy and AP5Z604G 20.1%" in note for note in notes)
    assert any("From AP1Z604G to AP2Z604G the ETR falls while the ITR rises" in note for note in notes)


def test_factor_origin_is_noted() -> None:
    notes = study(runs_of("table 4"), factors=CAF).notes
    assert any("19, 38, 57, 76 cores are interpolated" in note for note in notes)
    assert any("95 cores are extrapolated" in note for note in notes)
    assert not any("polated" in note for note in study(runs_of("table 8"), factors=CAF).notes)


def test_factors_of_machine_of_catalog() -> None:
    own, known = (
        study(runs_of("table 4"), factors=CAF),
        study(runs_of("table 4"), machine="z14-m05"),
    )
    assert known.table("scaling").rows == own.table("scaling").rows
    assert any(note.startswith("Factors: z14 model M05") for note in known.notes)
    with pytest.raises(ScenarioError, match="machine is"):
        study(runs_of("table 4"), machine="z14-m06")


def test_factors_from_linux() -> None:
    runs = [{"name": "a", "processors": 1, "itr": 10.0}, {"name": "b", "processors": 2, "itr": 19.0}]
    answer = study(runs, adjustments=[61_669])
    assert answer.table("scaling").column("expected") == pytest.approx([1, 2 * 61_669 / 65_536])


def test_long_notes_are_truncated() -> None:
    runs = [{"name": str(n), "processors": n, "itr": 100.0 + n % 2} for n in range(101, 301)]
    notes = study(runs, factors=CAF).notes
    assert any(note.startswith("The factors of 101, 102,") and "and 52 more cores" in note for note in notes)
    assert sum("the ITR falls." in note for note in notes) == 8
    assert "There are 22 more of these." in notes
    assert max(map(len, notes)) < 400


def test_without_factors_linear_scaling_is_expected() -> None:
    answer = study(runs_of("table 4"))
    assert answer.table("scaling").column("expected") == pytest.approx([1, 2, 3, 4, 5])
    assert any("linear scaling" in note for note in answer.notes)


def test_factor_can_be_given_per_run() -> None:
    runs = [dict(one, factor=CAF[str(int(one["processors"]))]) for one in runs_of("table 8")]
    assert study(runs).table("scaling").column("expected") == pytest.approx(
        [1, 1.79, 2.51, 3.21, 3.84], abs=0.0065
    )
    with pytest.raises(ScenarioError, match=r"run\[1\]\.factor is 0.7, but 16 cores have 0.721"):
        study([dict(runs[0], factor=0.7)], factors=CAF)


def test_no_expectation_beyond_factors() -> None:
    runs = [{"name": "a", "processors": 2, "itr": 10.0}, {"name": "b", "processors": 400, "itr": 90.0}]
    answer = study(runs, factors=CAF)
    assert answer.table("scaling").column("efficiency") == [1.0, None]
    assert "Beyond the range of the factors there is no expected value." in answer.notes


# The scalability law --------------------------------------------------------------------------------


def test_usl_of_exact_curve() -> None:
    def law(n: int) -> float:
        return 100 * n / (1 + 0.03 * (n - 1) + 0.0004 * n * (n - 1))

    runs = [{"name": str(n), "processors": n, "itr": law(n)} for n in (1, 2, 4, 8, 16, 32, 64)]
    table = study(runs).table("usl")
    assert table.column("value")[:4] == pytest.approx([100, 0.03, 0.0004, math.sqrt(0.97 / 0.0004)])


def test_poor_usl_fit_is_noted() -> None:
    runs = [
        {"name": str(n), "processors": n, "itr": rate}
        for n, rate in ((1, 100.0), (2, 190.0), (4, 80.0), (8, 400.0), (16, 300.0))
    ]
    answer = study(runs)
    assert any("Law does not fit" in note for note in answer.notes)
    assert "usl_fits_within" in [one.name for one in answer.assumptions]


def test_three_runs_have_no_usl_table() -> None:
    assert "usl" not in [table.key for table in study(runs_of("table 4")[:3]).tables]
    assert "usl" in [table.key for table in study(runs_of("table 4")[:4]).tables]


# "z/VM SMT performance" -----------------------------------------------------------------------------


@pytest.mark.parametrize("run", SERIALIZATION)
def test_smt_performance_serialization(run: str) -> None:
    answer = study(serialization(), relative=True)
    published = SERIALIZATION[run]
    found = rows(answer)[run] | rows(answer, "clients")[run] | rows(answer, "beside")[run]
    assert found["etrr"] == published["etrr"]
    assert found["itrr"] == pytest.approx(published["itrr"], abs=0.0015)
    assert found["response_ratio"] == published["response"]
    assert found["busy_pct"] == published["busy"]
    assert found["client_tx"] == pytest.approx(published["client_tx"], abs=0.003)
    assert found["server_tx"] == pytest.approx(published["server_tx"], abs=0.003)
    assert found["processor_bound"] == pytest.approx(published["processor_bound"], abs=0.006)
    assert found["client_bound"] == pytest.approx(published["client_bound"], abs=0.006)
    assert found["bound_by"] == published["bound_by"]
    assert 92 < found["of_bound_pct"] < 97


@pytest.mark.parametrize("run", ["SMT-2", "SMT-2, 2 vCPUs", "SMT-2, 6 clients"])
def test_smt_performance_threads(run: str) -> None:
    """Density is from thread and core busy, the capacity factor from density and its maximum."""
    published, found = SERIALIZATION[run], rows(study(serialization(), relative=True), "threads")[run]
    assert found["density"] == pytest.approx(published["density"], abs=0.012)
    if published["factor"] is None:
        assert found["factor_pct"] is None
        assert found["path"] is None
    else:
        assert found["factor_pct"] == pytest.approx(published["factor"], abs=0.8)
        assert found["productivity_pct"] == pytest.approx(
            100 * found["factor_pct"] / published["max_capacity_factor"]
        )
        assert found["utilization_pct"] == pytest.approx(
            found["core_busy_pct"] * found["productivity_pct"] / 100
        )


def test_smt_performance_slower_threads() -> None:
    """Raw CPU per transaction grew 1.965 times: slower threads explain 1.23, 1.60 has other causes."""
    answer = study(serialization(), relative=True)
    found = rows(answer, "threads")
    assert [found[run]["slowing"] for run in ("SMT-0", "SMT-2")] == pytest.approx([1, 1.23], abs=0.005)
    paths = [found[run]["path"] for run in ("SMT-0", "SMT-2", "SMT-2, 2 vCPUs")]
    assert paths == pytest.approx([1, 1.60, 1.39], abs=0.01)


def test_smt_performance_ideal_application() -> None:
    runs = [
        {
            "name": name,
            "cores": row[0],
            "processors": row[1],
            "etr": row[2],
            "busy": row[5],
            "response_ms": row[4],
        }
        for name, row in IDEAL.items()
    ]
    answer = study(runs, relative=True)
    found = rows(answer)["SMT-2"]
    assert rows(answer, "beside")["SMT-2"]["response_ratio"] == 0.743
    assert found["etrr"] == 1.362
    assert found["itrr"] == pytest.approx(1.539, abs=0.0015)


def test_smt_is_judged_by_cores() -> None:
    answer = study(serialization(), relative=True, factors=CAF)
    assert answer.table("scaling").column("expected") == [1, 1, 1, 1]
    assert "gain" not in [column.key for column in answer.table("scaling").columns]
    assert any("Under SMT, busy counts threads" in note for note in answer.notes)
    assert answer.charts[0].kind == "bars"
    # Raw CPU time of a transaction grew, which throughput does not show.
    assert answer.table("cpu").column("cpu_ratio") == pytest.approx([1, 1.965, 1.815, 1.532], abs=0.002)


# Runs -----------------------------------------------------------------------------------------------


def test_unknown_run_values_are_omitted() -> None:
    one = WorkloadRun("x", processors=4, etr=100.0)
    assert (one.busy, one.itr, one.cpu_s, one.tv, one.cpi, one.instructions, one.bound_fraction) == (
        None,
    ) * 7
    answer = study([{"name": "x", "processors": 4, "etr": 100.0}])
    assert [table.key for table in answer.tables] == ["scaling"]


def test_zero_busy_gives_null_ratios() -> None:
    idle = WorkloadRun(
        "x", processors=4, etr=100.0, busy_pct=0.0, guest_pct=0.0, cpi_given=2.0, ghz=5.0, clients=1.0
    )
    assert (idle.itr, idle.tv, idle.processor_bound) == (None, None, None)
    answer = study(
        [
            {"name": "a", "processors": 2, "etr": 100.0, "busy": 0.0},
            {"name": "b", "processors": 4, "etr": 100.0, "busy": 50.0},
        ],
        factors=CAF,
    )
    assert answer.table("scaling").column("itr") == [None, 200.0]
    assert "itrr" not in [column.key for column in answer.table("scaling").columns]


def test_inconsistent_run_numbers_are_noted() -> None:
    run = WorkloadRun(
        "x", processors=2, etr=10.0, busy_pct=50.0, itr_given=25.0, total_pct=110.0, guest_pct=60.0,
        chargeable_pct=20.0, nonchargeable_pct=20.0, cpi_given=2.0, complexity_cpi=1.0, finite_cpi=1.5,
        clients=2.0, client_busy_pct=99.0,
    )  # fmt: skip
    words = ["sum over its processors gives 55.00%", "imply 40.00% busy", "sum to 100.0000%",
             "its parts sum to 2.500", "the clients use more"]  # fmt: skip
    assert len(run.inconsistencies()) == len(words)
    for doubt, word in zip(run.inconsistencies(), words, strict=True):
        assert word in doubt


@pytest.mark.parametrize(("table", "run"), [*RICH_RUNS, *PAGED_RUNS])
def test_published_rows_are_consistent(table: str, run: str) -> None:
    """Printed rows are consistent within their rounding."""
    if table in RICH:
        processors, etr, itr, busy, *_ = RICH[table][run]
        assert (
            WorkloadRun(run, processors=processors, etr=etr, itr_given=itr, busy_pct=busy).inconsistencies()
            == []
        )
        return
    published = PAGED[table][run]
    whole = WorkloadRun(
        run,
        processors=published["processors"],
        etr=published["etr"],
        itr_given=published["itr"],
        busy_pct=published["busy"],
        total_pct=published["total_busy"],
        guest_pct=published["guest_busy"],
        chargeable_pct=published["chargeable_busy"],
        nonchargeable_pct=published["nonchargeable_busy"],
        cpi_given=published["cpi"],
        complexity_cpi=published["complexity_cpi"],
        finite_cpi=published["finite_cpi"],
    )
    assert whole.inconsistencies() == []


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ([], "run is a list of 0"),
        ([{"name": "a", "processors": 1, "etr": 1.0}] * 2, r'run\[2\]\.name is "a" again'),
        ([{"name": "a", "etr": 1.0}], r"run\[1\]\.processors is missing"),
        ([{"name": "a", "processors": 1}], "has no throughput"),
        ([{"name": "a", "processors": 1, "etr": 1.0, "busi": 3}], "did you mean busy"),
        ([{"name": "a", "processors": 1, "etr": 1.0, "busy": 101}], "a number from 0 to 100"),
        ([{"name": "a", "processors": 4, "cores": 8, "etr": 1.0}], "a processor or more on each core"),
        ([{"name": "a", "processors": 1, "etr": 1.0, "from": "09:00"}], "needs a file"),
        ([{"name": "a", "processors": 1, "etr": 1.0, "also": {"run": 1}}], "also.run is a reserved name"),
    ],
)
def test_invalid_runs_are_rejected(runs: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        study(runs)


def test_names_of_factors_are_numbers_of_cores() -> None:
    with pytest.raises(ScenarioError, match=r"factors\.many is 0.5"):
        study(runs_of("table 4"), factors={"many": 0.5})


def test_scaling_example_answer() -> None:
    import tomllib

    answer = studies.solve("scaling", tomllib.loads(studies.find("scaling").example))
    assert answer.figure("efficiency") == pytest.approx(0.965, abs=0.001)


def test_no_such_study() -> None:
    with pytest.raises(QueryError, match="no study is called scale"):
        studies.find("scale")
