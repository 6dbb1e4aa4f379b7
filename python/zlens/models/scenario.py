"""Scenarios: TOML files, checked key by key against the spec of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

from msgspec import Struct

from zlens.errors import InputError, ScenarioError, ZlensError
from zlens.models.constants import constant
from zlens.models.scenario_errors import ScenarioErrors
from zlens.rendering.answer import Assumption
from zlens.schema import document, toml, user_files
from zlens.schema.facts import FACTS
from zlens.schema.validators import MOST, Key, ListOf, MapOf, SingleLine, Spec
from zlens.schema.wording import phrase

#: Maximum size of a scenario in bytes: some ten thousand users.
LONGEST = 16_000_000
#: Keys that every scenario may have.
_COMMON = (
    Key("model", SingleLine(), "model that the scenario is for", default=None),
    Key("title", SingleLine(), "heading of the answer", default=None),
)


class ScenarioValues(dict[str, Any]):
    """Contents of a scenario file, with its text, in which errors locate their lines."""

    def __init__(self, values: Mapping[str, Any], text: str) -> None:
        super().__init__(values)
        self.text = text


_Table = TypeVar("_Table", bound=Mapping[str, Any])


class Scenario(Struct):
    """A checked scenario with every key of its model."""

    values: dict[str, Any]
    problem: ScenarioErrors

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @property
    def title(self) -> str | None:
        title: str | None = self.values["title"]
        return title

    @property
    def error(self) -> Callable[..., ZlensError]:
        """Builds the error of keys that contradict each other: message, cure, what is expected."""
        return self.problem.general_error

    def assume(self, name: str) -> None:
        """Record that the answer depends on a constant that is not a key of the scenario."""
        self.problem.assumed.setdefault(name, constant(name).assumed())

    def unused(self, name: str) -> None:
        """Record that the default of a key did not affect the answer."""
        self.problem.assumed.pop(name, None)
        self.problem.moving.pop(name, None)

    @property
    def assumptions(self) -> list[Assumption]:
        """Unsettled values that the scenario leaves out."""
        return list(self.problem.assumed.values())


def check_scenario(
    spec: Spec, values: Mapping[str, Any], *, file: str | None = None, problem: ScenarioErrors | None = None
) -> Scenario:
    """Return a scenario from parsed TOML; raise ScenarioError with the key, its value and what is allowed.

    problem   collector of the scenario that this one is derived from; both share assumptions
    """
    problem = problem or ScenarioErrors(
        file, text=values.text if isinstance(values, ScenarioValues) else None
    )
    complete = Spec((*_COMMON, *spec.keys))
    return Scenario(complete.check(dict(values), "", problem), problem)


def example(name: str) -> str:
    """Return the file to start from of a model or a study."""
    return document.text_of(FACTS / "examples" / f"{name}.toml")


def describe_keys(spec: Spec, indent: str = "") -> Iterator[str]:
    """Yield the keys of a scenario, one line each, nested as in TOML."""
    for key in spec.keys if indent else (*_COMMON, *spec.keys):
        kind = key.kind
        unit = f", {key.unit}" if key.unit else ""
        if key.is_required:
            requirement = "required"
        elif key.constant is not None:
            requirement = f"default {constant(key.constant).default}, an assumption"
        else:
            requirement = "optional" if key.default is None else f"default {key.default}"
        inner = kind.of if isinstance(kind, ListOf | MapOf) else kind
        words = (
            ("[[...]]" if isinstance(kind, ListOf) else "[...]")
            if isinstance(inner, Spec)
            else kind.describe()
        )
        yield f"{indent}{key.name}: {key.text}; {words}{unit}; {requirement}\n"
        if isinstance(inner, Spec):
            yield from describe_keys(inner, indent + "    ")


def read(path: str) -> ScenarioValues:
    """Return the contents of a scenario file; raise ScenarioError if it cannot be read or is not TOML."""
    cure = phrase("scenario_example")
    try:
        text = user_files.read_text(path, LONGEST, "scenario", cure)
        return ScenarioValues(document.parse_toml(text, path, InputError, cure), text)
    except InputError as error:
        raise ScenarioError.of(error) from None


def apply_setting(values: _Table, setting: str) -> _Table:
    """Change one value of a scenario: `processors.CP=8`, `user.LINUX1.demand=50`, `user.2.demand=50`.

    If several entries have a name, `user.LINUX1.IFL.demand=50` selects one by type.
    """
    path, equals, text = setting.partition("=")
    cure = "write user.LINUX1.demand=50"
    if not equals or not path.strip():
        raise ScenarioError(f"{setting} is not a setting", expected="KEY=VALUE", cure=cure)
    if path.count(".") >= toml.DEEPEST:
        raise ScenarioError(f"{path[:40]}... is nested more than {toml.DEEPEST} levels deep", cure=cure)
    return set_value(values, path.strip(), _value(text.strip()))


def apply_settings(values: _Table, settings: Iterable[str]) -> _Table:
    """Return the scenario with the settings, as `apply_setting` does one."""
    for setting in settings:
        values = apply_setting(values, setting)
    return values


def set_value(values: _Table, path: str, value: Any) -> _Table:
    """Return a copy of the scenario with a value changed; a path names list entries or counts from 1."""
    copy: Mapping[str, Any] = _put(values, path, value)
    if isinstance(values, ScenarioValues):
        copy = ScenarioValues(copy, values.text)
    return cast(_Table, copy)


def value_at(values: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path as in `set_value`; None if the scenario does not set it."""
    found: Any = values
    while path:
        first, _, path = path.partition(".")
        if not isinstance(found, Mapping) or first not in found:
            return None
        found = found[first]
        if isinstance(found, list) and path:
            index, path = _find_entry(found, path, path)
            found = found[index]
    return found


