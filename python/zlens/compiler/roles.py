"""SQL of a role's rows: from the fields of the raw tables of an input to the requested roles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog import expressions
from zlens.catalog.layouts import release_key
from zlens.catalog.raw_columns import FIXED
from zlens.catalog.roles import (
    ALL_TIMES_SUFFIX,
    IMPOSSIBLE,
    NO_VALUE,
    SQL_TYPES,
    DetailedTable,
    Entity,
    Role,
    RoleOrigin,
    RoleValue,
    bounded_entities,
    code_words_sql,
    entities,
    entity,
    scale_factor,
    tables_read,
)

#: Leading columns of every role's rows: of an interval, or of a state that lasts from `tod` on.
HEAD = (
    ("system", "text"),
    ("source", "text"),
    ("interval_end", "time"),
    ("seconds", "float"),
    ("flag", "text"),
)
LASTING_HEAD = (("system", "text"), ("source", "text"), ("tod", "time"))
#: Columns that identify a record of a raw table, and so the sections of one record.
_RECORD = ("system", "source", "file", "offset")
#: Columns that join a role's rows with the intervals.
_INTERVAL = ("system", "source", "interval_end")

#: Columns of an origin that records the time since which a subject's counters count.
_BEGAN, _SAMPLED = '"#began"', '"#sampled"'
#: Impossible rows of a group, as text.
_BROKEN = '"#broken"'
#: Whether a subject began within the interval.
_FRESH = '"#fresh"'
#: Minimum length of a formula that gets a query layer of its own.
_LONG = 60
#: Columns of intervals that flags of rows need, and columns that summed rows need too.
_OF_FLAGS = ("flag", "gap_end", "seconds")
_OF_BUCKETS = ("bucket_end", "bucket_flag", "longest")

#: Allowed excess of a value over its limit: a factor, and seconds of short intervals.
_TOLERANCE, _SLACK = "1.02e0", "0.05e0"

Tables = Mapping[str, Collection[str]]
Releases = Mapping[str | None, list[str]]


class RoleQuery(Struct):
    """SQL of rows, and the columns of raw tables that it reads."""

    sql: str = ""
    reads: dict[str, set[str]] = field(default_factory=dict)

    def read(self, table: str, columns: Iterable[str]) -> None:
        self.reads.setdefault(table, set()).update(columns)


def columns(name: str) -> list[tuple[str, str]]:
    """Return names and types of the columns of a role's rows."""
    role_entity = entity(name)
    leading = LASTING_HEAD if role_entity.lasting else HEAD
    return [*leading, *((role.name, role.type) for role in role_entity.roles.values())]


def origins(name: str, tables: Tables) -> list[RoleOrigin]:
    """Return the origins of a role's rows in an input.

    A record without any decoded field provides no role.
    """
    available = (origin for origin in entity(name).origins if origin.table in tables)
    return [origin for origin in available if not set(FIXED).issuperset(tables[origin.table])]


def taken(table: str, columns: Collection[str]) -> tuple[str, set[str]]:
    """Return the condition on a raw table's rows that entities with intervals use, and its columns.

    A condition that depends on joined tables counts as true.
    """
    conditions: list[str] = []
    named_columns: set[str] = set()
    for role_entity in map(entity, entities()):
        for origin in role_entity.origins:
            if origin.table != table or role_entity.lasting:
                continue
            names = {*expressions.names(origin.where)} if origin.where else set()
            if not names or (origin.joins and not names <= {*columns}):
                return "true", set()
            resolve = {name: expressions.quote(name) if name in columns else "NULL" for name in names}
            conditions.append(f"({expressions.compile_sql(origin.where, resolve.__getitem__)})")
            named_columns |= names.intersection(columns)
    return " OR ".join(conditions) or "true", named_columns


