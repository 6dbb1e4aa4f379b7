"""Tests of process exit without interpreter shutdown: no output is lost."""

from __future__ import annotations

import subprocess
import sys

import pytest

_BEGIN = "import atexit, sys, threading, time; from zlens import cli; "
_RUN = "sys.argv = ['zlens', *{words!r}]; cli.program()"


def _run(before: str, *words: str) -> subprocess.CompletedProcess[str]:
    text = _BEGIN + before + _RUN.format(words=words)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)


def test_exit_runs_handlers_and_flushes() -> None:
    plain = _run("", "report", "--list")
    handled = _run("atexit.register(lambda: print('handled')); ", "report", "--list")
    assert plain.returncode == handled.returncode == 0
    assert handled.stdout == f"{plain.stdout}handled\n"
    assert plain.stderr == handled.stderr == ""


@pytest.mark.parametrize(("words", "status"), [(("report", "nosuch", "x"), 2), (("--version",), 0)])
def test_program_returns_exit_status_of_command(words: tuple[str, ...], status: int) -> None:
    assert _run("", *words).returncode == status


def test_exit_waits_for_threads() -> None:
    work = "threading.main_thread().join(), print('late', flush=True)"
    late = f"threading.Thread(target=lambda: ({work})).start(); "
    assert _run(late, "report", "--list").stdout.endswith("late\n")


def test_module_objects_are_not_deleted_at_exit() -> None:
    """An object that a module references is not finalized at exit."""
    kept = "cli.kept = type('Kept', (), {'__del__': lambda self: print('deleted')})(); "
    assert "deleted" not in _run(kept, "report", "--list").stdout
