"""Validators for TOML, JSON and options.

A validator describes the allowed values in words and as a JSON Schema, parses a value from the text of an
option, and checks values. `DocumentErrors` builds the errors: file and line or key, value, allowed values and
cure.
"""

from __future__ import annotations

import datetime as dt
import difflib
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Protocol

from msgspec import Struct

from zlens.errors import CatalogError, ZlensError
from zlens.schema.plain_text import replace_controls
from zlens.schema.toml import line_of

#: The largest integer that JavaScript represents exactly.
EXACT = 2**53
#: Maximum number of entries in a list or table.
MOST = 100_000
_LARGEST = 2**63 - 1
#: Half of a surrogate pair, which is not a character.
_SURROGATE = re.compile("[\ud800-\udfff]")


class _RequiredMarker:
    """Marks a missing default."""


REQUIRED: Final = _RequiredMarker()


class Validator(Protocol):
    """Interface of a validator."""

    def describe(self) -> str:
        """Return the allowed values, as errors word them after `expected`."""

    def schema(self) -> dict[str, Any]:
        """Return the allowed values as a JSON Schema."""

    def parse(self, text: str) -> Any:
        """Parse a value from the text of an option; returns invalid text unchanged, for `check` to reject."""

    def check(self, value: Any, where: str, problem: DocumentErrors) -> Any:
        """Return the value in the representation that code uses; raises an error of `problem`."""


class DocumentErrors(Struct):
    """Builds the errors of one document.

    file       its path, or None
    error      class of the errors
    root       name of the document
    text       its TOML, for line numbers
    cure       the cure for all errors; None: each has its own
    json       whether it is JSON, where null counts as missing and 3.0 is an integer
    """

    file: str | None = None
    error: type[ZlensError] = CatalogError
    root: str = "the file"
    text: str | None = None
    cure: str | None = None
    json: bool = False

    def value(self, where: str, value: Any, expected: str) -> ZlensError:
        """Return the error of a value that is not allowed."""
        cure = f"change {where}" if where else "write key = value"
        return self.general_error(f"{where or self.root} is {format_value(value)}", cure, expected, where)

    def unknown(self, where: str, name: str, known: Iterable[str]) -> ZlensError:
        """Return the error of an unknown key."""
        names = sorted(known)
        near = difflib.get_close_matches(name, names, 1)
        cure = f"did you mean {near[0]}?" if near else "leave it out"
        message = f"{replace_controls(where[:200], '?')} is not known here"
        return self.general_error(message, cure, f"one of {', '.join(names)}", where)

    def missing(self, where: str, key: Key) -> ZlensError:
        """Return the error of a missing required key."""
        text = f": {key.text}" if key.text else ""
        return self.general_error(f"{where} is missing{text}", f"add {key.name}", key.kind.describe(), where)

    def general_error(
        self, what: str, cure: str | None = None, expected: str | None = None, where: str = ""
    ) -> ZlensError:
        """Return any other error, such as keys that exclude each other."""
        return self.error(what, file=self.place(where), expected=expected, cure=self.cure or cure)

    def constant(self, name: str) -> Any:
        """Return the value of a constant that is a key's default."""
        raise LookupError(name)

    def place(self, where: str = "") -> str | None:
        """Return the file, with the line of a key or of its nearest parent."""
        line = line_of(self.text, where) if self.text is not None and where else None
        return self.file if line is None else f"{self.file}:{line}"


class _Unparsed(Struct, frozen=True):
    """A kind that leaves the text of an option to `check`."""

    def parse(self, text: str) -> Any:
        return text


class Text(_Unparsed, frozen=True):
    """Any text, possibly of several lines; `form` is the pattern that it must match, `what` its name."""

    longest: int = 100_000
    least: int = 0
    form: re.Pattern[str] | None = None
    what: str = ""

    def describe(self) -> str:
        return self.what or f"a text of up to {self.longest:,} characters"

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": self.least, "maxLength": self.longest}

    def check(self, value: Any, where: str, problem: DocumentErrors) -> str:
        is_text = isinstance(value, str) and self.least <= len(value) <= self.longest and _is_text(value)
        if not is_text or (self.form is not None and not self.form.fullmatch(value)):
            raise problem.value(where, value, self.describe())
        return str(value)


