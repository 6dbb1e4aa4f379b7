"""A fixture that reads every printed report back as a listing, in `make test-all`."""

from __future__ import annotations

from typing import Any

import pytest

import listing_roundtrip
from iterations import iterations
from zlens import reports
from zlens.catalog.reports import definition
from zlens.session.session import CoreSession

#: Reports that are also compared with their measures: tests here have their data, the demo does not.
COMPUTED = (
    "glonact", "hmc", "isflact", "isflalog", "isflconf", "monitor3", "pcilog", "ssiconf", "ssischlg",
    "ssismilg", "sysset",
)  # fmt: skip

#: Characters of a time of day.
TIME_WIDTH = 8


@pytest.fixture(autouse=True)
def printed_reports_are_read_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Read back reports of data that the demo does not have: clusters, Linux guests, an HMC."""
    if not iterations(many=True, few=False):
        return
    render = reports.render
    reading = False

    def printed(name: str, session: Any, *words: Any, **options: Any) -> str:
        nonlocal reading
        text = render(name, session, *words, **options)
        if not reading and isinstance(session, CoreSession) and not _has_wide_label(name, session):
            reading = True
            try:
                folder = tmp_path_factory.mktemp("listing")
                _, wrong = listing_roundtrip.differences(session, name, folder)
                if name in COMPUTED:
                    same, _, computed = listing_roundtrip.of_measures(session, name, folder)
                    assert len(computed) <= 1 + same / 200, (name, computed[:5])
            finally:
                reading = False
            assert not wrong, name
        return text

    monkeypatch.setattr(reports, "render", printed)


def _has_wide_label(name: str, session: CoreSession) -> bool:
    """Return whether a label is wider than the column of times that --every adds, and moves its row."""
    return bool(session.options.every_s) and any(
        table.query_by_time and any(len(rows.time_label) > TIME_WIDTH for rows in table.rows)
        for table in definition.load_report(name).tables
    )
