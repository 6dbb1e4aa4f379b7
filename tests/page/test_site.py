"""Tests of the documentation site of `make docs`, opened from a folder."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser

import tools
from chromium import in_context, unharmed
from docs_site import ROOT, write_pages

ZENSICAL = ROOT / "target" / "docs" / "bin" / "zensical"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not ZENSICAL.exists(), reason=tools.reason("zensical")),
]


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ZENSICAL, "build", "--clean"], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all sources of the site."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "zensical.toml", folder)
    shutil.copytree(ROOT / "docs" / "theme", folder / "docs" / "theme")
    write_pages(folder / "build" / "pages")
    return folder


@pytest.fixture(scope="module")
def site(project: Path) -> Path:
    done = build(project)
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "build" / "site"


def test_every_address_is_file_of_site(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]
    assert len(pages) > 30
    for page in pages:
        for tag, target in re.findall(
            r'<(\w+)\b[^>]*?\b(?:src|href)="([^"#]+)', page.read_text(encoding="utf-8")
        ):
            if "://" in target:
                # Links may lead to other hosts; nothing is loaded from them.
                assert tag == "a", f"{page}: {tag} {target}"
            else:
                assert (page.parent / unquote(target)).is_file(), f"{page} leads to {target}"


def test_broken_link_fails_build(site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    shutil.copytree(site.parents[1], folder)
    with open(folder / "build" / "pages" / "GUIDE.md", "a", encoding="utf-8") as page:
        page.write("\n[nowhere](docs/nowhere.md)\n")
    done = build(folder)
    assert done.returncode != 0
    assert "page does not exist" in done.stdout + done.stderr


def test_search_works_in_folder(site: Path, browser: Browser) -> None:
    context = in_context(browser)
    with unharmed(context, "file://"):
        page = context.new_page()
        page.goto((site / "index.html").as_uri())
        page.keyboard.press("Control+k")
        page.keyboard.type("prclog")
        page.click('a[href*="reports/processors.html"][href$="#prclog"]')
        page.wait_for_url("**/reports/processors.html*#prclog")
    context.close()
