"""Text output of z/OS hardware instrumentation services: HIS015I (DISPLAY HIS) and HIS019I (a .CNT file).

Both describe a run: the command that started it and the requested options. A .CNT file continues with the
names of the counters and, for each processor, their counts in the run, in hexadecimal. Only fragments of such
files are published, so a line of any other format is not interpreted.
"""

from __future__ import annotations

import datetime as dt
import re

from msgspec import Struct, field

from zlens.catalog import cpumf
from zlens.catalog.zos_messages import MessageFacts, MessageLabel
from zlens.readers.files import compare_repeat
from zlens.readers.row_tables import Row
from zlens.readers.zos.log_lines import COUNTERS, HIS, ConsoleMessage, LogLine, pattern_of

#: More processors and counters than any machine has.
MAX_CPUS, MAX_NUMBER, MAX_VALUES = 1024, 1 << 16, 500_000
_INT_MAX = 2**63 - 1
#: A TOD clock unit is 1/4096 of a microsecond.
_TOD_SECOND = 4_096_000_000
#: Maximum length of a run: ten years.
_MAX_RUN_S = 10 * 366 * 86_400


_TEXTS = MessageFacts.load()
_LABEL = re.compile(
    rf"(?<!\S)(?P<label>{pattern_of(_TEXTS.run)})\s*(?P<sign>[:=])\s*"
    rf"|(?<!\S)(?P<bare>{pattern_of(label.label for label in _TEXTS.run.values() if label.bare)})\s+(?=\d)"
)
_SERVICE = re.compile(rf"(?<!\S)(?P<label>{pattern_of({label for _, label in _TEXTS.service})})\s*[:=]\s*")
_SECTION = re.compile(rf"(?:.*\s)?(?P<section>{'|'.join({s for s, _ in _TEXTS.service})}|PROFILER)")
_HEADING = re.compile(rf"(?:.*\s)?(?:{'|'.join(map(re.escape, _TEXTS.his.headings))})\s*:?")
_ALONE = re.compile(rf"(?:.*\s)?(?P<word>{'|'.join(_TEXTS.his.alone)})")
_PROCEDURE = re.compile(
    r"(?:.*?\s)??(?P<procedure>[A-Z$#@][A-Z0-9$#@]{0,7})\s+(?P<asid>[0-9A-F]{4})\s+(?P<state>[A-Z][A-Z ]*)"
)
_CONTINUATION = re.compile(r"[A-Z][A-Z0-9/-]*(?:\s*,\s*[A-Z][A-Z0-9/-]*)*,?")
_OPERAND = re.compile(r"(?:^|,)\s*([A-Z]+)=(\([^)]*\)|'(?:[^']|'')*'|[^,\s]*)")
_VERSION = re.compile(r".*?EVENT COUNTERS INFORMATION\s+VERSION:?\s*(\d{1,4})?\s*")
_IDENTIFIER = re.compile(r"(?P<number>\d{1,5})\s*:\s+(?P<text>\S.*)")
_VALUES = re.compile(r"COUNTER VALUES\s*\(HEXADECIMAL\)\s*FOR CPU\s+(?P<cpu>[0-9A-F]{1,4})\s*(?P<rest>.*)")
_SPEED = re.compile(r"\(\s*CPU SPEED\s*=\s*(?P<speed>\d{1,7})\s*CYCLES/MIC\s*\)\s*:?")
_ROW = re.compile(
    r"(?P<first>\d{1,5})\s*(?:[-\u2013]\s*(?P<last>\d{1,5}))?\s*:?\s+(?P<values>[0-9A-F]+(?:\s+[0-9A-F]+)*)"
)
_TOD = re.compile(r"[0-9A-F]{16}")
_BLANK = re.compile(r"[-/: ]*")


class Cpu(Struct):
    """Counts of one processor in a run."""

    name: str
    offset: int
    start_tod: int | None = None
    end_tod: int | None = None
    speed: int | None = None
    values: dict[int, int | None] = field(default_factory=dict)

    @property
    def seconds(self) -> float | None:
        if self.start_tod is None or self.end_tod is None or self.end_tod <= self.start_tod:
            return None
        seconds = (self.end_tod - self.start_tod) / _TOD_SECOND
        return seconds if seconds < _MAX_RUN_S else None


