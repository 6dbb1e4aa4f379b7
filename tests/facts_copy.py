"""A copy of the package with facts that a test has changed; its other files are links to the sources."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import zlens

SOURCES = Path(zlens.__file__).parent
TESTS = Path(__file__).parent


def changed(name: str, changes: Mapping[str, str]) -> str:
    """Return a facts file with passages replaced, each of which occurs once."""
    text = (SOURCES / "facts" / name).read_text(encoding="utf-8")
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def answers(folder: Path, files: Mapping[str, str], questions: str, *arguments: str) -> Any:
    """Return the JSON output of a program whose package has these facts files."""
    package = folder / "zlens"
    package.mkdir()
    for entry in SOURCES.iterdir():
        if entry.name != "facts":
            (package / entry.name).symlink_to(entry)
    shutil.copytree(SOURCES / "facts", package / "facts")
    for name, text in files.items():
        (package / "facts" / name).write_text(text, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(TESTS)]),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    run = subprocess.run(
        [sys.executable, "-c", questions, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
