"""Tests of what reaches the terminal and logs: no control character of a name in the input."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest

from bad import monwrite_samples
from zlens.cli import main, streams
from zlens.progress import Progress

#: Erases the screen, ends a line, begins a sequence with one byte (x'27', x'25' and a C1 control in EBCDIC).
NAME = "A\x1b[2\nJ\x9bm"
#: The name as recorded, and as printed.
SHOWN = "A\N{REPLACEMENT CHARACTER}[2\N{REPLACEMENT CHARACTER}J\N{REPLACEMENT CHARACTER}m"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return monwrite_samples.write(tmp_path_factory.mktemp("streams") / "name.data", system=NAME)


@pytest.mark.parametrize(
    "words",
    [
        ["report", "prclog", "{}"],
        ["info", "{}"],
        ["findings", "{}"],
        ["catalog", "needs", "{}"],
        ["plan", "{}", "--list"],
        ["sql", "{}", "-q", "from system"],
        ["live", "--replay", "{}", "--speed", "1000000", "--no-serve"],
    ],
    ids=lambda words: words[0],
)
def test_names_are_printed_without_controls(
    hostile: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(hostile) if word == "{}" else word for word in words]) == 0
    out = "".join(capsys.readouterr())
    assert SHOWN in out.replace("?", "\N{REPLACEMENT CHARACTER}")
    assert not [char for char in out if not char.isprintable() and char != "\n"]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_csv_and_json_are_exact_unless_on_terminal(
    hostile: Path, form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["sql", str(hostile), "-q", "select distinct system from load", "--format", form]
    assert main(words) == 0
    assert "J\x9bm" in capsys.readouterr().out
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(words) == 0
    assert "J\N{REPLACEMENT CHARACTER}m" in terminal.getvalue()
    assert sys.stdout is terminal


def test_error_quotes_name_on_one_clean_line(
    tmp_path: Path, hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "b\x1b]0;t\x07\nzlens: done\u202e"
    shutil.copy(hostile, copy)
    with open(copy, "ab") as file:
        file.write(b"\xff" * monwrite_samples.PAGE)
    assert main(["info", str(copy / "missing"), "--strict"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "b\N{REPLACEMENT CHARACTER}]0;t\N{REPLACEMENT CHARACTER} zlens: done" in err
    assert err.strip("\n").isprintable()


def test_progress_is_drawn_on_clean_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    times = iter([0.0, 10.0])
    with streams.clean_streams(), Progress(clock=lambda: next(times)) as shown:
        shown(0, 10, "file\x1bc")
        shown(5, 10, "file\x1bc")
    assert terminal.getvalue().startswith("\rfile\N{REPLACEMENT CHARACTER}c  [")
    assert terminal.getvalue().endswith(" \r")
