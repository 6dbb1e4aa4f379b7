"""Tests that fact files have structs as schema, which no other code reads, and do not state defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from msgspec import NODEFAULT, Struct, convert
from msgspec.structs import fields

import zlens
from docs_site import generator
from zlens.catalog.reports.definition import ReportTableFile
from zlens.schema import structs, toml
from zlens.schema.document import text_of

SOURCES = Path(zlens.__file__).parent
#: Modules whose TOML is not a fact of the catalog, such as user files, or is checked in parts.
OTHERS = {
    "catalog/cpumf_weights.py",
    "catalog/groups.py",
    "catalog/layout_file.py",
    "catalog/reports/definition_file.py",
    "catalog/user_roles.py",
    "cli/model_output.py",
    "ledger/factors.py",
    "ledger/prices.py",
    "models/scenario.py",
    "record_pages/packs.py",
    "server/laboratory.py",
}
_READS = re.compile(r"\btomllib\b|\bparse_toml\b|\btoml\.parse\b")


def test_fact_files_are_read_as_structs() -> None:
    reading = {
        name
        for path in SOURCES.rglob("*.py")
        if not (name := path.relative_to(SOURCES).as_posix()).startswith("schema/")
        and _READS.search(path.read_text(encoding="utf-8"))
    }
    assert reading <= OTHERS


FACTS = SOURCES / "facts"
TABLES = generator().fact_tables()


def test_annotations_of_fact_structs_are_not_texts() -> None:
    # Texts only where a struct names itself.
    texts = [
        f"{table.__module__}.{table.__name__}.{name}"
        for table in subclasses(structs.FactTable)
        if table.__module__.startswith("zlens.")
        for name, kind in vars(table).get("__annotations__", {}).items()
        if isinstance(kind, str) and table.__name__ not in kind
    ]
    assert texts == []


def subclasses(table: type) -> Iterator[type]:
    for derived in table.__subclasses__():
        yield derived
        yield from subclasses(derived)


#: Tables and columns of reports override keys of others, and may set them to the default again.
OVERRIDING = (ReportTableFile,)


def stated_defaults(values: Any, kind: Any, location: str = "") -> Iterator[str]:
    """Yield the locations of keys with the default values of their structs."""
    kind, _ = structs._plain(kind)
    inner = get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Struct) and kind not in OVERRIDING:
        for field in fields(kind):
            if field.encode_name not in values:
                continue
            value, name = values[field.encode_name], f"{location}.{field.encode_name}".removeprefix(".")
            default = field.default if field.default_factory is NODEFAULT else field.default_factory()
            if default is not NODEFAULT and converted(value, field.type) == default:
                yield name
            yield from stated_defaults(value, field.type, name)
    elif get_origin(kind) is dict:
        for name, value in values.items():
            yield from stated_defaults(value, inner[1], f"{location}.{name}".removeprefix("."))
    elif get_origin(kind) is tuple and inner[-1] is ...:
        for number, value in enumerate(values, 1):
            yield from stated_defaults(value, inner[0], f"{location}[{number}]")


def converted(value: Any, kind: Any) -> Any:
    return convert(value, kind, str_keys=True, dec_hook=structs._compile)


def files_of(name: str) -> list[Path]:
    """Return the files of a key of TABLES, without those that have a key of their own."""
    if name == "raw_tables":
        return sorted(FACTS.rglob("*_tables.toml"))
    own = FACTS / f"{name}.toml"
    if own.is_file():
        return [own]
    folder, _, stem = name.rpartition("/")
    shared = FACTS / folder / "common" / f"{stem}.toml"
    if shared.is_file():
        return [shared]
    return [
        path
        for path in sorted((FACTS / name).rglob("[!_]*.toml"))
        if path.relative_to(FACTS).as_posix().replace("common/", "").removesuffix(".toml") not in TABLES
    ]


@pytest.mark.parametrize("name", sorted({*TABLES} - {"user_roles"}))
def test_facts_leave_out_defaults(name: str) -> None:
    paths = files_of(name)
    assert paths
    stated = {
        path.relative_to(FACTS).as_posix(): [*stated_defaults(toml.parse(text_of(path)), TABLES[name])]
        for path in paths
    }
    assert {path: keys for path, keys in stated.items() if keys} == {}


def test_stated_default_is_found() -> None:
    menu = {"number": "X", "name": "", "title": "T", "groups": []}
    file = {"source": "s", "status": "derived", "note": "n", "groups": {}, "menu": [menu]}
    assert [*stated_defaults(file, TABLES["menus"])] == []
    layout = {"release": "7.3", "length": 20, "variable": False, "source": "s", "status": "verified"}
    record = {"record": "D0R2", "dsect": "X", "title": "T", "kind": "sample", "layout": [layout]}
    assert [*stated_defaults(record, TABLES["zvm/records"])] == ["layout[1].variable"]
