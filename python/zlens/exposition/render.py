"""Renders the newest interval of every system as OpenMetrics 1.0 or Prometheus text 0.0.4.

`facts/exposition` defines names, types and labels; values are in base units. NULL has no sample. Samples have
no timestamps; `interval_end_timestamp_seconds` contains the interval end.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from zlens._native import samples
from zlens.catalog import aggregation, exposition, measures
from zlens.catalog.exposition import MetricFamily, MetricGroup
from zlens.catalog.expressions import literal, quote
from zlens.engine.results import QueryResult
from zlens.inputs.options import TimeSpec
from zlens.inputs.unix_time import from_unix_us
from zlens.session.session import CoreSession
from zlens.version import VERSION

#: Measures rendered first, because the others refer to them.
_FIRST = ("interval", "system", "load")


def render(session: CoreSession, *, openmetrics: bool, rows: int | None) -> bytes:
    """Render all metrics of the newest interval of each system and source.

    rows   rows of each measure and system, with the largest values of its main column; None: all

    The session is not changed; only the newest intervals are computed. Raises QueryError if that fails.
    """
    newest = _newest(session)
    form = _TextFormat(openmetrics)
    parts = [form.own("zlens_build", "info", "the program that wrote this", f'{{version="{VERSION}"}} 1')]
    if newest:
        narrowed = _newest_session(session, newest)
        try:
            parts += _measures(narrowed, newest, form, rows)
        finally:
            if narrowed is not session:
                narrowed.close()
    if openmetrics:
        parts.append("# EOF\n")
    return "".join(parts).encode()


class _Newest(Struct, frozen=True):
    """Newest interval of one source of a system; the source with the lowest `rank` is preferred."""

    system: str
    source: str
    end_us: int
    prefix: str
    labels: Mapping[str, str | None]
    rank: int = 0


def _newest(session: CoreSession) -> list[_Newest]:
    """Return the newest interval of each source; intervals with a flag only if there are no others."""
    names = exposition.names()
    order = list(names.sources)
    described: dict[tuple[str, str], dict[str, str | None]] = {}
    columns = ["system", "source", *names.system_labels.values()]
    for row in session.queries.select(f"SELECT {_list(columns)} FROM system", {"system": columns}).rows:
        described[row[0], row[1]] = dict(zip(names.system_labels, row[2:], strict=True))
    known: dict[str, dict[str, str | None]] = {}
    for (system, _), labels in described.items():
        # One source may have values that another has not.
        for label, value in labels.items():
            known.setdefault(system, {}).setdefault(label, value)
            known[system][label] = known[system][label] or value
    ends = session.queries.select(
        "SELECT system, source, "
        "epoch_us(coalesce(max(interval_end) FILTER (flag IS NULL), max(interval_end))) AS newest "
        "FROM interval GROUP BY system, source",
        {"interval": ["system", "source", "interval_end", "flag"]},
    ).rows
    newest = [
        _Newest(system, source, end_us, names.sources[source], known.get(system, {}))
        for system, source, end_us in ends
        if source in names.sources and system is not None
    ]
    newest.sort(key=lambda interval: (interval.system, -interval.end_us, order.index(interval.source)))
    return [replace(interval, rank=rank) for rank, interval in enumerate(newest)]


def _newest_session(session: CoreSession, newest: Sequence[_Newest]) -> CoreSession:
    """Return a session over the newest intervals only."""
    options = session.options
    if options.peak_minutes:
        return session
    length = dt.timedelta(seconds=options.every_s or 0) or dt.timedelta(microseconds=1)
    start = from_unix_us(min(interval.end_us for interval in newest)) - length
    return session.narrow(replace(options, start=TimeSpec.from_utc(start)))


def _measures(
    session: CoreSession, newest: Sequence[_Newest], form: _TextFormat, rows: int | None
) -> Iterator[str]:
    groups = [group for group in exposition.names().groups if not group.of]
    groups.sort(key=lambda group: _FIRST.index(group.measure) if group.measure in _FIRST else len(_FIRST))
    left_out: list[str] = []
    for group in groups:
        if not session.has_data(group.measure):
            continue
        for prefix, members in _by_prefix(group, newest).items():
            table = session.queries.materialize_query(*_rows(group, members))
            within = f' WHERE "#place" <= {rows}' if rows is not None else ""
            selection = f"{quote(table)}{within}"
            answer = session.queries.select(f"SELECT * FROM {selection}", {})
            yield form.samples(prefix, group, answer)
            if rows is not None:
                left_out += _omitted_samples(session, table, group, rows)
            for counters in exposition.names().counters(group.measure):
                if prefix in counters.prefixes and session.has_data(f"role.{counters.of}"):
                    query, reads = _counters(counters, members, selection)
                    yield form.samples(prefix, counters, session.queries.select(query, reads))
    text = "rows of a measure that the limit left out of this page"
    yield form.own("zlens_rows_left_out", "gauge", text, *left_out)


def _by_prefix(group: MetricGroup, newest: Sequence[_Newest]) -> dict[str, list[_Newest]]:
    """Return the newest intervals by metric prefix in a group."""
    parts: dict[str, list[_Newest]] = {}
    for interval in newest:
        prefix = group.prefix or interval.prefix
        if prefix in group.prefixes:
            parts.setdefault(prefix, []).append(interval)
    return parts


def _rows(group: MetricGroup, newest: Sequence[_Newest]) -> tuple[str, dict[str, list[str]]]:
    """Return the query of a measure's ranked rows in the newest intervals, and the columns that it reads."""
    table = measures.load_measure(group.measure)
    values = {
        column: family.base.sql(_number(f"m.{quote(column)}", family))
        for family in group.families
        if (column := family.column)
    }
    values |= {column: f"m.{quote(column)}" for column in (*group.info, *group.labels)}
    joined = [name for name in ("system", "source", "interval_end") if table.column(name) is not None]
    flagged = table.column("flag") is not None and group.measure != "interval"
    reads = dict.fromkeys([*joined, *values, *(["flag"] if flagged else [])])
    keys = ", ".join(["system", *map(quote, group.labels)])
    selected = ", ".join(f"{sql} AS {quote(column)}" for column, sql in values.items())
    selected = f", {selected}" if selected else ""
    on = " AND ".join(f"m.{name} = n.{name}" for name in joined)
    subject = ", ".join(["m.system", *(f"m.{quote(column)}" for column in group.labels)])
    ranked = quote(group.main) if group.main else "NULL"
    rows = quote(group.measure)
    if aggregation.is_divided(table):
        selected_columns = [column for column in table.columns if column.name in reads]
        is_newest = f"({', '.join(joined)}) IN (SELECT ({', '.join(joined)}) FROM newest)"
        divided, read = aggregation.undivided(table, selected_columns, is_newest)
        rows, reads = f"({divided})", dict.fromkeys([*reads, *read])
    query = (
        f"WITH newest AS ({_values(newest)}), "
        f'own AS (SELECT m.system, {_system_labels(group)}n.rank AS "#rank"{selected} '
        f"FROM {rows} AS m JOIN newest AS n ON {on}"
        f"{' WHERE m.flag IS NULL' if flagged else ''} "
        f"QUALIFY row_number() OVER (PARTITION BY {subject} ORDER BY n.rank) = 1) "
        f"SELECT *, row_number() OVER "
        f'(PARTITION BY system ORDER BY {ranked} DESC NULLS LAST, {keys}) AS "#place", '
        f'count(*) OVER (PARTITION BY system) AS "#count" FROM own ORDER BY {keys}'
    )
    return query, {group.measure: list(reads)}


