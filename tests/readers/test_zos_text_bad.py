"""Tests of damaged z/OS texts: valid lines are read, the rest is reported."""

from __future__ import annotations

import datetime as dt
import os
import tracemalloc
from pathlib import Path

import pytest

import zlens
import zos_samples
from damage import scrambled, survives
from iterations import draws, iterations
from readers.test_zos_text import files, opened
from zlens.cli import main
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import KINDS
from zlens.readers import files as reader_files
from zlens.readers.zos import his as zos_his
from zlens.readers.zos import log_lines as zos_lines
from zlens.readers.zos import processors as zos_processors
from zlens.readers.zos import text as zos_text
from zlens.readers.zos.text import open_files

FORMS = {
    "his": zos_samples.DISPLAY_HIS,
    "service": zos_samples.DISPLAY_HIS_SERVICE,
    "cnt": zos_samples.cnt(),
    "halves": zos_samples.cnt(by_set=True, halves=True),
    "cores": zos_samples.DISPLAY_CORES,
    "cpus": zos_samples.DISPLAY_CPUS,
}


def kinds(session: zlens.Session) -> dict[str, str]:
    return {problem.kind: problem.detail for problem in session.problems}


def test_undocumented_his_lines_are_reported(tmp_path: Path) -> None:
    text = zos_samples.cnt().replace("END TIME", "NEW LABEL: 5\nEND TIME", 1)
    with opened(tmp_path, {"a.CNT": text}) as session:
        (problem,) = session.problems
        assert (problem.kind, problem.bytes) == ("header", 0)
        assert problem.detail == "'NEW LABEL: 5' is not part of HIS019I; not read"
        assert problem.offset == text.index("NEW LABEL")
        assert session.sql("SELECT count(*) FROM his_counter").rows == [(88,)]
    strange = zos_samples.DISPLAY_CORES.replace("0014   +I", "what is this\n0014   +Q")
    strange = strange.replace("0001   +   0002-0003  LP", "0001   +   0002-0003  XQ")
    with opened(tmp_path / "cores", {"a.txt": strange}) as session:
        details = [problem.detail for problem in session.problems]
        assert details == [
            "'XQ' is not a known core polarity; it is NULL",
            "'what is this' is not part of a processor status; not read",
            "'Q' is not a known processor type; it is NULL",
        ]
        assert session.sql("SELECT core_id, cpu_type, polarity FROM zos_core").rows == [
            (0, "CP", "Vh"),
            (1, "CP", None),
            (20, None, "Vm"),
            (23, "ZIIP", None),
        ]


