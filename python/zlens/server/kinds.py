"""Kinds of parameters: what is allowed, how it is said, and how it stands in the OpenAPI document."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zlens.errors import QueryError

#: What no text may hold: half of a pair of code units, which is no character, and NUL.
_NO_TEXT = re.compile("[\ud800-\udfff\x00]")
#: Whole numbers that JavaScript holds exactly.
EXACT = 2**53


class WrongParameterError(QueryError):
    """A parameter of a question is wrong."""


def _wrong(where: str, value: Any, expected: str) -> WrongParameterError:
    shown = repr(value)
    return WrongParameterError(
        f"{where or 'the question'} is {shown if len(shown) <= 60 else shown[:57] + '...'}", expected=expected
    )


@dataclass(frozen=True, slots=True)
class Text:
    longest: int = 200
    least: int = 0
    of: tuple[str, ...] = ()

    def words(self) -> str:
        return f"one of {', '.join(self.of)}" if self.of else f"a text of up to {self.longest:,} characters"

    def schema(self) -> dict[str, Any]:
        if self.of:
            return {"type": "string", "enum": list(self.of)}
        return {"type": "string", "minLength": self.least, "maxLength": self.longest}

    def check(self, value: Any, where: str) -> Any:
        if not isinstance(value, str) or not self.least <= len(value) <= self.longest:
            raise _wrong(where, value, self.words())
        if (self.of and value not in self.of) or _NO_TEXT.search(value):
            raise _wrong(where, value, self.words())
        return value

    def read(self, text: str) -> Any:
        return text


@dataclass(frozen=True, slots=True)
class Integer:
    low: int
    high: int

    def words(self) -> str:
        return f"a whole number from {self.low:,} to {self.high:,}"

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def check(self, value: Any, where: str) -> Any:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise _wrong(where, value, self.words())
        return value

    def read(self, text: str) -> Any:
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text


@dataclass(frozen=True, slots=True)
class Number:
    low: float
    high: float

    def words(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.low, "maximum": self.high}

    def check(self, value: Any, where: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _wrong(where, value, self.words())
        if not self.low <= value <= self.high:
            raise _wrong(where, value, self.words())
        return float(value)

    def read(self, text: str) -> Any:
        try:
            number = float(text)
        except ValueError:
            return text
        return number if math.isfinite(number) else text


@dataclass(frozen=True, slots=True)
class Flag:
    def words(self) -> str:
        return "true or false"

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def check(self, value: Any, where: str) -> Any:
        if not isinstance(value, bool):
            raise _wrong(where, value, self.words())
        return value

    def read(self, text: str) -> Any:
        return {"true": True, "1": True, "false": False, "0": False}.get(text, text)


@dataclass(frozen=True, slots=True)
class Anything:
    """A value of a column: a text, a number, true or false, or null."""

    def words(self) -> str:
        return "a text, a number, true, false or null"

    def schema(self) -> dict[str, Any]:
        return {
            "anyOf": [
                {"type": "string", "maxLength": 1000},
                {"type": "number", "minimum": -EXACT, "maximum": EXACT},
                {"type": "boolean"},
                {"type": "null"},
            ]
        }

    def check(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return Text(1000).check(value, where)
        if isinstance(value, int | float) and -EXACT <= value <= EXACT:
            return value
        raise _wrong(where, value, self.words())

    def read(self, text: str) -> Any:
        return text


@dataclass(frozen=True, slots=True)
class Moment:
    """A time: seconds since 1970 (UTC), or as --from takes it."""

    def words(self) -> str:
        return "seconds since 1970, or something like 2026-03-02T09:15:00Z"

    def schema(self) -> dict[str, Any]:
        return {
            "anyOf": [
                {"type": "number", "minimum": -1e10, "maximum": 1e11},
                {"type": "string", "minLength": 1, "maxLength": 40},
            ]
        }

    def check(self, value: Any, where: str) -> Any:
        if isinstance(value, str):
            return Text(40, 1).check(value, where)
        return Number(-1e10, 1e11).check(value, where)

    def read(self, text: str) -> Any:
        return Number(0, 0).read(text)


@dataclass(frozen=True, slots=True)
class Many:
    """A list; in an address the parameter repeated, or its values with commas between them."""

    of: Kind
    most: int
    least: int = 0

    def words(self) -> str:
        return f"a list of up to {self.most:,}, each {self.of.words()}"

    def schema(self) -> dict[str, Any]:
        return {
            "type": "array",
            "items": self.of.schema(),
            "minItems": self.least,
            "maxItems": self.most,
        }

    def check(self, value: Any, where: str) -> Any:
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            raise _wrong(where, value, self.words())
        return [self.of.check(one, f"{where}[{at}]") for at, one in enumerate(value, 1)]

    def read(self, text: str) -> Any:
        return [self.of.read(one) for one in text.split(",")] if text else []


@dataclass(frozen=True, slots=True)
class Named:
    """An object whose names are the user's own."""

    of: Kind
    most: int

    def words(self) -> str:
        return f"an object of up to {self.most:,} names, each with {self.of.words()}"

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.of.schema(), "maxProperties": self.most}

    def check(self, value: Any, where: str) -> Any:
        if not isinstance(value, dict) or len(value) > self.most:
            raise _wrong(where, value, self.words())
        return {
            Text(200).check(name, f"a name in {where}"): self.of.check(one, f"{where}.{name}")
            for name, one in value.items()
        }

    def read(self, text: str) -> Any:
        return text


@dataclass(frozen=True, slots=True)
class Either:
    """One of two kinds: the first that it fits."""

    first: Kind
    second: Kind

    def words(self) -> str:
        return f"{self.first.words()}, or {self.second.words()}"

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.first.schema(), self.second.schema()]}

    def check(self, value: Any, where: str) -> Any:
        try:
            return self.first.check(value, where)
        except WrongParameterError:
            return self.second.check(value, where)

    def read(self, text: str) -> Any:
        return self.first.read(text)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; where it may be left out, `default` stands in. null counts as left out."""

    name: str
    kind: Kind
    text: str
    needed: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class Record:
    """An object of known names."""

    parameters: tuple[Parameter, ...]

    def words(self) -> str:
        return f"an object with {', '.join(one.name for one in self.parameters)}"

    def schema(self) -> dict[str, Any]:
        needed = [one.name for one in self.parameters if one.needed]
        properties = {}
        for one in self.parameters:
            schema = one.kind.schema()
            if not one.needed:
                schema = {"anyOf": [schema, {"type": "null"}]}
            properties[one.name] = {"description": one.text, **schema}
        found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        return found | ({"required": needed} if needed else {})

    def check(self, value: Any, where: str) -> Any:
        if not isinstance(value, Mapping):
            raise _wrong(where, value, self.words())
        known = {one.name for one in self.parameters}
        for name in value:
            if name not in known:
                raise WrongParameterError(
                    f"{where + '.' if where else ''}{_shown(name)} is not known here",
                    expected=f"one of {', '.join(sorted(known))}",
                )
        found: dict[str, Any] = {}
        for one in self.parameters:
            place = f"{where}.{one.name}" if where else one.name
            given = value.get(one.name)
            if given is None and one.needed:
                raise WrongParameterError(f"{place} is missing: {one.text}", expected=one.kind.words())
            found[one.name] = one.default if given is None else one.kind.check(given, place)
        return found

    def read(self, text: str) -> Any:
        return text


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name[:60])


Kind = Text | Integer | Number | Flag | Anything | Moment | Many | Named | Either | Record
