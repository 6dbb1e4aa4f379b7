"""Tests of listings in a lake: results equal those of the files, for any reports."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from iterations import iterations, quick_subset
from lake_builder import Table, differences, tables, tables_of
from zlens import lake, reports
from zlens.api import Session
from zlens.catalog import measures as metrics
from zlens.lake import rollups
from zlens.lake.lake_folder import LakeFolder

PUBLISHED = Path(__file__).parents[2] / "docs" / "published" / "listings"
#: Reports by interval, and reports of the complete time range.
BY_TIME, WHOLE = ("prclog", "physlog", "lparlog"), ("user", "cpu", "upage", "fchannel")


def printed(session: Session, path: Path, names: tuple[str, ...]) -> str:
    path.write_text("\n".join(reports.render(name, session._core) for name in names))
    return str(path)


#: The measures of these reports, which are compared by default.
MEASURES = ("load", "cpu", "guest", "partition", "channel", "paging")


def measures(inputs: str | list[str] | Path) -> dict[str, Table]:
    """Return the measures of an input, except those about files."""
    names = iterations(
        [*metrics.measure_names()], [name for name in metrics.measure_names() if name in MEASURES]
    )
    with zlens.open(inputs) as session:
        return tables_of(session, [name for name in names if name not in ("system", "problem")])


@pytest.mark.parametrize("path", quick_subset(6, sorted(PUBLISHED.glob("*.txt"))), ids=lambda path: path.stem)
def test_published_listing(path: Path, tmp_path: Path) -> None:
    lake.add([str(path)], tmp_path / "lake")
    assert differences(tables(tmp_path / "lake"), tables(str(path))) == []
    assert lake.check(tmp_path / "lake").faults == []


@pytest.mark.long
def test_interval_and_total_reports_in_one_listing(sim_session: Session, tmp_path: Path) -> None:
    both = printed(sim_session, tmp_path / "both.txt", BY_TIME + WHOLE)
    [added], _ = lake.add([both], tmp_path / "lake")
    assert len(set(added.systems)) == len(added.systems)
    assert differences(tables(tmp_path / "lake"), tables(both)) == []
    assert differences(measures(tmp_path / "lake"), measures(both)) == []
    busy = "SELECT source, count(*), avg(busy_pct) FROM cpu GROUP BY source"
    with zlens.open(tmp_path / "lake") as stored, zlens.open(both) as opened:
        assert stored.sql(busy).rows == opened.sql(busy).rows
        assert [source for source, *_ in stored.sql(busy).rows] == ["listing"]
    assert lake.check(tmp_path / "lake").faults == []
    # Rollups use the same clock for both sources.
    into = LakeFolder(tmp_path / "lake")
    [machine] = [one for one in rollups.machines(into, into.load()) if "ZLSIM" in one.systems]
    assert machine.offsets["ZLSIM", "listing"] == machine.offsets["ZLSIM", "listing-means"] == 7200
    # The same with staged inputs.
    lake.stage([both], tmp_path / "stage")
    lake.commit([tmp_path / "stage"], tmp_path / "staged")
    assert differences(tables(tmp_path / "staged"), tables(both)) == []


@pytest.mark.parametrize("order", quick_subset(1, [-1, 1]))
def test_interval_and_total_reports_in_two_listings(sim_session: Session, tmp_path: Path, order: int) -> None:
    files = [
        printed(sim_session, tmp_path / "0.txt", (*BY_TIME, "user")),
        printed(sim_session, tmp_path / "1.txt", WHOLE),
    ]
    for path in files[::order]:
        lake.add([path], tmp_path / "lake")
    # Raw tables of files contain flagged duplicates; a lake omits them.
    assert differences(measures(tmp_path / "lake"), measures(files)) == []
    # `user` is in both listings.
    with zlens.open(tmp_path / "lake") as session:
        ((count, guests),) = session.sql("SELECT count(*), count(DISTINCT userid) FROM guest").rows
        assert count == guests > 0
