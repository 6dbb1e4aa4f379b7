"""Rules of `zlens findings`: what is worth telling about an input, as the catalog and the user have it.

One file per rule, named after its id in lower case; `rules/_skeleton.toml` is one to copy, and Rule below
says what the keys mean. A rule of the user's that has the id of a built-in one stands in its place.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from zlens.catalog import layouts
from zlens.errors import CatalogError
from zlens.schema import toml
from zlens.schema.facts import FACTS

#: What a file of the folder can be.
KINDS = {
    "rule": "a condition that holds or does not",
    "balance": "two numbers that are measured independently and must agree; it is always asked for",
    "note": "something to know that nothing in the data decides; told by explain and not counted",
}
#: How bad it is, worst first.
SEVERITIES = ("crit", "warn", "info")
#: Where a threshold is from.
CLASSES = {
    "ibm": "the number, or the statement, is published by IBM",
    "ibm-qual": "IBM publishes the relation; the number is ours",
    "vendor": "published by another vendor",
    "ours": "our own rule of thumb: off unless asked for, or held against a baseline",
    "unverified": "believed to be published; the source was not seen",
}
#: How the value is held against the threshold T; the last two take no number.
COMPARES = {
    ">": "above",
    ">=": "at or above",
    "<": "below",
    "<=": "at or below",
    "holds": "the query says in a column `holds` which rows are findings",
    "exists": "every row of the query is a finding",
}
#: How the mean of the value is held against its mean in the baseline.
BASELINES = {
    "rise": "the part by which it rose",
    "fall": "the part by which it fell",
    "points": "the difference, up or down",
    "differs": "any difference of the column `detail`",
}
STATUSES = {
    "verified": "read in a document of IBM",
    "verified-secondary": "read in a source that is not IBM's",
    "derived": "the relation is read, the number or the way of computing it is ours",
    "unverified": "not confirmed by any source",
}

#: What a query gives one row of for everything it tests.
COLUMNS = ("system", "source", "interval_end", "seconds", "subject", "value")
#: What it may give besides.
OPTIONAL = ("detail", "holds", "threshold")

_ID = re.compile(r"[A-Z][A-Z0-9]*-[A-Z0-9]+")
_LINE = re.compile(r"\(at line (\d+)")
_TEXTS = frozenset(
    {"id", "area", "kind", "severity", "class", "title", "condition", "query", "baseline_query", "compare"}
    | {"limit", "unit", "meaning", "action", "source", "guard", "status", "reason"}
)
_KEYS = _TEXTS | {"threshold", "critical", "needs", "disagrees", "baseline"}
_WANTED = ("id", "area", "severity", "class", "title", "condition", "meaning", "source", "status")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    condition    in words
    query        SELECT over measures of the columns COLUMNS, perhaps OPTIONAL; {T} stands for a threshold
    compare      how `value` is held against the threshold T, see COMPARES; '' where only a baseline decides
    threshold    the numbers by name
    critical     a value from which on the finding is of severity crit
    limit        the threshold in words, where the comparison does not say it
    needs        columns of measures (or roles, as role.entity.name) without which there is no answer
    baseline     how, and from which difference on, it is held against a baseline
    disagrees    rules that say something else about the same matter
    guard        what it does not look at, or where it may mislead
    reason       of a note: why it is no condition
    """

    id: str
    area: str
    kind: str
    severity: str
    threshold_class: str
    title: str
    condition: str
    query: str
    baseline_query: str
    compare: str
    threshold: dict[str, float]
    critical: float | None
    limit: str
    unit: str
    needs: tuple[str, ...]
    baseline: tuple[str, float] | None
    disagrees: tuple[str, ...]
    meaning: str
    action: str
    source: str
    guard: str
    status: str
    reason: str
    file: Path
    own: bool  # the user's

    @property
    def computable(self) -> bool:
        return self.kind != "note"

    def gives(self, column: str, *, baseline: bool = False) -> bool:
        """Whether the query has one of the columns that it need not have."""
        text = self._text(baseline)
        return re.search(rf"\bAS\s+{column}\b", text, re.IGNORECASE) is not None

    def _text(self, baseline: bool) -> str:
        return self.baseline_query if baseline and self.baseline_query else self.query

    def sql(self, *, baseline: bool = False) -> str:
        """The query with the numbers in their places."""
        text = self._text(baseline)
        for name, number in self.threshold.items():
            text = text.replace(f"{{{name}}}", repr(float(number)))
        return text.strip().rstrip(";")

    def line(self, key: str) -> int | None:
        """The line of its file where a key stands."""
        return _line_of(self.file.read_text(encoding="utf-8"), key)

    def where(self, key: str) -> str:
        """File and line of a key, as errors name them."""
        line = self.line(key)
        return str(self.file) if line is None else f"{self.file}:{line}"


