"""Parses the contents of a monitor record page: prolog, table of fields, cross reference, release.

Depending on how pages were saved, they have columns (three sets of them over the years), closed-up columns,
or the entire table on one line. No column position is relied on: a row is recognized by its pattern, and by
equal decimal and hexadecimal offsets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct, field

from zlens.errors import CatalogError
from zlens.record_pages.text import PageText

#: A monitor record never crosses a 4 KB frame, so this limits every offset and length.
MAX_RECORD = 4096
#: Maximum number of rows; a page with more is rejected.
MAX_ROWS = 4_000
_MAX_DOMAIN = 31
_MAX_NUMBER = 999
_MAX_BITS = 64
#: Maximum occurrences of a name in the cross reference (once in the record and in each section).
_MAX_PLACES = 16
#: Widths of the name column over the releases; a name of this width runs into its description.
_WIDTHS = (23, 20)
_LEAST_WIDTH = 20
#: Length of the record header.
_HEADER = 20
#: Maximum number of names for which truncated names are looked up.
_MAX_SEARCHED = 1_000
_MAX_PROLOG = 100_000

#: Known types; any other capitalized word at their position is reported.
TYPES = {
    **{name.capitalize(): name for name in ("character", "unsigned", "signed", "bitstring")},
    **{"Structure": "character", "Address": "unsigned"},
}

RECORD_NAME = re.compile(r"MR[A-Z0-9]{3,8}")
_HEADING = re.compile(r"(?<![A-Za-z0-9_])(MR[A-Z0-9]{3,8}) (Prolog|Control Block Contents?)(?![A-Za-z])")
_NAMED = re.compile(r"(?<!DSECT )(?<!DESCRIPTIVE )\bNAME ?- ?(MR[A-Z0-9]{3,8})(?![A-Za-z0-9_])")
_DESCRIBED = re.compile(
    r"\bDESCRIPTIVE NAME ?- ?Monitor ([A-Za-z ]{5,60}?) Records? Domain ?(\d{1,3}) ?[-:] ?(.{1,60}?) "
    r"Record ?(\d{1,5}) ?[-:] ?(.{1,160})",
    re.IGNORECASE,
)
#: Words that follow the record's title in a prolog.
_TITLE_END = re.compile(
    r" (?:(?:DESCRIPTION|NOTES?|COMMENTS?|FUNCTION|IMPLICATIONS|GENERAL NOTES?)\b"
    r"|(?i:description|notes?|comments?) ?[-:]|MR[A-Z0-9]{3,8} |This information|Offsets Dec|Last updated)"
)
#: The classes of records in a prolog, where words may be in any order.
_CLASSES = {
    **{"event": "event", "sample": "sample"},
    **dict.fromkeys(("event and sample", "sample and event"), "event+sample"),
}
_RELEASE = re.compile(
    r"\bbased on ?(?:IBM )?z/VM ?(?:"
    r"V(\d{1,2})R(\d{1,2})|Version (\d{1,2}),? Release (\d{1,2})|V?(\d{1,2})\.(\d{1,2}))",
    re.IGNORECASE,
)
_TABLE = re.compile(r"Dec\s{1,20}Hex\s{1,20}Type\s{1,20}Len\s{1,20}Name\s{0,5}\(Dim\)(\s{1,80}Description)?")
_FOOTER = (
    r"(?:\bThis\s{1,20}\w{1,20}\s{1,20})?\bis\s{1,20}based on\s{1,20}(?:IBM\s{1,20})?z/VM\b"
    r"|\bLast updated on\b|\bCopyright IBM\b"
)
_TABLE_END = re.compile(
    r"(?<![A-Za-z0-9_])MR[A-Z0-9]{3,8}\s{1,20}(?:Cross Reference|Storage Layout)(?![A-Za-z])"
    r"|Name\s{1,40}Offset\s{1,20}Length\s{1,20}Value"
    r"|" + _FOOTER
)
_CROSS = re.compile(r"Name\s{1,40}Offset\s{1,20}Length\s{1,20}Value")
_CROSS_END = re.compile(_FOOTER)
_ROW = re.compile(r"(\d{1,20}) ([0-9A-Fa-f]{1,16}) ([A-Z][A-Za-z]{2,19}) (\d{1,20})(\+?)(?= |$)")
_ROW_ANYWHERE = re.compile(r"(?<!\S)" + _ROW.pattern)
_BIT = re.compile(r"([01.]{4} [01.]{4})(?= |$)")
_BIT_ANYWHERE = re.compile(r"(?<!\S)" + _BIT.pattern)
_NAME = re.compile(r"(\*|[A-Z$#@][A-Za-z0-9_$#@]{0,63})(.*)", re.DOTALL)
_BOUNDS = re.compile(r" ?\( ?(\d{0,5}) ?(?:(:) ?(\d{0,5}) ?)?(\)?)")
_HEX = re.compile(r"[0-9A-F]{1,8}")


class Bit(Struct, frozen=True):
    """A named bit of a bitstring: the byte of the field and the value in it."""

    name: str
    byte: int
    value: int


class FieldRow(Struct):
    """A row of the table as on the page; `length` is the length of one element."""

    name: str
    offset: int
    length: int
    type: str
    line: int
    text: str = ""
    count: int = 1
    first: int = 1
    #: The next column truncated the array bounds; the count is derived from the next offset.
    cut: bool = False
    bits: list[Bit] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.offset + self.length * self.count


class Structure(Struct):
    """The rows under one Structure row: the record itself, then its sections."""

    name: str
    length: int
    variable: bool
    line: int
    text: str = ""
    rows: list[FieldRow] = field(default_factory=list)


class Reference(Struct, frozen=True):
    """A line of the cross reference. A bit has a value instead of a length."""

    offset: int
    length: int | None
    value: int | None


class RecordPage(Struct):
    """A parsed record page; `findings` are its inconsistencies, one sentence each."""

    file: str
    sha256: str
    record: str
    release: str | None
    domain: int | None = None
    number: int | None = None
    title: str = ""
    kind: str = ""
    structures: list[Structure] = field(default_factory=list)
    references: dict[str, list[Reference]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    #: A cross reference or a footer followed the table, so the page is not truncated.
    ended: bool = True
    #: Number of rows that contradict themselves and were omitted.
    rejected: int = 0

    @property
    def null(self) -> bool:
        """Whether the page has no table: the record is no longer produced."""
        return not self.structures


class _Item(Struct, frozen=True):
    """A row or a bit line of the table, and the text up to the next one."""

    line: int
    row: re.Match[str] | None
    bits: str
    text: str
    #: Text from the name to the description column, if the page has columns.
    column: str | None = None


def parse(text: PageText) -> RecordPage:
    """Parse a record page; raises `CatalogError` if it is not one."""
    text_body = "\n".join(text.lines)
    words = " ".join(text_body.split())
    page = RecordPage(text.file, text.sha256, _record(words, text), _release(words))
    start, width = _table_begin(text_body)
    prolog = " ".join(text_body[: start if start >= 0 else len(text_body)].split())[:_MAX_PROLOG]
    _prolog(prolog, page)
    if start < 0:
        if "Control Block Contents" in words:
            raise _no_rows(text)
        return page
    end = _TABLE_END.search(text_body, start)
    page.ended = end is not None
    stop = len(text_body) if end is None else end.start()
    if cross := _CROSS.search(text_body, stop):
        footer = _CROSS_END.search(text_body, cross.end())
        page.references = _references(text_body[cross.end() : footer.start() if footer else len(text_body)])
    items = _items(text_body[start:stop], text_body.count("\n", 0, start) + 1, width)
    _structures(items, page)
    if not page.structures:
        raise _no_rows(text)
    return page


def _no_rows(text: PageText) -> CatalogError:
    return CatalogError(
        "the page has no readable row of a field table",
        file=text.file,
        expected="rows such as `20 14 Unsigned 4 NAME`",
        cure="save the complete page again from the browser, as HTML or as text",
    )


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return None if match is None else match[1]


def _record(words: str, text: PageText) -> str:
    """Return the record's name: from the headings, which are more reliable than the names in the prolog."""
    name = _first(_HEADING, words) or _first(_NAMED, words)
    if name is None:
        # Some saved copies have no headings, but the file may still be named after the record.
        stem = text.file.replace("\\", "/").rsplit("/", 1)[-1].split(".")[0].upper()
        if RECORD_NAME.fullmatch(stem) and _TABLE.search("\n".join(text.lines)):
            return stem
        raise CatalogError(
            "the file is not a monitor record page",
            file=text.file,
            expected="a heading such as `MRSYTPRP Prolog`",
            cure="import the pages of single records (MRxxxxxx), as published for your z/VM release",
        )
    return name


