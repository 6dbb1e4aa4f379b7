"""SQL of a role's rows in the intervals that the options select, from rows of its raw tables."""

from __future__ import annotations

from collections.abc import Iterable

from zlens.catalog import expressions
from zlens.catalog.roles import IMPOSSIBLE, Entity, Role
from zlens.compiler.role_bounds import SUSPECT, any_beyond, beyond, possible, worded
from zlens.compiler.role_origin import BEGAN, BROKEN, INTERVAL, SAMPLED, RoleQuery, since_column

#: Leading columns of the rows of a state that lasts from `tod` on.
LASTING_HEAD = (("system", "text"), ("source", "text"), ("tod", "time"))
#: Whether a subject began within the interval.
_FRESH = '"#fresh"'
#: Columns of intervals that flags of rows need, and columns that summed rows need too.
_OF_FLAGS = ("flag", "gap_end", "seconds")
_OF_BUCKETS = ("bucket_end", "bucket_flag", "longest")


def _of_interval(name: str) -> str:
    return expressions.quote(f"#{name}")


class ValueSql:
    """SQL of values of rows `r` in their intervals; `rows` returns both.

    since         cumulative counters of subjects that may have begun in the interval
    long          roles that are long formulas, and not finite yet
    bounds        roles with a limit: values beyond it are withheld
    names_broken  whether a column names the rows of groups beyond a limit
    """

    def __init__(
        self,
        since: list[Role],
        long: list[Role],
        bounds: list[Role],
        result: RoleQuery,
        *,
        lasting: bool,
        names_broken: bool,
    ) -> None:
        self.names_broken = names_broken
        self.since = since
        self.long = long
        self.bounds = bounds
        if (since or bounds) and not lasting:
            result.read("_interval", ("seconds",))

    def rows(self, union: str, columns: Iterable[str]) -> str:
        """Return SQL of the rows with columns of their intervals, for a FROM clause."""
        joined = f"({union}) AS r JOIN _interval AS i USING ({', '.join(INTERVAL)})"
        if not self.since and not self.long:
            return joined
        # Expressions that all of these values depend on are computed once, in a separate layer.
        interval_columns = ", ".join(f"i.{name} AS {_of_interval(name)}" for name in columns)
        bounded = [(self.plain(role), expressions.quote(role.name)) for role in self.long]
        replaced = [f"{expressions.finite_sql(value)} AS {name}" for value, name in bounded]
        if not self.since:
            return f"(SELECT r.* REPLACE ({', '.join(replaced)}), {interval_columns} FROM {joined}) AS r"
        values = [f"epoch(r.{SAMPLED} - r.{BEGAN})", *(f"r.{since_column(role)}" for role in self.since)]
        names = ["seconds", *(expressions.quote(role.name) for role in self.since)]
        replaced += [
            f"CASE WHEN r.{_FRESH} THEN {value} ELSE r.{name} END AS {name}"
            for value, name in zip(values, names, strict=True)
        ]
        began_sql = f"r.{BEGAN} > i.interval_end - to_seconds(i.seconds) AS {_FRESH}"
        inner = f"SELECT r.*, {interval_columns}, {began_sql} FROM {joined}"
        return f"(SELECT r.* REPLACE ({', '.join(replaced)}) FROM ({inner}) AS r) AS r"

    def hidden(self, columns: Iterable[str]) -> list[str]:
        """Return the columns of `rows` that belong to no role, with these columns of intervals."""
        names = [BROKEN] if self.names_broken else []
        if self.since:
            names += [BEGAN, SAMPLED, *map(since_column, self.since), _FRESH]
        if self.since or self.long:
            names += map(_of_interval, columns)
        return names

    def of_interval(self, name: str) -> str:
        """Return a column of the interval of a row."""
        return f"r.{_of_interval(name)}" if self.since or self.long else f"i.{name}"

    def __getitem__(self, role: Role) -> str:
        if role.name == IMPOSSIBLE:
            texts = [*map(self._impossible, self.bounds), *([f"r.{BROKEN}"] if self.names_broken else [])]
            return f"nullif(concat_ws(', ', {', '.join(texts)}), '')" if texts else "NULL::VARCHAR"
        value = self.plain(role)
        return possible(value, self._limit(role)) if role in self.bounds else value

    @staticmethod
    def plain(role: Role) -> str:
        return f"r.{expressions.quote(role.name)}"

    def is_suspect_sql(self) -> str:
        """Return whether any value of a row may be impossible, or NULL."""
        suspect = any_beyond((self.plain(role), self._limit(role)) for role in self.bounds)
        return f"{suspect} OR r.{BROKEN}" if self.names_broken else suspect

    def _impossible(self, role: Role) -> str:
        """Return an impossible value with its name and unit, as text; else NULL."""
        value, limit = self.plain(role), self._limit(role)
        return f"CASE WHEN {beyond(value, limit)} THEN {worded(role, value, limit)} END"

    def _limit(self, role: Role) -> str | None:
        return expressions.compile_raw(role.within, self._limited_by, "float") if role.within else None

    def _limited_by(self, name: str) -> str:
        if name == "seconds":
            return f"coalesce(r.seconds, {self.of_interval('seconds')})"
        return f"r.{expressions.quote(name)}"


