"""\
Show the contents of a lake written by `zlens import`, verify its files against their checksums, remove data,
join inputs that `zlens import --stage` has decoded, store measures by hour and day, or prepare the web UI.

Examples:
  zlens lake show lake --days
  zlens lake check lake
  zlens lake commit lake staged
  zlens lake forget lake --system ZVM1 --to 2026-01-01
  zlens lake rollup lake && zlens lake forget lake --raw --older-than 90d --even-if-lost unmeasured
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from zlens.cli import inputs, private_files
from zlens.cli.parser import add_action
from zlens.cli.streams import print_message
from zlens.errors import QueryError
from zlens.rendering.text_lines import align_columns
from zlens.schema.plain_text import format_count, replace_controls

if TYPE_CHECKING:
    from zlens.lake import Held
    from zlens.lake.summary import FileTotals, SystemContents

#: Maximum faults listed without --all.
_MOST = 20

OPTIONS = ""
_LAKE = "LAKE    folder or URL of the lake"
_SHOWN = f"""{_LAKE}
--days    each day of each system
--tables  each table of each system
--inputs  each input, by its name at import
--format {{text,json}} [text]  output format (text)
"""
_FORGOTTEN = f"""{_LAKE}
--system NAME...          only this system (may be repeated)
--from TIME -> start      intervals after TIME: '2026-03-02 09:15'
--to TIME -> end          intervals up to TIME
--utc                     times are UTC instead of the system's local time
--raw                     remove raw tables only; needs --older-than
--older-than AGE          inputs whose days are all this old: 90d
--even-if-lost TABLES...  with --raw: raw tables, separated by commas, that may be removed although no measure
                          has their rows; 'unmeasured': all that no measure reads
