"""Tests of `zlens compare` over files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import command_line
import monwrite_builder as monwrite
import zlens
from zlens.demo import machine

#: z/VM Performance Update 6.4, RSCS TCPNJE encryption: CPU time of a transaction, by case. Of the four
#: published ratios to the previous case and to case 1, these are exact.
INCREMENTAL = (1.56, 0.891, 1.105)
LISTINGS = Path(__file__).parents[2] / "docs" / "published" / "listings"
CASES = ("case1", "case2a", "case2b", "case3")


@pytest.fixture(autouse=True)
def no_data_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path / "data"))


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return command_line.run(capsys, "compare", *words)


def differences(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    status, out, err = run(capsys, *words, "--format", "json")
    assert status == 0, err
    return [each for each in json.loads(out) if each["kind"] == "difference"]


def minutes_of(
    path: Path, busies: Sequence[float], cpus: int = 2, config: dict[str, str] | None = None
) -> str:
    """Write one-minute intervals in which every processor has this utilization by users."""
    user = wait = 10**12
    groups = [
        monwrite.configuration(monwrite.START_US - monwrite.MINUTE_US, {**monwrite.CONFIG, **(config or {})})
    ]
    for number, busy in enumerate([0.0, *busies]):
        user += round(60 * monwrite.TOD_S * busy)
        wait += round(60 * monwrite.TOD_S * (1 - busy))
        end = monwrite.START_US + number * monwrite.MINUTE_US
        values = {"SYTPRP_PFXUTIME": user, "SYTPRP_PFXTMSYS": 10**12, "SYTPRP_PFXTOTWT": wait}
        groups.append(monwrite.interval(end, monwrite.processors(end, dict.fromkeys(range(cpus), values))))
    return str(monwrite.write(path, groups))


def throughput(path: Path, rate: float) -> str:
    path.write_text(f"start,end,tps\n2026-03-02T09:00:00Z,2026-03-02T12:00:00Z,{rate}\n", encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def encryption(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command line of the four cases, each with its throughput."""
    folder = tmp_path_factory.mktemp("tcpnje")
    words: list[str] = []
    busy = 0.2
    for case, ratio in zip(CASES, (1.0, *INCREMENTAL), strict=True):
        busy *= ratio
        words += ["--"] * bool(words)
        # One case has twice the transactions: the time of a transaction is compared.
        rate = 40.0 if case == "case2b" else 20.0
        words.append(minutes_of(folder / f"{case}.monwrite", [busy * rate / 20] * 12))
        words += ["--throughput", throughput(folder / f"{case}.csv", rate)]
    return words