def select_rows(
    roles: list[Role], recorded: list[Role], union: str, result: RoleQuery, values: ValueSql
) -> str:
    """Return the rows in the intervals that the options select (table `_interval`).

    `recorded` are the roles in the rows of `union`, in their order.
    """
    result.read("_interval", (*INTERVAL, *_OF_FLAGS))
    changed = {
        "seconds": f"coalesce(r.seconds, {values.of_interval('seconds')})",
        "flag": _flag(values),
        **{expressions.quote(role.name): values[role] for role in values.bounds},
    }
    rows = values.rows(union, _OF_FLAGS)
    if roles == recorded:
        # A list of all columns would take long to parse.
        hidden = values.hidden(_OF_FLAGS)
        excluded = f" EXCLUDE ({', '.join(hidden)})" if hidden else ""
        replaced = ", ".join(f"{sql} AS {name}" for name, sql in changed.items())
        return f"SELECT r.*{excluded} REPLACE ({replaced}) FROM {rows}"
    selected = "".join(f", {values[role]} AS {expressions.quote(role.name)}" for role in roles)
    return (
        "SELECT r.system, r.source, r.interval_end, "
        f"{changed['seconds']} AS seconds, {changed['flag']} AS flag{selected} FROM {rows}"
    )


def lasting_rows(roles: list[Role], union: str, values: ValueSql) -> str:
    """Return the rows of states without impossible values; they belong to no interval."""
    leading = ", ".join(f"r.{name}" for name, _ in LASTING_HEAD)
    selected = "".join(f", {values[role]} AS {expressions.quote(role.name)}" for role in roles)
    return f"SELECT {leading}{selected} FROM ({union}) AS r"


def suspect_rows(union: str, values: ValueSql, *, lasting: bool) -> str:
    """Return of each row whether any of its values may be impossible."""
    rows = f"({union}) AS r" if lasting else values.rows(union, ("seconds",))
    return f"SELECT {values.is_suspect_sql()} AS {expressions.quote(SUSPECT)} FROM {rows}"


def _flag(values: ValueSql) -> str:
    """Return SQL of a row's flag: a row has a gap only if nothing was recorded for a part of it."""
    flag, gap_end, seconds = map(values.of_interval, _OF_FLAGS)
    # Subjects are sampled in sequence.
    begins = f"r.interval_end - to_seconds(r.seconds) + to_seconds(coalesce({seconds}, 0) / 2)"
    # Most rows have no flag of their own, and arithmetic of times is slow.
    kept = f"CASE WHEN r.flag IS NULL THEN NULL WHEN r.flag <> 'gap' OR {begins} < {gap_end} THEN r.flag END"
    return f"coalesce({kept}, {flag})"


def sum_rows(role_entity: Entity, roles: list[Role], union: str, result: RoleQuery, values: ValueSql) -> str:
    """Return the rows summed over the buckets of --every, counters and elapsed time.

    Excluded, with their elapsed time, are flagged rows (short intervals, gaps), rows whose counters were
    reset, and records with intervals of their own that are longer than a bucket. A sum with an unknown part
    is unknown.
    """
    result.read("_interval", (*INTERVAL, *_OF_BUCKETS, *_OF_FLAGS))
    bucket_end, bucket_flag, max_length = map(values.of_interval, _OF_BUCKETS)
    selected: list[str] = []
    for role in roles:
        column = values[role]
        if role.name in role_entity.key:
            sql = column
        elif role.aggregate == "sum":
            sql = expressions.total_sql(column)
        elif role.aggregate == "mean":
            sql = f"avg({column})"
        else:
            sql = f"arg_max({column}, r.interval_end)"
        selected.append(f", {sql} AS {expressions.quote(role.name)}")
    keys = "".join(f", r.{expressions.quote(key)}" for key in role_entity.key)
    return (
        f"SELECT r.system, r.source, {bucket_end} AS interval_end, sum(r.seconds) AS seconds, "
        f"any_value({bucket_flag}) AS flag{''.join(selected)} FROM "
        f"{values.rows(union, (*_OF_BUCKETS, *_OF_FLAGS))} "
        f"WHERE r.seconds IS NOT NULL AND {_flag(values)} IS NULL AND r.seconds < {max_length} "
        f"GROUP BY r.system, r.source, {bucket_end}{keys}"
    )
