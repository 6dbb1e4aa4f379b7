"""Tests that the modules of every crate form layers: no two use each other, directly or indirectly.

The check reads text: `use` trees and paths that start at the crate, a parent or a child module. A name that a
module re-exports counts as use of the module that defines it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[1] / "crates"
# The package that all others may use.
CORE = "core"

Module = tuple[str, ...]

_NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""",
    re.DOTALL,
)
_TOKEN = re.compile(r"[A-Za-z_]\w*|::|[{}(),;*$]|\S")
_PATH = re.compile(r"[A-Za-z_]\w*")


@dataclass
class _Source:
    """Parsed module: the paths that it names, and the names that it re-exports."""

    paths: list[tuple[str, ...]] = field(default_factory=list)
    exports: dict[str, tuple[str, ...]] = field(default_factory=dict)


def _tree(
    tokens: list[str], at: int, before: tuple[str, ...]
) -> tuple[list[tuple[str, tuple[str, ...]]], int]:
    """Return the names and paths of a `use` tree, and its end."""
    path = before
    while True:
        token = tokens[at]
        if token == "{":
            names: list[tuple[str, tuple[str, ...]]] = []
            at += 1
            while tokens[at] != "}":
                inner, at = _tree(tokens, at, path)
                names += inner
                at += tokens[at] == ","
            return names, at + 1
        if token in {"self", "*"} and path != before:
            name = path[-1] if token == "self" else "*"
            return [(name, path)], at + 1
        if token != "::":
            path = (*path, token)
        at += 1
        if tokens[at] == "as":
            return [(tokens[at + 1], path)], at + 2
        if tokens[at] != "::":
            return [(path[-1], path)], at
        at += 1


def _read(text: str) -> _Source:
    source = _Source()
    tokens = _TOKEN.findall(_NOISE.sub(" ", text))
    # Depths of braces at which inline modules start: `super` in them is this module.
    inner: list[int] = []
    depth = at = 0
    while at < len(tokens):
        token = tokens[at]
        if token == "mod" and tokens[at + 2] == "{":
            inner.append(depth)
            at += 2
            continue
        if token == "use" and tokens[at - 1] not in {".", "::"}:
            public = tokens[at - 1] == "pub" or tokens[max(at - 4, 0) : at - 2] == ["pub", "("]
            names, at = _tree(tokens, at + 1 + (tokens[at + 1] == "::"), ())
            for name, path in names:
                path = path[min(len(inner), _supers(path)) :]
                source.paths.append(path)
                if public and not inner:
                    source.exports[name] = path
            continue
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if inner and inner[-1] == depth:
                inner.pop()
        elif _PATH.fullmatch(token) and tokens[at - 1] != "::" and tokens[at + 1 : at + 2] == ["::"]:
            path = (token,)
            while tokens[at + 1 : at + 2] == ["::"] and _PATH.fullmatch(tokens[at + 2]):
                path = (*path, tokens[at + 2])
                at += 2
            source.paths.append(path[min(len(inner), _supers(path)) :])
        at += 1
    return source


def _supers(path: tuple[str, ...]) -> int:
    return next((nth for nth, part in enumerate(path) if part != "super"), len(path))


def _modules(folder: Path) -> dict[Module, _Source]:
    modules: dict[Module, _Source] = {}
    for file in sorted(folder.rglob("*.rs")):
        parts = file.relative_to(folder).with_suffix("").parts
        modules[parts[:-1] if parts[-1] in {"mod", "lib"} else parts] = _read(file.read_text("utf-8"))
    return modules


def _uses(modules: dict[Module, _Source], user: Module, path: tuple[str, ...]) -> Module | None:
    """Return the module that defines the target of a path."""
    here, rest = user, list(path)
    match rest:
        case ["crate", *rest]:
            here = ()
        case ["self", *rest]:
            pass
        case ["super", *_]:
            while rest[:1] == ["super"]:
                here, rest = here[:-1], rest[1:]
        case [first, *_] if (*here, first) not in modules:
            return None
        case []:
            return None
    for _ in range(20):
        while rest and (*here, rest[0]) in modules:
            here, rest = (*here, rest[0]), rest[1:]
        export = modules[here].exports.get(rest[0]) if rest else None
        if export is None:
            return here
        target = _uses(modules, here, export)
        if target is None:
            return here
        # The name ends the path of its export, unless that names a module.
        here, rest = target, ([] if target[-1:] == export[-1:] else [export[-1]]) + rest[1:]
        if rest and (*here, rest[0]) not in modules and rest[0] not in modules[here].exports:
            return here
    return here


