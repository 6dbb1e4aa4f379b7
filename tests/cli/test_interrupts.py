"""Tests of Ctrl-C in every command: exit status 130, and complete files or none."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from bad import monwrite_samples as made
from iterations import quick_subset
from zlens import cli, lake, models
from zlens.cli.parser import COMMANDS

#: The function call of a command at which Ctrl-C comes: while it loads, reads, computes and writes.
CALLS = (100, 2_000, 20_000, 60_000, 200_000)
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
    "explain": "load.busy_pct",
    "import": "{in} --lake {new}",
    "lake": "check {lake}",
    "export": "{lake} --to parquet -o {new}",
    "catalog": "list",
    "serve": "{in} --port 0",
    "live": "--replay {in} --speed 1000000 --no-serve --lake {new}",
    "demo": "{new} --quiet",
    "complete": "bash",
}
#: Files that a command does not write at once, or whose last state is not that of a run without Ctrl-C.
PRIVATE = (".live/",)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("given")
    data = made.write(folder / "in.data")
    scenario = folder / "scenario.toml"
    scenario.write_text(models.find("queueing").EXAMPLE, encoding="utf-8")
    lake.add([data], folder / "lake")
    return {"in": str(data), "toml": str(scenario), "lake": str(folder / "lake")}


def _run(command: str, given: dict[str, str], new: Path) -> int:
    values = {**given, "new": str(new)}
    words = [word.format(**values).replace(":", " ") for word in WORDS[command].split()]
    return cli.main([command, *words])


class Interrupt:
    """Raises SIGINT once in this thread, at a call of a Python function."""

    def __init__(self, call: int) -> None:
        self.left = call

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            self.left -= 1
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


def _files(folder: Path) -> dict[str, bytes]:
    if folder.is_file():
        return {"": folder.read_bytes()}
    names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in names.items() if not name.startswith(PRIVATE)}


def test_every_command_is_interrupted() -> None:
    assert WORDS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("call", quick_subset(0, CALLS))
@pytest.mark.parametrize("command", COMMANDS)
def test_interrupt_leaves_complete_files(
    command: str, call: int, given: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new"
    status = Interrupt(call).during(lambda: _run(command, given, new))
    errors = capsys.readouterr().err
    assert status in (None, cli.INTERRUPTED)
    assert "Traceback" not in errors
    # Nothing is left next to the output, such as a temporary file.
    assert [*tmp_path.iterdir()] in ([], [new])
    if command in ("import", "live") and (new / "manifest.json").exists():
        assert not lake.check(new).faults