def rows(
    name: str, requested: Collection[str], tables: Tables, releases: Releases, *, summed: bool = False
) -> RoleQuery:
    """Return SQL of an entity's rows with the requested roles, in the intervals that the options select.

    tables    columns of each raw table in the input
    releases  systems of each release: fields that apply only before a release are read system by system
    summed    whether counters and elapsed time are summed over the buckets of --every
    """
    role_entity = entity(name)
    roles = [
        role
        for role in role_entity.roles.values()
        if role.name in requested or (summed and role.name in role_entity.key)
    ]
    bounds = _bounds(role_entity, roles)
    shown = roles
    read_by_bounds = {role.name for role in bounds}
    read_by_bounds.update(*(expressions.names(role.within) for role in bounds if role.within))
    roles = [
        role
        for role in role_entity.roles.values()
        if role.name != IMPOSSIBLE and (role in shown or role.name in read_by_bounds)
    ]
    result = RoleQuery()
    parts = []
    known = origins(name, tables)
    # The counters of a subject that began within an interval were counted entirely within it.
    since = [role for role in roles if any(_counts_since(origin, role) for origin in known)]
    long = [] if role_entity.lasting else [role for role in roles if _needs_layer(role, known, since)]
    told = any(role.name == IMPOSSIBLE for role in shown) and any(origin.group for origin in known)
    for origin in known:
        for release, systems in _releases(origin, releases):
            part = _OriginQuery(role_entity, origin, tables, release, result)
            names = {role.name for role in long}
            parts.append(part.select(roles, systems, since, names, told=told))
    union = "\nUNION ALL\n".join(parts) or _no_rows(role_entity, roles)
    values = _ValueSql(since, long, bounds, result, lasting=role_entity.lasting, told=told)
    if role_entity.lasting:
        result.sql = _lasting_rows(shown, union, values) if bounds else union
        return result
    result.sql = (
        _sum_rows(role_entity, shown, union, result, values)
        if summed
        else _select_rows(shown, roles, union, result, values)
    )
    return result


def withheld_rows_sql() -> str:
    """Return SQL of the samples with withheld values: system, source, kind and detail, one row per entity."""
    parts = []
    for name in bounded_entities():
        role_entity = entity(name)
        subject = ", ".join(f"CAST({expressions.quote(key)} AS VARCHAR)" for key in role_entity.key) or "''"
        time = "tod" if role_entity.lasting else "interval_end"
        order = f"({time}, concat_ws('/', {subject}))"
        noun = name.replace("_", " ")
        parts.append(
            f"SELECT system, source, 'impossible' AS kind, "
            f"count(*) || CASE count(*) WHEN 1 THEN ' sample of {noun} has' "
            f"ELSE ' samples of {noun} have' END "
            f"|| ' impossible values, which are left out; the first: {noun} ' "
            f"|| coalesce(arg_min(concat_ws('/', {subject}), {order}), '?') || ', ' "
            f"|| strftime(min({time}), '%Y-%m-%d %H:%M:%S') || ' UTC: ' "
            f"|| arg_min(impossible, {order}) AS detail "
            f"FROM role.{name} WHERE impossible IS NOT NULL GROUP BY system, source"
        )
    return "\nUNION ALL\n".join(parts)


def _bounds(role_entity: Entity, roles: list[Role]) -> list[Role]:
    """Return the requested roles with a limit; all of the entity if its impossible values are requested."""
    requested = role_entity.roles.values() if any(role.name == IMPOSSIBLE for role in roles) else roles
    return [role for role in requested if role.is_bounded]


def _counts_since(origin: RoleOrigin, role: Role) -> bool:
    how = origin.roles.get(role.name, NO_VALUE)
    return origin.began is not None and how.take == "difference"


def _needs_layer(role: Role, known: list[RoleOrigin], since: list[Role]) -> bool:
    """Return whether a layer above the records makes a role finite: it is a long formula in some origin.

    That mentions the formula twice. In every origin, the role must be just a value.
    """
    hows = [how for origin in known if (how := origin.roles.get(role.name))]
    return (
        role.type == "float"
        and role not in since
        and any(len(how.expression) > _LONG for how in hows)
        and not any(how.fallback or how.over for how in hows)
    )


def _releases(origin: RoleOrigin, releases: Releases) -> list[tuple[str | None, list[str] | None]]:
    """Return a release for each way to read an origin, with its systems; None for all systems."""
    hows = [*origin.roles.values(), *(how.fallback for how in origin.roles.values() if how.fallback)]
    limits = {how.before for how in hows if how.before}
    ways: dict[frozenset[str], tuple[str | None, list[str]]] = {}
    for release, systems in releases.items():
        before = frozenset(limit for limit in limits if _is_before(release, limit))
        ways.setdefault(before, (release, []))[1].extend(systems)
    if len(ways) > 1:
        return [(release, [*dict.fromkeys(systems)]) for release, systems in ways.values()]
    return [(next(iter(releases), None), None)]