class Prose(_Unparsed, frozen=True):
    """Text, possibly of several lines; surrounding spaces are removed."""

    def describe(self) -> str:
        return "a text"

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}

    def check(self, value: Any, where: str, problem: DocumentErrors) -> str:
        if not isinstance(value, str) or not value.strip() or not _is_text(value):
            raise problem.value(where, value, self.describe())
        return value.strip()


class SingleLine(_Unparsed, frozen=True):
    """A printable word or line."""

    longest: int = 1000
    least: int = 1

    def describe(self) -> str:
        return "a text in quotes" if self.longest == 1000 else f"a text of up to {self.longest:,} characters"

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": self.least, "maxLength": self.longest}

    def check(self, value: Any, where: str, problem: DocumentErrors) -> str:
        is_text = isinstance(value, str) and self.least <= len(value) <= self.longest
        if not is_text or not value.isprintable():
            raise problem.value(where, value, self.describe())
        return str(value)


class EntryName(SingleLine, frozen=True, kw_only=True):
    """The name of an entry of a table."""

    table: str


class Choice(_Unparsed, frozen=True):
    """One of some words."""

    of: tuple[str, ...]

    def describe(self) -> str:
        return "one of " + ", ".join(f'"{word}"' for word in self.of)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": [*self.of]}

    def check(self, value: Any, where: str, problem: DocumentErrors) -> str:
        # TOML reads 7.4 without quotes as a number.
        if str(value) not in self.of:
            raise problem.value(where, value, self.describe())
        return str(value)


class Integer(Struct, frozen=True):
    """An integer from low to high."""

    low: int = -_LARGEST
    high: int = _LARGEST

    def describe(self) -> str:
        if self.low == -_LARGEST:
            return "an integer" + ("" if self.high == _LARGEST else f" to {self.high:,}")
        to = " up" if self.high == _LARGEST else f" to {self.high:,}"
        return f"an integer from {self.low:,}{to}"

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def parse(self, text: str) -> Any:
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text

    def check(self, value: Any, where: str, problem: DocumentErrors) -> int:
        if problem.json and isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise problem.value(where, value, self.describe())
        return value


#: Range of the absolute value of numbers other than 0.
SMALLEST, LARGEST = 1e-12, 1e15


class Number(Struct, frozen=True):
    """A number from low to high; above: excluding low.

    The absolute value is limited too, because computations at the ends of the double range overflow.
    """

    low: float = -math.inf
    high: float = math.inf
    above: bool = False

    def describe(self) -> str:
        if self.above:
            return f"a number above {self.low:g}" + ("" if self.high == math.inf else f", to {self.high:g}")
        if self.low == -math.inf:
            return "a number" + ("" if self.high == math.inf else f" to {self.high:g}")
        return f"a number from {self.low:g}" + (" up" if self.high == math.inf else f" to {self.high:g}")

    def schema(self) -> dict[str, Any]:
        bounds = {("exclusiveMinimum" if self.above else "minimum"): self.low, "maximum": self.high}
        return {"type": "number", **{name: bound for name, bound in bounds.items() if math.isfinite(bound)}}

    def parse(self, text: str) -> Any:
        try:
            number = float(text)
        except ValueError:
            return text
        return number if math.isfinite(number) else text

    def check(self, value: Any, where: str, problem: DocumentErrors) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise problem.value(where, value, self.describe())
        # An integer may be beyond the range of floats.
        is_finite = abs(value) <= sys.float_info.max
        if not (is_finite and self.low <= value <= self.high) or (self.above and value == self.low):
            raise problem.value(where, value, self.describe())
        if value and not SMALLEST <= abs(value) <= LARGEST:
            detail = f"{self.describe()}; except 0, between {SMALLEST:g} and {LARGEST:g} in size"
            raise problem.value(where, value, detail)
        return float(value)


