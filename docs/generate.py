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
PATTERNS = ("*.md", "docs/*.md", "docs/published/*.md", "LICENSE", "ui/public/licenses.txt")
REFERENCE = "docs/reference"


def reference() -> dict[str, str]:
    """Text of every generated page by its name in the reference."""
    from interfaces import interface_pages

    from zlens.explain.reference import cpumf, exposition, measures, records, rules, smf

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
    from zlens.catalog.admitted import AllowList
    from zlens.catalog.caveats import Caveat
    from zlens.catalog.comparison_metrics import ComparabilityFile, ComparedGroup
    from zlens.catalog.cpumf import BalancesFile, HintTable
    from zlens.catalog.exposition import ConventionsFile, CountersFile, NamesFile
    from zlens.catalog.layout_file import RecordTable
    from zlens.catalog.listings import ListingsFile
    from zlens.catalog.measures import MeasureFile
    from zlens.catalog.peaks import PeakFacts
    from zlens.catalog.processor_types import ProcessorType
    from zlens.catalog.raw_tables import LeadingFile, RawTableFile
    from zlens.catalog.reports.definition import ReportFile
    from zlens.catalog.rmf_reports import RmfReport
    from zlens.catalog.roles import RoleFile
    from zlens.catalog.rules import RuleKeys
    from zlens.catalog.smf import SmfCounterLayout, SmfTypes
    from zlens.catalog.smf_sections import SmfLayout
    from zlens.catalog.subjects import Subject
    from zlens.catalog.sysinfo import SysinfoFacts
    from zlens.catalog.user_roles import UserRole
    from zlens.exposition.dashboards import DashboardFile
    from zlens.schema.structs import json_schema

    tables = {
        "admission": AllowList,
        "caveats": Caveat,
        "comparability": ComparabilityFile,
        "compare": ComparedGroup,
        "exposition/counters": CountersFile,
        "exposition/dashboards": DashboardFile,
        "exposition/names": NamesFile,
        "exposition/others": ConventionsFile,
        "leading_columns": LeadingFile,
        "linux/sysinfo": SysinfoFacts,
        "listings": ListingsFile,
        "machines/balances": BalancesFile,
        "machines/workload_hint": HintTable,
        "measures": MeasureFile,
        "peaks": PeakFacts,
        "processor_types": dict[str, ProcessorType],
        "raw_tables": RawTableFile,
        "reports": ReportFile,
        "rmf": RmfReport,
        "roles": RoleFile,
        "rules": RuleKeys,
        "smf/counters": SmfCounterLayout,
        "smf/sections": SmfLayout,
        "smf/types": SmfTypes,
        "subjects": Subject,
        "user_roles": dict[str, dict[str, UserRole]],
        "zvm/records": RecordTable,
    }
    return {
        f"schemas/{name}.json": json.dumps(json_schema(table), indent=2) + "\n"
        for name, table in tables.items()
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