def test_foreign_display(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = "IEE174I 10.00.00 DISPLAY M 001\nDEVICE 0A00   STATUS=ONLINE\nCHP  60  61\n"
    files(tmp_path, {"a.txt": other})
    assert main(["info", str(tmp_path / "a.txt")]) == 2
    error = capsys.readouterr().err
    assert "no usable z/OS message: the display has no core or processor status" in error
    assert error.count("\n") == 1
    with opened(tmp_path, {"a.txt": other + zos_samples.DISPLAY_CORES}) as session:
        assert "no core or processor status" in kinds(session)["section"]
        assert session.sql("SELECT count(*) FROM zos_core").rows == [(4,)]


def test_other_messages_end_message(tmp_path: Path) -> None:
    text = (
        zos_samples.DISPLAY_HIS
        + "IWM063I WLM POLICY WAS REFRESHED\nno line of these\n"
        + zos_samples.DISPLAY_CPUS
    )
    with opened(tmp_path, {"a.txt": text}) as session:
        assert session.problems == []
        assert session._core.sources[0].info()[0]["other_lines"] == 2
        assert session.sql("SELECT count(*) FROM zos_cpu").rows == [(3,)]


def test_invalid_his_values(tmp_path: Path) -> None:
    good = f"{zos_samples.COUNTS[1][1]:016X}"
    for bad, kind, said in (
        ("F" * 16, "length", "exceeds the range of a counter"),
        ("", "length", "3 values for counters 0 to 3 of CPU 01"),
        ("F" * 17, "length", "4 values for counters 0 to 3 of CPU 01"),
        ("XYZ", "header", "is not part of HIS019I"),
    ):
        text = zos_samples.cnt().replace(good, bad, 1)
        with opened(tmp_path / f"x{bad}", {"a.CNT": text}) as session:
            assert said in kinds(session)[kind]
            rows = session.sql("SELECT c1, c4 FROM his_cnt ORDER BY cpu_id").rows
            assert rows == [(zos_samples.COUNTS[0][1], 3000), (None, 3000)]


def test_missing_or_repeated_his_counters(tmp_path: Path) -> None:
    lines = zos_samples.cnt().splitlines()
    row = next(line for line in lines if line.lstrip().startswith("4-"))
    first = lines.index(row)
    with opened(tmp_path, {"a.CNT": "\n".join([*lines[:first], *lines[first + 1 :], ""])}) as session:
        assert kinds(session)["truncated"] == "counters of CPU 00 are missing (BASIC: 2 of 6)"
    with opened(
        tmp_path / "twice", {"a.CNT": "\n".join([*lines[: first + 1], row, *lines[first + 1 :], ""])}
    ) as session:
        assert "counter 5 of CPU 00 appears twice;" in kinds(session)["duplicate"]
        assert session.sql("SELECT count(*) FROM his_counter").rows == [(88,)]
    other = f"{row[:-1]}{(int(row[-1], 16) + 1) % 16:X}"
    with opened(
        tmp_path / "other", {"a.CNT": "\n".join([*lines[: first + 1], other, *lines[first + 1 :], ""])}
    ) as session:
        assert "appears twice with other values" in kinds(session)["conflict"]
    with opened(tmp_path / "head", {"a.CNT": zos_samples.cnt().partition("START TIME")[0]}) as session:
        assert "contains no counter values" in kinds(session)["truncated"]
        assert session.sql("SELECT count(*) FROM his_run").rows == [(1,)]
    core = zos_samples.DISPLAY_CORES.replace("0001   +   0002-0003", "0000   +   0002-0003")
    with opened(tmp_path / "core", {"a.txt": core}) as session:
        assert "core 0000 appears twice in the display with other values" in kinds(session)["conflict"]


def test_processor_going_offline(tmp_path: Path) -> None:
    with opened(tmp_path, {"a.CNT": zos_samples.cnt(ends=(True, False))}) as session:
        assert kinds(session)["time"].startswith("CPU 01: the run has no end")
        assert session.sql(
            "SELECT cpu_id, seconds, interval_end = max(interval_end) OVER () FROM his_cnt"
        ).rows == [
            (0, 60.0, True),
            (1, None, True),
        ]
        assert session.sql("SELECT cpu_id, cpi, lpar_cpu_pct FROM cpumf ORDER BY cpu_id").rows == [
            (0, 3.0, 50.0),
            (1, 5.0, 25.0),
        ]


def test_undated_counters_say_where_their_date_is_from(tmp_path: Path) -> None:
    """Without the end of a run, a .CNT file has no time that its counters are of."""
    texts = {"a.CNT": zos_samples.cnt(ends=(False, False))}
    with opened(tmp_path, texts) as session:
        assert kinds(session)["zone"] == (
            "HIS019I: no run has an end, and the text has no date; it is taken to be 2026-03-01, that of the "
            "file (option date)"
        )
    # The two start times of a run say that local time is five hours behind UTC.
    with opened(tmp_path / "given", texts, date=dt.date(2010, 3, 1)) as session:
        assert kinds(session)["zone"].endswith("it is taken to be 2010-03-01, the given one")
        assert session.sql("SELECT DISTINCT interval_end FROM his_cnt").rows == [
            (dt.datetime(2010, 3, 1, 5, tzinfo=dt.UTC),)
        ]
    with opened(tmp_path / "ended", {"a.CNT": zos_samples.cnt(ends=(True, False))}) as session:
        assert "zone" not in kinds(session)


def test_invalid_zos_times(tmp_path: Path) -> None:
    start, end = f"{zos_samples.START_TOD:016X}", f"{zos_samples.END_TOD:016X}"
    for name, text, said in (
        ("back", zos_samples.cnt().replace(end, start), "has an invalid length"),
        ("zero", zos_samples.cnt().replace(start, "0" * 16), "has an invalid length"),
        ("short", zos_samples.cnt().replace(end, end[:13]), "is not a TOD clock value"),
        ("zone", zos_samples.cnt().replace("16:14:06", "16:21:00"), "do not match"),
        ("day", zos_samples.cnt().replace("2010/03/01 16:14:06", "2010/13/01 16:14:06"), ""),
    ):
        with opened(tmp_path / name, {"a.CNT": text}) as session:
            details = [problem.detail for problem in session.problems if problem.kind == "time"]
            assert any(said in detail for detail in details) if said else not details
            assert session.sql("SELECT count(c0) FROM his_cnt").rows == [(2,)]
    log = "M 4040000 SYSA     2026999 14:41:05.12 STC00042 00000090  "
    with opened(
        tmp_path / "log", {"a.txt": log + zos_samples.DISPLAY_CPUS.replace("16.20.00", "99.20.00")}
    ) as session:
        # The date of the file is used.
        assert session.sql("SELECT epoch(tod) FROM zos_status").rows == [(1772366400.0,)]


def test_invalid_numbers_and_flags_are_null(tmp_path: Path) -> None:
    text = zos_samples.DISPLAY_HIS_SERVICE.replace("LOST SAMPLES: 12", "LOST SAMPLES: some").replace(
        "SMP=NO", "SMP=PERHAPS"
    )
    with opened(tmp_path, {"a.txt": text}) as session:
        assert session.sql("SELECT lost_samples, sampling, counting FROM his_run").rows == [
            (None, None, True)
        ]
        details = [problem.detail for problem in session.problems]
        assert "LOST SAMPLES 'some' is not a number; it is NULL" in details
        assert "SMP 'PERHAPS' is neither YES nor NO; it is NULL" in details


def test_zos_counters_and_cores_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zos_his, "MAX_CPUS", 1)
    monkeypatch.setattr(zos_his, "MAX_VALUES", 10)
    monkeypatch.setattr(zos_processors, "MAX_CORES", 2)
    with opened(tmp_path, {"a.CNT": zos_samples.cnt(), "b.txt": zos_samples.DISPLAY_CORES}) as session:
        assert session.sql("SELECT count(*) FROM his_counter").rows == [(10,)]
        assert session.sql("SELECT count(*) FROM zos_core").rows == [(2,)]
        details = " ".join(problem.detail for problem in session.problems)
        assert "CPU 01 is not read" in details
        assert "more values than any machine has counters" in details
        assert "more cores than any machine has" in details
    monkeypatch.setattr(zos_text, "MAX_MESSAGES", 2)
    displays = "".join(zos_samples.DISPLAY_HIS.replace("11.32.39", f"11.32.4{number}") for number in range(3))
    with opened(tmp_path / "many", {"a.txt": displays}) as session:
        assert session.sql("SELECT count(*) FROM his_run").rows == [(2,)]
        assert "more messages than zlens stores" in kinds(session)["length"]
    monkeypatch.setattr(reader_files, "MAX_NOTES", 3)
    with opened(tmp_path / "notes", {"a.txt": zos_samples.DISPLAY_CPUS + "?\n" * 10}) as session:
        assert [problem.detail for problem in session.problems][-1] == "7 more like these"


