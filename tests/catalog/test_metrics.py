"""The measures of the catalog: complete, well formed, and told on their reference page."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from zlens.catalog import measures
from zlens.catalog.check import measures as check_metrics
from zlens.catalog.reference import measures as reference_measures
from zlens.catalog.roles import SQL_TYPES
from zlens.errors import CatalogError

ROOT = Path(__file__).parents[2]


def test_measures_begin_alike() -> None:
    for name in measures.measure_names():
        table = measures.load_measure(name)
        if not table.plain:
            names = [column.name for column in table.columns]
            assert names[:5] == ["system", "source", "interval_end", "seconds", "flag"], name


def test_the_catalog_is_well_formed() -> None:
    assert check_metrics.check() == []


def test_every_column_is_commented() -> None:
    for table, column in measures.all_columns():
        assert column.text, f"{table.name}.{column.name}"
        assert column.source, f"{table.name}.{column.name}"
        assert column.status in measures.STATUSES, f"{table.name}.{column.name}"


def test_every_column_has_a_type_the_engine_has() -> None:
    database = duckdb.connect()
    for name in measures.measure_names():
        columns = ", ".join(f'"{c.name}" {SQL_TYPES[c.type]}' for c in measures.load_measure(name).columns)
        database.execute(f'CREATE TABLE "{name}" ({columns})')


def test_names_of_other_sources_lead_to_columns() -> None:
    for alias in measures.aliases():
        assert measures.find_columns(alias), alias
    assert [f"{t.name}.{c.name}" for t, c in measures.find_columns("PRBSTATE")] == ["cpumf.problem_state_pct"]
    assert [f"{t.name}.{c.name}" for t, c in measures.find_columns("est  finite cpi")] == [
        "cpumf.est_finite_cpi",
        "cpumf_polarity.est_finite_cpi",
        "cpumf_type.est_finite_cpi",
        "per_transaction.est_finite_cpi",
    ]
    assert measures.alias_source("prbstate")
    assert measures.alias_source("busy_pct") == ""


def test_a_bare_column_is_found_in_every_table_that_has_it() -> None:
    assert {"cpu", "load", "device"} <= {table.name for table, _ in measures.find_columns("busy_pct")}
    assert measures.find_columns("cpu.nothing") == []
    assert measures.find_columns("nothing.busy_pct") == []


def test_the_reference_page_tells_every_column() -> None:
    text = reference_measures.measures_page()
    for table, column in measures.all_columns():
        assert f"## {table.name}\n" in text
        assert f"| `{column.name}` |" in text
    widths = {len(line.replace("\\|", "").split("|")) for line in text.splitlines() if line.startswith("| `")}
    assert widths == {9}


GOOD = """
table = "thing"
text = "A thing."
grain = "interval x thing"
key = ["thing"]
[[column]]
name = "thing"
type = "text"
unit = ""
text = "name of the thing"
aggregate = "key"
status = "derived"
source = "nowhere"
[[column]]
name = "used_pct"
type = "float"
unit = "%"
text = "use of it"
formula = "100 * processor.user_time / seconds"
aggregate = "ratio"
weight = "seconds"
status = "derived"
source = "nowhere"
"""


def found(text: str) -> list[str]:
    return [str(finding) for finding in check_metrics.check_text(text, Path("thing.toml"))]


def test_a_good_table_has_no_findings() -> None:
    assert found(GOOD) == []
    table = measures.parse(GOOD, "thing.toml")
    assert table.scope == "system"
    assert table.column("used_pct") is not None
    assert table.column("other") is None


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ('type = "float"', 'type = "double"', "type is 'double'"),
        ('unit = "%"', 'unit = "furlongs"', "unit is 'furlongs'"),
        ('unit = "%"', 'unit = "s"', "_pct"),
        ('aggregate = "ratio"', 'aggregate = "mean"', "aggregate is 'mean'"),
        ('status = "derived"', 'status = "certain"', "status is 'certain'"),
        ('text = "use of it"', 'text = ""', "empty"),
        ('name = "used_pct"', 'name = "thing"', "twice"),
        ('name = "used_pct"', 'name = "Used_pct"', "lower-case"),
        ('key = ["thing"]', 'key = ["other"]', "the key other"),
        ('aggregate = "key"', 'aggregate = "state"', "has the aggregate state"),
        ('aggregate = "key"', 'aggregate = "counter"', "text has the aggregate counter"),
        ('weight = "seconds"', "", "a ratio has a weight or a reason"),
        ('weight = "seconds"', 'weight = "seconds"\nunweighted = "why"', "or a reason why it has none"),
        ('weight = "seconds"', 'weight = "processor.user_time"', "names a role"),
        ('weight = "seconds"', 'weight = "hours"', "hours is not an earlier column"),
        ('aggregate = "ratio"', 'aggregate = "counter"', "counter has a weight"),
        ('aggregate = "key"', 'aggregate = "key"\nunweighted = "why"', "key has the key unweighted"),
        ('weight = "seconds"', 'weight = "seconds"\nacross = "all"', "across is 'all'"),
        ('weight = "seconds"', 'weight = "seconds"\nacross = "by hours"', "hours is not an earlier column"),
        ('key = ["thing"]', 'key = ["thing"]\napart = ["used_pct"]', "is in apart"),
        ("user_time", "no_such_role", "is not a role"),
        ("processor.user_time", "no_such_column", "not an earlier column"),
        ("processor.user_time", "no_such.user_time", "neither an entity"),
        ("100 * p", "100 * * p", "where a value is expected"),
        ('key = ["thing"]', 'key = ["thing"]\nempty = true', "the table is empty"),
        ('table = "thing"', 'table = "other"', "contains the table"),
        ('text = "A thing."', 'text = ""', "text or grain"),
        ('status = "derived"', 'status = "derived"\nscope = "galaxy"', "scope is"),
    ],
)
def test_what_is_wrong_is_found(was: str, now: str, said: str) -> None:
    assert any(said in finding for finding in found(GOOD.replace(was, now)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("table = [", "TOML"),
        (GOOD.replace("grain", "grian"), "grian"),
        (GOOD.replace('source = "nowhere"', ""), "column[1].source is missing"),
        (GOOD.replace('unit = "%"', 'unti = "%"'), "unti"),
        (GOOD.replace('unit = "%"', "unit = 1"), "unit is 1; expected a text"),
    ],
)
def test_wrong_files_are_errors(text: str, said: str) -> None:
    with pytest.raises(CatalogError) as caught:
        measures.parse(text, "thing.toml")
    assert said in str(caught.value)
    assert "thing.toml" in str(caught.value)
    assert any(said in finding for finding in found(text))


def test_a_finding_says_where() -> None:
    [finding] = check_metrics.check_text(GOOD.replace('unit = "%"', 'unit = "s"'), Path("thing.toml"))
    assert finding.line == 1 + GOOD[: GOOD.index('name = "used_pct"')].count("\n")
    assert finding.file == "thing.toml"


def test_an_unknown_table_is_an_error() -> None:
    with pytest.raises(
        CatalogError, match=r"there is no measure '\.\./roles/processor'; expected alias_pool, "
    ):
        measures.load_measure("../roles/processor")
