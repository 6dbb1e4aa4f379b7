"""Arguments and code shared by commands that read data: INPUT, common options, standard input."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from zlens.cli.streams import print_message
from zlens.errors import InputError, QueryError, ZlensError
from zlens.inputs.options import (
    Options,
    parse_date,
    parse_leap,
    parse_offset,
    parse_selection,
    parse_time_spec,
    parse_zone,
)
from zlens.inputs.problems import Problem
from zlens.schema.temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from zlens.progress import Progress
    from zlens.session.session import CoreSession

#: INPUT of a command: one or more, or any number.
INPUTS = "INPUT+ -> inputs    file, folder, quoted pattern, or -"
ANY_INPUTS = INPUTS.replace("+", "*")
#: Maximum bytes of standard input, which is copied to a file because reading needs several passes.
SPOOL_LIMIT = 64 * 1024**3
#: Maximum share of the disk's free space for this file, because other programs write there too.
SPOOL_SHARE = 0.5
#: Bytes that must remain free on that disk.
SPOOL_RESERVE = 256 * 1024**2
_BLOCK = 1024 * 1024


_DATA = """
which data:
--system NAME...      only this system (may be repeated)
--source NAME         where several sources describe a system, show this one (info names them); all: every one
--from TIME -> start  intervals after TIME: '2026-03-02 09:15', '09:15', 'yesterday 09:15' or 'last hour'
--to TIME -> end      intervals up to TIME
--shift HOURS         only these hours: 'Mon-Fri 08:00-17:00'
--peak LENGTH         only the busiest period of each system: 60m, 2h
--every LENGTH        combine intervals up to this length: 15m, 1h
"""
_TIME = """
time:
--tz ZONE    time zone of sources that record local time only: Europe/Berlin, -05:00
--date DATE  date of listings and lines without a date: 2026-03-02
"""
_LEAP = """
--leap N  leap seconds included in TOD values: 27
"""
THROUGHPUT = """
throughput:
--throughput FILE          CSV of application throughput: time (or start, end), transactions (or rate),
                           response
--throughput-columns LIST  map its columns: 'time=When,rate=Load:per min,response=RT:ms'
--throughput-offset TIME   offset added to its times to match the system's clock: 90, -1h; info suggests one
--as-published             compute ITR from busy rounded to 0.1%%, as published tables do
"""
_STRICT = """
options:
--strict  exit with status 1 if there are problems
"""
#: Options of commands that select intervals.
SELECTING = f"""{_DATA}{_TIME}
--utc               show UTC instead of the system's local time
{_LEAP}
groups:
--group FILE        combine guests, devices, volumes and partitions into groups: lines like "LNX*" = "linux"
                    under [guest], [device], [volume] or [partition]
formulas:
--allow-unverified  include metrics whose formula no source confirms
--weights FILE      your own weights for RNI and finite CPI; see explain cpumf.rni
{THROUGHPUT}{_STRICT}"""


def reading(more: str = "") -> str:
    """Return the options of commands that read all intervals, and more before the last one."""
    return f"{_TIME}{_LEAP}{more}{_STRICT}"


def parse_options(arguments: argparse.Namespace) -> Options:
    """Parse the options of the command line; raises QueryError if one is invalid."""
    values = vars(arguments)
    start, end = values.get("start"), values.get("end")
    zone, date, leap = values.get("tz"), values.get("date"), values.get("leap")
    return Options(
        systems=tuple(values.get("system", ())),
        source=values.get("source"),
        start=parse_time_spec(start) if start else None,
        end=parse_time_spec(end) if end else None,
        tz=parse_zone(zone) if zone else None,
        date=parse_date(date) if date else None,
        utc=values.get("utc", False),
        leap=parse_leap(leap) if leap is not None else None,
        allow_unverified=values.get("allow_unverified", False),
        weights=values.get("weights"),
        group=values.get("group"),
        **parse_selection(values),
        **_throughput_of(values),
    )


def split_pair(text: str) -> tuple[str, str]:
    """Split KEY=VALUE; raises QueryError if it has no equals sign."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise QueryError(f"{text!r} is not a subject", expected="KEY=VALUE, such as cpu_id=3")
    return key.strip(), value.strip()


