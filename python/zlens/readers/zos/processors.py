"""IEE174I, the response to DISPLAY M=CORE and DISPLAY M=CPU: cores, their threads, and the machine."""

from __future__ import annotations

import re
from typing import Any

from msgspec import field

from zlens.catalog.zos_messages import MessageFacts
from zlens.readers.files import compare_repeat
from zlens.readers.row_tables import Row
from zlens.readers.zos.log_lines import ConsoleMessage, LogLine, pattern_of

#: More cores than any machine has.
MAX_CORES = 4096

_STATES = re.escape("".join(MessageFacts.load().states))
_STATE = rf"(?P<wlm>W?)(?P<state>[{_STATES}])(?P<type>[A-VX-Z]?)(?P<managed>W?)"
_STATUS = re.compile(r"(?:.*\s)?(?P<form>CORE|PROCESSOR) STATUS:?(?P<rest>(?:\s+\S+)*)")
_HEADING = re.compile(r"(?:.*\s)?ID\s+(?:ST\s+ID RANGE\b.*|CPU\b.*SERIAL.*)")
_CORE = re.compile(
    rf"(?:.*?\s)??(?P<id>[0-9A-F]{{4}})\s+{_STATE}\s+"
    r"(?P<low>[0-9A-F]{4})-(?P<high>[0-9A-F]{4})(?:\s+(?P<vp>[A-Z]{1,2}))?(?:\s+(?P<iscm>[0-9A-F]{4}))?"
    r"(?:\s+(?P<threads>[" + _STATES + r"]{1,4}))?"
)
_CPU = re.compile(
    rf"(?:.*?\s)??(?P<id>[0-9A-F]{{2}}|[0-9A-F]{{4}})\s+{_STATE}"
    # Machines before the z990 have a column for the cryptographic facility.
    r"(?:\s+[" + _STATES + r"])?(?:\s+(?P<serial>[0-9A-F]{10}))?"
)
#: Shown in power save mode, for example.
_RUNNING = re.compile(r"(?:.*\s)?CPC IS RUNNING AT\s+(?P<pct>\d{1,3})% OF NORMAL EFFECTIVENESS")
_LABEL = re.compile(rf"(?<![A-Z0-9])(?P<label>{pattern_of(MessageFacts.load().machine)})\s*(?:=|:)\s*")
#: The legend at the end of the display.
_LEGEND = re.compile(
    r"(?:.*\s)?(?:[" + _STATES + r"]\s+(?:ONLINE|OFFLINE|NOT AVAILABLE|DOES NOT EXIST|MIXED STATE)\b.*"
    r"|W\s+WLM-MANAGED|,?[A-Z]\s+[A-Z ]+PROCESSOR(?: \(z[A-Za-z]+\))?|CR\s+CRYPTO FACILITY"
    r"|(?:CPC|LP|CSS|MIF) (?:ND|SI|ID|NAME)\s+[A-Z].*)"
)
_MODE = re.compile(r"(?P<name>HD|MT|[A-Za-z]+)=\s*(?P<value>[A-Z0-9]+)")
_SI = re.compile(r"0*(?P<type>\d{4})\.(?P<model>[A-Z0-9]{1,16})\.[A-Z]+\.[A-Z0-9]+\.(?P<serial>[0-9A-Z]+)")
_ND = re.compile(r"0*(?P<type>\d{4})\.")


