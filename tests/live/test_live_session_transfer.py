"""Tests of a session opened by another process: rows and records, also after its files have grown."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from replay import Pieces, differences, play, split_points

from iterations import quick_subset
from zlens.catalog import measures
from zlens.inputs.options import Options, parse_time_spec
from zlens.live import session_transfer
from zlens.live.watcher import Watcher
from zlens.session.session import CoreSession


def reopened(session: CoreSession, folder: Path) -> CoreSession:
    """Open a session as another process does."""
    folder.mkdir(exist_ok=True)
    data = session_transfer.Published(session)
    numbers = itertools.count()

    def fetch(request: dict[str, Any]) -> str:
        path = folder / f"{next(numbers)}.parquet"
        data.write(request, str(path))
        return str(path)

    return session_transfer.opened(data.description(), str(folder), fetch)


@pytest.mark.parametrize("name", quick_subset(1, ["zldemo.monwrite", "zlzos.smf"]))
def test_transferred_session_equals_original(demo_folder: Path, tmp_path: Path, name: str) -> None:
    path = demo_folder / name
    live = Watcher([Pieces(path, [path.stat().st_size])], findings=False)
    play(live)
    with live.session() as whole, reopened(whole, tmp_path / "copies") as other:
        assert differences(whole, other) == []
        raw = [name for (name, *_) in whole.sql("SHOW TABLES").rows if name not in measures.measure_names()]
        counts = " UNION ALL ".join(f"SELECT '{name}' AS name, count(*) FROM {name}" for name in raw)
        for query in (f"{counts} ORDER BY name", "FROM system", "FROM problem"):
            assert whole.sql(query).rows == other.sql(query).rows
    live.close()


@pytest.mark.long
def test_transferred_part_ignores_growth(demo_folder: Path, tmp_path: Path) -> None:
    path = demo_folder / "zldemo.monwrite"
    live = Watcher([Pieces(path, split_points(path, 4)[:5])], findings=False)
    query = "SELECT count(*), max(tod) FROM d0r2"
    for _ in range(3):
        live.step()
    with live.session() as before:
        expected = before.sql(query).rows
        live.step()
        with reopened(before, tmp_path / "copies") as other:
            assert other.sql(query).rows == expected
            assert differences(before, other, ["load", "cpu"]) == []
        with live.session() as after:
            assert after.sql(query).rows != expected
    live.close()


def test_removed_part_is_error(demo_folder: Path, tmp_path: Path) -> None:
    path = demo_folder / "zldemo.monwrite"
    live = Watcher([Pieces(path, split_points(path, 4)[:5])], findings=False)
    for _ in range(3):
        live.step()
    with live.session() as session:
        live.streams[0].spool.part.unlink()
        with pytest.raises(FileNotFoundError, match="part-00000000"):
            reopened(session, tmp_path / "copies")
    live.close()


@pytest.mark.long
def test_window_of_session(demo_folder: Path, tmp_path: Path) -> None:
    """Only rows of measures that the window needs are fetched."""
    path = demo_folder / "zldemo.monwrite"
    live = Watcher([Pieces(path, split_points(path, 1)[30:31])], findings=False)
    play(live)
    with live.session() as whole, reopened(whole, tmp_path / "copies") as other:
        (info,) = whole.systems
        assert info.first_us is not None
        window = Options(start=parse_time_spec((info.first_us + 1_200_000_000) / 1e6))
        assert 0 < len(other.narrow(window).sql("FROM load").rows) < len(whole.sql("FROM load").rows)
        assert differences(whole.narrow(window), other.narrow(window), ["load", "cpu"]) == []
    live.close()
