"""Machine generations: each is one file of `facts/machines`, with everything known about it.

A generation exists because its file does: nothing lists them. `cpumf` reads counters and metrics from the
files, `machines` reads capacity curves. Facts common to all generations are in the folder `common`.
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
    """A machine type. ghz: its nominal speed, if known; calculations use the speed in the record."""

    type: str
    generation: str
    name: str
    ghz: float | None
    ghz_status: str
    ghz_source: str


def root() -> Path:
    """The folder of the generations."""
    return FACTS / "machines"


@cache
def facts(name: str) -> Mapping[str, Any]:
    """The facts in the file of a generation."""
    if name not in names():
        raise CatalogError(f"there is no machine generation {name!r}", expected=", ".join(names()))
    return _files()[name]


@cache
def common(name: str) -> Mapping[str, Any]:
    """The facts in one of the files for all generations."""
    return document.load_unchecked(common_path(name))


def common_path(name: str) -> Path:
    """One of the files for all generations."""
    return root() / "common" / f"{name}.toml"


@cache
def names() -> tuple[str, ...]:
    """The generations, oldest first: each has a higher counter second version number than the one before."""
    return tuple(sorted(_files(), key=lambda name: _files()[name]["csvn"]))


@cache
def types() -> dict[str, MachineType]:
    """The known machine types."""
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