class ProcessorDisplay(ConsoleMessage):
    """A snapshot of the status of cores or processors."""

    form: str | None = None
    cores: list[Row] = field(default_factory=list)
    cpus: list[Row] = field(default_factory=list)
    threads: dict[str, int] = field(default_factory=dict)
    _ids: dict[int, dict[str, str | None]] = field(default_factory=dict)

    def note_foreign_line(self, line: LogLine) -> None:
        """Report a line that does not belong to the display, once the status has begun."""
        if self.form is not None:
            detail = f"{line.text.strip()[:60]!r} is not part of a processor status; not read"
            self.note("header", detail, line.offset)

    def finish(self) -> None:
        """Report missing data."""
        if self.form is None:
            detail = "the display has no core or processor status (DISPLAY M=CORE does); not read"
            self.note("section", detail, self.start.offset)
        elif not self.cores and not self.cpus:
            self.note("truncated", "the status ends before its first core or processor", self.start.offset)

    @property
    def machine(self) -> tuple[str | None, str | None, str | None]:
        """Machine type, model and serial number."""
        information = _SI.match(self.values.get("system_information") or "")
        if information:
            return information["type"], information["model"], information["serial"]
        node = _ND.match(self.values.get("node") or "")
        return (node["type"] if node else None), None, None

    def row(self) -> Row:
        """Return the facts of the display other than its cores."""
        online = [core for core in self.cores if core["state"] == "online"]
        return {
            **super().row(),
            "form": self.form,
            **{f"mt_{kind}": count for kind, count in self.threads.items()},
            "cores_online": len(online) if self.cores else None,
            "cores_parked": sum(bool(core.get("parked")) for core in online) if self.cores else None,
        }

    @property
    def has_data(self) -> bool:
        """Whether it lists any processors."""
        return bool(self.cores or self.cpus)

    @property
    def size(self) -> int:
        """The number of stored rows."""
        return len(self.cores) + len(self.cpus)

    # -- lines -----------------------------------------------------------------------------------------

    def parse_body(self, body: str, line: LogLine) -> bool:
        """Parse the text of a line and return whether it belongs to this message."""
        if self.form is None:
            if status := _STATUS.fullmatch(body):
                self.form = "core" if status["form"] == "CORE" else "cpu"
                self._modes(status["rest"], line.offset)
            return status is not None
        if _HEADING.fullmatch(body):
            return True
        row = (_CORE if self.form == "core" else _CPU).fullmatch(body)
        if row is not None:
            self._row(row, line.offset)
            return True
        if running := _RUNNING.fullmatch(body):
            self.values["effectiveness_pct"] = int(running["pct"])
            return True
        labels = list(_LABEL.finditer(body))
        if labels:
            for index, label in enumerate(labels):
                stop = labels[index + 1].start() if index + 1 < len(labels) else len(body)
                name = " ".join(label["label"].split())
                value = body[label.end() : stop].strip()
                self.values.setdefault(MessageFacts.load().machine[name].column.name, value or None)
            return True
        return _LEGEND.fullmatch(body) is not None

    def _modes(self, text: str, offset: int) -> None:
        modes = MessageFacts.load().modes
        for mode in _MODE.finditer(text):
            name, value = mode["name"], mode["value"]
            if name == "HD" and value in "YN":
                self.values["hiperdispatch"] = value == "Y"
            elif value.isdecimal() and len(value) < 3 and name == "MT":
                self.values["mt"] = int(value)
            elif value.isdecimal() and len(value) < 3 and name in modes:
                self.threads[modes[name]] = int(value)
            else:
                self.note("header", f"{mode[0]!r} is not a known core mode", offset)
        if self.values.get("mt") == 1 and not self.threads:
            # With one thread per core everywhere, the display omits the types.
            self.threads = dict.fromkeys(modes.values(), 1)

    def _row(self, row: re.Match[str], offset: int) -> None:
        number = int(row["id"], 16)
        if len(self._ids) >= MAX_CORES:
            self.note("length", "more cores than any machine has; not read", offset)
            return
        if number in self._ids:
            kind, difference = compare_repeat(self._ids[number] == row.groupdict())
            detail = f"{self.form} {row['id']} appears twice in the display{difference}; read once"
            self.note(kind, detail, offset)
            return
        self._ids[number] = row.groupdict()
        texts = MessageFacts.load()
        core: Row = {
            "state": texts.states.get(row["state"]),
            "wlm_managed": bool(row["wlm"] or row["managed"]),
            "cpu_type": texts.types.get(row["type"]),
        }
        if self.form == "core" and core["state"] == "online":
            core |= self._placement(row["vp"], offset)
        if core["cpu_type"] is None:
            self.note("header", f"{row['type']!r} is not a known processor type; it is NULL", offset)
        if self.form == "cpu":
            self.cpus.append({**core, "cpu_id": number, "serial": row["serial"], "offset": offset})
            return
        first, last, thread_signs = int(row["low"], 16), int(row["high"], 16), row["threads"] or ""
        if not first <= last < first + 4:
            self.note("header", f"{row['low']}-{row['high']} are not the threads of a core; not read", offset)
            first, last, thread_signs = 0, -1, ""
        threads = thread_signs.count("+") if thread_signs else None if core["state"] == "online" else 0
        self.cores.append(
            {
                **core, "core_id": number, "offset": offset, "iscm": row["iscm"], "threads": threads,
                "first_cpu": first if last >= first else None, "last_cpu": last if last >= first else None,
                "thread_states": thread_signs or None,
            }
        )  # fmt: skip
        for thread, cpu in enumerate(range(first, last + 1)):
            state: Any = texts.states.get(thread_signs[thread]) if thread < len(thread_signs) else None
            if not thread_signs and core["state"] != "online":
                state = core["state"]
            self.cpus.append(
                {**core, "cpu_id": cpu, "core_id": number, "thread": thread, "state": state, "offset": offset}
            )

    def _placement(self, text: str | None, offset: int) -> Row:
        """Return the polarity of a core and whether it is parked."""
        if not text:
            # Without HiperDispatch, polarization is horizontal and no core is parked.
            return {"polarity": "Hor", "parked": False} if self.values.get("hiperdispatch") is False else {}
        polarity, parked = MessageFacts.load().polarities.get(text[0]), text[1:]
        if polarity is None or parked not in ("", "P"):
            self.note("header", f"{text!r} is not a known core polarity; it is NULL", offset)
            return {}
        return {"polarity": polarity, "parked": parked == "P"}