def _is_before(release: str | None, limit: str) -> bool:
    """Return whether a release is known and precedes another."""
    return () < release_key(release) < release_key(limit)


def _no_rows(role_entity: Entity, roles: list[Role]) -> str:
    leading = LASTING_HEAD if role_entity.lasting else HEAD
    typed = [*leading, *((role.name, role.type) for role in roles)]
    nulls = (f"NULL::{SQL_TYPES[type]} AS {expressions.quote(name)}" for name, type in typed)
    return f"SELECT {', '.join(nulls)} WHERE false"


class _OriginQuery:
    """SQL of an entity's roles from one raw table."""

    def __init__(
        self, role_entity: Entity, origin: RoleOrigin, tables: Tables, release: str | None, result: RoleQuery
    ) -> None:
        self.entity = role_entity
        self.origin = origin
        self.tables = tables
        self.release = release
        self.result = result
        self.own = origin.table + (ALL_TIMES_SUFFIX if role_entity.lasting else "")
        self.joined = [join for join in origin.joins if join.table in tables]
        #: Table that each column is read from: the origin's own, else the first joined one that has it.
        self.place: dict[str, str] = dict.fromkeys(tables[origin.table], origin.table)
        for join in self.joined:
            for name in tables[join.table]:
                self.place.setdefault(name, join.table)
        #: Roles that a layer above makes finite.
        self.long: Collection[str] = ()
        result.read(self.own, ())

    def column(self, name: str) -> str:
        """Return SQL of a column, recorded as read; NULL if no table has it."""
        if name == "seconds" and self.origin.seconds:
            return expressions.compile_sql(self.origin.seconds, self.recorded, "float")
        return self.recorded(name)

    def recorded(self, name: str) -> str:
        table, column = self.found(name)
        return "NULL" if table is None else self.of(table, column)

    def found(self, name: str) -> tuple[str | None, str]:
        """Return the table and column of a name; with a dot, it names the table as well."""
        table, dot, column = name.rpartition(".")
        if dot:
            return (table if column in self.tables.get(table, ()) else None), column
        return self.place.get(name), name

    def of(self, table: str, name: str) -> str:
        if table == self.origin.table:
            self.result.read(self.own, (name,))
            return f"r.{expressions.quote(name)}"
        self.result.read(table + (ALL_TIMES_SUFFIX if self.entity.lasting else ""), (name,))
        return f"{expressions.quote(table)}.{expressions.quote(name)}"

    def select(
        self,
        roles: list[Role],
        systems: list[str] | None,
        since: list[Role],
        long: Collection[str],
        *,
        told: bool,
    ) -> str:
        """Return SQL of the rows; `told`: with a column that names impossible rows of groups."""
        self.long = long
        group = self.origin.group
        if self.entity.lasting:
            leading = [
                f"{self.column('system')} AS system",
                f"{self.column('source')} AS source",
                f"{self.column(self.time())} AS tod",
            ]
        else:
            leading = [f"{self.column(name)} AS {name}" for name in _INTERVAL]
            for name in ("seconds", "flag"):
                sql = self.column(name)
                leading.append(f"max({sql}) AS {name}" if group else f"{sql} AS {name}")
        selected = [f"{self.typed(role)} AS {expressions.quote(role.name)}" for role in roles]
        if told:
            selected.append(f"{self.broken_rows(roles)} AS {_BROKEN}")
        if since:
            began = self.origin.began
            times = (self.column(began.lower()), self.column("tod")) if began else ("NULL", "NULL")
            for name, sql in zip((_BEGAN, _SAMPLED), times, strict=True):
                selected.append(f"{expressions.cast(sql, SQL_TYPES['time'])} AS {name}")
            for role in since:
                how = self.origin.roles.get(role.name, NO_VALUE) if began else NO_VALUE
                sql = self.first(replace(how, take="value"), role.type)
                selected.append(f"{expressions.cast(sql, SQL_TYPES[role.type])} AS {_since_column(role)}")
        conditions = []
        if self.origin.where:
            # A column missing from an input is NULL here too.
            conditions.append(expressions.compile_sql(self.origin.where, self.column))
        if systems is not None:
            listed = ", ".join(map(expressions.literal, systems))
            conditions.append(f"{self.column('system')} IN ({listed})")
        conditions += [
            self.detailed_condition(each) for each in self.origin.unless if each.table in self.tables
        ]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        grouped = f" GROUP BY {', '.join(self.keys())}" if group else ""
        joins = self.joins()
        source = f"{expressions.quote(self.own)} AS r{joins}"
        return f"SELECT {', '.join([*leading, *selected])} FROM {source}{where}{grouped}"

    def time(self) -> str:
        """Return the column with the time from which a state lasts."""
        return self.origin.time or ("tod" if "tod" in self.place else "interval_end")

    def detailed_condition(self, detailed: DetailedTable) -> str:
        """Return the condition that a table has no row of the same subject within the time of a row here."""
        table, subject = detailed.table + ALL_TIMES_SUFFIX, ("system", *detailed.same)
        self.result.read(table, (*subject, "interval_end"))
        end, seconds = self.recorded("interval_end"), self.recorded("seconds")
        # An interval that ends as another one begins is not within it.
        before_us = f"epoch_us({end}) - epoch_us(detailed.interval_end)"
        conditions = [
            *(f"detailed.{expressions.quote(name)} = {self.recorded(name)}" for name in subject),
            f"{before_us} >= 0",
            f"{before_us} < greatest(coalesce({seconds}, 0) * 1000000, 1)",
        ]
        rows = f"SELECT 1 FROM {expressions.quote(table)} AS detailed WHERE {' AND '.join(conditions)}"
        return f"NOT EXISTS ({rows})"

    def keys(self) -> list[str]:
        """Return the columns that a group's rows share: its roles without an aggregate, requested or not."""
        roles = self.entity.roles.values()
        keys = [role for role in roles if not self.origin.roles.get(role.name, NO_VALUE).over]
        sql = [self.role(role) for role in keys if self.origin.roles.get(role.name, NO_VALUE).value is None]
        shared = ("system", "source", self.time()) if self.entity.lasting else _INTERVAL
        return list(dict.fromkeys([*map(self.column, shared), *(key for key in sql if key != "NULL")]))

    def joins(self) -> str:
        """Return the joins of sections of the same record, by the record and the catalog's condition."""
        joins = []
        joined_tables = [self.origin.table]
        for join in self.joined:
            joined_tables.append(join.table)
            alias = expressions.quote(join.table)
            keys = ("system", "source", *join.same) if join.same else _RECORD
            same = [f"{self.of(join.table, key)} = {self.of(self.origin.table, key)}" for key in keys]
            condition = " AND ".join(
                [*same, expressions.compile_sql(join.on, self.named_among(joined_tables))]
            )
            table = expressions.quote(join.table + (ALL_TIMES_SUFFIX if self.entity.lasting else ""))
            joins.append(f" LEFT JOIN {table} AS {alias} ON {condition}")
        return "".join(joins)

    def named_among(self, tables_so_far: list[str]) -> Callable[[str], str]:
        """Return the resolver of columns in a join condition: by the named table, else the first with the
        column.
        """

        def resolve(name: str) -> str:
            table, dot, column = name.rpartition(".")
            candidates = [table] if dot else tables_so_far
            owner = next(
                (candidate for candidate in candidates if column in self.tables.get(candidate, ())), None
            )
            return self.of(owner, column) if owner else "NULL"

        return resolve

    def typed(self, role: Role) -> str:
        """Return SQL of one role in its type."""
        sql = self.role(role)
        how = self.origin.roles.get(role.name, NO_VALUE)
        if sql != "NULL" and role.type == "float" and how.scale and not (how.fallback or how.over):
            return sql
        return expressions.cast(sql, SQL_TYPES[role.type])

    def role(self, role: Role) -> str:
        """Return SQL of one role; NULL if this table does not provide it."""
        how = self.origin.roles.get(role.name, NO_VALUE)
        over = how.over
        if over == "count":
            return "count(*)"
        if role.name in self.long and how.expression:
            return self.expression(how.expression, role.type, bounded=False)
        sql = self.first(how, role.type)
        if not over or sql == "NULL":
            return sql
        value_sql = expressions.total_sql(sql) if over == "sum" else f"{over}({sql})"
        broken = self.row_broken(role, sql)
        return (
            value_sql
            if broken is None
            else f"CASE WHEN NOT coalesce(bool_or({broken}), false) THEN {value_sql} END"
        )

    def row_broken(self, role: Role, value: str) -> str | None:
        """Return whether one row of a group is impossible whatever the sum is: bounds apply to each row."""
        return _beyond(value, self.row_limit(role)) if role.is_bounded else None

    def row_limit(self, role: Role) -> str | None:
        """Return SQL of the limit of a role in one row of a group."""
        within = self.origin.roles[role.name].each or role.within
        return expressions.compile_raw(within, self.of_row, "float") if within else None

    def broken_rows(self, roles: list[Role]) -> str:
        """Return the impossible values of a group's rows, the minimum of each role as text; else NULL."""
        texts = []
        for role in roles:
            how = self.origin.roles.get(role.name, NO_VALUE)
            sql = self.first(how, role.type) if how.over not in (None, "count") else "NULL"
            broken = self.row_broken(role, sql) if sql != "NULL" else None
            if broken is not None:
                text = _worded(role, sql, self.row_limit(role))
                texts.append(f"min(CASE WHEN {broken} THEN {text} END)")
        return f"nullif(concat_ws(', ', {', '.join(texts)}), '')" if texts else "NULL::VARCHAR"

    def of_row(self, name: str) -> str:
        """Return SQL of a name in a limit, for one row of a group: a count of rows is 1."""
        if name == "seconds":
            return self.column(name)
        how = self.origin.roles.get(name, NO_VALUE)
        return "1" if how.over == "count" else self.first(how, self.entity.roles[name].type)

    def first(self, how: RoleValue, type: str) -> str:
        sql = self.rule_sql(how, type)
        fallback = self.first(how.fallback, type) if how.fallback else "NULL"
        if "NULL" in (sql, fallback):
            return fallback if sql == "NULL" else sql
        return f"coalesce({sql}, {fallback})"

    def expression(self, formula: str, type: str, *, bounded: bool) -> str:
        if any(self.found(name)[0] is None and name != "seconds" for name in expressions.names(formula)):
            return "NULL"
        compile = expressions.compile_sql if bounded else expressions.compile_raw
        return compile(formula, self.column, type)

    def rule_sql(self, how: RoleValue, type: str) -> str:
        if how.before and not _is_before(self.release, how.before):
            return "NULL"
        if how.value is not None:
            return expressions.literal(how.value) if isinstance(how.value, str) else repr(how.value)
        if how.expression:
            return self.expression(how.expression, type, bounded=True)
        for name in how.fields:
            column = name.lower() + how.suffix
            if column in self.place:
                break
        else:
            return "NULL"
        sql = self.column(column)
        if how.take == "bits":
            sql = f"bit_count(CAST({sql} AS BIGINT))"
        if how.part:
            sql = f"split_part({sql}, '/', {how.part})"
        if how.base:
            prefix = "'0x' || " if how.base == 16 else ""
            sql = f"TRY_CAST({prefix}{sql} AS BIGINT)"
        if how.digits:
            sql = f"lpad(hex({sql}), {how.digits}, '0')"
        if how.codes:
            sql = code_words_sql(sql, how.codes)
        if how.scale:
            # An exponent makes it a DOUBLE: a DECIMAL constant could overflow.
            sql = f"{expressions.cast(sql, 'DOUBLE')} * {scale_factor(how.scale):.17e}"
        return sql


