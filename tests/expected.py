"""Expected texts in files next to the tests; differences are shown by line, `pytest --update` writes them."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

_update = False


def update() -> None:
    """Write expected texts from now on instead of comparing them."""
    global _update
    _update = True


def is_updated() -> bool:
    return _update


def compare(expected: str, actual: str, name: str) -> None:
    """Fail with a unified diff if the texts differ."""
    if expected != actual:
        lines = difflib.unified_diff(expected.splitlines(), actual.splitlines(), name, "now", lineterm="")
        pytest.fail("\n".join([f"{name} differs; pytest --update writes it", *lines]), pytrace=False)


def check(path: Path, actual: str) -> None:
    """Compare a text with the expected one in a file, or write it there."""
    if _update:
        path.write_text(actual, encoding="utf-8")
    compare(path.read_text(encoding="utf-8"), actual, path.name)
