"""The header block of a report and its footnotes."""

from __future__ import annotations

import re
import textwrap
from datetime import datetime, timedelta

from zlens.catalog import caveats
from zlens.reports import facts, style
from zlens.reports.definition import REMARKABLE, Column, Definition, Note
from zlens.reports.rows import Block, Session, dotted
from zlens.version import VERSION

MADE = "Synthetic data, written by zlens demo; nothing in it was measured."
_PLACE = 40  # where the name of the report and the note on synthetic data begin
_HARD = "\u00a0"  # a space where no line is broken
_PROBLEMS = 'zlens sql INPUT -q "SELECT * FROM problem"'.replace(" ", _HARD)
_LEVEL = re.compile(r"\d+(\.\d+)+\Z")


def program() -> str:
    """Name and version of this program, as the header shows them."""
    return f"zlens {VERSION}"


def header(
    definition: Definition, block: Block, display: style.Display, now: datetime, width: int
) -> list[str]:
    """Number, time of running and name; title; span of the data; the system it is of."""
    number = f"{definition.number} "
    first = f"{number:<8}Run {style.stamp(now)}"
    start = style.stamp(display(block.start)) if block.start else "...."
    end = style.stamp(display(block.end)) if block.end else "...."
    span = "...."
    if block.start and block.end:
        seconds = round((block.end - block.start).total_seconds())
        span = f"{seconds:>6} Secs {hours(seconds)}"
    made = '"synthetic, not measured"' if block.made else ""
    return [
        _ends(f"{first:<{_PLACE}}{definition.name.upper()}", program(), width),
        definition.title,
        "",
        _ends(f"From {start}", block.name, width),
        _ends(f"To   {end}", _machine(block), width),
        _ends(f"{f'For {span}':<{_PLACE}}{made}".rstrip(), level(block), width),
    ]


def hours(seconds: int) -> str:
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}"


def value(block: Block, name: str) -> str:
    """The first that one of its systems says."""
    return next((str(system[name]).strip() for system in block.systems if system.get(name)), "")


def _machine(block: Block) -> str:
    kind = "-".join(part for part in (value(block, "machine_type"), value(block, "model")) if part)
    # A sequence code is padded with zeros; serial numbers are printed with five digits.
    serial = value(block, "serial")
    serial = serial.lstrip("0").rjust(5, "0") if serial else ""
    return "   ".join(
        part for part in (f"CPU {kind}" if kind else "", f"SN {serial}" if serial else "") if part
    )


def level(block: Block) -> str:
    """Releases of its systems: `z/VM V.6.3.0`, `z/OS 3.1`; what names itself stays as it is."""
    return ", ".join(dict.fromkeys(filter(None, map(_level, block.systems))))


def _level(system: dict[str, style.Value]) -> str:
    release = str(system.get("release") or "").strip()
    source = system.get("source")
    if source == "smf" and _LEVEL.match(release):
        return f"z/OS {release}"
    if not release or release.startswith("z/") or source != "zvm-monitor":
        return release
    return f"z/VM V.{release}" if _LEVEL.match(release) else f"z/VM {release}"


def _ends(left: str, right: str, width: int) -> str:
    return f"{left}{right:>{max(width - len(left), len(right) + 1)}}" if right else left


def notes(definition: Definition, block: Block, session: Session, width: int) -> list[str]:
    """The footnotes, wrapped."""
    lines: list[str] = []
    for note in footnotes(definition, block, session):
        lines += textwrap.wrap(
            note,
            width,
            initial_indent="* ",
            subsequent_indent="  ",
            break_on_hyphens=False,
            break_long_words=False,
        )
    return [line.replace(_HARD, " ") for line in lines]


def footnotes(definition: Definition, block: Block, session: Session) -> list[str]:
    """What a reader of the report must know, most important first."""
    found = [MADE] if block.made else []
    count = len(session.problems)
    if count:
        what = "1 problem" if count == 1 else f"{count:,} problems"
        found.append(f"{what} in reading, see: {_PROBLEMS}")
    # Without rows a note on them is about nothing; a known fault may be why there are none.
    wanted = [note for note in definition.notes if note.when or not block.empty]
    found += [note.text for note in wanted if _holds(note, definition.block, block, session)]
    found += known_faults(definition, block)
    if block.empty:
        return found
    empty = dotted(block)
    for status in REMARKABLE:
        columns = [
            column
            for table, _ in block.shown
            for column in table.columns
            if column not in empty and facts.status(column) == status
        ]
        if columns:
            found.append(f"{_STATUS[status]}: {_named(columns)}.")
    if empty:
        found.append(f"Not available in this input: {_named(empty)}.")
    if empty or found:
        found.append(f"More about every column: zlens{_HARD}explain{_HARD}{definition.name}")
    found.append(times(block, session))
    return found


def known_faults(definition: Definition, block: Block) -> list[str]:
    """What the level of one of its systems is known to record wrongly, or not at all."""
    return [each.note() + "." for each in caveats.of_report(definition.name, block.systems)]


def _holds(note: Note, column: str, block: Block, session: Session) -> bool:
    """Whether a footnote belongs to a block: an answer that names blocks is for those it names."""
    if not note.when:
        return True
    answer = session.sql(note.when)
    if column not in answer.columns:
        return bool(answer.rows)
    place = answer.columns.index(column)
    return any(str(row[place]) == block.name for row in answer.rows)


_STATUS = {
    "constructed": "Constructed by zlens from other values",
    "derived": "Derived by zlens, printed nowhere as a formula",
    "unverified": "Not verified: the formula is held against no published number",
}


def _named(columns: list[Column]) -> str:
    return ", ".join(dict.fromkeys(column.name.replace(" ", _HARD) for column in columns))


def times(block: Block, session: Session) -> str:
    """In which time the report shows its times."""
    if any(system.get("local_time") is True for system in block.systems):
        return "Times are those of the source, local to a zone it does not name (option tz)."
    when = block.end or block.start
    offset = session.display(when, block.system).utcoffset() if when else None
    if not offset:
        return "Times are UTC."
    sign = "-" if offset < timedelta(0) else "+"
    return f"Times are local to the system (UTC{sign}{hours(int(abs(offset).total_seconds()))[:5]})."
