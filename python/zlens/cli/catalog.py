"""zlens catalog: the facts zlens works by, and the user's own layout packs."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import TextIO

from zlens.cli import inputs
from zlens.errors import CatalogError, QueryError

DESCRIPTION = """\
Show and check the facts that zlens works by, list which of IBM's monitor record pages would add fields for a
file and what its reports lack, and import such pages as a layout pack for a z/VM release.
"""
EXAMPLES = """\
Examples:
  zlens catalog show D0R2
  zlens catalog show smf70_cpu
  zlens catalog needs monwrite.data
  zlens catalog import ~/Downloads/mon730.zip
  zlens catalog show D4R3 --release 7.3
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

    show = action(
        "show", "contents of the catalog or of one record, measure or role", "zlens catalog show D0R2"
    )
    show.add_argument(
        "name", metavar="NAME", nargs="?", help="record (D0R2, MRSYTPRP, SMF70), its table, measure or role"
    )
    show.add_argument("--release", metavar="R", help="only the layout of this release")
    show.set_defaults(act=_show)
    check = action("check", "check the catalog and your packs for consistency", "zlens catalog check")
    check.set_defaults(act=_check)
    needs = action(
        "needs",
        "pages that would add fields, and gaps of reports",
        "zlens catalog needs monwrite.data",
    )
    inputs.add_inputs(needs)
    needs.set_defaults(act=_needs)
    pages = action("import", "make a layout pack from saved record pages", "zlens catalog import mon730/")
    pages.add_argument("pages", metavar="PAGES", nargs="*", help="saved pages, folders or zips of them")
    pages.add_argument("--release", metavar="R", help="release of pages that do not name one")
    pages.add_argument("--dry-run", action="store_true", help="show what would be imported; write nothing")
    pages.add_argument("--replace", action="store_true", help="drop records that are not on the pages")
    pages.add_argument("--all", action="store_true", help="list everything, however long")
    pages.set_defaults(act=_import)


def run(arguments: argparse.Namespace) -> int:
    from zlens.cli import output

    with output.opened(None) as out:
        status: int = arguments.act(arguments, out)
    return status


# Show -------------------------------------------------------------------------------------------


def _show(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens.explain import layouts as describe
    from zlens.explain.names import explain

    if arguments.name is None:
        _overview(out)
        return 0
    record = _record(arguments.name)
    # Measures and roles are facts of the catalog too; what is said of them is said in one place.
    out.write(explain(arguments.name) if record is None else describe.describe(record, arguments.release))
    return 0


def _record(name: str) -> str | None:
    """The record meant by D0R2, d0r2 or the name of its page; None when it is none."""
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
    from zlens.catalog import layouts, metrics, roles, user_roles
    from zlens.explain import layouts as describe
    from zlens.explain import smf as explain_smf
    from zlens.pages import packs

    out.write("Measures\n")
    for name in metrics.tables():
        table = metrics.table(name)
        out.write(f"  {name:<12} {table.text}{' (no reader fills it yet)' if table.empty else ''}\n")
    out.write("\nRoles: what measures call the fields of records\n")
    for name in roles.entities():
        out.write(f"  {name:<14} {roles.entity(name).text}\n")
    out.write("\nLayout packs of yours\n")
    listed = packs.listed()
    for pack in listed:
        out.write(f"  {pack.release:<5} {len(pack.records)} records  {pack.path}\n")
    if not listed:
        out.write("  none; zlens catalog import makes one of IBM's record pages\n")
    out.write(f"\nRoles of yours ({user_roles.path()})\n")
    bound = user_roles.bindings()
    for one in bound:
        out.write(f"  {one.entity}.{one.role}: {' or '.join(roles.fields(one.how))} of {one.table}\n")
    if not bound:
        out.write("  none; a line there binds a role to a field\n")
    own = ", ".join(layouts.sim_records())
    out.write(f"\nLayouts of zlens' own, for files made with them only ({layouts.SIM})\n")
    out.writelines(f"  {line}\n" for line in textwrap.wrap(own, 98))
    out.write("\nTables of SMF records\n")
    for name, text in explain_smf.summary():
        out.write(f"  {name:<15} {text}\n")
    out.write(f"\nMonitor records\n{describe.summary()}")


# Check ------------------------------------------------------------------------------------------


def _check(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens import findings, reports
    from zlens.catalog import rules
    from zlens.catalog.check import measures as check_metrics
    from zlens.catalog.check import records as check
    from zlens.catalog.check import rules as check_rules
    from zlens.models import constants
    from zlens.session import session

    wrong = [*check.everything(), *map(str, check_metrics.check())]
    wrong_rules = check_rules.check()
    if not wrong_rules:
        with session.nothing() as nothing:
            wrong_rules = findings.check(nothing, rules.load())
    wrong += wrong_rules
    for sentence in wrong:
        out.write(f"{sentence}\n")
    for name in reports.names():
        reports.load(name)
    counted = f"{check.summary()}, {len(reports.names())} reports, {len(rules.names())} rules"
    out.write(f"{counted}: {f'{len(wrong)} wrong' if wrong else 'all in order'}\n")
    questions = constants.open_questions()
    out.write(f"\n{len(questions)} open questions of the models (zlens solve):\n")
    for one in questions:
        unit = f" {one.unit}" if one.unit else ""
        out.write(f"{one.model}: {one.name} = {one.default}{unit}, {one.status}: {one.text}\n")
        out.write(f"    settled by: {one.closes or 'no document; ours to choose'}\n")
    return 1 if wrong else 0


# Needs ------------------------------------------------------------------------------------------


def _needs(arguments: argparse.Namespace, out: TextIO) -> int:
    import zlens
    from zlens.catalog import layout_choice
    from zlens.catalog.layouts import SIM
    from zlens.explain import lacking
    from zlens.progress import Progress
    from zlens.readers.zvm.monwrite import MonwriteSource

    with (
        inputs.files_of(arguments.inputs) as files,
        Progress() as progress,
        zlens.open(files, progress=progress) as session,
    ):
        progress.close()
        sources: list[object] = list(session.sources)
        groups = [(s, group) for s in sources if isinstance(s, MonwriteSource) for group in s.groups]
        if not any(info.source == "zvm-monitor" for info in session.systems):
            raise QueryError(
                "the input holds no z/VM monitor data", cure="only its records have layouts to import"
            )
        # What is in a lake was decoded when it came there: it tells of reports only.
        for source, group in groups:
            info = group.info
            if info.release == SIM:
                out.write(f"{info.system} is made with zlens' own pack: no page tells of it\n")
                continue
            found = layout_choice.needs(source.types(group), release=info.release, callevel=group.call_level)
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
        engine = session.engine
        named = {name for source in session.sources for name in source.tables}
        tables = {name: frozenset(column for column, _ in engine.raw_columns(name)) for name in named}
        listed = [row for source in session.sources for row in source.inventory(with_layouts=False)]
        records = frozenset(row.name for row in listed)
        out.write(f"\n{lacking.text(lacking.lacks(session, lacking.Input(tables, records)))}")
    return 0


# Import -----------------------------------------------------------------------------------------


def _import(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens.pages import importing as pages
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