def test_compare_command_prints_published_tcpnje(
    encryption: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The ratios of CPU/tx to the previous case; test_comparison tests those to case 1."""
    status, out, err = run(capsys, *encryption, "--against", "previous")
    assert status == 0
    assert err.count("cover 12 of 12 intervals") == 4
    line = next(line for line in out.splitlines() if line.startswith("CPU/tx "))
    assert re.findall(r"([\d.]+)  other/base", line) == ["1.560", "0.891", "1.105"]
    assert "CPU/tx: case2a/case1 1.560, outside, WORSE; beyond the noise" in out
    assert "CPU/tx: case3/case2b 1.105, outside, WORSE; beyond the noise" in out
    assert "ETR: case2a/case1 1.000, within; within the noise" in out
    assert "ITR: case2a/case1 0.641, outside, WORSE; beyond the noise" in out
    first = out.index("Beyond the noise (*), largest first")
    assert first < out.index("CPU/tx  ", first) < out.index("Samples:")


def test_compare_windows_inherit_inputs_of_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = minutes_of(tmp_path / "day.monwrite", [0.2] * 15 + [0.5] * 15)
    status, out, _ = run(capsys, path, "--to", "09:15", "--", "--from", "09:15", "--name", "after")
    assert status == 0
    assert re.search(r"^base +.*09:00 to .*09:15, 15 intervals$", out, re.MULTILINE)
    assert re.search(r"^after +.*09:15 to .*09:30, 15 intervals$", out, re.MULTILINE)
    [row] = [line for line in out.splitlines() if line.startswith("Busy  ")]
    assert row.split() == ["Busy", "%", "20.00", "50.00", "+30.00", "points", "±0.0000", "*", "15", "/", "15"]


def test_compare_side_inherits_hours_of_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = minutes_of(tmp_path / "a.monwrite", [0.2] * 5 + [0.9] * 5)
    second = minutes_of(tmp_path / "b.monwrite", [0.3] * 5 + [0.1] * 5)
    # A side with its own window does not inherit --to of BASE.
    words = [first, "--to", "09:05", "--", second, "--", second, "--from", "09:05", "--name", "c"]
    busy = [each for each in differences(capsys, *words) if each["metric"] == "load.busy_pct"]
    assert [each["base_value"] for each in busy] == pytest.approx([20, 20])
    assert [each["other_value"] for each in busy] == pytest.approx([30, 10])


def test_every_input_of_compared_side_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [minutes_of(tmp_path / f"r{n}.mon", [busy] * 3) for n, busy in enumerate((0.30, 0.31, 0.32, 0.33))]
    [busy] = [e for e in differences(capsys, *runs[:3], "--", runs[3]) if e["metric"] == "load.busy_pct"]
    assert (busy["tested_by"], busy["base_samples"], busy["other_samples"]) == ("runs", 3, 1)
    assert busy["base_value"] == pytest.approx(31)
    assert busy["beyond_noise"] is False


def test_plus_sign_joins_inputs_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = minutes_of(tmp_path / "one.mon", [0.2] * 12)
    other = minutes_of(tmp_path / "other.mon", [0.3] * 12, config={"MTRSYS_SYSTMID": "SECOND"})
    status, out, _ = run(capsys, one, "+", other, "--name", "both", "--", one, "+", other)
    assert status == 0
    assert "Comparison of MADETEST" in out
    assert "Comparison of SECOND" in out
    for words in ([one, "+", "--", other], ["+", one, "--", other], [one, "+", "+", other, "--", other]):
        status, _, err = run(capsys, *words)
        assert status == 2
        assert "plus sign" in err


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An hour of the demo's machine without a story: no logons or logoffs, and a steady load."""
    path = tmp_path_factory.mktemp("steady") / "steady.monwrite"
    zlens.simulate(without_a_story(), path)
    return str(path)


def without_a_story() -> dict[str, Any]:
    values = tomllib.loads(machine.SCENARIO.read_text("utf-8"))
    del values["command"], values["transaction"]
    values["user"] = [user for user in values["user"] if user.get("logged_on", True)]
    for entry in (*values["user"], *values["partition"]):
        entry.get("load", {}).pop("profile", None)
    return values


def test_compare_of_steady_halves_finds_little(steady: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = differences(capsys, steady, "--to", "09:00", "--", "--from", "09:00")
    tested = [each for each in found if each["beyond_noise"] is not None]
    assert len(tested) >= 20
    assert sum(each["beyond_noise"] for each in tested) <= 0.05 * len(tested)


@pytest.mark.long
def test_compare_finds_change_in_steady_run(
    steady: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same machine with a tenth more CP time for its guests."""
    path = tmp_path / "slower.monwrite"
    values = without_a_story()
    for user in values["user"]:
        user["load"]["simulation_cost"] *= 1.1
    zlens.simulate(values, path, seed=531)
    status, out, _ = run(capsys, steady, "--", str(path), "--format", "json")
    assert status == 0
    found = {each["metric"]: each for each in json.loads(out) if each["kind"] == "difference"}
    parts = {each["part"]: each["change"] for each in json.loads(out) if each["kind"] == "part"}
    assert sum(parts.values()) == pytest.approx(found["load.busy_pct"]["points"], abs=0.01)
    assert parts["CP, chargeable"] == pytest.approx(found["load.chargeable_cp_pct"]["points"])
    assert found["load.tv"]["beyond_noise"]
    assert found["load.tv"]["better"] is False
    assert not found["load.guest_pct"]["beyond_noise"]


def test_compare_reports_differing_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = minutes_of(tmp_path / "one.mon", [0.2] * 12)
    two = minutes_of(tmp_path / "two.mon", [0.2] * 30, cpus=4)
    status, out, _ = run(capsys, one, "--", two)
    assert status == 0
    assert "processors online differs: one 2.0; two 4.0" in out
    assert "lengths differ: intervals of one 12, two 30" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to compare with; zlens compare BASE -- OTHER"),
        (["FILE"], "nothing to compare with"),
        (["--", "FILE"], "BASE has no input"),
        (["FILE", "--"], "side 2 has neither inputs nor a window"),
        (["FILE", "--name", "x", "--", "FILE", "--name", "x"], "two sides are named 'x'"),
        (["FILE", "--form", "percent", "--burg", "--", "FILE"], "--burg is itself a form"),
        (["FILE", "--every", "5m", "--", "FILE", "--every", "10m"], "--every given twice"),
        (["FILE", "--system", "NONE", "--", "FILE"], "there is no system NONE in the input"),
        (["FILE", "--", "FILE", "--wrong"], "unrecognized arguments: --wrong"),
    ],
)
def test_wrong_command_lines(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = minutes_of(tmp_path / "one.mon", [0.2] * 3)
    status, out, err = run(capsys, *(path if word == "FILE" else word for word in words))
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


#: J. Burg (IBM), CPU MF counters, SHARE session 8882, 2011: HiperDispatch=Yes Customer Improvement on z10.
HEADS = (
    "Day Hour CPI Prb State Est Instr Cmplx CPI Est Finite CPI Est SCPL1M L1MP L15P L2LP L2RP MEMP "
    "Rel Nest Intensity LPARCPU HD ?"
)
HD_NO = "12 11.0 8.2 53.7 3.79 4.45 115 3.9 63.7 23.1 6.7 6.6 0.89 1745.1 No"
HD_YES = "11 11.0 7.5 52.8 3.74 3.71 97 3.8 70.3 19.8 3.7 6.3 0.76 1632.3 Yes"
IMPROVEMENT = "1.10 1.02 1.01 1.20 1.19 1.01 0.91 1.17 1.80 1.05 1.17 1.07"


def test_printed_rows_have_their_ratios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The published ratios are of unrounded values: three differ, by less than the printed digits allow."""
    for name, row in (("no", HD_NO), ("yes", HD_YES)):
        (tmp_path / f"{name}.txt").write_text(f"{HEADS}\n{row}\n", encoding="utf-8")
    status, out, err = run(capsys, "--burg", str(tmp_path / "no.txt"), "--", str(tmp_path / "yes.txt"))
    assert status == 0, err
    (improved,) = [line.split()[2:] for line in out.splitlines() if line.startswith("yes improvement")]
    published = IMPROVEMENT.split()
    differing = [(mine, theirs) for mine, theirs in zip(improved, published, strict=True) if mine != theirs]
    assert differing == [("1.09", "1.10"), ("1.03", "1.01"), ("1.81", "1.80")]
    for base, other, ratio in zip(HD_NO.split()[2:-1], HD_YES.split()[2:-1], published, strict=True):
        half = [0.5 * 10.0 ** -len(text.partition(".")[2]) for text in (base, other, ratio)]
        least = (float(base) - half[0]) / (float(other) + half[1])
        most = (float(base) + half[0]) / (float(other) - half[1])
        assert least - half[2] <= float(ratio) <= most + half[2]


def test_listings_without_measures_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """IBM's CPUMFLOG listing with itself: no difference, and the first processor's L1MP as printed."""
    path = str(LISTINGS / "cpumflog.txt")
    found = differences(capsys, path, "--", path, "--name", "other")
    rows = {f"{row['heading']} {row['subject']}": row for row in found}
    assert {row["change"] for row in rows.values()} <= {0.0, 1.0}
    first = rows["L1 misses per 100 instructions 0 IFL"]
    assert (first["base_value"], first["other_value"], first["beyond_noise"]) == (1.99, 1.99, False)


def test_core_types_of_printed_rows_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """IBM's SMTMET listings: the means of AMPDGLD1 and IDLESYS as IBM prints them."""
    paths = [str(LISTINGS / f"smtmet-types{suffix}.txt") for suffix in ("", "-idle")]
    found = differences(capsys, paths[0], "--", paths[1])
    rows = {f"{row['heading']} {row['subject']}": row for row in found}
    printed = {"Pct Core Prodctvity": (93.5, 76.7), "Thread density": (1.84, 1.36)}
    for name, values in printed.items():
        row = rows[f"{name} IFL"]
        assert (row["base_value"], row["other_value"]) == pytest.approx(values, abs=0.05)