def _release(words: str) -> str | None:
    match = _RELEASE.search(words)
    if match is None:
        return None
    version, release = [group for group in match.groups() if group is not None][:2]
    return f"{int(version)}.{int(release)}"


def _prolog(prolog: str, page: RecordPage) -> None:
    match = _DESCRIBED.search(prolog)
    if match is None:
        return
    words = " ".join(match[1].lower().split())
    kind = _CLASSES.get(words.removesuffix(" configuration"))
    if kind is None:
        page.findings.append(f"the class `Monitor {match[1]} Record` is unknown; treated as an event record")
    is_configuration = kind is not None and words.endswith(" configuration")
    page.kind = (kind or "event") + ("-config" if is_configuration else "")
    domain, number = int(match[2]), int(match[4])
    if domain > _MAX_DOMAIN or not 0 < number <= _MAX_NUMBER:
        page.findings.append(f"domain {domain} record {number} is not valid")
    else:
        page.domain, page.number = domain, number
    title = _TITLE_END.split(match[5] + " ", maxsplit=1)[0].strip()
    page.title = title[:120]


def _table_begin(text_body: str) -> tuple[int, int | None]:
    """Return the offset of the rows, and the width of the name column if the page has columns."""
    if match := _TABLE.search(text_body):
        line = text_body[text_body.rfind("\n", 0, match.start()) + 1 : match.end()]
        width = line.index("Description") - line.index("Name") if match[1] and "\n" not in line else 0
        return match.end(), width if width >= _LEAST_WIDTH else None
    # Copies without column headings.
    first = re.search(r"(?<!\S)0\s{1,20}0\s{1,20}Structure\s{1,20}\d", text_body)
    return (-1 if first is None else first.start()), None


