"""Accessibility tests: axe reports no violation, in light and dark mode."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import tools
from chromium import VIEWS, Views, opened, watched
from iterations import quick_subset

AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the source of axe for evaluation, because the web UI blocks foreign scripts."""
    tools.require("node modules", present=AXE.exists())
    return AXE.read_text(encoding="utf-8")


def finds_nothing(page: Page, axe: str) -> None:
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"() => {{ {axe} }}")
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    said = [
        f"{one['id']}: {one['help']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for one in result["violations"]
        for node in one["nodes"][:3]
    ]
    assert len(result["passes"]) > 10
    assert not said, "\n".join(said)


@pytest.mark.parametrize("view", quick_subset(2, VIEWS), indirect=True)
def test_axe_finds_no_violation(views: Views, view: str, axe: str):
    finds_nothing(views.at(view), axe)


@pytest.mark.long
@pytest.mark.parametrize("view", VIEWS, indirect=True)
def test_axe_finds_no_violation_in_dark_mode(browser: Browser, address: str, view: str, axe: str):
    viewport = {"width": 1024, "height": 768}
    with watched(browser, address, viewport=viewport, color_scheme="dark") as page:
        opened(page, address, view, system="ZLSIM")
        finds_nothing(page, axe)


def test_main_button_is_readable_under_pointer(page: Page, address: str) -> None:
    """White on the accent color has a contrast of at least 4.5, hovered or not."""
    opened(page, address, "sql", system="ZLDEMO", q="SELECT 1")
    button = page.get_by_role("button", name="Run", exact=True)
    button.hover()
    page.wait_for_timeout(300)
    colors = button.evaluate("e => { const s = getComputedStyle(e); return [s.color, s.backgroundColor]; }")

    def luminance(color: str) -> float:
        parts = [int(part) / 255 for part in color[color.index("(") + 1 : -1].split(",")[:3]]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted(map(luminance, colors))
    assert (light + 0.05) / (dark + 0.05) >= 4.5
