"""The user's groups of guests, devices, volumes and partitions: a TOML file of patterns (--group FILE).

    [guest]
    "LNX*" = "linux"
    "VSE??" = "vse"

    [device]
    "2000-20DF" = "PAGING"

    [volume]
    "PAG*" = "PAGING"

    [partition]
    "TEST*" = "test"

    [cluster]
    "ZVM*" = "PROD"

    [member]
    "ZVM2" = 1.25

`*` matches any characters and `?` one, regardless of case; devices may be a range of numbers. The first
matching pattern applies. Subjects that match no pattern, or whose section is missing, are unchanged.
A group row adds its members' rates and amounts and weights their times by rate, by the aggregation that
facts/measures states for each column (catalog/aggregation.py); facts/groups.toml lists the measures that show
groups. With the line `show = "mean"` before the sections, a group row has the mean of the members instead of
their sum, so that it describes an average member.

[cluster] assigns systems to a cluster whose members are shown together, whether or not they record one.
[member] is for members of a cluster, in reports that combine their guests: the seconds that one
second of the member counts as.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args

from msgspec import Struct

from zlens.catalog import aggregation, expressions, measures
from zlens.catalog.roles import SQL_TYPES
from zlens.errors import CatalogError, InputError
from zlens.schema import document, user_files
from zlens.schema.facts import FACTS
from zlens.schema.structs import NamedFacts, doc
from zlens.schema.validators import DocumentErrors

_Kind = Literal["guest", "device", "volume", "partition"]
#: Sections of the user's file.
KINDS: tuple[str, ...] = get_args(_Kind)
#: Aggregates of amounts in a group row.
SHOWN = ("sum", "mean")

#: Section with patterns of systems that are members of a cluster.
CLUSTER = "cluster"
#: Section with the user's factors for members of a cluster.
MEMBER = "member"

_CURE = 'write lines like "LNX*" = "linux" under [guest], [device], [volume], [partition] or [cluster]'
_RANGE = re.compile(r"([0-9A-Fa-f]{1,5})-([0-9A-Fa-f]{1,5})")
_MOST = 2_000
_WIDEST = 32


class Groups(Struct, frozen=True):
    """Patterns and their groups by kind, in the order of precedence.

    factors  seconds that one second of a member of a cluster counts as
    """

    patterns: Mapping[str, tuple[tuple[str, str], ...]] = {}
    mean: bool = False
    factors: Mapping[str, float] = {}


class Grouping(NamedFacts, frozen=True):
    """Groups in one measure."""

    path: ClassVar = "groups.toml"
    match: Annotated[dict[str, _Kind], doc("kinds of patterns by column, first choice first")]
    merge: Annotated[frozenset[str], doc("keys that the row of a group lacks")] = frozenset()


def read(path: str) -> Groups:
    """Return the groups in a file; InputError if it cannot be read or is invalid."""
    return parse(user_files.read_text(path, user_files.HAND_WRITTEN, "file of groups", _CURE), path)


def parse(text: str, path: str) -> Groups:
    """Return the groups in the text of a file."""
    data, problem = document.parse_toml(text, path, InputError, _CURE), DocumentErrors(path, InputError)
    show = data.pop("show", "sum")
    if show not in SHOWN:
        cure = 'write show = "mean", or leave it out'
        raise problem.general_error(f"show = {show!r}", cure, "sum or mean")
    factors = _factors(data.pop(MEMBER, {}), problem)
    patterns: dict[str, tuple[tuple[str, str], ...]] = {}
    for kind, section in data.items():
        if kind not in (*KINDS, CLUSTER) or not isinstance(section, dict):
            listed = ", ".join(f"[{name}]" for name in (*KINDS, CLUSTER))
            raise problem.general_error(f"has {kind!r}", _CURE, listed)
        patterns[kind] = tuple(_pattern(kind, pattern, group, problem) for pattern, group in section.items())
    if sum(map(len, patterns.values())) > _MOST:
        raise problem.general_error(f"has more than {_MOST:,} patterns", "use * and ? in them")
    return Groups(patterns, show == "mean", factors)


def _factors(section: Any, problem: DocumentErrors) -> dict[str, float]:
    cure = f'write lines like "ZVM2" = 1.25 under [{MEMBER}]'
    if not isinstance(section, dict):
        raise problem.general_error(f"has {MEMBER} = {section!r}", cure, f"[{MEMBER}]")
    for member, factor in section.items():
        number = isinstance(factor, int | float) and not isinstance(factor, bool)
        if not number or not 0 < factor < math.inf:
            raise problem.general_error(f"[{MEMBER}] {member!r} is {factor!r}", cure, "a number above 0")
    return {member: float(factor) for member, factor in section.items()}


def _pattern(kind: str, pattern: str, group: Any, problem: DocumentErrors) -> tuple[str, str]:
    entry = f"[{kind}] {pattern!r}"
    if not isinstance(group, str) or not group.strip() or not group.isprintable() or len(group) > _WIDEST:
        expected = f"the name of a group: 1 to {_WIDEST} characters"
        raise problem.general_error(f"{entry} is {group!r}", _CURE, expected)
    if not pattern.strip() or len(pattern) > 4 * _WIDEST:
        raise problem.general_error(f"{entry} is not a pattern", _CURE, "a name with * or ? in it")
    limits = _RANGE.fullmatch(pattern.strip())
    if kind == "device" and "-" in pattern and (limits is None or int(limits[1], 16) > int(limits[2], 16)):
        expected = "two device numbers, the lower first: 2000-20DF"
        raise problem.general_error(f"{entry} is not a range of devices", None, expected)
    return pattern.strip(), group.strip()


def cluster(system: str, groups: Groups | None) -> str | None:
    """Return the user's cluster of a system; None if no pattern matches."""
    for pattern, name in groups.patterns.get(CLUSTER, ()) if groups is not None else ():
        if _regex(pattern).fullmatch(system):
            return name
    return None


