"""Keys of scenarios and files of the rig: facts/keys has a file for each model, with their tables.

Tables are named by file and table: `shares.user`. The table `scenario` has the keys of the scenario itself.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, cast

from msgspec import Meta, field

from zlens.catalog import aggregation, processor_types, writer_plans
from zlens.models.partitions import prsm, zvm_limits
from zlens.models.scenario_errors import SimulationSpec
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable
from zlens.schema.validators import (
    REQUIRED,
    Boolean,
    Choice,
    EntryName,
    FixedTuple,
    Integer,
    Key,
    ListOf,
    MapOf,
    Number,
    NumberOr,
    OneOf,
    Prose,
    Scalar,
    SingleLine,
    Spec,
    Text,
    Timestamp,
    Unchecked,
    Validator,
)

#: Words of choices that other facts list.
_WORDS: Mapping[str, Callable[[], tuple[str, ...]]] = {
    "processor types": processor_types.modeled_types,
    "types of CPU pools": processor_types.cpu_pool_types,
    "releases of z/VM": zvm_limits.releases,
    "modes of partitions": zvm_limits.modes,
    "levels of multithreading": lambda: zvm_limits.SMT,
    "rules of integer entitlement": lambda: prsm.INTEGER_RULES,
    "releases of records": lambda: writer_plans.RELEASES,
    "statistics": lambda: tuple(aggregation.STATISTICS),
}
#: Kinds without limits.
_PLAIN: Mapping[str, Callable[[], Validator]] = {
    "any": Unchecked,
    "boolean": Boolean,
    "prose": Prose,
    "scalar": Scalar,
    "time": Timestamp,
}
_Limit = int | float | None


class KeyKind(FactTable, frozen=True, kw_only=True):
    """The values that a key allows."""

    type: Annotated[
        Literal[
            "any", "boolean", "choice", "either", "entry", "integer", "line", "list", "map", "number",
            "prose", "scalar", "table", "text", "time", "tuple",
        ],
        Meta(description="the type of its value"),
    ] = "line"  # fmt: skip
    min: Annotated[_Limit, Meta(description="the least value, length or number of entries")] = None
    above: Annotated[_Limit, Meta(description="the limit that a number must exceed")] = None
    max: Annotated[_Limit, Meta(description="the largest value, length or number of entries")] = None
    word: Annotated[str, Meta(description="a word allowed instead of a number")] = ""
    of: Annotated[
        "str | tuple[str | KeyKind, ...] | KeyKind",
        Meta(description="words of a choice, table of an entry, or what a list, map or tuple consists of"),
    ] = ""
    what: Annotated[str, Meta(description="a tuple in words")] = ""


class KeyFacts(KeyKind, frozen=True, kw_only=True):
    """A key of a scenario: one without default or constant is required."""

    text: Annotated[str, Meta(description="what it is")] = ""
    unit: Annotated[str, Meta(description="its unit")] = ""
    default: Annotated[Any, Meta(description="its value if it is left out")] = None
    optional: Annotated[bool, Meta(description="whether it may be left out without a default")] = False
    constant: Annotated[str | None, Meta(description="constant that is its default")] = None
    target: Annotated[
        str | tuple[str, ...], Meta(description="fields of the simulator that it sets (see validators.Key)")
    ] = ""
    base: Annotated[str, Meta(description="another key that it is: shares.user.pool")] = ""


class KeyTable(FactTable, frozen=True):
    """A table of a scenario."""

    keys: Annotated[dict[str, KeyFacts], Meta(description="its keys, in order")] = field(default_factory=dict)
    base: Annotated[
        str | tuple[str, ...], Meta(description="tables whose other keys it has, before its own")
    ] = ()
    simulated: Annotated[bool, Meta(description="whether only a simulation uses it")] = False


class KeyFile(FactTable, frozen=True):
    """Keys of the scenarios of a model."""

    tables: dict[str, KeyTable]


@cache
def _file(name: str) -> KeyFile:
    return structs.load(FACTS / "keys" / f"{name}.toml", KeyFile)


@cache
def key_table(name: str) -> Spec:
    """Return a table of keys by file and name. Only code and facts name one, so an unknown one is a bug."""
    file, _, table_name = name.partition(".")
    table = _file(file).tables[table_name]
    bases = (table.base,) if isinstance(table.base, str) else table.base
    own = [_key(file, key_name, facts) for key_name, facts in table.keys.items()]
    inherited = (key for base in bases for key in key_table(base).keys if key.name not in table.keys)
    keys = (*inherited, *own)
    return (SimulationSpec if table.simulated else Spec)(keys)


def _key(file: str, name: str, facts: KeyFacts) -> Key:
    if facts.base:
        table, _, key = facts.base.rpartition(".")
        return key_table(table).by_name[key]
    default = REQUIRED if facts.default is None and not facts.optional else facts.default
    return Key(name, _kind(file, facts), facts.text, facts.unit, default, facts.constant, facts.target)


def _kind(file: str, facts: str | KeyKind) -> Validator:
    """Return the validator of a kind, or of a table: of the same file, or with the name of another."""
    if isinstance(facts, str):
        return key_table(facts if "." in facts else f"{file}.{facts}")

    def limits(low: str, high: str) -> dict[str, Any]:
        least = facts.min if facts.above is None else facts.above
        return {name: limit for name, limit in ((low, least), (high, facts.max)) if limit is not None}

    parts = facts.of if isinstance(facts.of, tuple) else (facts.of,)
    match facts.type:
        case "number":
            number = Number(**limits("low", "high"), above=facts.above is not None)
            return NumberOr(number, facts.word) if facts.word else number
        case "integer":
            return Integer(**limits("low", "high"))
        case "line" | "text":
            return (SingleLine if facts.type == "line" else Text)(**limits("least", "longest"))
        case "choice":
            return Choice(_WORDS[facts.of]() if isinstance(facts.of, str) else cast(tuple[str, ...], parts))
        case "entry":
            return EntryName(table=str(facts.of))
        case "list" | "map":
            kind = ListOf if facts.type == "list" else MapOf
            return kind(_kind(file, parts[0]), **limits("least", "most"))
        case "tuple":
            return FixedTuple(tuple(_kind(file, part) for part in parts), facts.what)
        case "either":
            return OneOf(*(_kind(file, part) for part in parts))
        case "table":
            return _kind(file, parts[0])
    return _PLAIN[facts.type]()
