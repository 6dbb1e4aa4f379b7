"""The header block of a report and its footnotes."""

from __future__ import annotations

import re
import textwrap
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from zlens.catalog import caveats
from zlens.catalog.reports.definition import REMARKABLE, ReportColumn, ReportDefinition
from zlens.inputs.options import ALL
from zlens.inputs.source import without_raw_tables
from zlens.reports import column_facts, style
from zlens.reports.rows import Block, columns_without_values
from zlens.schema.plain_text import replace_controls
from zlens.version import VERSION

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

MADE = "Synthetic data, written by zlens; nothing in it was measured."
_PLACE = 40  # column of the report name and of the note on synthetic data
_HARD = "\u00a0"  # no-break space
_PROBLEMS = 'zlens sql INPUT -q "SELECT * FROM problem"'.replace(" ", _HARD)
_BUCKETS = 'zlens sql LAKE -q "FROM load_hour"'.replace(" ", _HARD)
#: Sources that record a release of z/VM by its number.
_ZVM = ("zvm-monitor", "listing", "listing-means")
_LEVEL = re.compile(r"\d+(\.\d+)+\Z")
#: A release of z/OS as RMF writes it.
_RMF_LEVEL = re.compile(r"z/OS V0*(\d+)R0*(\d+)\Z")


def program() -> str:
    """Return name and version of zlens for the header."""
    return f"zlens {VERSION}"


def header(
    definition: ReportDefinition, block: Block, display: style.Display, now: datetime, width: int
) -> list[str]:
    """Return the lines of the header: number, run time and name; title; time range; system."""
    number = f"{definition.number} "
    first = f"{number:<8}Run {style.stamp(now)}"
    start = style.stamp(display(block.start)) if block.start else "...."
    end = style.stamp(display(block.end)) if block.end else "...."
    span = "...."
    if block.start and block.end:
        seconds = round((block.end - block.start).total_seconds())
        span = f"{seconds:>6} Secs {format_hours(seconds)}"
    synthetic = '"synthetic, not measured"' if block.synthetic else ""
    return [
        _ends(f"{first:<{_PLACE}}{definition.name.upper()}", program(), width),
        definition.title,
        "",
        _ends(f"From {start}", block.name, width),
        _ends(f"To   {end}", _machine(block), width),
        _ends(f"{f'For {span}':<{_PLACE}}{synthetic}".rstrip(), level(block), width),
    ]


def format_hours(seconds: int) -> str:
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}"


def first_value(block: Block, name: str) -> str:
    """Return the first value that a system of the block has."""
    return next((str(system[name]).strip() for system in block.systems if system.get(name)), "")


def _machine(block: Block) -> str:
    kind = "-".join(
        part for part in (first_value(block, "machine_type"), first_value(block, "model")) if part
    )
    # A sequence code is padded with zeros; serial numbers are printed with five digits.
    serial = first_value(block, "serial")
    serial = serial.lstrip("0").rjust(5, "0") if serial else ""
    return "   ".join(
        part for part in (f"CPU {kind}" if kind else "", f"SN {serial}" if serial else "") if part
    )


def level(block: Block) -> str:
    """Return the releases of its systems, each once: `z/VM V.6.3.0`, `z/OS 3.1`, or names of products."""
    levels: dict[str, str] = {}
    for text in filter(None, map(_level, block.systems)):
        levels.setdefault(_RMF_LEVEL.sub(r"z/OS \1.\2", text), text)
    return ", ".join(levels.values())


def _level(system: dict[str, style.Value]) -> str:
    release = str(system.get("release") or "").strip()
    source = system.get("source")
    if source == "smf" and _LEVEL.match(release):
        return f"z/OS {release}"
    if not release or release.startswith("z/") or source not in _ZVM:
        return release
    return f"z/VM V.{release}" if _LEVEL.match(release) else f"z/VM {release}"


