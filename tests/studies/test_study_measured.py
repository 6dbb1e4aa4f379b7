"""Tests of a run from measured data: means over a window, ratios of sums, ignored intervals."""

from __future__ import annotations

import datetime as dt
import math
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from zlens.errors import InputError
from zlens.inputs.source import SystemInfo
from zlens.models.scenario_errors import ScenarioErrors
from zlens.models.scenario_keys import key_table
from zlens.session.session import CoreSession
from zlens.studies import measurement, notes, run_keys
from zlens.studies.measurement import MeasuredRun

START = dt.datetime(2026, 3, 2, 9, tzinfo=dt.UTC)

SHARES = ("busy_pct", "guest_pct", "chargeable_cp_pct", "nonchargeable_cp_pct")

LATER = START + dt.timedelta(minutes=3)

#: Two intervals; the second is three times as long, with twice the processors and other instructions.
FIRST: dict[str, Any] = {
    "system": "S",
    "source": "zvm-monitor",
    "interval_end": START,
    "seconds": 60.0,
    "flag": None,
    "online": 2.0,
    "unparked": 2.0,
    "busy_pct": 50.0,
    "guest_pct": 40.0,
    "chargeable_cp_pct": 6.0,
    "nonchargeable_cp_pct": 4.0,
    "etr": 100.0,
    "response_s": 0.1,
    "instruction_rate": 1e9,
    "cycle_rate": 3e9,
    "finite_rate": 1e9,
    "ghz": 5.0,
}
SECOND: dict[str, Any] = FIRST | {
    "interval_end": LATER,
    "seconds": 180.0,
    "online": 4.0,
    "unparked": 3.0,
    "busy_pct": 80.0,
    "guest_pct": 60.0,
    "chargeable_cp_pct": 15.0,
    "nonchargeable_cp_pct": 5.0,
    "etr": 200.0,
    "response_s": 0.3,
    "instruction_rate": 3e9,
    "cycle_rate": 12e9,
    "finite_rate": 6e9,
    "ghz": 4.0,
}


def product(*factors: float | None) -> float | None:
    return None if None in factors else math.prod(factor for factor in factors if factor is not None)


