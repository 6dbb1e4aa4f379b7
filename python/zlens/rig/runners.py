"""Runners produce the monitor data of a run: the simulator, a program, or existing files.

A runner is a small value that is sent to another process: `digest` identifies what its data depends on, `run`
produces it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Protocol

import tomli_w
from msgspec import Struct

from zlens import _native
from zlens.errors import CanceledError, InputError, QueryError, ScenarioError
from zlens.models import constants
from zlens.rig.jobs import Job
from zlens.simulation import custom_policy
from zlens.simulation import run as simulation
from zlens.simulation.custom_policy import PolicySource
from zlens.version import VERSION

#: Returns whether the run must stop; called while it runs.
Stopped = Callable[[], bool]
_WAIT_S = 0.1
#: Maximum number of characters of a program's output in an error; the last ones are shown.
_LAST = 400


class RunData(Struct, frozen=True):
    """The files of a run: monitor data of its systems, and their transactions."""

    files: tuple[str, ...]
    throughput: str | None = None


class Runner(Protocol):
    def digest(self, job: Job) -> str:
        """Return a digest of everything that the data of a run depends on."""

    def run(self, job: Job, output: str, stopped: Stopped) -> RunData:
        """Produce the data of a run; output: path to write to."""


def find(text: str, policy: str | Callable[..., object] | None = None) -> Runner:
    """Return a runner by its name: simulate, command:PROGRAM or files:FOLDER; QueryError for any other.

    policy   decides in place of the simulated CP: FILE.py:CLASS, or a class
    """
    kind, _, rest = text.partition(":")
    if text == "simulate":
        return SimulatorRunner(custom_policy.find(policy))
    if policy is not None:
        raise QueryError(f"the runner {text} has no policy", cure="leave the policy out")
    if kind == "command" and rest.strip():
        try:
            words = tuple(shlex.split(rest))
        except ValueError as error:
            message = f"the runner's command cannot be split: {error}"
            raise QueryError(message, cure="close its quotes") from None
        if not any("{out}" in word for word in words):
            raise QueryError("the runner's command does not say where to write",
                             cure="add {out}: command:./run.sh {scenario} {out}")  # fmt: skip
        return CommandRunner(words)
    if kind == "files" and rest:
        return FilesRunner(rest)
    raise QueryError(f"there is no runner {text!r}", expected="simulate, command:PROGRAM or files:FOLDER")


class SimulatorRunner(Struct, frozen=True):
    """Simulates the scenario; policy: decides in place of CP."""

    policy: PolicySource | None = None

    def digest(self, job: Job) -> str:
        ready = self._prepared(job)
        policy = [] if self.policy is None else [self.policy.digest]
        text = json.dumps(ready.lowered.scenario, sort_keys=True, default=str)
        return _digest(_simulator(), text, *policy)

    def run(self, job: Job, output: str, stopped: Stopped) -> RunData:
        def progress(_done: int, _of: int, _what: str) -> None:
            if stopped():
                raise CanceledError("the run was interrupted")

        [done] = simulation.simulate([self._prepared(job)], output, progress=progress)
        return RunData(tuple(done.files.values()), done.throughput)

    def _prepared(self, job: Job) -> simulation.PreparedScenario:
        with constants.replaced(job.constants):
            return simulation.prepare(job.values, policy=self.policy)


class CommandRunner(Struct, frozen=True):
    """Starts a program that writes monitor data to {out}; {scenario} is a TOML file, {seed} its seed.

    A file {out}.throughput.csv with transactions is read too, if the program writes one.
    """

    words: tuple[str, ...]

    def digest(self, job: Job) -> str:
        return _digest(VERSION, json.dumps([self.words, job.values], sort_keys=True, default=str))

    def run(self, job: Job, output: str, stopped: Stopped) -> RunData:
        scenario, log = f"{output}.toml", f"{output}.log"
        Path(scenario).write_text(tomli_w.dumps(_plain(job.values)), encoding="utf-8")
        replacements = {"{scenario}": scenario, "{out}": output, "{seed}": str(job.seed)}
        words = [_filled(word, replacements) for word in self.words]
        Path(output).unlink(missing_ok=True)
        with open(log, "wb") as output_file:
            try:
                process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=output_file, stderr=subprocess.STDOUT,
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise QueryError(f"{words[0]} cannot be started: {error.strerror or error}",
                                 cure="correct the runner's command") from None  # fmt: skip
            while True:
                try:
                    status = process.wait(_WAIT_S)
                    break
                except subprocess.TimeoutExpired:
                    if stopped():
                        os.killpg(process.pid, signal.SIGTERM)
                        process.wait()
                        raise CanceledError("the run was interrupted") from None
        if status or not os.path.isfile(output):
            last = Path(log).read_text(encoding="utf-8", errors="replace")[-_LAST:].strip()
            what = f"ended with status {status}" if status else "left no monitor data"
            message = f"{words[0]} {what}{f': {last}' if last else ''}"
            raise InputError(message, file=output, cure=f"see {log}")
        throughput = f"{output}.throughput.csv"
        return RunData((output,), throughput if os.path.isfile(throughput) else None)


class FilesRunner(Struct, frozen=True):
    """Uses existing data: FOLDER/SCENARIO/RUN.data, as the rig itself names it, or RUN-SYSTEM.data."""

    folder: str

    def digest(self, job: Job) -> str:
        facts = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in self._files(job)]
        return _digest(VERSION, json.dumps(facts))

    def run(self, job: Job, output: str, stopped: Stopped) -> RunData:
        throughput = self._folder(job) / f"{job.name}.data.throughput.csv"
        files = tuple(str(path) for path in self._files(job))
        return RunData(files, str(throughput) if throughput.is_file() else None)

    def _folder(self, job: Job) -> Path:
        return Path(self.folder) / job.rig

    def _files(self, job: Job) -> list[Path]:
        path = self._folder(job) / f"{job.name}.data"
        files = [path] if path.is_file() else sorted(self._folder(job).glob(f"{job.name}-*.data"))
        if not files:
            raise InputError("this run has no monitor data", file=str(path),
                             cure="copy its MONWRITE file there")  # fmt: skip
        return files


def _filled(word: str, replacements: dict[str, str]) -> str:
    for placeholder, text in replacements.items():
        word = word.replace(placeholder, text)
    return word


def _plain(value: object) -> dict[str, object]:
    """Return plain dictionaries, which the TOML writer requires."""
    plain = json.loads(json.dumps(value))
    if not isinstance(plain, dict):
        raise ScenarioError("the scenario is not a TOML table")
    return plain


@cache
def _simulator() -> str:
    """Return a digest of the simulator itself and of the layouts that it writes."""
    native = _native.__file__
    assert native is not None
    return _digest(VERSION, simulation.layouts(), hashlib.sha256(Path(native).read_bytes()).hexdigest())


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
