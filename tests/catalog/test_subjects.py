"""Tests of the subjects that use the processors, as declared for the web UI."""

from __future__ import annotations

import re

import pytest

from zlens.catalog import aggregation, measures, subject_file, subjects
from zlens.errors import CatalogError
from zlens.schema.facts import FACTS

ROOT = FACTS / "subjects"


def text(name: str) -> str:
    return (ROOT / f"{name}.toml").read_text(encoding="utf-8")


def test_subjects_have_declared_order() -> None:
    assert [one.table for one in subjects.declared()] == ["guest", "workload", "job"]


def test_figures_have_words_of_their_columns() -> None:
    [guest, workload, job] = subjects.declared()
    busiest = next(one for one in guest.figure if one.key == "cpu_pct_max")
    column = measures.load_measure("guest").column("cpu_pct")
    assert column is not None
    assert busiest.text == f"{column.text}; largest interval value"
    assert (busiest.unit, busiest.type, busiest.explain) == (column.unit, "float", "guest.cpu_pct")
    by_key = {one.key: one for each in (guest, workload, job) for one in each.figure}
    assert by_key["cpu_s_share"].unit == "%"
    assert by_key["ended_total"].type == by_key["importance_last"].type == "int"
    assert by_key["account_last"].type == by_key["share"].type == "text"
    # Columns have a default statistic and unit.
    assert by_key["cpu_wait_pct_mean"].statistic == "mean"
    assert by_key["storage_bytes_last"].unit == "MiB"


def test_new_figure_needs_only_its_entry() -> None:
    more = text("guest") + '\n[[figure]]\ncolumn = "spool_pages"\nheading = "Spool"\n'
    found = subject_file.parse(more, "guest.toml").figure[-1]
    assert (found.key, found.unit, found.statistic) == ("spool_pages_mean", "pages", "mean")


def test_subject_skeleton_is_valid() -> None:
    copied = subject_file.parse(text("_skeleton"), "_skeleton.toml")
    assert copied.records[0].where == {"basis": ["sample"]}
    assert aggregation.pinned_columns(measures.load_measure("guest"), dict(copied.records[0].where)) == [
        "basis"
    ]


@pytest.mark.parametrize(
    ("name", "there", "instead", "said"),
    [
        ("guest", 'column = "mt1_s"\nheading', 'column = "mt2_s"\nheading', "guest has no column 'mt2_s'"),
        ("guest", 'use_column = "cpu_s"', 'use_column = "cpu_pct"', "guest.cpu_pct has no total"),
        ("guest", 'use_column = "cpu_s"', "use_column = 1", "use_column is 1"),
        ("guest", 'table = "guest"', 'table = "gest"', "no measure 'gest'"),
        ("guest", 'title = "Guests"', 'titel = "Guests"', "titel is not known here"),
        ("guest", 'plural = "guests"\n', "", "plural is missing"),
        ("guest", 'statistic = "p95"', 'statistic = "p99"', "has no p99"),
        ("guest", 'column = "cpu_wait_pct"', 'column = "transaction_rate"', "has no mean: it is NULL"),
        ("guest", 'heading = "Account"', 'heading = "Account"\ndecimals = 2', "decimals"),
        ("guest", 'heading = "p95"', 'heading = "p95"\npercent = true', "percent is not known here"),
        ("guest", '"{share_kind}", " {share}", ', '"{kind_of_share}", ', "no column 'kind_of_share'"),
        ("guest", 'pieces = ["{cpu_pool}"]', 'pieces = ["pool"]', "name no column"),
        ("guest", 'column = "page_steal_rate"', 'column = "cpu_pct"', "different units"),
        ("guest", 'name = "times"', 'name = "cpu"', "chart cpu is defined twice"),
        ("guest", 'columns = ["io_wait_pct"]', 'columns = ["running_pct"]', "running_pct is defined twice"),
        ("guest", 'columns = ["io_wait_pct"]', 'columns = ["account"]', "guest.account has no mean"),
        ("guest", 'table = "guest_cpu"', 'table = "guest_wait"', "has no column 'cpu_pct'"),
        ("guest", 'level = [["{userid}"]]', 'level = ["{userid}"]', "owners.level[1] is"),
        ("workload", "most = 100", "most = true", "most is true"),
        ("workload", 'where = { class_kind = "report" }', "where = { class_kind = 7 }", "class_kind is 7"),
        ("job", '"last interval", ', '"job", ', "different kind are never merged"),
        ("job", "order = 3", "order = 3\norder = 4", "not valid TOML"),
    ],
)
def test_invalid_subject_file_is_rejected(name: str, there: str, instead: str, said: str) -> None:
    whole = text(name)
    assert there in whole
    with pytest.raises(CatalogError, match=re.escape(said)) as error:
        subject_file.parse(whole.replace(there, instead, 1), f"{name}.toml")
    assert str(error.value.file).startswith(f"{name}.toml")