def weighed(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the query with the weight of each mean."""
    seconds, online = row["seconds"], row["online"]
    weights = dict.fromkeys(("online", "unparked", "etr"), seconds)
    weights |= dict.fromkeys(SHARES, product(online, seconds))
    weights["response_s"] = product(row["etr"], seconds)
    weights["ghz"] = product(row["cycle_rate"], seconds, 1 / row["ghz"])
    return row | {f"{name}#weight": weight for name, weight in weights.items()}


def session(*rows: dict[str, Any], cores: int | None = None) -> CoreSession:
    """Return a session for `_of_session`."""

    def sql(query: str) -> SimpleNamespace:
        if "core_type" in query:
            return SimpleNamespace(
                columns=[], rows=[(START, 60.0, 80.0, 150.0), (LATER, 180.0, 160.0, 130.0)]
            )
        if "core_id" in query:
            return SimpleNamespace(columns=["n"], rows=[] if cores is None else [(cores,)])
        return SimpleNamespace(
            columns=list(weighed(FIRST)), rows=[tuple(weighed(row).values()) for row in rows]
        )

    info = SystemInfo("S", "zvm-monitor", machine_type="3906", model="M05", release="7.1")
    return cast(CoreSession, SimpleNamespace(sql=sql, systems=[info], display=lambda time, _: time))


def of(*rows: dict[str, Any], cores: int | None = None) -> MeasuredRun:
    return measurement._of_session(session(*rows, cores=cores), "a.data")


def test_means_are_of_time_and_of_processors() -> None:
    found = of(FIRST, SECOND).numbers
    assert found["processors"] == pytest.approx(3.5)
    assert found["unparked"] == pytest.approx(2.75)
    # Processor seconds: 60 of 120 and 576 of 720, in 240 seconds.
    assert found["total_pct"] == pytest.approx(100 * (60 + 576) / 240)
    assert found["guest_pct"] == pytest.approx(100 * (48 + 432) / 240)
    assert found["chargeable_pct"] == pytest.approx(100 * (7.2 + 108) / 240)
    assert found["nonchargeable_pct"] == pytest.approx(100 * (4.8 + 36) / 240)
    assert found["etr"] == pytest.approx((6000 + 36000) / 240)
    assert found["response_ms"] == pytest.approx((6000 * 100 + 36000 * 300) / 42000)


def test_cycles_are_sums_over_sums() -> None:
    found = of(FIRST, SECOND).numbers
    instructions, cycles, finite = 60e9 + 540e9, 180e9 + 2160e9, 60e9 + 1080e9
    assert found["instructions_given"] == pytest.approx(instructions / 42000)
    assert found["cpi_given"] == pytest.approx(cycles / instructions)
    assert found["finite_cpi"] == pytest.approx(finite / instructions)
    assert found["complexity_cpi"] == pytest.approx((cycles - finite) / instructions)
    assert found["ghz"] == pytest.approx(2340 / (180 / 5 + 2160 / 4))


def test_missing_interval_part_makes_run_value_null() -> None:
    found = of(FIRST, SECOND | {"guest_pct": None, "finite_rate": None}).numbers
    assert not {"guest_pct", "finite_cpi", "complexity_cpi"} & set(found)
    assert {"total_pct", "cpi_given"} <= set(found)


def test_studies_ignore_flagged_intervals() -> None:
    found = of(FIRST, SECOND | {"flag": "gap"}, SECOND | {"busy_pct": None})
    assert found.intervals == 1
    assert found.numbers["etr"] == 100
    assert any("2 intervals that are short" in note for note in found.notes)


def test_studies_ignore_intervals_without_throughput() -> None:
    found = of(FIRST, SECOND | {"etr": None})
    assert found.numbers["total_pct"] == pytest.approx(100)
    assert any("covers 1 of 2 intervals" in note for note in found.notes)
    without = of(FIRST | {"etr": None}, SECOND | {"etr": None})
    assert without.intervals == 2
    assert "etr" not in without.numbers


def test_repeated_time_counts_once() -> None:
    found = of(FIRST, SECOND, FIRST | {"source": "rmf-xml", "busy_pct": 1.0})
    assert found.intervals == 2
    assert found.numbers["total_pct"] == pytest.approx(100 * (60 + 576) / 240)


def test_measured_run_has_origin() -> None:
    found = of(FIRST, SECOND, cores=2)
    assert (found.machine, found.release, found.seconds) == ("3906-M05", "7.1", 240)
    assert (found.first, found.last) == ("2026-03-02 08:59:00", "2026-03-02 09:03:00")
    assert found.numbers["cores_given"] == 2
    # 80 and 160% of one core in 60 and 180 seconds; busy core time weights the factors.
    assert found.numbers["core_busy_pct"] == pytest.approx((60 * 80 + 180 * 160) / 240 / 2)
    assert found.numbers["maximum_pct"] == pytest.approx((4800 * 150 + 28800 * 130) / 33600)
    other = SECOND | {"interval_end": LATER + dt.timedelta(minutes=3)}
    assert "core_busy_pct" not in of(FIRST, SECOND, other, cores=2).numbers
    assert "cores_given" not in of(FIRST).numbers


def test_different_machines_are_noted() -> None:
    one, two = of(FIRST), of(SECOND)
    other = replace(two, machine="8561-T01")
    assert list(notes.machine_note([one, None, two], "The runs")) == []
    (said,) = notes.machine_note([one, None, other, replace(one, machine=None)], "The runs")
    assert said.startswith("The runs are from different machines (3906-M05, 8561-T01)")


def test_run_without_busy_is_rejected() -> None:
    with pytest.raises(InputError, match="no data on the utilization"):
        of(FIRST | {"busy_pct": None})


def test_explicit_numbers_drop_dependent_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instructions per transaction of another ETR, and parts of another CPI, are dropped."""
    monkeypatch.setattr(run_keys, "measure_run", lambda *_: of(FIRST, SECOND))

    def run(**numbers: Any) -> Any:
        empty = {key.name: None for key in key_table("runs.named").keys}
        return run_keys.run_of(empty | {"name": "x", "file": "a"} | numbers, "run[1]", ScenarioErrors(None))[
            0
        ]

    whole = run()
    assert whole.instructions == pytest.approx(600e9 / 42000)
    assert whole.complexity_s == pytest.approx(whole.cpu_s * 1200 / 2340)
    other = run(etr=10.0)
    assert other.etr == 10.0
    assert other.instructions == pytest.approx(other.cpu_s * other.ghz * 1e9 / other.cpi)
    assert run(cpi=9.0).complexity_s is None
    assert run(total_busy=100.0).guest_s is None
    assert run(processors=8).busy == pytest.approx(whole.total / 8)
