"""The page for everybody: axe finds nothing, in the light and in the dark."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browsing import VIEWS, opened, watched
from rounds import first

AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("look", first(1, [((1280, 800), "light"), ((1024, 768), "dark")]))
def test_axe_finds_nothing(browser: Browser, address: str, view: str, look: tuple[tuple[int, int], str]):
    if not AXE.exists():
        if os.environ.get("CI"):
            pytest.fail("axe is missing: make page installs it")
        pytest.skip("axe is missing: make page installs it")
    (width, height), scheme = look
    viewport = {"width": width, "height": height}
    with watched(browser, address, viewport=viewport, color_scheme=scheme, bypass_csp=True) as page:
        opened(page, address, view, system="ZLSIM")
        page.add_script_tag(path=str(AXE))
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        said = [
            f"{one['id']}: {one['help']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
            for one in result["violations"]
            for node in one["nodes"][:3]
        ]
        assert not said, "\n".join(said)
