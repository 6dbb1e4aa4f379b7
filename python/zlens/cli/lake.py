"""zlens lake: what is in a lake, whether it is whole, and removal."""

from __future__ import annotations

import argparse
import datetime as dt
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from zlens.present.aligned import aligned

if TYPE_CHECKING:
    from zlens.lake import Held
    from zlens.lake.summary import Amount, SystemContents

#: Faults that are listed without --all.
_MOST = 20

DESCRIPTION = """\
Show the contents of a lake written by `zlens import`, verify its files against their checksums, or remove
data.
"""
EXAMPLES = """\
Examples:
  zlens lake show lake --days
  zlens lake check lake
  zlens lake forget lake --system ZVM1 --to 2026-01-01
"""


def configure(parser: argparse.ArgumentParser) -> None:
    from zlens.cli.parser import Formatter

    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)

    def action(name: str, text: str, more: str, example: str) -> argparse.ArgumentParser:
        made = actions.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.{more}",
            epilog=f"Example:\n  {example}\n",
            formatter_class=Formatter,
            allow_abbrev=False,
        )
        made.add_argument("lake", metavar="LAKE", help="folder of the lake")
        return made

    show = action("show", "systems, days, tables, rows, bytes, inputs", "", "zlens lake show lake --days")
    show.add_argument("--days", action="store_true", help="each day of each system")
    show.add_argument("--tables", action="store_true", help="each table of each system")
    show.add_argument("--inputs", action="store_true", help="each input, by its name at import")
    show.add_argument("--format", choices=("text", "json"), default="text", help="output format (text)")
    show.set_defaults(act=_show)
    check = action(
        "check",
        "read every file and hold it against its checksum",
        "\nExit status 1 when a file is missing, changed or belongs to nothing.",
        "zlens lake check lake",
    )
    check.add_argument("--all", action="store_true", help="list all faults, however many")
    check.set_defaults(act=_check)
    forget = action(
        "forget",
        "remove systems and times",
        "\nWhat goes are whole inputs, or all there is of a system in one: only what has gone as a whole can"
        "\nbe imported again. Inputs that lie within the times only partly stay, and are named.",
        "zlens lake forget lake --system ZVM1 --to 2026-01-01",
    )
    forget.add_argument(
        "--system", action="append", default=[], metavar="NAME", help="only this system (may be repeated)"
    )
    forget.add_argument(
        "--from", dest="start", metavar="TIME", help="intervals after TIME: '2026-03-02 09:15'"
    )
    forget.add_argument("--to", dest="end", metavar="TIME", help="intervals up to TIME")
    forget.add_argument("--utc", action="store_true", help="times are UTC instead of the system's local time")
    forget.add_argument("--dry-run", action="store_true", help="say what would go; remove nothing")
    forget.set_defaults(act=_forget)


def run(arguments: argparse.Namespace) -> int:
    from zlens.cli import output

    with output.opened(None) as out:
        status: int = arguments.act(arguments, out)
    return status


# Show -------------------------------------------------------------------------------------------


