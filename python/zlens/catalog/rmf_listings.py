"""Layout of printed Postprocessor reports, mapped to the names of their XML form."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from msgspec import Struct

from zlens.catalog.rmf_reports import STATUS, key
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

PATH = FACTS / "rmf_listings.toml"
_NOTHING = re.compile(r"(?!)")
_ALONE = re.compile(r"\{(\d)\}")


class PrintedValue(Struct, frozen=True):
    """A named value anywhere on a report page; group 1 of the form is its text."""

    name: str
    form: re.Pattern[str]
    part: str = ""


class PrintedTable(Struct, frozen=True):
    """A table with headings. heads, upper, words: the printed text, and the name in the XML format.

    first  pattern of the last line of headings
    """

    part: str
    first: re.Pattern[str]
    heads: tuple[tuple[re.Pattern[str], str], ...]
    least: int
    upper: tuple[tuple[re.Pattern[str], str], ...]
    words: tuple[tuple[str, re.Pattern[str]], ...]
    row: re.Pattern[str]
    more: re.Pattern[str]
    total: re.Pattern[str]
    total_name: str
    block: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns in the XML format."""
        return (
            *(name for _, name in self.heads),
            *(name for _, name in self.upper),
            *(name for name, _ in self.words),
        )


class PrintedPairs(Struct, frozen=True):
    """Names with values side by side, below the headings of their groups; a row for each `begins`."""

    begins: re.Pattern[str]
    values: tuple[PrintedValue, ...]
    groups: tuple[tuple[str, re.Pattern[str]], ...]
    names: dict[str, re.Pattern[str]]


class PrintedSamples(Struct, frozen=True):
    """Names with a fixed number of values, below headings that name their area."""

    names: tuple[str, ...]
    area: str
    name: str


class PrintedList(Struct, frozen=True):
    """A part whose rows may be anywhere in lines.

    cells  templates of cells with groups of the form
    names  full names of cells
    """

    part: str
    heads: tuple[str, ...]
    form: re.Pattern[str]
    cells: tuple[str, ...]
    names: dict[str, str]

    def row(self, match: re.Match[str]) -> list[tuple[str, int]]:
        """Return the cells of a row, each with the number of its group; 0 if it combines several groups."""
        groups = [
            "",
            *(
                "".join(group.split()) if group and group.startswith("N") else group
                for group in match.groups()
            ),
        ]
        cells = [cell.format(*groups) for cell in self.cells]
        alone = [_ALONE.fullmatch(cell) for cell in self.cells]
        return [
            (self.names.get(cell, cell), int(group[1]) if group else 0)
            for cell, group in zip(cells, alone, strict=True)
        ]


class ReportPage(Struct, frozen=True):
    """A kind of report page. status: certainty of its format."""

    title: str
    status: str
    segment: str
    values: tuple[PrintedValue, ...]
    any_value: re.Pattern[str]
    tables: tuple[PrintedTable, ...]
    pairs: PrintedPairs | None
    samples: PrintedSamples | None
    lists: tuple[PrintedList, ...]
    titles: re.Pattern[str]


class PrintedFacts(Struct, frozen=True):
    """All report pages by the key of their title, and the patterns of their header by name."""

    pages: dict[str, ReportPage]
    header: dict[str, re.Pattern[str]]


@cache
def printed() -> PrintedFacts:
    """Return the facts of rmf_listings.toml; CatalogError if the file is invalid."""
    facts = document.load_unchecked(PATH)
    try:
        pages = [_page(entry) for entry in facts.pop("page")]
        del facts["source"]
        header = {name: re.compile(form, re.I) for name, form in facts.items()}
    except KeyError as error:
        raise CatalogError(f"{error.args[0]} is missing", file=str(PATH)) from None
    except re.error as error:
        raise CatalogError(
            f"{error.pattern!r} is not a regular expression: {error}", file=str(PATH)
        ) from None
    return PrintedFacts({key(page.title): page for page in pages}, header)


def _page(entry: dict[str, Any]) -> ReportPage:
    pairs, samples = entry.get("pairs"), entry.get("samples")
    if entry["status"] not in STATUS:
        raise CatalogError(
            f"page {entry['title']}: its status is not one of {', '.join(STATUS)}", file=str(PATH)
        )
    return ReportPage(
        entry["title"],
        entry["status"],
        entry["segment"],
        tuple(
            PrintedValue(value["name"], re.compile(value["form"], re.I), value.get("part", ""))
            for value in entry.get("value", ())
        ),
        re.compile("|".join(value["form"] for value in entry.get("value", ())) or _NOTHING.pattern, re.I),
        tuple(_table(table) for table in entry.get("table", ())),
        pairs
        and PrintedPairs(
            re.compile(pairs["begins"]),
            _values(pairs["values"]),
            tuple((name, re.compile(form)) for name, form in pairs["groups"]),
            {name: re.compile(rf"(?<!\S)({form}) +(\S+)") for name, form in pairs["names"]},
        ),
        samples and PrintedSamples(tuple(samples["names"]), samples["area"], samples["name"]),
        tuple(
            PrintedList(
                each["part"],
                tuple(each["heads"]),
                re.compile(each["form"]),
                tuple(each["cells"]),
                each.get("names", {}),
            )
            for each in entry.get("list", ())
        ),
        re.compile(r"\s*(?:" + "|".join(entry.get("titles", [_NOTHING.pattern])) + ")", re.I),
    )


def _values(pairs: list[list[str]]) -> tuple[PrintedValue, ...]:
    return tuple(PrintedValue(name, re.compile(form, re.I)) for name, form in pairs)


def _table(entry: dict[str, Any]) -> PrintedTable:
    def form(name: str) -> re.Pattern[str]:
        return re.compile(entry[name]) if name in entry else _NOTHING

    def heads(name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
        return tuple(
            (re.compile(r"(?<!\S)" + r"\s+".join(map(re.escape, text.split())) + r"(?!\S)", re.I), column)
            for text, column in entry.get(name, ())
        )

    headings = heads("heads")
    return PrintedTable(
        entry.get("part", ""),
        re.compile(r"[\s0]*(?:" + "|".join(form.pattern for form, _ in headings) + ")", re.I),
        headings,
        entry["least"],
        heads("upper"),
        tuple((name, re.compile(word)) for name, word in entry.get("words", ())),
        form("row"),
        form("more"),
        form("total"),
        entry.get("total_name", "TOTAL"),
        entry.get("block", ""),
    )