--dry-run                 show what would be removed; remove nothing
"""
# Other actions change existing lakes, whose permissions their files get.
_STAGED = f"""{_LAKE}
DIR+ -> staged  folder of staged inputs
--keep          leave the staged inputs where they are
{private_files.option("the lake")}
"""


def configure(parser: argparse.ArgumentParser) -> None:
    action = partial(add_action, parser.add_subparsers(metavar="ACTION", dest="action", required=True))
    action(_show, "show", "systems, days, tables, rows, bytes, inputs", "zlens lake show lake --days", _SHOWN)
    action(
        _check,
        "check",
        "read every file and verify its checksum",
        "zlens lake check lake",
        f"{_LAKE}\n--all    list all faults, however many",
        "\nThe exit status is 1 if a file is missing, changed or not part of the lake.",
    )
    action(
        _forget,
        "forget",
        "remove systems and times",
        "zlens lake forget lake --system ZVM1 --to 2026-01-01",
        _FORGOTTEN,
        "\nRemoves complete inputs, or all data of a system in an input; only those can be imported again."
        "\nInputs that lie only partly within the times are kept and listed."
        "\nWith --raw, only raw tables go; the measures that `zlens lake rollup` keeps stay. Table by table,"
        "\nday by day and interval by interval it proves that measures have what is removed, or refuses.",
    )
    action(
        _commit,
        "commit",
        "join staged inputs",
        "zlens lake commit lake staged",
        _STAGED,
        "\nMakes inputs that `zlens import --stage` has decoded part of a lake, which is created if missing,"
        "\nand removes their folders. Data already in the lake is skipped. Repeat it after an interruption."
        "\nThe exit status is 1 if an input cannot be part of this lake.",
    )
    action(
        _rollup,
        "rollup",
        "store measures by hour and day",
        "zlens lake rollup lake && zlens sql lake -q 'from cpu_hour'",
        f"{_LAKE}\n--system NAME...    only machines with this system",
        "\nComputes each measure by hour and day of local time, with sums that keep every mean"
        "\nright, as tables that end in _hour and _day. Only days with changed data are computed.",
    )
    action(
        _prepare,
        "prepare",
        "compute what the web UI shows first",
        "zlens lake prepare lake && zlens serve lake",
        f"{_LAKE}\n--system NAME...    only this system (may be repeated)",
        "\nComputes the long tables of the web UI's first views and keeps them in your cache folder,"
        "\nwhere the next `zlens serve` of the same lake finds them. Repeat it after an import.",
    )


def run(arguments: argparse.Namespace) -> int:
    from zlens.cli import output

    shared = getattr(arguments, "shared", False)
    with (
        private_files.private_files(arguments.lake, shared=shared),
        output.open_output(None, getattr(arguments, "format", "text")) as out,
    ):
        status: int = arguments.act(arguments, out)
    return status


def _show(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens import lake

    contents = lake.contents(arguments.lake)
    if arguments.format == "json":
        json.dump(_object(contents), out, ensure_ascii=False, indent=1)
        out.write("\n")
        return 0
    from zlens.progress import bytes_text

    parquet = sum(system.amount.bytes for system in contents.systems)
    rows = sum(system.amount.rows for system in contents.systems)
    files = sum(system.amount.files for system in contents.systems)
    input_bytes = sum(entry.bytes for entry in contents.inputs)
    out.write(f"{replace_controls(contents.path)}\n")
    out.write(f"  {format_count(len(contents.inputs), 'input')} of {bytes_text(input_bytes)}\n")
    out.write(f"  {rows:,} rows in {format_count(files, 'file')} of {bytes_text(parquet)}\n")
    if contents.measured_days:
        out.write(f"  {format_count(contents.measured_days, 'day')} of measures by hour and day\n")
    if contents.measures_only:
        out.write(f"  {format_count(contents.measures_only, 'input')} without raw tables\n")
    if contents.waiting:
        out.write(f"  {format_count(contents.waiting, 'file')} to be removed when no longer read\n")
    out.write("\n")
    _table(
        out,
        ("SYSTEM", "SOURCE", "FROM (UTC)", "TO (UTC)", "DAYS", "INPUTS", "TABLES", "ROWS", "BYTES"),
        [
            (
                system.system, system.source, _time(system.first_us), _time(system.last_us), len(system.days),
                system.inputs, len(system.tables), system.amount.rows, system.amount.bytes,
            )
            for system in contents.systems
        ],
    )  # fmt: skip
    if arguments.days:
        _amounts(out, "DAY", ((system, system.days) for system in contents.systems))
    if arguments.tables:
        _amounts(out, "TABLE", ((system, system.tables) for system in contents.systems))
    if arguments.inputs:
        out.write("\n")
        _table(
            out,
            ("INPUT", "SHA-256", "SYSTEMS", "FROM (UTC)", "TO (UTC)", "BYTES", "ROWS", "IMPORTED"),
            [
                (
                    entry.path, entry.sha256[:8], " ".join(entry.systems), _time(entry.first_us),
                    _time(entry.last_us), entry.bytes, entry.amount.rows, _time(entry.added_us),
                )
                for entry in contents.inputs
            ],
        )  # fmt: skip
    return 0


def _amounts(
    out: TextIO, label: str, systems: Iterable[tuple[SystemContents, dict[str, FileTotals]]]
) -> None:
    out.write("\n")
    rows = [
        (system.system, name, amount.files, amount.rows, amount.bytes)
        for system, amounts in systems
        for name, amount in sorted(amounts.items())
    ]
    _table(out, ("SYSTEM", label, "FILES", "ROWS", "BYTES"), rows)


def _object(contents: Held) -> dict[str, Any]:
    from msgspec import to_builtins

    result: dict[str, Any] = to_builtins(contents)
    for entry in [*result["systems"], *result["inputs"]]:
        for name in ("first", "last", "added"):
            if f"{name}_us" in entry:
                time = _time(entry.pop(f"{name}_us"), full=True)
                entry[name] = None if time == "-" else time
    return result


def _table(out: TextIO, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    cells = [
        list(header),
        *([f"{cell:,}" if isinstance(cell, int) else replace_controls(cell) for cell in row] for row in rows),
    ]
    is_text = [
        not rows or not all(isinstance(row[index], int) for row in rows) for index in range(len(header))
    ]
    out.writelines(f"{line}\n" for line in align_columns(cells, is_text))


def _check(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens import lake
    from zlens.progress import Progress, bytes_text

    with Progress() as progress:
        result = lake.check(arguments.lake, progress)
    shown = result.faults if arguments.all else result.faults[:_MOST]
    for fault in shown:
        out.write(f"{fault.kind}: {replace_controls(fault.path)}: {replace_controls(fault.detail)}\n")
    if len(shown) < len(result.faults):
        out.write(f"and {len(result.faults) - len(shown):,} more; --all lists them\n")
    summary = f"{format_count(result.files, 'file')} of {bytes_text(result.bytes)}"
    out.write(f"{summary}: {format_count(len(result.faults), 'fault') if result.faults else 'no faults'}\n")
    return 1 if result.faults else 0


def _forget(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens import lake
    from zlens.inputs.options import parse_duration
    from zlens.lake.file_names import is_url
    from zlens.progress import Progress, bytes_text

    options = inputs.parse_options(arguments)
    if arguments.raw or arguments.older_than:
        if not (arguments.raw and arguments.older_than) or options.start or options.end:
            raise QueryError(
                "--raw requires --older-than, without --from and --to",
                expected="something like --raw --older-than 90d",
            )
        age = parse_duration(arguments.older_than, longest=100 * 366)
        even_if_lost = [name for each in arguments.even_if_lost for name in each.split(",")]
        with Progress() as progress:
            removed = lake.forget_raw(
                arguments.lake,
                age,
                systems=options.systems,
                even_if_lost=even_if_lost,
                dry_run=arguments.dry_run,
                progress=progress,
            )
    elif arguments.even_if_lost:
        raise QueryError("--even-if-lost belongs to --raw", expected="--raw --older-than 90d")
    else:
        removed = lake.forget(arguments.lake, options, dry_run=arguments.dry_run)
    for entry in removed.proof:
        out.write(f"{'kept as measures' if entry.is_retained else 'lost'}: {replace_controls(str(entry))}\n")
    for system, path in removed.unmeasured:
        retained = replace_controls(f"{system} of {path}")
        out.write(f"kept {retained}: imported too late to be in the measures\n")
    for system, path in removed.gone:
        removed_part = replace_controls(f"{system} of {path}")
        out.write(f"{'would remove' if arguments.dry_run else 'removed'} {removed_part}\n")
    for system, path in removed.kept:
        out.write(
            f"kept {replace_controls(system)} of {replace_controls(path)}: only partly within these times\n"
        )
    if not removed.gone:
        out.write("nothing lies entirely within this range\n")
    else:
        amount = (
            f"{format_count(len(removed.gone), 'part')}, {removed.rows:,} rows, {bytes_text(removed.bytes)}"
        )
        out.write(f"{amount} {'would be removed' if arguments.dry_run else 'removed'}\n")
    if removed.waiting:
        reason = "being read, or not removable now"
        if is_url(arguments.lake):
            reason = "for a day, as they may be being read"
        count = format_count(removed.waiting, "file")
        out.write(f"{count} still there ({reason}); the next import or removal deletes them\n")
    return 0


def _time(us: int | None, *, full: bool = False) -> str:
    if us is None:
        return "-"
    time = dt.datetime.fromtimestamp(us // 1_000_000, dt.UTC)
    return f"{time:%Y-%m-%dT%H:%M:%SZ}" if full else f"{time:%Y-%m-%d %H:%M}"


def _rollup(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens import stores
    from zlens.progress import Progress, bytes_text

    with Progress() as progress:

        def report(rolled: stores.RollupResult) -> None:
            progress.close()
            name = replace_controls(", ".join(rolled.systems))
            if rolled.days:
                span = " to ".join(dict.fromkeys((rolled.days[0], rolled.days[-1])))
                days = format_count(len(rolled.days), "day")
                out.write(f"{name}: {span}: {days}, {rolled.rows:,} rows, {bytes_text(rolled.bytes)}\n")
            for day in rolled.sealed:
                out.write(
                    f"{name}: {day} is unchanged: some of its raw data were removed before the rest arrived\n"
                )
            if not rolled.days and not rolled.sealed:
                out.write(f"{name}: up to date\n")
            out.flush()

        stores.rollup(arguments.lake, systems=arguments.system, progress=progress, report=report)
    return 0


def _prepare(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens.progress import Progress
    from zlens.server import prepared_views

    with Progress() as progress:

        def report(system: str) -> None:
            progress.close()
            out.write(f"{replace_controls(system)}: prepared\n")
            out.flush()

        prepared_views.prepare(arguments.lake, systems=arguments.system, progress=progress, report=report)
    return 0


def _commit(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens import lake
    from zlens.progress import Progress

    failed = 0
    with Progress() as progress:

        def report(result: lake.CommitResult) -> None:
            nonlocal failed
            progress.close()
            if result.error is not None:
                failed += 1
                print_message(str(result.error))
                return
            did = "already in the lake" if result.again else ", ".join(result.input.parts)
            out.write(f"{replace_controls(f'{result.input.path}: {did}')}\n")
            out.flush()

        lake.commit(arguments.staged, arguments.lake, keep=arguments.keep, progress=progress, report=report)
    return 1 if failed else 0
