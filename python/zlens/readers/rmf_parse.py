"""Parsing RMF report XML in a stream, whatever state it is in.

Expat is fed windows of the file; nothing is expanded, nothing outside the file is opened, and every
length that the file decides is bounded. What is damaged is skipped up to the next report.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from zlens.catalog.rmf_reports import Report, ReportColumn, Section, key
from zlens.problems import Problem
from zlens.readers import rmf_values as values

WINDOW = 256 * 1024
#: Reports nest seven deep; beyond this the file is not one.
MAX_DEPTH = 32
#: A cell, name or value RMF prints is well under a hundred characters.
MAX_TEXT = 1024
#: Expat must hold a tag or comment whole, so one without end would grow in memory.
MAX_TOKEN = 1024 * 1024
#: Expat keeps the name of every element and attribute it ever met; reports have about fifty.
MAX_NAMES = 2_000
MAX_CELLS = 256
#: A machine has at most 85 partitions and a few hundred processors.
MAX_ROWS_PER_INTERVAL = 20_000
MAX_RESYNCS = 1_000
MAX_NOTES = 1_000
_CACHE = 4_096

_TAG = "<postprocessor"
_PREFIX = "<ddsml>"
_ROOT = re.compile(r"<(?:!DOCTYPE\s+)?(?:ddsml|postprocessor)\b")
_DECLARED = re.compile(r"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._\-]{1,40})[\"']")

#: Declared names of encodings of one byte a character that are read as declared; the rest as UTF-8.
_SINGLE_BYTE = {
    "iso-8859-1": "ISO-8859-1",
    "latin1": "ISO-8859-1",
    "iso-8859-15": "iso-8859-15",
    "windows-1252": "windows-1252",
    "cp1252": "windows-1252",
}

_KNOWN = frozenset(
    {
        *("ddsml", "server", "name", "version", "functionality", "platform", "postprocessor", "report"),
        *("metric", "description", "type", "smf-data", "rmf-report"),
        *("resource", "resname", "restype", "reslabel", "reslabelurl"),
        *("time-data", "display-start", "display-end", "report-interval", "cycle"),
        *("segment", "part", "var-list", "var", "value", "table", "column-headers", "col", "row"),
        *("message", "severity", "rmf-mfpmsg", "mfpmsg"),
    }
)


@dataclass(frozen=True, slots=True)
class Form:
    """How the bytes of a file are to be read."""

    encoding: str
    #: Where the XML begins, after a byte order mark and blanks.
    begin: int
    ebcdic: bool = False
    #: An encoding the file declares and is not read with.
    stale: str | None = None

    @property
    def unit(self) -> int:
        return 2 if self.encoding.startswith("UTF-16") else 1


def form_of(head: bytes) -> Form | None:
    """How a file is read whose first bytes are these; None if it is no RMF report XML."""
    codec, begin = "utf-8", 0
    if head.startswith(b"\xef\xbb\xbf"):
        begin = 3
    elif head.startswith((b"\xff\xfe", b"\xfe\xff")):
        codec, begin = ("utf-16-le" if head[0] == 0xFF else "utf-16-be"), 2
    elif head[:1] == b"<" and head[1:2] == b"\0":
        codec = "utf-16-le"
    elif head[:2] == b"\0<":
        codec = "utf-16-be"
    elif head[:1] == b"\x4c":
        # '<' in EBCDIC; in ASCII it is the letter L, which begins no XML.
        codec = "cp037"
    text = head[begin:].decode(codec, "replace")
    blanks = len(text) - len(text.lstrip())
    if text[blanks : blanks + 1] != "<" or not _ROOT.search(text):
        return None
    if codec == "cp037":
        return Form(codec, begin, ebcdic=True)
    if codec != "utf-8":
        return Form("UTF-16LE" if codec == "utf-16-le" else "UTF-16BE", begin + 2 * blanks)
    declared = _DECLARED.match(text, blanks)
    name = declared[1].lower() if declared else "utf-8"
    stale = declared[1] if declared and name not in {"utf-8", "utf8", "us-ascii", *_SINGLE_BYTE} else None
    return Form(_SINGLE_BYTE.get(name, "UTF-8"), begin + blanks, stale=stale)


@dataclass(slots=True)
class Note:
    """A problem and how often it was met."""

    kind: str
    record: str | None
    detail: str
    offset: int
    bytes: int | None
    count: int = 1
    system: str | None = None


class Notes:
    """The problems of one file, one each however often it recurs."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, ...], Note] = {}
        self._more = 0

    def add(
        self,
        kind: str,
        detail: str,
        offset: int,
        *,
        record: str | None = None,
        lost: int | None = 0,
        about: str | None = None,
        system: str | None = None,
    ) -> None:
        """`about` names what recurs, where `detail` differs from time to time; the first detail is kept."""
        name = (kind, record or "", about or detail)
        note = self._notes.get(name)
        if note is not None:
            note.count += 1
            if note.bytes is not None:
                note.bytes = None if lost is None else note.bytes + lost
        elif len(self._notes) < MAX_NOTES:
            self._notes[name] = Note(kind, record, detail, offset, lost, system=system)
        else:
            self._more += 1

    def problems(self, source: str, file: str) -> list[Problem]:
        found = [
            Problem(
                n.system,
                source,
                file,
                n.offset,
                n.record,
                n.kind,
                n.detail + (f" ({n.count:,} times, the first here)" if n.count > 1 else ""),
                n.bytes,
            )
            for n in self._notes.values()
        ]
        if self._more:
            detail = f"{self._more:,} more problems of this file are not listed"
            found.append(Problem(None, source, file, None, None, "section", detail, None))
        return found


