"""Strict parser of metrics pages: Prometheus' text format 0.0.4 and OpenMetrics 1.0."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

_SAMPLE = re.compile(r"([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)\Z")
_LABEL = re.compile(r'([a-z_][a-z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|\Z)')

Labels = frozenset[tuple[str, str]]


@dataclass
class Family:
    name: str
    kind: str = ""
    help: str = ""
    unit: str = ""
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)


def families(page: bytes) -> dict[str, Family]:
    """Return the families of a page; raise AssertionError if it violates the format."""
    text = page.decode()
    assert text.endswith("\n")
    found: dict[str, Family] = {}
    current = Family("")
    for line in text.splitlines():
        if line == "# EOF":
            assert text.endswith("# EOF\n")
            assert text.count("# EOF") == 1
            continue
        if line.startswith("# "):
            word, name, *rest = line[2:].split(" ", 2)
            if name != current.name:
                # Lines of a family are consecutive.
                assert name not in found, name
                current = found[name] = Family(name)
            assert not current.samples, line
            setattr(current, {"HELP": "help", "TYPE": "kind", "UNIT": "unit"}[word], rest[0])
            continue
        match = _SAMPLE.match(line)
        assert match, line
        ending = {"": "", "info": "_info", "counter": "_total"}
        assert match[1] in (current.name, current.name + ending.get(current.kind, "")), line
        key = (match[1], labels(match[2] or ""))
        assert key not in current.samples, line
        current.samples[key] = float(match[3])
    return found


def labels(text: str) -> Labels:
    pairs, at = [], 0
    while at < len(text):
        match = _LABEL.match(text, at)
        assert match, text
        value = match[2].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
        pairs.append((match[1], value))
        at = match.end()
    assert len(dict(pairs)) == len(pairs), text
    return frozenset(pairs)


@lru_cache(maxsize=8)
def samples(page: bytes) -> dict[tuple[str, Labels], float]:
    """Return all samples of a page; cached, because many tests read the same page."""
    return {key: value for family in families(page).values() for key, value in family.samples.items()}
