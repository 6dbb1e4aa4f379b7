"""Tests that fact files have structs as schema: no other code reads TOML."""

from __future__ import annotations

import re
from pathlib import Path

import zlens

SOURCES = Path(zlens.__file__).parent
#: Modules whose TOML is not a fact of the catalog, such as user files, or is checked in parts.
OTHERS = {
    "catalog/cpumf_weights.py",
    "catalog/groups.py",
    "catalog/layout_file.py",
    "catalog/reports/definition_file.py",
    "catalog/user_roles.py",
    "cli/model_output.py",
    "ledger/factors.py",
    "ledger/prices.py",
    "models/scenario.py",
    "record_pages/packs.py",
    "server/laboratory.py",
}
_READS = re.compile(r"\btomllib\b|\bparse_toml\b|\btoml\.parse\b")


def test_fact_files_are_read_as_structs() -> None:
    reading = {
        name
        for path in SOURCES.rglob("*.py")
        if not (name := path.relative_to(SOURCES).as_posix()).startswith("schema/")
        and _READS.search(path.read_text(encoding="utf-8"))
    }
    assert reading <= OTHERS