def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.IGNORECASE | re.DOTALL)


@cache
def groupings() -> dict[str, Grouping]:
    """Return how measures show groups, by measure; CatalogError if the catalog's file is invalid."""
    for table, grouping in Grouping.by_name().items():
        columns = {column.name for column in measures.load_measure(table).columns}
        if not grouping.match.keys() | grouping.merge <= columns:
            raise CatalogError(f"{table}: match or merge names no column", file=str(FACTS / Grouping.path))
    return Grouping.by_name()


def merges_rows(name: str, groups: Groups | None) -> bool:
    """Return whether the user's groups merge rows of a measure."""
    if groups is None or name not in groupings():
        return False
    return any(groups.patterns.get(kind) for kind in groupings()[name].match.values())


def unmatched(
    groups: Groups, systems: Iterable[str], answer: Callable[[str, str], list[tuple[Any, ...]]]
) -> list[str]:
    """Return the patterns that match nothing, such as `[guest] 'LNX*'`, of kinds that have members.

    `answer` returns the rows of a query of a measure; none if the measure has no data.
    """
    found = [
        f"[{CLUSTER}] {pattern!r}"
        for pattern, _ in groups.patterns.get(CLUSTER, ())
        if not any(_regex(pattern).fullmatch(system) for system in systems)
    ]
    for kind in KINDS:
        if not (patterns := groups.patterns.get(kind)):
            continue
        members, matches = 0, [0] * len(patterns)
        for table, grouping in groupings().items():
            for column in (name for name, matched in grouping.match.items() if matched == kind):
                tests = ", ".join(
                    f"count(*) FILTER (WHERE {_match_sql(column, pattern, kind)})" for pattern, _ in patterns
                )
                for row in answer(table, f"SELECT count({expressions.quote(column)}), {tests} FROM {table}"):
                    members += row[0]
                    matches = [match + more for match, more in zip(matches, row[1:], strict=True)]
        if members:
            found += [
                f"[{kind}] {pattern!r}"
                for (pattern, _), match in zip(patterns, matches, strict=True)
                if not match
            ]
    return found


