"""Tests of conditions on event kinds: only these kinds are read, and results stay the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from iterations import quick_subset
from zlens import demo
from zlens.api import Session
from zlens.catalog.resets import KIND as RESET
from zlens.inputs.options import Options, parse_time_spec, parse_zone

VARY = "vary off processor"
#: Statements on `event` and the kinds that they require: 2 for VARY and logon, None for all.
STATEMENTS = [
    (f"SELECT * FROM event WHERE kind = '{VARY}'", {VARY}),
    (f"SELECT e.* FROM event AS e WHERE e.kind = '{VARY}' AND e.subject <> ''", {VARY}),
    (f"SELECT time FROM event WHERE subject <> '' AND (time IS NOT NULL AND kind IN ('{VARY}', 'logon'))", 2),
    (
        f"WITH a AS (SELECT * FROM event WHERE kind = '{VARY}') "
        "SELECT kind, time FROM a UNION ALL SELECT kind, time FROM event WHERE kind = 'logon'",
        2,
    ),
    ("SELECT count(*) FROM event WHERE kind = 'no such thing'", {"no such thing"}),
    (f"SELECT count(*) FROM event WHERE kind = '{RESET}'", {RESET}),
    (f"SELECT system FROM load WHERE system NOT IN (SELECT system FROM event WHERE kind = '{VARY}')", {VARY}),
    (f"SELECT kind FROM event WHERE kind = '{VARY}' OR inferred", None),
    (f"SELECT kind FROM event WHERE NOT kind = '{VARY}'", None),
    (f"SELECT kind FROM event WHERE kind <> '{VARY}'", None),
    (f"SELECT kind FROM event WHERE kind = '{VARY}' OR kind = 'logon'", None),
    ("SELECT kind FROM event WHERE kind IN ('logon', subject)", None),
    ("SELECT a.kind FROM event AS a, (SELECT 'logon' AS kind) AS e WHERE e.kind = 'logon'", None),
    (
        "SELECT count(*) FROM event AS e WHERE EXISTS "
        "(SELECT 1 FROM event AS i WHERE e.kind = 'logon' AND i.subject = e.subject)",
        None,
    ),
    (
        "SELECT (SELECT count(*) FROM event) AS all_kinds, count(*) "
        "FROM (SELECT column_name AS kind FROM (DESCRIBE event)) WHERE kind = 'logon'",
        None,
    ),
    ("SELECT (SELECT count(*) FROM event), count(*) FROM (DESCRIBE event) WHERE column_name = 'kind'", None),
    ("SELECT count(*) FROM event AS e(a, b, c, kind2, kind) WHERE kind = 'logon'", None),
    (
        "SELECT count(*) FROM event AS a WHERE kind = 'logon' "
        "AND subject IN (SELECT subject FROM event AS b WHERE a.system = b.system)",
        None,
    ),
    ("SELECT kind, count(*) FROM event GROUP BY kind HAVING kind = 'logon'", None),
]


@pytest.fixture
def open_session(demo_files: list[Path]) -> Iterator[Session]:
    with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as opened:
        yield opened


@pytest.fixture(scope="module")
def every(demo_files: list[Path]) -> Iterator[Session]:
    """A session whose events of all kinds are materialized."""
    with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as opened:
        rows = opened.sql("SELECT * FROM event").rows
        columns = ("system", "source", "time", "kind", "subject", "inferred")
        assert [*opened._core.queries.materialize({"event": columns})] == ["event"]
        kinds = Counter(row[3] for row in rows)
        assert kinds[VARY]
        assert kinds["logon"]
        yield opened


@pytest.mark.parametrize(("query", "kinds"), quick_subset(8, STATEMENTS, several=True))
def test_result_does_not_depend_on_known_event_kinds(
    query: str, kinds: object, open_session: Session, every: Session
) -> None:
    assert Counter(open_session.sql(query).rows) == Counter(every.sql(query).rows)


@pytest.mark.parametrize(("query", "kinds"), quick_subset(8, STATEMENTS, several=True))
def test_only_selected_event_kinds_are_read(
    query: str, kinds: object, open_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = open_session._core.queries.compiler
    seen: list[set[str] | None] = []
    events = compiler._events

    def spied(wanted, of):
        seen.append(of)
        return events(wanted, of)

    monkeypatch.setattr(compiler, "_events", spied)
    open_session.sql(query).rows  # noqa: B018
    assert seen
    assert all(of == ({VARY, "logon"} if kinds == 2 else kinds) for of in seen)


def test_resets_are_read_only_if_selected(open_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    for source in open_session._core.sources:

        def resets(source=source, found=source.resets):
            looked.append(source.name)
            return found()

        monkeypatch.setattr(source, "resets", resets)
    assert open_session.sql(f"SELECT * FROM event WHERE kind = '{VARY}'").rows
    assert [*open_session._core.answers([f"SELECT system FROM event WHERE kind = '{VARY}'"])]
    assert open_session._core.queries.select_together(
        [f"SELECT system FROM event WHERE kind IN ('{VARY}')"]
    ) != [[]]
    assert not looked
    open_session.sql("SELECT * FROM event WHERE kind = 'counters were reset'").rows  # noqa: B018
    assert looked


@pytest.mark.parametrize(
    ("first", "last"), [("09:15", None), ("09:10", "09:14"), (None, "08:55"), ("08:30", "09:30")]
)
def test_resets_of_selected_times_only(demo_folder: Path, first: str | None, last: str | None) -> None:
    """Resets are selected by interval, like all other events."""
    path = demo_folder / "zldemo.monwrite"
    question = f"SELECT time, subject, record FROM event WHERE kind = '{RESET}' ORDER BY ALL"
    with zlens.open(path) as session:
        every = session.sql(question).rows
    options = Options(
        start=None if first is None else parse_time_spec(f"2010-03-09 {first}"),
        end=None if last is None else parse_time_spec(f"2010-03-09 {last}"),
    )
    with zlens.open(path, options=options) as session:
        spans = session.sql("SELECT interval_start, interval_end FROM interval").rows
        found = session.sql(question).rows
    assert found == [row for row in every if any(start < row[0] <= end for start, end in spans)]
    assert (found == every) == ((first, last) == ("08:30", "09:30"))