def _since_column(role: Role) -> str:
    """Return the name of the column with the cumulative counter of a role that is a difference."""
    return expressions.quote(f"{role.name}#since")


def _of_interval(name: str) -> str:
    return expressions.quote(f"#{name}")


def _beyond(value: str, limit: str | None) -> str:
    """Return whether a value is negative or exceeds its limit; a limit that is not finite is not exceeded."""
    return f"{value} < 0" + (f" OR {value} > {_TOLERANCE} * ({limit}) + {_SLACK}" if limit else "")


def _worded(role: Role, value: str, limit: str | None) -> str:
    """Return SQL of a text: a role's value, its limit, and the unit."""
    name, unit = (expressions.literal(text) for text in (f"{role.name} ", f" {role.unit}".rstrip()))
    number = "format('{{:.6g}}', CAST({} AS DOUBLE))"
    text = f"{name} || {number.format(value)}"
    if limit is not None:
        # A negative value is impossible whatever the limit, which may be unknown.
        text += f" || coalesce(' of ' || {number.format(limit)}, '')"
    return f"{text} || {unit}"


class _ValueSql:
    """SQL of values of rows `r` in their intervals; `rows` returns both.

    since   cumulative counters of subjects that may have begun in the interval
    long    roles that are long formulas, and not finite yet
    bounds  roles with a limit: values beyond it are withheld
    told    whether a column names the rows of groups beyond a limit
    """

    def __init__(
        self,
        since: list[Role],
        long: list[Role],
        bounds: list[Role],
        result: RoleQuery,
        *,
        lasting: bool,
        told: bool,
    ) -> None:
        self.told = told
        self.since = since
        self.long = long
        self.bounds = bounds
        if (since or bounds) and not lasting:
            result.read("_interval", ("seconds",))

    def rows(self, union: str, columns: Iterable[str]) -> str:
        """Return SQL of the rows with columns of their intervals, for a FROM clause."""
        joined = f"({union}) AS r JOIN _interval AS i USING ({', '.join(_INTERVAL)})"
        if not self.since and not self.long:
            return joined
        # Expressions that all of these values depend on are computed once, in a separate layer.
        interval_columns = ", ".join(f"i.{name} AS {_of_interval(name)}" for name in columns)
        bounded = [(self.plain(role), expressions.quote(role.name)) for role in self.long]
        replaced = [f"{expressions.finite_sql(value)} AS {name}" for value, name in bounded]
        if not self.since:
            return f"(SELECT r.* REPLACE ({', '.join(replaced)}), {interval_columns} FROM {joined}) AS r"
        values = [f"epoch(r.{_SAMPLED} - r.{_BEGAN})", *(f"r.{_since_column(role)}" for role in self.since)]
        names = ["seconds", *(expressions.quote(role.name) for role in self.since)]
        replaced += [
            f"CASE WHEN r.{_FRESH} THEN {value} ELSE r.{name} END AS {name}"
            for value, name in zip(values, names, strict=True)
        ]
        began_sql = f"r.{_BEGAN} > i.interval_end - to_seconds(i.seconds) AS {_FRESH}"
        inner = f"SELECT r.*, {interval_columns}, {began_sql} FROM {joined}"
        return f"(SELECT r.* REPLACE ({', '.join(replaced)}) FROM ({inner}) AS r) AS r"

    def hidden(self, columns: Iterable[str]) -> list[str]:
        """Return the columns of `rows` that belong to no role, with these columns of intervals."""
        names = [_BROKEN] if self.told else []
        if self.since:
            names += [_BEGAN, _SAMPLED, *map(_since_column, self.since), _FRESH]
        if self.since or self.long:
            names += map(_of_interval, columns)
        return names

    def of_interval(self, name: str) -> str:
        """Return a column of the interval of a row."""
        return f"r.{_of_interval(name)}" if self.since or self.long else f"i.{name}"

    def __getitem__(self, role: Role) -> str:
        if role.name == IMPOSSIBLE:
            texts = [*map(self._impossible, self.bounds), *([f"r.{_BROKEN}"] if self.told else [])]
            return f"nullif(concat_ws(', ', {', '.join(texts)}), '')"
        value = self.plain(role)
        return (
            f"CASE WHEN {self.is_impossible_sql(role)} THEN NULL ELSE {value} END"
            if role in self.bounds
            else value
        )

    @staticmethod
    def plain(role: Role) -> str:
        return f"r.{expressions.quote(role.name)}"

    def is_impossible_sql(self, role: Role) -> str:
        """Return whether a value is impossible, or NULL: clocks of two samples may differ slightly."""
        return _beyond(self.plain(role), self._limit(role) if role.within else None)

    def _impossible(self, role: Role) -> str:
        """Return an impossible value with its name and unit, as text; else NULL."""
        text = _worded(role, self.plain(role), self._limit(role) if role.within else None)
        return f"CASE WHEN {self.is_impossible_sql(role)} THEN {text} END"

    def _limit(self, role: Role) -> str:
        return expressions.compile_raw(role.within, self._limited_by, "float")

    def _limited_by(self, name: str) -> str:
        if name == "seconds":
            return f"coalesce(r.seconds, {self.of_interval('seconds')})"
        return f"r.{expressions.quote(name)}"


