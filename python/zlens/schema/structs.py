"""Files of facts as structs: a `FactTable` declares the keys of a table: types, defaults, ranges and help.

msgspec converts the values. If that fails, this module searches for the first invalid key, for an error with
file and line. `Meta` of a type has the help of a key as its description and the allowed values as its title.
"""

import re
import threading
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import GenericAlias, UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields

from zlens.errors import ZlensError
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.validators import Choice, DocumentErrors, Integer, Number

T = TypeVar("T")
#: msgspec collects the fields of a struct at its first conversion; two threads that do so at once crash.
_CONVERTING = threading.RLock()
#: Control characters, without the ends of lines and tabs.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
#: What a TOML text contains if one of its values has a control character: that character, or an escape.
_CONTROL_IN_TOML = re.compile(rf"{_CONTROL.pattern}|\\[befuxU]")
Prose = Annotated[str, Meta(pattern=r"\S", title="a text")]
#: Values of columns.
Int64 = Annotated[int, Meta(ge=1 - 2**63, le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Real = Annotated[float, Meta(ge=-1e15, le=1e15, title="a number")]
Text = Annotated[str, Meta(max_length=100_000, title="a text of up to 100,000 characters")]


def doc(text: str) -> Meta:
    """Return the annotation of a key with its help."""
    return Meta(description=text)


class FactTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a file of facts.

    Its module does not postpone annotations: msgspec would compile the text of each when a command reads such
    a file.
    """


class SourcedTable(FactTable, frozen=True, kw_only=True):
    """A table that states its source."""

    source: Annotated[str, doc("where it is from")]
    status: Annotated[str, doc("how well it is known")]


class FactFile(FactTable, frozen=True):
    """The contents of one file, with its path in the folder of facts."""

    path: ClassVar[str]

    @classmethod
    @cache
    def load(cls) -> Self:
        """Return the contents, read once; CatalogError with the line of an invalid key."""
        return load(FACTS / cls.path, cls)


class NamedFacts(FactTable, frozen=True):
    """Each table of one file, with the path of the file in the folder of facts."""

    path: ClassVar[str]

    @classmethod
    @cache
    def by_name(cls) -> dict[str, Self]:
        """Return the tables of the file, read once; CatalogError with the line of an invalid key."""
        tables: dict[str, Self] = load(FACTS / cls.path, GenericAlias(dict, (str, cls)))  # type: ignore[arg-type]
        return tables


def one_of(words: Iterable[str], description: str | None = None) -> Meta:
    """Return the annotation of a text that is one of some words, which code lists with what they mean."""
    choice = Choice(tuple(words))
    pattern = f"^({'|'.join(choice.of)})$"
    return Meta(
        pattern=pattern,
        title=choice.describe(),
        description=description,
        extra_json_schema={"enum": [*choice.of]},
    )


def load(path: Path, table: type[T], root: str = "the file") -> T:
    """Return the contents of a file of facts; CatalogError with the line of an invalid key."""
    return parse(document.text_of(path), str(path), table, root)


def parse(text: str, file: str, table: type[T], root: str = "the file", *, printed: bool = False) -> T:
    """Return the contents of a text of facts; `printed`: its texts must not act on a terminal."""
    values, problem = document.parse_toml(text, file), DocumentErrors(file, root=root, text=text)
    if printed:
        refuse_controls(text, values, problem)
    return convert(values, table, problem)


def convert(values: Mapping[str, Any], table: type[T], problem: DocumentErrors) -> T:
    """Convert the values of a parsed text to a struct."""
    try:
        with _CONVERTING:
            return msgspec.convert(values, table, str_keys=True, dec_hook=_compile)
    except msgspec.ValidationError as error:
        raise find_error(values, table, "", problem) or problem.general_error(str(error)) from None


def attributes(value: object, *names: str) -> dict[str, Any]:
    """Return some attributes of an object by name, in this order."""
    return {name: getattr(value, name) for name in names}


def refuse_controls(text: str, values: Mapping[str, Any], problem: DocumentErrors) -> None:
    """Raise CatalogError if a value of a text has control characters, which change a terminal."""
    if _CONTROL_IN_TOML.search(text):
        _refuse_controls(values, problem)


def _refuse_controls(values: Any, problem: DocumentErrors, location: str = "") -> None:
    if isinstance(values, str) and _CONTROL.search(values):
        raise problem.value(location, values, "a text without control characters")
    if isinstance(values, dict):
        for name, value in values.items():
            _refuse_controls(name, problem, location)
            _refuse_controls(value, problem, f"{location}.{name}" if location else name)
    elif isinstance(values, list):
        for number, value in enumerate(values, 1):
            _refuse_controls(value, problem, f"{location}[{number}]")


def json_schema(table: type) -> dict[str, Any]:
    """Return the JSON Schema of a file."""
    return msgspec.json.schema(table, schema_hook=lambda kind: {"type": "string", "format": "regex"})


def _compile(kind: Any, text: Any) -> Any:
    """Return the value of a type unknown to msgspec: a regular expression."""
    try:
        return re.compile(text)
    except (TypeError, re.error) as error:
        raise ValueError(str(error)) from None


def describe(kind: Any) -> str:
    """Return the values that a type allows, as errors word them after `expected`."""
    kind, meta = _plain(kind)
    title = next((one.title for one in meta if one.title), None)
    if title is not None:
        return title
    inner = get_args(kind)
    match get_origin(kind) or kind:
        case origin if origin in (Union, UnionType):
            return ", or ".join(describe(one) for one in inner)
        case origin if origin is Literal:
            return "one of " + ", ".join(f'"{one}"' if isinstance(one, str) else str(one) for one in inner)
        case origin if origin is dict:
            return f"a table of names, each with {describe(inner[1])}"
        case origin if origin is tuple and inner[1] is not ...:
            return "a list of " + ", ".join(map(describe, inner))
        case origin if origin in (tuple, list, frozenset):
            return f"a list, each {describe(inner[0])}"
        case origin if issubclass(origin, Struct):
            names = ", ".join(one.encode_name for one in fields(origin))
            return names if origin.__struct_config__.array_like else f"a table with {names}"
        case origin if origin is re.Pattern:
            return "a regular expression"
        case origin if origin is bool:
            return "true or false"
        case origin if origin is int:
            return Integer(*_bounds(meta, Integer())).describe()
        case origin if origin is float:
            return Number(*_bounds(meta, Number()), any(one.gt is not None for one in meta)).describe()
    return "a text"


def _bounds(meta: tuple[Meta, ...], kind: Integer | Number) -> tuple[Any, Any]:
    """Return the minimum and maximum that annotations allow."""
    low = [limit for one in meta for limit in (one.ge, one.gt) if limit is not None]
    high = [one.le for one in meta if one.le is not None]
    return max(low, default=kind.low), min(high, default=kind.high)


def _plain(kind: Any) -> tuple[Any, tuple[Meta, ...]]:
    """Return a type without annotations and without None, which TOML does not have, and its annotations."""
    meta: tuple[Meta, ...] = ()
    while True:
        if get_origin(kind) is Annotated:
            kind, *more = get_args(kind)
            meta += tuple(more)
            continue
        others = [one for one in get_args(kind) if one is not type(None)]
        if get_origin(kind) not in (Union, UnionType) or len(others) > 1:
            return kind, meta
        kind = others[0]


def _reason(value: Any, kind: Any) -> msgspec.ValidationError | None:
    """Return the error of a value that does not fit a type; None if it fits."""
    try:
        with _CONVERTING:
            msgspec.convert(value, kind, str_keys=True, dec_hook=_compile)
    except msgspec.ValidationError as error:
        return error
    return None


def find_error(value: Any, kind: Any, location: str, problem: DocumentErrors) -> ZlensError | None:
    """Return the error of the first part of a value that does not fit its type; None if it fits."""
    reason = _reason(value, kind)
    if reason is None:
        return None
    plain, _ = _plain(kind)
    inner = get_args(plain)
    prefix = f"{location}." if location else ""
    parts: list[tuple[str, Any, Any]] = []
    is_list = get_origin(plain) in (tuple, list, frozenset)
    table = plain if isinstance(plain, type) and issubclass(plain, Struct) else None
    if table is not None and table.__struct_config__.array_like:
        is_list, inner = True, tuple(one.type for one in fields(table))
    if table is not None and isinstance(value, dict):
        known = {one.encode_name: one for one in fields(table)}
        value = {name: entry for name, entry in value.items() if entry is not None or not problem.json}
        for name in value:
            if name not in known:
                return problem.unknown(prefix + name, name, known)
        for name, field in known.items():
            if field.required and name not in value:
                return missing_error(table, name, location, problem)
        parts = [(prefix + name, entry, known[name].type) for name, entry in value.items()]
    elif get_origin(plain) is dict and isinstance(value, dict):
        for name in value:
            if _reason({name: None}, GenericAlias(dict, (inner[0], Any))):
                where = f"a name in {location or problem.root}" if problem.json else prefix + name
                return problem.value(where, name, describe(inner[0]))
        parts = [(prefix + name, entry, inner[1]) for name, entry in value.items()]
    elif is_list and isinstance(value, list):
        kinds = inner if inner[1:] and inner[1] is not ... else (inner[0],) * len(value)
        if len(kinds) == len(value):
            parts = [
                (f"{location}[{number}]", *part)
                for number, part in enumerate(zip(value, kinds, strict=True), 1)
            ]
    errors = (find_error(entry, entry_kind, path, problem) for path, entry, entry_kind in parts)
    first_error = next((error for error in errors if error is not None), None)
    if first_error is None and parts and reason.__cause__ is not None:
        # The table itself rejects values that fit its keys.
        return problem.general_error(f"{location or problem.root}: {reason.__cause__}", where=location)
    return first_error or problem.value(location, value, describe(kind))


def missing_error(table: type[Struct], name: str, location: str, problem: DocumentErrors) -> ZlensError:
    """Return the error of a table at a location that lacks a key."""
    kind = next(one.type for one in fields(table) if one.encode_name == name)
    _, meta = _plain(kind)
    text = next((f": {one.description}" for one in meta if one.description), "")
    where = f"{location}.{name}" if location else name
    return problem.general_error(f"{where} is missing{text}", f"add {name}", describe(kind), where)
