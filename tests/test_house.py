"""Tests that packages form layers, each importing only packages below it, and that modules have no cycles.

All imports count, lazy ones and those for annotations too. docs/architecture.md describes each package.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "python" / "zlens"
#: From the lowest to the highest; a package imports those before it. `zlens` is the API of programs.
LAYERS = (
    "version",
    "errors",
    "_native",
    "progress",
    "schema",
    "catalog",
    "compiler",
    "checks",
    "inputs",
    "record_pages",
    "engine",
    "readers",
    "lake",
    "session",
    "stores",
    "rendering",
    "reports",
    "exposition",
    "findings",
    "explain",
    "models",
    "simulation",
    "rig",
    "plan",
    "ledger",
    "verdict",
    "api",
    "zlens",
    "compare",
    "studies",
    "spark",
    "demo",
    "live",
    "server",
    "cli",
    "__main__",
)
#: Packages without code.
FACTS = "facts"


def package_of(path: Path) -> str:
    first = path.relative_to(SOURCES).parts[0]
    return "zlens" if first == "__init__.py" else first.removesuffix(".py")


def imported_names(source: str, path: Path) -> Iterator[str]:
    """Yield the names that a module imports anywhere, such as zlens.server.json_values.json_value."""
    package = ("zlens", *path.relative_to(SOURCES).parent.parts)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            # f"zlens.readers.{name}": the package is known without the name.
            named = re.match(r"""f?["'](zlens[\w.]*)""", ast.unparse(node.args[0]))
            if named:
                yield named[1]


def imported_packages(source: str, path: Path) -> set[str]:
    parts = [name.split(".") for name in imported_names(source, path)]
    # Other names are attributes of the package: zlens.open, zlens.Session.
    packages = {
        name[1] if name[1:] and name[1] in LAYERS else "zlens" for name in parts if name[0] == "zlens"
    }
    return packages - {package_of(path)}


def upward(source: str, path: Path) -> list[str]:
    """Return the packages that a module imports but that are not below its own."""
    allowed = LAYERS[: LAYERS.index(package_of(path))]
    return sorted(one for one in imported_packages(source, path) if one not in allowed)


@pytest.mark.parametrize("name", LAYERS)
def test_packages_import_only_lower_layers(name: str) -> None:
    paths = [path for path in SOURCES.rglob("*.py") if package_of(path) == name]
    assert paths or name == "_native"
    for path in paths:
        # The lazy imports of the root begin with f"zlens.{...}".
        assert upward(path.read_text(encoding="utf-8"), path) == [], path


#: Modules that are imported when they are first needed, by modules that they import.
ON_DEMAND = {
    "zlens.catalog.layout_file": "zlens.catalog.layouts",
    "zlens.catalog.reports.definition_file": "zlens.catalog.reports.definition",
    "zlens.catalog.subject_file": "zlens.catalog.subjects",
    "zlens.catalog.user_roles": "zlens.catalog.roles",
    "zlens.rendering.answer_data": "zlens.rendering.answer",
    "zlens.rendering.answer_html": "zlens.rendering.answer",
    "zlens.rendering.answer_text": "zlens.rendering.answer",
}