def sql(name: str, rows: str, groups: Groups | None) -> str:
    """Return the rows of a measure with matching rows merged; the same rows if no pattern applies."""
    if groups is None or name not in groupings():
        return rows
    grouping = groupings()[name]
    patterns_by_column = {
        column: groups.patterns[kind] for column, kind in grouping.match.items() if groups.patterns.get(kind)
    }
    if not patterns_by_column:
        return rows
    table = measures.load_measure(name)
    # The key whose value becomes the group's name.
    keyed = next(column for column in grouping.match if column in table.key)
    kinds = {column: grouping.match[column] for column in patterns_by_column}
    inner = (
        f'SELECT *, ({aggregation.has_differences_sql(table)}) AS "#known", '
        'CASE WHEN "#group" IS NULL THEN row_number() OVER () END AS "#row" '
        f'FROM (SELECT *, {_name_sql(kinds, keyed, groups)} AS "#group" FROM ({rows}))'
    )
    selected, keys = [], ['"#group"', '"#row"']
    for column in table.columns:
        expression, key = _column(grouping, column, keyed, groups.mean)
        if key:
            keys.append(key)
        selected.append(f"CAST({expression} AS {SQL_TYPES[column.type]}) AS {expressions.quote(column.name)}")
    return f"SELECT {', '.join(selected)} FROM ({inner}) GROUP BY {', '.join(keys)}"


def group_name_sql(column: str, kind: str, groups: Groups) -> str:
    """Return SQL of the group of a subject of a kind, by a column with its name; NULL for none."""
    return _name_sql({column: kind}, column, groups) if groups.patterns.get(kind) else "NULL"


def _name_sql(kinds: Mapping[str, str], keyed: str, groups: Groups) -> str:
    """Return SQL of the group of a row, by columns with names of subjects of some kinds."""
    named = [(column, kind, *each) for column, kind in kinds.items() for each in groups.patterns[kind]]
    branches = [
        f"WHEN {_match_sql(column, pattern, kind)} THEN {expressions.literal(group)}"
        for column, kind, pattern, group in named
    ]
    # A member with the group's name belongs to the group: a name means one row.
    listed = ", ".join(map(expressions.literal, sorted({group for *_, group in named})))
    key = expressions.quote(keyed)
    return f"CASE {' '.join(branches)} WHEN {key} IN ({listed}) THEN {key} END"


def _match_sql(column: str, pattern: str, kind: str) -> str:
    value = f"upper({expressions.quote(column)})"
    limits = _RANGE.fullmatch(pattern)
    if kind == "device" and limits:
        low, high = (limit.upper().zfill(4) for limit in limits.groups())
        return f"{value} BETWEEN {expressions.literal(low)} AND {expressions.literal(high)}"
    like = re.sub(r"([\\%_])", r"\\\1", pattern.upper()).replace("*", "%").replace("?", "_")
    return f"{value} LIKE {expressions.literal(like)} ESCAPE '\\'"


def _column(
    grouping: Grouping, column: measures.MeasureColumn, keyed: str, mean: bool
) -> tuple[str, str | None]:
    """Return SQL of a column of the grouped rows, and the expression to group by for it."""
    name = expressions.quote(column.name)
    if column.name == keyed:
        return f'coalesce("#group", any_value({name}))', None
    if column.name == "group_name":
        return '"#group"', None
    if column.name in grouping.merge:
        return _of_one(name, "NULL"), None
    if column.name in ("system", "source", "interval_end") or column.aggregate == "key":
        return name, name
    if column.name == "seconds":
        return _of_one(name, aggregation.together_s()), None
    if column.name == "flag":
        # A short interval or a gap of a single member does not flag the others.
        return "CASE WHEN count(flag) = count(*) THEN max(flag) END", None
    # A member's first sample has no differences: sums include it from the next interval on.
    among = '"#known"' if column.aggregate in aggregation.COUNTED else "true"
    return _of_one(name, aggregation.aggregate_subjects(column, among, average=mean).value), None


def _of_one(name: str, otherwise: str) -> str:
    """Return SQL of the original value for a row of one subject, another expression for groups."""
    return f"CASE WHEN count(*) = 1 THEN any_value({name}) ELSE {otherwise} END"
