"""Tests of report files: those of the catalog are valid, and errors of others are reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fake_session import FakeSession

from zlens import reports
from zlens.catalog.reports import definition, definition_file
from zlens.errors import CatalogError, QueryError
from zlens.explain.reports import explain_report
from zlens.reports import column_facts
from zlens.reports.rows import rows_sql

REPORTS = reports.names()
SKELETON = (definition.FOLDER / "_skeleton.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REPORTS)
def test_every_column_is_explained(name: str) -> None:
    text = explain_report(name)
    for table in reports.load_report(name).tables:
        for column in table.columns:
            assert f"{column.name} [{column.key}]" in text
            assert column_facts.text(column)
            assert column_facts.status(column) in definition.STATUSES
            assert column.source_note or all(fact.source for _, fact in column_facts.facts(column))


@pytest.mark.parametrize("name", REPORTS)
def test_unverified_measures_name_their_needs(name: str) -> None:
    for table in reports.load_report(name).tables:
        for column in table.columns:
            if column_facts.status(column) == "unverified":
                assert any(fact.needs for _, fact in column_facts.facts(column)), column.key


def test_names_and_numbers() -> None:
    assert {"prclog", "mondata", "partition"} <= set(REPORTS)
    for wanted in ("prclog", "PRCLOG", "fcx304", "FCX304", " Fcx304 "):
        assert definition.resolve_name(wanted) == "prclog"
    assert definition.resolve_name("fcx155") == "mondata"
    with pytest.raises(QueryError, match=r"there is no report 'fcx999'; expected a name such as .*fcx"):
        definition.resolve_name("fcx999")
    with pytest.raises(QueryError):
        definition.resolve_name("../reports/prclog")
    with pytest.raises(QueryError):
        definition.resolve_name("_skeleton")


def test_no_report_shares_number() -> None:
    numbers = [number for name in REPORTS if (number := reports.load_report(name).number)]
    assert len(numbers) == len(set(numbers))


def test_report_skeleton_is_valid() -> None:
    report = definition_file.read(SKELETON, "_skeleton.toml", "skeleton")
    (table,) = report.tables
    assert [column.key for column in table.columns] == ["cpu_id", "cpu_type", "busy_pct"]
    session = FakeSession({})
    for rows in table.rows:
        assert session.sql(rows_sql(table, rows, report.block)).rows == []


OTHER = """
[[tables]]
key = "types"
base = "skeleton.processors"
title = "Types"
order = ["cpu_type", "user_pct", "busy_pct"]
base_rows = true

[tables.columns]
user_pct = { heading = "User", group = "busy", width = 6, missing = "Why." }
busy_pct = { width = 8 }

[[tables.shared]]
columns = ["user_pct", "busy_pct"]
decimals = 2
missing = "Shared."

