"""\
Show and check the catalog of record layouts and formulas, list which of IBM's monitor record pages would add
fields for a file and which its reports need, and import such pages as a layout pack for a z/VM release.

Examples:
  zlens catalog show D0R2
  zlens catalog show smf70_cpu
  zlens catalog needs monwrite.data
  zlens catalog import ~/Downloads/mon730.zip
  zlens catalog show D4R3 --release 7.3
"""

from __future__ import annotations

import argparse
import textwrap
from functools import partial
from pathlib import Path
from typing import TextIO

from zlens.cli import inputs
from zlens.cli.parser import add_action
from zlens.errors import CatalogError, QueryError
from zlens.rendering.text_lines import with_unit, wrap_hanging

OPTIONS = ""
_SHOWN = """
NAME?        record (D0R2, MRSYTPRP, SMF70), its table, measure or role
--release R  only the layout of this release
"""
_PAGES = """
PAGES*       saved pages, folders or zips of them
--release R  release of pages that do not name one
--dry-run    show what would be imported; write nothing
--replace    drop records that are not on the pages
--all        list everything, however long
"""


def configure(parser: argparse.ArgumentParser) -> None:
    action = partial(add_action, parser.add_subparsers(metavar="ACTION", dest="action", required=True))
    contents = "contents of the catalog or of one record, measure or role"
    action(_show, "show", contents, "zlens catalog show D0R2", _SHOWN)
    action(_check, "check", "check the catalog and your packs for consistency", "zlens catalog check", "")
    gaps = "pages that would add fields, and gaps of reports"
    action(_needs, "needs", gaps, "zlens catalog needs monwrite.data", inputs.INPUTS)
    create = "create a layout pack from saved record pages"
    action(_import, "import", create, "zlens catalog import mon730/", _PAGES)


def run(arguments: argparse.Namespace) -> int:
    from zlens.cli import output

    with output.open_output(None) as out:
        status: int = arguments.act(arguments, out)
    return status


