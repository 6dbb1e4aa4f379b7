"""Tests of the compile cache, which processes share: it is never stale and never required."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zlens
from fakes import HEADER, FakeSource, FakeTable, intervals, session, system
from iterations import quick_subset
from zlens.api import Session
from zlens.catalog import layouts, user_roles
from zlens.catalog.raw_columns import RawColumn
from zlens.compiler import compile_cache
from zlens.compiler.plan import Compiler
from zlens.engine import statement_reads
from zlens.engine.planner import Planner
from zlens.engine.prepared_query import PreparedQuery
from zlens.errors import QueryError
from zlens.schema import cache

QUESTIONS = (
    "SELECT system, busy_pct, interval_end FROM load ORDER BY system, interval_end",
    "SELECT * FROM cpu ORDER BY ALL",
    "SELECT userid, sum(cpu_s)::DECIMAL(18, 4) AS s, max(interval_end) FROM guest GROUP BY 1 ORDER BY 1",
    "SELECT cpu_type, avg(cpi), count(*) FROM cpumf_type GROUP BY 1 ORDER BY 1",
    "SELECT 1 AS a, 2 AS a -- twice",
    "SELECT count(*) FROM role.processor;",
    "SELECT kind, detail FROM problem ORDER BY detail",
)


@pytest.fixture
def files(demo_files: list[Path]) -> list[Path]:
    return demo_files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "_root", lambda *_: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the compiled nodes."""
    names: list[str] = []
    real = Compiler._compile

    def compiling(self: Compiler, name: str, *args: Any, **options: Any) -> Any:
        names.append(name)
        return real(self, name, *args, **options)

    monkeypatch.setattr(Compiler, "_compile", compiling)
    return names


def answers(files: list[Path]) -> list[tuple[list[str], list[str], list[tuple[Any, ...]]]]:
    with zlens.open(files) as opened:
        results = [opened.sql(question) for question in QUESTIONS]
        return [(each.columns, each.types, each.rows) for each in results]


@pytest.mark.long
def test_second_process_uses_cache(
    files: list[Path], compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = answers(files)
    assert {"load", "cpu", "guest", "cpumf_type"} <= {*compiled}
    compiled.clear()

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("worked out again")

    monkeypatch.setattr(Planner, "reads", refused)
    monkeypatch.setattr(compile_cache.CompileCache, "write", refused)
    assert answers(files) == first
    assert {*compiled} <= {"event"}


def test_names_are_cached_after_other_statements(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    question, other = QUESTIONS[0], QUESTIONS[2]
    with zlens.open(files[:1]) as opened:
        opened.sql(question)
        first = [answer.rows for answer in opened._core.answers([question, other])]
    parsed: list[str] = []
    real = statement_reads.parse
    monkeypatch.setattr(
        statement_reads,
        "parse",
        lambda cursor, query, *others: parsed.append(query) or real(cursor, query, *others),
    )
    with zlens.open(files[:1]) as opened:
        [*opened._core.queries.stages([question, other])]
        assert not parsed
        assert [answer.rows for answer in opened._core.answers([question, other])] == first


@pytest.mark.long
def test_result_shape_is_bound_once(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first = answers(files)
    bound: list[str] = []
    real = PreparedQuery.bind
    monkeypatch.setattr(
        PreparedQuery,
        "bind",
        lambda cursor, text, working=None: bound.append(text) or real(cursor, text, working),
    )
    assert answers(files) == first
    # The rows of zlens' own SELECTs are bound where they are read.
    users = [text for text in bound if "answer#" not in text]
    assert len(users) == 2, "one with a star, and one with a semicolon"


@pytest.mark.parametrize("damage", quick_subset(1, [b"x" * 40, b"damaged", b""]))
def test_damaged_cache_entries_are_recomputed(files: list[Path], folder: Path, damage: bytes) -> None:
    first = answers(files[:1])
    entries = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.parent.name for path in entries} == {"plans", "statements"}
    for path in entries:
        path.write_bytes(damage)
    assert answers(files[:1]) == first


def with_columns(*names: str) -> Session:
    info = system()
    info.intervals = intervals(2)
    rows = [
        (info.system, info.source, "file", 0, end.end_us, end.end_us, end.seconds, None, *names)
        for end in info.intervals
    ]
    columns = (*HEADER, *(RawColumn(name, "text", "", name) for name in names))
    return session([FakeSource([info], [FakeTable("d9r99", columns, rows)])])


def test_raw_table_columns_are_part_of_cache_key(compiled: list[str]) -> None:
    for names in (("first",), ("second", "third"), ("first",)):
        with with_columns(*names) as opened:
            result = opened.sql("SELECT * FROM d9r99 LIMIT 1")
            assert result.columns[-len(names) :] == [*names]
            assert result.rows[0][-len(names) :] == names
    with with_columns("second") as opened, pytest.raises(QueryError, match="first"):
        opened.sql("SELECT first FROM d9r99")


def test_changed_catalog_file_changes_digest(tmp_path: Path) -> None:
    for name in ("a/b.toml", "a/c.py", "d.sql", "a/__pycache__/e.py", "f.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one")

    def stamp() -> str:
        return compile_cache.catalog_digest.__wrapped__(str(tmp_path))

    stamps = {stamp()}
    (tmp_path / "a/b.toml").write_text("four")
    stamps.add(stamp())
    (tmp_path / "a/c.py").unlink()
    stamps.add(stamp())
    before = (tmp_path / "d.sql").stat()
    os.utime(tmp_path / "d.sql", ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    stamps.add(stamp())
    assert len(stamps) == 4
    (tmp_path / "f.txt").write_text("other")
    (tmp_path / "a/__pycache__/e.py").write_text("other")
    assert stamp() in stamps


def test_user_roles_are_part_of_cache_key(
    files: list[Path], compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path))
    assert layouts.pack_root().parent == tmp_path
    answers(files[:1])
    compiled.clear()
    answers(files[:1])
    assert not compiled
    user_roles.path().write_text("# nothing yet\n")
    answers(files[:1])
    assert "load" in compiled


def test_missing_cache_folder_recomputes_all(files: list[Path], folder: Path) -> None:
    first = answers(files[:1])
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    folder.rmdir()
    folder.write_text("a file")
    assert answers(files[:1]) == first


def test_cached_shape_does_not_change_rows(
    files: list[Path],
) -> None:
    """Without a cached shape tables are bound as views, with one as a WITH clause before the query."""
    questions = (
        "SELECT userid, vcpu, cpu_s FROM guest_cpu WHERE cpu_s > 0 ORDER BY 1, 2, interval_end LIMIT 50",
        "WITH guest AS (SELECT 1 AS one) SELECT one FROM guest",
        "SELECT a.userid, b.cpu_s FROM guest AS a JOIN guest AS b USING (interval_end, userid) ORDER BY 1, 2",
        "SELECT userid AS x, userid AS x FROM guest ORDER BY 1 LIMIT 3",
        "SELECT cpu_id, count(*) FROM role.processor GROUP BY cpu_id ORDER BY cpu_id DESC",
    )
    first, second = (
        [(each.columns, each.types, each.rows) for each in map(opened.sql, questions)]
        for opened in (zlens.open(files[:1]), zlens.open(files[:1]))
    )
    assert first == second
    assert all(rows for _, _, rows in first)
