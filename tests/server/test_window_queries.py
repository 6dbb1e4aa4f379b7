"""Tests of windows of long tables: cached blocks and all rows give the same results."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from iterations import iterations
from zlens.api import Session
from zlens.catalog import aggregation, measures
from zlens.catalog.expressions import quote
from zlens.catalog.measure_query import MeasureQuery
from zlens.catalog.time_blocks import BlockQuery, TimeWindow
from zlens.server import window_queries
from zlens.server.window_queries import WindowQueries
from zlens.server.workspace import Workspace

#: Measures grouped by all their subject columns and by fewer, so that rows are combined.
GROUPS = [
    ("guest", ["userid"]),
    ("cpu", ["cpu_type"]),
    ("partition", ["partition", "cpu_type"]),
    ("load", []),
    ("guest_cpu", ["userid"]),
    ("guest_cpu", ["userid", "vcpu"]),
    ("device", ["device"]),
    ("cpu", ["cpu_id"]),
    ("paging", ["volume", "area"]),
    ("alias_pool", ["ssid", "pool", "io_type"]),
]


@pytest.fixture(scope="module")
def place(sim_session: Session) -> Iterator[Workspace]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(window_queries, "LONG_WINDOW_ROWS", 0)
        patched.setattr(window_queries, "BLOCKS", 12)
        yield Workspace(sim_session._core, ["sim.monwrite"])


def wanted(table: measures.Measure, by: list[str]) -> list[tuple[measures.MeasureColumn, list[str]]]:
    """Return one column of each kind, type and subject rule, with all its statistics."""
    kinds = {}
    for column in table.columns:
        if column.name not in (*by, "system", "source", "flag") and column.type != "time":
            weighted = column.weight in (None, "", "seconds")
            kind = column.aggregate, column.type, weighted, aggregation.subject_rule(column).partition(" ")[0]
            kinds.setdefault(kind, column)
    return [(column, [*aggregation.available_statistics(column)]) for column in kinds.values()]


@pytest.mark.parametrize(
    ("name", "by"), [*GROUPS[:4], *(pytest.param(*one, marks=pytest.mark.long) for one in GROUPS[4:])]
)
def test_window_from_blocks_equals_rows(place: Workspace, name: str, by: list[str]) -> None:
    table = measures.load_measure(name)
    question = MeasureQuery(table, wanted(table, by), quote(name), by)
    first, last = ends(place)

    @settings(max_examples=iterations(60, 4))
    @given(
        st.floats(first - 200, last + 200), st.floats(0, 1.2 * (last - first)), st.booleans(), st.booleans()
    )
    # Rows at an end that no block covers, and windows without rows.
    @example(1715671598.0, 0.0, False, True)
    @example(1715671598.0, 0.0, True, False)
    @example(last, 0.0, False, True)
    @example(first, 0.0, True, False)
    @example(last + 100, 0.0, False, False)
    def holds(start: float, length: float, opened: bool, endless: bool) -> None:
        window = TimeWindow(None if opened else start, None if endless else start + length)
        windowed = WindowQueries(place, name, question.columns(), window, [])
        compare(place, windowed, question)

    holds()
    assert "derived#" in WindowQueries(place, name, question.columns(), TimeWindow(), []).sql(question)


def test_blocks_are_stored_by_time(place: Workspace) -> None:
    table = measures.load_measure("guest")
    query = MeasureQuery(table, [(table.columns[-1], ["count"])], quote("guest"), ["userid"])
    text = BlockQuery(query, 300.0).block_sql()
    name = place.session.queries.materialize_query(text, {"guest": query.columns()})
    stored = [row[0] for row in place.session.queries.select(f'SELECT block FROM "{name}"', {}).rows]
    assert len(set(stored)) > 2
    assert stored == sorted(stored)


def test_servers_over_session_have_separate_tables(place: Workspace, sim_session: Session) -> None:
    for one, name, by in [(place, *GROUPS[0]), (Workspace(sim_session._core, []), *GROUPS[1])]:
        table = measures.load_measure(name)
        question = MeasureQuery(table, wanted(table, by), quote(name), by)
        compare(one, WindowQueries(one, name, question.columns(), TimeWindow(), []), question)


def test_omitted_groups_are_omitted_from_blocks(place: Workspace) -> None:
    table = measures.load_measure("guest")
    question = MeasureQuery(table, wanted(table, ["userid"]), quote("guest"), ["userid"])
    [userid] = place.session.sql("SELECT min(userid) FROM guest").rows[0]
    windowed = WindowQueries(place, "guest", question.columns(), TimeWindow(), [f"userid = '{userid}'"])
    compare(place, windowed, question)
    assert len(rows(place, windowed, windowed.sql(question))) == 1


def test_short_table_is_scanned(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_queries, "LONG_WINDOW_ROWS", 1_000_000)
    table = measures.load_measure("guest")
    question = MeasureQuery(table, [(table.columns[-1], ["count"])], quote("guest"), ["userid"])
    windowed = WindowQueries(place, "guest", question.columns(), TimeWindow(), [])
    assert windowed.sql(question) == windowed.full_scan_sql(question)


def test_short_window_is_scanned(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    table = measures.load_measure("guest")
    question = MeasureQuery(table, [(table.columns[-1], ["count"])], quote("guest"), ["userid"])
    first, last, count = place.session.sql(
        "SELECT epoch(min(interval_end)), epoch(max(interval_end)), count(*) FROM guest"
    ).rows[0]
    monkeypatch.setattr(window_queries, "LONG_WINDOW_ROWS", count / 2)
    for share, scanned in ((0.2, True), (0.8, False)):
        window = TimeWindow(first, first + share * (last - first))
        windowed = WindowQueries(place, "guest", question.columns(), window, [])
        assert (windowed.sql(question) == windowed.full_scan_sql(question)) == scanned


def test_derived_tables_are_limited(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    from zlens.server import workspace as places

    monkeypatch.setattr(places, "MAX_DERIVED_TABLES", 0)
    table = measures.load_measure("guest")
    question = MeasureQuery(table, [(table.columns[-1], ["count"])], quote("guest"), ["userid"])
    windowed = WindowQueries(Workspace(place.session, []), "guest", question.columns(), TimeWindow(), [])
    assert windowed.sql(question) == windowed.full_scan_sql(question)


def ends(place: Workspace) -> tuple[float, float]:
    [info] = place.session.systems
    assert info.first_us is not None
    assert info.last_us is not None
    return info.first_us / 1e6, info.last_us / 1e6


def rows(place: Workspace, windowed: WindowQueries, sql: str) -> list[tuple[object, ...]]:
    keys = ", ".join(str(one) for one in range(1, 3 + 3))
    found = place.session.queries.select(f"{sql}\nORDER BY {keys}", {windowed.table: windowed.read})
    return found.rows


def compare(place: Workspace, windowed: WindowQueries, question: MeasureQuery) -> None:
    parts, whole = (
        rows(place, windowed, sql) for sql in (windowed.sql(question), windowed.full_scan_sql(question))
    )
    assert len(parts) == len(whole)
    for mine, expected in zip(parts, whole, strict=True):
        for name, one, other in zip([*question.keys(), *question.names()], mine, expected, strict=True):
            assert type(one) is type(other), name
            if isinstance(one, float) and isinstance(other, float):
                assert math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12), name
            else:
                assert one == other, name