class NumberOr(Struct, frozen=True):
    """A number, or a word such as NOLIMIT that represents its absence."""

    of: Number
    word: str

    def describe(self) -> str:
        return f'{self.of.describe()}, or "{self.word}"'

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.of.schema(), {"const": self.word}]}

    def parse(self, text: str) -> Any:
        return text if text == self.word else self.of.parse(text)

    def check(self, value: Any, where: str, problem: DocumentErrors) -> float | str:
        if value == self.word:
            return self.word
        if isinstance(value, str):
            raise problem.value(where, value, self.describe())
        return self.of.check(value, where, problem)


class Boolean(Struct, frozen=True):
    """true or false."""

    def describe(self) -> str:
        return "true or false"

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def parse(self, text: str) -> Any:
        return {"true": True, "1": True, "false": False, "0": False}.get(text, text)

    def check(self, value: Any, where: str, problem: DocumentErrors) -> bool:
        if not isinstance(value, bool):
            raise problem.value(where, value, self.describe())
        return value


class Scalar(_Unparsed, frozen=True):
    """A value of a column: text, number, true, false or null."""

    def describe(self) -> str:
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

    def check(self, value: Any, where: str, problem: DocumentErrors) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return Text(1000).check(value, where, problem)
        if isinstance(value, int | float) and -EXACT <= value <= EXACT:
            return value
        raise problem.value(where, value, self.describe())


class Unchecked(_Unparsed, frozen=True):
    """Any JSON or TOML value; the reader checks it."""

    def describe(self) -> str:
        return "anything"

    def schema(self) -> dict[str, Any]:
        return {}

    def check(self, value: Any, where: str, problem: DocumentErrors) -> Any:
        return value


class Timestamp(Struct, frozen=True):
    """A time: seconds since 1970 (UTC), or text in the format of --from."""

    def describe(self) -> str:
        return "seconds since 1970, or something like 2026-03-02T09:15:00Z"

    def schema(self) -> dict[str, Any]:
        return {
            "anyOf": [
                {"type": "number", "minimum": -1e10, "maximum": 1e11},
                {"type": "string", "minLength": 1, "maxLength": 40},
            ]
        }

    def parse(self, text: str) -> Any:
        return Number().parse(text)

    def check(self, value: Any, where: str, problem: DocumentErrors) -> Any:
        # TOML has times without quotation marks.
        if isinstance(value, dt.datetime):
            value = value.isoformat()
        if isinstance(value, str):
            return Text(40, 1).check(value, where, problem)
        return Number(-1e10, 1e11).check(value, where, problem)


class ListOf(Struct, frozen=True):
    """A list of values of the same kind; in a URL a repeated parameter, or values separated by commas.

    into   the type of the result
    """

    of: Validator
    least: int = 0
    most: int = MOST
    into: Callable[[list[Any]], Any] = list

    def describe(self) -> str:
        count = "" if self.most >= MOST else f" of up to {self.most:,}"
        return f"a list{count}, each {self.of.describe()}"

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.of.schema(), "minItems": self.least, "maxItems": self.most}

    def parse(self, text: str) -> Any:
        return [self.of.parse(part) for part in text.split(",")] if text else []

    def check(self, value: Any, where: str, problem: DocumentErrors) -> Any:
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            raise problem.value(where, value, self.describe())
        return self.into(_check_entries([self.of] * len(value), value, where, problem))


class FixedTuple(_Unparsed, frozen=True):
    """A list with a validator for each index."""

    of: tuple[Validator, ...]
    what: str

    def describe(self) -> str:
        return self.what

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "prefixItems": [kind.schema() for kind in self.of], "items": False}

    def check(self, value: Any, where: str, problem: DocumentErrors) -> Any:
        if not isinstance(value, list) or len(value) != len(self.of):
            raise problem.value(where, value, self.describe())
        return tuple(_check_entries(self.of, value, where, problem))


def _check_entries(
    kinds: Sequence[Validator], entries: list[Any], where: str, problem: DocumentErrors
) -> list[Any]:
    places = [*zip(kinds, entries, strict=True)]
    try:
        # Most lists are valid, and building the names of entries costs more than checking them.
        return [kind.check(entry, where, problem) for kind, entry in places]
    except ZlensError:
        pass
    return [kind.check(entry, f"{where}[{at}]", problem) for at, (kind, entry) in enumerate(places, 1)]


