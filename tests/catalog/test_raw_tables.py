"""Tests that raw tables have the columns of their files, and that errors name the line."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import sysinfo_builder
import zos_samples
from readers import (
    test_cp_console,
    test_dds,
    test_hmc,
    test_hyptop,
    test_linux_counters,
    test_lspai,
    test_zmemtopo,
    test_zos_notices,
    test_zpwr,
)
from zlens.catalog import raw_tables, roles
from zlens.catalog.raw_columns import FIXED, RawColumn
from zlens.errors import CatalogError
from zlens.inputs.options import Options
from zlens.inputs.source import RawTable
from zlens.readers.row_tables import RowTable
from zlens.schema.facts import FACTS

ZOS = (
    zos_samples.DISPLAY_HIS_SERVICE,
    zos_samples.DISPLAY_CORES,
    zos_samples.DISPLAY_CPUS,
    zos_samples.cnt(),
)
#: Sets of raw tables, their readers, texts that fill each table, and the prefix of names outside the file.
CASES: dict[str, tuple[str, tuple[str | bytes, ...], str]] = {
    "linux/sysinfo_tables": ("linux.sysinfo", (sysinfo_builder.tar(sysinfo_builder.texts()),), ""),
    "linux/counter_tables": (
        "linux.counters",
        (test_linux_counters.PERF_EACH, test_linux_counters.LSHWC, test_lspai.csv()),
        "",
    ),
    "linux/power_tables": ("linux.zpwr", (test_zpwr.as_json(),), ""),
    "linux/hypervisor_tables": (
        "linux.hyptop",
        (test_hyptop.as_json(), test_hyptop.as_json(test_hyptop.OTHERS)),
        "",
    ),
    "linux/memory_tables": ("linux.zmemtopo", (test_zmemtopo.as_json(),), ""),
    "zos/text_tables": ("zos.text", (*ZOS, test_zos_notices.LOG), ""),
    "zvm/console_tables": ("zvm.console", (test_cp_console.REDUCED, test_cp_console.LOAD), ""),
    "openmetrics/scrape_tables hmc": ("openmetrics.hmc", (test_hmc.MADE,), "hmc_"),
    "openmetrics/scrape_tables dds": ("openmetrics.dds", (test_dds.MADE,), "dds_"),
}
#: Sets whose readers require more than a text.
OTHERS = {"zvm/monitor_tables", "smf/counter_tables", "smf/section_tables", "listing_tables"}


def declared(table: dict[str, Any], key: str) -> list[tuple[str, str, str, str]]:
    """Return the columns of a table in its file, counter columns as patterns."""
    return [
        (
            re.sub(r"\\\{\w+\\\}", r"\\w+", re.escape(one["name"])),
            one["type"],
            one.get("unit", ""),
            one["text"],
        )
        for one in table.get(key, ())
    ]


def folded(columns: tuple[RawColumn, ...], patterns: list[tuple[str, str, str, str]]) -> list[Any]:
    """Replace runs of columns that match a pattern by the pattern and the text of the file."""
    found: list[Any] = []
    for column in columns:
        each = (column.name, column.type, column.unit, column.text)
        for name, kind, unit, text in patterns:
            wanted = re.sub(r"\\\{\w+\\\}", r"\\w+", re.escape(text))
            if re.fullmatch(name, column.name) and re.fullmatch(wanted, column.text):
                each = (name, kind if column.type == kind else "", unit if column.unit == unit else "?", text)
        if not found or found[-1] != each:
            found.append(each)
    return found


def opened(case: str, folder: Path) -> list[RawTable]:
    reader, texts, _ = CASES[case]
    paths = []
    for number, text in enumerate(texts):
        path = folder / f"{number}.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        paths.append(str(path))
    source = import_module(f"zlens.readers.{reader}").open_files(paths, Options())
    return [table for parts in source.tables.values() for table in parts]


def test_every_table_set_has_case() -> None:
    assert {case.partition(" ")[0] for case in CASES} | OTHERS == {*raw_tables.set_names()}


@pytest.mark.parametrize("case", CASES)
def test_raw_table_has_columns_of_its_file(case: str, tmp_path: Path) -> None:
    name = case.partition(" ")[0]
    facts = tomllib.loads((FACTS / f"{name}.toml").read_text(encoding="utf-8"))
    files = {CASES[case][2] + table["name"]: table for table in facts["table"]}
    tables = {table.name: table for table in opened(case, tmp_path)}
    assert files.keys() <= tables.keys()
    for table in tables.values():
        assert tuple(column.name for column in table.columns[: len(FIXED)]) == FIXED, table.name
        assert len({column.name for column in table.columns}) == len(table.columns), table.name
        texts = {column.name: column.text for column in table.columns[: len(FIXED)]}
        assert facts["leading"].items() <= texts.items(), table.name
        if table.name in files:
            file = files[table.name]
            first, last = declared(file, "columns"), declared(file, "last")
            own = folded(table.columns[len(FIXED) :], first + last)
            assert own[: len(first)] == first, table.name
            assert own[len(own) - len(last) :] == last, table.name
            assert (len(own) > len(first) + len(last)) == ("others" in file), table.name


@pytest.mark.parametrize("case", CASES)
def test_rows_have_only_declared_columns(case: str, tmp_path: Path) -> None:
    for table in opened(case, tmp_path):
        if isinstance(table, RowTable):
            columns = {column.name for column in table.columns}
            assert {key for row in table.rows for key in row} <= columns, table.name


@pytest.mark.parametrize("case", CASES)
def test_roles_name_columns_of_these_tables(case: str, tmp_path: Path) -> None:
    tables = {table.name: {column.name for column in table.columns} for table in opened(case, tmp_path)}
    for name in roles.entities():
        for origin in roles.entity(name).origins:
            if origin.table in tables:
                fields = {field for how in origin.roles.values() for field in how.fields}
                assert fields <= tables[origin.table] | origin.roles.keys(), (name, origin.table)


def test_leading_columns_are_reserved_names() -> None:
    assert tuple(column.name for column in raw_tables.load_tables("smf/section_tables").leading) == FIXED


FILE = """\
source = "a page"
status = "verified"

