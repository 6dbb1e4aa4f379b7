"""Tests that the build stays fast, pinned and well-organized."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "python" / "zlens"

#: Each of these adds minutes of compilation to the Rust build; DuckDB provides Parquet and SQL.
HEAVY = ("arrow-cast", "arrow-select", "arrow-ord", "arrow-string", "arrow-csv", "arrow-json", "parquet")
HEAVY_FAMILIES = ("datafusion", "polars", "duckdb", "libduckdb")
#: Names that do not describe a module's contents.
EMPTY_NAMES = frozenset({"util", "utils", "helper", "helpers", "common", "misc", "shared"})
LONGEST = 900


@cache
def tracked() -> tuple[Path, ...]:
    """Return the files of the repository, or without git all that are not build products."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
        ).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        skipped = {".venv", "target", ".git", "__pycache__", "node_modules"}
        return tuple(p for p in ROOT.rglob("*") if p.is_file() and not skipped & set(p.parts))
    return tuple(ROOT / name for name in listed if name and (ROOT / name).is_file())


def texts(*suffixes: str) -> list[tuple[Path, str]]:
    return [(p, p.read_text(encoding="utf-8")) for p in tracked() if p.suffix in suffixes]


def crates(*arguments: str) -> set[str]:
    done = subprocess.run(
        ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.split()[0] for line in done.stdout.splitlines() if line.strip()}


def test_rust_build_stays_small() -> None:
    found = crates("--package", "zlens-native", "--edges", "normal,build")
    heavy = {name for name in found if name in HEAVY or name.startswith(HEAVY_FAMILIES)}
    assert not heavy, f"{', '.join(sorted(heavy))} came into the Rust build; see Cargo.toml"
    assert len(found) < 80, f"{len(found)} crates: the build grows"


def test_reader_of_frames_has_no_arrow() -> None:
    found = crates("--package", "zlens-frames", "--edges", "normal")
    assert not {name for name in found if name.startswith("arrow")}


def test_cargo_builds_are_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["maturin"]["locked"] is True
    assert (ROOT / "Cargo.lock").is_file()
    for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines():
        for verb in ("cargo build", "cargo test", "cargo clippy", "cargo install", "maturin develop"):
            if verb in line:
                assert "--locked" in line, line


def required(folder: Path) -> list[str]:
    lines = (folder / "requirements.in").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and line[0] not in "#-"]


@pytest.mark.parametrize("name", [".", "tests", "docs", "tests/spark", "release"])
def test_python_packages_are_pinned_with_hashes(name: str) -> None:
    folder = ROOT / name
    lock = (folder / "requirements.lock").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([a-z0-9-]+)==([^ ]+)", lock, re.MULTILINE))
    entries = re.split(r"\n(?=[a-z0-9-]+==)", lock)[1:]
    assert entries
    assert all("--hash=sha256:" in entry for entry in entries)
    for requirement in required(folder):
        assert re.split(r"[=<>!~ \[]", requirement)[0].lower() in pins, requirement


def test_requirements_include_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(project["project"]["dependencies"]) <= set(required(ROOT))
    assert set(project["build-system"]["requires"]) <= set(required(ROOT))


def test_running_needs_no_test_packages() -> None:
    """`make run` installs requirements.lock; tests install the same versions, and more."""
    program, tests = (
        set(re.findall(r"^([a-z0-9-]+==[^ ]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("requirements.lock", "tests/requirements.lock")
    )
    assert program < tests
    assert len(program) < 20
    steps = {
        goal: subprocess.run(
            ["make", "--dry-run", "--always-make", goal], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for goal in ("run", "test")
    }
    assert "-r requirements.lock" in steps["run"]
    assert "-r tests/requirements.lock" not in steps["run"]
    assert "npm" not in steps["run"]
    assert "-r tests/requirements.lock" in steps["test"]


def imports(text: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def without_type_imports(text: str) -> str:
    """Return the source of a module without what only type checkers import."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    return ast.unparse(tree)


def test_one_module_imports_duckdb() -> None:
    users = [
        p.relative_to(SOURCES).as_posix() for p in SOURCES.rglob("*.py") if "duckdb" in imports(p.read_text())
    ]
    assert users == ["engine/connection.py"]


def test_program_needs_only_its_dependencies() -> None:
    # pyarrow and the like are for tests: results are exported as Arrow capsules.
    used: set[str] = set()
    for path in SOURCES.rglob("*.py"):
        # Code that runs within Spark has the packages of its extra.
        if path != SOURCES / "spark.py":
            used |= imports(without_type_imports(path.read_text(encoding="utf-8")))
    assert not used & {"pyarrow", "pandas", "numpy", "polars", "scipy", "requests", "pytest", "hypothesis"}


def test_rust_does_not_read_catalog() -> None:
    # Rust receives a compiled plan; facts stay where people can read and correct them.
    for path, text in texts(".rs"):
        code = re.sub(r"//.*", "", text)
        # Tests and fuzz targets may read the catalog; built code may not.
        if "crates" in path.parts and "src" in path.parts:
            assert not re.search(r'include_(str|bytes)!|\.toml"', code), path


@pytest.mark.parametrize("suffix", [".py", ".rs"])
def test_file_names_are_meaningful(suffix: str) -> None:
    for path in tracked():
        if path.suffix == suffix:
            parts = {part.lower() for part in (*path.relative_to(ROOT).parts[:-1], path.stem)}
            assert not parts & EMPTY_NAMES, path


def test_files_have_limited_length() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {lines}"
        for path, text in texts(".py", ".rs", ".sql")
        if (lines := text.count("\n")) > LONGEST
    ]
    assert not long


def test_sources_have_no_todo_markers() -> None:
    marks = re.compile(rf"\b({'|'.join(('TO' + 'DO', 'FIX' + 'ME', 'HA' + 'CK'))})\b")
    for path, text in texts(".py", ".rs", ".sql", ".toml", ".md", ".yml"):
        assert not marks.search(text), path


def test_no_build_step_needs_node() -> None:
    assert not list(ROOT.glob("crates/*/build.rs"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["build-system"]["build-backend"] == "maturin"


def test_ci_runs_all_checks() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    targets = {word for line in script.splitlines() if line.startswith("make ") for word in line.split()}
    # Tests of the web UI are skipped without Chromium, but not in CI.
    assert targets >= {"lint", "packages", "test"}
    assert "CI=true" in script


def test_test_file_names_are_unique() -> None:
    """pytest cannot collect two modules with the same name in different packages."""
    names = [path.name for path in tracked() if path.suffix == ".py" and path.name.startswith("test_")]
    assert len(names) > 100
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
