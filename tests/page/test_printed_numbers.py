"""Tests that the web UI shows the same digits as `zlens sql`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page

from chromium import opened, ready
from ui_comparison import console, pasted, printed


def sql(demo: Path, query: str, form: str = "table") -> str:
    return printed("sql", str(demo / "sim.monwrite"), "--format", form, "-q", query)


def test_figures_hover_and_console_equal_cli(page: Page, address: str, demo: Path):
    opened(page, address, "overview", system="ZLSIM")
    figures_of_the_overview_are_those_of_the_program(page, demo)
    the_hover_has_six_digits(page, demo)
    the_sql_of_a_chart_gives_the_chart(page, demo)
    the_console_prints_what_the_program_prints(page, address, demo)


def the_console_prints_what_the_program_prints(page: Page, address: str, demo: Path) -> None:
    """All column types have equal digits: integers, small and large numbers, texts, NULL."""
    query = (
        "SELECT cpu_id, cpu_type, busy_pct, busy_pct / 1000000 AS small, busy_pct * 1e6 AS large, "
        "parked_pct, CAST(NULL AS DOUBLE) AS nothing FROM cpu WHERE system = 'ZLSIM' AND cpu_id < 3 "
        "ORDER BY interval_end, cpu_id LIMIT 40"
    )
    page.goto(console(address, query, system="ZLSIM"))
    ready(page, "sql")
    page.locator('[data-testid="table-sql"]').get_by_role("button", name="Copy text").click()
    copied = pasted(page)
    # The web UI shows NULL as a dash.
    page_rows = [line.split() for line in copied.splitlines()[2:]]
    program = sql(demo, query).replace("NULL", "\N{EN DASH}")
    program_rows = [line.split() for line in program.splitlines()[2:]]
    assert len(page_rows) == 40
    assert page_rows == program_rows


def figures_of_the_overview_are_those_of_the_program(page: Page, demo: Path) -> None:
    shown = {
        name: [
            float(one.get_attribute("data-exact") or "nan")
            for one in page.locator(f'[data-testid="figures-{name}"] b').all()
        ]
        for name in ("busy", "tv", "paging")
    }
    columns = {"busy": "busy_pct", "tv": "tv", "paging": "page_rate"}
    for name, column in columns.items():
        query = (
            f"SELECT quantile_cont({column}, 0.5) a, quantile_cont({column}, 0.95) b, max({column}) c "
            "FROM load WHERE flag IS NULL"
        )
        [row] = json.loads(sql(demo, query, "json"))
        # The last digits of a sum over processors depend on the order of the threads.
        assert shown[name] == pytest.approx([row["a"], row["b"], row["c"]], rel=1e-13)


def the_hover_has_six_digits(page: Page, demo: Path) -> None:
    over = page.locator('[data-testid="chart-busy"] .u-over')
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 40)
    lines = page.locator('[data-testid="hover"]').inner_text().splitlines()
    rows = json.loads(sql(demo, "SELECT interval_end, busy_pct FROM load", "json"))
    values = [f"Busy: {row['busy_pct']:g}%" for row in rows]
    assert lines[1] in values


def the_sql_of_a_chart_gives_the_chart(page: Page, demo: Path) -> None:
    frame = page.locator('[data-testid="chart-busy"]')
    frame.locator("summary").click()
    frame.get_by_role("button", name="Copy SQL").click()
    query = pasted(page)
    rows = json.loads(sql(demo, query, "json"))
    frame.locator("summary").click()
    frame.get_by_role("button", name="Copy data as CSV").click()
    table = [line.split(",") for line in pasted(page).splitlines()]
    at = table[0].index("Busy")
    assert [float(line[at]) for line in table[1:]] == [row["busy_pct_last"] for row in rows]
