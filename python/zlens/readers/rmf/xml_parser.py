"""Streaming parser for RMF report XML, complete or damaged.

Expat parses windows of the file. No entity is expanded, nothing outside the file is opened, and every length
that the file controls is limited. After damage, parsing resumes at the next report.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any
from xml.parsers import expat

from zlens.catalog.rmf_reports import ELEMENTS, RmfReport
from zlens.readers.rmf.body import MAX_CELLS, ReportBody
from zlens.readers.rmf.interval import ReportInterval
from zlens.readers.rmf.problem_list import ProblemList
from zlens.readers.rmf.values import Converter
from zlens.readers.rmf.xml_encoding import WINDOW, XmlEncoding, next_report

#: Reports nest seven deep; anything deeper than this is not a report.
MAX_DEPTH = 32
#: Cells, names and values in RMF are well under a hundred characters.
MAX_TEXT = 1024
#: Expat buffers an entire tag or comment, so an endless one would fill memory.
MAX_TOKEN = 1024 * 1024
#: Expat stores every distinct element and attribute name; reports have about fifty.
MAX_NAMES = 2_000
MAX_RESYNCS = 1_000

_PREFIX = "<ddsml>"

_KNOWN = frozenset(
    {
        *("ddsml", "server", "name", "version", "functionality", "platform", "postprocessor", "report"),
        *("metric", "description", "type", "smf-data", "rmf-report"),
        *("resource", "resname", "restype", "reslabel", "reslabelurl"),
        *("time-data", "display-start", "display-end", "report-interval", "cycle"),
        *("segment", "part", "var-list", "var", "value", "table", "column-headers", "col", "row"),
        *("message", "severity", "rmf-mfpmsg", "mfpmsg"),
        *("format", "numcols", "caption", "gatherer-interval", "data-range", "num-samples"),
        *("local-start", "local-end", "utc-start", "utc-end", "local-prev", "local-next"),
    }
)

#: Body elements whose start tag matters.
_BODY = frozenset({"column-headers", "table", "var", "part", "segment", "caption"})
#: Header elements passed on by name.
_HEADER = ("cycle", "gatherer-interval", "num-samples", "utc-start", "utc-end", "local-end")

_KINDS = {"postprocessor": "the Postprocessor reports", "report": "the Monitor III reports"}


class _DamageError(Exception):
    """Raised if the document cannot be parsed beyond this point."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