def _show(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens import lake

    held = lake.contents(arguments.lake)
    if arguments.format == "json":
        json.dump(_object(held), out, ensure_ascii=False, indent=1)
        out.write("\n")
        return 0
    from zlens.progress import bytes_text

    parquet = sum(system.amount.bytes for system in held.systems)
    rows = sum(system.amount.rows for system in held.systems)
    files = sum(system.amount.files for system in held.systems)
    whole = sum(one.bytes for one in held.inputs)
    out.write(f"{_safe(held.path)}\n")
    out.write(f"  {_count(len(held.inputs), 'input')} of {bytes_text(whole)}\n")
    out.write(f"  {rows:,} rows in {_count(files, 'file')} of {bytes_text(parquet)}\n")
    if held.waiting:
        out.write(f"  {_count(held.waiting, 'file')} to be removed when nobody reads\n")
    out.write("\n")
    _table(
        out,
        ("SYSTEM", "SOURCE", "FROM (UTC)", "TO (UTC)", "DAYS", "INPUTS", "TABLES", "ROWS", "BYTES"),
        [
            (
                one.system, one.source, _time(one.first_us), _time(one.last_us), len(one.days), one.inputs,
                len(one.tables), one.amount.rows, one.amount.bytes,
            )
            for one in held.systems
        ],
    )  # fmt: skip
    if arguments.days:
        _amounts(out, "DAY", ((one, one.days) for one in held.systems))
    if arguments.tables:
        _amounts(out, "TABLE", ((one, one.tables) for one in held.systems))
    if arguments.inputs:
        out.write("\n")
        _table(
            out,
            ("INPUT", "SHA-256", "SYSTEMS", "FROM (UTC)", "TO (UTC)", "BYTES", "ROWS", "IMPORTED"),
            [
                (
                    one.path, one.sha256[:8], " ".join(one.systems), _time(one.first_us), _time(one.last_us),
                    one.bytes, one.amount.rows, _time(one.added_us),
                )
                for one in held.inputs
            ],
        )  # fmt: skip
    return 0


def _amounts(out: TextIO, what: str, listed: Iterable[tuple[SystemContents, dict[str, Amount]]]) -> None:
    out.write("\n")
    rows = [
        (system.system, name, amount.files, amount.rows, amount.bytes)
        for system, some in listed
        for name, amount in sorted(some.items())
    ]
    _table(out, ("SYSTEM", what, "FILES", "ROWS", "BYTES"), rows)


def _object(held: Held) -> dict[str, Any]:
    from dataclasses import asdict

    found = asdict(held)
    for one in [*found["systems"], *found["inputs"]]:
        for name in ("first", "last", "added"):
            if f"{name}_us" in one:
                time = _time(one.pop(f"{name}_us"), full=True)
                one[name] = None if time == "-" else time
    return found


def _table(out: TextIO, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    cells = [list(head), *([f"{c:,}" if isinstance(c, int) else _safe(c) for c in row] for row in rows)]
    texts = [not rows or not all(isinstance(row[at], int) for row in rows) for at in range(len(head))]
    out.writelines(f"{line}\n" for line in aligned(cells, texts))


# Check ------------------------------------------------------------------------------------------


def _check(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens import lake
    from zlens.progress import Progress, bytes_text

    with Progress() as progress:
        found = lake.check(arguments.lake, progress)
    shown = found.faults if arguments.all else found.faults[:_MOST]
    for fault in shown:
        out.write(f"{fault.kind}: {_safe(fault.path)}: {_safe(fault.detail)}\n")
    if len(shown) < len(found.faults):
        out.write(f"and {len(found.faults) - len(shown):,} more: --all\n")
    counted = f"{_count(found.files, 'file')} of {bytes_text(found.bytes)}"
    out.write(f"{counted}: {f'{len(found.faults):,} wrong' if found.faults else 'all as listed'}\n")
    return 1 if found.faults else 0


# Forget -----------------------------------------------------------------------------------------


def _forget(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens import lake
    from zlens.inputs.options import Options, parse_moment
    from zlens.progress import bytes_text

    options = Options(
        systems=tuple(arguments.system),
        start=parse_moment(arguments.start) if arguments.start else None,
        end=parse_moment(arguments.end) if arguments.end else None,
        utc=arguments.utc,
    )
    told = lake.forget(arguments.lake, options, dry_run=arguments.dry_run)
    for system, path in told.gone:
        out.write(f"{'would forget' if arguments.dry_run else 'forgot'} {_safe(system)} of {_safe(path)}\n")
    for system, path in told.kept:
        out.write(f"kept {_safe(system)} of {_safe(path)}: only partly within these times\n")
    if not told.gone:
        out.write("nothing lies wholly within this range\n")
    else:
        amount = f"{_count(len(told.gone), 'part')}, {told.rows:,} rows, {bytes_text(told.bytes)}"
        out.write(f"{amount} {'would go' if arguments.dry_run else 'gone'}\n")
    if told.waiting:
        out.write(
            f"{_count(told.waiting, 'file')} still read by somebody: removed at the next import or removal\n"
        )
    return 0


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _time(us: int | None, *, full: bool = False) -> str:
    if us is None:
        return "-"
    time = dt.datetime.fromtimestamp(us // 1_000_000, dt.UTC)
    return f"{time:%Y-%m-%dT%H:%M:%SZ}" if full else f"{time:%Y-%m-%d %H:%M}"


def _safe(text: str) -> str:
    """Names from files must not act on the terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(text))
