"""What is published of multithreading (facts/models/smt_published.toml)."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from msgspec import Meta, field

from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, SourcedTable


class PublishedRange(SourcedTable, frozen=True):
    """Results with multithreading relative to those without it."""

    what: Annotated[str, Meta(description="what was measured")]
    machine: Annotated[str, Meta(description="the machine generation")]
    low: Annotated[float, Meta(gt=0, description="the smallest ratio")]
    high: Annotated[float, Meta(gt=0, description="the largest ratio")]
    publication: Annotated[str, Meta(description="the publication, in short")]
    mean: Annotated[float | None, Meta(description="the mean ratio, if stated")] = None


class SecondThread(SourcedTable, frozen=True):
    """Cores that can have two threads."""

    under: Annotated[str, Meta(description="z/VM or z/OS")]
    types: Annotated[tuple[str, ...], Meta(description="types of cores")]


class ThreadFile(FactTable, frozen=True):
    """What is published of multithreading."""

    ranges: tuple[PublishedRange, ...] = field(name="range")
    second_thread: tuple[SecondThread, ...]


@cache
def _facts() -> ThreadFile:
    return structs.load(FACTS / "models" / "smt_published.toml", ThreadFile)


def ranges() -> tuple[PublishedRange, ...]:
    """Return the ranges that IBM has published for multithreading relative to no multithreading."""
    return _facts().ranges


def second_thread(under: str) -> SecondThread:
    """Return the cores that can have two threads under z/VM or z/OS."""
    return next(entry for entry in _facts().second_thread if entry.under == under)
