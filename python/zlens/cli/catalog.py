"""zlens catalog: the facts zlens works by, and the user's own layout packs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from zlens.cli import inputs
from zlens.errors import CatalogError, QueryError

if TYPE_CHECKING:
    from zlens.catalog.layouts import Field, Layout

SUMMARY = "record layouts and formulas: show, check, what a file lacks, import of IBM's record pages"
DESCRIPTION = """\
Show and check the facts zlens works by, find out which of IBM's monitor record pages would add fields for a
file, and import such pages as a layout pack for a release of z/VM.
"""
EXAMPLES = """\
Examples:
  zlens catalog show D0R2
  zlens catalog needs monwrite.data
  zlens catalog import ~/Downloads/mon730
"""


def configure(parser: argparse.ArgumentParser) -> None:
    from zlens.cli.parser import Formatter

    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)

    def action(name: str, text: str, example: str) -> argparse.ArgumentParser:
        return actions.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"Example:\n  {example}\n",
            formatter_class=Formatter,
            allow_abbrev=False,
        )

    show = action("show", "what the catalog holds, or one record, measure or role", "zlens catalog show D0R2")
    show.add_argument("name", metavar="NAME", nargs="?", help="record (D0R2, MRSYTPRP), measure or role")
    show.add_argument("--release", metavar="R", help="only the layout of this release")
    show.set_defaults(act=_show)
    check = action("check", "whether the catalog and your packs agree with themselves", "zlens catalog check")
    check.set_defaults(act=_check)
    needs = action(
        "needs", "which record pages would add fields for a file", "zlens catalog needs monwrite.data"
    )
    inputs.add_inputs(needs)
    needs.set_defaults(act=_needs)
    pages = action("import", "make a layout pack from saved record pages", "zlens catalog import mon730/")
    pages.add_argument("pages", metavar="PAGES", nargs="*", help="saved pages, or folders of them")
    pages.add_argument("--release", metavar="R", help="release of pages that do not say theirs")
    pages.add_argument("--dry-run", action="store_true", help="say what would be imported; write nothing")
    pages.add_argument("--replace", action="store_true", help="drop records that the pages do not hold")
    pages.add_argument("--all", action="store_true", help="list everything, however long")
    pages.set_defaults(act=_import)


def run(arguments: argparse.Namespace) -> int:
    from zlens.cli import output

    with output.opened(None) as out:
        status: int = arguments.act(arguments, out)
    return status


# Show -------------------------------------------------------------------------------------------


def _show(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens.catalog import layouts, metrics, roles

    name = arguments.name
    if name is None:
        _overview(out)
        return 0
    record = _record(name)
    if record is not None:
        found = [
            layout
            for layout in layouts.layouts(record)
            if arguments.release is None or layout.release == arguments.release
        ]
        _show_record(out, record, found)
        return 0
    if name.lower() in metrics.tables():
        table = metrics.table(name.lower())
        out.write(f"{table.name}: {table.text}\n\n")
        _columns(out, ((c.name, c.type, c.unit or "", c.status, c.text) for c in table.columns))
        return 0
    role = name.lower().removeprefix("role.")
    if role in roles.entities():
        entity = roles.entity(role)
        out.write(f"role.{role}: {entity.text}\n\n")
        _columns(out, ((one.name, one.type, one.unit or "", "", one.text) for one in entity.roles.values()))
        for origin in entity.origins:
            out.write(f"\nfrom {origin.table}: {origin.source}\n")
        return 0
    raise QueryError(
        f"the catalog knows no {name!r}",
        expected="a record such as D0R2 or MRSYTPRP, a measure or a role",
        cure="zlens catalog show lists what there is",
    )


def _record(name: str) -> str | None:
    """The record meant by D0R2, d0r2 or its page's name; None when it is none."""
    from zlens.catalog import layouts

    wanted = name.upper()
    known = layouts.records()
    if wanted in known:
        return wanted
    for record in known:
        head = layouts.head(record)
        if head is not None and wanted in (head.dsect, head.dsect.removeprefix("MR")):
            return record
    return None


def _overview(out: TextIO) -> None:
    from zlens.catalog import layouts, metrics, packs, roles

    out.write("Measures\n")
    for name in metrics.tables():
        out.write(f"  {name:<12} {metrics.table(name).text}\n")
    out.write("\nRoles\n")
    for name in roles.entities():
        out.write(f"  {name:<16} {roles.entity(name).text}\n")
    out.write("\nMonitor records\n")
    for record in layouts.records():
        head = layouts.head(record)
        if head is not None:
            out.write(f"  {record:<7} {head.dsect:<9} {head.kind:<19} {head.title}\n")
    out.write("\nLayout packs\n")
    listed = packs.listed()
    for pack in listed:
        out.write(f"  {pack.release:<5} {len(pack.records)} records  {pack.path}\n")
    if not listed:
        out.write("  none; zlens catalog import makes one of IBM's record pages\n")


