"""Scenarios: small TOML files, checked key by key against what a model understands."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from zlens.errors import InputError, ScenarioError
from zlens.models.answer import Assumption
from zlens.models.constants import constant
from zlens.schema import toml, user_files

#: Longest scenario that is read: some ten thousand users.
LONGEST = 16_000_000
#: Most entries of one list or table.
MOST = 100_000


class _Required:
    """Stands for: there is no default."""


REQUIRED: Final = _Required()


@dataclass(frozen=True, slots=True)
class Number:
    """A number from low to high; above: low itself is not allowed."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False

    def words(self) -> str:
        if self.above:
            return f"a number above {self.low:g}" + ("" if self.high == math.inf else f", to {self.high:g}")
        if self.low == -math.inf:
            return "a number" + ("" if self.high == math.inf else f" to {self.high:g}")
        return f"a number from {self.low:g}" + (" up" if self.high == math.inf else f" to {self.high:g}")

    def check(self, value: Any, where: str, problem: Problem) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise problem.value(where, value, self.words())
        if not self.low <= value <= self.high or (self.above and value == self.low):
            raise problem.value(where, value, self.words())
        return float(value)


@dataclass(frozen=True, slots=True)
class NumberOr:
    """A number, or one word that stands for there being none: NOLIMIT."""

    of: Number
    word: str

    def words(self) -> str:
        return f'{self.of.words()}, or "{self.word}"'

    def check(self, value: Any, where: str, problem: Problem) -> float | str:
        if value == self.word:
            return self.word
        if isinstance(value, str):
            raise problem.value(where, value, self.words())
        return self.of.check(value, where, problem)


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number from low to high."""

    low: int
    high: int

    def words(self) -> str:
        return f"a whole number from {self.low:,} to {self.high:,}"

    def check(self, value: Any, where: str, problem: Problem) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise problem.value(where, value, self.words())
        return value


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""

    def words(self) -> str:
        return "true or false"

    def check(self, value: Any, where: str, problem: Problem) -> bool:
        if not isinstance(value, bool):
            raise problem.value(where, value, self.words())
        return value


@dataclass(frozen=True, slots=True)
class Text:
    """A word or a line."""

    def words(self) -> str:
        return "a text in quotes"

    def check(self, value: Any, where: str, problem: Problem) -> str:
        if not isinstance(value, str) or not value or len(value) > 1000 or not value.isprintable():
            raise problem.value(where, value, self.words())
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    of: tuple[str, ...]

    def words(self) -> str:
        return "one of " + ", ".join(f'"{word}"' for word in self.of)

    def check(self, value: Any, where: str, problem: Problem) -> str:
        # 7.4 without quotes is a number to TOML.
        if str(value) not in self.of:
            raise problem.value(where, value, self.words())
        return str(value)


@dataclass(frozen=True, slots=True)
class Many:
    """A list, each of the same kind."""

    of: Kind
    least: int = 0

    def words(self) -> str:
        return f"a list of which each is {self.of.words()}"

    def check(self, value: Any, where: str, problem: Problem) -> list[Any]:
        if not isinstance(value, list) or not self.least <= len(value) <= MOST:
            raise problem.value(where, value, self.words())
        return [self.of.check(one, f"{where}[{at}]", problem) for at, one in enumerate(value, 1)]


@dataclass(frozen=True, slots=True)
class Named:
    """A table whose keys are names of the user's own, each value of the same kind."""

    of: Kind
    least: int = 1

    def words(self) -> str:
        return f"a table of names, each with {self.of.words()}"

    def check(self, value: Any, where: str, problem: Problem) -> dict[str, Any]:
        if not isinstance(value, dict) or not self.least <= len(value) <= MOST:
            raise problem.value(where, value, self.words())
        return {name: self.of.check(one, f"{where}.{name}", problem) for name, one in value.items()}


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a scenario.

    default   what holds where it is left out; REQUIRED; or None
    constant  name of the constant (see constants.py) that is its default
    """

    name: str
    kind: Kind
    text: str
    unit: str = ""
    default: Any = REQUIRED
    constant: str | None = None


@dataclass(frozen=True, slots=True)
class Spec:
    """The keys of a scenario, or of a table in it; `tables` of them are lists of tables ([[user]])."""

    keys: tuple[Key, ...]

    def words(self) -> str:
        return "a table with " + ", ".join(key.name for key in self.keys)

    def check(self, value: Any, where: str, problem: Problem) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise problem.value(where, value, self.words())
        before = f"{where}." if where else ""
        known = {key.name for key in self.keys}
        if not value.keys() <= known:
            name = next(name for name in value if name not in known)
            raise problem.unknown(before + name, name, known)
        found: dict[str, Any] = {}
        for key in self.keys:
            name = key.name
            if name in value:
                found[name] = key.kind.check(value[name], before + name, problem)
            elif key.constant is not None:
                assumed = constant(key.constant)
                problem.assumed.setdefault(key.constant, assumed.assumed())
                found[name] = assumed.default
            elif isinstance(key.default, _Required):
                raise problem.missing(before + name, key)
            else:
                found[name] = key.default
        return found


Kind = Number | NumberOr | Integer | Flag | Text | Choice | Many | Named | Spec

#: What every scenario may say beside what its model understands.
_COMMON = (
    Key("model", Text(), "the model it is for", default=None),
    Key("title", Text(), "what it is, for the heading of the answer", default=None),
)


@dataclass(slots=True)
class Problem:
    """Makes the errors of one file, and keeps what had to be assumed."""

    file: str | None
    assumed: dict[str, Assumption] = field(default_factory=dict)

    def value(self, where: str, value: Any, allowed: str) -> ScenarioError:
        return ScenarioError(
            f"{where or 'the scenario'} is {_shown(value)}",
            file=self.file,
            expected=allowed,
            cure=f"change {where}" if where else "write key = value",
        )

    def unknown(self, where: str, name: str, known: Iterable[str]) -> ScenarioError:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, 1)
        cure = f"did you mean {near[0]}?" if near else "leave it out"
        return ScenarioError(
            f"{where} is not known here", file=self.file, expected=f"one of {', '.join(names)}", cure=cure
        )

    def missing(self, where: str, key: Key) -> ScenarioError:
        return ScenarioError(
            f"{where} is missing: {key.text}",
            file=self.file,
            expected=key.kind.words(),
            cure=f"add {key.name}",
        )

    def wrong(self, what: str, cure: str, expected: str | None = None) -> ScenarioError:
        """Keys that are each right, but not together."""
        return ScenarioError(what, file=self.file, expected=expected, cure=cure)


@dataclass(slots=True)
class Scenario:
    """A checked scenario: every key of the model is there."""

    values: dict[str, Any]
    problem: Problem

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @property
    def title(self) -> str | None:
        title: str | None = self.values["title"]
        return title

    def assume(self, name: str) -> None:
        """The answer rests on a constant that is no key of the scenario."""
        self.problem.assumed.setdefault(name, constant(name).assumed())

    def unused(self, name: str) -> None:
        """The default of a key made no difference to the answer."""
        self.problem.assumed.pop(name, None)

    @property
    def assumptions(self) -> list[Assumption]:
        """What the scenario did not say and is not settled."""
        return list(self.problem.assumed.values())


def checked(spec: Spec, values: Mapping[str, Any], *, file: str | None = None) -> Scenario:
    """A scenario from what stands in TOML; ScenarioError with the key, the value and what is allowed."""
    problem = Problem(file)
    whole = Spec((*_COMMON, *spec.keys))
    return Scenario(whole.check(dict(values), "", problem), problem)


def described(spec: Spec, indent: str = "") -> Iterator[str]:
    """The keys of a scenario, a line each, as TOML would have them."""
    for key in spec.keys if indent else (*_COMMON, *spec.keys):
        kind = key.kind
        unit = f", {key.unit}" if key.unit else ""
        if isinstance(key.default, _Required) and key.constant is None:
            begin = "must be there"
        elif key.constant is not None:
            begin = f"if left out {constant(key.constant).default}, which is assumed"
        else:
            begin = "may be left out" if key.default is None else f"if left out {key.default}"
        inner = kind.of if isinstance(kind, Many | Named) else kind
        words = (
            ("[[...]]" if isinstance(kind, Many) else "[...]") if isinstance(inner, Spec) else kind.words()
        )
        yield f"{indent}{key.name}: {key.text}; {words}{unit}; {begin}\n"
        if isinstance(inner, Spec):
            yield from described(inner, indent + "    ")


def read(path: str) -> dict[str, Any]:
    """What stands in a scenario file; ScenarioError where it cannot be read or is no TOML."""
    cure = "write it like the example that zlens solve MODEL --example prints"
    try:
        text = user_files.decoded(user_files.content(path, LONGEST, "scenario", cure), path, cure)
        return user_files.toml(text, path, cure)
    except InputError as error:
        raise ScenarioError(
            error.message, file=error.file, offset=error.offset, expected=error.expected, cure=error.cure
        ) from None


def changed(values: dict[str, Any], setting: str) -> dict[str, Any]:
    """The scenario with one value changed: `processors.CP=8`, `user.LINUX1.demand=50`, `user.2.demand=50`."""
    path, equals, text = setting.partition("=")
    if not equals or not path.strip():
        raise ScenarioError(
            f"{setting} sets nothing", expected="KEY=VALUE", cure="write user.LINUX1.demand=50"
        )
    return put(values, path.strip(), _value(text.strip()))


def put(values: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of the scenario with another value at a path; tables of a list go by name or from 1."""
    first, _, rest = path.partition(".")
    if not rest:
        return {**values, first: value}
    inner = values.get(first, {})
    if isinstance(inner, list):
        which, _, rest = rest.partition(".")
        at = _place(inner, which, path)
        entry = put(inner[at], rest, value) if rest else value
        return {**values, first: [*inner[:at], entry, *inner[at + 1 :]]}
    if not isinstance(inner, dict):
        raise ScenarioError(f"{first} of {path} is no table", cure="name a key of the scenario")
    return {**values, first: put(inner, rest, value)}


