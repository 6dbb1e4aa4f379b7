"""Tests of the JSON of zmemtopo. Its values are those of the examples in its manual (s390-tools)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import KINDS
from zlens.readers.linux import zmemtopo
from zlens.readers.linux.readings import ReadingSource
from zlens.session.session import CoreSession

START_S = 1_750_000_000
#: Gigabytes of a container of level 3, and the number of the container of level 4 with the four of them.
PARTITIONS = {"LPAR003": (3, 2, 0), "LPAR005": (5, 2, 1), "LPAR006": (6, 2, 3), "LPAR013": (13, 12, 2)}


def partition(name: str) -> dict[str, Any]:
    number, size, book = PARTITIONS[name]
    topology = [
        {
            "level": 4,
            "entry_idx": outer,
            "increment_count": 4 * size if outer == book else 0,
            "topology": [
                {"level": 3, "entry_idx": inner, "increment_count": size if outer == book else 0}
                for inner in range(4)
            ],
        }
        for outer in range(4)
    ]
    return {"partition_nr": number, "partition_name": name, "topology": topology}


def meta(second: int = 0) -> dict[str, Any]:
    return {"meta": {"api_level": "1", "host": "lnx1", "time_epoch": f"{START_S + second}"}}


TOPOLOGY = {
    "report_tod": "0x0e082f7f6d8da64000",
    "report_partition_nr": 5,
    "increment_size": 1 << 30,
    "partitions": [partition(name) for name in PARTITIONS],
}


def as_json(second: int = 0) -> str:
    return json.dumps({**meta(second), "zmemtopo": TOPOLOGY}, indent=2)


def as_lines(*, separator: str = "") -> str:
    return "".join(f"{separator}{json.dumps(one)}\n" for one in (meta(), TOPOLOGY))


def opened(path: Path, text: str) -> ReadingSource:
    path.write_text(text)
    return zmemtopo.open_files([str(path)], Options())


@pytest.mark.parametrize("text", [as_json(), as_lines(), as_lines(separator="\x1e")])
def test_zmemtopo_memory_of_partitions(text: str, tmp_path: Path) -> None:
    """The manual prints a sum of 8, 8, 8 and 48 GB."""
    path = tmp_path / "m"
    path.write_text(text)
    with CoreSession([str(path)]) as session:
        query = "SELECT partition, memory_bytes FROM partition_use ORDER BY partition"
        assert [tuple(row) for row in session.sql(query).rows] == [
            ("LPAR003", 8.0 * 2**30),
            ("LPAR005", 8.0 * 2**30),
            ("LPAR006", 8.0 * 2**30),
            ("LPAR013", 48.0 * 2**30),
        ]
        query = "SELECT level, depth, path, increments, own_number FROM zmemtopo WHERE name = 'LPAR013'"
        assert [tuple(row) for row in session.sql(f"{query} AND increments > 0").rows] == [
            (4, 1, "2", 48, 5),
            *((3, 2, f"2/{inner}", 12, 5) for inner in range(4)),
        ]
        assert session.problems == []


def test_runs_of_zmemtopo_have_their_times(tmp_path: Path) -> None:
    source = opened(tmp_path / "m", as_json() + as_json(60))
    assert [reading.tod - START_S * 10**6 for reading in source.readings] == [0, 60_000_000]
    assert source.problems() == []


def test_truncated_zmemtopo_output_keeps_partitions(tmp_path: Path) -> None:
    source = opened(tmp_path / "m", as_json()[:-200])
    names = dict.fromkeys(row["name"] for row in source.readings[0].rows["zmemtopo"])
    assert [*names] == [*PARTITIONS][:3]
    assert [problem.kind for problem in source.problems()] == ["truncated"]


def test_zmemtopo_without_time_is_not_read(tmp_path: Path) -> None:
    """The time of the machine is not used: its bytes are printed without leading zeros."""
    with pytest.raises(InputError, match="no memory reading"):
        opened(tmp_path / "m", json.dumps({"zmemtopo": TOPOLOGY}))


def test_damaged_values_of_zmemtopo_are_null(tmp_path: Path) -> None:
    topology = {
        **TOPOLOGY,
        "partitions": [7, {"partition_nr": "x", "topology": [1, {"entry_idx": [], "level": -1}]}],
    }
    source = opened(tmp_path / "m", json.dumps({**meta(), "zmemtopo": topology}))
    (row,) = source.readings[0].rows["zmemtopo"]
    assert row == {
        "increment_bytes": 1 << 30, "own_number": 5, "number": None, "name": None, "level": None, "depth": 1,
        "path": ".", "increments": None,
    }  # fmt: skip
    assert [problem.detail for problem in source.problems()] == ["'7' is not a partition; not read"]


@given(st.text(max_size=100), st.integers(0, 1500))
def test_any_zmemtopo_text_gives_rows_or_problems(text: str, at: int) -> None:
    notes: list[str] = []
    for whole in (as_json(), as_lines()):
        damaged = whole[:at] + text + whole[at:]
        if zmemtopo.TOOL.form(damaged):
            for reading in zmemtopo.TOOL.readings(damaged, "json", lambda kind, *_: notes.append(kind)):
                assert 0 <= reading.offset < len(damaged)
    assert set(notes) <= {*KINDS}
