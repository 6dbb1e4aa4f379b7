"""Tests that reports do not depend on the offsets of synthetic layouts."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from relocated_layouts import moved, same

import inputs
import monwrite_builder as monwrite
import zlens
from iterations import quick_subset
from zlens import reports
from zlens.catalog import layouts

NOW = datetime(2026, 11, 21, 8, 0, 0)
#: A maker, the relocated records, and the reports.
CASES = [
    ("cpu_pools()", "D1R28 D1R29 D4R13 D5R19", "cplconf cplact"),
    ("two_processors()", "D0R2 D1R5 D5R17", "cpu procsum"),
    ("decisions()", "D1R26 D5R14 D5R16", "pucfglog topolog"),
    ("prclog_records()", "D0R2 D0R11 D3R2", "prclog"),
    ("core_types_loaded()", "D0R2", "smtmet indicate_multithread"),
    ("locks(shared=0.2)", "D0R23", "lockact"),
    ("three_partitions()", "D0R2 D0R16", "lpar lparlog lsharact"),
    (
        "guests_of_an_hour()",
        "D0R2 D4R2 D4R3 D4R4 D4R11 D4R12",
        "user upage ustat dispwait syssumlg relocations chargeback",
    ),
    ("capability()", "D0R2 D0R19", "query_capability"),
    ("configured()", "D1R4 D1R5 D1R16", "sysconf sysset"),
    ("system_counters()", "D0R2 D0R19", "system"),
    (
        "devices({325: {'rate': 30.0, 'pend': 1.0, 'read_pct': 70}, 326: {'rate': 5.0, 'read_pct': 40}})",
        "D6R3",
        "device device110",
    ),
    ("alias_pool()", "D6R28", "hpalias"),
    ("pci_functions()", "D6R39 D1R27", "pciact pcilog pciconf"),
    (
        "storage()",
        "D0R3 D3R1 D3R4 D3R8 D1R8 D6R21 D8R1 D6R26 D6R35 D8R4",
        "cpowned auxlog availlog paging vswitch gvswitch evswitch glonact",
    ),
    ("isfc()", "D1R23 D1R24 D9R4", "isfeconf isflconf isflact isflalog"),
]
#: Reports with footnotes on errors of a release, or on the reports that it has.
FAULTS = {"smtmet", "ustat"}


@pytest.mark.parametrize(("call", "records", "names"), quick_subset(2, CASES, several=True))
def test_reports_do_not_depend_on_offsets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, records: str, names: str
) -> None:
    elsewhere = moved(tmp_path, records.split(), "7.3", monkeypatch)
    texts, kinds = [], []
    for way in (monwrite.OWN, (elsewhere.record, elsewhere.config)):
        folder = tmp_path / way[1]["MTRSYS_HCPCPEID"]
        folder.mkdir()
        with zlens.open(inputs.make(call, folder, way=way)) as session:
            kinds.append({problem.kind for problem in session._core.all_problems()})
            texts.append({name: reports.render(name, session._core, now=NOW) for name in names.split()})
    assert kinds[0] == kinds[1]
    for name in names.split():
        assert "This input has no data" not in texts[0][name], name
        first, second = (text[name].split("\n* ")[0] if name in FAULTS else text[name] for text in texts)
        assert same(first, second), name
    layouts.clear_cache()


def test_locklog_is_of_levels_before_64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """IBM, z/VM 6.4 Performance Update: LOCKLOG is not available for data from 6.4 or later (use LOCKACT)."""
    for release, shown in (("6.3", True), ("7.3", False)):
        elsewhere = moved(tmp_path, ["D0R23"], release, monkeypatch)
        folder = tmp_path / f"own{release}"
        folder.mkdir()
        way = (elsewhere.record, elsewhere.config)
        with zlens.open(inputs.make("locks()", folder, way=way)) as session:
            text = " ".join(reports.render("locklog", session._core, now=NOW).split())
            assert ("RSACALLK" in text) == shown
            assert ("It needs: lock records of z/VM monitor data" in text) != shown
            assert (reports.render("locklog", session._core, "json", now=NOW) == "[]\n") != shown
            assert (reports.missing_input("locklog", session._core) is None) == shown
            (entry,) = [entry for entry in reports.list_reports(session._core) if entry.name == "locklog"]
            assert (entry.state != "none") == shown
            assert "RSACALLK" in reports.render("lockact", session._core, now=NOW)
        layouts.clear_cache()
