"""Tests of damaged output of counter tools: valid lines are read, the rest is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import zlens
from damage import scrambled, survives
from iterations import draws, iterations
from readers.test_linux_counters import (
    LSCPUMF,
    LSHWC,
    PERF_CSV,
    PERF_EACH,
    PERF_TEXT,
    SERVICE,
    counted,
    lshwc_json,
    opened,
    perf_json,
)
from readers.test_linux_lshwc import JSON_SEQ, PAIRS
from zlens.cli import main
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.readers import files as reader_files
from zlens.readers.linux import counters as linux_counters
from zlens.readers.linux.counters import form_of, open_files

#: A text in each format.
FORMS = {
    "text": PERF_TEXT, "each": PERF_EACH, "csv": PERF_CSV, "json": perf_json(), "lshwc": LSHWC,
    "lshwc-json": json.dumps(lshwc_json(), indent=1),
    "lshwc-seq": JSON_SEQ, "lshwc-pairs": PAIRS,
    "lscpumf": LSCPUMF, "service": SERVICE,
}  # fmt: skip


def kinds(session: zlens.Session) -> dict[str, str]:
    return {problem.kind: problem.detail for problem in session.problems}


def test_counters_absent_inside_guest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = PERF_TEXT.replace("57,431,083", "<not supported>").replace("131,817,067", "<not supported>")
    for number in ("2,000,000,000", "1.000.000.000", "252"):
        absent = absent.replace(f" {number} ", " <not supported> ")
    with opened(tmp_path, {"guest.txt": absent}) as session:
        assert {row[3] for row in counted(session) if row[1] is not None} == {"not supported"}
        assert session.sql("SELECT count(*) FROM cpumf").rows == [(0,)]
        assert "counted none of its counters" in kinds(session)["section"]
    assert main(["info", str(tmp_path)]) == 0
    assert "absent inside a guest" in capsys.readouterr().out
    for report in ("cpumf", "cpumflog", "crypto"):
        assert main(["report", report, str(tmp_path)]) == 0
        assert "absent inside a guest" in capsys.readouterr().out
    (tmp_path / "guest.txt").write_text("lshwc: No support for CPU Measurement Counter set facility\n")
    with zlens.open(tmp_path) as session:
        assert "not available to guests" in kinds(session)["section"]
        assert session.sql("FROM cpumf").rows == []
        assert [info.system for info in session.systems] == ["unknown-guest"]


def test_foreign_lines_and_out_of_range_values(tmp_path: Path) -> None:
    text = PERF_CSV + "what is this\n2.000100000,CPU2,99999999999999999999,,cpum_cf/CPU_CYCLES/,1,100.00,,\n"
    with opened(tmp_path, {"counts.csv": text}) as session:
        assert counted(session)[-1][:3] == (1, 1, 100)
        found = kinds(session)
        assert "'what is this' is not a line of perf stat -x" in found["header"]
        assert "exceeds the range of a counter" in found["length"]


def test_truncated_lshwc_output(tmp_path: Path) -> None:
    with opened(tmp_path, {"hw.csv": LSHWC[: LSHWC.rindex("CPU1") + 12]}) as session:
        assert session.sql("SELECT count(*) FROM linux_cpumf").rows == [(2,)]
        assert "ends before the line of all CPUs" in kinds(session)["truncated"]
    whole = json.dumps(lshwc_json())
    with opened(tmp_path / "json", {"hw.json": whole[: whole.rindex('"cpu"')]}) as session:
        assert session.sql("SELECT DISTINCT cpu FROM linux_counter ORDER BY 1").rows == [(0,), (None,)]
        assert "truncated" in kinds(session)
    broken = whole.replace('"value": 500}', '"value": 5x0}', 1)
    with opened(tmp_path / "broken", {"hw.json": broken}) as session:
        assert "resync" in kinds(session)
        assert session.sql("SELECT count(*) FROM linux_counter").rows == [(9,)]


def test_consecutive_lshwc_json_runs(tmp_path: Path) -> None:
    later = json.dumps(lshwc_json()).replace("174298165", "174298265").replace("174298166", "174298266")
    text = json.dumps(lshwc_json()) + "\n" + later + "\nwhat is this\n"
    with opened(tmp_path, {"hw.json": text}) as session:
        # The first sample of each run has no difference.
        assert session.sql("SELECT count(*) FROM linux_cpumf WHERE c0 = 4000").rows == [(2,)]
        assert session.sql("SELECT count(*) FROM linux_cpumf").rows == [(2,)]
        assert kinds(session)["header"].startswith("13 characters after the measurements")
    cut = json.dumps(lshwc_json()).replace('"total"', '"0"').replace('"cpu": 0', '"cpu": 1')
    with opened(tmp_path / "cut", {"hw.json": cut}) as session:
        assert "the last sample ends before the values of all CPUs" in kinds(session)["truncated"]


def test_trailing_zeros_of_counter_file(tmp_path: Path) -> None:
    for name, text in FORMS.items():
        path = tmp_path / name
        path.write_bytes(text.encode() + bytes(3000))
        source = open_files([str(path)], Options())
        assert source.inventory(), name
        assert form_of(bytes(10) + text.encode()) is None


def test_counters_give_up_foreign_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux_counters, "MAX_STRANGE", 20)
    monkeypatch.setattr(linux_counters, "MAX_FACILITY", len(SERVICE) + 50)
    with opened(tmp_path, {"counts.csv": PERF_CSV + "nothing\n" * 100 + PERF_CSV}) as session:
        assert len(counted(session)) == 8
        assert "more than 20 lines are not from perf stat -x" in kinds(session)["length"]
    with opened(tmp_path / "levels", {"service_levels": SERVICE + "more\n" * 100}) as session:
        assert "bytes of such a text are read" in kinds(session)["length"]
        assert session._core.sources[0].info()[0]["counter_versions"] == "3.7"


def test_lshwc_of_other_shape(tmp_path: Path) -> None:
    lines = LSHWC.splitlines()
    lines[5] = lines[5] + ",7"
    lines[7] = lines[7].rpartition(",")[0] + ",-"
    lines.insert(4, "2021-04-01,11:55:47,CPUX,1,2")
    lines.insert(4, "2021-13-01,11:55:47,CPU0,1,2")
    with opened(tmp_path, {"hw.csv": "\n".join(lines) + "\n"}) as session:
        details = [problem.detail for problem in session.problems]
        assert any("3 values under 2 names" in detail for detail in details)
        assert any("'-' is not a counter value" in detail for detail in details)
        assert any("'CPUX' is not a CPU" in detail for detail in details)
        assert any("is not a line of lshwc" in detail for detail in details)
        assert len([row for row in counted(session) if row[2] is not None]) == 11


def test_repeated_counters_and_repeated_host(tmp_path: Path) -> None:
    first = json.dumps(lshwc_json())
    with opened(tmp_path, {"a.json": first, "b.json": first + "\n"}) as session:
        assert session.sql("SELECT system, cpu_id FROM cpumf").rows == [("lnx1", 0)]
        assert kinds(session)["duplicate"].endswith("a.json; not read")
        assert len(session.systems) == 1
    other = first.replace('"value": 5000', '"value": 5001')
    assert other != first
    with opened(tmp_path / "other", {"a.json": first, "b.json": other}) as session:
        assert "with other values" in kinds(session)["conflict"]
    with opened(tmp_path / "two", {"x/perf.csv": PERF_CSV, "y/perf.csv": PERF_CSV + "\n"}) as session:
        assert [info.system for info in session.systems] == ["unknown-perf", "unknown-y-perf"]


def test_linux_counters_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux_counters, "MAX_VALUES", 5)
    monkeypatch.setattr(linux_counters, "MAX_LINE", 200)
    with opened(tmp_path, {"counts.csv": PERF_CSV + "x" * 1000 + "\n"}) as session:
        assert len(counted(session)) == 4
        assert "more values than zlens stores" in kinds(session)["length"]
    monkeypatch.setattr(reader_files, "MAX_NOTES", 3)
    monkeypatch.setattr(linux_counters, "MAX_VALUES", 1000)
    with opened(tmp_path, {"counts.csv": PERF_CSV + "nothing\n" * 10}) as session:
        assert len([p for p in session.problems if p.kind == "header"]) == 4
        assert "7 more like these" in [p.detail for p in session.problems][-1]


@pytest.mark.parametrize(
    "unit", ["1,", "a", "-", "{", "[", "(", " ", '{"date_time":', "CPU1", "1.5 ", "9", "/,"]
)
@pytest.mark.parametrize("form", FORMS)
def test_long_counter_lines(tmp_path: Path, form: str, unit: str) -> None:
    """Recognizing and reading take time in proportion to the line length."""
    path = tmp_path / "long"
    long = unit * (300_000 // len(unit))
    path.write_text(f"{FORMS[form].rstrip(' }]' + chr(10))}{long}\n")
    source = open_files([str(path)], Options())
    # Blanks at the end of a line are not damage.
    assert source.problems() or unit == " "
    form_of(long.encode())


def test_changing_counter_files(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(PERF_CSV)
    path.write_text("nothing\n")
    with pytest.raises(InputError, match="no longer the output of a counter tool"):
        open_files([str(path)], Options())
    path.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        open_files([str(path)], Options())


def test_counter_files_of_unusual_bytes(tmp_path: Path) -> None:
    for name, data in {
        "bom.csv": b"\xef\xbb\xbf" + PERF_CSV.encode(),
        "crlf.csv": PERF_CSV.replace("\n", "\r\n").encode(),
        "latin.csv": PERF_CSV.encode() + b"\xff\xfe\n",
    }.items():
        path = tmp_path / name
        path.write_bytes(data)
        with zlens.open(path) as session:
            assert len(counted(session)) == 8, name
    assert form_of(PERF_CSV.encode("utf-16")) is None
    assert form_of(PERF_CSV.encode("cp037")) is None


@pytest.mark.parametrize("form", FORMS)
def test_damaged_counters_give_rows_and_problems(tmp_path: Path, form: str) -> None:
    chance = draws(f"counters of {form}")
    whole = FORMS[form].encode()
    pieces = (b"9" * 30, b",,,", b"{", b"[[[[", b"\n", b"1e999", b"-1", b"/")

    def damaged() -> bytes:
        return scrambled(whole, chance, pieces, (0, 10, 32, 44, 48, 57, 60, 255))

    survives(lambda path: open_files([path], Options()), tmp_path, damaged, iterations(40, 12))


def test_truncated_last_counter_is_problem(tmp_path: Path) -> None:
    whole = LSHWC if LSHWC.endswith("\n") else LSHWC + "\n"
    with opened(tmp_path / "whole", {"hw.csv": whole}) as session:
        rows = len(counted(session))
    with opened(tmp_path / "cut", {"hw.csv": whole[:-2]}) as session:
        assert any("the last line has no line end" in problem.detail for problem in session.problems)
        assert len(counted(session)) <= rows
