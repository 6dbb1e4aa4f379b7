"""The page as it is shipped: built from these sources, small, and in need of nothing else."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "python" / "zlens" / "server" / "static"
#: Bytes of the whole bundle, as it is and packed. What makes it larger must be worth it.
BUDGET, PACKED = 480_000, 170_000


def test_the_bundle_is_what_the_sources_build(tmp_path: Path):
    """Built again, it is the same to the byte; `make page` writes it."""
    if not (ROOT / "ui" / "node_modules").is_dir() or shutil.which("npm") is None:
        if os.environ.get("CI"):
            pytest.fail("the tools of the page are missing: make page installs them")
        pytest.skip("the tools of the page are missing: make page installs them")
    subprocess.run(
        ["npm", "run", "--silent", "build", "--", "--outDir", str(tmp_path), "--logLevel", "error"],
        cwd=ROOT / "ui",
        check=True,
        capture_output=True,
    )
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    shipped = {path.name: path.read_bytes() for path in SHIPPED.iterdir()}
    assert built.keys() == shipped.keys()
    stale = [name for name in built if built[name] != shipped[name]]
    assert not stale, f"{', '.join(stale)} is not what ui/ builds: make page"


def test_the_bundle_stays_small():
    files = [path.read_bytes() for path in SHIPPED.iterdir()]
    assert 100_000 < sum(map(len, files)) < BUDGET
    assert sum(len(gzip.compress(data)) for data in files) < PACKED


def test_the_bundle_names_no_other_host():
    """But for names of XML, and links to explanations that nobody follows by himself."""
    for path in SHIPPED.iterdir():
        if path.name == "licenses.txt":
            continue
        text = path.read_text(encoding="utf-8")
        hosts = set(re.findall(r"https?://([a-z0-9.-]+)", text))
        assert hosts <= {"www.w3.org", "svelte.dev"}, hosts
        assert "sourceMappingURL" not in text


def test_the_licenses_of_what_is_bundled_are_shipped():
    """The texts that Svelte, uPlot and what they bring ask to be kept with them."""
    text = (SHIPPED / "licenses.txt").read_text(encoding="utf-8")
    modules = ROOT / "ui" / "node_modules"
    if not modules.is_dir():
        pytest.skip("the tools of the page are missing: make page installs them")
    for name in ("svelte/LICENSE.md", "uplot/LICENSE", "clsx/license", "esm-env/LICENSE"):
        assert (modules / name).read_text(encoding="utf-8").strip() in text