def _put(values: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    first, _, rest = path.partition(".")
    if not rest:
        return {**values, first: value}
    inner = values.get(first, {})
    if isinstance(inner, list):
        index, rest = _find_entry(inner, rest, path)
        entry = _put(inner[index], rest, value) if rest else value
        return {**values, first: [*inner[:index], entry, *inner[index + 1 :]]}
    if not isinstance(inner, dict):
        raise ScenarioError(f"{first} of {path} is not a table", cure="name a key of the scenario")
    return {**values, first: _put(inner, rest, value)}


def _find_entry(entries: list[Any], steps: str, path: str) -> tuple[int, str]:
    """Return the index of the named entry, with its type if several have the name, and the other steps."""
    name, _, rest = steps.partition(".")
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in entries]
    matches = [index for index, known in enumerate(names) if known == name]
    if len(matches) == 1:
        return matches[0], rest
    if matches:
        kind, _, remaining = rest.partition(".")
        # Entries without a type are of type CP.
        by_type = {entries[index].get("type", "CP"): index for index in matches}
        if kind not in by_type:
            message = f"{path[:40]} does not select one of {len(matches)} entries named {name[:40]}"
            expected = " or ".join(f"{name[:40]}.{candidate}" for candidate in by_type)
            raise ScenarioError(message, expected=expected)
        return by_type[kind], remaining
    if name.isdecimal() and len(name) < 10 and 1 <= int(name) <= len(entries):
        return int(name) - 1, rest
    expected = "an entry of the scenario, which has no entries here"
    if entries:
        shown = [known for known in names if known is not None][:20]
        expected = ", ".join([*shown, "or 1" + f" to {len(entries)}" * (len(entries) > 1)])
    raise ScenarioError(f"{name[:40]} of {path[:40]} does not exist", expected=expected)


def _value(text: str) -> Any:
    """Return a value parsed as TOML; a bare word is text."""
    try:
        return toml.parse(f"value = {text}")["value"]
    except toml.TomlError:
        return text


def sweep_values(sweep: str) -> Iterator[float | int]:
    """Yield the values of `start:stop` or `start:stop:step`, both ends included; integers stay integers."""
    parts = sweep.split(":")
    try:
        start, stop, step = ([float(part) for part in parts] + [1.0])[:3]
    except ValueError:
        raise ScenarioError(f"{sweep} is not a range", expected="START:STOP or START:STOP:STEP") from None
    count = (stop - start) / step if step else math.inf
    if len(parts) not in (2, 3) or not 0 <= count <= MOST:
        message, cure = f"{sweep} is not a finite range", "write 1:80 or 0:1:0.1"
        raise ScenarioError(message, expected="START:STOP or START:STOP:STEP", cure=cure)
    for index in range(math.floor(count + 1e-9) + 1):
        value = start + index * step
        yield int(value) if value == int(value) and "." not in sweep else value