def _select_rows(
    roles: list[Role], recorded: list[Role], union: str, result: RoleQuery, values: _ValueSql
) -> str:
    """Return the rows in the intervals that the options select (table `_interval`).

    `recorded` are the roles in the rows of `union`, in their order.
    """
    result.read("_interval", (*_INTERVAL, *_OF_FLAGS))
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


def _lasting_rows(roles: list[Role], union: str, values: _ValueSql) -> str:
    """Return the rows of states without impossible values; they belong to no interval."""
    leading = ", ".join(f"r.{name}" for name, _ in LASTING_HEAD)
    selected = "".join(f", {values[role]} AS {expressions.quote(role.name)}" for role in roles)
    return f"SELECT {leading}{selected} FROM ({union}) AS r"


def _flag(values: _ValueSql) -> str:
    """Return SQL of a row's flag: a row has a gap only if nothing was recorded for a part of it."""
    flag, gap_end, seconds = map(values.of_interval, _OF_FLAGS)
    # Subjects are sampled in sequence.
    begins = f"r.interval_end - to_seconds(r.seconds) + to_seconds(coalesce({seconds}, 0) / 2)"
    return f"coalesce(CASE WHEN r.flag <> 'gap' OR {begins} < {gap_end} THEN r.flag END, {flag})"


