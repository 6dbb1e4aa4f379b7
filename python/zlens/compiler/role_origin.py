"""SQL of an entity's roles from one raw table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog import expressions
from zlens.catalog.layouts import release_key
from zlens.catalog.roles import (
    ALL_TIMES_SUFFIX,
    NO_VALUE,
    SQL_TYPES,
    DetailedTable,
    Entity,
    Role,
    RoleOrigin,
    RoleValue,
    code_words_sql,
    entity,
    scale_factor,
    tables_read,
)
from zlens.compiler.role_bounds import beyond, worded

#: Columns that join a role's rows with the intervals.
INTERVAL = ("system", "source", "interval_end")
#: Columns of an origin that records the time since which a subject's counters count.
BEGAN, SAMPLED = '"#began"', '"#sampled"'
#: Impossible rows of a group, as text.
BROKEN = '"#broken"'
#: Columns that identify a record of a raw table, and so the sections of one record.
_RECORD = ("system", "source", "file", "offset")

#: Columns of raw tables, with their types if these are known.
Tables = Mapping[str, Collection[str]]
#: Types of columns whose values are certainly finite.
_FINITE = ("int", "text", "bool", "time")


class RoleQuery(Struct):
    """SQL of rows, and the columns of raw tables that it reads."""

    sql: str = ""
    reads: dict[str, set[str]] = field(default_factory=dict)

    def read(self, table: str, columns: Iterable[str]) -> None:
        self.reads.setdefault(table, set()).update(columns)


def is_before(release: str | None, limit: str) -> bool:
    """Return whether a release is known and precedes another."""
    return () < release_key(release) < release_key(limit)


def is_finite(origin: RoleOrigin, formula: str, tables: Tables) -> bool:
    """Return whether a formula is finite in any row: it names no floating-point column but the elapsed time.

    No quotient of products of integers is so large that it is not, but a root may be of a negative number.
    """
    read = [tables[table] for table in tables_read(origin) if table in tables]
    return "sqrt(" not in formula and all(
        isinstance(columns, Mapping) and (columns.get(name) or "int") in _FINITE
        for name in (name.rpartition(".")[2] for name in expressions.names(formula))
        if name != "seconds"
        for columns in read
    )


def since_column(role: Role) -> str:
    """Return the name of the column with the cumulative counter of a role that is a difference."""
    return expressions.quote(f"{role.name}#since")


class OriginQuery:
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
        #: Whether rows only say whether they may have an impossible value.
        self.suspects = False
        #: Of a group: the columns of the layer below its aggregates by their SQL.
        self.row_columns: dict[str, str] = {}
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
        named: bool,
        names_broken: bool,
        suspects: bool = False,
    ) -> str:
        """Return SQL of the rows.

        named         whether columns have names and types: of a UNION, only the first query needs them
        names_broken  with a column that names the impossible rows of groups
        suspects      it says whether there are any, and values may include them
        """
        self.long, self.suspects = long, suspects
        group = self.origin.group
        if self.entity.lasting:
            columns = [
                (self.row_column("system"), "system"),
                (self.row_column("source"), "source"),
                (self.row_column(self.time()), "tod"),
            ]
        else:
            columns = [(self.row_column(name), name) for name in INTERVAL]
            for name in ("seconds", "flag"):
                sql = self.row_column(name)
                columns.append((f"max({sql})" if group else sql, name))
        columns += [(self.typed(role), expressions.quote(role.name)) for role in roles]
        if names_broken:
            broken = self.any_broken(roles) if suspects else self.broken_rows(roles)
            columns.append((broken, BROKEN))
        if since:
            began = self.origin.began
            times = (self.column(began.lower()), self.column("tod")) if began else ("NULL", "NULL")
            for name, sql in zip((BEGAN, SAMPLED), times, strict=True):
                columns.append((expressions.cast(sql, SQL_TYPES["time"]), name))
            for role in since:
                how = self.origin.roles.get(role.name, NO_VALUE) if began else NO_VALUE
                sql = self.first(replace(how, take="value"), role.type)
                columns.append((expressions.cast(sql, SQL_TYPES[role.type]), since_column(role)))
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
        source = f"{expressions.quote(self.own)} AS r{self.joins()}{where}"
        if group:
            # Their aggregates mention values several times.
            below = ", ".join(f"{sql} AS {name}" for sql, name in self.row_columns.items())
            source = f"(SELECT {below} FROM {source}) AS r"
        selected = (
            f"{sql} AS {name}" if named else "NULL" if sql.startswith("NULL::") else sql
            for sql, name in columns
        )
        return f"SELECT {', '.join(selected)} FROM {source}{grouped}"

    def row_column(self, name: str) -> str:
        """Return SQL of a column, below the aggregates of a group."""
        return self.row_value(name, self.column(name))

    def row_value(self, name: str, sql: str) -> str:
        """Return SQL of a value of one row: of a group, the column of the layer below its aggregates."""
        if not self.origin.group or sql == "NULL":
            return sql
        if sql not in self.row_columns:
            column = expressions.quote(name)
            taken = column in self.row_columns.values()
            self.row_columns[sql] = expressions.quote(f"{name}#{len(self.row_columns)}") if taken else column
        return f"r.{self.row_columns[sql]}"

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
        shared = ("system", "source", self.time()) if self.entity.lasting else INTERVAL
        return list(dict.fromkeys([*map(self.row_column, shared), *(key for key in sql if key != "NULL")]))

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
            if join.distinct:
                section = ", ".join(self.of(join.table, key) for key in (*_RECORD, *join.distinct))
                number = self.of(join.table, "section_no")
                first = f"row_number() OVER (PARTITION BY {section} ORDER BY {number}) = 1"
                table = f"(SELECT * FROM {table} AS {alias} QUALIFY {first})"
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
        # A scaled number and a formula have the type already.
        is_formula = bool(how.expression) and role.type != "time" and not (how.codes or how.digits)
        is_typed = is_formula or (role.type == "float" and bool(how.scale))
        if sql != "NULL" and is_typed and not (how.fallback or how.over):
            return sql
        return expressions.cast(sql, SQL_TYPES[role.type])

    def role(self, role: Role) -> str:
        """Return SQL of one role; NULL if this table does not provide it."""
        how = self.origin.roles.get(role.name, NO_VALUE)
        over = how.over
        if over == "count":
            return "count(*)"
        unbounded = role.name in self.long and how.expression
        sql = (
            self.expression(how.expression, role.type, bounded=False)
            if unbounded
            else self.first(how, role.type)
        )
        if how.value is None:
            sql = self.row_value(role.name, sql)
        if unbounded or not over or sql == "NULL":
            return sql
        value_sql = expressions.total_sql(sql) if over == "sum" else f"{over}({sql})"
        broken = None if self.suspects else self.row_broken(role, sql)
        return value_sql if broken is None else f"CASE WHEN bool_or({broken}) THEN NULL ELSE {value_sql} END"

    def row_broken(self, role: Role, value: str) -> str | None:
        """Return whether one row of a group is impossible whatever the sum is: bounds apply to each row."""
        return beyond(value, self.row_limit(role)) if role.is_bounded else None

    def row_limit(self, role: Role) -> str | None:
        """Return SQL of the limit of a role in one row of a group."""
        within = self.origin.roles[role.name].each or role.within
        return expressions.compile_raw(within, self.of_row, "float") if within else None

    def broken_rows(self, roles: list[Role]) -> str:
        """Return the impossible values of a group's rows, the minimum of each role as text; else NULL."""
        texts = [
            f"min(CASE WHEN {broken} THEN {worded(role, sql, self.row_limit(role))} END)"
            for role, sql, broken in self._broken(roles)
        ]
        return f"nullif(concat_ws(', ', {', '.join(texts)}), '')" if texts else "NULL::VARCHAR"

    def any_broken(self, roles: list[Role]) -> str:
        """Return whether any value of a group's rows is impossible, or NULL."""
        conditions = " OR ".join(broken for _, _, broken in self._broken(roles))
        return f"bool_or({conditions})" if conditions else "NULL::BOOLEAN"

    def _broken(self, roles: list[Role]) -> Iterator[tuple[Role, str, str]]:
        """Yield the roles with bounds that are aggregates, with SQL of one row's value and of its test."""
        for role in roles:
            how = self.origin.roles.get(role.name, NO_VALUE)
            sql = (
                self.row_value(role.name, self.first(how, role.type))
                if how.over not in (None, "count")
                else "NULL"
            )
            broken = self.row_broken(role, sql) if sql != "NULL" else None
            if broken is not None:
                yield role, sql, broken

    def of_row(self, name: str) -> str:
        """Return SQL of a name in a limit, for one row of a group: a count of rows is 1."""
        if name == "seconds":
            return self.row_column(name)
        how = self.origin.roles.get(name, NO_VALUE)
        return (
            "1"
            if how.over == "count"
            else self.row_value(name, self.first(how, self.entity.roles[name].type))
        )

    def first(self, how: RoleValue, type: str) -> str:
        sql = self.rule_sql(how, type)
        fallback = self.first(how.fallback, type) if how.fallback else "NULL"
        if "NULL" in (sql, fallback):
            return fallback if sql == "NULL" else sql
        return f"coalesce({sql}, {fallback})"

    def expression(self, formula: str, type: str, *, bounded: bool) -> str:
        if any(self.found(name)[0] is None and name != "seconds" for name in expressions.names(formula)):
            return "NULL"
        if type == "float" and (not bounded or is_finite(self.origin, formula, self.tables)):
            return expressions.compile_raw(formula, self.column, type)
        return expressions.compile_sql(formula, self.column, type)

    def rule_sql(self, how: RoleValue, type: str) -> str:
        if how.before and not is_before(self.release, how.before):
            return "NULL"
        if how.value is not None:
            return expressions.literal(how.value) if isinstance(how.value, str) else repr(how.value)
        if how.expression:
            sql = self.expression(how.expression, "int" if how.digits or how.codes else type, bounded=True)
            if how.codes and sql != "NULL":
                return code_words_sql(sql, how.codes)
            return _hexadecimal(sql, how.digits) if how.digits and sql != "NULL" else sql
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
        if how.marks:
            sql = f"TRY_CAST(rtrim({sql}, {expressions.literal(how.marks)}) AS DOUBLE)"
        if how.base:
            prefix = "'0x' || " if how.base == 16 else ""
            sql = f"TRY_CAST({prefix}{sql} AS BIGINT)"
        if how.digits:
            # Of a field, no number has more digits.
            sql = _hexadecimal(sql, how.digits) if how.base else f"lpad(hex({sql}), {how.digits}, '0')"
        if how.codes:
            sql = code_words_sql(sql, how.codes)
        columns = self.tables[self.place[column]]
        is_int = isinstance(columns, Mapping) and columns[column] == "int" and not how.part
        if how.scale:
            number = sql if is_int else expressions.cast(sql, "DOUBLE")
            sql = f"{number} * {expressions.float_literal(scale_factor(how.scale))}"
        if type == "float" and not is_int:
            # Measures rely on roles to be finite.
            return expressions.finite_sql(sql if how.scale else expressions.cast(sql, "DOUBLE"))
        return sql


def _hexadecimal(number: str, digits: int) -> str:
    return f"printf('%0{digits}X', {number})"


def record_rows(
    name: str, origin: RoleOrigin, requested: Collection[str], tables: Tables, release: str | None
) -> tuple[dict[str, str], RoleQuery]:
    """Return SQL of roles by name in one row of an origin's raw table `r`, and the FROM clause.

    The query's columns read are those of the values. Roles that the origin does not give are left out.
    """
    role_entity = entity(name)
    values = RoleQuery()
    part = OriginQuery(role_entity, origin, tables, release, values)
    sql: dict[str, str] = {}
    for role in role_entity.roles.values():
        how = origin.roles.get(role.name, NO_VALUE)
        if role.name in requested and how.over != "count" and (found := part.first(how, role.type)) != "NULL":
            sql[role.name] = expressions.cast(found, SQL_TYPES[role.type])
    joins = OriginQuery(role_entity, origin, tables, release, RoleQuery()).joins()
    values.sql = f"FROM {expressions.quote(part.own)} AS r{joins}"
    return sql, values