def module_imports() -> dict[str, set[str]]:
    """Return the modules that each module imports, those for annotations and lazy ones too."""
    paths = {
        ".".join(("zlens", *path.relative_to(SOURCES).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in SOURCES.rglob("*.py*")
        if path.suffix in (".py", ".pyi")
    }
    modules = {}
    for module, path in paths.items():
        names = {*imported_names(path.read_text(encoding="utf-8"), path)}
        modules[module] = {name if name in paths else name.rpartition(".")[0] for name in names}
        modules[module] = (modules[module] & {*paths}) - {module}
    return modules


def first_cycle(imports: dict[str, set[str]]) -> list[str]:
    """Return the modules of a cycle, each imported by the next; empty if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []


def test_modules_have_no_import_cycles() -> None:
    imports = module_imports()
    for module, importing in ON_DEMAND.items():
        assert importing in imports[module], f"{module} makes no cycle"
        imports[importing].remove(module)
    assert first_cycle(imports) == []


def test_import_cycle_is_detected() -> None:
    imports = {name: names - {*ON_DEMAND} for name, names in module_imports().items()}
    # Lazily, and for annotations.
    assert "zlens.session.session_tables" in imports["zlens.session.session"]
    assert "zlens.rig.results" in imports["zlens.api"]
    imports["zlens.session.session_tables"].add("zlens.session.session")
    assert {"zlens.session.session", "zlens.session.session_tables"} <= {*first_cycle(imports)}


def test_every_package_has_layer() -> None:
    there = {package_of(path) for path in SOURCES.rglob("*.py")}
    assert there - {*LAYERS} == set()
    assert not [*(SOURCES / FACTS).rglob("*.py")]


@pytest.mark.parametrize(
    "source",
    [
        "from zlens.server import json_values",
        "from zlens import server",
        "import zlens.server.json_values",
        "def f():\n    from zlens.server.json_values import plain",
        "if TYPE_CHECKING:\n    from zlens.server import json_values",
        "import_module(f'zlens.server.{name}')",
        "from ..server import values",
        "import zlens",
    ],
)
def test_upward_import_is_detected(source: str) -> None:
    assert upward(source, SOURCES / "readers" / "recognition.py") != []


def test_architecture_names_every_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name in [*LAYERS, FACTS]:
        if (SOURCES / name).is_dir():
            assert f"`python/zlens/{name}`" in text, name


def test_no_reader_declares_columns() -> None:
    readers = (SOURCES / "readers").rglob("*.py")
    assert [path for path in readers if re.search(r"\bRawColumn\(", path.read_text(encoding="utf-8"))] == []


def test_facts_are_only_toml() -> None:
    assert {path.suffix for path in (SOURCES / FACTS).rglob("*") if path.is_file()} == {".toml"}


#: Packages whose data comes from outside, or from the user.
OUTSIDE = ("inputs", "readers", "lake", "session", "server", "cli", "plan", "simulation", "live")


def bare(source: str) -> list[str]:
    """Return calls of next() that can raise StopIteration; a counter never ends."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        ast.unparse(call)
        for call in calls
        if ast.unparse(call.func) == "next"
        and len(call.args) == 1
        and ast.unparse(call.args[0]) != "self._numbers"
    ]


def test_bare_next_is_detected() -> None:
    assert bare("a = next(x for x in y)") == ["next((x for x in y))"]
    assert bare("a = next((x for x in y), None)") == []


@pytest.mark.parametrize("name", OUTSIDE)
def test_searches_never_raise_stop_iteration(name: str) -> None:
    """A search without a result raises an error of zlens or has a default."""
    found = {str(path): bare(path.read_text(encoding="utf-8")) for path in (SOURCES / name).rglob("*.py")}
    assert {path: calls for path, calls in found.items() if calls} == {}


#: Words that do not name a module: prepositions, participles and adverbs.
NO_NOUNS = re.compile(
    r"(^|_)(as|against|behind|beside|by|in|of|on|only|apart|together|alone|asked|kept|made|happened|listed|"
    r"measured|moved|observed|expected|printed|published|received|forwarded|polled|rounded|staged|shown|told|"
    r"following|joining|running|sending|warming|watching|listening|opening|rolling|gathering|exporting|importing)$"
)


def test_modules_are_named_by_nouns() -> None:
    named = [
        path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py") if NO_NOUNS.search(path.stem)
    ]
    assert named == []


def test_public_class_names_are_unique() -> None:
    places: dict[str, list[str]] = {}
    for path in SOURCES.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(path.relative_to(SOURCES).as_posix())
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_functions_are_not_named_by_function_words() -> None:
    words = {"of", "at", "put", "own", "together", "kept", "told", "shown", "named", "found", "placed"}
    found = [
        f"{path.relative_to(SOURCES).as_posix()}: {node.name}"
        for path in SOURCES.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name in words
    ]
    assert found == []


#: Modules with numbers that resemble SMF record types, and their meaning.
NO_RECORD_NUMBERS = {
    "python/zlens/cli/catalog.py": "examples of commands",
    "python/zlens/demo/smf.py": "numbers of counters",
    "python/zlens/demo/zos.py": "numbers of address spaces and percentages",
    "crates/sim/src/recorder/channels.rs": "names of fields of a z/VM record",
}
_NUMBERED_RECORD = re.compile(r"(?i)(?<![a-z])smf[ _]?\d+")


def record_numbers(source: str, types: frozenset[int]) -> Iterator[str]:
    """Yield SMF record types in code: in names and texts, and as numbers in modules about SMF."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    knows_smf = re.search(r"import .*\bsmf|smf\w* import", source) is not None
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in texts:
            if isinstance(node.value, str):
                yield from _NUMBERED_RECORD.findall(node.value)
            elif knows_smf and type(node.value) is int and node.value in types:
                yield str(node.value)
        elif isinstance(node, ast.Name | ast.Attribute):
            yield from _NUMBERED_RECORD.findall(node.id if isinstance(node, ast.Name) else node.attr)


def test_smf_record_types_are_known_from_facts_alone() -> None:
    facts = SOURCES / FACTS / "smf"
    types = frozenset(int(path.stem.partition("-")[0]) for path in facts.rglob("[0-9]*.toml"))
    assert types >= {30, 70, 72, 113}
    found = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES.rglob("*.py")
        if [*record_numbers(path.read_text(encoding="utf-8"), types)]
    }
    for path in (ROOT / "crates").glob("*/src/**/*.rs"):
        source = path.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        code = re.sub(r"//.*", "", source)
        compared = re.findall(r"\brecord(?:_type)? *[=!]?[=:] *(\d+)", code)
        if _NUMBERED_RECORD.search(code) or types & {*map(int, compared)}:
            found.add(path.relative_to(ROOT).as_posix())
    assert found == {*NO_RECORD_NUMBERS}


@pytest.mark.parametrize(
    ("source", "numbers"),
    [
        ("from zlens.catalog import smf\nlayout = smf.layout(113)", ["113"]),
        ("from zlens.catalog.smf_sections import layout\nif layout.record == 70: ...", ["70"]),
        ("from zlens.catalog import codes\nwords = codes.words('smf70_cpu_type')", ["smf70"]),
        ("decoder = native.Smf113Decoder()", ["Smf113"]),
        ('"""Type 113, such as smf113."""\nwait(30)', []),
    ],
)
def test_smf_record_number_is_detected(source: str, numbers: list[str]) -> None:
    assert [*record_numbers(source, frozenset({70, 113}))] == numbers