class MapOf(_Unparsed, frozen=True):
    """A table with user-defined names as keys and values of the same kind."""

    of: Validator
    least: int = 1
    most: int = MOST

    def describe(self) -> str:
        count = "names" if self.most >= MOST else f"up to {self.most:,} names"
        return f"a table of {count}, each with {self.of.describe()}"

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.of.schema(), "maxProperties": self.most}

    def check(self, value: Any, where: str, problem: DocumentErrors) -> dict[str, Any]:
        if not isinstance(value, dict) or not self.least <= len(value) <= self.most:
            raise problem.value(where, value, self.describe())
        before = f"{where}." if where else ""
        name = Text(1000)
        subject = f"a name in {where or problem.root}"
        return {
            name.check(key, subject, problem): self.of.check(entry, before + key, problem)
            for key, entry in value.items()
        }


class OneOf(Struct, frozen=True):
    """One of two validators: the first that accepts the value."""

    first: Validator
    second: Validator

    def describe(self) -> str:
        return f"{self.first.describe()}, or {self.second.describe()}"

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.first.schema(), self.second.schema()]}

    def parse(self, text: str) -> Any:
        return self.first.parse(text)

    def check(self, value: Any, where: str, problem: DocumentErrors) -> Any:
        try:
            # Without the text, so that no line is searched for.
            return self.first.check(value, where, DocumentErrors(json=problem.json))
        except ZlensError:
            return self.second.check(value, where, problem)


class Key(Struct, frozen=True):
    """One key of a table, or one parameter of a query.

    default   value if the key is missing; REQUIRED; or None
    constant  name of the constant that is its default (see DocumentErrors.constant)
    target    path of the simulator's field that it sets, or several; from / on from the root, otherwise in
              the structure of its table; "": the field is named after key and unit; (): it sets none
    """

    name: str
    kind: Validator
    text: str = ""
    unit: str = ""
    default: Any = REQUIRED
    constant: str | None = None
    target: str | tuple[str, ...] = ""

    @property
    def is_required(self) -> bool:
        return isinstance(self.default, _RequiredMarker) and self.constant is None


class Spec(_Unparsed, frozen=True, dict=True, eq=False):
    """A table or JSON object with known keys; equal only to itself, so that caches have it as a key.

    into   function that converts its values, by name
    """

    keys: tuple[Key, ...]
    into: Callable[..., Any] = dict

    @cached_property
    def by_name(self) -> Mapping[str, Key]:
        return {key.name: key for key in self.keys}

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        return {key.name: key.default for key in self.keys}

    @cached_property
    def required(self) -> frozenset[str]:
        return frozenset(key.name for key in self.keys if key.default is REQUIRED)

    def describe(self) -> str:
        return "a table with " + ", ".join(key.name for key in self.keys)

    def schema(self) -> dict[str, Any]:
        needed = [key.name for key in self.keys if key.is_required]
        properties = {}
        for key in self.keys:
            schema = key.kind.schema()
            if not key.is_required:
                schema = {"anyOf": [schema, {"type": "null"}]}
            properties[key.name] = {"description": key.text, **schema}
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": needed} if needed else {})

    def check(self, value: Any, where: str, problem: DocumentErrors) -> Any:
        if not isinstance(value, Mapping):
            raise problem.value(where, value, self.describe())
        before = f"{where}." if where else ""
        values = dict(self.defaults)
        for name, entry in value.items():
            key = self.by_name.get(name)
            if key is None:
                raise problem.unknown(before + name, name, self.by_name)
            if entry is not None or not problem.json:
                values[name] = key.kind.check(entry, before + name, problem)
        if problem.json or not self.required <= value.keys():
            for name in [name for name, entry in values.items() if entry is REQUIRED]:
                key = self.by_name[name]
                if key.constant is None:
                    raise problem.missing(before + name, key)
                values[name] = problem.constant(key.constant)
        return self.into(**values)


def _is_text(value: str) -> bool:
    return "\0" not in value and (value.isascii() or not _SURROGATE.search(value))


def format_value(value: Any) -> str:
    """Format a value for an error: short and printable."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, bool):
        return str(value).lower()
    text = "null" if value is None else f'"{value}"' if isinstance(value, str) else str(value)
    return replace_controls(text if len(text) <= 60 else text[:57] + "...", "?")
