"""Tests of compiled measures: requested columns, their inputs, and tables that are materialized once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from fakes import HEADER, FakeSource, FakeTable, intervals, processors, session, system
from iterations import iterations, quick_subset
from zlens import demo
from zlens.api import Session
from zlens.catalog import measures
from zlens.catalog.raw_columns import RawColumn
from zlens.compiler import nodes
from zlens.engine.planner import Planner
from zlens.errors import QueryError
from zlens.inputs.options import Options, parse_zone
from zlens.schema import cache

SHARES = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]


@pytest.fixture(scope="module")
def whole(demo_files: list[Path]) -> Iterator[Session]:
    with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as opened:
        yield opened


@pytest.fixture(scope="module")
def parts(demo_files: list[Path]) -> Iterator[Session]:
    with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as opened:
        yield opened


FED = [name for name in measures.measure_names() if nodes.is_joined(name)]


def rows(session: Session, name: str, columns: list[str], order: list[str]) -> list[tuple[object, ...]]:
    shown = ", ".join(f'"{column}"' for column in columns)
    # The last digits of sums of doubles depend on the order of addition.
    found = session.sql(f"SELECT {shown} FROM {name} ORDER BY {', '.join(order)}").rows
    return [tuple(float(f"{v:.10g}") if isinstance(v, float) else v for v in row) for row in found]


@pytest.mark.parametrize("name", quick_subset(8, FED))
def test_column_does_not_depend_on_other_columns(name: str, whole: Session, parts: Session) -> None:
    """A LEFT JOIN that a statement omits must also find at most one row."""
    table = measures.load_measure(name)
    order = [f'"{key}"' for key in ("system", "source", "interval_end", *table.key)]
    if name in ("job", "guest_cpu", "guest"):
        # The key does not identify rows of these measures.
        order += ['"seconds"'] + (['"basis"', '"cpu_s"'] if name != "job" else ['"begun"', '"cpu_s"'])
    order = [one for one in order if table.column(one.strip('"'))]
    every = [column.name for column in table.columns]
    expected = rows(whole, name, every, order)
    shuffled = every[:]
    random.Random(name).shuffle(shuffled)
    for size, at in ((5, 2), (len(every), 7), (2, 0))[: iterations(3, 2)]:
        columns = shuffled[at : at + size] or shuffled
        places = [every.index(column) for column in columns]
        wanted = sorted((tuple(row[place] for place in places) for row in expected), key=repr)
        assert sorted(rows(parts, name, columns, order), key=repr) == wanted


def opened() -> tuple[Session, FakeTable, FakeTable]:
    info = system()
    info.intervals = intervals(len(SHARES))
    used = processors(info.system, SHARES)
    columns = (*HEADER, *(RawColumn(f"systprp_{name}", "int") for name in ("pfxcpuad", "plspiopr")))
    beside = FakeTable("d0r1", columns, [])
    return session([FakeSource([info], [used, beside])]), used, beside


@pytest.fixture(scope="module")
def full() -> Session:
    """A session with all columns of cpu and load."""
    session, _, _ = opened()
    for name in ("cpu", "load"):
        session.sql(f"SELECT * FROM {name}").rows  # noqa: B018
    return session


def test_unused_join_reads_nothing() -> None:
    session, used, beside = opened()
    assert len(session.sql("SELECT cpu_id, busy_pct FROM cpu").rows) == 6
    assert len(used.requested) == 1
    assert not beside.requested


def test_materialized_table_is_extended() -> None:
    session, used, _ = opened()
    session.sql("SELECT busy_pct FROM cpu").rows  # noqa: B018
    read = len(used.requested)
    session.sql("SELECT max(busy_pct) FROM cpu").rows  # noqa: B018
    assert len(used.requested) == read
    both = session.sql("SELECT busy_pct, emulation_pct FROM cpu").rows
    assert len(used.requested) == read + 1
    assert all(None not in row for row in both)
    session.sql("SELECT busy_pct + emulation_pct FROM cpu").rows  # noqa: B018
    assert len(used.requested) == read + 1


def test_prepared_queries_are_materialized_once() -> None:
    session, used, _ = opened()
    queries = ["SELECT busy_pct FROM cpu", "SELECT emulation_pct FROM cpu", "SELECT system_pct FROM cpu"]
    for result in session._core.answers(queries):
        assert len(result.rows) == 6
    assert len(used.requested) == 1


def test_stages_start_with_smallest_input(demo_files: list[Path]) -> None:
    costly, cheap = "SELECT cpu_pct FROM guest", "SELECT busy_pct FROM cpu"
    nothing, wrong = "SELECT 7 AS seven", "SELECT busy FROM FROM cpu"
    with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as session:
        sizes = session._core._record_bytes()
        assert sizes["d4r3"] > sizes["d0r2"] > 0
        both = "SELECT count(*) FROM guest JOIN cpu USING (system)"
        stages = [*session._core.queries.stages([costly, both, wrong, cheap, nothing])]
        # A query of both tables runs when the last of them is materialized.
        assert stages == [[nothing], [cheap], [costly, both], [wrong]]
        store = session._core.engine.store
        assert store.has_columns("cpu", ["busy_pct"])
        assert store.has_columns("guest", ["cpu_pct"])


def test_first_query_materializes_prepared_columns(demo_files: list[Path]) -> None:
    cheap, much, more = (
        "SELECT busy_pct FROM cpu",
        "SELECT cpu_pct FROM guest",
        "SELECT cpu_pct, cpu_s FROM guest",
    )
    with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as session:
        stages = session._core.queries.stages([much, more, cheap])
        assert next(stages) == [cheap]
        assert [*session._core.queries.materialize({"guest": ["tv"]})] == ["guest"]
        assert session._core.engine.store.has_columns("guest", ["cpu_pct", "cpu_s", "tv"])


def test_shared_lazy_measure_is_materialized(demo_files: list[Path]) -> None:
    columns = "cpu_pct, cpu_s, virtual_s, tv, vcpu, basis, list, page_read_rate, page_write_rate"
    for second, kept in ((columns, True), ("basis", False)):
        with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as session:
            queries = [f"SELECT {columns} FROM guest_cpu", f"SELECT {second} FROM guest_cpu WHERE 1 = 1"]
            assert len([*session._core.answers(queries)]) == 2
            assert session._core.engine.store.has_columns("guest_cpu", ["basis"]) == kept


def test_shared_role_has_rows_of_separate_queries(demo_files: list[Path]) -> None:
    queries = [
        "SELECT cpu_id, user_time FROM role.processor ORDER BY system, interval_end, cpu_id",
        "SELECT cpu_id, max(user_time) FROM role.processor GROUP BY cpu_id ORDER BY cpu_id",
    ]
    options = Options(tz=parse_zone(demo.ZONE))
    with zlens.open(demo_files, options=options) as session:
        separate = [session.sql(query).rows for query in queries]
        assert not session._core.engine.store.has_columns("role.processor", ["cpu_id"])
    with zlens.open(demo_files, options=options) as session:
        assert [result.rows for result in session._core.answers(queries)] == separate
        assert session._core.engine.store.has_columns("role.processor", ["cpu_id", "user_time"])


def test_stage_materializes_only_its_columns(demo_files: list[Path]) -> None:
    with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as session:
        store = session._core.engine.store
        stages = session._core.queries.stages(
            ["SELECT cpu_pct FROM guest", "SELECT max(cpu_s) FROM guest", "SELECT busy_pct FROM cpu"]
        )
        assert next(stages) == ["SELECT busy_pct FROM cpu"]
        assert store.has_columns("cpu", ["busy_pct"])
        assert not store.has_columns("guest", ["cpu_pct"])
        assert [len(stage) for stage in stages] == [2]
        # Materialized once, with the columns of both queries.
        assert store.has_columns("guest", ["cpu_pct", "cpu_s"])


def test_shared_helpers_are_materialized(whole: Session) -> None:
    graph = whole._core.queries.compiler.nodes
    readers: dict[str, set[str]] = {}
    for name in (*nodes.helpers(), *FED):
        for below in graph.referenced_nodes(name):
            readers.setdefault(below, set()).add(name)

    def above(name: str) -> set[str]:
        found = readers.get(name, set())
        return found.union(*map(above, found))

    shared = {name for name in nodes.helpers() if len(readers.get(name, ())) > 1}
    lazy = {name for name in measures.measure_names() if measures.load_measure(name).lazy}
    # Helpers of a lazy measure are as large as the measure, and are computed for every query.
    assert {name for name in shared if not above(name) & lazy} == {
        name for name in nodes.helpers() if nodes.is_materialized(name)
    }


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM cpu",
        "SELECT * EXCLUDE (busy_pct) FROM cpu",
        "SELECT busy_pct FROM (SELECT * FROM cpu)",
        "SELECT COLUMNS('.*_pct') FROM cpu",
        "SELECT c.busy_pct, l.* FROM cpu AS c JOIN load AS l USING (system, interval_end)",
        "SELECT cpu FROM cpu",
        "SELECT count(*) FROM cpu NATURAL JOIN (SELECT system, interval_end, cpu_id FROM cpu)",
        "SELECT * FROM (SELECT * FROM cpu UNION ALL SELECT * FROM cpu) LIMIT 3",
        "WITH cpu AS (SELECT 1 AS busy_pct) SELECT busy_pct FROM cpu",
        "FROM cpu AS c(a, b) SELECT a, b",
        "SELECT busy_pct FROM main.cpu",
        "SELECT CPU_ID, Busy_Pct FROM CPU ORDER BY Interval_End",
        "SELECT tv, (SELECT max(busy_pct) FROM cpu AS c WHERE c.flag = l.flag) FROM load AS l",
        "SELECT * FROM load AS l, LATERAL (SELECT max(busy_pct) FROM cpu WHERE seconds = l.seconds)",
        "SELECT * FROM (PIVOT cpu ON cpu_id IN (0, 1) USING max(busy_pct) GROUP BY interval_end)",
        "SELECT list_transform(list(busy_pct), lambda x: x + 1) FROM cpu",
        "WITH a AS MATERIALIZED (SELECT cpu_id FROM cpu WHERE flag IS NULL AND busy_pct > 1), "
        "b AS MATERIALIZED (SELECT * FROM a WHERE cpu_id = 1) SELECT count(*) FROM b",
        "WITH a AS (SELECT * FROM cpu), b AS (SELECT * FROM a WHERE cpu_id = 1) "
        "SELECT count(*) FROM a, b WHERE a.busy_pct < b.busy_pct",
        "SELECT count(*) FROM (SELECT * FROM cpu) AS c "
        "WHERE EXISTS (FROM load AS l WHERE l.busy_pct < c.busy_pct AND l.interval_end = c.interval_end)",
        "SELECT cpu_id FROM (SELECT * FROM cpu) QUALIFY row_number() OVER (ORDER BY busy_pct, cpu_id) = 1",
        "SELECT DISTINCT ON (cpu_id) cpu_id FROM (SELECT * FROM cpu WHERE busy_pct > 1 ORDER BY flag)",
    ],
)
def test_statements_of_every_kind(full: Session, query: str) -> None:
    """A session with all columns and one with only the required columns return the same rows."""
    fresh, _, _ = opened()
    first, again = fresh.sql(query), full.sql(query)
    assert first.columns == again.columns
    assert sorted(first.rows, key=repr) == sorted(again.rows, key=repr)


@pytest.mark.parametrize(
    ("query", "message", "cure"),
    [
        ("SELECT bsy_pct FROM cpu", "column bsy_pct not found in cpu", "it has busy_pct, "),
        ("SELECT * FROM cpu WHERE bsy_pct > 1", "column bsy_pct not found in cpu", "it has busy_pct, "),
        ("SELECT p.lpar FROM partition p, cpu c", "column lpar not found in partition", "it has machine, "),
        ("SELECT tw FROM cpu, load", "column tw not found in cpu or load", "cpu has cpu_id, "),
        (
            "WITH a AS (SELECT system FROM cpu) SELECT busy_pct FROM a",
            "column busy_pct not found in what the query selects from",
            None,
        ),
    ],
)
def test_unknown_column_lists_similar_names(query: str, message: str, cure: str | None) -> None:
    session, _, _ = opened()
    with pytest.raises(QueryError) as wrong:
        session.sql(query)
    assert wrong.value.message == message
    assert cure is None or str(wrong.value.cure).startswith(cure)
    assert (wrong.value.cure is None) == (cure is None)


def test_statement_that_names_its_columns_is_not_planned(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cache, "_root", lambda *_: tmp_path)

    def planned(*_: object) -> None:
        raise AssertionError("planned")

    monkeypatch.setattr(Planner, "reads", planned)
    session, _, _ = opened()
    assert session.sql("SELECT max(busy_pct) FROM cpu WHERE cpu_id = 1").rows == [(pytest.approx(65.0),)]
    with pytest.raises(AssertionError, match="planned"):
        session.sql("SELECT * FROM cpu")


@pytest.mark.parametrize("every_s", quick_subset(1, [None, 900]))
def test_star_returns_columns_in_order(sim_file: Path, every_s: int | None) -> None:
    with zlens.open([sim_file], options=Options(every_s=every_s)) as opened:
        for name in measures.measure_names():
            described = [row[0] for row in opened.sql(f"DESCRIBE {name}").rows]
            assert opened.sql(f"SELECT * FROM {name} LIMIT 0").columns == described, name