class HisRun(ConsoleMessage):
    """One message about a run, and the counters of its processors."""

    cpus: dict[str, Cpu] = field(default_factory=dict)
    #: Counter set and counter name, by counter number.
    names: dict[int, tuple[str | None, str]] = field(default_factory=dict)
    #: The number of stored values.
    size: int = 0
    _cpu: Cpu | None = None
    _open: MessageLabel | None = None
    _indent: int = 0
    _set: str | None = None
    _service: str | None = None
    _profiler_lines: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)
    _times: dict[str, str] = field(default_factory=dict)

    @property
    def has_data(self) -> bool:
        """Whether it contains anything about a run."""
        return bool(self.cpus) or any(value is not None for value in self.values.values())

    # -- lines -----------------------------------------------------------------------------------------

    def parse_body(self, body: str, line: LogLine) -> bool:
        """Parse the text of a line and return whether it belongs to this message."""
        if self._service is not None:
            return self._service_line(body)
        if self.start.id == COUNTERS and self._counter_line(body, line.offset):
            self._open = None
            return True
        version = _VERSION.match(body) if self.start.id == COUNTERS else None
        if version is not None:
            self.values.setdefault("message_version", version[1])
            body = body[version.end() :]
            if not body:
                return True
        labels = list(_LABEL.finditer(body))
        if labels and not (self._open is not None and self._open.joins and labels[0]["sign"] == "="):
            # Only a label with a colon ends a command of several lines; others are its operands.
            self._labels(body, labels, line)
            return True
        if _HEADING.fullmatch(body):
            self._open = None
            return True
        if flag := _ALONE.fullmatch(body):
            self.values[flag["word"].lower()] = True
            return True
        if self._continue_value(body, line.text):
            return True
        if self.start.id != HIS or "procedure" in self.values:
            return False
        if procedure := _PROCEDURE.fullmatch(body):
            self.values |= {name: text.strip() for name, text in procedure.groupdict().items()}
        return procedure is not None

    def _labels(self, body: str, matches: list[re.Match[str]], line: LogLine) -> None:
        labels = _TEXTS.run
        for index, match in enumerate(matches):
            name = match["label"] or match["bare"]
            label = labels[" ".join(name.split())]
            is_last = index + 1 == len(matches) or label.form == "rest"
            stop = len(body) if is_last else matches[index + 1].start()
            self._store_value(label, body[match.end() : stop].strip(), line.offset)
            self._open = label if label.joins or label.form == "list" else None
            self._indent = line.text.find(name)
            if label.column.name == "service":
                self._service = ""
            if label.form == "rest":
                return

    def _store_value(self, label: MessageLabel, text: str, offset: int) -> None:
        name = label.column.name
        value: str | int | bool | None = None if not text or _BLANK.fullmatch(text) else text
        if name in ("start_local", "start_tod") and self._cpu is not None:
            # These are the times of the next processor or the next set.
            self._cpu, self._times = None, {}
        if name in ("start_local", "end_local", "start_tod", "end_tod"):
            if name.endswith("tod") and text and not _TOD.fullmatch(text):
                self.note("time", f"{text[:30]!r} is not a TOD clock value of 16 hexadecimal digits", offset)
                return
            self._times[name] = text
        if name == "counter_sets" and self.start.id == COUNTERS:
            # Each set is listed separately, with its counters.
            self._set, self._cpu = str(value) if value else None, None
            previous = self.values.get(name)
            if value and previous and value not in previous.split(", "):
                value = f"{previous}, {value}"
            self.values[name] = value or previous
            return
        if label.form == "int" and value is not None:
            if not str(value).isdecimal() or len(str(value)) > 18:
                self.note("header", f"{label.label} {text[:30]!r} is not a number; it is NULL", offset)
                return
            value = int(value)
        if label.form == "truth" and value is not None:
            if value not in ("YES", "NO", "Y", "N"):
                self.note("header", f"{label.label} {text[:30]!r} is neither YES nor NO; it is NULL", offset)
                return
            value = str(value)[0] == "Y"
        if label.form == "list" and value is not None:
            value = ", ".join(part.strip() for part in str(value).split(",") if part.strip())
        if label.form == "word" and value is not None and " " in str(value):
            rest = str(value).split(None, 1)[1]
            self.note("header", f"{rest[:60]!r} after {label.label} is unknown; not read", offset)
            value = str(value).split()[0]
        if value is None or self.values.get(name) is None:
            self.values.setdefault(name, value)
            if value is not None:
                self.values[name] = value

    def _continue_value(self, body: str, text: str) -> bool:
        """Continue a value that did not fit on its line."""
        if self._open is None:
            return False
        name = self._open.column.name
        value = self.values.get(name)
        if self._open.joins and value is not None and not _IDENTIFIER.fullmatch(body):
            # After a log prefix, the value continues under its label.
            prefix = text[: max(self._indent, 0)]
            self.values[name] = f"{value}{(text[self._indent :] if prefix.strip() else text).strip()}"[:4000]
            return True
        if self._open.form == "list" and _CONTINUATION.fullmatch(body):
            continuation = ", ".join(part.strip() for part in body.split(",") if part.strip())
            self.values[name] = f"{value}, {continuation}"[:4000] if value else continuation
            return True
        return False

    def _service_line(self, body: str) -> bool:
        """Parse a line of the service status, whose sections share labels."""
        if section := _SECTION.fullmatch(body):
            self._service, self._open = section["section"], None
            return True
        if self._service == "PROFILER":
            self._profiler_lines += 1
            return True
        match = _SERVICE.search(body)
        label = _TEXTS.service.get((self._service or "", match["label"])) if match else None
        if match is not None and label is not None:
            self._store_value(label, body[match.end() :].strip(), 0)
            self._open = label
            return True
        return self._continue_value(body, body)

    # -- counters --------------------------------------------------------------------------------------

    def _counter_line(self, body: str, offset: int) -> bool:
        if start := _VALUES.fullmatch(body):
            self._begin(start["cpu"], offset)
            body = start["rest"]
            if not body or body == ":":
                return True
        speed = _SPEED.fullmatch(body)
        if speed is not None and self._cpu is not None:
            self._cpu.speed = int(speed["speed"])
            return True
        if start is not None:
            self.note("header", f"{body[:60]!r} after the CPU number is unknown; not read", offset)
            return True
        row = _ROW.fullmatch(body) if self._cpu is not None else None
        if row is not None:
            self._values(row, offset)
            return True
        if identifier := _IDENTIFIER.fullmatch(body):
            self.names.setdefault(int(identifier["number"]), (self._set, identifier["text"][:200]))
        return identifier is not None

    def _begin(self, name: str, offset: int) -> None:
        cpu = self.cpus.get(name)
        if cpu is None:
            cpu = Cpu(name, offset)
            if len(self.cpus) >= MAX_CPUS:
                self.note("length", f"more than {MAX_CPUS:,} processors; CPU {name} is not read", offset)
            else:
                self.cpus[name] = cpu
        self._cpu = cpu
        for name in ("start_tod", "end_tod"):
            if getattr(cpu, name) is None and (text := self._times.get(name)):
                setattr(cpu, name, int(text, 16))

    def _values(self, row: re.Match[str], offset: int) -> None:
        cpu = self._cpu
        first = int(row["first"])
        last = int(row["last"]) if row["last"] else first
        words = row["values"].split()
        count = last - first + 1
        if len(words) == 2 * count and all(len(word) == 8 for word in words):
            # Eight bytes printed as two words.
            words = [high + low for high, low in zip(words[::2], words[1::2], strict=True)]
        if cpu is None or len(words) != count or last >= MAX_NUMBER or any(len(word) > 16 for word in words):
            subject = f"{len(words)} values for counters {first} to {last}"
            self.note("length", f"{subject} of CPU {cpu.name if cpu else '?'}; not read", offset)
            return
        self.size += count
        if self.size > MAX_VALUES:
            self.note("length", "more values than any machine has counters; not read", offset)
            return
        for number, word in enumerate(words, first):
            value: int | None = int(word, 16)
            if value is not None and value > _INT_MAX:
                detail = f"counter {number}: X'{word}' exceeds the range of a counter; it is NULL"
                self.note("length", detail, offset)
                value = None
            if number in cpu.values:
                kind, difference = compare_repeat(cpu.values[number] == value)
                detail = f"counter {number} of CPU {cpu.name} appears twice{difference}; read once"
                self.note(kind, detail, offset)
                continue
            cpu.values[number] = value

    # -- results ---------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Add the operands of the command, and report missing data."""
        operands = _TEXTS.his.operands
        for name, value in _OPERAND.findall(self.values.get("command") or ""):
            column = operands.get(name)
            if column is not None and value and self.values.get(column) is None:
                self.values[column] = ", ".join(value.strip("()").split(",")) if value[0] == "(" else value
        answer, _, action = (self.values.get("state_change") or "").partition(",")
        self.values["state_changed"] = {"YES": True, "NO": False}.get(answer)
        if action and self.values.get("statechange") is None:
            self.values["statechange"] = action
        if self._profiler_lines:
            detail = "statistics of the programs that use the service are not read"
            self.note("section", detail, self.start.offset)
        if self.start.id == COUNTERS:
            self._numbers = self._number_cpus()
            self._note_missing()
        elif not self.has_data:
            self.note("truncated", "the display ends before its first value", self.start.offset)

    def _note_missing(self) -> None:
        if not self.cpus:
            self.note("truncated", "it contains no counter values", self.start.offset)
        numbers_by_set: dict[str, set[int]] = {}
        for number, (group, _) in self.names.items():
            numbers_by_set.setdefault(group or "", set()).add(number)
        for cpu in self.cpus.values():
            missing = [
                f"{name}: {len(numbers) - len(numbers & cpu.values.keys())} of {len(numbers)}"
                for name, numbers in numbers_by_set.items()
                if numbers & cpu.values.keys() and numbers - cpu.values.keys()
            ]
            if missing or not cpu.values:
                message = ", ".join(missing) or "all"
                self.note("truncated", f"counters of CPU {cpu.name} are missing ({message})", cpu.offset)
            if cpu.end_tod is None:
                message = (
                    "the run has no end, as when a CPU goes offline; its counters may cover only part of it"
                )
                self.note("time", f"CPU {cpu.name}: {message}", cpu.offset)
            elif cpu.seconds is None:
                self.note("time", f"the run of CPU {cpu.name} has an invalid length", cpu.offset)

    @property
    def machine(self) -> tuple[str | None, str | None, str | None]:
        """Machine type, model and sequence code."""
        kind, _, model = (self.values.get("model") or "").partition("-")
        return kind or None, model or None, self.values.get("seqcode")

    @property
    def start_time(self) -> tuple[dt.datetime, int] | None:
        """Start of the run, in local time and as a TOD clock value."""
        tod = self.values.get("start_tod")
        try:
            local = dt.datetime.strptime(self.values.get("start_local") or "", "%Y/%m/%d %H:%M:%S")
            return (local, int(tod, 16)) if tod else None
        except ValueError:
            return None

    def row(self) -> Row:
        """Return the facts of the run as a row."""
        return {**super().row(), "message": self.start.id}

    def _number_cpus(self) -> dict[str, int]:
        """Return the number of each CPU: hexadecimal as in z/OS, unless only decimal numbers have no gaps."""
        names = list(self.cpus)
        has_letters = any(not name.isdecimal() for name in names)
        numbers = {name: int(name, 16) for name in names}
        if has_letters or max(numbers.values(), default=0) < 16:
            return numbers
        decimal = {name: int(name) for name in names}
        if set(decimal.values()) == set(range(len(names))):
            return decimal
        detail = "no CPU number has a letter; they are read as hexadecimal, as in z/OS"
        self.note("header", detail, self.start.offset)
        return numbers

    def samples(self) -> list[tuple[Cpu, Row]]:
        """Return each processor with a row of its counters, in columns by number."""
        sets, numbers = _TEXTS.his.sets, self._numbers
        kind, _, _ = self.machine
        rows = []
        for cpu in self.cpus.values():
            row: Row = {
                "cpu_id": numbers[cpu.name],
                "machine_type": kind,
                "version1": self.values.get("version1"),
                "version2": self.values.get("version2"),
                "cpsp": float(cpu.speed) if cpu.speed else None,
                "lost": self.values.get("lost_counter_data"),
            }
            foreign = {n for n, (group, _) in self.names.items() if group is not None and group not in sets}
            for counter_set in cpumf.sets().values():
                numbers_in_set = {n for n in cpu.values if n in counter_set.numbers} - foreign
                row |= {f"c{number}": cpu.values[number] for number in numbers_in_set}
                row[f"{counter_set.name}_counters"] = len(numbers_in_set) or None
            rows.append((cpu, row))
        return rows

    def counters(self) -> list[tuple[Cpu, Row]]:
        """Return every counter of every processor."""
        numbers = self._numbers
        return [
            (cpu, {**subject, "number": number, "value": value, "counter_set": group, "counter": name})
            for cpu in self.cpus.values()
            for subject in [{"cpu_id": numbers[cpu.name]}]
            for number, value in sorted(cpu.values.items())
            for group, name in [self.names.get(number, (None, None))]
        ]
