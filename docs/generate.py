"""`make docs`: the pages of docs/reference, written from the catalog."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def pages() -> dict[str, str]:
    """Text of every generated page by its place in the repository."""
    from zlens.catalog import reference, reference_cpumf, reference_measures, reference_rules, reference_smf

    return {
        reference.RECORDS_PAGE: reference.records_page(),
        reference_measures.MEASURES_PAGE: reference_measures.measures_page(),
        reference_cpumf.CPUMF_PAGE: reference_cpumf.cpumf_page(),
        reference_smf.SMF_PAGE: reference_smf.smf_page(),
        reference_rules.RULES_PAGE: reference_rules.rules_page(),
        "docs/reference/reports.md": reports_page(),
    }


def reports_page() -> str:
    """Every report with its columns, as `zlens explain` tells them."""
    from zlens import reports

    lines = [
        "# Reports",
        "",
        "Made from `python/zlens/catalog/reports`; `zlens report --list` lists them.",
        "",
    ]
    for name in reports.names():
        lines += [f"## {name}", "", "```text", reports.explain_report(name).rstrip("\n"), "```", ""]
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