class RmfXmlParser:
    """Parser of one file that passes on every report in it."""

    def __init__(
        self,
        facts: RmfReport,
        converters: dict[tuple[str, str], Converter],
        notes: ProblemList,
        commit: Callable[[ReportInterval], None],
        progress: Callable[[int], None],
    ) -> None:
        self.facts = facts
        self.notes = notes
        self.commit = commit
        self.progress = progress
        #: Descriptions of messages that RMF wrote instead of a report, and of other kinds of reports.
        self.refusals: list[tuple[str, int]] = []
        #: Number of messages among them.
        self.answers = 0
        self.server = ""
        body = self._body = ReportBody(facts, converters, notes, self._here)
        self._ends: dict[tuple[str, str], Callable[[str], None]] = {
            ("server", "version"): partial(setattr, self, "server"),
            ("metric", "description"): self._end_metric_description,
            ("metric", "type"): self._set("type"),
            ("version", "smf-data"): self._set("smf_level"),
            ("version", "rmf-report"): self._set("rmf_level"),
            ("resource", "resname"): self._set("system"),
            ("resource", "reslabel"): self._end_label,
            ("time-data", "display-start"): self._set("start", self._with_locale),
            ("time-data", "display-end"): self._set("end", self._with_locale),
            ("time-data", "report-interval"): self._end_length,
            ("time-data", "data-range"): self._end_length,
            ("segment", "name"): partial(setattr, body, "segment"),
            ("part", "name"): partial(setattr, body, "part"),
            ("var", "name"): partial(setattr, body, "variable"),
            ("var", "value"): partial(setattr, body, "value"),
            ("var-list", "var"): body.end_var,
            ("segment", "part"): body.end_part,
            ("part", "table"): body.end_table,
            ("table", "column-headers"): body.end_heads,
            ("table", "row"): body.end_row,
            ("message", "description"): self._end_message,
            ("rmf-mfpmsg", "mfpmsg"): self._end_listing,
            ("caption", "var"): body.end_var,
            ("report", "caption"): body.end_part,
            ("report", "row"): body.end_row,
            ("report", "column-headers"): body.end_heads,
            **{("ddsml", element): self._end_other for element in ELEMENTS},
            ("ddsml", facts.element): self._end_report,
            ("", facts.element): self._end_report,
            **{("time-data", name): self._header(name) for name in _HEADER},
        }
        self._reset()

    # -- the file ---------------------------------------------------------------------------------

    def read(self, fd: int, size: int, encoding: XmlEncoding) -> int:
        """Read the file and return how many of the `size` bytes it had."""
        start, prefix, resyncs = encoding.begin, b"", 0
        while True:
            end, damage, damage_offset = self._read_from(fd, size, start, prefix, encoding)
            open_interval = self._interval
            if open_interval is not None:
                self._close(open_interval, damage_offset, cut=True)
            if damage is None:
                return end
            resyncs += 1
            next_start = None
            if damage.kind != "truncated" and resyncs <= MAX_RESYNCS:
                after = max(damage_offset, start + encoding.unit)
                next_start = next_report(fd, size, after, encoding, self.facts.element)
            system = open_interval.system or None if open_interval else None
            kind, detail, at = damage.kind, damage.detail, damage_offset
            if next_start is None and kind == "truncated":
                self.notes.add(kind, detail, at, system=system)
                return end
            if next_start is None:
                rest = f"{detail}; the rest of the file is not read"
                self.notes.add(kind, rest, at, lost=size - at, system=system)
                return size
            lost = next_start - at
            skipped = f"{detail}; {lost:,} bytes skipped to the next report"
            self.notes.add(kind, skipped, at, lost=lost, about=detail, system=system)
            start, prefix = next_start, _PREFIX.encode(encoding.codec)
            self._reset()

    def _read_from(
        self, fd: int, size: int, start: int, prefix: bytes, encoding: XmlEncoding
    ) -> tuple[int, _DamageError | None, int]:
        """Parse from `start`; return the end of the read bytes, the damage found, and its offset."""
        names: dict[str, str] = {}
        parser = expat.ParserCreate(encoding.encoding, intern=names)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        self._parser = parser
        self._base = start - len(prefix)
        position = start
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
                    detail = f"more than {MAX_NAMES:,} different element names"
                    return position, _DamageError("header", detail), self._here()
                self.progress(position)
            complete = not self._stack
            try:
                parser.Parse(b"", True)
            except expat.ExpatError:
                if complete and self._done:
                    raise
                return position, self._truncated(), position
        except expat.ExpatError as error:
            cause = expat.ErrorString(error.code)
            error_offset = min(max(self._base + parser.ErrorByteIndex, start), size)
            return position, _DamageError("resync", f"damaged XML ({cause})"), error_offset
        except _DamageError as damage:
            return position, damage, self._here()
        finally:
            # The handlers and the parser refer to each other: break the cycle.
            parser.StartElementHandler = parser.EndElementHandler = None
            parser.CharacterDataHandler = parser.StartDoctypeDeclHandler = None
        return position, None, position

    def _truncated(self) -> _DamageError:
        inside = f"inside <{self._stack[-1]}>" if self._stack else "before the first element"
        retained, interval = "", self._interval
        if interval is not None:
            retained = "; the time of the last interval is incomplete"
            if interval.end is not None and interval.end[0]:
                rows = f"{interval.row_count:,} rows are complete"
                retained = f"; of the interval that ends {interval.end[0]}, {rows}"
        return _DamageError("truncated", f"the file ends {inside}{retained}")

    def _reset(self) -> None:
        self._stack: list[str] = []
        self._done = False
        self._interval: ReportInterval | None = None
        #: Inside a report of another kind.
        self._foreign = False
        self._text_chunks: list[str] = []
        self._remaining_chars = MAX_TEXT
        self._attributes: dict[str, str] = {}
        self._foreign_offset = self._message_offset = 0
        self._body.reset()
        self._message_id = self._other = self._other_title = ""

    def _here(self) -> int:
        return self._base + self._parser.CurrentByteIndex

    # -- expat handlers ---------------------------------------------------------------------------

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        detail = "a document type declaration, which RMF does not write; no entity is expanded"
        raise _DamageError("header", detail)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        stack = self._stack
        stack.append(name)
        self._text_chunks = []
        self._remaining_chars = MAX_TEXT
        if name == "col":
            return
        if name == "row":
            self._body.begin_row(attributes.get("type"), number=attributes.get("refno"))
            return
        if len(stack) > MAX_DEPTH:
            raise _DamageError("header", f"elements nested more than {MAX_DEPTH} deep")
        if name in _BODY:
            self._body.begin(name)
        elif name == self.facts.element:
            if self._interval is not None:
                raise _DamageError("resync", "damaged XML (a report begins inside another)")
            self._interval = ReportInterval(self._here(), server=self.server)
        elif name in ELEMENTS:
            self._foreign = True
            self._foreign_offset = self._here()
        elif name == "metric":
            if self._interval is not None:
                self._interval.metric = attributes.get("id", "")[:MAX_TEXT]
                read = self._interval.metric == self.facts.report
                self._body.interval = self._interval if read else None
            else:
                self._other = attributes.get("id", "")[:MAX_TEXT]
        elif name == "message":
            self._message_offset = self._here()
            self._message_id = attributes.get("id", "")[:MAX_TEXT]
        elif name not in _KNOWN and (self._body.interval or not (self._foreign or self._interval)):
            self._body.note("section", f"element <{name[:80]}> is not expected; not read", about=name)
        if attributes:
            self._attributes = attributes

    def _end(self, name: str) -> None:
        stack = self._stack
        stack.pop()
        if name == "col":
            if self._remaining_chars < 0:
                self._body.note("length", f"a cell of more than {MAX_TEXT:,} characters; not read")
                self._text_chunks = []
            if len(self._body.cells) <= MAX_CELLS:
                self._body.cells.append("".join(self._text_chunks).strip())
            self._text_chunks = []
            return
        action = self._ends.get((stack[-1] if stack else "", name))
        if not stack:
            self._done = True
        if action is not None:
            if self._remaining_chars < 0:
                self._body.note("length", f"<{name}> with more than {MAX_TEXT:,} characters; truncated")
            action("".join(self._text_chunks)[:MAX_TEXT].strip())
        self._text_chunks = []
        self._remaining_chars = MAX_TEXT

    def _text(self, text: str) -> None:
        if self._remaining_chars >= 0:
            self._text_chunks.append(text)
            self._remaining_chars -= len(text)

    # -- the header of a report -------------------------------------------------------------------

    def _end_metric_description(self, text: str) -> None:
        if self._interval is not None:
            self._interval.title = text
        else:
            self._other_title = text

    def _set(self, name: str, value: Callable[[str], Any] = str) -> Callable[[str], None]:
        """Return the function that sets an attribute of the report at the end of an element."""

        def end(text: str) -> None:
            if self._interval is not None:
                setattr(self._interval, name, value(text))

        return end

    def _with_locale(self, text: str) -> tuple[str, str | None]:
        return text, self._attributes.get("locale")

    def _end_length(self, text: str) -> None:
        if self._interval is not None:
            self._interval.length = text
            self._interval.length_unit = self._attributes.get("unit", "")

    def _header(self, name: str) -> Callable[[str], None]:
        def end(text: str) -> None:
            if self._interval is not None:
                self._interval.header[name] = text

        return end

    def _end_label(self, text: str) -> None:
        # For a system: ,RPRT,MVS_IMAGE
        words = text.split(",")
        if self._interval is not None and len(words) == 3:
            self._interval.system = words[1].strip()

    def _end_message(self, text: str) -> None:
        detail = f"RMF answered {self._message_id}: {text}" if self._message_id else f"RMF answered: {text}"
        if self._interval is not None:
            self._interval.answered = True
        self.answers += 1
        self._refuse(detail, self._message_offset)

    def _end_listing(self, text: str) -> None:
        # Option listings end in I; only warnings and errors are reported.
        name = self._attributes.get("id", "")
        if name[-1:].upper() in {"W", "E", "S", "T"}:
            self._body.note("section", f"RMF wrote {name[:20]}: {text}")

    def _end_report(self, text: str) -> None:
        if self._interval is not None:
            self._close(self._interval, self._here(), cut=False)

    def _end_other(self, text: str) -> None:
        self._foreign = False
        reason = f"{self._describe(self._other, self._other_title)} is in a file of other reports; not read"
        self._refuse(reason, self._foreign_offset, self._here() - self._foreign_offset)

    @staticmethod
    def _describe(name: str, title: str) -> str:
        """Describe a report. Monitor III titles start with the name: CPC (Central Processor Complex)."""
        label = title if title.startswith(f"{name} (") else f"{name} ({title})" if title else name
        return f"the RMF report {label}" if name else "an RMF report without a name"

    def _refuse(self, reason: str, offset: int, lost: int = 0) -> None:
        if len(self.refusals) < 10:
            self.refusals.append((reason, offset))
        self.notes.add("section", reason, offset, about=reason, lost=lost)

    def _close(self, interval: ReportInterval, end: int, *, cut: bool) -> None:
        self._body.end_report()
        self._interval = self._body.interval = None
        interval.cut = cut
        interval.bytes = end - interval.offset
        if not interval.metric:
            if not interval.answered and not cut:
                detail = "a report without a name; not read"
                self.notes.add("section", detail, interval.offset, lost=interval.bytes)
            return
        if interval.metric != self.facts.report:
            other, others = self._describe(interval.metric, interval.title), _KINDS[self.facts.element]
            reason = f"this is {other}; of {others} this version reads {self.facts.report}"
            self._refuse(reason, interval.offset, interval.bytes)
            return
        if interval.answered and not (interval.variables or interval.rows):
            # The message replaces the report.
            return
        self.commit(interval)