class Converter:
    """From the text of a cell to the value of a column. Equal texts give one object: values recur."""

    __slots__ = ("cache", "column", "none")

    def __init__(self, column: ReportColumn, not_applicable: tuple[str, ...]) -> None:
        self.column = column
        self.none = {text.upper() for text in (*not_applicable, *column.not_applicable)}
        self.cache: dict[str, Any] = {}

    def convert(self, text: str) -> Any:
        """Raises NotAValueError."""
        value = self._value(text)
        if len(self.cache) < _CACHE:
            self.cache[text] = value
        return value

    def _value(self, text: str) -> Any:
        column = self.column
        if values.nothing(text) or text.upper() in self.none:
            return None
        if column.take:
            verb, _, operand = column.take.partition(" ")
            if verb == "equals":
                return text == operand
            if verb == "letter":
                letters = text.split()
                if len(letters) < int(operand):
                    raise values.NotAValueError(f"{operand} letters")
                return values.yes_no(letters[int(operand) - 1])
            inner = re.search(r"\(([^()]*)\)[^()]*$", text)
            return column.rename.get(inner[1], inner[1]) if inner else None
        if column.type == "text":
            return column.rename.get(text, text)
        if column.type == "int":
            return values.integer(text)
        if column.type == "float":
            return values.decimal(text)
        if column.type == "bool":
            return values.yes_no(text)
        return values.milliseconds(text) / 1000


@dataclass(slots=True)
class Rows:
    """How the cells of a table with certain heads become the columns of its section."""

    section: Section
    width: int
    cells: list[tuple[int, Converter] | None]
    #: Heads the catalog does not know.
    unknown: list[str]


@dataclass(slots=True)
class Seen:
    """How often a section stands in a report, and how long it is."""

    count: int = 0
    bytes: int = 0
    known: bool = False


@dataclass(slots=True)
class ReportInterval:
    """One report of one interval, as far as it was read."""

    offset: int
    metric: str = ""
    title: str = ""
    type: str = ""
    smf_level: str = ""
    rmf_level: str = ""
    system: str = ""
    start: tuple[str, str | None] | None = None
    end: tuple[str, str | None] | None = None
    length: str = ""
    length_unit: str = ""
    cycle: str = ""
    #: Values of the sections that are lists, by section and column.
    variables: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Rows of the sections that are tables, by section: offset, kind, values.
    rows: dict[str, list[tuple[int, str | None, list[Any]]]] = field(default_factory=dict)
    row_count: int = 0
    lost_rows: int = 0
    sections: dict[str, Seen] = field(default_factory=dict)
    answered: bool = False
    cut: bool = False
    bytes: int = 0


