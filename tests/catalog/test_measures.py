"""Tests of the measures of the catalog: complete, well formed, and on their reference page."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from reference_pages import measures as reference_measures

from zlens.catalog import measures
from zlens.catalog.roles import SQL_TYPES
from zlens.checks import measures as check_metrics
from zlens.errors import CatalogError

ROOT = Path(__file__).parents[2]


def test_measures_share_leading_columns() -> None:
    for name in measures.measure_names():
        table = measures.load_measure(name)
        if not table.plain:
            names = [column.name for column in table.columns]
            assert names[:5] == ["system", "source", "interval_end", "seconds", "flag"], name


def test_catalog_is_well_formed() -> None:
    assert check_metrics.check() == []


def test_every_column_is_commented() -> None:
    for table, column in measures.all_columns():
        assert column.text, f"{table.name}.{column.name}"
        assert column.source, f"{table.name}.{column.name}"
        assert column.status in measures.STATUSES, f"{table.name}.{column.name}"


def test_every_column_has_type_engine_has() -> None:
    database = duckdb.connect()
    for name in measures.measure_names():
        columns = ", ".join(f'"{c.name}" {SQL_TYPES[c.type]}' for c in measures.load_measure(name).columns)
        database.execute(f'CREATE TABLE "{name}" ({columns})')


def test_names_of_other_sources_resolve_to_columns() -> None:
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


def test_bare_column_is_found_in_all_tables() -> None:
    assert {"cpu", "load", "device"} <= {table.name for table, _ in measures.find_columns("busy_pct")}
    assert measures.find_columns("cpu.nothing") == []
    assert measures.find_columns("nothing.busy_pct") == []


def test_reference_page_has_every_measure_column() -> None:
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


def test_valid_table_has_no_issues() -> None:
    assert found(GOOD) == []
    (table,) = measures.parse(GOOD, "thing.toml")
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
        ('weight = "seconds"', 'weight = "seconds"\nunweighted = "why"', "or a reason why it is unweighted"),
        ('weight = "seconds"', 'weight = "processor.user_time"', "names a role"),
        ('weight = "seconds"', 'weight = "hours"', "hours is not an earlier column"),
        ('aggregate = "ratio"', 'aggregate = "counter"', "counter has a weight"),
        ('aggregate = "key"', 'aggregate = "key"\nunweighted = "why"', "key has the key unweighted"),
        ('weight = "seconds"', 'weight = "seconds"\nover_subjects = "all"', "over_subjects is 'all'"),
        (
            'weight = "seconds"',
            'weight = "seconds"\nover_subjects = "by hours"',
            "hours is not an earlier column",
        ),
        ('key = ["thing"]', 'key = ["thing"]\nnever_merged = ["used_pct"]', "is in never_merged"),
        ("user_time", "no_such_role", "is not a role"),
        ("processor.user_time", "no_such_column", "not an earlier column"),
        ("processor.user_time", "no_such.user_time", "neither an entity"),
        ("100 * p", "100 * * p", "where a value is expected"),
        ('key = ["thing"]', 'key = ["thing"]\nno_reader = true', "the table is empty"),
        ('table = "thing"', 'table = "other"', "the file contains other"),
        ('text = "A thing."', 'text = ""', "text or grain"),
        ('status = "derived"', 'status = "derived"\nscope = "galaxy"', "scope is"),
    ],
)
def test_invalid_measures_are_found(was: str, now: str, said: str) -> None:
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


def test_catalog_issue_has_file_and_line() -> None:
    [finding] = check_metrics.check_text(GOOD.replace('unit = "%"', 'unit = "s"'), Path("thing.toml"))
    assert finding.line == 1 + GOOD[: GOOD.index('name = "used_pct"')].count("\n")
    assert finding.file == "thing.toml"


TWO = """
table = "thing"
text = "A thing."
grain = "interval x thing"
key = ["thing"]
rate = "sum({counts}) / (2 * seconds)"
words = { subject = "thing" }
[[measure]]
table = "part"
text = "A part."
grain = "interval x thing x part"
key = ["thing", "part"]
scope = "row"
rate = "{counts} / seconds"
words = { subject = "part of a thing" }
[[column]]
type = "text"
aggregate = "key"
status = "derived"
source = "nowhere"
[column.each]
thing = { text = "name", formula = "any_value(guest.userid)", measure.part = { formula = "guest.userid" } }
part = { only = ["part"], text = "name of the {subject}", source = "elsewhere" }
[[column]]
type = "float"
unit = "/s"
aggregate = "ratio"
weight = "seconds"
status = "derived"
[column.each]
read_rate.text = "reads of the {subject}"
read_rate.counts = "guest.page_reads"
read_rate.source = "nowhere"
write_rate = { text = "writes", formula = "guest.page_writes", status = "verified", source = "nowhere" }
[[column]]
name = "whole"
only = ["thing"]
type = "bool"
text = "whether it is whole"
aggregate = "state"
status = "derived"
source = "nowhere"
"""


def test_measures_of_one_file_share_their_columns() -> None:
    assert check_metrics.check_text(TWO, Path("thing+part.toml")) == []
    thing, part = measures.parse(TWO, "thing+part.toml")
    leading = [column.name for column in measures.LEADING]
    assert [column.name for column in thing.columns] == [
        *leading,
        "thing",
        "read_rate",
        "write_rate",
        "whole",
    ]
    assert [column.name for column in part.columns] == [*leading, "thing", "part", "read_rate", "write_rate"]
    assert (thing.scope, thing.key, part.scope, part.key) == ("system", ("thing",), "row", ("thing", "part"))
    assert part.columns[-4:] == (
        measures.MeasureColumn(
            "thing", "text", "name", "key", "row", "derived", "nowhere", formula="guest.userid"
        ),
        measures.MeasureColumn(
            "part", "text", "name of the part of a thing", "key", "row", "derived", "elsewhere"
        ),
        measures.MeasureColumn(
            *(
                "read_rate",
                "float",
                "reads of the part of a thing",
                "ratio",
                "row",
                "derived",
                "nowhere",
                "/s",
            ),
            formula="guest.page_reads / seconds",
            counts="guest.page_reads",
            weight="seconds",
        ),
        measures.MeasureColumn(
            *("write_rate", "float", "writes", "ratio", "row", "verified", "nowhere", "/s"),
            formula="guest.page_writes",
            weight="seconds",
        ),
    )
    assert [column.formula for column in thing.columns[5:7]] == [
        "any_value(guest.userid)",
        "sum(guest.page_reads) / (2 * seconds)",
    ]


@pytest.mark.parametrize(
    ("was", "now", "said", "near"),
    [
        ('only = ["part"]', 'only = ["piece"]', "only names piece; expected one of thing, part", "part = {"),
        ('only = ["part"]', "only = []", "column[1].each.part.only is a list of 0", "part = {"),
        ('only = ["thing"]', 'only = ["thing", "piece"]', "column[3].only names piece", "only = "),
        ("measure.part", "measure.piece", "measure names piece; expected one of thing, part", "thing = {"),
        (
            'only = ["part"]',
            'only = ["part"], measure.thing = {}',
            "measure names thing; expected one of part",
            "part = {",
        ),
        ('formula = "guest.userid"', 'formulae = "guest.userid"', "formulae", "thing = {"),
        ("{subject}", "{object}", "has {object}, a word that part does not have", "part = {"),
        ('read_rate.source = "nowhere"\n', "", "each.read_rate.source is missing", "read_rate.text"),
        (
            'name = "whole"',
            'name = "whole"\neach.part = {}',
            "column[3] has both name and each, or neither",
            "[[column]]\nname",
        ),
        ('name = "whole"\n', "", "column[3] has both name and each, or neither", "[[column]]\nonly"),
        ("write_rate = {", "read_rate = {", "TOML", "read_rate = {"),
    ],
)
def test_errors_in_shared_columns_name_line(was: str, now: str, said: str, near: str) -> None:
    text = TWO.replace(was, now, 1)
    assert text != TWO
    with pytest.raises(CatalogError) as caught:
        measures.parse(text, "thing+part.toml")
    assert said in str(caught.value)
    line = 1 + text[: text.index("\n" + near) + 1].count("\n")
    assert str(caught.value).startswith(f"thing+part.toml:{line}: ")


@pytest.mark.parametrize(
    ("was", "now", "said", "near"),
    [
        ('name = "whole"', 'name = "thing"', "thing: is defined twice", "thing = {"),
        ("guest.page_reads", "guest.no_role", "read_rate: guest.no_role is not a role", "read_rate.text"),
    ],
)
def test_findings_in_shared_columns_name_line(was: str, now: str, said: str, near: str) -> None:
    text = TWO.replace(was, now, 1)
    finding = check_metrics.check_text(text, Path("thing+part.toml"))[0]
    assert finding.what.startswith(said)
    assert finding.line == 1 + text[: text.index("\n" + near) + 1].count("\n")


def test_measure_is_in_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "FOLDER", tmp_path)
    (tmp_path / "thing+part.toml").write_text(TWO)
    assert measures.measure_names() == ["part", "thing"]
    assert measures.measure_files() == [tmp_path / "thing+part.toml"]
    measures._files.cache_clear()
    (tmp_path / "part.toml").write_text(GOOD)
    with pytest.raises(
        CatalogError, match=r"thing\+part.toml: part is a measure of part.toml too; rename one"
    ):
        measures.measure_names()


def test_unknown_table_is_error() -> None:
    with pytest.raises(CatalogError, match=r"there is no measure '\.\./roles/processor'; expected adapter, "):
        measures.load_measure("../roles/processor")
