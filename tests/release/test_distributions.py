"""Tests that what a release publishes can be installed, and says what it contains."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
URL = "https://code.example/zlens"


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"release_{name}", ROOT / "release" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


components, addresses = _script("components"), _script("addresses")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the source archive and the wheel, as `make dist` builds them."""
    folder = tmp_path_factory.mktemp("dist") / "dist"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # Files of the archive get this time. Cargo compiles only those that are newer than what it has.
    environment["SOURCE_DATE_EPOCH"] = str(int(time.time()))
    words = ["make", "dist", f"DIST={folder}", f"PYTHON={sys.executable}"]
    subprocess.run(words, cwd=ROOT, check=True, env=environment)
    return folder


def _install_and_ask(path: Path, folder: Path, question: list[str]) -> str:
    """Install a distribution in an empty environment, and return what its zlens prints."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "empty")], check=True)
    programs = folder / "empty" / "bin"
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        # The crates of other projects are those that the wheel was built of.
        "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target")),
        "PYO3_PYTHON": str(programs / "python"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    pip = [programs / "pip", "install", "--quiet", "--disable-pip-version-check", path]
    subprocess.run(pip, check=True, cwd=folder, env=environment)
    done = subprocess.run(
        [programs / "zlens", *question],
        check=True,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("pattern", ["*.whl", "*.tar.gz"], ids=["wheel", "sdist"])
def test_distribution_runs_in_empty_environment(
    distributions: Path, pattern: str, tmp_path: Path, demo_files: list[Path]
) -> None:
    [path] = distributions.glob(pattern)
    question = ["sql", str(demo_files[0]), "-q", "SELECT * FROM cpu", "--format", "csv"]
    here = subprocess.run(
        [sys.executable, "-m", "zlens", *question], check=True, capture_output=True, text=True
    ).stdout
    assert here.count("\n") > 100
    assert _install_and_ask(path, tmp_path, question) == here


@pytest.mark.long
def test_wheel_fits_old_systems_and_lists_contents(distributions: Path) -> None:
    [path] = distributions.glob("*.whl")
    machine = os.uname().machine
    assert path.name.endswith(f"-cp311-abi3-manylinux_2_28_{machine}.whl")
    with zipfile.ZipFile(path) as wheel:
        info = f"{path.name.partition('-cp')[0]}.dist-info"
        assert wheel.read(f"{info}/licenses/NOTICES.txt").decode() == _text("NOTICES.txt")
        native = json.loads(wheel.read(f"{info}/sboms/zlens-native.cyclonedx.json"))
        assert {"arrow-array", "pyo3"} <= {entry["name"] for entry in native["components"]}
        web_ui = json.loads(wheel.read(f"{info}/sboms/web-ui.cdx.json"))
        assert "svelte" in {entry["name"] for entry in web_ui["components"]}


def test_notices_are_those_of_locked_crates() -> None:
    assert components.notices() == _text("NOTICES.txt"), "make notices"
    locked = {entry["name"] for entry in tomllib.loads(_text("Cargo.lock"))["package"]}
    assert {"rustls", "arrow-array", "ring"} < locked
    named = set(re.findall(r"^([a-z0-9_-]+) [0-9.]+\S* \(.+\)$", _text("NOTICES.txt"), re.MULTILINE))
    assert {"rustls", "arrow-array", "ring"} < named <= locked


def test_bill_of_web_ui_names_bundled_packages() -> None:
    document = json.loads(_text("release/web-ui.cdx.json"))
    assert components.bill("zlens web UI", components.bundled()) == _text("release/web-ui.cdx.json")
    installed = json.loads(_text("ui/package-lock.json"))["packages"]
    for entry in document["components"]:
        assert installed[f"node_modules/{entry['name']}"]["version"] == entry["version"]
    names = {entry["name"] for entry in document["components"]}
    assert {"svelte", "uplot", "@codemirror/view", "style-mod"} <= names
    assert not {"vite", "eslint", "typescript"} & names


def test_bill_of_forwarder_names_its_crates_only() -> None:
    document = json.loads(components.bill("zlens-forward", components.crates("zlens-forward")))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    entries = {entry["name"]: entry for entry in document["components"]}
    assert {"rustls", "ring", "crc32fast"} <= entries.keys()
    # Arrow is for the native module, cc and proptest for builds and tests, and zlens-frames is zlens itself.
    assert not {"arrow-array", "pyo3", "cc", "proptest", "zlens-frames"} & entries.keys()
    locked = {entry["name"]: entry for entry in tomllib.loads(_text("Cargo.lock"))["package"]}
    rustls = entries["rustls"]
    assert rustls["hashes"] == [{"alg": "SHA-256", "content": locked["rustls"]["checksum"]}]
    assert rustls["purl"] == f"pkg:cargo/rustls@{locked['rustls']['version']}"


def test_published_metadata_has_absolute_addresses() -> None:
    text = addresses.readme(_text("README.md"), URL, "1.2.3")
    assert "](https://code.example/zlens/raw/v1.2.3/docs/overview.png)" in text
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []
    for link in links:
        if link.startswith(URL):
            path = re.sub(r"^.*/v1\.2\.3/|#.*$", "", link)
            assert (ROOT / path).exists(), path
    project = tomllib.loads(addresses.project(_text("pyproject.toml"), URL, "1.2.3"))["project"]
    assert project["urls"]["Source"] == URL
    assert project["urls"]["Changelog"] == f"{URL}/blob/v1.2.3/CHANGELOG.md"


def test_release_publishes_only_what_was_tested() -> None:
    text = _text(".github/workflows/release.yml")
    jobs = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", text.partition("\njobs:\n")[2], re.MULTILINE))
    [needed] = re.findall(r"needs: \[(.+)\]", jobs["publish"])
    assert set(needed.split(", ")) == jobs.keys() - {"publish"}
    assert ".ci/run" in jobs["tests"]
    assert 'pattern: "release-*"' in jobs["publish"]
    rows = re.findall(r"target: (\S+), name: (\S+) }", jobs["dist"])
    assert [target for target, name in rows if name.startswith("release-")] == ["x86_64-unknown-linux-gnu"]
    assert all(name.startswith("untested-") for target, name in rows if "x86_64-unknown-linux" not in target)


def test_release_uses_actions_by_commit() -> None:
    used = re.findall(r"uses: (\S+)", _text(".github/workflows/release.yml"))
    assert len(used) > 5
    assert [name for name in used if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", name)] == []
    # Whatever the workflow installs from an index has a hash.
    for line in _text(".github/workflows/release.yml").splitlines():
        if "pip install" in line or "/pip" in line:
            assert "--require-hashes" in line or '"$file"' in line, line
    installs = [line for line in _text("Makefile").splitlines() if "pip install" in line]
    assert len(installs) >= 4
    assert all("--require-hashes" in line for line in installs)


def test_windows_is_not_offered() -> None:
    for name in ("pyproject.toml", ".github/workflows/release.yml"):
        assert "windows" not in _text(name).lower()
    assert "WSL" in _text("README.md")
