"""Reports as they are printed, of the demo's files and of small ones beside the case.

Each case is a folder tests/golden/report-<case>: `command` is a command line of `zlens report`, its output is
in `expected.txt`, its inputs are in the folder or files of `zlens demo`. ZLENS_GOLDEN=write updates
expected output; review the diff.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

import zlens
from zlens import demo, reports
from zlens.api import Session
from zlens.cli import inputs, parser
from zlens.inputs.options import Options, parse_zone

GOLDEN = Path(__file__).parent.parent / "golden"
CASES = sorted(path.name for path in GOLDEN.glob("report-*"))
NOW = datetime(2026, 11, 21, 8, 0, 0)
DOUBLE = re.compile(r"-?\d+\.\d{5,}(e-?\d+)?")


def stable(text: str) -> str:
    """Without the version, and without the last digits of doubles: they depend on the order of adding."""
    text = text.replace(f"zlens {zlens.__version__}", "zlens x.y.z")
    return DOUBLE.sub(lambda found: f"{float(found[0]):.10g}", text)


@pytest.fixture(scope="module")
def place(demo_files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the inputs of all cases."""
    made = tmp_path_factory.mktemp("golden")
    for path in (*demo_files, *GOLDEN.glob("report-*/*.*")):
        if path.name != "expected.txt":
            (made / path.name).symlink_to(path)
    return made


@pytest.fixture(scope="module")
def sessions() -> Iterator[dict[str, Session]]:
    """Those that are open, by what was opened: cases of one input and the same options share one."""
    made: dict[str, Session] = {}
    yield made
    for session in made.values():
        session.close()


@pytest.mark.parametrize("case", CASES)
def test_golden(
    case: str, place: Path, sessions: dict[str, Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    folder = GOLDEN / case
    program, *words = shlex.split((folder / "command").read_text(encoding="utf-8"))
    # Not an option of the command, which asks the terminal.
    width = None
    if "--width" in words:
        at = words.index("--width")
        width = int(words[at + 1])
        del words[at : at + 2]
    assert program == "zlens"
    asked = parser.build().parse_args(words)
    options = inputs.options_of(asked)
    key = f"{asked.inputs} {options}"
    if key not in sessions:
        sessions[key] = zlens.open(asked.inputs, options=options)
    text = stable(reports.render(asked.name, sessions[key], asked.format, now=NOW, width=width))
    held(folder / "expected.txt", text)


def held(path: Path, text: str) -> None:
    if os.environ.get("ZLENS_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_report_tells_of_the_systems_that_have_its_data(demo_files: list[Path]) -> None:
    """Of each report the systems of its rows, `machine` where a row is of no system, and of how many rows."""
    lines = []
    with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as session:
        for name in reports.names():
            rows = json.loads(reports.render(name, session, "json"))
            count = Counter(row.get("system") or "machine" for row in rows)
            told = ", ".join(f"{system} {count[system]}" for system in sorted(count))
            lines.append(f"{name}: {told or 'nothing'}\n")
    held(GOLDEN / "reports-of-the-demo.txt", "".join(lines))