def arrows(folder: Path) -> dict[Module, set[Module]]:
    """Return the modules of a crate that each of its modules uses."""
    modules = _modules(folder)
    return {
        user: {
            used for path in source.paths if (used := _uses(modules, user, path)) is not None and used != user
        }
        for user, source in modules.items()
    }


def circles(graph: dict[Module, set[Module]]) -> list[list[Module]]:
    """Return modules that use each other: the strongly connected components with more than one node."""

    def reach(start: Module) -> set[Module]:
        met: set[Module] = set()
        rest = [start]
        while rest:
            for used in graph.get(rest.pop(), set()) - met:
                met.add(used)
                rest.append(used)
        return met

    reached = {node: reach(node) for node in graph}
    groups = {
        frozenset(other for other in reached[node] if node in reached.get(other, set())) for node in graph
    }
    return sorted(sorted(group) for group in groups if group)


def package_graph(graph: dict[Module, set[Module]]) -> dict[Module, set[Module]]:
    """Return the same graph for folders directly below a crate; a file next to them is a separate package."""
    merged: dict[Module, set[Module]] = {}
    for user, used in graph.items():
        if user:
            merged.setdefault(user[:1], set()).update(to[:1] for to in used if to and to[:1] != user[:1])
    return merged


def _name(module: Module) -> str:
    return "::".join(module) or "the crate's root"


def faults(folder: Path) -> Iterator[str]:
    graph = arrows(folder)
    # The root only declares and re-exports; nothing may be defined there that a module uses.
    for kind, what in (("modules", graph), ("rooms", package_graph(graph))):
        for circle in circles(what):
            yield f"{kind} use each other: {', '.join(map(_name, circle))}"
    for user, used in graph.items():
        for to in used:
            if user[:1] == (CORE,) and to[:1] != (CORE,):
                yield f"{_name(user)} uses {_name(to)}, which stands above it"


@pytest.mark.parametrize("crate", sorted(path.name for path in CRATES.iterdir() if path.is_dir()))
def test_modules_of_crate_form_layers(crate: str) -> None:
    folder = CRATES / crate / "src"
    assert len(arrows(folder)) > 3
    assert list(faults(folder)) == []


def _crate(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    "text",
    [
        "use crate::b::Thing;",
        "use crate::{b::{self, Thing}, b as other};",
        "use super::b::Thing as Other;",
        "fn f() -> crate::b::Thing { crate::b::thing() }",
        "use crate::Thing;",
        "mod tests { use super::super::b::Thing; }",
        "pub(crate) use crate::b::*;",
    ],
)
def test_import_cycle_is_found_for_any_path_syntax(tmp_path: Path, text: str) -> None:
    lib = "mod a;\nmod b;\npub use b::Thing;\n"
    folder = _crate(tmp_path, {"lib.rs": lib, "a.rs": text, "b.rs": "use crate::a::f;\npub struct Thing;"})
    assert list(faults(folder))[:1] == ["modules use each other: a, b"]


@pytest.mark.parametrize(
    "text",
    [
        "// use crate::b::Thing;",
        'const A: &str = "crate::b::thing";',
        "mod tests { use super::*; }",
        "use std::b::Thing;",
    ],
)
def test_non_imports_are_ignored(tmp_path: Path, text: str) -> None:
    files = {"lib.rs": "mod a;\nmod b;", "a.rs": text, "b.rs": "use crate::a::f;"}
    assert list(faults(_crate(tmp_path, files))) == []


def test_crate_modules_form_layers_above_core(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod core;\nmod x;\nmod y;",
        "core/mod.rs": "pub mod low;",
        "core/low.rs": "use crate::x::one::A;",
        "x/mod.rs": "pub mod one;\npub mod two;",
        "x/one.rs": "",
        "x/two.rs": "use crate::y::one::B;",
        "y/mod.rs": "pub mod one;\npub mod two;",
        "y/one.rs": "",
        "y/two.rs": "use crate::x::one::A;",
    }
    assert list(faults(_crate(tmp_path, files))) == [
        "rooms use each other: x, y",
        "core::low uses x::one, which stands above it",
    ]