def _show(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens.explain import layouts as describe
    from zlens.explain.names import explain

    if arguments.name is None:
        _overview(out)
        return 0
    record = _record(arguments.name)
    # zlens explain describes measures and roles.
    out.write(explain(arguments.name) if record is None else describe.describe(record, arguments.release))
    return 0


def _record(name: str) -> str | None:
    """Return the record named by D0R2, d0r2 or its DSECT; None if there is no such record."""
    from zlens.catalog import layouts

    upper_name = name.upper()
    records = layouts.records()
    if upper_name in records:
        return upper_name
    for record in records:
        info = layouts.record_info(record)
        if info is not None and upper_name in (info.dsect, info.dsect.removeprefix("MR")):
            return record
    return None


def _overview(out: TextIO) -> None:
    from zlens.catalog import layouts, measures, roles, user_roles
    from zlens.explain import layouts as describe
    from zlens.explain import smf as explain_smf
    from zlens.record_pages import packs

    out.write("Measures\n")
    for name in measures.measure_names():
        table = measures.load_measure(name)
        out.write(f"  {name:<12} {table.text}{' (no reader provides it yet)' if table.no_reader else ''}\n")
    out.write("\nRoles: the names that measures use for fields of records\n")
    for name in roles.entities():
        out.write(f"  {name:<14} {roles.entity(name).text}\n")
    out.write("\nYour layout packs\n")
    installed = packs.installed_packs()
    for pack in installed:
        out.write(f"  {pack.release:<5} {len(pack.records)} records  {pack.path}\n")
    if not installed:
        out.write("  none; zlens catalog import creates one from IBM's record pages\n")
    out.write(f"\nYour roles ({user_roles.path()})\n")
    bindings = user_roles.bindings()
    for binding in bindings:
        fields = " or ".join(binding.value.fields)
        out.write(f"  {binding.entity}.{binding.role}: {fields} of {binding.table}\n")
    if not bindings:
        out.write("  none; each line of this file binds a role to a field\n")
    synthetic_records = ", ".join(layouts.sim_records())
    out.write(f"\nLayouts of zlens' own pack, for files written with it ({layouts.SIM})\n")
    out.writelines(f"  {line}\n" for line in textwrap.wrap(synthetic_records, 98))
    out.write("\nTables of SMF records\n")
    for name, text in explain_smf.summary():
        out.write(f"  {name:<15} {text}\n")
    out.write(f"\nMonitor records\n{describe.summary()}")


def _check(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens import findings, reports
    from zlens.catalog import rules
    from zlens.checks import measures as check_metrics
    from zlens.checks import records as check
    from zlens.checks import rules as check_rules
    from zlens.models import constants
    from zlens.session import session

    errors = [*check.check_catalog(), *map(str, check_metrics.check())]
    rule_errors = check_rules.check()
    if not rule_errors:
        with session.empty_session() as empty:
            rule_errors = findings.check(empty, rules.load())
    errors += rule_errors
    for sentence in errors:
        out.write(f"{sentence}\n")
    for name in reports.names():
        reports.load_report(name)
    summary = f"{check.summary()}, {len(reports.names())} reports, {len(rules.names())} rules"
    out.write(f"{summary}: {len(errors) or 'no'} error{'' if len(errors) == 1 else 's'}\n")
    questions = constants.open_questions()
    out.write(f"\n{len(questions)} open questions about the models (zlens solve):\n")
    for question in questions:
        value = f"{with_unit(str(question.default), question.unit)}, {question.status}"
        out.write(f"{question.model}: {question.name} = {value}: {question.text}\n")
        out.write(f"    settled by: {question.closes or 'no document; an assumption of zlens'}\n")
    return 1 if errors else 0


def _needs(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens.catalog import layout_selection
    from zlens.catalog.layouts import SIM
    from zlens.explain import missing_data
    from zlens.readers.zvm.monwrite import MonwriteSource
    from zlens.schema.plain_text import replace_controls

    with inputs.open_session(arguments.inputs) as (session, progress):
        progress.close()
        sources: list[object] = list(session.sources)
        groups = [
            group for source in sources if isinstance(source, MonwriteSource) for group in source.groups
        ]
        if not any(info.source == "zvm-monitor" for info in session.systems):
            raise QueryError(
                "the input contains no z/VM monitor data", cure="only monitor records have layouts to import"
            )
        # Data in a lake are already decoded, so only missing data of reports apply to them.
        for group in groups:
            info = group.info
            system = replace_controls(info.system)
            if info.release == SIM:
                out.write(f"{system} was written with zlens' own pack: no page describes it\n")
                continue
            needs = layout_selection.missing_pages(
                group.types, release=info.release, callevel=group.call_level
            )
            release = f"z/VM {info.release}" if info.release else "z/VM of an unknown release"
            if not needs:
                out.write(f"{system} ({release}): every byte of its records has a layout\n")
                continue
            out.write(f"{system} ({release}): pages that would add fields\n")
            for need in needs:
                out.write(f"  {need.record:<7} {need.title}\n")
                state = f"decoded with {need.decoded_with}" if need.decoded_with else "not decoded"
                out.write(f"          {need.reason}, {state}; up to {need.bytes:,} more bytes per record\n")
                if need.note:
                    out.writelines(f"{line}\n" for line in wrap_hanging(" " * 10, need.note))
                if need.url:
                    out.write(f"          {need.page}: {need.url}\n")
            out.write("Save those pages, then: zlens catalog import FOLDER\n")
        engine = session.engine
        table_names = {name for source in session.sources for name in source.tables}
        tables = {name: frozenset(column for column, _ in engine.raw_columns(name)) for name in table_names}
        inventory = [row for source in session.sources for row in source.inventory(with_layouts=False)]
        records = frozenset(row.name for row in inventory)
        available = missing_data.AvailableData(tables, records)
        out.write(f"\n{missing_data.format_missing(missing_data.missing_by_report(session, available))}")
    return 0


def _import(arguments: argparse.Namespace, out: TextIO) -> int:
    from zlens.progress import Progress
    from zlens.record_pages import importer as pages

    paths = [Path(name) for name in arguments.pages]
    for path in paths:
        if not path.exists():
            raise CatalogError("no such file or folder", file=str(path), cure="check the name")
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
