"""Tests of the repository's documents and of the pages of `make docs`: complete facts, no broken links."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs_site import write_pages
from zlens import reports

ROOT = Path(__file__).parent.parent
PAGES = sorted(p.relative_to(ROOT).as_posix() for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")

#: A line of each page of the reference, as in the facts.
REFERENCE = {
    "records.md": "| D0R2 | MRSYTPRP | Processor Data (Per Processor) | sample | "
    "4.3:104 5.4:124 6.2:140 6.4:352 | 7.3: VM66678 (2023-11-10); 7.5 |",
    "smf.md": "### smf70_cpu\n",
    "cpumf.md": "| 145 | `L1D_OFFCHIP_L3_SOURCED_WRITES` | ",
    "measures.md": "| `busy_pct` | float, % | share of its online time that the processor was busy",
    "metrics.md": "| `partition_actual_msu_per_hour` | `mvs_lpar_actual_msu_h` |",
    "rules.md": "### CPU-001\n",
    "reports.md": "| [prclog](reports/processors.md#prclog) | FCX304 | ",
    "command-line.md": "  --peak LENGTH ",
    "python.md": "## zlens.open\n\n```python\nopen(paths: ",
    "http.md": "## GET /api/v1/schema",
    "sql.md": "`approx_quantile`",
    "glossary.md": "| Vh | vertical high: ",
    "reports/processors.md": "PRCLOG FCX304: ",
    "reports/zos-workloads.md": "# z/OS workloads",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the documentation site."""
    folder = tmp_path_factory.mktemp("pages")
    write_pages(folder)
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_links_have_targets(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target, _ in LINK.findall(text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), f"{page} leads to {target}"


def test_reference_links_have_targets(pages: Path) -> None:
    links = 0
    for page in (pages / "docs" / "reference").rglob("*.md"):
        for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
            aim = page.parent / target if target else page
            assert aim.is_file(), f"{page.name} leads to {target}"
            assert not anchor or f"## {anchor}\n" in aim.read_text(encoding="utf-8"), (
                f"{page.name}: #{anchor}"
            )
            links += 1
    assert links > len(reports.names())


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_contains_facts(pages: Path, name: str) -> None:
    assert REFERENCE[name] in (pages / "docs" / "reference" / name).read_text(encoding="utf-8")


def test_fact_schemas_are_published_with_reference(pages: Path) -> None:
    folder = pages / "docs" / "reference" / "schemas"
    for path in folder.rglob("*.json"):
        schema = json.loads(path.read_text(encoding="utf-8"))
        assert all(table.get("additionalProperties") is False for table in schema["$defs"].values()), path
    record = json.loads((folder / "zvm" / "records.json").read_text(encoding="utf-8"))["$defs"]["RecordTable"]
    assert record["properties"]["dsect"] == {"type": "string", "description": "the name of its page"}
    assert {"dsect", "title", "kind"} == {*record["required"]}
    own = json.loads((folder / "zvm" / "sim.json").read_text(encoding="utf-8"))["$defs"]["SyntheticTable"]
    assert {"length", "source"} == {*own["required"]}


def test_every_report_is_in_reference(pages: Path) -> None:
    folder = pages / "docs" / "reference" / "reports"
    headings = re.findall(
        r"^## (.+)$", "\n".join(p.read_text(encoding="utf-8") for p in folder.iterdir()), re.MULTILINE
    )
    assert sorted(headings) == sorted(reports.names())


def listed(nav: list[Any] | str) -> Iterator[str]:
    """Yield the pages of a navigation: a page, a page under a title, or a list of both under a title."""
    if isinstance(nav, str):
        yield nav
        return
    for entry in nav:
        for part in entry.values() if isinstance(entry, dict) else [entry]:
            yield from listed(part)


def test_every_page_is_in_navigation(pages: Path) -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    assert sorted(listed(site["project"]["nav"])) == sorted(
        page.relative_to(pages).as_posix() for page in pages.rglob("*.md")
    )


#: DuckDB's messages about a query.
ENGINE = {"Table with name", "does not exist", "Referenced column", "not found", "syntax error at or near"}


def test_messages_of_troubleshooting_are_those_of_the_program() -> None:
    paths = [*ROOT.glob("python/zlens/**/*.py"), *ROOT.glob("python/zlens/**/*.toml")]
    paths += ROOT.glob("crates/*/src/**/*.rs")
    program = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    program = re.sub(r'"\s*\n\s*f?"|\\\n\s*', "", program)
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    messages = [message for cell in cells for message in re.findall(r"`([^`]+)`", cell)]
    assert len(messages) > 20
    parts = {part.strip(" :;") for message in messages for part in message.split("...")} - ENGINE
    assert {part for part in parts if part not in program} == set()


def test_all_problem_kinds_are_documented() -> None:
    from zlens.inputs.problems import KINDS

    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    documented = {
        word for row in re.findall(r"^\| ([a-z_, ]+) \|", text, re.MULTILINE) for word in row.split(", ")
    }
    assert set(KINDS) <= documented


def test_security_claims_name_existing_tests() -> None:
    text = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("security.md", "team.md"))
    named = set(re.findall(r"`(tests/[\w/.]+)`", text))
    assert named
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_documented_limits_equal_program() -> None:
    from zlens.cli import inputs, watchdog
    from zlens.engine import results
    from zlens.server import connections, response_bodies, running_requests, sql_workers
    from zlens.server.limits import RequestLimits

    text, team = ((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("security.md", "team.md"))
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", text, flags=re.MULTILINE))
    of_user = dict(re.findall(r"^\| `(--[\w-]+) [A-Z]+` \| (\d+) \|", team, flags=re.MULTILINE))
    gb = 1024**3
    assert rows["SQL of the web UI and scenarios of models answered at a time"] == str(
        sql_workers.MAX_WORKERS
    )
    assert rows["memory of such a query"].startswith(f"{RequestLimits().memory // gb} GB")
    assert rows["time of a request (`--request-time`)"] == f"{RequestLimits().seconds:g} s"
    assert of_user == {
        "--user-requests": str(RequestLimits().questions),
        "--query-memory": str(RequestLimits().memory // gb),
        "--request-time": f"{RequestLimits().seconds:g}",
    }
    assert f"{results.MOST // 1_000_000} million values" in rows["rows of an answer"]
    assert rows["length of a text in an answer of the web UI"] == f"{results.LONGEST:,} characters"
    assert rows["answers of the web UI that are being sent"] == f"{response_bodies.MOST // 1024**2} MB"
    assert rows["requests in progress"] == str(running_requests.MOST)
    assert rows["memory of `zlens sql`"].startswith(f"{watchdog.MEMORY // gb} GB")
    assert f"within {connections.ARRIVAL_S:g} s is closed" in text
    assert f"its answer for {response_bodies.PATIENCE_S:g} s" in text
    assert f"and {inputs.SPOOL_LIMIT // gb} GB" in text
