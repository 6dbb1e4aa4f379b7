"""Show what the input contains, by file and system: format, machine, release, partition, time range and the
underlying assumptions, records by type, and problems.

SMF dumps compressed with gzip, ZIP or Zstandard are unpacked into TMPDIR, up to a hundred times their size or
1 GiB, whichever is more; ZLENS_UNPACK_LIMIT=BYTES changes the limit.

Examples:
  zlens info monwrite.data
  zlens info data/ --all
  zlens info '2026-03-*/*.data' --format json
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from zlens.catalog.layouts import SIM
from zlens.cli import inputs
from zlens.inputs.unix_time import from_unix_us
from zlens.schema.plain_text import format_count, replace_controls
from zlens.schema.structs import attributes

if TYPE_CHECKING:
    from zlens.inputs.problems import Problem
    from zlens.inputs.source import InventoryRow, Source, SystemInfo

OPTIONS = f"""{inputs.INPUTS}
--check  decode everything, so that problems of values are listed too
--all    every record type and every kind of problem
--format {{text,json}} [text]  output format (text)
--utc    show UTC instead of the system's local time
{inputs.reading(inputs.THROUGHPUT)}"""

#: Sources whose times come from TOD clocks, which may count leap seconds.
_TOD_SOURCES = frozenset({"zvm-monitor", "smf"})

#: Facts of a reader that other keys contain.
_ELSEWHERE = frozenset({"path", "file", "system", "first_time", "last_time"})

#: Record types listed without --all, the largest first.
TOP = 8


def run(arguments: argparse.Namespace) -> int:
    from zlens.cli import output
    from zlens.rendering import rows

    options = inputs.parse_options(arguments)
    with inputs.open_session(arguments.inputs, options) as (session, progress):
        # Before problems, because selecting layouts can add problems.
        inventory = [source.inventory() for source in session.sources]
        problems = session.all_problems() if arguments.check else session.problems
        objects = list(_objects(session.sources, inventory, problems, options.leap))
        progress.close()
        with output.open_output(None, arguments.format) as out:
            if arguments.format == "json":
                names = list(dict.fromkeys(name for entry in objects for name in entry))
                out.write(rows.json_text({name: entry.get(name) for name in names} for entry in objects))
                inputs.print_throughput_notes(session)
            else:
                _write(out, objects, problems, arguments)
                for number, line in enumerate(session.throughput_notes(suggested=True)):
                    out.write(f"{'  ' if number else chr(10) + 'Throughput '}{replace_controls(line)}\n")
        return inputs.exit_status(problems, strict=arguments.strict, quiet=True)


def _objects(
    sources: Iterable[Source],
    inventory: Iterable[list[InventoryRow]],
    problems: Iterable[Problem],
    leap: int | None,
) -> Iterator[dict[str, Any]]:
    """Yield one object per file and system."""
    by_file: dict[str, list[Problem]] = defaultdict(list)
    # Problems of values in all files of a system are listed with its first file.
    by_system: dict[str | None, list[Problem]] = defaultdict(list)
    for problem in problems:
        if problem.file:
            by_file[problem.file].append(problem)
        else:
            by_system[problem.system].append(problem)
    for source, listing in zip(sources, inventory, strict=True):
        records: dict[tuple[str, str | None], list[InventoryRow]] = defaultdict(list)
        for row in listing:
            records[row.file, row.system].append(row)
        for file in source.info():
            path = str(file.get("path") or file.get("file"))
            systems: list[SystemInfo | None] = [info for info in source.systems if path in info.files]
            for info in systems or [None]:
                name = info.system if info else None
                rows = records.get((path, name), [])
                yield {
                    "file": path,
                    **_file_facts(file),
                    **_system(info, source.name, leap),
                    **_span(rows, info),
                    "records": [_record(row) for row in rows],
                    "problems": list(_kinds(_problems_of(path, by_file) + by_system.pop(name, []))),
                }


def _problems_of(path: str, by_file: Mapping[str, list[Problem]]) -> list[Problem]:
    """Return the problems of an input: a file, the files of a folder, or the archive that contains it."""
    if os.path.isfile(path):
        return by_file.get(path, [])
    return [problem for file, problems in by_file.items() if _is_inside(file, path) for problem in problems]


def _is_inside(file: str, path: str) -> bool:
    return file == path or file.startswith(os.path.join(path, "")) or path.startswith(os.path.join(file, ""))


def _file_facts(file: dict[str, Any]) -> dict[str, Any]:
    """Return format, bytes and other facts of the reader about a file."""
    facts = {name: value for name, value in file.items() if name not in _ELSEWHERE}
    return {"format": facts.pop("format"), "bytes": facts.pop("bytes"), "facts": facts}


def _system(info: SystemInfo | None, source: str, leap: int | None) -> dict[str, Any]:
    if info is None:
        return {"system": None, "source": source}
    machine = ("machine_type", "model", "serial", "release", "lpar", "lpar_number", "synthetic")
    return {
        **attributes(info, "system", "source", "machine"),
        "moves": [{"since": _time(since), "machine": name} for since, name in info.moves],
        **attributes(info, *machine),
        "interval_s": info.nominal_s,
        **attributes(info, "utc_offset_s", "local_time", "leap_s"),
        "leap_assumed": leap is None,
    }


def _span(rows: list[InventoryRow], info: SystemInfo | None) -> dict[str, Any]:
    if info is not None and len(info.files) == 1:
        return {"first": _time(info.first_us), "last": _time(info.last_us)}
    # Use the time range of this file if its records have times, else of all files.
    first = min((row.first_us for row in rows if row.first_us is not None), default=None)
    last = max((row.last_us for row in rows if row.last_us is not None), default=None)
    if info is not None:
        first = info.first_us if first is None else first
        last = info.last_us if last is None else last
    return {"first": _time(first), "last": _time(last)}


def _time(us: int | None) -> dt.datetime | None:
    return None if us is None else from_unix_us(us)


def _record(row: InventoryRow) -> dict[str, Any]:
    checked = ("duplicates", "out_of_order", "gaps", "interval_s")
    return {
        **attributes(row, "name", "title"),
        "class": row.kind,
        **attributes(row, "count", "bytes"),
        "first": _time(row.first_us),
        "last": _time(row.last_us),
        **attributes(row, "min_length", "mean_length", "max_length", "layout", *checked),
    }


def _kinds(problems: Iterable[Problem]) -> Iterator[dict[str, Any]]:
    """Yield the problems by kind, with the first of each."""
    kinds: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        kinds[problem.kind].append(problem)
    for kind, group in sorted(kinds.items()):
        first = min(group, key=lambda problem: problem.offset if problem.offset is not None else -1)
        yield {
            "kind": kind,
            "count": len(group),
            "bytes": sum(problem.bytes or 0 for problem in group),
            "first_offset": first.offset,
            "first_detail": first.detail,
        }


# Text ---------------------------------------------------------------------------------------------


def _write(
    out: TextIO, objects: list[dict[str, Any]], problems: list[Problem], arguments: argparse.Namespace
) -> None:
    shown: set[str] = set()
    for number, entry in enumerate(objects):
        if number:
            out.write("\n")
        _write_entry(out, entry, arguments, again=entry["file"] in shown)
        shown.add(entry["file"])
    folders = [path for path in shown if not os.path.isfile(path)]
    others = [
        problem
        for problem in problems
        if problem.file
        and problem.file not in shown
        and not any(_is_inside(problem.file, path) for path in folders)
    ]
    if others:
        out.write("\nNot read\n")
        limit = len(others) if arguments.all else 20
        for problem in others[:limit]:
            out.write(f"  {replace_controls(problem.file)}: {replace_controls(problem.detail)}\n")
        if len(others) > limit:
            out.write(f"  and {len(others) - limit} more; --all lists them\n")


def _write_entry(out: TextIO, entry: dict[str, Any], arguments: argparse.Namespace, *, again: bool) -> None:
    def put(label: str, text: str) -> None:
        out.write(f"  {label:<9} {text}\n")

    out.write(f"{replace_controls(entry['file'])}\n")
    if not again:
        facts = [entry["format"], f"{entry['bytes']:,} bytes", *_facts(entry["facts"])]
        put("Format", replace_controls(", ".join(facts)))
    if entry.get("synthetic"):
        put("MADE", "synthetic data, written by zlens; not measured")
    if entry["system"]:
        parts = [entry["system"]]
        if entry.get("lpar"):
            number = f" ({entry['lpar_number']})" if entry.get("lpar_number") is not None else ""
            parts.append(f"partition {entry['lpar']}{number}")
        if entry.get("release"):
            parts.append(f"release {entry['release']}")
        put("System", ", ".join(replace_controls(part) for part in parts))
    if entry.get("release") == SIM:
        put("Pack", "written with zlens' own pack: the offsets of some fields are invented, not z/VM's")
    if entry.get("machine_type"):
        model = f"-{entry['model']}" if entry.get("model") else ""
        serial = f", serial {entry['serial']}" if entry.get("serial") else ""
        put("Machine", replace_controls(f"{entry['machine_type']}{model}{serial}"))
    offset: int | None = None if arguments.utc else entry.get("utc_offset_s")
    zone = dt.UTC if offset is None else dt.timezone(dt.timedelta(seconds=offset))
    for move in entry.get("moves", ()):
        put(
            "Moved",
            f"to {replace_controls(move['machine'])}, {move['since'].astimezone(zone):%Y-%m-%d %H:%M:%S}",
        )
    _write_times(put, entry, zone, offset)
    _write_records(out, put, entry["records"], zone, everything=arguments.all)
    if not again:
        _write_problems(out, put, entry["problems"], everything=arguments.all, checked=arguments.check)


def _facts(facts: dict[str, Any]) -> Iterator[str]:
    for name, value in facts.items():
        label = name.replace("_", " ")
        if value is False:
            yield f"not {label}"
        elif value is True:
            yield label
        elif value is not None:
            yield f"{label} {value}"


def _time_range(record: dict[str, Any], zone: dt.tzinfo) -> str:
    first, last = record["first"].astimezone(zone), record["last"].astimezone(zone)
    end = f"{last:%H:%M:%S}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M:%S}"
    return f"{first:%Y-%m-%d %H:%M:%S} to {end}"


def _write_times(put: Any, entry: dict[str, Any], zone: dt.tzinfo, offset: int | None) -> None:
    if entry["first"] and entry["last"]:
        if entry.get("local_time"):
            name = "local time, zone unknown; set it with --tz"
        elif offset is not None:
            name = f"local time, {_offset(offset)}"
        else:
            name = "UTC"
        put("Time", f"{_time_range(entry, zone)} ({name})")
    if entry.get("interval_s"):
        put("Interval", f"{entry['interval_s']:g} s")
    if entry["source"] in _TOD_SOURCES:
        origin = "assumed; --leap changes it" if entry["leap_assumed"] else "as given"
        put("Leap", f"{entry['leap_s']} seconds subtracted from times ({origin})")


def _write_records(
    out: TextIO, put: Any, records: list[dict[str, Any]], zone: dt.tzinfo, *, everything: bool
) -> None:
    if not records:
        put("Records", "none")
        return
    count = sum(record["count"] for record in records)
    unknown = sum(record["layout"] is None for record in records)
    undecoded = f"; {unknown} without a known layout" if unknown else ""
    put("Records", f"{count:,} of {len(records)} types{undecoded}")
    order = records if everything else sorted(records, key=lambda r: (-(r["bytes"] or 0), -r["count"]))[:TOP]
    name_width = max(len(record["name"]) for record in order)
    for record in order:
        size = "" if record["bytes"] is None else f"{record['bytes']:,}"
        note = "" if record["layout"] is not None else "  (no layout)"
        title = "" if record["title"] in record["name"] else replace_controls(record["title"])
        name = replace_controls(record["name"])
        row = f"    {name:<{name_width}} {record['count']:>10,} {size:>14}  {title}{note}"
        out.write(f"{row.rstrip()}\n")
        for line in _record_details(record, zone):
            out.write(f"    {'':<{name_width}} {line}\n")
    if len(order) < len(records):
        out.write(f"    and {len(records) - len(order)} more types; --all lists them\n")


def _record_details(record: dict[str, Any], zone: dt.tzinfo) -> Iterator[str]:
    """Yield a line on times, lengths and order of records, for readers that check every record."""
    if record["duplicates"] is None:
        return
    min_length, max_length = record["min_length"], record["max_length"]
    parts = [f"{min_length:,} bytes each"]
    if min_length != max_length:
        parts = [f"{min_length:,} to {max_length:,} bytes, mean {record['mean_length']:,.0f}"]
    if record["first"] and record["last"]:
        parts.insert(0, _time_range(record, zone))
    if record["interval_s"] is not None:
        gaps = format_count(record["gaps"], "gap") if record["gaps"] else "no gap"
        parts.append(f"every {record['interval_s']:g} s, {gaps}")
    if record["duplicates"]:
        parts.append(format_count(record["duplicates"], "duplicate"))
    if record["out_of_order"]:
        parts.append(f"{format_count(record['out_of_order'], 'run', 'runs')} out of order")
    yield "; ".join(parts)


def _write_problems(
    out: TextIO, put: Any, kinds: list[dict[str, Any]], *, everything: bool, checked: bool
) -> None:
    count = f"{sum(kind['count'] for kind in kinds):,}" if kinds else "none"
    put("Problems", count if checked else f"{count} so far; --check decodes every value")
    for kind in kinds if everything else kinds[:TOP]:
        first = "" if kind["first_offset"] is None else f", first at byte {kind['first_offset']:,}"
        lost = f", {kind['bytes']:,} bytes lost" if kind["bytes"] else ""
        out.write(
            f"    {kind['kind']} {kind['count']:,}{lost}{first}: {replace_controls(kind['first_detail'])}\n"
        )


def _offset(seconds: int) -> str:
    sign = "-" if seconds < 0 else "+"
    return f"UTC{sign}{abs(seconds) // 3600:02}:{abs(seconds) // 60 % 60:02}"
