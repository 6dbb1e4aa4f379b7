"""Tests that run every command of the documents and compare its output with the one shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from iterations import quick_subset

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A block of commands or of Python, and its output as shown on the page."""

    kind: str
    code: str
    shown: str | None


def steps(page: str) -> list[Step]:
    blocks = FENCE.findall((ROOT / page).read_text(encoding="utf-8"))
    found = []
    for number, (kind, text) in enumerate(blocks):
        if kind in ("sh", "python"):
            following = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
            found.append(Step(kind, text, following[1] if following[0] == "text" else None))
    return found


def run(step: Step, folder: Path) -> str:
    words = ["bash", "-euc", step.code] if step.kind == "sh" else [sys.executable, "-c", step.code]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # A user's layout pack must not change the output.
    environment = {**os.environ, "PATH": path, "ZLENS_DATA": str(folder / "data")}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{step.code}\n{done.stderr}"
    assert done.stderr == "", step.code
    return done.stdout


def matches(shown: str, output: str) -> bool:
    """Return whether the output has the lines shown; `...` matches anything, also the rest of a line."""
    pattern = ""
    lines = shown.rstrip("\n").split("\n")
    for line in lines:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += re.escape(line.rstrip()).replace(r"\.\.\.", r".*?") + r".*\n"
    return re.match(pattern, output.replace("\r", "")) is not None


#: Pages with their number of commands to run; GUIDE.md writes the files that the others use.
PAGES = {
    "README.md": 1,
    "GUIDE.md": 10,
    "docs/energy.md": 5,
    "docs/findings.md": 1,
    "docs/getting-data.md": 4,
    "docs/lake.md": 2,
    "docs/models.md": 6,
    "docs/msu.md": 2,
    "docs/reports.md": 7,
    "docs/rig.md": 2,
    "docs/simulator.md": 3,
    "docs/sql.md": 13,
}


@pytest.mark.parametrize("page", quick_subset(2, PAGES))
@pytest.mark.usefixtures("unless_unchanged")
def test_guide_examples_run(page: str, tmp_path: Path, demo_files: list[Path]) -> None:
    if page != "GUIDE.md":
        (tmp_path / "zlens-demo").symlink_to(demo_files[0].parent)
        (tmp_path / "monwrite.data").symlink_to(demo_files[0])
    found = steps(page)
    assert len(found) == PAGES[page]
    for step in found:
        output = run(step, tmp_path)
        if step.shown is not None:
            assert matches(step.shown, output), f"{step.code}\nshown:\n{step.shown}\nis:\n{output}"


@pytest.mark.long
@pytest.mark.usefixtures("unless_unchanged")
def test_readme_minute(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    minute = text[text.index("From checkout to diagnosis") : text.index("To try it or to work on it")]
    # The first command installs the program, the last serves until it is interrupted.
    _, write, check, serve = re.findall(r"^    (.+?)  +#", minute, re.MULTILINE)
    run(Step("sh", write, None), tmp_path)
    assert "VARY OFF while busy" in run(Step("sh", f"{check} 2>/dev/null", None), tmp_path)
    assert serve.split()[:2] == ["zlens", "serve"]
    assert (tmp_path / serve.split()[2]).is_dir()


def test_readme_images_exist() -> None:
    for path in re.findall(r"!\[[^]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / path).read_bytes().startswith(b"\x89PNG"), path


@pytest.mark.parametrize(
    ("shown", "output", "fits"),
    [
        ("a\nb\n", "a\nb\nc\n", True),
        ("a\n...\nc\n", "a\nb\nc\n", True),
        ("a ... c\n", "a b c\n", True),
        ("a\nc\n", "a\nb\nc\n", False),
        ("b\n", "a\nb\n", False),
    ],
)
def test_matching(shown: str, output: str, fits: bool) -> None:
    assert matches(shown, output) is fits
