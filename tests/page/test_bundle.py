"""Tests of the shipped web UI: built from these sources, small and self-contained."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import tools

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "python" / "zlens" / "server" / "static"
#: Size limits in bytes of the files loaded first, raw and compressed; raise them only for a good reason.
BUDGET, PACKED = 480_000, 170_000
#: The same of a file that a view loads when it opens, and of that of the SQL editor.
LATER, EDITOR = (30_000, 12_000), (380_000, 125_000)


def test_bundle_equals_built_sources(tmp_path: Path):
    """A new build is identical byte for byte; `make page` writes it."""
    present = (ROOT / "ui" / "node_modules").is_dir() and shutil.which("npm") is not None
    tools.require("node modules", present=present)
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


def test_bundle_stays_small():
    files = {path.name: path.read_bytes() for path in SHIPPED.iterdir()}
    index = files["index.html"].decode()
    later = [name for name in files if name.endswith(".js") and f'"./{name}"' not in index]
    opening = [data for name, data in files.items() if name not in later]
    assert 100_000 < sum(map(len, opening)) < BUDGET
    assert sum(len(gzip.compress(data)) for data in opening) < PACKED
    assert {"editor.js", "Lanes.js"} <= {*later}
    for name in later:
        budget, packed = EDITOR if name == "editor.js" else LATER
        assert len(files[name]) < budget, name
        assert len(gzip.compress(files[name])) < packed, name


def test_bundle_names_no_other_host():
    """Except XML namespaces and links to explanations, which only users follow."""
    for path in SHIPPED.iterdir():
        if path.name == "licenses.txt":
            continue
        text = path.read_text(encoding="utf-8")
        hosts = set(re.findall(r"https?://([a-z0-9.-]+)", text))
        assert hosts <= {"www.w3.org", "svelte.dev"}, hosts
        assert "sourceMappingURL" not in text


def test_licenses_of_bundled_packages_are_shipped():
    """The license texts that Svelte, uPlot, CodeMirror and their dependencies in the bundle require."""
    text = (SHIPPED / "licenses.txt").read_text(encoding="utf-8")
    modules = ROOT / "ui" / "node_modules"
    tools.require("node modules", present=modules.is_dir())
    editor = [
        f"{folder.parent.name}/{folder.name}/LICENSE"
        for folder in (*modules.glob("@codemirror/*"), *modules.glob("@lezer/*"), *modules.glob("@marijn/*"))
        if (folder / "LICENSE").exists()
    ]
    assert len(editor) > 9
    others = ("style-mod/LICENSE", "w3c-keyname/LICENSE")
    page = ("svelte/LICENSE.md", "uplot/LICENSE", "clsx/license", "esm-env/LICENSE")
    for name in (*page, *editor, *others):
        assert (modules / name).read_text(encoding="utf-8").strip() in text
