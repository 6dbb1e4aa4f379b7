"""Line numbers of TOML keys: the parser gives values without their lines."""

from __future__ import annotations

import re

_KEY = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_PATH = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEAD = re.compile(rf"\s*(\[\[?)\s*({_PATH})\s*\]")
_VALUE = re.compile(rf"\s*({_PATH})\s*=\s*(.*)")
_PART = re.compile(_KEY)
_TRIPLE = re.compile('"""|' + "'''")


def line_of(text: str, where: str) -> int | None:
    """The line of a key such as `tables[2].columns[1].width`; else of its contents, or nearest parent."""
    enclosing, longest, first_inside = None, 0, None
    for number, path in _paths(text):
        if path == where:
            return number
        if _within(path, where):
            first_inside = first_inside or number
        elif _within(where, path) and len(path) > longest:
            enclosing, longest = number, len(path)
    return first_inside or enclosing


def _within(path: str, outer: str) -> bool:
    return path.startswith(outer) and path[len(outer)] in ".["


def _paths(text: str) -> list[tuple[int, str]]:
    """The keys of a document with their lines; list entries count from 1."""
    paths: list[tuple[int, str]] = []
    counts: dict[str, int] = {}
    table = listed = ""
    entries = 0
    quoted = False
    for number, line in enumerate(text.splitlines(), 1):
        inside, quoted = quoted, quoted ^ bool(len(_TRIPLE.findall(line)) % 2)
        if inside:
            continue
        head, value = _HEAD.match(line), _VALUE.match(line)
        if head and not listed:
            table = _table(head[2], counts, head[1] == "[[")
            paths.append((number, table))
        elif listed:
            if line.lstrip().startswith("]"):
                listed = ""
            elif line.strip() and not line.lstrip().startswith("#"):
                entries += 1
                paths.append((number, f"{listed}[{entries}]"))
        elif value:
            parts = _parts(value[1])
            # A dotted key is the first line of the tables that it makes.
            for end in range(1, len(parts) + 1):
                path = _joined(table, parts[:end])
                paths.append((number, path))
            paths += [(number, f"{path}.{name}") for name in re.findall(rf"[{{,]\s*({_KEY})\s*=", value[2])]
            if value[2].rstrip() == "[":
                listed, entries = path, 0
    return paths


def _table(head: str, counts: dict[str, int], array: bool) -> str:
    """The path of a table's heading; for an array of tables that of its last entry so far."""
    path = ""
    *outer, last = _parts(head)
    for part in outer:
        path = _joined(path, [part])
        path += f"[{counts[path]}]" if path in counts else ""
    path = _joined(path, [last])
    if array:
        counts[path] = counts.get(path, 0) + 1
    return f"{path}[{counts[path]}]" if path in counts else path


def _parts(path: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(path)]


def _joined(path: str, parts: list[str]) -> str:
    return ".".join([*([path] if path else []), *parts])