def _throughput_of(values: dict[str, Any]) -> dict[str, Any]:
    path, columns = values.get("throughput"), values.get("throughput_columns")
    offset = values.get("throughput_offset")
    if path is None and (columns or offset is not None):
        raise QueryError("no throughput file", cure="name it with --throughput FILE")
    if columns:
        from zlens.readers.throughput.table import parse_columns

        parse_columns(columns)
    return {
        "throughput": path,
        "throughput_columns": columns,
        "throughput_offset_s": parse_offset(offset) if offset is not None else 0.0,
        "as_published": values.get("as_published", False),
    }


def print_throughput_notes(session: CoreSession) -> None:
    """Print on standard error how the throughput file was read."""
    for line in session.throughput_notes():
        print_message(line)


def finish(session: CoreSession, *, strict: bool) -> int:
    """Print on standard error how the user's files were read, and the problems; return the exit status."""
    print_throughput_notes(session)
    for pattern in session.unmatched_groups():
        print_message(f"{session.options.group}: {pattern} matches nothing in this input")
    return exit_status(session.problems, strict=strict)


@contextmanager
def input_files(inputs: Iterable[str]) -> Iterator[list[str]]:
    """Yield the inputs, with standard input (`-`) copied to a temporary file."""
    names = list(inputs)
    if "-" not in names:
        yield names
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("standard input is a terminal", cure="pipe data into zlens, or name a file")
    folder = TemporaryFolder()
    path = os.path.join(folder.path, "stdin")
    try:
        spool(sys.stdin.buffer, path)
        yield [path if name == "-" else name for name in dict.fromkeys(names)]
    except ZlensError as error:
        if error.file == path:
            error.file = "standard input"
        raise
    finally:
        folder.remove()


@contextmanager
def open_session(
    names: Iterable[str], options: Options | None = None
) -> Iterator[tuple[CoreSession, Progress]]:
    """Open inputs and yield their session with its progress, to close before anything is printed."""
    from zlens.progress import Progress
    from zlens.session.session import CoreSession

    with (
        input_files(names) as files,
        Progress() as progress,
        CoreSession(files, options, progress) as session,
    ):
        yield session, progress


def spool(stream: BinaryIO, path: str, limit: int = SPOOL_LIMIT, share: float = SPOOL_SHARE) -> None:
    """Copy a stream to a new file; raises InputError before it exceeds the limit or its share of the disk."""
    folder = os.path.dirname(path)
    max_bytes = min(limit, int(shutil.disk_usage(folder).free * share))
    size = 0
    with open(path, "xb") as file:
        while block := stream.read(_BLOCK):
            size += len(block)
            # Other programs may fill the disk in the meantime.
            if size > max_bytes or shutil.disk_usage(folder).free < len(block) + SPOOL_RESERVE:
                raise InputError(
                    "standard input is too large for a temporary file",
                    file="-",
                    offset=size - len(block),
                    expected=f"at most {max_bytes:,} bytes: {share:.0%} of what is free there, "
                    f"and no more than {limit:,}",
                    cure="name a file instead, or set TMPDIR to a disk with more space",
                )
            file.write(block)


def exit_status(problems: Iterable[Problem], *, strict: bool, quiet: bool = False) -> int:
    """Print the number of problems on standard error and return the exit status."""
    kinds = Counter(problem.kind for problem in problems)
    if not kinds:
        return 0
    if not quiet:
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        total = sum(kinds.values())
        print_message(
            f"{total} problem{'s' if total > 1 else ''} so far ({counts}); "
            'list all with zlens sql INPUT -q "from problem"'
        )
    return 1 if strict else 0
