"""Text of IBM's Prometheus exporter for the Hardware Management Console: one or more saved scrapes."""

from __future__ import annotations

from functools import partial

from zlens.readers.openmetrics import source
from zlens.readers.openmetrics.streaming import ScrapeStreamFormat

NAME = "hmc"
FORM = ScrapeStreamFormat(NAME)

detect = partial(source.detect, NAME)
open_files = partial(source.open_files, NAME)
