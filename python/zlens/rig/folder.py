"""Output of a run of the rig next to its monitor data: a report, and results for programs."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path

from zlens.rendering.atomic_file import atomic_write
from zlens.rig import data_format, html_format
from zlens.rig.results import RigResult

REPORT, RESULTS = "report.html", "results.json"


def write(results: Sequence[RigResult], folder: str) -> None:
    """Write report.html and results.json, both with today's date."""
    when = dt.date.today().isoformat()
    for name, text in (
        (REPORT, html_format.render(results, when)),
        (RESULTS, json.dumps(data_format.document(results, when))),
    ):
        with atomic_write(str(Path(folder) / name)) as path:
            Path(path).write_text(text, encoding="utf-8")
