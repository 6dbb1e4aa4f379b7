"""What is published of multithreading (facts/models/smt_published.toml)."""

from typing import Annotated, ClassVar

from msgspec import Meta, field

from zlens.schema.structs import FactFile, SourcedTable


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


class ThreadFile(FactFile, frozen=True):
    """What is published of multithreading."""

    path: ClassVar = "models/smt_published.toml"
    ranges: tuple[PublishedRange, ...] = field(name="range")
    second_thread: tuple[SecondThread, ...]


def second_thread(under: str) -> SecondThread:
    """Return the cores that can have two threads under z/VM or z/OS."""
    return next(entry for entry in ThreadFile.load().second_thread if entry.under == under)