def _place(entries: list[Any], which: str, path: str) -> int:
    for at, entry in enumerate(entries):
        if isinstance(entry, dict) and entry.get("name") == which:
            return at
    if which.isdigit() and 1 <= int(which) <= len(entries):
        return int(which) - 1
    names = [entry["name"] for entry in entries if isinstance(entry, dict) and "name" in entry]
    raise ScenarioError(
        f"{which} of {path} is not there", expected=f"1 to {len(entries)}, or one of {', '.join(names[:20])}"
    )


def _value(text: str) -> Any:
    """A value as TOML has it; a bare word is text."""
    try:
        return toml.parse(f"value = {text}")["value"]
    except toml.TOMLDecodeError:
        return text


def values_of(sweep: str) -> Iterator[float | int]:
    """The values of `start:stop` or `start:stop:step`, both ends included; whole numbers stay whole."""
    parts = sweep.split(":")
    try:
        start, stop, step = ([float(part) for part in parts] + [1.0])[:3]
    except ValueError:
        raise ScenarioError(f"{sweep} is no range", expected="START:STOP or START:STOP:STEP") from None
    count = (stop - start) / step if step else math.inf
    if len(parts) not in (2, 3) or not 0 <= count <= MOST:
        raise ScenarioError(
            f"{sweep} is no range that ends",
            expected="START:STOP or START:STOP:STEP",
            cure="write 1:80 or 0:1:0.1",
        )
    for at in range(math.floor(count + 1e-9) + 1):
        value = start + at * step
        yield int(value) if value == int(value) and "." not in sweep else value


def _shown(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value)
    if isinstance(value, dict):
        text = "a table"
    elif isinstance(value, list):
        text = f"a list of {len(value):,}"
    return text if len(text) <= 60 else text[:57] + "..."
