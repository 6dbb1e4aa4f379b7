"""Text of RMF's Distributed Data Server, which provides Monitor III data: one or more saved scrapes."""

from __future__ import annotations

from zlens.inputs.options import Options
from zlens.inputs.source import Progress
from zlens.readers.openmetrics import source
from zlens.readers.openmetrics.streaming import ScrapeStreamFormat

NAME = "dds"
FORM = ScrapeStreamFormat(NAME)


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether a file is text of this server."""
    return source.detect(NAME, first_bytes)


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> source.ScrapeSource:
    """Read scrapes. Raises InputError if none has a sample of a system."""
    return source.open_files(NAME, paths, options, progress)