@pytest.mark.long
def test_large_zos_log_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.write(zos_samples.DISPLAY_CORES.encode() + b"IEF403I MADE\n")
        file.write(b"a line of a log that says nothing here\n" * 200_000)
        file.seek(64 << 20, os.SEEK_CUR)
        file.write(b"\n" + zos_samples.DISPLAY_CPUS.encode())
    tracemalloc.start()
    try:
        source = open_files([str(path)], Options())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20
    assert [row.count for row in source.inventory()] == [1, 1]
    assert [problem.kind for problem in source.problems()] == ["length"]


@pytest.mark.parametrize(
    "unit", ["1 ", "A", "- ", "+", " ", "0- 3 ", "COMMAND", "COMMAND: ", "0000  + ", "'", "LP NAME", "A,"]
)
@pytest.mark.parametrize("form", FORMS)
def test_long_zos_lines(tmp_path: Path, form: str, unit: str) -> None:
    """Lines up to and above MAX_LINE take time in proportion to their length."""
    path = tmp_path / "long"
    lines = "".join(
        f"{unit * (length // len(unit))}\n" for length in [zos_lines.MAX_LINE - 10] * 20 + [300_000]
    )
    path.write_text(FORMS[form] + lines)
    source = open_files([str(path)], Options())
    assert any(problem.kind == "length" for problem in source.problems())
    zos_lines.encoding((unit * (64_000 // len(unit))).encode())


@pytest.mark.parametrize("form", FORMS)
def test_cut_anywhere(tmp_path: Path, form: str) -> None:
    text = FORMS[form]
    path = tmp_path / "cut"
    read = 0
    for end in range(0, len(text), 37):
        path.write_text(text[:end])
        try:
            source = open_files([str(path)], Options())
        except InputError:
            continue
        read += 1
        assert {problem.kind for problem in source.problems()} <= set(KINDS)
    assert read > 5


def test_changing_zos_texts(tmp_path: Path) -> None:
    path = tmp_path / "his.txt"
    path.write_text("nothing\n")
    with pytest.raises(InputError, match="the file no longer contains a z/OS message"):
        open_files([str(path)], Options())
    path.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        open_files([str(path)], Options())


def test_many_files_and_unusual_names(tmp_path: Path) -> None:
    texts: dict[str, str | bytes] = {
        f"core {number} \u00e4\n'.txt": zos_samples.DISPLAY_CORES.replace("MADE1", f"LP{number}")
        for number in range(300)
    }
    texts["twice.txt"] = texts["core 0 \u00e4\n'.txt"]
    texts["readme.txt"] = "What IEE174I says:\n"
    with opened(tmp_path, texts) as session:
        assert len(session.systems) == 300
        assert session.sql("SELECT count(*) FROM zos_core").rows == [(1200,)]
        assert sorted(kinds(session)) == ["duplicate", "section"]


def test_zos_texts_of_unusual_bytes(tmp_path: Path) -> None:
    for name, data in {
        "bom.txt": b"\xef\xbb\xbf" + zos_samples.DISPLAY_CORES.encode(),
        "crlf.txt": zos_samples.DISPLAY_CORES.replace("\n", "\r\n").encode(),
        "tab.txt": zos_samples.DISPLAY_CORES.replace("0000   +   ", "0000\t+\t").encode(),
        "blank.txt": zos_samples.DISPLAY_CORES.replace("  LP  ", "\u00a0\u00a0LP\u00a0\u00a0").encode(),
    }.items():
        with opened(tmp_path / name, {name: data}) as session:
            assert session.problems == []
            assert session.sql("SELECT count(*) FROM zos_core").rows == [(4,)], name
    assert zos_lines.encoding(zos_samples.DISPLAY_CORES.encode("utf-16")) is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("code", ["utf-8", "cp037"])
def test_damaged_zos_text_gives_rows_and_problems(tmp_path: Path, form: str, code: str) -> None:
    chance = draws(f"z/OS {form} {code}")
    text = FORMS[form]
    whole = text.encode() if code == "utf-8" else text.replace("\n", "\x85").encode(code)
    pieces = (b"9" * 30, b"F" * 16, b"=", b":", b"\n", b"- ", b"(", b"'", b" ")
    lines = [f"\n{line}\n".encode(code) for line in text.splitlines()]

    def damaged() -> bytes:
        return scrambled(whole, chance, pieces, (0, 10, 21, 32, 45, 48, 57, 255), lines)

    survives(lambda path: open_files([path], Options()), tmp_path, damaged, iterations(40, 12))


def test_unterminated_last_line_is_problem(tmp_path: Path) -> None:
    whole = zos_samples.cnt()
    last = whole.rstrip("\n")
    cut = last[:-3]
    with opened(tmp_path, {"a.CNT": cut}) as session:
        assert any("the last line has no line end" in problem.detail for problem in session.problems)
