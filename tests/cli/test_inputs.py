"""Tests of input options and standard input on the command line."""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import io
import os
import stat
import sys
from pathlib import Path

import pytest

from zlens.cli import inputs
from zlens.cli.options import add_arguments
from zlens.errors import InputError, QueryError


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser, f"{inputs.INPUTS}\n{inputs.SELECTING}")
    return parser.parse_args(["x", *words])


def test_input_options_have_defaults() -> None:
    options = inputs.parse_options(parsed())
    assert options == type(options)()


def test_all_input_options_are_parsed() -> None:
    options = inputs.parse_options(
        parsed(
            *("--system", "A", "--system", "B", "--from", "2026-03-02 09:00", "--to", "10:00"),
            *("--shift", "Mon-Fri 08:00-17:00", "--peak", "60m", "--every", "15m"),
            *("--tz", "+01:00", "--utc", "--leap", "27", "--allow-unverified", "--weights", "mine.toml"),
        )
    )
    assert options.systems == ("A", "B")
    assert options.start is not None
    assert options.start.date == dt.date(2026, 3, 2)
    assert options.end is not None
    assert options.end.time == dt.time(10)
    assert options.shift is not None
    assert options.peak_minutes == 60
    assert options.every_s == 900
    assert options.utc
    assert options.leap == 27
    assert options.allow_unverified
    assert options.weights == "mine.toml"


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--from", "noon", "'noon' is not a time"),
        ("--shift", "Xyz 08:00-17:00", "'Xyz' is not a day of the week"),
        ("--peak", "90s", "'90s' is not an integer number of minutes"),
        ("--every", "0", "'0' is not a usable length of time"),
        ("--tz", "Mars", "'Mars' is not a time zone"),
        ("--leap", "-1", "'-1' is not a number of leap seconds"),
        ("--leap", "999999999999", "'999999999999' is not a number of leap seconds"),
        ("--leap", "many", "'many' is not a number of leap seconds"),
    ],
)
def test_invalid_input_option_is_one_line_error(option: str, value: str, said: str) -> None:
    with pytest.raises(QueryError, match=f"^{said}; expected ") as caught:
        inputs.parse_options(parsed(option, value))
    assert "\n" not in str(caught.value)


class Stdin:
    def __init__(self, data: bytes, terminal: bool = False) -> None:
        self.buffer = io.BytesIO(data)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def test_standard_input_is_private_temporary_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"data"))
    with inputs.input_files(["a", "-"]) as names:
        assert names[0] == "a"
        path = Path(names[1])
        assert path.read_bytes() == b"data"
        assert stat.S_IMODE(os.stat(path.parent).st_mode) == 0o700
    assert not path.parent.exists()


def test_standard_input_file_is_removed_after_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"data"))
    kept: list[Path] = []
    with contextlib.suppress(KeyboardInterrupt), inputs.input_files(["-"]) as names:
        kept.append(Path(names[0]))
        raise KeyboardInterrupt
    assert not kept[0].parent.exists()


def test_terminal_is_rejected_as_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"", terminal=True))
    with pytest.raises(InputError, match="terminal"), inputs.input_files(["-"]):
        pass


def test_standard_input_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too large for a temporary file"):
        inputs.spool(io.BytesIO(b"x" * 100), str(tmp_path / "s"), limit=10)
    with pytest.raises(InputError, match="too large for a temporary file; expected at most 0 bytes"):
        inputs.spool(io.BytesIO(b"x" * 100), str(tmp_path / "t"), share=0.0)


def test_standard_input_leaves_half_of_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = 600 * 1024**2
    monkeypatch.setattr(inputs.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": free})())

    class Endless(io.RawIOBase):
        given = 0

        def read(self, size: int = -1) -> bytes:
            self.given += size
            return bytes(size)

    stream = Endless()
    with pytest.raises(InputError, match="expected at most 314,572,800 bytes: 50% of what is free"):
        inputs.spool(stream, str(tmp_path / "s"))  # type: ignore[arg-type]
    assert stream.given < 0.6 * free