def _counters(
    group: MetricGroup, newest: Sequence[_Newest], selection: str
) -> tuple[str, dict[str, list[str]]]:
    """Return the query of cumulative counters of the selected rows, and the columns that it reads."""
    entity = f"role.{group.of}"
    keys = ["system", *group.labels]
    summed = ", ".join(
        # The sum is unknown if one of its parts is unknown.
        f"CASE WHEN count(m.{quote(family.column)}) = count(*) THEN "
        f"{family.base.sql(f'sum(m.{quote(family.column)})')} END AS {quote(family.column)}"
        for family in group.families
    )
    of_keys = ", ".join(f"m.{quote(key)}" for key in keys)
    same = " AND ".join(f"m.{quote(key)} IS NOT DISTINCT FROM c.{quote(key)}" for key in keys)
    query = (
        f"WITH newest AS ({_values(newest)}), chosen AS (SELECT * FROM {selection}) "
        f"SELECT {of_keys}, {_system_labels(group, 'any_value(n.{})')}{summed} FROM {quote(entity)} AS m "
        "JOIN newest AS n ON m.system = n.system AND m.source = n.source AND m.interval_end = n.interval_end "
        f'JOIN chosen AS c ON {same} AND n.rank = c."#rank" '
        f"GROUP BY {of_keys} ORDER BY {of_keys}"
    )
    roles = [family.column for family in group.families]
    return query, {entity: ["system", "source", "interval_end", *group.labels, *roles]}