def _show_record(out: TextIO, record: str, found: list[Layout]) -> None:
    from zlens.catalog import layouts

    head = layouts.head(record)
    if head is not None:
        out.write(f"{record} {head.dsect}, {head.kind}: {head.title}\n")
        if head.lengths:
            lengths = ", ".join(f"{release}: {length}" for release, length in head.lengths.items())
            out.write(f"Lengths by release: {lengths}\n")
        if head.note:
            out.write(f"Note: {head.note}\n")
    if not found:
        out.write("\nNo layout is known; zlens catalog import takes one from IBM's page.\n")
    for layout in found:
        length = f"{layout.length}{'+' if layout.variable else ''} bytes"
        part = "" if layout.complete else ", only part of the fields"
        out.write(f"\nz/VM {layout.release} ({layout.pack}): {length}{part}; {layout.status}\n")
        out.write(f"Source: {layout.source}\n")
        if layout.note:
            out.write(f"Note: {layout.note}\n")
        out.write("\n")
        _fields(out, layout.fields)
        for section in layout.sections:
            out.write(f"\nSection {section.name}: {section.title}; entries of {section.length} bytes\n\n")
            _fields(out, section.fields)


def _fields(out: TextIO, fields: Iterable[Field]) -> None:
    def rows() -> Iterator[tuple[str, ...]]:
        yield ("offset", "len", "type", "kind", "unit", "name", "")
        for field in fields:
            kind = field.kind if field.kind_status != "inferred" else f"{field.kind} (inferred)"
            size = f"{field.length}x{field.count}" if field.count > 1 else str(field.length)
            name = "reserved" if field.reserved else field.name
            yield (
                str(field.offset),
                size,
                field.type,
                "" if field.reserved else kind,
                field.unit or "",
                name,
                field.text or "",
            )

    _align(out, list(rows()), right=2)


def _columns(out: TextIO, rows: Iterable[tuple[str, ...]]) -> None:
    _align(out, [("name", "type", "unit", "status", ""), *rows], right=0)


def _align(out: TextIO, rows: list[tuple[str, ...]], *, right: int) -> None:
    """Columns of text; the first `right` of them are numbers."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [
            cell.rjust(width) if at < right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row[:-1], widths, strict=True))
        ]
        out.write("  " + "  ".join([*cells, row[-1]]).rstrip() + "\n")


# Check ------------------------------------------------------------------------------------------


def _check(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens import reports
    from zlens.catalog import check

    wrong = check.everything()
    for sentence in wrong:
        out.write(f"{sentence}\n")
    for name in reports.names():
        reports.load(name)
    out.write(f"{check.summary()}: {f'{len(wrong)} wrong' if wrong else 'all in order'}\n")
    return 1 if wrong else 0


# Needs ------------------------------------------------------------------------------------------


def _needs(arguments: argparse.Namespace, out: TextIO) -> int:
    import zlens
    from zlens.catalog import choose
    from zlens.progress import Progress
    from zlens.readers.monwrite import MonwriteSource

    with (
        inputs.files_of(arguments.inputs) as files,
        Progress() as progress,
        zlens.open(files, progress=progress) as session,
    ):
        progress.close()
        sources = [source for source in session.sources if isinstance(source, MonwriteSource)]
        if not sources:
            raise QueryError(
                "the input holds no z/VM monitor data", cure="only its records have layouts to import"
            )
        for source in sources:
            for group in source.groups:
                info = group.info
                found = choose.needs(source.types(group), release=info.release, callevel=group.call_level)
                release = f"z/VM {info.release}" if info.release else "z/VM of an unknown release"
                if not found:
                    out.write(f"{info.system} ({release}): every byte of its records has a layout\n")
                    continue
                out.write(f"{info.system} ({release}): pages that would add fields\n")
                for need in found:
                    out.write(f"  {need.record:<7} {need.title}\n")
                    now = f"decoded with {need.decoded_with}" if need.decoded_with else "not decoded"
                    out.write(f"          {need.reason}, {now}; up to {need.bytes:,} bytes a record more\n")
                    if need.url:
                        out.write(f"          {need.page}: {need.url}\n")
                out.write("Save those pages, then: zlens catalog import FOLDER\n")
    return 0


# Import -----------------------------------------------------------------------------------------


def _import(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens.catalog import pages
    from zlens.progress import Progress

    paths = [Path(name) for name in arguments.pages]
    for path in paths:
        if not path.exists():
            raise CatalogError("there is no such file or folder", file=str(path), cure="check the name")
    with Progress() as progress:
        report = pages.import_pages(
            paths,
            release=arguments.release,
            dry_run=arguments.dry_run,
            replace=arguments.replace,
            progress=lambda done, total: progress(done, total, "pages"),
        )
    out.write(report.text(full=arguments.all))
    return 0
