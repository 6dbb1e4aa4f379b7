"""Text of RMF's Distributed Data Server, which provides Monitor III data: one or more saved scrapes."""

from __future__ import annotations

from functools import partial

from zlens.readers.openmetrics import source
from zlens.readers.openmetrics.streaming import ScrapeStreamFormat

NAME = "dds"
FORM = ScrapeStreamFormat(NAME)

detect = partial(source.detect, NAME)
open_files = partial(source.open_files, NAME)
