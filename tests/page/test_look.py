"""Tests of the appearance of the web UI at three sizes, against reviewed pictures.

ZLENS_BASELINES=write writes new pictures; review them before committing.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Page

from chromium import VIEWS, Views, opened, quiet, watched

BASELINES = Path(__file__).parent / "baselines"
SIZES = ((1280, 800), (2560, 1440), (1024, 768))
#: Side in pixels of the squares that are compared: another font differs only within them.
SQUARE = 16
#: A square differs if one of its colors is further away than this (of 255) ...
FAR = 12
#: ... and a picture if a larger share of its squares differs.
MOST = 0.01


def squares(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    return picture.convert("RGB").resize((size[0] // SQUARE, size[1] // SQUARE), Image.Resampling.BOX)


def differing(one: Image.Image, other: Image.Image, size: tuple[int, int]) -> float:
    """Return the share of squares that differ."""
    bands = ImageChops.difference(squares(one, size), squares(other, size)).split()
    worst = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2]).histogram()
    return sum(worst[FAR + 1 :]) / sum(worst)


@pytest.mark.long
@pytest.mark.parametrize("view", VIEWS, indirect=True)
def test_view_matches_baseline(views: Views, view: str, tmp_path: Path):
    looks_as_it_did(views.at(view), view, SIZES[0], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES[1:], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("view", VIEWS, indirect=True)
def test_view_matches_baseline_at_other_size(
    browser: Browser, address: str, view: str, size: tuple[int, int], tmp_path: Path
):
    viewport = {"width": size[0], "height": size[1]}
    scheme = "dark" if size == (1024, 768) else "light"
    with watched(browser, address, viewport=viewport, color_scheme=scheme) as page:
        opened(page, address, view, system="ZLSIM")
        looks_as_it_did(page, view, size, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_evidence_matches_baseline(browser: Browser, address: str, size: tuple[int, int], tmp_path: Path):
    """The panel that explains a number, with the records that it comes from."""
    viewport = {"width": size[0], "height": size[1]}
    with watched(browser, address, viewport=viewport) as page:
        opened(page, address, "processors", system="ZLDEMO")
        page.get_by_test_id("table-processors").get_by_role("button", name="Explain Busy").first.click()
        origin = page.get_by_test_id("origin")
        origin.locator("summary").click()
        quiet(page)
        origin.evaluate("one => one.scrollIntoView()")
        looks_as_it_did(page, "evidence", size, tmp_path)


def looks_as_it_did(page: Page, view: str, size: tuple[int, int], folder: Path) -> None:
    now = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    # No content is wider than the window.
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    path = BASELINES / f"{view}-{size[0]}x{size[1]}.jpg"
    if os.environ.get("ZLENS_BASELINES") == "write":
        path.parent.mkdir(exist_ok=True)
        half = now.convert("RGB").resize((size[0] // 2, size[1] // 2), Image.Resampling.LANCZOS)
        half.save(path, quality=72, subsampling=0, optimize=True)
        return
    assert path.exists(), f"nobody has looked at {path.name} yet: ZLENS_BASELINES=write"
    before = Image.open(path)
    share = differing(before, now, size)
    if share > MOST:
        now.convert("RGB").save(folder / path.name, quality=90)
    assert share <= MOST, f"{share:.1%} of {path.name} differ; see {folder / path.name}"


def test_visible_change_is_detected():
    """A missing chart, or one moved by a tenth of the page, exceeds the tolerance."""
    size = SIZES[0]
    before = Image.open(BASELINES / f"overview-{size[0]}x{size[1]}.jpg").convert("RGB").resize(size)
    gone = before.copy()
    gone.paste((255, 255, 255), (20, 160, 440, 330))
    moved = ImageChops.offset(before, 0, 80)
    assert differing(before, gone, size) > MOST
    assert differing(before, moved, size) > MOST
    assert differing(before, before, size) == 0
