"""Text of IBM's Prometheus exporter for the Hardware Management Console: one or more saved scrapes."""

from __future__ import annotations

from zlens.inputs.options import Options
from zlens.inputs.source import Progress
from zlens.readers.openmetrics import source
from zlens.readers.openmetrics.streaming import ScrapeStreamFormat

NAME = "hmc"
FORM = ScrapeStreamFormat(NAME)


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether a file is text of this exporter."""
    return source.detect(NAME, first_bytes)


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> source.ScrapeSource:
    """Read scrapes. Raises InputError if none has a sample of a machine."""
    return source.open_files(NAME, paths, options, progress)
