"""Runs commands of the program in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlens import cli


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """Return the status of a command, and what it printed to standard output and to standard error."""
    try:
        status = cli.main([str(word) for word in words])
    except SystemExit as leave:
        status = int(leave.code or 0)
    captured = capsys.readouterr()
    return status, captured.out, captured.err