[[tables.rows]]
kind = "total"
of = "interval"
"""


def test_report_table_inherits_from_base(tmp_path: Path) -> None:
    first, second = definition_file.read(SKELETON + OTHER, "skeleton.toml", "skeleton").tables
    assert (second.title, second.query, second.subject) == ("Types", first.query, first.subject)
    assert [rows.kind for rows in second.rows] == [*[rows.kind for rows in first.rows], "total"]
    cpu_type, user, busy = second.columns
    assert cpu_type == first.columns[1]
    assert (user.measures, user.decimals, user.missing) == (("cpu.user_pct",), 2, "Why.")
    assert (busy.measures, busy.decimals, busy.missing) == (("cpu.busy_pct",), 2, "Shared.")
    assert (busy.heading, busy.width, busy.total) == (("Total",), 8, "sum")
    # The base may be a table of another report.
    (tmp_path / "skeleton.toml").write_text(SKELETON, encoding="utf-8")
    report = SKELETON[: SKELETON.index("# One table")]
    (tmp_path / "other.toml").write_text(report + OTHER, encoding="utf-8")
    assert definition.load_report("other", tmp_path).tables == (second,)


def test_no_report_is_base_of_itself(tmp_path: Path) -> None:
    for name, base in (("one", "two"), ("two", "one")):
        text = SKELETON.replace('"cpu.processors"', f'"{base}.processors"')
        (tmp_path / f"{name}.toml").write_text(text.replace("# base =", "base ="), encoding="utf-8")
    with pytest.raises(CatalogError, match=r'two\.toml:\d+: tables\[1\]\.base is "one\.processors"'):
        definition.load_report("one", tmp_path)


def test_total_adds_only_summed_columns() -> None:
    text = (definition.FOLDER / "guests" / "dispwait.toml").read_text(encoding="utf-8")
    wrong = text.replace('adds = ["dispatch_rate"]', 'adds = ["mean_us"]')
    with pytest.raises(CatalogError, match='it adds "mean_us"'):
        definition_file.read(wrong, "dispwait.toml", "dispwait")


def test_report_skeleton_names_every_key() -> None:
    """Users copy the skeleton and find only keys that it shows."""
    words = set(re.findall(r"\w+", SKELETON))
    for kind in (
        definition.ReportColumnKeys,
        definition.ReportTableFile,
        definition.SharedKeys,
        definition.RowKind,
        definition.ReportFile,
        definition.Footnote,
        definition.MissingColumns,
    ):
        missing = set(kind.__struct_encode_fields__) - words - {"tables", "rows", "notes", "absent"}
        assert not missing, (kind.__name__, missing)


WRONG = [
    (
        'needs = "Requirements',
        'before = "z/VM 6"\nneeds = "Requirements',
        'before is "z/VM 6"; expected a level such as 6.4',
    ),
    ('status = "derived" ', 'status = "sure" ', 'status is "sure".*one of "verified"'),
    ('needs = "', 'neds = "', "neds is not known here.*did you mean needs"),
    ("width = 2", "wigth = 2", r"tables\[1\]\.columns\.cpu_id\.wigth is not known here.*did you mean width"),
    ("width = 2", "width = 0", r"columns\.cpu_id\.width is 0;.*from 1 to 200"),
    (
        "width = 2, ",
        "",
        r"columns\.cpu_id\.width is missing: its width in characters;.*from 1 to 200; add width",
    ),
    ('heading = "C|P|U", ', "", r"columns\.cpu_id\.heading is missing.*add heading"),
    ('key = "processors"\n', "", r"tables\[1\]\.key is missing: its name in CSV and JSON"),
    ("width = 2", "width = true", "width is true.*integer"),
    ("width = 2", 'width = "2"', 'width is "2"'),
    ('"C|P|U"', '"CPU"', r'columns\.cpu_id: the heading "CPU" is wider than the column'),
    ('"C|P|U"', '["C", "P"]', r"heading is a list of 2.*a text, with | between lines"),
    ('busy = "Busy"', 'busy = "Percent Busy"', 'group heading "Percent Busy" is wider'),
    ('busy = "Busy"', 'busy = "Busy", idle = "Idle"', 'the group "idle" is over no column'),
    ('group = "busy"', 'group = "idle"', r'columns\.busy_pct: it is in the group "idle"'),
    ('type = "id"', 'type = "integer"', 'type is "integer"'),
    ('type = "id"', 'type = "id", decimals = 1', '1 decimals and the type "id"'),
    ('total = "count"', 'total = "sum"', 'adds up a column of type "id"'),
    ('total = "count"', "measures = []", r"columns\.cpu_id: text is missing"),
    ('total = "count"', 'measures = ["cpu_id"]', r'measures\[1\] is "cpu_id".*table.column'),
    ("\ncpu_type = {", "\ncpu_id = {", "Cannot overwrite a value|duplicate"),
    ("\ncpu_type = {", "\ninterval_end = {", 'the key "interval_end" is the name of a field'),
    ("\ncpu_type = {", "\nType = {", r'columns\.Type is "Type".*lower-case'),
    ("\ncpu_type = {", "\n'a\" FROM x --' = {", "lower-case"),
    ("\ncpu_type = {", "\ncpu_type = 1\nx = {", r"columns\.cpu_type is 1; expected a table"),
    ("[[tables.shared]]", "[[tables.shard]]", r"tables\[1\]\.shard is not known here.*did you mean shared"),
    ('columns = ["busy_pct"]', "columns = []", r"shared\[1\]\.columns is a list of 0"),
    (
        'columns = ["busy_pct"]',
        'columns = ["busy"]',
        r'shared\[1\]\.columns names "busy"; expected one of cpu_id',
    ),
    ('missing = "The', 'wigth = "The', r"shared\[1\]\.wigth is not known here.*did you mean width"),
    ('measures = ["cpu"] ', 'measures = "cpu"', r'measures is "cpu".*a list'),
    ('# base = "cpu.processors"', 'base = "cpu"', r'base is "cpu".*report.table'),
    ('# base = "cpu.processors"', 'base = "cpu.nowhere"', r'base is "cpu.nowhere".*an earlier one'),
    ('# base = "cpu.processors"', 'base = "skeleton.processors"', r'base is "skeleton.processors"'),
    ('# order = ["cpu_id", "busy_pct"]', 'order = ["cpu_id", "user_pct"]', r'order names "user_pct"'),
    ("FROM cpu\n", "FROM cpu; DROP TABLE cpu\n", "without a semicolon"),
    ("SELECT system, interval_end, seconds", "DELETE system", 'query is "DELETE'),
    ('time = "interval_end"', "", 'rows of kind "mean" need a time'),
    ('subject = ["cpu_id", "cpu_type"]', "subject = []", r"tables\[1\]\.subject is empty"),
    ('by = ["cpu_type"]', 'by = ["core_id"]', 'a total by "core_id"'),
    ('of = "mean" ', 'of = "row" ', 'a total of "row" rows, which the table does not have'),
    ('label = ">>Mean>>"', 'label = ">>>Mean>>>"', 'label ">>>Mean>>>" is too long'),
    ("blank = true ", 'by = ["cpu_type"] ', 'by or rule in rows of kind "interval"'),
    ('# cells = { cpu_type = ">Sum" }', 'cells = { core = ">Sum" }', 'a fixed text for the column "core"'),
    ('kind = "interval" ', 'kind = "query" ', "a query of their own"),
    ('of = "mean" ', 'adds = ["busy_pct"] ', "adds without a query of a total, or such a query without it"),
    ("[[tables]]", "[[tables]", "is not valid TOML"),
    ("[[tables.rows]]", "[[tables.line]]", r"tables\[1\]\.line is not known here"),
    (
        'time = "interval_end"',
        'title = "\\u001b[31m"\ntime = "interval_end"',
        "tables.1..title .*expected a text without control characters",
    ),
    (
        'time = "interval_end"',
        'title = "On {since}"\ntime = "interval_end"',
        "only one of title_values and names in braces.*both or none",
    ),
    (
        'time = "interval_end"',
        'line_count = 3\ntime = "interval_end"',
        "only one of lines and line_count.*both or none",
    ),
    (
        'time = "interval_end"',
        'lines = { x = "cpu_id" }\nline_count = 1\ntime = "interval_end"',
        'column "x"',
    ),
]


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[wrong[2][:40] for wrong in WRONG])
def test_invalid_report_file_is_rejected(old: str, new: str, said: str) -> None:
    assert old in SKELETON
    with pytest.raises(CatalogError, match=f"(?s)^/reports/skeleton.toml:[0-9]+: .*{said}"):
        definition_file.read(SKELETON.replace(old, new), "/reports/skeleton.toml", "skeleton")


def test_report_with_unknown_measure_is_rejected(tmp_path: Path) -> None:
    text = SKELETON.replace("\nbusy_pct = {", "\nbizzy_pct = {").replace('["busy_pct"]', '["bizzy_pct"]')
    (table,) = definition_file.read(text, "skeleton.toml", "skeleton").tables
    with pytest.raises(CatalogError, match=r"'cpu\.bizzy_pct', which is not a measure"):
        column_facts.status(table.columns[2])


def test_catalog_of_reports_is_checked(tmp_path: Path) -> None:
    assert reports.check() == []
    here = tmp_path / "processors"
    here.mkdir()
    (here / "one.toml").write_text(
        SKELETON.replace('total = "sum"', 'measures = ["cpu.bizzy_pct"]'), encoding="utf-8"
    )
    (here / "two.toml").write_text(f'name = "one"\n{SKELETON}', encoding="utf-8")
    one, two = reports.check(tmp_path)
    assert "bizzy" in one
    assert "reports/processors/two.toml:1: name is not known here" in two


def test_group_of_report_is_its_folder() -> None:
    for folder, group in (("pci_functions", "PCI functions"), ("my_own", "my own")):
        file = definition.FOLDER / folder / f"{folder}_1.toml"
        report = definition_file.read(SKELETON, str(file), file.stem)
        assert (report.name, report.group) == (f"{folder}_1", group)


def test_report_is_in_one_folder(tmp_path: Path) -> None:
    for group in ("processors", "guests"):
        (tmp_path / group).mkdir()
        (tmp_path / group / "skeleton.toml").write_text(SKELETON, encoding="utf-8")
    with pytest.raises(CatalogError, match="skeleton is also in guests"):
        definition.load_report("skeleton", tmp_path)


def test_rows_are_explained() -> None:
    text = explain_report("fcx304")
    assert "\nRows    >>Mean>> one per subject: the plain mean of its recorded intervals" in text
    assert "\nRows    >>Total> totals of the mean rows" in text
    assert "\nRows    hh:mm:ss one per interval and subject\n" in text
    assert max(map(len, text.split("\n"))) <= 100


def test_dotted_column_names_its_page() -> None:
    text = explain_report("prclog")
    sigp = text[text.index("SIGP [sigp_rate]") : text.index("SSCH [ssch_rate]")]
    assert "status   derived" in sigp
    assert "n/a      it needs role communication.signals: the record page of D0R11 (MRSYTCOM)" in sigp


def test_report_folder_of_user(tmp_path: Path) -> None:
    """A new file is a report without further changes."""
    text = SKELETON.replace("FCX000", "FCX998")
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    assert definition.names(tmp_path) == ["mine"]
    assert definition.load_report("fcx998", tmp_path).name == "mine"
    assert "busy_pct" in explain_report("mine", tmp_path)
    assert [entry.name for entry in reports.list_reports(folder=tmp_path)] == ["mine"]


ABSENT = """
[[absent]]
columns = ["%SIC", "%LOGLD", "%VTMP", "%VTOV"]
role = "processor.sie_intercepts"
why = "the field is not public"
"""


def test_absent_columns_are_listed_and_counted(tmp_path: Path) -> None:
    text = SKELETON.replace('"skeleton" ', '"mine" ')
    (tmp_path / "mine.toml").write_text(text + ABSENT, encoding="utf-8")
    explained = explain_report("mine", tmp_path)
    assert "Absent  %SIC, %LOGLD, %VTMP, %VTOV\n" in explained
    assert "        would come from processor.sie_intercepts; the field is not public\n" in explained
    (entry,) = reports.list_reports(folder=tmp_path)
    assert (entry.columns, entry.known, entry.state) == (3, 7, "partial")
    assert "3 of 7 columns (partial)\n" in reports.format_report_list([entry])
    # Three of five columns are more than half.
    (tmp_path / "mine.toml").write_text(text + ABSENT.replace(', "%VTMP", "%VTOV"', ""), encoding="utf-8")
    (entry,) = reports.list_reports(folder=tmp_path)
    assert reports.format_report_list([entry]).endswith("3 of 5 columns\n")


def test_report_counts_values_of_known_columns(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SKELETON.replace('"skeleton" ', '"mine" ') + ABSENT, encoding="utf-8")
    (entry,) = reports.list_reports(FakeSession({}), tmp_path)
    assert (entry.available, entry.state) == (0, "none")
    assert reports.format_report_list([entry]).startswith("Without data in this input: mine.")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["%SIC", "%LOGLD", "%VTMP", "%VTOV"]', "[]", "columns is a list of 0"),
        ('"%SIC", ', '" ", ', r'columns\[1\] is " "'),
        ('role = "processor.sie_intercepts"', "", "role is missing"),
        ('"the field is not public"', '""', 'why is ""'),
        ("[[absent]]", "[[absent]]\nrelease = 7", "release is not known here"),
    ],
)
def test_invalid_absent_entry_is_rejected(old: str, new: str, words: str) -> None:
    with pytest.raises(CatalogError, match=words):
        definition_file.read(SKELETON + ABSENT.replace(old, new), "x.toml", "skeleton")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("FCX 304", "prclog"),
        ("Device CPOWNED", "cpowned"),
        ("indicate multithread", "indicate_multithread"),
        ("INDICATE LOAD", "indload"),
        ("ind load", "indload"),
        ("Query Capab", "query_capability"),
        ("Processor Summary", "procsum"),
    ],
)
def test_report_names_as_typed(typed: str, name: str) -> None:
    assert definition.resolve_name(typed) == name


def test_unknown_report_has_suggestions() -> None:
    with pytest.raises(QueryError, match="expected a name such as prclog, ") as caught:
        definition.resolve_name("prclg")
    assert len(str(caught.value)) < 150


def test_explain_names_title_values() -> None:
    assert "\nInitial Status on SINCE, Processor PROCESSOR\n" in explain_report("sysconf")


@pytest.mark.parametrize("name", ["upage", "ustat", "uconf", "indload"])
def test_guest_reports_list_absent_columns(name: str) -> None:
    assert definition.load_report(name).absent


def test_explain_reports_unbound_layout() -> None:
    assert "not bound for any z/VM release" in explain_report("dispwait")


@pytest.mark.parametrize(
    "name", ["cpowned", "auxlog", "availlog", "vswitch", "gvswitch", "evswitch", "glonact", "paging"]
)
def test_reports_list_columns_of_classic_report(name: str) -> None:
    report = reports.load_report(name)
    assert report.number == "" if name == "paging" else report.number.startswith("FCX")
    assert bool(report.absent) == (name != "paging")
