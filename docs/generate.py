"""Collect the pages of the documentation site, and write its reference from the catalog, for `make docs`."""

from __future__ import annotations

import json
import shutil
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(Path(__file__).parent))
PAGES = ROOT / "build" / "pages"

#: What the site takes as it is, in the places it has here, so that a link leads to the same page in both.
PATTERNS = (
    "*.md",
    "docs/*.md",
    "docs/published/*.md",
    "LICENSE",
    "NOTICES.txt",
    "python/zlens/server/static/licenses.txt",
)
REFERENCE = "docs/reference"


def reference() -> dict[str, str]:
    """Text of every generated page by its name in the reference."""
    from interfaces import interface_pages
    from reference_pages import cpumf, exposition, measures, records, rules, smf

    return {
        "records.md": records.records_page(),
        "smf.md": smf.smf_page(),
        "cpumf.md": cpumf.cpumf_page(),
        "measures.md": measures.measures_page(),
        "metrics.md": exposition.exposition_page(),
        "rules.md": rules.rules_page(),
        **report_pages(),
        **interface_pages(),
        **schemas(),
    }


def schemas() -> dict[str, str]:
    """JSON Schemas of files of facts, for editors, by their names in the reference."""
    from zlens.schema.structs import json_schema

    return {
        f"schemas/{name}.json": json.dumps(json_schema(table), indent=2) + "\n"
        for name, table in fact_tables().items()
    }


def fact_tables() -> dict[str, type]:
    """Structs of files of facts, by file or folder."""
    from zlens.catalog.admitted import AllowList
    from zlens.catalog.causes import VerdictFacts
    from zlens.catalog.caveats import Caveat
    from zlens.catalog.codes import CodeTable
    from zlens.catalog.comparison_metrics import ComparabilityFile, ComparedGroup, PublishedForms
    from zlens.catalog.cp_commands import CommandFile
    from zlens.catalog.cpumf import Architecture, BalancesFile, HintTable, LinuxNames
    from zlens.catalog.events import EventFile
    from zlens.catalog.exposition import ConventionsFile, CountersFile, NamesFile
    from zlens.catalog.generations import GenerationFile
    from zlens.catalog.glossary import Glossary
    from zlens.catalog.groups import Grouping
    from zlens.catalog.interval_flags import IntervalLimits
    from zlens.catalog.layout_file import LayoutSource, RecordTable, SyntheticTable
    from zlens.catalog.ledgers import Ledger
    from zlens.catalog.listings import ListingsFile
    from zlens.catalog.measures import AliasFile, MeasureFile
    from zlens.catalog.openmetrics import Exporter
    from zlens.catalog.peaks import PeakFacts
    from zlens.catalog.plans import DifferenceFile
    from zlens.catalog.processor_types import ProcessorType
    from zlens.catalog.raw_tables import LeadingFile, RawTableFile
    from zlens.catalog.reports.definition import ReportFile
    from zlens.catalog.reports.menus import MenuFile
    from zlens.catalog.resets import ResetFile
    from zlens.catalog.rmf_listings import PrintedFacts
    from zlens.catalog.rmf_reports import RmfReport
    from zlens.catalog.roles import RawUnit, RoleFile
    from zlens.catalog.rules import RuleKeys
    from zlens.catalog.smf import SmfCounterLayout, SmfTypes
    from zlens.catalog.smf_sections import SmfLayout
    from zlens.catalog.subjects import Subject
    from zlens.catalog.synthetic import SyntheticFile
    from zlens.catalog.sysinfo import SysinfoFacts
    from zlens.catalog.user_roles import UserRole
    from zlens.catalog.zos_messages import MessageFacts
    from zlens.exposition.dashboards import DashboardFile
    from zlens.models.aliases.dasd import QueueTable
    from zlens.models.constants import ConstantKeys
    from zlens.models.paging.page_space import Storbuf
    from zlens.models.partitions.zvm_limits import LimitFile
    from zlens.models.published_numbers import PublishedNumber
    from zlens.models.scenario_keys import KeyFile
    from zlens.models.smt.publications import ThreadFile
    from zlens.readers.throughput.table import HeadingFacts
    from zlens.record_pages.field_kinds import RuleFile
    from zlens.rendering.answer_columns import AnswerColumnFacts
    from zlens.schema.wording import InterfaceTexts
    from zlens.simulation.counters import CacheSizes

    return {
        "admission": AllowList,
        "answers": dict[str, dict[str, AnswerColumnFacts]],
        "caveats": Caveat,
        "codes": dict[str, CodeTable],
        "comparability": ComparabilityFile,
        "compare": ComparedGroup,
        "exposition/counters": CountersFile,
        "exposition/dashboards": DashboardFile,
        "exposition/names": NamesFile,
        "exposition/others": ConventionsFile,
        "glossary": Glossary,
        "groups": dict[str, Grouping],
        "intervals": IntervalLimits,
        "keys": KeyFile,
        "leading_columns": LeadingFile,
        "linux/sysinfo": SysinfoFacts,
        "ledgers": Ledger,
        "listings": ListingsFile,
        "machines": GenerationFile,
        "machines/architecture": Architecture,
        "machines/balances": BalancesFile,
        "machines/linux": LinuxNames,
        "machines/workload_hint": HintTable,
        "measures": MeasureFile,
        "measures/aliases": AliasFile,
        "menus": MenuFile,
        "models/caches": dict[str, CacheSizes],
        "models/constants": dict[str, dict[str, ConstantKeys]],
        "models/dasd_bursts": dict[str, QueueTable],
        "models/published": dict[str, PublishedNumber],
        "models/smt_published": ThreadFile,
        "models/storbuf": dict[str, Storbuf],
        "models/zvm_limits": LimitFile,
        "openmetrics": Exporter,
        "peaks": PeakFacts,
        "processor_types": dict[str, ProcessorType],
        "published_forms": PublishedForms,
        "raw_tables": RawTableFile,
        "reports": ReportFile,
        "rmf": RmfReport,
        "rmf_listings": PrintedFacts,
        "roles": RoleFile,
        "rules": RuleKeys,
        "smf/counters": SmfCounterLayout,
        "smf/sections": SmfLayout,
        "smf/types": SmfTypes,
        "subjects": Subject,
        "synthetic_systems": SyntheticFile,
        "throughput": HeadingFacts,
        "units": dict[str, RawUnit],
        "user_roles": dict[str, dict[str, UserRole]],
        "verdict": VerdictFacts,
        "wording": dict[str, InterfaceTexts],
        "zos/texts": MessageFacts,
        "zvm/console": CommandFile,
        "zvm/differences": DifferenceFile,
        "zvm/events": EventFile,
        "zvm/page_words": RuleFile,
        "zvm/layout_sources": dict[str, LayoutSource],
        "zvm/records": RecordTable,
        "zvm/resets": ResetFile,
        "zvm/sim": SyntheticTable,
    }


