"""Tests of simulations: files, summary, and behavior on errors."""

from __future__ import annotations

import json
import os
import signal
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens import _native
from zlens.errors import InputError, ScenarioError
from zlens.models.scenario import example
from zlens.readers.throughput import table as throughput
from zlens.simulation import run, tables

SHORT = {"seconds": 20, "interval": 10, "warmup": 2}


def machine(**changes: Any) -> dict[str, Any]:
    return tomllib.loads(example("system")) | {"simulation": SHORT} | changes


def test_simulated_records_round_trip(tmp_path: Path) -> None:
    [done] = zlens.simulate(machine(), tmp_path / "m.data")
    assert done.files == {"ZVM1": str(tmp_path / "m.data")}
    assert done.complete
    with zlens.open(done.files["ZVM1"]) as session:
        [system] = session.systems
        assert system.system == "ZVM1"
        assert system.synthetic
        used = dict(session.sql("SELECT userid, avg(cpu_pct) FROM guest GROUP BY ALL").rows)
    for name, user in done.summary["systems"]["ZVM1"]["users"].items():
        assert used[name] == pytest.approx(100 * user["cpu_s"] / 20, rel=0.02)


def test_simulated_throughput_round_trips(tmp_path: Path) -> None:
    [done] = zlens.simulate(machine(), tmp_path / "m.data")
    assert done.throughput == str(tmp_path / "m.data.throughput.csv")
    found = throughput.read(done.throughput)
    assert not found.unused
    assert not any(column.assumed for column in found.columns)
    orders = done.summary["systems"]["ZVM1"]["transactions"]["ORDERS"]
    assert [row.end_us - row.start_us for row in found.rows] == [10_000_000, 10_000_000]
    assert sum(row.transactions or 0 for row in found.rows) == orders["completed"]
    total = sum((row.transactions or 0) * (row.response_s or 0) for row in found.rows)
    assert total / orders["completed"] == pytest.approx(orders["mean_response_s"])


def test_seed_determines_records(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("1", "2", "3"))
    for path, seed in ((first, 1), (second, 1), (third, 2)):
        zlens.simulate(machine(), path, seed=seed)
    assert first.read_bytes() == second.read_bytes() != third.read_bytes()


def test_runs_are_seeds_after_first(tmp_path: Path) -> None:
    done = zlens.simulate(machine(), tmp_path / "m.data", seed=5, runs=2)
    assert [one.seed for one in done] == [5, 6]
    assert [one.files["ZVM1"] for one in done] == [str(tmp_path / f"m-00{n}.data") for n in (1, 2)]
    [alone] = zlens.simulate(machine(), tmp_path / "alone", seed=6)
    assert Path(alone.files["ZVM1"]).read_bytes() == Path(done[1].files["ZVM1"]).read_bytes()
    with pytest.raises(ScenarioError, match="0 runs"):
        zlens.simulate(machine(), tmp_path / "m.data", runs=0)


def test_every_simulated_system_has_own_file(tmp_path: Path) -> None:
    values = machine(transaction=[])
    values["partition"][1] |= {"zvm": "7.4"}
    values["partition"][1].pop("demand")
    for user in values["user"]:
        user["partition"] = "ZVM1"
    values["control_unit"][0]["partition"] = "ZVM1"
    [done] = zlens.simulate(values, tmp_path / "m.data")
    assert sorted(os.listdir(tmp_path)) == ["m-LINUX.data", "m-ZVM1.data"]
    assert done.throughput is None


class Fake:
    """The interface of the native simulator."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = 0
        self.answers: list[bool] = []
        self.before = lambda: None
        monkeypatch.setattr(run, "native_simulate", self.simulate)

    def simulate(
        self, scenario: str, outputs: dict[str, tuple[str, str]], progress: Any, policies: dict[str, Any]
    ) -> str:
        self.begun += 1
        for _, layouts in outputs.values():
            assert {"D0R2", "D4R3", "D10R2"} <= {one["record"] for one in json.loads(layouts)}
        self.before()
        self.answers.append(progress(10.0))
        for path, _ in outputs.values():
            Path(path).write_bytes(b"records")
        seconds = 20.0 if self.answers[-1] else 10.0
        return json.dumps({"events": 1, "seconds": seconds, "systems": {}, "partitions": {}})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(monkeypatch)


def test_interrupted_simulation_has_complete_intervals(fake: Fake, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    fake.before = lambda: signal.raise_signal(signal.SIGINT)
    [done] = zlens.simulate(machine(), tmp_path / "m.data")
    assert fake.answers == [False]
    assert not done.complete
    assert (tmp_path / "m.data").read_bytes() == b"records"
    assert signal.getsignal(signal.SIGINT) is before


def test_ignored_interrupt_stays_ignored(fake: Fake, tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        fake.before = lambda: signal.raise_signal(signal.SIGINT)
        [done] = zlens.simulate(machine(), tmp_path / "m.data")
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.complete


def test_simulation_in_other_thread(fake: Fake, tmp_path: Path) -> None:
    done: list[Any] = []
    work = threading.Thread(target=lambda: done.extend(zlens.simulate(machine(), tmp_path / "m.data")))
    work.start()
    work.join()
    assert done[0].complete


def test_progress_is_in_simulated_seconds(fake: Fake, tmp_path: Path) -> None:
    calls: list[tuple[int, int, str]] = []
    zlens.simulate(machine(), tmp_path / "m.data", progress=lambda *one: calls.append(one))
    assert calls == [(10, 20, "simulating")]


def test_progress_counts_simulated_seconds() -> None:
    scenario = json.dumps(run.prepare(machine()).lowered.scenario)
    calls: list[float] = []
    _native.simulate(scenario, {}, lambda seconds: calls.append(seconds) is None)
    assert calls == [10, 20]


def test_failed_simulation_leaves_no_file(fake: Fake, tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError("cores of ZVM1: 0; expected some")

    fake.before = fail
    (tmp_path / "m.data").write_bytes(b"before")
    with pytest.raises(ScenarioError, match=r"cannot be simulated: cores of ZVM1"):
        zlens.simulate(machine(), tmp_path / "m.data")
    assert os.listdir(tmp_path) == ["m.data"]
    assert (tmp_path / "m.data").read_bytes() == b"before"


def test_records_need_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a folder"):
        zlens.simulate(machine(), tmp_path)
    with pytest.raises(InputError, match="not a regular file"):
        zlens.simulate(machine(), "/dev/null")


def test_summary_counts_per_second(tmp_path: Path) -> None:
    ready = run.prepare(machine())
    done = run.simulate([ready], str(tmp_path / "m.data"))
    answer = tables.summary(ready, done)
    [orders] = answer.table("transactions").rows
    found = done[0].summary["systems"]["ZVM1"]["transactions"]["ORDERS"]
    assert orders[3] == pytest.approx(found["completed"] / 20)
    cpu = dict(zip(answer.table("users").column("user"), answer.table("users").column("cpu"), strict=True))
    assert cpu["BATCH"] == pytest.approx(80, abs=8)
    assert any("--explain" in note for note in answer.notes)