def _sum_rows(
    role_entity: Entity, roles: list[Role], union: str, result: RoleQuery, values: _ValueSql
) -> str:
    """Return the rows summed over the buckets of --every, counters and elapsed time.

    Excluded, with their elapsed time, are flagged rows (short intervals, gaps), rows whose counters were
    reset, and records with intervals of their own that are longer than a bucket. A sum with an unknown part
    is unknown.
    """
    result.read("_interval", (*_INTERVAL, *_OF_BUCKETS, *_OF_FLAGS))
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


def columns_read(name: str, requested: Collection[str]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the raw columns that columns of a role read if every table exists: for values, and all others.

    The others determine the rows: they are used to join, compare and group.
    """
    role_entity = entity(name)
    tables = {
        table: _named(role_entity, table) for origin in role_entity.origins for table in tables_read(origin)
    }
    values = RoleQuery()
    for origin in role_entity.origins:
        for release in _ANY:
            part = _OriginQuery(role_entity, origin, tables, release, values)
            for column in requested:
                if column in role_entity.roles:
                    part.role(role_entity.roles[column])
                else:
                    part.column(column)
    all_reads = rows(name, requested, tables, _ANY).reads
    others = {
        table: columns - values.reads.get(table, set())
        for table, columns in all_reads.items()
        if not table.startswith("_")
    }
    return _without_whole(values.reads), _without_whole(others)


#: A release before every limit, and an unknown one.
_ANY: Releases = {"0": ["#"], None: ["#"]}


def _without_whole(reads: dict[str, set[str]]) -> dict[str, set[str]]:
    merged: dict[str, set[str]] = {}
    for table, columns in reads.items():
        merged.setdefault(table.removesuffix(ALL_TIMES_SUFFIX), set()).update(columns)
    return merged


def _named(role_entity: Entity, table: str) -> frozenset[str]:
    """Return the columns that a raw table may have: those of a section if known, else those in roles."""
    from zlens.catalog import smf_sections

    section = smf_sections.find(table)
    if section is not None:
        return frozenset({*FIXED, *(column.name for column in smf_sections.columns(*section))})
    names = set(FIXED)
    for origin in role_entity.origins:
        formulas = (formula for formula in (origin.where, origin.seconds) if formula)
        named_columns = {name for formula in formulas for name in expressions.names(formula)}
        ways = list(origin.roles.values())
        for how in ways:
            if origin.table == table:
                names |= {field.lower() + how.suffix for field in how.fields}
                names |= {field.lower() for field in how.fields} if origin.began else set()
            named_columns |= {*expressions.names(how.expression)} if how.expression else set()
            ways += [how.fallback] if how.fallback else []
        for join in origin.joins:
            named_columns |= {*expressions.names(join.on)}
            names |= {*join.same} if table in (origin.table, join.table) else set()
        for detailed in origin.unless:
            names |= {*detailed.same} if table in (origin.table, detailed.table) else set()
        split = [name.rpartition(".") for name in named_columns]
        names |= {column for owner, _, column in split if owner == table}
        if origin.table == table:
            names |= {column for owner, _, column in split if not owner}
            names |= {name.lower() for name in (origin.began, origin.time) if name}
    return frozenset(names)


def raw_tables(name: str) -> list[str]:
    """Return the raw tables that may provide an entity, including joined sections."""
    return list(dict.fromkeys(table for origin in entity(name).origins for table in tables_read(origin)))
