"""Hardware instrumentation of z/OS in text: HIS015I, which DISPLAY HIS gives, and HIS019I, a .CNT file.

Both tell of a run: the command that began it, and what was asked for. A .CNT file goes on with the names of
the counters and, for each processor, with what they counted in the run, in hexadecimal. Of such files only
fragments are published: a line of any other form is not guessed at.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from zlens.catalog import cpumf
from zlens.catalog.columns import Column
from zlens.catalog.zos_texts import ASKED, Label, facts
from zlens.readers.rows import Row
from zlens.readers.zos.lines import COUNTERS, HIS, Begin, Line, Note, bodies

#: More processors and counters than any machine has.
MAX_CPUS, MAX_NUMBER, MAX_VALUES = 1024, 1 << 16, 500_000
_INT_MAX = 2**63 - 1
#: A TOD clock runs 4096 of its units a microsecond.
_TOD_SECOND = 4_096_000_000
#: No run is longer than ten years.
_LONGEST_S = 10 * 366 * 86_400
_NUMBERS = tuple(n for each in cpumf.sets().values() for n in range(each.first, each.first + each.most))

RUN = (
    Column("message", "text", "", "HIS015I, an answer to DISPLAY HIS, or HIS019I, of a .CNT file"),
    Column("displayed", "text", "", "time of day of the display, local time"),
    Column("message_version", "text", "", "version of the message of a .CNT file"),
    Column("procedure", "text", "", "procedure of HIS"),
    Column("asid", "text", "", "its address space"),
    Column("state", "text", "", "its state"),
    *(label.column for label in facts().run.values()),
    *(label.column for label in facts().service.values()),
    Column("ctronly", "bool", "", "counters only, no samples"),
    Column(ASKED, "text", "", "counter sets as the command asks for them"),
    Column("state_changed", "bool", "", "speed or configuration of the processors changed in the run"),
)
COUNTER = (
    Column("cpu_id", "int", "", "CPU"),
    Column("counter_set", "text", "", "counter set, as the text names it"),
    Column("number", "int", "", "number of the counter"),
    Column("counter", "text", "", "what the text calls it"),
    Column("value", "int", "count", "counted in the run; NULL: more than a counter holds"),
)
SAMPLE = (
    Column("cpu_id", "int", "", "CPU"),
    Column("machine_type", "text", "", "machine type"),
    Column("version1", "int", "", "counter first version number"),
    Column("version2", "int", "", "counter second version number"),
    Column("cpsp", "float", "", "speed in cycles per microsecond"),
    Column("lost", "bool", "", "counters were lost in the run"),
    *(
        Column(f"{name}_counters", "int", "count", f"counters of the set {name}; NULL: none")
        for name in cpumf.sets()
    ),
    *(Column(f"c{number}", "int", "count", f"counter {number} in the run") for number in _NUMBERS),
)


def _names(labels: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, labels), key=len, reverse=True)).replace(r"\ ", r"\s+")


_LABEL = re.compile(
    rf"(?<!\S)(?P<label>{_names(facts().run)})\s*(?P<sign>[:=])\s*"
    rf"|(?<!\S)(?P<bare>{_names(label.label for label in facts().run.values() if label.bare)})\s+(?=\d)"
)
_SERVICE = re.compile(rf"(?<!\S)(?P<label>{_names({label for _, label in facts().service})})\s*[:=]\s*")
_SECTION = re.compile(rf"(?:.*\s)?(?P<section>{'|'.join({s for s, _ in facts().service})}|PROFILER)")
_HEADING = re.compile(rf"(?:.*\s)?(?:{'|'.join(map(re.escape, facts().headings))})\s*:?")
_ALONE = re.compile(rf"(?:.*\s)?(?P<word>{'|'.join(facts().alone)})")
_PROCEDURE = re.compile(
    r"(?:.*?\s)??(?P<name>[A-Z$#@][A-Z0-9$#@]{0,7})\s+(?P<asid>[0-9A-F]{4})\s+(?P<state>[A-Z][A-Z ]*)"
)
_GO_ON = re.compile(r"[A-Z][A-Z0-9/-]*(?:\s*,\s*[A-Z][A-Z0-9/-]*)*,?")
_OPERAND = re.compile(r"(?:^|,)\s*([A-Z]+)=(\([^)]*\)|'(?:[^']|'')*'|[^,\s]*)")
_VERSION = re.compile(r".*?EVENT COUNTERS INFORMATION\s+VERSION:?\s*(\d{1,4})?\s*")
_IDENTIFIER = re.compile(r"(?P<number>\d{1,5})\s*:\s+(?P<text>\S.*)")
_VALUES = re.compile(r"COUNTER VALUES\s*\(HEXADECIMAL\)\s*FOR CPU\s+(?P<cpu>[0-9A-F]{1,4})\s*(?P<rest>.*)")
_SPEED = re.compile(r"\(\s*CPU SPEED\s*=\s*(?P<speed>\d{1,7})\s*CYCLES/MIC\s*\)\s*:?")
_ROW = re.compile(
    r"(?P<first>\d{1,5})\s*(?:[-\u2013]\s*(?P<last>\d{1,5}))?\s*:?\s+(?P<values>[0-9A-F]+(?:\s+[0-9A-F]+)*)"
)
_TOD = re.compile(r"[0-9A-F]{16}")
_NOTHING = re.compile(r"[-/: ]*")


@dataclass(slots=True)
class Cpu:
    """What one processor counted in a run."""

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
        return seconds if seconds < _LONGEST_S else None


@dataclass(slots=True)
class Run:
    """One message that tells of a run, and the counters of its processors."""

    start: Begin
    note: Note
    facts: Row = field(default_factory=dict)
    cpus: dict[str, Cpu] = field(default_factory=dict)
    #: Of each number the set and what the text calls it.
    names: dict[int, tuple[str | None, str]] = field(default_factory=dict)
    others: int = 0
    end: int = 0
    _cpu: Cpu | None = None
    _open: Label | None = None
    _indent: int = 0
    _set: str | None = None
    _service: str | None = None
    _asides: int = 0
    _held: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)
    _times: dict[str, str] = field(default_factory=dict)

    @property
    def told(self) -> bool:
        """Whether it says anything of a run."""
        return bool(self.cpus) or any(value is not None for value in self.facts.values())

    @property
    def size(self) -> int:
        """How much is kept of it."""
        return self._held

    # -- lines -----------------------------------------------------------------------------------------

    def take(self, line: Line) -> bool:
        """Whether a line is one of this message; what it says is kept."""
        self.end = line.offset + len(line.text)
        return any(self._body(body, line) for body in dict.fromkeys(bodies(line, self.start.column)))

    def strange(self, line: Line) -> None:
        """A line that is none of it."""
        self.others += 1
        self.note(
            "header", f"{line.text.strip()[:60]!r} is no line of {self.start.id}; not read", line.offset
        )

    def _body(self, body: str, line: Line) -> bool:
        if not body:
            return True
        if self._service is not None:
            return self._of_service(body)
        if self.start.id == COUNTERS and self._of_counters(body, line.offset):
            self._open = None
            return True
        version = _VERSION.match(body) if self.start.id == COUNTERS else None
        if version is not None:
            self.facts.setdefault("message_version", version[1])
            body = body[version.end() :]
            if not body:
                return True
        found = list(_LABEL.finditer(body))
        if found and not (self._open is not None and self._open.joins and found[0]["sign"] == "="):
            # After a command with more than one line comes a label with a colon: others are its operands.
            self._labels(body, found, line)
            return True
        if _HEADING.fullmatch(body):
            self._open = None
            return True
        alone = _ALONE.fullmatch(body)
        if alone is not None:
            self.facts[alone["word"].lower()] = True
            return True
        if self._goes_on(body, line.text):
            return True
        told = _PROCEDURE.fullmatch(body) if self.start.id == HIS and "procedure" not in self.facts else None
        if told is not None:
            self.facts |= {"procedure": told["name"], "asid": told["asid"], "state": told["state"].strip()}
        return told is not None

    def _labels(self, body: str, found: list[re.Match[str]], line: Line) -> None:
        known = facts().run
        for at, match in enumerate(found):
            name = match["label"] or match["bare"]
            label = known[" ".join(name.split())]
            stop = found[at + 1].start() if at + 1 < len(found) and label.form != "rest" else len(body)
            self._keep(label, body[match.end() : stop].strip(), line.offset)
            self._open = label if label.joins or label.form == "list" else None
            self._indent = line.text.find(name)
            if label.column.name == "service":
                self._service = ""
            if label.form == "rest":
                return

    def _keep(self, label: Label, text: str, offset: int) -> None:
        name = label.column.name
        value: str | int | bool | None = None if not text or _NOTHING.fullmatch(text) else text
        if name in ("start_local", "start_tod") and self._cpu is not None:
            # The times of the next processor, or of the next set.
            self._cpu, self._times = None, {}
        if name in ("start_local", "end_local", "start_tod", "end_tod"):
            if name.endswith("tod") and text and not _TOD.fullmatch(text):
                self.note("time", f"{text[:30]!r} is no TOD clock of 16 hexadecimal digits", offset)
                return
            self._times[name] = text
        if name == "counter_sets" and self.start.id == COUNTERS:
            # Sets are listed one by one, each with its counters.
            self._set, self._cpu = str(value) if value else None, None
            before = self.facts.get(name)
            if value and before and value not in before.split(", "):
                value = f"{before}, {value}"
            self.facts[name] = value or before
            return
        if label.form == "int" and value is not None:
            if not str(value).isdigit() or len(str(value)) > 18:
                self.note("header", f"{label.label} {text[:30]!r} is no number; it is NULL", offset)
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
            extra = str(value).split(None, 1)[1]
            self.note("header", f"{extra[:60]!r} after {label.label} is not known; not read", offset)
            value = str(value).split()[0]
        if value is None or self.facts.get(name) is None:
            self.facts.setdefault(name, value)
            if value is not None:
                self.facts[name] = value

    def _goes_on(self, body: str, whole: str) -> bool:
        """A value that did not fit in its line."""
        if self._open is None:
            return False
        name = self._open.column.name
        before = self.facts.get(name)
        if self._open.joins and before is not None and not _IDENTIFIER.fullmatch(body):
            # The second of the bodies of a line is the one under the label, where a log stands before it.
            prefix = whole[: max(self._indent, 0)]
            self.facts[name] = f"{before}{(whole[self._indent :] if prefix.strip() else whole).strip()}"[
                :4000
            ]
            return True
        if self._open.form == "list" and _GO_ON.fullmatch(body):
            more = ", ".join(part.strip() for part in body.split(",") if part.strip())
            self.facts[name] = f"{before}, {more}"[:4000] if before else more
            return True
        return False

    def _of_service(self, body: str) -> bool:
        """The status of the service for other programs; its sections have labels in common."""
        section = _SECTION.fullmatch(body)
        if section is not None:
            self._service, self._open = section["section"], None
            return True
        if self._service == "PROFILER":
            self._asides += 1
            return True
        found = _SERVICE.search(body)
        label = facts().service.get((self._service or "", found["label"])) if found else None
        if found is not None and label is not None:
            self._keep(label, body[found.end() :].strip(), 0)
            self._open = label
            return True
        return self._goes_on(body, body)

    # -- counters --------------------------------------------------------------------------------------

    def _of_counters(self, body: str, offset: int) -> bool:
        begins = _VALUES.fullmatch(body)
        if begins is not None:
            self._begin(begins["cpu"], offset)
            body = begins["rest"]
            if not body or body == ":":
                return True
        speed = _SPEED.fullmatch(body)
        if speed is not None and self._cpu is not None:
            self._cpu.speed = int(speed["speed"])
            return True
        if begins is not None:
            self.note("header", f"{body[:60]!r} after the number of the CPU is not known; not read", offset)
            return True
        row = _ROW.fullmatch(body) if self._cpu is not None else None
        if row is not None:
            self._values(row, offset)
            return True
        identifier = _IDENTIFIER.fullmatch(body)
        if identifier is not None:
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
        start, end = (
            int(text, 16) if (text := self._times.get(f"{at}_tod")) else None for at in ("start", "end")
        )
        cpu.start_tod = cpu.start_tod if cpu.start_tod is not None else start
        cpu.end_tod = cpu.end_tod if cpu.end_tod is not None else end

    def _values(self, row: re.Match[str], offset: int) -> None:
        cpu = self._cpu
        first = int(row["first"])
        last = int(row["last"]) if row["last"] else first
        words = row["values"].split()
        count = last - first + 1
        if len(words) == 2 * count and all(len(word) == 8 for word in words):
            # Eight bytes as two words.
            words = [one + two for one, two in zip(words[::2], words[1::2], strict=True)]
        if cpu is None or len(words) != count or last >= MAX_NUMBER or any(len(word) > 16 for word in words):
            what = f"{len(words)} values for counters {first} to {last}"
            self.note("length", f"{what} of CPU {cpu.name if cpu else '?'}; not read", offset)
            return
        self._held += count
        if self._held > MAX_VALUES:
            self.note("length", "more values than any machine counts; not read", offset)
            return
        for number, word in enumerate(words, first):
            value: int | None = int(word, 16)
            if value is not None and value > _INT_MAX:
                self.note(
                    "length", f"counter {number}: X'{word}' is more than a counter holds; it is NULL", offset
                )
                value = None
            if number in cpu.values:
                self.note("duplicate", f"counter {number} of CPU {cpu.name} stands twice; read once", offset)
                continue
            cpu.values[number] = value

    # -- what it says ----------------------------------------------------------------------------------

    def finish(self) -> None:
        """Operands of the command, and what is missing."""
        known = facts()
        for name, value in _OPERAND.findall(self.facts.get("command") or ""):
            column = known.operands.get(name)
            if column is not None and value and self.facts.get(column) is None:
                self.facts[column] = ", ".join(value.strip("()").split(",")) if value[0] == "(" else value
        whether, _, action = (self.facts.get("state_change") or "").partition(",")
        self.facts["state_changed"] = {"YES": True, "NO": False}.get(whether)
        if action and self.facts.get("statechange") is None:
            self.facts["statechange"] = action
        if self._asides:
            self.note(
                "section",
                "the statistics of the programs that use the service are not read",
                self.start.offset,
            )
        if self.start.id == COUNTERS:
            self._numbers = self._numbered()
            self._complete()
        elif not self.told:
            self.note("truncated", "the display ends before it says anything", self.start.offset)

    def _complete(self) -> None:
        if not self.cpus:
            self.note("truncated", "no values of counters stand in it", self.start.offset)
        for cpu in self.cpus.values():
            missing = [
                f"{name}: {len(numbers) - len(numbers & cpu.values.keys())} of {len(numbers)}"
                for name, numbers in self._announced().items()
                if numbers & cpu.values.keys() and numbers - cpu.values.keys()
            ]
            if missing or not cpu.values:
                what = ", ".join(missing) or "all"
                self.note("truncated", f"counters of CPU {cpu.name} are missing ({what})", cpu.offset)
            if cpu.end_tod is None:
                what = "has no end of its run, as when it went offline"
                self.note("time", f"CPU {cpu.name} {what}: its counters may be of a part of it", cpu.offset)
            elif cpu.seconds is None:
                self.note("time", f"the run of CPU {cpu.name} has no length that can be", cpu.offset)

    def _announced(self) -> dict[str, set[int]]:
        announced: dict[str, set[int]] = {}
        for number, (group, _) in self.names.items():
            announced.setdefault(group or "", set()).add(number)
        return announced

    @property
    def machine(self) -> tuple[str | None, str | None, str | None]:
        """Machine type, model and sequence code."""
        kind, _, model = (self.facts.get("model") or "").partition("-")
        return kind or None, model or None, self.facts.get("seqcode")

    @property
    def began(self) -> tuple[dt.datetime, int] | None:
        """When it began, in local time and by the TOD clock."""
        tod = self.facts.get("start_tod")
        try:
            local = dt.datetime.strptime(self.facts.get("start_local") or "", "%Y/%m/%d %H:%M:%S")
            return (local, int(tod, 16)) if tod else None
        except ValueError:
            return None

    def row(self) -> Row:
        """What the message says of the run."""
        clock = self.start.clock
        return {**self.facts, "message": self.start.id, "displayed": f"{clock:%H:%M:%S}" if clock else None}

    def _numbered(self) -> dict[str, int]:
        """The number of each CPU: hexadecimal, as z/OS names them, unless only decimal leaves no holes."""
        names = list(self.cpus)
        lettered = any(not name.isdigit() for name in names)
        numbers = {name: int(name, 16) for name in names}
        if lettered or max(numbers.values(), default=0) < 16:
            return numbers
        decimal = {name: int(name) for name in names}
        if set(decimal.values()) == set(range(len(names))):
            return decimal
        what = "the numbers of its CPUs have no letter: they are taken as hexadecimal, as z/OS names CPUs"
        self.note("header", what, self.start.offset)
        return numbers

    def samples(self) -> list[tuple[Cpu, Row]]:
        """For each processor its counters, by number."""
        sets, numbers = facts().sets, self._numbers
        kind, _, _ = self.machine
        rows = []
        for cpu in self.cpus.values():
            row: Row = {
                "cpu_id": numbers[cpu.name],
                "machine_type": kind,
                "version1": self.facts.get("version1"),
                "version2": self.facts.get("version2"),
                "cpsp": float(cpu.speed) if cpu.speed else None,
                "lost": self.facts.get("lost_counter_data"),
            }
            foreign = {n for n, (group, _) in self.names.items() if group is not None and group not in sets}
            for each in cpumf.sets().values():
                mine = {n for n in cpu.values if each.first <= n < each.first + each.most} - foreign
                row |= {f"c{number}": cpu.values[number] for number in mine}
                row[f"{each.name}_counters"] = len(mine) or None
            rows.append((cpu, row))
        return rows

    def counters(self) -> list[tuple[Cpu, Row]]:
        """Every counter of every processor."""
        numbers = self._numbers
        return [
            (
                cpu,
                {
                    "cpu_id": numbers[cpu.name], "number": number, "value": value,
                    "counter_set": self.names.get(number, (None, None))[0],
                    "counter": self.names.get(number, (None, None))[1],
                },
            )
            for cpu in self.cpus.values()
            for number, value in sorted(cpu.values.items())
        ]  # fmt: skip