def root() -> Path:
    """The folder of the built-in rules."""
    return FACTS / "rules"


def user_root() -> Path:
    """The folder of the user's rules in the data folder; it need not exist."""
    return layouts.pack_root().parent / "rules"


def load(*folders: str | os.PathLike[str]) -> dict[str, Rule]:
    """All rules by id: built in, then the user's, then those of more folders; the last of an id counts."""
    found = dict(builtin())
    own = user_root()
    places = [own] if own.is_dir() else []
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise CatalogError("there is no such folder of rules", file=str(folder), cure="name a folder")
        places.append(folder)
    for folder in places:
        found |= _unique(_files(folder), own=True)
    return dict(sorted(found.items()))


def _unique(paths: list[Path], *, own: bool) -> dict[str, Rule]:
    """The rules of files by id; CatalogError where two files have one."""
    known: dict[str, Rule] = {}
    for path in paths:
        rule = read(path, own=own)
        other = known.setdefault(rule.id, rule)
        if other is not rule:
            raise CatalogError(
                f"the rule {rule.id} is also in {other.file.name}",
                file=_at(path, "id"),
                cure="give one of them another id",
            )
    return known


@cache
def builtin() -> dict[str, Rule]:
    """The built-in rules by id."""
    return _unique(_builtin_files(), own=False)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.toml") if not path.name.startswith(("_", ".")))


def _builtin_files() -> list[Path]:
    """The files of the built-in rules, which are in folders by area; in the order of their ids."""
    return sorted(root().glob("*/*.toml"), key=lambda path: path.name)


def is_id(name: str) -> bool:
    """Whether a name is of the form that ids of rules have."""
    return _ID.fullmatch(name) is not None


def names() -> list[str]:
    """Ids of the built-in rules and the user's, from the names of the files alone."""
    own = _files(user_root()) if user_root().is_dir() else []
    return sorted({path.stem.upper() for path in (*_builtin_files(), *own)})


