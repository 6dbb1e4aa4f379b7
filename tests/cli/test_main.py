"""Tests of the program: exit status, one-line errors, every command on a small input."""

from __future__ import annotations

import argparse
import csv
import fcntl
import io
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterable
from itertools import cycle, product
from keyword import iskeyword
from pathlib import Path

import pytest

from command_line import run
from iterations import iterations, quick_subset
from patience import until
from zlens import cli
from zlens.cli import parser
from zlens.cli.parser import COMMANDS

PROGRAM = [sys.executable, "-m", "zlens"]
ZONE = ["--tz", "+01:00"]


# Help -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_example(capsys: pytest.CaptureFixture[str], command: str) -> None:
    status, out, err = run(capsys, command, "--help")
    assert status == 0
    assert f"zlens {command}" in out
    assert "Example" in out
    assert err == ""


def test_help_imports_only_parser() -> None:
    # Modules that are slow to import are not needed for help: no command, no catalog, no engine.
    code = (
        "import sys\nfrom zlens import cli\n"
        "try:\n    cli.main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'zlens', 'duckdb', 'platformdirs', 'tomllib'}\n"
        "print(sorted(m for m in sys.modules if m.partition('.')[0] in heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Examples:" in done.stdout
    assert done.stdout.splitlines()[-1] == str(
        [
            "zlens",
            "zlens.cli",
            "zlens.cli.options",
            "zlens.cli.parser",
            "zlens.cli.streams",
            "zlens.errors",
            "zlens.schema",
            "zlens.schema.plain_text",
            "zlens.version",
        ]
    )


def test_info_imports_only_its_reader(rmf_file: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom zlens import cli\n"
        "cli.main(['info', sys.argv[1]])\n"
        "heavy = {'duckdb', 'tomllib', 'zlens.readers.smf.dump', 'zlens.lake.reader'}\n"
        "heavy.add('zlens.session.throughput_join')\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(rmf_file)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_findings_import_no_checks_of_catalog(rmf_file: Path) -> None:
    code = (
        "import sys\nfrom zlens import cli\n"
        "cli.main(['findings', sys.argv[1], '--tz', '+01:00'])\n"
        "print([name for name in sys.modules if name.startswith('zlens.checks')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(rmf_file)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_parser_is_built_for_named_command_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[list[str]] = []
    build = parser.build

    def note(names: Iterable[str], **_: object) -> argparse.ArgumentParser:
        built.append([*names])
        return build(built[-1])

    monkeypatch.setattr("zlens.cli.parser.build", note)
    assert run(capsys, "info", "--help")[0] == 0
    assert run(capsys, "inf")[2].startswith("zlens: argument COMMAND: invalid choice: 'inf'")
    assert built == [["info"], [*COMMANDS]]


def test_help_describes_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--help")
    lines = [line.split(maxsplit=1) for line in out.splitlines() if line.startswith("    ")]
    assert [tuple(words) for words in lines[: len(COMMANDS)]] == list(COMMANDS.items())


def test_every_command_imports_by_its_name() -> None:
    folder = Path(cli.__file__).parent
    for name in COMMANDS:
        assert (folder / f"{name}{'_' * iskeyword(name)}.py").is_file()


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--version")
    assert status == 0
    assert out.startswith("zlens ")


# Errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nonsense"],
        ["info"],
        ["info", "no-such-file"],
        ["report", "prclog"],
        ["report"],
        ["report", "no-such-report", "no-such-file"],
        ["sql", "no-such-file", "-q", "select 1"],
        ["sql", "no-such-file"],
        ["explain", "no-such-thing"],
        ["catalog"],
        ["catalog", "show", "D99R99"],
        ["catalog", "import", "no-such-page"],
        ["info", "x", "--tz", "Mars"],
    ],
)
def test_invalid_arguments_exit_with_2(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    status, out, err = run(capsys, *words)
    assert status == 2
    assert out == ""
    assert err.startswith("zlens: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_invalid_sql_exits_with_2(capsys: pytest.CaptureFixture[str], rmf_file: Path) -> None:
    for query in (
        "select nonsense from partition",
        "select",
        "from nowhere",
        "select 1; select 2",
        "@nofile",
    ):
        status, out, err = run(capsys, "sql", str(rmf_file), "-q", query, *ZONE)
        assert (status, out) == (2, "")
        assert err.startswith("zlens: ")
        assert err.count("\n") == 1


@pytest.mark.parametrize("target", ["no/such/folder/out.csv", "."])
def test_unwritable_output_is_named_as_given(
    capsys: pytest.CaptureFixture[str], rmf_file: Path, tmp_path: Path, target: str
) -> None:
    question = ("sql", str(rmf_file), "-q", "from load")
    for words in (("report", "partition", str(rmf_file)), question, (*question, "--format", "parquet")):
        status, out, err = run(capsys, *words, *ZONE, "-o", str(tmp_path / target))
        assert (status, out) == (2, "")
        assert err.startswith(f"zlens: {tmp_path / target}: ")
        assert os.listdir(tmp_path) == []


def test_unexpected_error_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("first\nsecond\x1b[2J")

    monkeypatch.setattr("zlens.session.session.CoreSession", fail)
    status, _, err = run(capsys, "info", "x")
    assert status == 2
    assert err.count("\n") == 1
    assert "RuntimeError: first second" in err
    assert "\x1b" not in err
    monkeypatch.setenv("ZLENS_DEBUG", "1")
    with pytest.raises(RuntimeError, match="first\nsecond"):
        cli.main(["info", "x"])


def test_ctrl_c_exits_with_130(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("zlens.session.session.CoreSession", interrupt)
    assert run(capsys, "info", "x")[0] == 130


# Commands ---------------------------------------------------------------------------------------


def test_info_text(capsys: pytest.CaptureFixture[str], rmf_file: Path) -> None:
    status, out, _ = run(capsys, "info", str(rmf_file), *ZONE)
    assert status == 0
    assert "ZLZOS" in out
    assert "2097-703" in out
    assert "made" in out.lower()
    assert "2010-03-09 08:30:00 to 09:30:00 (local time, UTC+01:00)" in out


def test_info_json(capsys: pytest.CaptureFixture[str], rmf_file: Path) -> None:
    status, out, _ = run(capsys, "info", str(rmf_file), "--format", "json", *ZONE)
    assert status == 0
    (one,) = json.loads(out)
    assert one["file"] == str(rmf_file)
    assert one["system"] == "ZLZ1"
    assert one["synthetic"] is True
    assert one["first"] == "2010-03-09T07:30:00Z"
    assert one["last"] == "2010-03-09T08:30:00Z"
    assert one["problems"] == []
    assert {record["name"] for record in one["records"]} >= {"CPU Activity"}


def test_info_imports_no_engine(rmf_file: Path) -> None:
    code = (
        "import sys; from zlens.cli import main; "
        f"main(['info', {str(rmf_file)!r}]); print('duckdb' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_strict_sets_exit_status(capsys: pytest.CaptureFixture[str], rmf_file: Path) -> None:
    # Without a zone the report's times are local, which is a problem.
    assert run(capsys, "info", str(rmf_file))[0] == 0
    assert run(capsys, "info", str(rmf_file), "--strict")[0] == 1
    assert run(capsys, "info", str(rmf_file), "--strict", *ZONE)[0] == 0
    status, _, err = run(capsys, "report", "partition", str(rmf_file), "--strict")
    assert status == 1
    assert "1 zone" in err


@pytest.mark.parametrize("form", ["text", "csv", "json", "html"])
def test_report(capsys: pytest.CaptureFixture[str], rmf_file: Path, tmp_path: Path, form: str) -> None:
    status, out, _ = run(capsys, "report", "partition", str(rmf_file), "--format", form, *ZONE)
    assert status == 0
    assert "ZLTEST" in out
    if form == "json":
        json.loads(out)
    target = tmp_path / "report"
    status, quiet, _ = run(
        capsys, "report", "partition", str(rmf_file), "--format", form, "-o", str(target), *ZONE
    )
    assert (status, quiet) == (0, "")
    assert "ZLTEST" in target.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [target]


def test_report_list(capsys: pytest.CaptureFixture[str], rmf_file: Path) -> None:
    status, out, _ = run(capsys, "report", "--list")
    assert status == 0
    assert "prclog" in out
    assert "FCX304" in out
    assert run(capsys, "report", "--list", str(rmf_file))[0] == 0


QUERY = "select partition, count(*) as n from partition where cpu_type = 'IFL' group by all order by all"


def test_unknown_report_is_reported_before_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no report 'fcx999'" in run(capsys, "report", "fcx999")[2]
    assert "no input" in run(capsys, "report", "fcx304")[2]
    # Performance Toolkit commands that name a subject.
    assert "zlens report device INPUT --only 0120" in run(capsys, "report", "DEVICE 0120")[2]
    assert "zlens report user INPUT --only LNX*" in run(capsys, "report", "FCX112 lnx*")[2]


def test_sql_formats(capsys: pytest.CaptureFixture[str], rmf_file: Path, tmp_path: Path) -> None:
    base = ["sql", str(rmf_file), "-q", QUERY, *ZONE]
    status, out, _ = run(capsys, *base)
    assert status == 0
    assert out.splitlines()[0].split() == ["partition", "n"]
    _, out, _ = run(capsys, *base, "--format", "csv")
    got = list(csv.DictReader(io.StringIO(out)))
    _, out, _ = run(capsys, *base, "--format", "json")
    assert [row["partition"] for row in json.loads(out)] == [row["partition"] for row in got]
    question = tmp_path / "q.sql"
    question.write_text(QUERY, encoding="utf-8")
    _, from_file, _ = run(capsys, "sql", str(rmf_file), "-q", f"@{question}", *ZONE, "--format", "json")
    assert from_file == out


def test_sql_plan(capsys: pytest.CaptureFixture[str], rmf_file: Path) -> None:
    status, out, _ = run(capsys, "sql", str(rmf_file), "-q", "explain select max(busy_pct) from cpu", *ZONE)
    assert status == 0
    assert len(out.splitlines()) > 5
    assert "busy_pct" in out


def test_sql_parquet(capsys: pytest.CaptureFixture[str], rmf_file: Path, tmp_path: Path) -> None:
    import pyarrow.parquet

    target = tmp_path / "answer.parquet"
    base = ["sql", str(rmf_file), "-q", QUERY, "--format", "parquet", *ZONE]
    assert run(capsys, *base)[0] == 2
    assert run(capsys, *base, "-o", str(target))[0] == 0
    assert pyarrow.parquet.read_table(target).column_names == ["partition", "n"]
    assert list(tmp_path.iterdir()) == [target]


def test_sql_shows_local_time_with_its_offset(capsys: pytest.CaptureFixture[str], rmf_file: Path) -> None:
    query = "select system, max(interval_end) as t from partition group by all"
    _, out, _ = run(capsys, "sql", str(rmf_file), "-q", query, *ZONE)
    assert "2010-03-09 09:30:00+01:00" in out
    _, out, _ = run(capsys, "sql", str(rmf_file), "-q", query, "--utc", *ZONE)
    assert "2010-03-09 08:30:00+00:00" in out
    _, out, _ = run(capsys, "sql", str(rmf_file), "-q", query)
    assert "2010-03-09 09:30:00\n" in out


def test_rows_limit(capsys: pytest.CaptureFixture[str], rmf_file: Path) -> None:
    status, out, err = run(capsys, "sql", str(rmf_file), "-q", "from range(100)", "--rows", "3", *ZONE)
    assert status == 0
    assert len(out.splitlines()) == 5
    assert "3 of 100 rows" in err


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "explain", "cpu.busy_pct", "D0R2")
    assert status == 0
    assert "busy_pct" in out
    assert "MRSYTPRP" in out


def test_catalog_show(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "catalog", "show", "D0R2")
    assert status == 0
    assert "SYTPRP_PFXUTIME" in out
    assert run(capsys, "catalog", "show", "mrsytprp")[1] == out
    assert "busy_pct" in run(capsys, "catalog", "show", "cpu")[1]
    assert "user_time" in run(capsys, "catalog", "show", "role.processor")[1]
    status, out, _ = run(capsys, "catalog", "show")
    assert status == 0
    assert "D0R2" in out


# The process ------------------------------------------------------------------------------------


def test_standard_input(rmf_file: Path) -> None:
    with open(rmf_file, "rb") as data:
        done = subprocess.run([*PROGRAM, "info", "-", *ZONE], stdin=data, capture_output=True, text=True)
    assert done.returncode == 0
    assert "ZLZOS" in done.stdout


def test_empty_standard_input() -> None:
    done = subprocess.run([*PROGRAM, "info", "-"], input="", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("zlens: standard input at byte 0: the file is empty")


def test_closed_pipe_ends_output(rmf_file: Path) -> None:
    command = [*PROGRAM, "sql", str(rmf_file), "-q", "from range(200000)", *ZONE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait() == 0


def on_terminal(*words: str) -> tuple[int, str]:
    """Return the exit status and the output on a terminal of 80 columns."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with subprocess.Popen(
        [*PROGRAM, *words],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm"},
    ) as process:
        os.close(terminal)
        shown = b""
        while True:
            try:
                block = os.read(controller, 65536)
            except OSError:  # Linux: the other end was closed
                break
            if not block:
                break
            shown += block
        status = process.wait()
    os.close(controller)
    return status, shown.decode("utf-8").replace("\r\n", "\n")


def test_terminal_is_not_flooded(rmf_file: Path) -> None:
    status, shown = on_terminal("sql", str(rmf_file), "-q", "from range(1000)", *ZONE)
    assert status == 0
    assert "60 of 1,000 rows; --rows 0 shows all" in shown
    assert len(shown.splitlines()) < 70
    assert on_terminal("info", "-")[0] == 2


@pytest.mark.parametrize("form", ["table", "csv"])
def test_long_query_can_be_interrupted(rmf_file: Path, tmp_path: Path, form: str) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    query = "select sum(a.range * b.range) from range(1000000) a, range(1000000) b"
    with subprocess.Popen(
        [*PROGRAM, "sql", str(rmf_file), "-q", query, *ZONE, "--format", form],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        until(lambda: list(tmp_path.iterdir()))
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        try:
            # The query would run for hours.
            assert process.wait(timeout=60) == 130
        finally:
            process.kill()
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


def test_text_results_are_exact(capsys: pytest.CaptureFixture[str], rmf_file: Path) -> None:
    """Integers of any width, floats that round-trip, lists as text, columns with equal names."""
    query = (
        "SELECT 170141183460469231731687303715884105727 AS huge, 18446744073709551615::UBIGINT AS wide, "
        "-1::TINYINT AS narrow, 0.1::DOUBLE + 0.2::DOUBLE AS x, 'nan'::DOUBLE AS x, 1e16::DOUBLE AS x, "
        "[1.5, 2.5] AS list, '' AS empty, NULL AS none, true AS yes, DATE '2026-03-02' AS day, "
        "TIMESTAMP '2026-03-02 09:15:00.25' AS at, 'a\"b,c' || chr(13) || chr(10) AS text"
    )
    status, out, _ = run(capsys, "sql", str(rmf_file), "-q", query, *ZONE, "--format", "csv")
    assert status == 0
    huge, wide, text = "170141183460469231731687303715884105727", "18446744073709551615", 'a"b,c\r\n'
    assert list(csv.reader(io.StringIO(out, newline=""), strict=True)) == [
        ["huge", "wide", "narrow", "x", "x", "x", "list", "empty", "none", "yes", "day", "at", "text"],
        [
            *(huge, wide, "-1", "0.30000000000000004", "", "1e+16", "[1.5, 2.5]", "", "", "true"),
            *("2026-03-02", "2026-03-02 09:15:00.25", text),
        ],
    ]
    assert ',"",,true,' in out
    status, out, _ = run(capsys, "sql", str(rmf_file), "-q", query, *ZONE, "--format", "json")
    assert status == 0
    assert json.loads(out) == [
        {
            "huge": int(huge),
            "wide": int(wide),
            "narrow": -1,
            "x": 0.1 + 0.2,
            "x_1": None,
            "x_2": 1e16,
            "list": "[1.5, 2.5]",
            "empty": "",
            "none": None,
            "yes": True,
            "day": "2026-03-02",
            "at": "2026-03-02 09:15:00.25",
            "text": text,
        }
    ]


def test_csv_has_texts_as_recorded(rmf_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Values that a spreadsheet reads as formulas get no apostrophe; the web UI saves the same text."""
    texts = ["=1+1", "@SUM(A1)", "+1", "-1"]
    query = f"SELECT unnest({texts!r}) AS name"
    status, out, _ = run(capsys, "sql", str(rmf_file), "-q", query, *ZONE, "--format", "csv")
    assert status == 0
    assert out.splitlines() == ["name", *texts]


@pytest.mark.parametrize(("form", "text"), [("csv", "range\n"), ("json", "[]\n")])
def test_result_without_rows(
    capsys: pytest.CaptureFixture[str], rmf_file: Path, form: str, text: str
) -> None:
    query = "SELECT * FROM range(3) WHERE false"
    assert run(capsys, "sql", str(rmf_file), "-q", query, *ZONE, "--format", form)[:2] == (0, text)


def test_query_failing_midway_leaves_no_output_file(
    capsys: pytest.CaptureFixture[str], rmf_file: Path, tmp_path: Path
) -> None:
    """Earlier rows are written to standard output; an output file appears only when it is complete."""
    query = "SELECT CAST(if(i = 900000, 'x', '1') AS INTEGER) AS x FROM range(1000000) AS t(i)"
    arguments = ["sql", str(rmf_file), "-q", query, *ZONE, "--format", "csv"]
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert err == "zlens: Could not convert string 'x' to INT32\n"
    target = tmp_path / "out.csv"
    assert run(capsys, *arguments, "-o", str(target))[0] == 2
    assert list(tmp_path.iterdir()) == []


_PEAK = """
import resource, sys
from zlens import cli
status = cli.main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.parametrize("form", quick_subset(1, ["json", "csv"]))
def test_memory_does_not_grow_with_rows(rmf_file: Path, form: str) -> None:
    def peak(rows: int) -> int:
        query = f"SELECT i, i * 1.5e0 AS x, 'row ' || i AS text FROM range({rows}) AS t(i)"
        words = ["sql", str(rmf_file), "-q", query, *ZONE, "--format", form, "-o", os.devnull]
        done = subprocess.run([sys.executable, "-c", _PEAK, *words], stderr=subprocess.PIPE, check=True)
        return int(done.stderr.split()[-1])

    # As Python values, the additional rows require more than 600 MB.
    assert peak(3_000_000) - peak(500_000) < 150_000


def test_file_patterns_are_expanded(capsys: pytest.CaptureFixture[str], rmf_file: Path) -> None:
    status, out, _ = run(capsys, "info", str(rmf_file.parent / "*.xm?"), *ZONE)
    assert status == 0
    assert "ZLZOS" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_removes_temporary_files(number: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [*PROGRAM, "info", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        # zlens waits for standard input, whose temporary file exists then.
        until(lambda: list(tmp_path.glob("*/stdin")))
        process.send_signal(number)
        assert process.wait(timeout=60) == (130 if number == signal.SIGINT else 143)
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


# Closed streams ---------------------------------------------------------------------------------


CLOSED = (">&-", ">&- 2>&-", "<&- >&- 2>&-", ">&- </dev/null")
WORDS = ("info {0}", "sql {0} -q 'select 1'", "--help")


@pytest.mark.parametrize(
    ("words", "closed"), iterations([*product(WORDS, CLOSED)], [*zip(cycle(WORDS), CLOSED)])
)
def test_closed_output_stream_is_not_error(rmf_file: Path, words: str, closed: str) -> None:
    command = f"{sys.executable} -m zlens {words.format(rmf_file)} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert "fault" not in done.stderr
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr


def test_error_with_closed_output_goes_to_stderr() -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m zlens info no-such-file >&-"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "zlens: no-such-file: no such file or folder; check the name; quote patterns\n"


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_signal_during_read_is_not_query_error(
    rmf_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sign: signal.Signals
) -> None:
    from zlens.readers import row_tables

    real = row_tables.RowStream.__arrow_c_schema__

    def struck(stream: row_tables.RowStream) -> object:
        signal.raise_signal(sign)
        return real(stream)

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(row_tables.RowStream, "__arrow_c_schema__", struck)
    monkeypatch.setattr(row_tables.RowStream, "__arrow_c_stream__", struck)
    try:
        status, out, err = run(capsys, "sql", str(rmf_file), "-q", "select * from partition, problem")
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert (status, out, err) in ((128 + sign, "", ""), (0, out, err))
    assert "KeyboardInterrupt" not in err
    assert "SystemExit" not in err
