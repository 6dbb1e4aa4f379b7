"""Tests that a repeated printed report counts once and is reported, within one file and across files."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from zlens import reports
from zlens.api import Session
from zlens.catalog import listings
from zlens.catalog.reports import definition
from zlens.lake import importer

FOLDER = Path(__file__).parents[2] / "docs" / "published" / "listings"
RMF = ("rmf-cpu-mt.txt", "rmf-workload-mt.txt", "rmf-paging.txt")
PLACES = ("one file", "two files", "lake")


def placed(texts: list[str], place: str, tmp_path: Path) -> list[Path]:
    """Return paths with the texts: one file, separate files, or a lake."""
    if place == "one file":
        texts = ["\n".join(texts)]
    files = [tmp_path / f"{number}.txt" for number in range(len(texts))]
    for path, text in zip(files, texts, strict=True):
        path.write_text(text)
    if place == "lake":
        importer.add([str(path) for path in files], str(tmp_path / "lake"))
        return [tmp_path / "lake"]
    return files


def kinds(session: Session) -> list[str]:
    return sorted({problem.kind for problem in session.problems if problem.kind in ("duplicate", "conflict")})


@pytest.fixture
def user(sim_session: Session) -> str:
    return reports.render("user", sim_session._core)


def cpu(session: Session) -> list[tuple[object, ...]]:
    return session.sql("SELECT userid, sum(cpu_pct) FROM guest GROUP BY ALL ORDER BY ALL").rows


@pytest.mark.parametrize("place", PLACES)
def test_repeated_report_counts_once(user: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "once").mkdir()
    with zlens.open(placed([user], "one file", tmp_path / "once")) as session:
        once = cpu(session)
    with zlens.open(placed([user, user + "\n"], place, tmp_path)) as session:
        assert cpu(session) == once
        assert kinds(session) == ["duplicate"]


@pytest.mark.parametrize("place", PLACES)
def test_another_value_of_subject_is_conflict(user: str, place: str, tmp_path: Path) -> None:
    row = next(line for line in user.splitlines() if line.startswith("LINUX01 "))
    value = row.split()[1]
    line = row.replace(value, value[:-1] + str((int(value[-1]) + 1) % 10), 1)
    changed = user.replace(row, line)
    assert changed != user
    (tmp_path / "other").mkdir()
    with zlens.open(placed([changed], "one file", tmp_path / "other")) as session:
        other = cpu(session)
    (tmp_path / "once").mkdir()
    with zlens.open(placed([user], "one file", tmp_path / "once")) as session:
        once = cpu(session)
    with zlens.open(placed([user, changed], place, tmp_path)) as session:
        # Which one is first in a lake does not depend on the import order.
        assert cpu(session) in ([once, other] if place == "lake" else [once])
        assert "conflict" in kinds(session)


@pytest.mark.parametrize("place", PLACES)
def test_report_continued_after_header_is_not_duplicate(user: str, place: str, tmp_path: Path) -> None:
    lines = user.splitlines(keepends=True)
    heads = next(number for number, line in enumerate(lines) if line.startswith("Userid")) + 1
    rows = [number for number in range(heads, len(lines)) if lines[number].strip()]
    middle = rows[2]
    notes = [line for line in lines if line.startswith("* ")]
    parts = ["".join([*lines[:middle], "\n", *notes]), "".join([*lines[:heads], *lines[middle:]])]
    (tmp_path / "once").mkdir()
    with zlens.open(placed([user], "one file", tmp_path / "once")) as session:
        once = cpu(session)
    with zlens.open(placed(parts, place, tmp_path)) as session:
        assert cpu(session) == once
        assert kinds(session) == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", RMF)
def test_repeated_rmf_page_counts_once(name: str, place: str, tmp_path: Path) -> None:
    text = (FOLDER / name).read_text()
    tables = ("rmf_cpu", "rmf_multithreading", "rmf_workload", "rmf_paging")

    def count(session: Session) -> list[tuple[object, ...]]:
        known = [table for table in tables if any(table in source.tables for source in session._core.sources)]
        return [session.sql(f"SELECT count(*) FROM {table}").rows[0] for table in known]

    with zlens.open(FOLDER / name) as session:
        once = count(session)
    with zlens.open(placed([text, text + "\n"], place, tmp_path)) as session:
        assert count(session) == once
        assert kinds(session) == ["duplicate"]


@pytest.mark.parametrize("place", PLACES)
def test_another_value_of_page_of_rmf_is_conflict(place: str, tmp_path: Path) -> None:
    text = (FOLDER / "rmf-cpu-mt.txt").read_text()
    with zlens.open(placed([text, text.replace("78.23", "78.24")], place, tmp_path)) as session:
        busy = "SELECT lpar_busy_pct FROM rmf_cpu WHERE core_id = 4 AND thread_id = 0"
        # Which one is first in a lake does not depend on the import order.
        assert session.sql(busy).rows in ([(78.23,)], [(78.24,)] if place == "lake" else [(78.23,)])
        assert "conflict" in kinds(session)
        # The unchanged part is not a conflict.
        details = [problem.detail for problem in session.problems if problem.kind == "conflict"]
        assert not any("multithreading" in detail for detail in details)


def test_rmf_rows_on_two_pages_are_read_once(tmp_path: Path) -> None:
    """Pages of one report have consecutive numbers and nine rows each; the total row is on both."""
    text = (FOLDER / "rmf-cpu-mt.txt").read_text()
    title, _, rest = text.partition("\n")
    numbered = [f"{title.rstrip()}   PAGE {number:4}\n{rest}" for number in (1, 2)]
    for pages in (numbered, [*numbered, *numbered]):
        with zlens.open(placed(pages, "one file", tmp_path)) as session:
            assert session.sql("SELECT count(*) FROM rmf_cpu").rows == [(10,)]
            assert kinds(session) == ["duplicate"]


def test_report_table_subjects_are_its_columns() -> None:
    for name, (report, key) in listings.tables().items():
        table = definition.load_report(report).table(key)
        columns = [listings.column_name(column) for column in table.columns]
        assert {*listings.subject(name, columns)} <= {*columns}
        if not table.time and any(column.type in ("id", "text") for column in table.columns):
            assert listings.subject(name, columns), name
