"""Layout of printed Postprocessor reports, mapped to the names of their XML form."""

import re
from functools import cached_property
from typing import Annotated, ClassVar

from msgspec import field

from zlens.catalog.rmf_reports import Status, key
from zlens.schema.structs import FactFile, FactTable, doc

_NOTHING = re.compile(r"(?!)")
_ALONE = re.compile(r"\{(\d)\}")


def _nothing() -> re.Pattern[str]:
    return _NOTHING


class PrintedValue(FactTable, frozen=True, dict=True):
    """A named value anywhere on a report page."""

    name: Annotated[str, doc("its name in the XML format")]
    form: Annotated[re.Pattern[str], doc("what is printed; group 1 is its text")]
    part: Annotated[str, doc("its part")] = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The form in any case."""
        return re.compile(self.form.pattern, re.I)


_Heads = tuple[tuple[str, str], ...]


class PrintedTable(FactTable, frozen=True, dict=True):
    """A table with headings."""

    head_texts: Annotated[_Heads, doc("last line of headings, with columns")] = field(name="heads")
    least: Annotated[int, doc("the fewest headings of the last line")]
    row: Annotated[re.Pattern[str], doc("a row")]
    upper_texts: Annotated[_Heads, doc("headings that are only in the lines above, and their columns")] = (
        field(name="upper", default=())
    )
    words: Annotated[tuple[tuple[str, re.Pattern[str]], ...], doc("words without headings")] = ()
    more: Annotated[re.Pattern[str], doc("a row that continues the one above")] = field(
        default_factory=_nothing
    )
    total: Annotated[re.Pattern[str], doc("a total")] = field(default_factory=_nothing)
    total_name: Annotated[str, doc("the name of a total")] = "TOTAL"
    part: Annotated[str, doc("its part")] = ""
    block: Annotated[str, doc("the column that rows inherit from the row above")] = ""

    @cached_property
    def heads(self) -> list[tuple[re.Pattern[str], str]]:
        """Patterns of the headings, and their columns."""
        return _head_patterns(self.head_texts)

    @cached_property
    def upper(self) -> list[tuple[re.Pattern[str], str]]:
        """Patterns of the headings above, and their columns."""
        return _head_patterns(self.upper_texts)

    @cached_property
    def first(self) -> re.Pattern[str]:
        """The start of the last line of headings."""
        return re.compile(r"[\s0]*(?:" + "|".join(form.pattern for form, _ in self.heads) + ")", re.I)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns in the XML format."""
        return (
            *(name for _, name in self.heads),
            *(name for _, name in self.upper),
            *(name for name, _ in self.words),
        )


def _head_patterns(texts: _Heads) -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(r"(?<!\S)" + r"\s+".join(map(re.escape, text.split())) + r"(?!\S)", re.I), column)
        for text, column in texts
    ]


class PrintedPairs(FactTable, frozen=True, dict=True):
    """Names with values side by side, below the headings of their groups."""

    begins: Annotated[re.Pattern[str], doc("the line that begins a row")]
    value_forms: Annotated[tuple[tuple[str, re.Pattern[str]], ...], doc("other values of a row, by name")] = (
        field(name="values")
    )
    groups: Annotated[tuple[tuple[str, re.Pattern[str]], ...], doc("headings of groups")]
    name_forms: Annotated[tuple[tuple[str, re.Pattern[str]], ...], doc("names of the values of a group")] = (
        field(name="names")
    )

    @cached_property
    def values(self) -> list[PrintedValue]:
        """The other values of a row."""
        return [PrintedValue(name, form) for name, form in self.value_forms]

    @cached_property
    def names(self) -> dict[str, re.Pattern[str]]:
        """Patterns of a name and its value, by group."""
        return {name: re.compile(rf"(?<!\S)({form.pattern}) +(\S+)") for name, form in self.name_forms}


class PrintedSamples(FactTable, frozen=True):
    """Names with a fixed number of values, below headings that name their area."""

    names: Annotated[tuple[str, ...], doc("columns of the values")]
    area: Annotated[str, doc("the column of the area")]
    name: Annotated[str, doc("the column of the name")]
    groups: Annotated[tuple[str, ...], doc("first words of names that the names below them lack")] = ()


class PrintedList(FactTable, frozen=True):
    """A part whose rows may be anywhere in lines."""

    part: Annotated[str, doc("its part")]
    heads: Annotated[tuple[str, ...], doc("its columns")]
    form: Annotated[re.Pattern[str], doc("a row")]
    cells: Annotated[tuple[str, ...], doc("templates of cells with groups of the form")]
    names: Annotated[dict[str, str], doc("full names of cells")] = {}

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


class ReportPage(FactTable, frozen=True, dict=True):
    """A kind of report page."""

    title: Annotated[str, doc("its title")]
    status: Annotated[Status, doc("how well its format is known")]
    segment: Annotated[str, doc("the segment of the XML form")]
    values: Annotated[tuple[PrintedValue, ...], doc("values")] = field(name="value", default=())
    tables: Annotated[tuple[PrintedTable, ...], doc("tables")] = field(name="table", default=())
    pairs: PrintedPairs | None = None
    samples: PrintedSamples | None = None
    lists: Annotated[tuple[PrintedList, ...], doc("lists")] = field(name="list", default=())
    title_forms: Annotated[tuple[re.Pattern[str], ...], doc("lines that only have headings and titles")] = (
        field(name="titles", default=())
    )

    @cached_property
    def any_value(self) -> re.Pattern[str]:
        """The form of any value."""
        return re.compile("|".join(value.form.pattern for value in self.values) or _NOTHING.pattern, re.I)

    @cached_property
    def titles(self) -> re.Pattern[str]:
        """The start of a line that only has headings and titles."""
        return re.compile(
            rf"\s*(?:{'|'.join(form.pattern for form in self.title_forms) or _NOTHING.pattern})", re.I
        )


class PrintedFacts(FactFile, frozen=True, dict=True):
    """All report pages, and the patterns of their header by name."""

    path: ClassVar = "rmf_listings.toml"
    source: Annotated[str, doc("where they are from")]
    header_forms: Annotated[dict[str, re.Pattern[str]], doc("values of the header; group 1 is the text")] = (
        field(name="header")
    )
    listed: Annotated[tuple[ReportPage, ...], doc("pages")] = field(name="page")

    @cached_property
    def pages(self) -> dict[str, ReportPage]:
        """The pages by the key of their title."""
        return {key(page.title): page for page in self.listed}

    @cached_property
    def header(self) -> dict[str, re.Pattern[str]]:
        """Patterns of the values of the header in any case."""
        return {name: re.compile(form.pattern, re.I) for name, form in self.header_forms.items()}