def _items(table: str, line: int, width: int | None) -> Iterator[_Item]:
    """Return rows and bit lines: by line if each row has its own line, otherwise from the entire text."""
    lines = [(number, raw, " ".join(raw.split())) for number, raw in enumerate(table.split("\n"), start=line)]
    starting = sum(1 for _, _, text in lines if _ROW.match(text))
    anywhere = sum(1 for _, _, text in lines for _ in _ROW_ANYWHERE.finditer(text))
    if starting * 2 >= anywhere and starting > 1:
        return _items_of_lines(lines, width)
    flat = _TABLE.sub(" ", " ".join(text for _, _, text in lines if text))
    return _items_of_text(" ".join(flat.split()), line)


def _items_of_lines(lines: list[tuple[int, str, str]], width: int | None) -> Iterator[_Item]:
    row: re.Match[str] | None = None
    line_number, bits, column = 0, "", None
    parts: list[str] = []
    for number, raw, text in lines:
        match = _ROW.match(text)
        bit = None if match else _BIT.match(text)
        if match is None and bit is None:
            if text and not _TABLE.match(text) and text != "Offsets":
                parts.append(text)
            continue
        if line_number:
            yield _Item(line_number, row, bits, " ".join(parts), column)
        row, line_number, bits = match, number, bit[1] if bit else ""
        mark = match if match is not None else bit
        assert mark is not None
        parts = [text[mark.end() :].strip()]
        column = _column(raw, parts[0], width) if match else None
    if line_number:
        yield _Item(line_number, row, bits, " ".join(parts), column)


def _column(raw: str, rest: str, width: int | None) -> str | None:
    """Return the name column of a line whose name fills it, so that no blank separates the description."""
    word = rest.split(" ", 1)[0]
    if width is None or len(word) <= width:
        return None
    start = raw.find(word)
    return raw[start : start + width] if start > 0 and raw[start - 1] == " " else None


def _items_of_text(text: str, line: int) -> Iterator[_Item]:
    marks = [(match.start(), match, True) for match in _ROW_ANYWHERE.finditer(text)]
    marks += [(match.start(), match, False) for match in _BIT_ANYWHERE.finditer(text)]
    marks.sort(key=lambda mark: mark[0])
    ends = [*(mark[0] for mark in marks[1:]), len(text)]
    for (_, match, is_row), end in zip(marks, ends, strict=False):
        rest = text[match.end() : end].strip()
        yield _Item(line, match if is_row else None, "" if is_row else match[1], rest)


