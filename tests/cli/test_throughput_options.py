"""Tests of the user's throughput on the command line: echo, use by every command, one-line errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import monwrite_builder as monwrite
from zlens.cli import main


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    groups = [monwrite.configuration(monwrite.START_US), *monwrite.minutes(6)]
    return monwrite.write(tmp_path_factory.mktemp("throughput") / "a.data", groups)


@pytest.fixture
def achieved(tmp_path: Path) -> str:
    path = tmp_path / "achieved.csv"
    rows = [f"2026-03-02 09:0{minute}:00,{60 * minute},{10 * minute}" for minute in range(6)]
    path.write_text("\n".join(["Time,Requests/min,Latency", *rows]), encoding="utf-8")
    return str(path)


def test_info_shows_throughput_columns_and_units(
    capsys: pytest.CaptureFixture[str], data: Path, achieved: str
) -> None:
    assert main(["info", str(data), "--throughput", achieved]) == 0
    text = capsys.readouterr().out
    assert "rate from 'Requests/min' in per min;" in text
    assert "response from 'Latency' in s (assumed)" in text
    assert "its times have no zone and were read as local time of MADETEST (UTC)" in text
    assert "its rows (6) cover 5 of 5 intervals, with a clock offset of 0 s" in text
    assert main(["info", str(data), "--throughput", achieved, "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)[0]["system"] == "MADETEST"
    assert "rate from 'Requests/min' in per min" in shown.err


def test_unknown_throughput_columns_are_named(
    capsys: pytest.CaptureFixture[str], data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "achieved.csv"
    path.write_text("time,count,errors,cost\n2026-03-02 09:00,60,0,1\n2026-03-02 09:01,60,0,1\n")
    assert main(["info", str(data), "--throughput", str(path)]) == 0
    assert "not used: 'errors', 'cost': throughput-columns" in capsys.readouterr().out


def test_sql_and_report_show_throughput(
    capsys: pytest.CaptureFixture[str], data: Path, achieved: str
) -> None:
    words = [str(data), "--throughput", achieved, "--throughput-columns", "response=latency:ms"]
    query = "select etr, itr, busy_pct, response_s from load join throughput using (interval_end) order by 1"
    assert main(["sql", *words, "-q", query.replace("etr,", "load.etr,"), "--format", "json"]) == 0
    shown = capsys.readouterr()
    rows = json.loads(shown.out)
    assert [row["etr"] for row in rows] == pytest.approx([1, 2, 3, 4, 5])
    assert [row["response_s"] for row in rows] == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.05])
    assert all(row["itr"] == pytest.approx(100 * row["etr"] / row["busy_pct"]) for row in rows)
    assert "response from 'Latency' in ms" in shown.err
    assert main(["report", "throughput", *words, "--format", "csv", "--as-published"]) == 0
    assert "etr" in capsys.readouterr().out.splitlines()[0]
    assert main(["findings", *words]) == 0
    assert "rate from" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        ("-60", [2, 3, 4, 5, None]),
        ("+60", [0, 1, 2, 3, 4]),
        ("1m", [0, 1, 2, 3, 4]),
        ("0.5", [k - 0.5 / 60 for k in range(1, 6)]),
    ],
)
def test_clock_offset_moves_file(
    capsys: pytest.CaptureFixture[str],
    data: Path,
    achieved: str,
    offset: str,
    expected: list[float | None],
) -> None:
    words = ["sql", str(data), "--throughput", achieved, f"--throughput-offset={offset}", "--format", "json"]
    assert main([*words, "-q", "select etr from load order by interval_end"]) == 0
    found = [row["etr"] for row in json.loads(capsys.readouterr().out)]
    assert [each if each is None else round(each, 9) for each in found] == [
        each if each is None else round(each, 9) for each in expected
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--throughput-offset", "90"], "no throughput file"),
        (["--throughput-columns", "rate=x"], "no throughput file"),
        (["--throughput", "FILE", "--throughput-offset", "soon"], "'soon' is not a clock offset"),
        (["--throughput", "FILE", "--throughput-columns", "speed=x"], "'speed=x' names no column"),
        (["--throughput", "FILE", "--throughput-columns", "rate=x"], "line 1 has no column 'x'"),
        (["--throughput", "NOTHING"], "cannot be read"),
        (["--throughput", "BAD"], "line 3 has 'yesterday' as time"),
    ],
)
def test_invalid_throughput_is_one_line_error(
    capsys: pytest.CaptureFixture[str], data: Path, achieved: str, tmp_path: Path, more: list[str], said: str
) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("time,count\n2026-03-02 09:00,1\nyesterday,1\n", encoding="utf-8")
    names = {"FILE": achieved, "NOTHING": str(tmp_path / "nothing.csv"), "BAD": str(bad)}
    words = [names.get(word, word) for word in more]
    assert main(["sql", str(data), "-q", "from load", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_import_rejects_throughput(
    capsys: pytest.CaptureFixture[str], data: Path, achieved: str, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["import", str(data), "--lake", str(tmp_path / "lake"), "--throughput", achieved])
    assert raised.value.code == 2
    assert "--throughput" in capsys.readouterr().err


def test_throughput_of_other_day_is_reported(
    capsys: pytest.CaptureFixture[str], data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "late.csv"
    path.write_text("start,end,count\n2026-03-05 09:00,2026-03-05 09:10,5\n", encoding="utf-8")
    assert main(["info", str(data), "--throughput", str(path)]) == 0
    text = capsys.readouterr().out
    assert "its rows (1) cover 0 of 5 intervals" in text
    assert "none of it is joined: its times are 2026-03-05 09:00:00 to 2026-03-05 09:10:00" in text


def test_explain_shows_both_itr_formulas(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "load.itr"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Formula 100 * etr / busy_pct Rounded 100 * etr / round(busy_pct, 1), with --as-published" in text