class _DamageError(Exception):
    """The document cannot be read on from here."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


class Parser:
    """Reads one file and hands over every report in it."""

    def __init__(
        self,
        facts: Report,
        converters: dict[tuple[str, str], Converter],
        notes: Notes,
        commit: Callable[[ReportInterval], None],
        progress: Callable[[int], None],
    ) -> None:
        self.facts = facts
        self.converters = converters
        self.notes = notes
        self.commit = commit
        self.progress = progress
        #: Messages RMF wrote instead of a report, and reports of other kinds, in words.
        self.refusals: list[tuple[str, int]] = []
        #: How many of them are messages.
        self.answers = 0
        self.server = ""
        self._sections: dict[tuple[str, str, str], Section | None] = {}
        self._plans: dict[tuple[str, tuple[str, ...]], Rows] = {}
        self._heads: dict[tuple[str, str], tuple[ReportColumn, ...]] = {}
        self._ends: dict[tuple[str, str], Callable[[str], None]] = {
            ("server", "version"): self._end_server,
            ("metric", "description"): self._end_metric_description,
            ("metric", "type"): self._end_metric_type,
            ("version", "smf-data"): self._end_smf_level,
            ("version", "rmf-report"): self._end_rmf_level,
            ("resource", "resname"): self._end_resource,
            ("time-data", "display-start"): self._end_start,
            ("time-data", "display-end"): self._end_end,
            ("time-data", "report-interval"): self._end_length,
            ("time-data", "cycle"): self._end_cycle,
            ("segment", "name"): self._end_segment_name,
            ("part", "name"): self._end_part_name,
            ("var", "name"): self._end_var_name,
            ("var", "value"): self._end_var_value,
            ("var-list", "var"): self._end_var,
            ("segment", "part"): self._end_part,
            ("part", "table"): self._end_table,
            ("table", "column-headers"): self._end_heads,
            ("table", "row"): self._end_row,
            ("message", "description"): self._end_message,
            ("rmf-mfpmsg", "mfpmsg"): self._end_listing,
            ("ddsml", "postprocessor"): self._end_report,
            ("", "postprocessor"): self._end_report,
            ("ddsml", "report"): self._end_other,
        }
        self._reset()

    # -- the file ---------------------------------------------------------------------------------

    def read(self, fd: int, size: int, form: Form) -> int:
        """Read the file; returns how many bytes of `size` there were."""
        begin, prefix, resyncs = form.begin, b"", 0
        while True:
            end, damage, at = self._read_from(fd, size, begin, prefix, form)
            open_interval = self._interval
            if open_interval is not None:
                self._close(open_interval, at, cut=True)
            if damage is None:
                return end
            resyncs += 1
            found = None
            if damage.kind != "truncated" and resyncs <= MAX_RESYNCS:
                found = _find(fd, size, max(at, begin + form.unit), form)
            system = open_interval.system or None if open_interval else None
            if found is None:
                rest = "" if damage.kind == "truncated" else "; the rest of the file is not read"
                lost = 0 if damage.kind == "truncated" else size - at
                self.notes.add(damage.kind, damage.detail + rest, at, lost=lost, system=system)
                return end if damage.kind == "truncated" else size
            self.notes.add(
                damage.kind,
                f"{damage.detail}; {found - at:,} bytes skipped to the next report",
                at,
                lost=found - at,
                about=damage.detail,
                system=system,
            )
            begin, prefix = found, _PREFIX.encode(_codec(form))
            self._reset()

    def _read_from(
        self, fd: int, size: int, begin: int, prefix: bytes, form: Form
    ) -> tuple[int, _DamageError | None, int]:
        """Parse from `begin`. Returns how far the file reached, what stopped the parse, and where."""
        names: dict[str, str] = {}
        parser = expat.ParserCreate(form.encoding, intern=names)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        self._parser = parser
        self._base = begin - len(prefix)
        position = begin
        try:
            parser.Parse(prefix, False)
            while position < size:
                window = os.pread(fd, min(WINDOW, size - position), position)
                if not window:
                    break
                position += len(window)
                parser.Parse(window, False)
                if position - self._here() > MAX_TOKEN:
                    detail = f"a tag or comment of more than {MAX_TOKEN:,} bytes"
                    return position, _DamageError("length", detail), self._here()
                if len(names) > MAX_NAMES:
                    detail = f"more than {MAX_NAMES:,} different names of elements"
                    return position, _DamageError("header", detail), self._here()
                self.progress(position)
            whole = not self._stack
            try:
                parser.Parse(b"", True)
            except expat.ExpatError:
                if whole and self._done:
                    raise
                return position, self._truncated(), position
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            at = min(max(self._base + parser.ErrorByteIndex, begin), size)
            return position, _DamageError("resync", f"damaged XML ({what})"), at
        except _DamageError as damage:
            return position, damage, self._here()
        finally:
            # The handlers refer to this object and it to the parser: let both go at once.
            parser.StartElementHandler = parser.EndElementHandler = None
            parser.CharacterDataHandler = parser.StartDoctypeDeclHandler = None
        return position, None, position

    def _truncated(self) -> _DamageError:
        inside = f"inside <{self._stack[-1]}>" if self._stack else "before the first element"
        kept = ""
        if self._interval is not None:
            ends = self._interval.end
            if ends is not None and ends[0]:
                kept = f"; of the interval that ends {ends[0]} {self._interval.row_count:,} rows are whole"
            else:
                kept = "; of the last interval not even the time was whole"
        return _DamageError("truncated", f"the file ends {inside}{kept}")

    def _reset(self) -> None:
        self._stack: list[str] = []
        self._done = False
        self._interval: ReportInterval | None = None
        #: Inside a report that is read; inside one of Monitor III.
        self._reading = self._foreign = False
        self._pieces: list[str] = []
        self._room = MAX_TEXT
        self._attributes: dict[str, str] = {}
        self._segment = self._part = ""
        self._part_offset = self._foreign_offset = self._message_offset = 0
        self._part_known = self._part_noted = False
        self._variable = self._value = ""
        self._cells: list[str] = []
        self._row_offset = 0
        self._row_type: str | None = None
        self._rows: Rows | None = None
        self._message_id = self._other = self._other_title = ""

    def _here(self) -> int:
        return self._base + self._parser.CurrentByteIndex

    # -- what expat calls -------------------------------------------------------------------------

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        raise _DamageError("header", "a document type declaration; RMF writes none, no entity is expanded")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        stack = self._stack
        stack.append(name)
        self._pieces = []
        self._room = MAX_TEXT
        if name == "col":
            return
        if name == "row":
            self._cells = []
            self._row_offset = self._base + self._parser.CurrentByteIndex
            self._row_type = attributes.get("type")
            return
        if len(stack) > MAX_DEPTH:
            raise _DamageError("header", f"elements nested more than {MAX_DEPTH} deep")
        if name == "column-headers":
            self._cells = []
        elif name == "table":
            self._rows = None
        elif name == "var":
            self._variable = self._value = ""
        elif name == "part":
            self._part = ""
            self._part_offset = self._here()
            self._part_known = self._part_noted = False
        elif name == "segment":
            self._segment = self._part = ""
        elif name == "report":
            self._foreign = True
            self._foreign_offset = self._here()
        elif name == "postprocessor":
            if self._interval is not None:
                raise _DamageError("resync", "damaged XML (a report begins inside another)")
            self._interval = ReportInterval(self._here())
        elif name == "metric":
            if self._interval is not None:
                self._interval.metric = attributes.get("id", "")[:MAX_TEXT]
                self._reading = self._interval.metric == self.facts.report
            else:
                self._other = attributes.get("id", "")[:MAX_TEXT]
        elif name == "message":
            self._message_offset = self._here()
            self._message_id = attributes.get("id", "")[:MAX_TEXT]
        elif name not in _KNOWN and (self._reading or not (self._foreign or self._interval)):
            self._note("section", f"element <{name[:80]}> is not expected; not read", about=name)
        if attributes:
            self._attributes = attributes

    def _end(self, name: str) -> None:
        stack = self._stack
        stack.pop()
        if name == "col":
            if self._room < 0:
                self._note("length", f"a cell of more than {MAX_TEXT:,} characters; not read")
                self._pieces = []
            if len(self._cells) <= MAX_CELLS:
                self._cells.append("".join(self._pieces).strip())
            self._pieces = []
            return
        action = self._ends.get((stack[-1] if stack else "", name))
        if not stack:
            self._done = True
        if action is not None:
            if self._room < 0:
                self._note("length", f"<{name}> with more than {MAX_TEXT:,} characters; cut off")
            action("".join(self._pieces)[:MAX_TEXT].strip())
        self._pieces = []
        self._room = MAX_TEXT

    def _text(self, text: str) -> None:
        if self._room >= 0:
            self._pieces.append(text)
            self._room -= len(text)

    # -- the header of a report -------------------------------------------------------------------

    def _end_server(self, text: str) -> None:
        self.server = text

    def _end_metric_description(self, text: str) -> None:
        if self._interval is not None:
            self._interval.title = text
        else:
            self._other_title = text

    def _end_metric_type(self, text: str) -> None:
        if self._interval is not None:
            self._interval.type = text

    def _end_smf_level(self, text: str) -> None:
        if self._interval is not None:
            self._interval.smf_level = text

    def _end_rmf_level(self, text: str) -> None:
        if self._interval is not None:
            self._interval.rmf_level = text

    def _end_resource(self, text: str) -> None:
        if self._interval is not None:
            self._interval.system = text

    def _end_start(self, text: str) -> None:
        if self._interval is not None:
            self._interval.start = (text, self._attributes.get("locale"))

    def _end_end(self, text: str) -> None:
        if self._interval is not None:
            self._interval.end = (text, self._attributes.get("locale"))

    def _end_length(self, text: str) -> None:
        if self._interval is not None:
            self._interval.length = text

    def _end_cycle(self, text: str) -> None:
        if self._interval is not None:
            self._interval.cycle = text

    def _end_message(self, text: str) -> None:
        said = f"RMF answered {self._message_id}: {text}" if self._message_id else f"RMF answered: {text}"
        if self._interval is not None:
            self._interval.answered = True
        self.answers += 1
        self._refuse(said, self._message_offset)

    def _end_listing(self, text: str) -> None:
        # Listings of the options end in I; a warning or error is worth a row.
        name = self._attributes.get("id", "")
        if name[-1:].upper() in {"W", "E", "S", "T"}:
            self._note("section", f"RMF wrote {name[:20]}: {text}")

    def _end_report(self, text: str) -> None:
        if self._interval is not None:
            self._close(self._interval, self._here(), cut=False)

    def _end_other(self, text: str) -> None:
        self._foreign = False
        name, title = self._other or "without a name", self._other_title
        # Titles begin with the name: CPC (Central Processor Complex).
        name = title if title.startswith(name) else f"{name} ({title})" if title else name
        why = f"this is the RMF Monitor III report {name}; this version reads the Postprocessor's CPU"
        self._refuse(why, self._foreign_offset, self._here() - self._foreign_offset)

    def _refuse(self, why: str, offset: int, lost: int = 0) -> None:
        if len(self.refusals) < 10:
            self.refusals.append((why, offset))
        self.notes.add("section", why, offset, about=why, lost=lost)

    def _close(self, interval: ReportInterval, end: int, *, cut: bool) -> None:
        self._interval = None
        self._reading = False
        interval.cut = cut
        interval.bytes = end - interval.offset
        if not interval.metric:
            if not interval.answered and not cut:
                self.notes.add(
                    "section", "a report without a name; not read", interval.offset, lost=interval.bytes
                )
            return
        if interval.metric != self.facts.report:
            title = f" ({interval.title})" if interval.title else ""
            why = f"this is the RMF Postprocessor report {interval.metric}{title}; this version reads CPU"
            self._refuse(why, interval.offset, interval.bytes)
            return
        self.commit(interval)

    # -- sections ---------------------------------------------------------------------------------

    def _note(self, kind: str, detail: str, *, about: str | None = None, offset: int | None = None) -> None:
        record = f"{self._segment}: {self._part}" if self._part else self._segment or None
        self.notes.add(kind, detail, self._here() if offset is None else offset, record=record, about=about)

    def _end_segment_name(self, text: str) -> None:
        self._segment = text

    def _end_part_name(self, text: str) -> None:
        self._part = text

    def _section(self, shape: str) -> Section | None:
        """The section this place of the file belongs to."""
        place = (self._segment, self._part, shape)
        if place not in self._sections:
            if len(self._sections) > MAX_NOTES:
                self._sections.clear()
            self._sections[place] = self.facts.find(*place)
        section = self._sections[place]
        if section is not None:
            self._part_known = True
        elif not self._part_noted and self._known_elsewhere(shape):
            self._part_noted = True
            self._note("section", f"the section holds {shape} that are not expected; not read")
        return section

    def _known_elsewhere(self, shape: str) -> bool:
        other = "table" if shape == "variables" else "variables"
        return self.facts.find(self._segment, self._part, other) is not None

    def _end_part(self, text: str) -> None:
        interval = self._interval
        if interval is None or not self._reading:
            return
        label = f"{self._segment}: {self._part}" if self._part else self._segment
        length = self._here() - self._part_offset
        if label in interval.sections or len(interval.sections) < MAX_CELLS:
            seen = interval.sections.setdefault(label, Seen())
            seen.count += 1
            seen.bytes += length
            seen.known = seen.known or self._part_known
        if not self._part_known:
            self.notes.add(
                "section",
                f"section {label!r} is not in the catalog; not read",
                self._part_offset,
                record=label,
                lost=length,
                about="section",
            )
        self._part = ""

    def _columns(self, section: Section, head: str) -> tuple[ReportColumn, ...]:
        """The columns a head feeds; none if the catalog does not know it."""
        place = (section.id, head)
        columns = self._heads.get(place)
        if columns is None:
            columns = section.heads.get(key(head), ())
            if len(self._heads) < _CACHE:
                self._heads[place] = columns
        return columns

    def _unknown(self, head: str) -> None:
        self._note("section", f"{head[:80]!r} is not in the catalog; not read", about=head)

    def _converter(self, section: Section, column: ReportColumn) -> Converter:
        place = (section.id, column.name)
        converter = self.converters.get(place)
        if converter is None:
            converter = self.converters[place] = Converter(column, self.facts.not_applicable)
        return converter

    def _value_of(self, converter: Converter, text: str, offset: int) -> Any:
        try:
            return converter.convert(text)
        except values.NotAValueError as error:
            self._note(
                "section",
                f"{text[:80]!r} under {converter.column.head!r} is not {error}; not read",
                about=converter.column.name,
                offset=offset,
            )
            return None

    # -- lists of values --------------------------------------------------------------------------

    def _end_var_name(self, text: str) -> None:
        self._variable = text

    def _end_var_value(self, text: str) -> None:
        self._value = text

    def _end_var(self, text: str) -> None:
        interval = self._interval
        if interval is None or not self._reading:
            return
        section = self._section("variables")
        if section is None:
            return
        into = interval.variables.setdefault(section.id, {})
        columns = self._columns(section, self._variable)
        if not columns:
            self._unknown(self._variable)
        for column in columns:
            converter = self._converter(section, column)
            if self._value in converter.cache:
                into[column.name] = converter.cache[self._value]
            else:
                into[column.name] = self._value_of(converter, self._value, self._here())

    # -- tables -----------------------------------------------------------------------------------

    def _end_heads(self, text: str) -> None:
        heads = tuple(self._cells)
        self._cells = []
        section = self._section("table") if self._reading else None
        if section is None:
            return
        place = (section.id, heads)
        rows = self._plans.get(place)
        if rows is None:
            found: dict[str, tuple[int, Converter]] = {}
            for number, head in enumerate(heads):
                for column in self._columns(section, head):
                    if column.name in found:
                        self._note("section", f"{head[:80]!r} stands twice; the first is read", about=head)
                    else:
                        found[column.name] = (number, self._converter(section, column))
            cells = [found.get(column.name) for column in section.columns]
            unknown = [head for head in heads if not self._columns(section, head)]
            rows = Rows(section, len(heads), cells, unknown)
            if len(self._plans) < _CACHE // 16:
                self._plans[place] = rows
        for head in rows.unknown:
            self._unknown(head)
        self._rows = rows

    def _end_table(self, text: str) -> None:
        self._rows = None

    def _end_row(self, text: str) -> None:
        cells, rows, interval = self._cells, self._rows, self._interval
        self._cells = []
        if rows is None:
            if self._reading and self._section("table") is not None:
                self._note("section", "a row without column heads; not read", offset=self._row_offset)
            return
        if interval is None or not any(cells):
            # Rows of empty cells only part the blocks of a printed table.
            return
        if interval.row_count >= MAX_ROWS_PER_INTERVAL:
            if interval.lost_rows == 0:
                said = f"more than {MAX_ROWS_PER_INTERVAL:,} rows in one interval; the rest is not read"
                self._note("length", said, offset=self._row_offset)
            interval.lost_rows += 1
            return
        section = rows.section
        if len(cells) != rows.width:
            self._odd_row(section, cells, rows.width)
        made: list[Any] = []
        for place in rows.cells:
            if place is None:
                made.append(None)
                continue
            number, converter = place
            cell = cells[number]
            if cell in converter.cache:
                made.append(converter.cache[cell])
            else:
                made.append(self._value_of(converter, cell, self._row_offset))
        kind: str | None = None
        if section.row_kind_other:
            kind = section.row_kind_other
            if self._row_type == "SUM":
                kind = section.row_kind_sum or kind
            elif self._row_type is not None:
                self._note(
                    "section",
                    f"a row of type {self._row_type[:20]!r}",
                    about="row type",
                    offset=self._row_offset,
                )
            elif section.row_kind_first:
                kind = section.row_kind_first.get(cells[0], kind)
        interval.rows.setdefault(section.id, []).append((self._row_offset, kind, made))
        interval.row_count += 1

    def _odd_row(self, section: Section, cells: list[str], width: int) -> None:
        """A row with more or fewer cells than heads: what is beyond is not read, what is missing is NULL."""
        if len(cells) > width:
            self._note("long", f"a row of {len(cells)} cells under {width} heads", offset=self._row_offset)
            return
        if any(cells[section.short_rows :]) or not section.short_rows:
            self._note(
                "short",
                f"a row of {len(cells)} cells under {width} heads",
                about="short row",
                offset=self._row_offset,
            )
        cells.extend([""] * (width - len(cells)))


def _codec(form: Form) -> str:
    return {"UTF-16LE": "utf-16-le", "UTF-16BE": "utf-16-be"}.get(form.encoding, "ascii")


def _find(fd: int, size: int, begin: int, form: Form) -> int | None:
    """Where the next report begins, at or after `begin`."""
    tag = _TAG.encode(_codec(form))
    for window, base in _windows(fd, size, begin, len(tag)):
        at = window.find(tag)
        while at >= 0:
            if (base + at - form.begin) % form.unit == 0:
                return base + at
            at = window.find(tag, at + 1)
    return None


def _windows(fd: int, size: int, begin: int, overlap: int) -> Iterator[tuple[bytes, int]]:
    while begin < size:
        window = os.pread(fd, min(WINDOW, size - begin), begin)
        if not window:
            return
        yield window, begin
        if begin + len(window) >= size:
            return
        begin += max(len(window) - overlap + 1, 1)
