"""Comparison of the command line's output with the web UI, and ways to read values from the web UI."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from playwright.sync_api import Page

from zlens import cli


def printed(*arguments: str) -> str:
    """Return a command's standard output."""
    output = io.StringIO()
    # In this process, because a new process spends most of its time on imports.
    with contextlib.redirect_stdout(output):
        status = cli.main(arguments)
    assert status == 0
    return output.getvalue()


def query_objects(path: Path, query: str) -> list[dict[str, object]]:
    """Return rows of `zlens sql` with all digits."""
    found: list[dict[str, object]] = json.loads(printed("sql", str(path), "--format", "json", "-q", query))
    return found


def digits(value: object, decimals: int) -> str:
    """Format a number with a column's decimals; a dash if it cannot be computed."""
    if value is None:
        return "\N{EN DASH}"
    # The web UI rounds halves up.
    one = Decimal(float(str(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return f"{one:f}"


def as_shown(cells: list[str], values: Sequence[object]) -> bool:
    """Return whether cells show these numbers: four significant digits, three below 1, or all digits."""
    assert len(cells) == len(values)
    for text, value in zip(map(str.strip, cells), values, strict=True):
        cell = text.replace(",", "")
        if "e" in cell:
            if Decimal(cell) != Decimal(f"{float(str(value)):.2e}") or abs(float(cell)) >= 0.001:
                return False
            continue
        places = len(cell.partition(".")[2])
        if cell != digits(value, places):
            return False
        if value is None or float(cell) == float(str(value)):
            continue
        size = math.floor(math.log10(abs(float(cell)))) if float(cell) else -math.inf
        assert places == max(0, 3 - size if size >= 0 else 2 - size), (cell, value)
    return True


def setting(page: Page, name: str) -> str | None:
    """Return a setting from the page's address."""
    return _setting(page.url, name)


def set_to(page: Page, name: str, value: str | None) -> None:
    """Wait until the page's address has a setting."""
    page.wait_for_url(lambda url: _setting(url, name) == value)


def _setting(url: str, name: str) -> str | None:
    return parse_qs(urlsplit(url).fragment.partition("?")[2]).get(name, [None])[0]


def console(address: str, query: str, **settings: str) -> str:
    """Return the link that runs a query."""
    words = "&".join(f"{name}={quote(value)}" for name, value in {**settings, "q": query}.items())
    return f"{address}/#/sql?{words}"


def pasted(page: Page) -> str:
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def copied(page: Page, table: str, what: str) -> str:
    """Return what a button of a table copies."""
    page.locator(f'[data-testid="table-{table}"]').get_by_role("button", name=what, exact=True).click()
    return pasted(page)


def copied_rows(page: Page, table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(copied(page, table, "Copy CSV"))))


def from_chart(page: Page, chart: str, what: str) -> str:
    """Return what a button in the menu of a chart copies."""
    frame = page.locator(f'[data-testid="chart-{chart}"]')
    frame.locator("summary").first.click()
    frame.get_by_role("button", name=what).click()
    return pasted(page)


def chart_rows(page: Page, chart: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(from_chart(page, chart, "Copy data as CSV"))))


def running(page: Page) -> list[dict[str, object]]:
    """Return the server's running requests except this one."""
    requests: list[dict[str, object]] = page.evaluate(
        "fetch('/api/v1/running').then((answer) => answer.json()).then((found) => found.running ?? found)"
    )
    return [one for one in requests if one["what"] != "running"]
