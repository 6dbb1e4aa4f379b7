"""`make docs`: the pages of docs/reference, written from the catalog."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def pages() -> dict[str, str]:
    """Text of every generated page by its place in the repository."""
    from zlens.catalog.reference import cpumf, measures, records, rules, smf

    return {
        records.RECORDS_PAGE: records.records_page(),
        measures.MEASURES_PAGE: measures.measures_page(),
        cpumf.CPUMF_PAGE: cpumf.cpumf_page(),
        smf.SMF_PAGE: smf.smf_page(),
        rules.RULES_PAGE: rules.rules_page(),
        "docs/reference/reports.md": reports_page(),
    }


def reports_page() -> str:
    """Every report with its columns, as `zlens explain` tells them."""
    from zlens import reports
    from zlens.explain.reports import explain_report

    lines = [
        "# Reports",
        "",
        "Made from `python/zlens/facts/reports`; `zlens report --list` lists them.",
        "",
    ]
    for name in reports.names():
        lines += [f"## {name}", "", "```text", explain_report(name).rstrip("\n"), "```", ""]
    return "\n".join(lines)


def main() -> int:
    for name, text in pages().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