def read(path: Path, *, own: bool = False) -> Rule:
    """One file; CatalogError with file and line where something is wrong in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogError(f"cannot be read: {error}", file=str(path)) from None
    try:
        data = toml.loads(text)
    except toml.TOMLDecodeError as error:
        found = _LINE.search(str(error))
        where = f"{path}:{found[1]}" if found else str(path)
        raise CatalogError(f"this is not TOML: {error}", file=where) from None
    return _Reader(path, text).rule(data, own)


class _Reader:
    """Turns what a file holds into a rule, and says where it cannot."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def wrong(self, key: str | None, message: str, *, expected: str | None = None) -> CatalogError:
        line = _line_of(self._text, key) if key else None
        where = str(self._path) if line is None else f"{self._path}:{line}"
        return CatalogError(message, file=where, expected=expected, cure=None if expected else _SEE)

    def rule(self, data: dict[str, Any], own: bool) -> Rule:
        for key in data:
            if key not in _KEYS:
                raise self.wrong(key, f"a rule has no {key}", expected=f"one of {', '.join(sorted(_KEYS))}")
        texts = {key: self._word(data, key) for key in _TEXTS}
        for key in _WANTED:
            if not texts[key]:
                raise self.wrong(key if key in data else None, f"the rule has no {key}")
        kind = texts["kind"] or "rule"
        for key, value, known in (
            ("kind", kind, tuple(KINDS)),
            ("severity", texts["severity"], SEVERITIES),
            ("class", texts["class"], tuple(CLASSES)),
            ("compare", texts["compare"], ("", *COMPARES)),
            ("status", texts["status"], tuple(STATUSES)),
        ):
            if value not in known:
                listed = ", ".join(filter(None, known))
                raise self.wrong(key, f"{key} is {value!r}", expected=f"one of {listed}")
        if not is_id(texts["id"]):
            raise self.wrong(
                "id", f"{texts['id']!r} is not the id of a rule", expected="an id such as CPU-001"
            )
        rule = Rule(
            id=texts["id"],
            area=texts["area"],
            kind=kind,
            severity=texts["severity"],
            threshold_class=texts["class"],
            title=texts["title"],
            condition=texts["condition"],
            query=texts["query"],
            baseline_query=texts["baseline_query"],
            compare=texts["compare"],
            threshold=self._numbers(data),
            critical=self._number(data, "critical"),
            limit=texts["limit"],
            unit=texts["unit"],
            needs=self._words(data, "needs"),
            baseline=self._baseline(data),
            disagrees=self._words(data, "disagrees"),
            meaning=texts["meaning"],
            action=texts["action"],
            source=texts["source"],
            guard=texts["guard"],
            status=texts["status"],
            reason=texts["reason"],
            file=self._path,
            own=own,
        )
        self._agrees(rule)
        return rule

    def _agrees(self, rule: Rule) -> None:
        """A rule computes something, a note says why it does not."""
        if rule.kind == "note":
            if rule.query or rule.compare or rule.baseline:
                key = "query" if rule.query else "compare" if rule.compare else "baseline"
                raise self.wrong(key, "a note has no condition", expected='kind = "rule"')
            if not rule.reason:
                raise self.wrong("kind", "the note does not say why it is no condition", expected="a reason")
            return
        if not rule.query or not rule.needs:
            key = "query" if not rule.query else "needs"
            raise self.wrong(None, f"the rule has no {key}")
        if not rule.compare and rule.baseline is None:
            raise self.wrong(None, "nothing says when the rule holds", expected="compare, or baseline")
        numeric = rule.compare in (">", ">=", "<", "<=")
        if numeric and "T" not in rule.threshold and not rule.gives("threshold"):
            raise self.wrong("compare", "there is no threshold T to compare with")
        if rule.compare == "holds" and not rule.gives("holds"):
            raise self.wrong("query", "the query has no column holds")
        known = {f"{{{name}}}" for name in rule.threshold}
        for query in (rule.query, rule.baseline_query, rule.limit):
            for place in re.findall(r"\{\w+\}", query):
                if place not in known:
                    raise self.wrong("query", f"{place} is not a threshold of the rule")

    def _word(self, data: dict[str, Any], key: str) -> str:
        value = data.get(key, "")
        if not isinstance(value, str):
            raise self.wrong(key, f"{key} is not text")
        return value.strip()

    def _words(self, data: dict[str, Any], key: str) -> tuple[str, ...]:
        value = data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.wrong(key, f"{key} is not a list of names")
        return tuple(value)

    def _number(self, data: dict[str, Any], key: str) -> float | None:
        value = data.get(key)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        raise self.wrong(key, f"{key} is not a number")

    def _numbers(self, data: dict[str, Any]) -> dict[str, float]:
        table = data.get("threshold", {})
        if not isinstance(table, dict):
            raise self.wrong("threshold", "threshold is not a table", expected="{ T = 85 }")
        for name, value in table.items():
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise self.wrong("threshold", f"the threshold {name} is not a number", expected="{ T = 85 }")
        return dict(table)

    def _baseline(self, data: dict[str, Any]) -> tuple[str, float] | None:
        table = data.get("baseline")
        if table is None:
            return None
        expected = '{ how = "rise", T = 0.1 }'
        if not isinstance(table, dict) or set(table) - {"how", "T"}:
            raise self.wrong("baseline", "baseline is not understood", expected=expected)
        how, least = table.get("how"), table.get("T", 0)
        if how not in BASELINES or not isinstance(least, int | float) or isinstance(least, bool):
            raise self.wrong("baseline", f"baseline has how = {how!r}", expected=", ".join(BASELINES))
        return how, float(least)


_SEE = "facts/rules/_skeleton.toml shows what a rule has"


def _line_of(text: str, key: str | None) -> int | None:
    if key is None:
        return None
    wanted = re.compile(rf"\s*\[?{re.escape(key)}\b\s*[=\].]")
    return next((i for i, line in enumerate(text.splitlines(), 1) if wanted.match(line)), None)


def _at(path: Path, key: str) -> str:
    line = _line_of(path.read_text(encoding="utf-8"), key)
    return str(path) if line is None else f"{path}:{line}"
