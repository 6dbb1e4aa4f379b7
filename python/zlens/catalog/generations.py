"""Machine generations: one file of `facts/machines` for each, with all facts about it.

The files define which generations exist. `cpumf` reads counters and metrics from them, `capacity_curves`
reads capacity curves. Facts common to all generations are in the folder `common`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS


class MachineType(Struct, frozen=True):
    """Machine type. ghz: its nominal speed, if known; calculations use the speed in the record."""

    type: str
    generation: str
    name: str
    ghz: float | None
    ghz_status: str
    ghz_source: str


def root() -> Path:
    """Return the folder of the generations."""
    return FACTS / "machines"


@cache
def facts(name: str) -> Mapping[str, Any]:
    """Return the facts in the file of a generation."""
    if name not in names():
        raise CatalogError(f"there is no machine generation {name!r}", expected=", ".join(names()))
    return _files()[name]


@cache
def common(name: str) -> Mapping[str, Any]:
    """Return the facts in one of the files for all generations."""
    return document.load_unchecked(common_path(name))


def common_path(name: str) -> Path:
    """Return the path of one of the files for all generations."""
    return root() / "common" / f"{name}.toml"


@cache
def names() -> tuple[str, ...]:
    """Return the generations, oldest first, by their counter second version numbers."""
    return tuple(sorted(_files(), key=lambda name: _files()[name]["csvn"]))


@cache
def types() -> dict[str, MachineType]:
    """Return the known machine types."""
    return {
        type: MachineType(
            type,
            name,
            stated["name"],
            stated.get("ghz"),
            stated.get("ghz_status", ""),
            stated.get("ghz_source", ""),
        )
        for name in names()
        for type, stated in facts(name)["types"].items()
    }


@cache
def _files() -> dict[str, Mapping[str, Any]]:
    return {path.stem: document.load_unchecked(path) for path in sorted(root().glob("*.toml"))}
