"""Tests of the catalog of RMF reports: completeness, and errors of invalid files."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import tomli_w

from zlens.catalog import rmf_reports
from zlens.errors import CatalogError
from zlens.schema.facts import FACTS

FILE = FACTS / "rmf" / "postprocessor_cpu.toml"
FACTS = tomllib.loads(FILE.read_text("utf-8"))


def test_built_in_report() -> None:
    facts = rmf_reports.report("postprocessor_cpu")
    assert facts.report == "CPU"
    assert {table.name for table in facts.tables} == {
        *("rmf_interval", "rmf_cpu", "rmf_processor_count", "rmf_partition", "rmf_address_space"),
        *("rmf_inready", "rmf_work_unit", "rmf_blocked", "rmf_multithreading", "rmf_other"),
    } | {table.name for table in facts.tables if table.printed}
    assert {table.name for table in facts.tables if table.printed} == {
        "rmf_workload",
        "rmf_paging",
        "rmf_device",
    }
    for table in facts.tables:
        assert table.text
        assert all(column.text for column in table.columns)
    # Columns seen in no file are marked.
    unverified = {c.name for s in facts.sections.values() for c in s.columns if c.status == "unverified"}
    assert {"mt_prod_pct", "mt_util_pct", "max_cf"} <= unverified


def test_report_of_monitor_iii() -> None:
    facts = rmf_reports.report("monitor3_cpc")
    assert (facts.report, facts.element) == ("CPC", "report")
    assert [table.name for table in facts.tables] == ["rmf3_cpc", "rmf3_partition", "rmf3_other"]
    heads = [column.head for column in facts.sections["caption"].columns]
    assert all(head.startswith("CPCH") for head in heads)
    assert len(set(heads)) == len(heads)
    # Keys that no public page explains have no column.
    assert not facts.sections["caption"].unexplained_keys & {rmf_reports.key(head) for head in heads}
    assert {c.head[:4] for c in facts.sections["partitions"].columns} == {"CPCP"}
    assert "unverified" not in {c.status for s in facts.sections.values() for c in s.columns}


def test_sections_match_ignoring_blanks_and_case() -> None:
    facts = rmf_reports.report("postprocessor_cpu")
    found = facts.find("PARTITION  data report", " Partition Data", "table")
    assert found is facts.sections["partitions"]
    assert facts.find("Partition Data Report", "Partition Data", "variables") is None


def _section(facts: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(s for s in facts["section"] if s["id"] == name)
    return found


FAULTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no title": (lambda f: f.pop("title"), "title is missing"),
    "no head": (lambda f: _section(f, "cpu")["column"][0].pop("head"), "head is missing"),
    "no text": (lambda f: _section(f, "cpu")["column"][0].update(text=""), 'text is ""'),
    "no name": (lambda f: _section(f, "cpu")["column"][0].pop("name"), "name"),
    "wrong name": (lambda f: _section(f, "cpu")["column"][0].update(name="CPU #"), "a lower-case name"),
    "wrong type": (lambda f: _section(f, "cpu")["column"][0].update(type="percent"), "type is"),
    "wrong status": (lambda f: _section(f, "cpu")["column"][0].update(status="sure"), "status is"),
    "wrong take": (lambda f: _section(f, "cpu")["column"][0].update(take="half"), "take is"),
    "stray key": (lambda f: _section(f, "cpu")["column"][0].update(units="%"), "units"),
    "twice": (lambda f: _section(f, "cpu")["column"][1].update(name="cpu_number"), "the same name"),
    "wrong shape": (lambda f: _section(f, "cpu").update(shape="list"), "shape is"),
    "no table": (lambda f: f["table"].pop(), "belongs to no table"),
    "no element": (lambda f: f.update(element="page"), "element is"),
    "two for the rest": (
        lambda f: _section(f, "blocked").update(shape="rest"),
        "exactly one section for the rest",
    ),
    "unknown section": (lambda f: f["table"][0]["sections"].append("x"), "x is missing"),
}


@pytest.mark.parametrize(("spoil", "words"), FAULTS.values(), ids=FAULTS)
def test_invalid_rmf_report_facts_are_named(spoil: Callable[[dict[str, Any]], Any], words: str) -> None:
    facts = copy.deepcopy(FACTS)
    spoil(facts)
    with pytest.raises(CatalogError, match=words) as caught:
        rmf_reports.parse(tomli_w.dumps(facts), "made.toml")
    assert str(caught.value.file).startswith("made.toml")
