"""Tests of errors for a lake damaged while it is served: they do not disclose its path."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import zlens
from conftest import Serve
from iterations import quick_subset
from zlens import lake


@pytest.fixture(scope="module")
def whole(sim_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake_path = tmp_path_factory.mktemp("whole") / "lake"
    lake.add([str(sim_file)], lake_path)
    return lake_path


def cut(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(40)


def scramble(path: Path) -> None:
    """Overwrite the Parquet pages but not the footer, which lists them."""
    data = bytearray(path.read_bytes())
    foot = int.from_bytes(data[-8:-4], "little") + 8
    data[4:-foot] = bytes(byte ^ 0x5A for byte in data[4:-foot])
    path.write_bytes(data)


@pytest.mark.parametrize("damage", quick_subset(1, [scramble, Path.unlink, cut]))
@pytest.mark.parametrize("is_read_before", [False, True])
def test_errors_do_not_disclose_lake_path(
    serve_over: Serve, whole: Path, tmp_path: Path, damage: Callable[[Path], None], is_read_before: bool
) -> None:
    lake_path = tmp_path / "secret" / "lake"
    shutil.copytree(whole, lake_path)
    session = zlens.open(lake_path)
    with serve_over(session, [str(lake_path)]) as served:
        if is_read_before:
            assert served.post("sql", query="SELECT count(file) FROM d0r2").status_code == 200
        for path in lake_path.rglob("*.parquet"):
            damage(path)
        answers = [
            served.post("sql", query="SELECT sum(sytprp_pfxutime) FROM d0r2"),
            served.post("sql", query="SELECT avg(busy_pct) FROM cpu"),
            served.get("problems"),
            served.get("findings"),
            served.get("report", name="prclog"),
        ]
        assert {answer.status_code for answer in answers[:2]} <= {400, 410}
        for answer in answers:
            assert answer.status_code != 500
            assert "secret" not in answer.text
        assert "lake" in answers[0].json()["error"]["message"] + answers[0].json()["error"]["cure"]
        assert "zlens lake check" in answers[0].json()["error"]["cure"]