def _structures(items: Iterator[_Item], page: RecordPage) -> None:
    current: Structure | None = None
    row: FieldRow | None = None
    for count, item in enumerate(items, 1):
        if count > MAX_ROWS:
            message = f"the table has more than {MAX_ROWS:,} rows"
            raise CatalogError(message, file=page.file, expected="a page of one record")
        if item.row is None:
            if row is not None:
                _bit(row, item)
            continue
        parsed = _row(item, page)
        if isinstance(parsed, Structure):
            current, row = parsed, None
            page.structures.append(parsed)
        elif parsed is None:
            row = None
        elif current and parsed.offset == 0 and current.rows and current.rows[-1].offset >= _HEADER:
            # A section without a Structure row.
            current = Structure(parsed.name, parsed.length, False, item.line, parsed.text)
            row = None
            page.structures.append(current)
        elif current is None:
            page.findings.append(
                f"{parsed.name} (line {item.line}) comes before the row of its structure; left out"
            )
            page.rejected += 1
        else:
            row = parsed
            current.rows.append(parsed)
    for structure in page.structures:
        _array_counts(structure, page)
        if not structure.length:
            structure.length = max((row.end for row in structure.rows), default=0)


def _row(item: _Item, page: RecordPage) -> FieldRow | Structure | None:
    assert item.row is not None
    where = f"line {item.line}"
    decimal, hexadecimal, type_name, digits, plus = item.row.groups()
    offset, length = int(decimal), int(digits)
    name, bounds, text = _split(item, page, offset, length)
    if offset != int(hexadecimal, 16):
        page.findings.append(f"{name} ({where}): offset {decimal} is not hexadecimal {hexadecimal}; left out")
    elif offset + length > MAX_RECORD:
        page.findings.append(
            f"{name} ({where}): offset {decimal} length {digits} exceeds {MAX_RECORD:,} bytes, "
            "which no record has; left out"
        )
    elif type_name == "Structure" and offset == 0:
        return Structure(name, length, plus == "+", item.line, text)
    else:
        if type_name not in TYPES:
            page.findings.append(f"{name} ({where}): type {type_name} is unknown; treated as bytes")
        row = FieldRow(name, offset, length, TYPES.get(type_name, "character"), item.line, text)
        if bounds and _bounded(row, bounds, where, page):
            return row
        if not bounds:
            return row
    page.rejected += 1
    return None


def _bounded(row: FieldRow, bounds: re.Match[str], where: str, page: RecordPage) -> bool:
    low, colon, high, closed = bounds.groups()
    row.cut = not closed
    if colon:
        row.first = int(low or 1)
        last = int(high) if high else row.first
    else:
        last = int(low) if low and closed else 1
    row.count = last - row.first + 1
    if closed and (row.first, last) == (1, 0):
        # `(0)` marks the offset of what follows.
        row.count, row.length = 1, 0
    if row.count < 1 or (row.end > MAX_RECORD and not row.cut):
        page.findings.append(f"{row.name} ({where}): bounds {bounds[0].strip()} are not valid; left out")
        return False
    return True


def _split(item: _Item, page: RecordPage, offset: int, length: int) -> tuple[str, re.Match[str] | None, str]:
    """Return name, array bounds and description, which may follow without a blank."""
    token, _, text = item.text.partition(" ")
    match = _NAME.match(token)
    if item.column is not None and (match is None or match[1] not in page.references):
        token, text = item.column, item.text[len(item.column) :]
        match = _NAME.match(token)
    if match is None or (match[1] not in page.references and _is_word(match[1])):
        # A row without a name; the text is its description.
        return "*", None, item.text
    name, rest = match[1], match[2]
    if not rest:
        bounds = _BOUNDS.match(text) if text.startswith("(") else None
        text = text[bounds.end() :] if bounds else text
    else:
        bounds = _BOUNDS.match(rest)
        text = f"{rest[bounds.end() if bounds else 0 :]} {text}"
    if name != "*" and page.references and not _is_at(name, page, offset):
        name, more = _referenced(name, page, offset, length)
        text = f"{more} {text}"
    return name, bounds, text.strip()


def _is_at(name: str, page: RecordPage, offset: int) -> bool:
    """Return whether the cross reference has the name, at this offset if the name may be truncated."""
    refs = page.references.get(name, ())
    return bool(refs) and (len(name) < _LEAST_WIDTH or any(ref.offset == offset for ref in refs))