[leading]
tod = "when"

[[table]]
name = "made"
columns = [
    { name = "first", type = "int", unit = "count", text = "what it is" },
    { name = "second", type = "text", text = "another" },
]
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('"verified"', '"sure"', 2, 'status is "sure"'),
        ("tod =", "todd =", 5, "leading.todd is not known here"),
        ('"int"', '"integer"', 10, 'type is "integer"'),
        ('"second", type', '"Second", type', 11, 'name is "Second"'),
        (', text = "another"', "", 11, "text is missing"),
        ('"second"', '"first"', 7, "table made has two columns of one name"),
        ('"second"', '"seconds"', 7, "table made has two columns of one name"),
        ('unit = "count"', 'units = "count"', 10, "units is not known here"),
    ],
)
def test_invalid_table_file_has_line(
    old: str, new: str, line: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leading_columns.toml").write_bytes((FACTS / "leading_columns.toml").read_bytes())
    path = tmp_path / "first_tables.toml"
    path.write_text(FILE.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(raw_tables, "FACTS", tmp_path)
    with pytest.raises(CatalogError) as error:
        raw_tables.load_tables("first_tables")
    assert error.value.file == f"{path}:{line}"
    assert words in error.value.message
    assert raw_tables.check() == [str(error.value)]


def test_table_in_two_files_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leading_columns.toml").write_bytes((FACTS / "leading_columns.toml").read_bytes())
    for name in ("left_tables", "right_tables"):
        (tmp_path / f"{name}.toml").write_text(FILE, encoding="utf-8")
    monkeypatch.setattr(raw_tables, "FACTS", tmp_path)
    assert raw_tables.check() == ["right_tables.toml: table made is also one of left_tables.toml"]


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    yield
    raw_tables.load_tables.cache_clear()
