"""Tests of reports and queries by cases: an input, a command line, and its output.

Each file in `cases` has the cases of one topic. A case begins with `==== NAME`; these lines follow, then
dashes and the expected output:

    input: cpu_pools(way="5.3")   a maker of `inputs.py` and its arguments; INPUT in the command is its result
    command: zlens report fcx309 INPUT --only WEB       in a folder with the files of `zlens demo`
    source: origin of the expected numbers: a publication, or their computation
    published: prclog-plain      a file in `published`: its rows must be printed, also with --update
    problems: long                kinds of problems of the input; none if the line is missing
    times: 09:01:00               times of the interval rows to print; the others are counted
    file: groups.toml             a file for the command; its lines follow, indented

`pytest --update` writes the expected output of the cases that run; review the diff.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import publications
import pytest

import expected
import inputs as makers
import zlens
from zlens import reports
from zlens.cli import inputs, parser
from zlens.errors import ZlensError
from zlens.session.session import CoreSession

FOLDER = Path(__file__).parent / "cases"
NOW = datetime(2026, 11, 21, 8, 0, 0)
DOUBLE = re.compile(r"-?\d+\.\d{5,}(e-?\d+)?")
PARSER = parser.build()
#: Maximum open sessions: cases with the same input and options are consecutive.
MAX_OPEN = 8
KEYS = {"input", "command", "source", "published", "problems", "times", "file"}


@dataclass
class Case:
    path: Path
    name: str
    lines: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    text: str = ""


def parse(path: Path) -> list[Case]:
    """Return the cases of a file."""
    found = []
    for block in re.split(r"^==== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, text = re.split(r"^----\n", block, maxsplit=1, flags=re.MULTILINE)
        name, *lines = head.splitlines()
        case = Case(path, name, text=text.rstrip("\n") + "\n")
        key = last = ""
        for line in lines:
            if line.startswith("    ") and key == "file":
                case.files[last] += line[4:] + "\n"
            elif line.startswith("    "):
                case.lines[key] += " " + line.strip()
            elif line:
                key, _, last = line.partition(": ")
                assert key in KEYS, f"{path.name}: {name}: {line}"
                assert last, f"{path.name}: {name}: {line}"
                if key == "file":
                    case.files[last] = ""
                else:
                    case.lines[key] = last
        assert "command" in case.lines, f"{path.name}: {name}"
        found.append(case)
    return found


def write(case: Case, text: str) -> None:
    """Replace the expected output of a case in its file."""
    with open(case.path, "r+", encoding="utf-8") as file:
        # Tests that run in parallel write the same file.
        fcntl.flock(file, fcntl.LOCK_EX)
        blocks = re.split(r"^(?===== )", file.read(), flags=re.MULTILINE)
        (at,) = [i for i, block in enumerate(blocks) if block.startswith(f"==== {case.name}\n")]
        head, _ = re.split(r"^----\n", blocks[at], maxsplit=1, flags=re.MULTILINE)
        blank = "\n" if at + 1 < len(blocks) else ""
        blocks[at] = f"{head}----\n{text}{blank}"
        file.seek(0)
        file.write("".join(blocks))
        file.truncate()


CASES = [case for path in sorted(FOLDER.glob("*.txt")) for case in parse(path)]


class Sessions:
    """A cache of inputs by call and of sessions by options; the last few sessions stay open."""

    def __init__(self, folder: Path, demo_files: list[Path]) -> None:
        self.folder = folder
        self.demo_files = demo_files
        self.inputs: dict[str, Any] = {}
        self.opened: OrderedDict[str, tuple[ExitStack, Any]] = OrderedDict()

    def make(self, call: str) -> Any:
        if call not in self.inputs:
            folder = Path(tempfile.mkdtemp(dir=self.folder))
            self.inputs[call] = makers.make(call, folder)
        return self.inputs[call]

    def place(self, case: Case) -> Path:
        """Create the folder in which the command of a case runs."""
        place = self.folder / f"{case.path.stem} {case.name}".replace("/", " ")
        place.mkdir()
        for path in self.demo_files:
            (place / path.name).symlink_to(path)
        for name, text in case.files.items():
            (place / name).write_text(text, encoding="utf-8")
            os.utime(place / name, (makers.FILE_TIME_S, makers.FILE_TIME_S))
        return place

    def open(self, names: list[str], options: Any, key: str) -> Any:
        if key not in self.opened:
            stack = ExitStack()
            session = stack.enter_context(CoreSession(names, options))
            self.opened[key] = (stack, session)
            if any(os.path.isabs(name) for name in names):
                # Problems found later must not change footnotes of the next case; the demo has none.
                session.all_problems()
        self.opened.move_to_end(key)
        while len(self.opened) > MAX_OPEN:
            _, (stack, _) = self.opened.popitem(last=False)
            stack.close()
        return self.opened[key][1]

    def close(self) -> None:
        for stack, _ in self.opened.values():
            stack.close()
        for opened in self.inputs.values():
            if hasattr(opened, "close"):
                opened.close()


@pytest.fixture(scope="module")
def sessions(demo_files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    opened = Sessions(tmp_path_factory.mktemp("cases"), demo_files)
    yield opened
    opened.close()


def stable(text: str) -> str:
    """Return the text without the version and without blanks at line ends."""
    text = text.replace(f"zlens {zlens.__version__}", "zlens x.y.z")
    return re.sub(r"\s+$", "", re.sub(r"[ \r]+$", "", text, flags=re.MULTILINE)) + "\n"


def rounded(text: str) -> str:
    """Return the text without the last digits of doubles, which depend on the order of addition."""
    return DOUBLE.sub(lambda found: f"{float(found[0]):.10g}", text)


def run(case: Case, sessions: Sessions) -> str:
    """Return the output of the command of a case."""
    source = sessions.make(case.lines["input"]) if "input" in case.lines else None
    program, *words = shlex.split(case.lines["command"])
    assert program == "zlens"
    width = None
    if "--width" in words:
        # The command reads the width from the terminal instead.
        at = words.index("--width")
        width = int(words[at + 1])
        del words[at : at + 2]
    arguments = PARSER.parse_args(words)
    options = inputs.parse_options(arguments)
    if hasattr(source, "sql"):
        session = source
    else:
        paths = [str(path) for path in (source if isinstance(source, list) else [source])]
        names = [path for name in arguments.inputs for path in (paths if name == "INPUT" else [name])]
        session = sessions.open(names, options, f"{case.lines.get('input')} {names} {options} {case.files}")
    found = {problem.kind for problem in session.problems}
    assert found == set(case.lines.get("problems", "").split()), found
    try:
        if words[0] == "sql":
            return rounded("".join(session.sql(arguments.query).text(arguments.format)))
        text = reports.render(
            arguments.name,
            session,
            arguments.format,
            now=NOW,
            width=width,
            options=reports.ReportOptions.from_values(vars(arguments)),
        )
        return text if arguments.format == "text" else rounded(text)
    except ZlensError as error:
        return f"error: {error}\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path.stem}: {case.name}")
def test_case(case: Case, sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sessions.place(case))
    text = stable(run(case, sessions))
    if "published" in case.lines:
        publications.check(case.lines["published"], text)
    if "times" in case.lines:
        rows = rf"^(?!{'|'.join(case.lines['times'].split())})\d\d:\d\d:\d\d .*\n"
        text, count = re.subn(rows, "", text, flags=re.MULTILINE)
        text = re.sub(r"\n\n\n+", "\n\n", text) + f"({count} rows of other times)\n"
    if expected.is_updated():
        write(case, text)
    else:
        expected.compare(case.text, text, f"{case.path.name}: {case.name}")


def test_every_file_is_named_once() -> None:
    names = [(case.path.stem, case.name) for case in CASES]
    assert len(names) == len(set(names)) > 0
