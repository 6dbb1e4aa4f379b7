"""Pages that are made from the catalog are fresh, and no page leads nowhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(p.relative_to(ROOT).as_posix() for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_fresh() -> None:
    for name, text in generator().pages().items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name} is stale: make docs"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), f"{page} leads to {target}"


def test_kinds_of_problems_are_all_told() -> None:
    from zlens.inputs.problems import KINDS

    text = (ROOT / "docs" / "getting-data.md").read_text(encoding="utf-8")
    told = {word for row in re.findall(r"^\| ([a-z_, ]+) \|", text, re.MULTILINE) for word in row.split(", ")}
    assert set(KINDS) <= told
