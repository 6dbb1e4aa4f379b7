"""Tests of Ctrl-C in every command: exit status 130, and complete files or none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from bad import monwrite_samples
from iterations import quick_subset
from patience import until
from zlens import cli, lake, models
from zlens.cli.parser import COMMANDS

#: The function call of a command at which Ctrl-C comes: while it loads, reads, computes and writes.
CALLS = (20_000, 100, 2_000, 60_000, 200_000)
#: Arguments of each command. {in}: monitor data, {toml}: a scenario, {lake}: a lake, {new}: what it writes.
WORDS = {
    "info": "{in} --all",
    "report": "prclog {in} --format csv -o {new}",
    "sql": "{in} -q from:load --format csv -o {new}",
    "findings": "{in} --format csv -o {new}",
    "compare": "{in} -- {in} --format csv -o {new}",
    "solve": "queueing {toml} --format csv -o {new}",
    "simulate": "{toml} --hours 0.1 -o {new}",
    "rig": "list",
    "study": "--list -o {new}",
    "plan": "{in} --list -o {new}",
    "ledger": "cpu {in} -o {new}",
    "explain": "load.busy_pct",
    "import": "{in} --lake {new}",
    "lake": "check {lake}",
    "export": "measures {lake} --to parquet -o {new}",
    "catalog": "needs {in}",
    "serve": "{in} --port 0",
    "live": "--replay {in} --speed 1000000 --no-serve --lake {new}",
    "demo": "{new} --quiet",
    "complete": "bash",
}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("given")
    data = monwrite_samples.write(folder / "in.data")
    scenario = folder / "scenario.toml"
    scenario.write_text(models.find("queueing").example, encoding="utf-8")
    lake.add([data], folder / "lake")
    return {"in": str(data), "toml": str(scenario), "lake": str(folder / "lake")}


def _run(command: str, given: dict[str, str], new: Path) -> int:
    values = {**given, "new": str(new)}
    words = [word.format(**values).replace(":", " ") for word in WORDS[command].split()]
    return cli.main([command, *words])


def _ignores_errors(frame: FrameType | None) -> bool:
    """Return whether Python ignores what is raised here: in finalizers, and hooks of its collector."""
    while frame is not None and frame.f_code.co_name not in ("__del__", "gc_callback"):
        frame = frame.f_back
    return frame is not None


class Interrupt:
    """Raises SIGINT once in this thread, at a call of a Python function."""

    def __init__(self, call: int) -> None:
        self.left = call

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and self.left > 0:
            # A server that waits for requests calls little else.
            self.left = 0 if frame.f_code.co_name == "on_tick" else self.left - 1
            if not self.left and _ignores_errors(frame):
                self.left = 1
            if not self.left:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    def during(self, work: Callable[[], int]) -> int | None:
        """Return the exit status; None if the work ended before."""
        sys.setprofile(self)
        try:
            status = work()
        except KeyboardInterrupt:
            # Before the program handles it: as a program of its own, it ends with this status.
            status = cli.INTERRUPTED
        finally:
            sys.setprofile(None)
        return status if self.left <= 0 else None


def test_every_command_is_interrupted() -> None:
    assert WORDS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("call", quick_subset(1, CALLS))
@pytest.mark.parametrize("command", COMMANDS)
def test_interrupt_leaves_complete_files(
    command: str,
    call: int,
    given: dict[str, str],
    demo_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    new = tmp_path / "new"
    status = Interrupt(call).during(lambda: _run(command, given, new))
    errors = capsys.readouterr().err
    assert status in (None, cli.INTERRUPTED)
    assert "Traceback" not in errors
    # Nothing is left next to the output, such as a temporary file.
    assert not list(tmp_path.glob(".*"))
    if new.is_file() and command != "simulate":
        # A simulation ends early, with a complete file.
        assert _run(command, given, tmp_path / "again") == 0
        assert new.read_bytes() == (tmp_path / "again").read_bytes()
    if command in ("import", "live") and (new / "manifest.json").exists():
        assert not lake.check(new).faults
    if command == "demo" and new.exists():
        for path in new.iterdir():
            assert path.read_bytes() == (demo_folder / path.name).read_bytes()


@pytest.mark.long
def test_interrupt_ends_demo_and_rig_without_traceback(tmp_path: Path) -> None:
    """Each simulates in other threads or processes, which a terminal interrupts too."""
    for words in (["demo", "new", "--quiet"], ["rig", "run", "unequal-shares", "-o", "new", "--jobs", "2"]):
        for delay_s in (0.0, 0.2, 0.5, 1.0):
            folder = tmp_path / f"{words[0]}-{delay_s}"
            folder.mkdir()
            with subprocess.Popen(
                [sys.executable, "-m", "zlens", *words],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            ) as process:
                until((folder / "new").exists)
                time.sleep(delay_s)
                os.killpg(process.pid, signal.SIGINT)
                _, errors = process.communicate()
            assert (process.returncode, "Traceback" in errors) == (cli.INTERRUPTED, False), errors
            # Nothing temporary is left, and what is there is complete.
            assert not list(folder.rglob(".*"))
            for path in folder.rglob("*.monwrite"):
                assert cli.main(["info", str(path), "--strict"]) == 0
