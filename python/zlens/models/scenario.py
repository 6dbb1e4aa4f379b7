"""Scenarios: small TOML files, checked key by key against what a model understands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from zlens.errors import InputError, ScenarioError, ZlensError
from zlens.models.answer import Assumption
from zlens.models.constants import constant
from zlens.schema import kinds, toml, user_files
from zlens.schema.kinds import MOST, Key, Line, Many, Named, Spec
from zlens.schema.wording import say

#: Longest scenario that is read: some ten thousand users.
LONGEST = 16_000_000
#: What every scenario may say beside what its model understands.
_COMMON = (
    Key("model", Line(), "the model it is for", default=None),
    Key("title", Line(), "what it is, for the heading of the answer", default=None),
)


@dataclass(slots=True)
class Problem(kinds.Problem):
    """Makes the errors of one scenario, and keeps what had to be assumed."""

    error: type[ZlensError] = ScenarioError
    root: str = "the scenario"
    assumed: dict[str, Assumption] = field(default_factory=dict)

    def constant(self, name: str) -> Any:
        assumption = constant(name)
        self.assumed.setdefault(name, assumption.assumed())
        return assumption.default


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
        if key.needed:
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
    cure = say("scenario_example")
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