def report_pages() -> dict[str, str]:
    """The list of reports, and a page for each group of them with what `zlens explain` says."""
    from zlens import reports
    from zlens.explain.reports import explain_report

    pages = {}
    lines = [
        "# Reports",
        "",
        "Made from `python/zlens/facts/reports`; `zlens report --list` lists them, too, and `zlens explain",
        "prclog` prints the text of one.",
    ]
    for group, entries in groupby(reports.list_reports(), key=lambda entry: entry.group):
        page = f"reports/{group.lower().replace('/', '').replace(' ', '-')}.md"
        title = group.capitalize() if group.islower() else group
        lines += ["", f"## [{title}]({page})", "", "| report | number | title |", "|---|---|---|"]
        texts = [f"# {title}", ""]
        for entry in entries:
            lines.append(f"| [{entry.name}]({page}#{entry.name}) | {entry.number} | {entry.title} |")
            texts += [f"## {entry.name}", "", "```text", explain_report(entry.name).rstrip("\n"), "```", ""]
        pages[page] = "\n".join(texts)
    return {"reports.md": "\n".join(lines) + "\n", **pages}


def write(folder: Path) -> None:
    """Put all pages of the site into an empty folder."""
    for pattern in PATTERNS:
        for source in ROOT.glob(pattern):
            target = folder / source.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    for name, text in reference().items():
        target = folder / REFERENCE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def main() -> int:
    shutil.rmtree(PAGES, ignore_errors=True)
    write(PAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