def _ends(left: str, right: str, width: int) -> str:
    # Names of the input keep the lines of the header apart.
    right = replace_controls(right)
    return f"{left}{right:>{max(width - len(left), len(right) + 1)}}" if right else left


def notes(definition: ReportDefinition, block: Block, session: CoreSession, width: int) -> list[str]:
    """Return the footnotes, wrapped."""
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


def footnotes(definition: ReportDefinition, block: Block, session: CoreSession) -> list[str]:
    """Return the footnotes of a block, most important first."""
    lines = [MADE] if block.synthetic else []
    if block.problems:
        problems = "1 problem" if block.problems == 1 else f"{block.problems:,} problems"
        lines.append(f"{problems} while reading, see: {_PROBLEMS}")
    removed = without_raw_tables(session.sources) & {str(system["system"]) for system in block.systems}
    if removed:
        lines.append(
            f"Raw tables of {', '.join(sorted(removed))} are removed, at least in part; measures by hour "
            f"and day remain, see: {_BUCKETS}"
        )
    lines += several_sources(block, session)
    lines += block.notes
    lines += known_faults(definition, block)
    if block.empty:
        return lines
    empty = columns_without_values(block)
    # By identity: comparing columns by value dominates the time of a short block.
    dots = {id(column) for column in empty}
    for status in REMARKABLE:
        columns = [
            column
            for table, _ in block.shown
            for column in table.columns
            if id(column) not in dots and column_facts.status(column) == status
        ]
        if columns:
            lines.append(f"{_STATUS[status]}: {_column_names(columns)}.")
    if empty:
        lines.append(f"Not available in this input: {_column_names(empty)}.")
    if empty or lines:
        lines.append(f"More about every column: zlens{_HARD}explain{_HARD}{definition.name}")
    lines.append(time_zone_note(block, session))
    return lines


def several_sources(block: Block, session: CoreSession) -> list[str]:
    """Return which source is shown of a system that several describe, and the option for the others."""
    names = [info.source for info in session.sources_by_system.get(block.system, ())]
    if not names or session.options.source == ALL:
        return []
    first, *others = names
    return [
        f"Several sources describe {block.system}. Values in both are from {first}; "
        f"{' or '.join(f'--source{_HARD}{name}' for name in others)} shows another."
    ]


def known_faults(definition: ReportDefinition, block: Block) -> list[str]:
    """Return known recording errors and omissions of the releases of its systems."""
    return [caveat.note() + "." for caveat in caveats.report_caveats(definition.name, block.systems)]


_STATUS = {
    "constructed": "Constructed by zlens from other values",
    "derived": "Derived by zlens, not published as a formula",
    "unverified": "Not verified: the formula is not confirmed by a published number",
}


def _column_names(columns: list[ReportColumn]) -> str:
    return ", ".join(dict.fromkeys(column.name.replace(" ", _HARD) for column in columns))


def time_zone_note(block: Block, session: CoreSession) -> str:
    """Return the footnote on the date and the time zone of the report."""
    undated = any(not info.dated for info in session.systems if info.system == block.system)
    unknown = "The date is not known: times count from 1970 (option date). "
    return f"{unknown if undated else ''}{_zone(block, session)}"


def _zone(block: Block, session: CoreSession) -> str:
    recorded_by = [(str(system["system"]), str(system["source"])) for system in block.systems]
    others = ", ".join(sorted({source for _, source in session.other_clocks.intersection(recorded_by)}))
    if session.is_local(block.system):
        text = "Times are from the source, local to a zone it does not name (option tz)."
        return f"{text} Those of {others} are UTC." if others else text
    time = block.end or block.start
    offset = session.display(time, block.system).utcoffset() if time else None
    text = "Times are UTC."
    if offset:
        sign = "-" if offset < timedelta(0) else "+"
        hours = format_hours(int(abs(offset).total_seconds()))[:5]
        text = f"Times are local to the system (UTC{sign}{hours})."
    return f"{text} Those of {others} are of an unknown zone, taken as UTC (option tz)." if others else text
