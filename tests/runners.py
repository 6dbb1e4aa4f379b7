"""Runs the programs that test zlens, and prints what ran and what was skipped, for `make test-all`.

Each argument is `NAME: COMMAND`, or `NAME?: COMMAND` for a command that exits with 2 if it cannot run. Its
last line is the reason.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import tools
from outcomes import FILE

#: Closing lines of cargo, of vitest and of pytest.
_CARGO = re.compile(r"^test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_VITEST = re.compile(r"^\s*Tests\s+(.*\d+ (?:passed|failed).*)$", re.MULTILINE)
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Run:
    name: str
    status: int
    text: str
    #: Outcomes of its runs of pytest.
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    optional: bool = False

    @property
    def state(self) -> str:
        if self.status == 2 and self.optional:
            return "not run"
        return "FAILED" if self.status else "ran"

    def summary(self) -> str:
        """Return its counts as one text, or the reason why it could not run."""
        text = _COLORS.sub("", self.text)
        if self.outcomes:
            counts = Counter[str]()
            for outcome in self.outcomes:
                counts.update({key: value for key, value in outcome.items() if isinstance(value, int)})
                counts["skipped"] += sum(outcome["skipped"].values())
            return ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        if cargo := _CARGO.findall(text):
            passed, failed, ignored = (sum(int(row[at]) for row in cargo) for at in range(3))
            return f"{passed} passed, {failed} failed, {ignored} ignored"
        if vitest := _VITEST.findall(text):
            return " ".join(vitest[-1].split())
        return (text.strip().splitlines() or [""])[-1]


def run(name: str, command: str) -> Run:
    """Run a command and pass its output on as it comes."""
    print(f"== {name}: {command}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outcomes"
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", command],
            env={**os.environ, FILE: str(path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        lines: list[str] = []
        assert process.stdout is not None
        assert process.stderr is not None
        readers = [
            threading.Thread(target=_copy, args=(process.stdout, sys.stdout, lines)),
            threading.Thread(target=_copy, args=(process.stderr, sys.stderr, lines)),
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        status = process.wait()
        outcomes = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return Run(name.rstrip("?"), status, "".join(lines), outcomes, optional=name.endswith("?"))


def _copy(source: TextIO, target: TextIO, lines: list[str]) -> None:
    for line in source:
        target.write(line)
        target.flush()
        lines.append(line)


def table(runs: Sequence[Run]) -> list[str]:
    """Return the lines of the table: runners, tools that tests used or missed, skipped tests by reason."""
    skipped = Counter[str]()
    used: set[str] = set()
    for each in runs:
        for outcome in each.outcomes:
            skipped.update(outcome["skipped"])
            used.update(outcome["tools"])
    rows = [(each.name, each.state, each.summary()) for each in runs]
    for name in tools.TOOLS:
        missed = skipped.get(tools.reason(name), 0)
        if missed:
            rows.append((name, "not run", f"{missed} tests skipped: {tools.TOOLS[name]}"))
        elif name in used:
            rows.append((name, "ran", "in pytest"))
    reasons = [(str(count), "skipped", reason) for reason, count in skipped.most_common()]
    return [*_aligned(rows), *(["", *_aligned(reasons)] if reasons else [])]


def _aligned(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    rows = [*rows]
    widths = [max(len(row[at]) for row in rows) for at in range(2)]
    return [f"{name:<{widths[0]}}  {state:<{widths[1]}}  {text}".rstrip() for name, state, text in rows]


def main(arguments: Sequence[str]) -> int:
    """Run all commands, also after one that fails; return 1 if one did."""
    runs = [run(*argument.split(": ", 1)) for argument in arguments]
    print("\n" + "\n".join(table(runs)))
    return int(any(each.state == "FAILED" for each in runs))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