def _number(column: str, family: MetricFamily) -> str:
    """Return the SQL of a column as a number; times are seconds since 1970."""
    return f"epoch_us({column}) / 1e6" if family.type == "time" else column


def _system_labels(group: MetricGroup, form: str = "n.{}") -> str:
    names = _added(group)
    return "".join(f"{form.format(quote(name))} AS {quote('#' + name)}, " for name in names)


def _added(group: MetricGroup) -> list[str]:
    """Return the system labels that are added to the rows of a group, except labels of the rows."""
    row_labels = {*group.labels.values()}
    return [name for name in exposition.names().system_labels if name not in row_labels]


def _values(newest: Sequence[_Newest]) -> str:
    """Return the SQL of the newest intervals."""
    names = list(exposition.names().system_labels)
    rows = []
    for one in newest:
        labels = (one.system, one.source, *map(one.labels.get, names))
        texts = ["CAST(NULL AS VARCHAR)" if text is None else literal(text) for text in labels]
        place = [f"make_timestamptz({one.end_us})", str(one.rank)]
        rows.append(f"({', '.join([*texts[:2], *place, *texts[2:]])})")
    columns = f"system, source, interval_end, rank, {_list(names)}"
    return f"SELECT * FROM (VALUES {', '.join(rows)}) AS v({columns})"


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quote, names))


def _omitted_samples(session: CoreSession, table: str, group: MetricGroup, rows: int) -> list[str]:
    """Return samples with the number of rows beyond the limit, for systems with such rows."""
    counted = session.queries.select(
        f'SELECT system, any_value("#count") AS rows FROM {quote(table)} WHERE "#count" > {rows} '
        "GROUP BY system ORDER BY system",
        {},
    ).rows
    return [
        f'{{measure="{group.measure}",system="{_escaped(system)}"}} {count - rows}'
        for system, count in counted
    ]


class _TextFormat(Struct, frozen=True):
    """Text format of metric families; names of families in OpenMetrics have no suffix of their samples."""

    openmetrics: bool

    def samples(self, prefix: str, group: MetricGroup, answer: QueryResult) -> str:
        """Return the samples of all families of a group."""
        index_by_name = {name: index for index, name in enumerate(answer.columns)}
        added = [(name, index_by_name[f"#{name}"]) for name in _added(group)]
        labels = [
            ("system", index_by_name["system"]),
            *added,
            *((label, index_by_name[column]) for column, label in group.labels.items()),
        ]
        # A column of the row is more specific than the label of its system.
        replaced = {*group.info.values()}
        info = [label for label in labels if label[0] not in replaced]
        info += [(label, index_by_name[column]) for column, label in group.info.items()]
        families = [
            (
                self._head(f"{prefix}_{family.name}", family.kind, family.text, family.unit),
                f"{prefix}_{family.sample}",
                int(family.kind == "info"),
                index_by_name[family.column] if family.column else None,
            )
            for family in group.families
        ]
        return answer.read(lambda stream: samples(stream, answer.types, [labels, info], families))

    def own(self, name: str, kind: str, text: str, *values: str) -> str:
        """Return a family about zlens; `values` are labels in braces with a value. Empty without values."""
        if not values:
            return ""
        ending = "_info" if kind == "info" else ""
        return self._head(name, kind, text, "") + "".join(f"{name}{ending}{value}\n" for value in values)

    def _head(self, name: str, kind: str, text: str, unit: str) -> str:
        if not self.openmetrics:
            name += {"counter": "_total", "info": "_info"}.get(kind, "")
            kind = "gauge" if kind == "info" else kind
        help = _escaped(text) if self.openmetrics else text.replace("\\", "\\\\").replace("\n", "\\n")
        lines = f"# HELP {name} {help}\n# TYPE {name} {kind}\n"
        return lines + (f"# UNIT {name} {unit}\n" if unit and self.openmetrics else "")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
