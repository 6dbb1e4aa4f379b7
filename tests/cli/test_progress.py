"""Tests of the progress line."""

from __future__ import annotations

import io

import pytest

from zlens import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_progress_is_silent_in_pipe() -> None:
    stream = io.StringIO()
    clock = Clock()
    with progress.Progress(stream, clock) as shown:
        for done in range(10):
            clock.now += 1
            shown(done, 10, "x")
    assert stream.getvalue() == ""


def test_progress_is_silent_for_short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    clock = Clock()
    with progress.Progress(stream, clock) as shown:
        shown(0, 10, "x")
        clock.now += 0.1
        shown(10, 10, "x")
    assert stream.getvalue() == ""


def test_progress_shows_rate_and_clears_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    clock = Clock()
    with progress.Progress(stream, clock) as shown:
        shown(0, 10_000_000, "file")
        clock.now += 2
        shown(4_000_000, 10_000_000, "file")
        assert "40%" in stream.getvalue()
        assert "4 MB of 10 MB" in stream.getvalue()
        assert "2 MB/s" in stream.getvalue()
        assert "0:03 left" in stream.getvalue()
    assert stream.getvalue().endswith(" \r")


def test_progress_is_silent_on_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert not progress.Progress(Terminal()).shown


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1_536_000, "1.54 MB"), (4e12, "4 TB")]
)
def test_bytes_text(count: float, text: str) -> None:
    assert progress.bytes_text(count) == text


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (75, "1:15"), (4000, "1:06:40")])
def test_duration_text(seconds: float, text: str) -> None:
    assert progress.duration_text(seconds) == text
