"""Tests of power readings of zpwr. The values are those of the example in its manual (s390-tools)."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iterations import draws, iterations
from zlens.cli import main
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import KINDS
from zlens.readers.linux import zpwr
from zlens.readers.linux.readings import ReadingSource
from zlens.readers.row_tables import RowTable
from zlens.session.session import CoreSession

NAMES = ("cpu", "storage", "io", "total", "unassigned_resources", "infrastructure")
EXAMPLE = dict(
    zip(
        NAMES, (140_000_000, 1_719_200, 40_000_000, 15_406_000_000, 7_578_848_100, 5_283_946_300), strict=True
    )
)
START_S = 1_750_000_000


def reading(iteration: int, second: int, **changed: Any) -> dict[str, Any]:
    values = {name: "" if value is None else str(value) for name, value in {**EXAMPLE, **changed}.items()}
    return {
        "iteration": str(iteration), "time": "2025-06-15 15:06:40", "time_epoch_sec": str(START_S + second),
        "time_epoch_nsec": "500000000", "update_interval": "10000000000",
        "lpar": {name: values[name] for name in NAMES[:3]}, "cpc": {name: values[name] for name in NAMES[3:]},
    }  # fmt: skip


READINGS = [
    reading(1, 0),
    reading(1, 5),
    reading(2, 10, cpu=150_000_000, total=None, unassigned_resources=None, infrastructure=None),
]


META = {"meta": {"version": "2.38.0", "host": "lnx1"}}


def as_json(readings: list[dict[str, Any]] = READINGS) -> str:
    """Return the text that zpwr prints: its objects lpar and cpc are in brackets of lists."""
    text = json.dumps({**META, "zpwr": readings}, indent=2)
    return re.sub(r'("(?:lpar|cpc)": )\{([^}]*)\}', r"\1[\2]", text)


def as_lines(*, separator: str = "") -> str:
    return "".join(f"{separator}{json.dumps(one)}\n" for one in (META, *READINGS))


def as_csv(readings: list[dict[str, Any]] = READINGS) -> str:
    rows = [
        {**{k: v for k, v in one.items() if k not in ("lpar", "cpc")}, **one["lpar"], **one["cpc"]}
        for one in readings
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0]], quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def opened(path: Path, text: str) -> ReadingSource:
    path.write_text(text)
    return zpwr.open_files([str(path)], Options())


def rows_of(source: ReadingSource) -> list[dict[str, Any]]:
    (table,) = source.tables["linux_power"]
    assert isinstance(table, RowTable)
    return [*table.rows]


@pytest.mark.parametrize(
    "text",
    [as_json(), json.dumps({"zpwr": READINGS}), as_lines(), as_lines(separator="\x1e"), as_csv()],
    ids=["json", "objects", "jsonl", "json-seq", "csv"],
)
def test_power_of_manual_in_watts(text: str, tmp_path: Path) -> None:
    """The power of all partitions is what is left: 15.41 - 7.58 - 5.28 = 2.54 kW."""
    path = tmp_path / "power.txt"
    path.write_text(text)
    with CoreSession([str(path)]) as session:
        query = (
            "SELECT power_w, partition_power_w, infrastructure_power_w, unassigned_power_w FROM environment"
        )
        (machine,) = session.sql(query).rows
        assert machine == pytest.approx((15406.0, 2543.2, 5283.9, 7578.8), abs=0.1)
        query = "SELECT power_w, processor_power_w, memory_power_w, io_power_w FROM partition_use"
        assert [tuple(row) for row in session.sql(f"{query} ORDER BY interval_end").rows] == [
            pytest.approx((181.7192, 140.0, 1.7192, 40.0)),
            pytest.approx((191.7192, 150.0, 1.7192, 40.0)),
        ]
        assert session.problems == []


def test_zpwr_system_is_host_or_file(tmp_path: Path) -> None:
    assert opened(tmp_path / "a.json", as_json()).systems[0].system == "lnx1"
    assert opened(tmp_path / "a.csv", as_csv()).systems[0].system == "unknown-a"


def test_reading_of_two_files_counts_once(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    first.write_text(as_json(READINGS[:1]))
    second.write_text(as_json(READINGS))
    third.write_text(as_json([reading(1, 0, cpu=1)]))
    source = zpwr.open_files([str(first), str(second), str(third)], Options())
    assert [(row["tod"] - START_S * 10**6) / 10**6 for row in rows_of(source)] == [0.5, 10.5]
    assert [problem.kind for problem in source.problems()] == ["duplicate", "conflict"]


@pytest.mark.parametrize("form", [as_json, as_csv])
def test_truncated_zpwr_output_keeps_readings(form: Any, tmp_path: Path) -> None:
    source = opened(tmp_path / "x", form()[:-30])
    assert len(rows_of(source)) == 1
    assert [problem.kind for problem in source.problems()] == ["truncated"]


@pytest.mark.parametrize(
    "changed", [{"time_epoch_sec": ""}, {"time_epoch_sec": "99999999999"}, {"lpar": {}, "cpc": {}}]
)
def test_reading_without_time_or_values(changed: dict[str, Any], tmp_path: Path) -> None:
    source = opened(tmp_path / "x", as_json([reading(1, 0), {**reading(2, 10), **changed}]))
    assert len(rows_of(source)) == 1
    assert [problem.kind for problem in source.problems()] in (["time"], ["header"])
    with pytest.raises(InputError, match="no power reading"):
        opened(tmp_path / "x", as_json([{**reading(2, 10), **changed}]))


@given(st.text(max_size=100), st.integers(0, 900))
def test_any_zpwr_text_gives_rows_or_problems(text: str, at: int) -> None:
    notes: list[str] = []
    for parse, whole in ((zpwr._json, as_json()), (zpwr._json, as_lines()), (zpwr._csv, as_csv())):
        for damaged in (text, whole[:at] + text + whole[at:]):
            for offset, values in parse(damaged, lambda kind, *_: notes.append(kind)):
                assert 0 <= offset < len(damaged)
                assert isinstance(values, dict)
    assert set(notes) <= {*KINDS}


@pytest.mark.parametrize("seed", range(iterations(50, 5)))
def test_random_power_values_are_read(seed: int, tmp_path: Path) -> None:
    random = draws(seed)
    known = [
        {name: random.choice([None, 0, random.randrange(2**45)]) for name in NAMES} | {"io": 1}
        for _ in range(5)
    ]
    readings = [reading(n, 10 * n, **values) for n, values in enumerate(known)]
    for text in (as_json(readings), as_csv(readings)):
        source = opened(tmp_path / "x", text)
        assert [{name: row[name] for name in NAMES} for row in rows_of(source)] == known


def test_power_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x"
    path.write_text(as_json())
    assert main(["report", "power", str(path)]) == 0
    report = capsys.readouterr().out
    assert "lnx1                    15406       2543           5284       7579" in report
    assert "lnx1                    191.7      150.0      1.7     40.0" in report