def _is_word(name: str) -> bool:
    return len(name) > 1 and "_" not in name and any(character.islower() for character in name)


def _referenced(name: str, page: RecordPage, offset: int, length: int) -> tuple[str, str]:
    """Return the full name in the cross reference for a name that is cut off or runs into its description."""
    for end in range(len(name) - 1, _LEAST_WIDTH - 1, -1):
        if any(ref.offset == offset for ref in page.references.get(name[:end], ())):
            return name[:end], name[end:]
    for width in (len(name), *(width for width in _WIDTHS if width < len(name))):
        if width < _LEAST_WIDTH or len(page.references) > _MAX_SEARCHED:
            continue
        for full_name, refs in page.references.items():
            if full_name.startswith(name[:width]) and any(
                ref.offset == offset and ref.length == length for ref in refs
            ):
                return full_name, name[width:]
    return name, ""


def _bit(row: FieldRow, item: _Item) -> None:
    """Add a bit line; a bit that is not lower than the previous one starts the next byte."""
    pattern = item.bits.replace(" ", "")
    value = int(pattern.replace(".", "0"), 2)
    if value == 0 or len(row.bits) >= _MAX_BITS:
        return
    match = _NAME.match(item.text.partition(" ")[0])
    name = match[1] if match and not match[2] else "*"
    byte = row.bits[-1].byte if row.bits else 0
    if row.bits and value >= row.bits[-1].value and byte + 1 < max(row.length, 1):
        byte += 1
    row.bits.append(Bit(name, byte, value))


def _array_counts(structure: Structure, page: RecordPage) -> None:
    """Set counts of arrays with truncated bounds: up to the next field."""
    starts = sorted({row.offset for row in structure.rows})
    for row in structure.rows:
        if not row.cut:
            continue
        following = bisect_right(starts, row.offset)
        end = starts[following] if following < len(starts) else structure.length
        count, remainder = divmod(end - row.offset, row.length) if row.length else (0, 1)
        stated, last = row.count, str(row.first + row.count - 1)
        # The rest of the upper bound, if any, is its beginning.
        fits = remainder == 0 and count > 0 and (stated == 1 or str(row.first + count - 1).startswith(last))
        row.count = count if fits else stated
        if row.end > MAX_RECORD:
            row.count = 1
        if row.count != stated:
            page.findings.append(
                f"{row.name} (line {row.line}): its bounds are truncated; read as {row.count} elements, "
                "up to the next field"
            )


def _references(text: str) -> dict[str, list[Reference]]:
    """Parse the cross reference: name, hexadecimal offset, then a length or, for a bit, a value."""
    references: dict[str, list[Reference]] = {}
    lines = [line.split() for line in text.split("\n")]
    if any(len(words) > 4 for words in lines):
        lines = list(_triples([word for words in lines for word in words]))
    for words in lines[:MAX_ROWS]:
        if len(words) not in (3, 4) or not _NAME.fullmatch(words[0]) or not _HEX.fullmatch(words[1]):
            continue
        name = words[0].split("(", 1)[0]
        length = int(words[2]) if words[2].isdecimal() and len(words[2]) <= 8 else None
        value = int(words[-1], 16) if _HEX.fullmatch(words[-1]) else None
        if length is None and value is None:
            continue
        refs = references.setdefault(name, [])
        if len(refs) < _MAX_PLACES:
            refs.append(Reference(int(words[1], 16), length, value))
    return references


def _triples(words: list[str]) -> Iterator[list[str]]:
    """Yield lines of a cross reference without line ends. A name may look like a hexadecimal number."""
    index = 0
    while index + 2 < len(words):
        if not _begins(words[index : index + 3]):
            index += 1
            continue
        ahead = words[index + 3 : index + 7]
        # A fourth word is a value if a complete line begins after it and none begins with it.
        fourth = bool(ahead) and bool(_HEX.fullmatch(ahead[0])) and not _begins(ahead) and _begins(ahead[1:])
        count = 4 if fourth else 3
        yield words[index : index + count]
        index += count


def _begins(words: list[str]) -> bool:
    """Return whether words begin with a name and two hexadecimal numbers, or are at the end."""
    return not words or (len(words) >= 3 and all(map(re.Pattern.fullmatch, (_NAME, _HEX, _HEX), words)))
