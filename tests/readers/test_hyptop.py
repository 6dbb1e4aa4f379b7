"""Tests of the JSON of hyptop. The values of the partition are those of the example in its manual."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlens.cli import main
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import KINDS
from zlens.readers.linux import hyptop
from zlens.readers.linux.readings import ReadingSource
from zlens.session.session import CoreSession

START_S = 1_730_787_834
META = {"meta": {"api_level": 1, "version": "2.35.0", "host": "mylpar.local", "time_epoch": START_S}}
PARTITION = {
    "system": "MYLPAR", "#core": 30, "#the": 60, "core": 379.57, "the": 382.43, "smt": 294.73, "mgm": 2.09,
    "core+": "1503:13", "the+": "2060:45", "mgm+": "22:19", "online": "18:18:09",
}  # fmt: skip
GUEST = {
    "system": "LNX00001", "#cpu": 4, "#cpuop": 2, "cpu": 150.25, "cpu+": 7200000000, "online": "3:00:01",
    "memuse": 1.5, "memmax": 4.00, "wcur": 100, "wmax": 0,
}  # fmt: skip
CORE = {
    "coreid": 0,
    "type": "IFL",
    "core": 12.65,
    "the": 12.75,
    "smt": 9.8,
    "mgm": 0.07,
    "online": "18:18:09",
}


def iteration(number: int, second: int, **parts: Any) -> dict[str, Any]:
    types = {"ifl": 124, "cp": 1, "un": 0}
    return {"iteration": number, "time_epoch": START_S + second, "cputypes": types, **parts}


ITERATIONS = [
    iteration(0, 0, systems=[PARTITION], summary={}),
    iteration(
        1, 4, systems=[{**PARTITION, "core": 200.0, "mgm": 4.0}, {**PARTITION, "system": "B", "core": 0.0}]
    ),
]
PHYSICAL = {"system": "#root", "#core": 125, "mgm": 250.5, "mgm+": "1:00"}
OTHERS = [
    iteration(0, 8, physical_information=PHYSICAL, systems=[], cpus=[CORE]),
    iteration(0, 9, systems=[GUEST]),
]


def as_json(iterations: list[dict[str, Any]] = ITERATIONS) -> str:
    return json.dumps({**META, "hyptop": iterations}, indent=2)


def as_lines(iterations: list[dict[str, Any]] = ITERATIONS, *, separator: str = "") -> str:
    return "".join(f"{separator}{json.dumps(one)}\n" for one in (META, *iterations))


def opened(path: Path, text: str) -> ReadingSource:
    path.write_text(text)
    return hyptop.open_files([str(path)], Options())


@pytest.mark.parametrize("text", [as_json(), as_lines(), as_lines(separator="\x1e")])
def test_hyptop_partitions_have_dispatched_time(text: str, tmp_path: Path) -> None:
    """Times per second are times of the interval: 379.57 % of the first second, 200 % of 4 seconds."""
    path = tmp_path / "h"
    path.write_text(text)
    with CoreSession([str(path)]) as session:
        query = "SELECT partition, status, effective_s, total_s, seconds FROM partition"
        assert [tuple(row) for row in session.sql(f"{query} ORDER BY interval_end, partition").rows] == [
            ("MYLPAR", "Active", pytest.approx(3.7957), pytest.approx(3.8166), 1.0),
            ("B", None, 0.0, pytest.approx(0.0836), 4.0),
            ("MYLPAR", "Active", pytest.approx(8.0), pytest.approx(8.16), 4.0),
        ]
        assert [system.system for system in session.systems] == ["mylpar.local"]
        assert session.problems == []


def test_hyptop_rate_of_another_unit_is_null(tmp_path: Path) -> None:
    """In milliseconds per second, 379.57 % are 3795.7, more than the 30 cores have percent."""
    path = tmp_path / "h"
    path.write_text(as_json([iteration(0, 0, systems=[{**PARTITION, "core": 3795.7, "mgm": 20.9}])]))
    with CoreSession([str(path)]) as session:
        assert [tuple(row) for row in session.sql("SELECT effective_s, total_s FROM partition").rows] == [
            (None, None)
        ]
        assert [tuple(row) for row in session.sql("SELECT core FROM hyptop_partition").rows] == [(3795.7,)]


def test_hyptop_guests_and_cores_as_recorded(tmp_path: Path) -> None:
    path = tmp_path / "h"
    path.write_text(as_json(OTHERS))
    with CoreSession([str(path)]) as session:
        columns = "name, cpus, operating_cpus, cpu_time, management, cpu_total, online, memory_used, weight"
        query = f"SELECT {columns} FROM hyptop_guest"
        assert [tuple(row) for row in session.sql(query).rows] == [
            ("LNX00001", 4, 2, 150.25, None, "7200000000", "3:00:01", 1.5, 100)
        ]
        query = "SELECT cpu, type, core, thread, smt, management, cpu_time FROM hyptop_cpu"
        assert [tuple(row) for row in session.sql(query).rows] == [(0, "IFL", 12.65, 12.75, 9.8, 0.07, None)]
        query = "SELECT ifl, cp, un, cores, management, management_total FROM hyptop_machine ORDER BY tod"
        assert [tuple(row) for row in session.sql(query).rows] == [
            (124, 1, 0, 125, 250.5, "1:00"),
            (124, 1, 0, None, None, None),
        ]


def test_second_run_of_hyptop_begins_again(tmp_path: Path) -> None:
    """A run that is appended to another has waited for a second, too."""
    later = [iteration(0, 60, systems=[PARTITION])]
    for text in (as_json() + as_json(later), as_lines() + as_lines(later)):
        source = opened(tmp_path / "h", text)
        assert [reading.seconds for reading in source.readings] == [1.0, 4.0, 1.0]
        assert source.problems() == []


def test_truncated_hyptop_output_keeps_iterations(tmp_path: Path) -> None:
    for text in (as_json(), as_lines()):
        source = opened(tmp_path / "h", text[:-60])
        assert len(source.readings) == 1
        assert [problem.kind for problem in source.problems()] == ["truncated"]


@pytest.mark.parametrize("damage", [{"time_epoch": None}, {"time_epoch": 10**12}, {"systems": ["B"]}])
def test_damaged_iteration_of_hyptop(damage: dict[str, Any], tmp_path: Path) -> None:
    source = opened(tmp_path / "h", as_json([ITERATIONS[0], {**ITERATIONS[1], **damage}]))
    (problem,) = source.problems()
    assert problem.kind == ("header" if "systems" in damage else "time")
    assert problem.offset == source.readings[-1].offset or problem.kind == "time"
    with pytest.raises(InputError, match="no hypervisor reading"):
        opened(tmp_path / "h", as_json([{**ITERATIONS[1], "time_epoch": None}]))


def test_hyptop_cells_of_wrong_type_are_null(tmp_path: Path) -> None:
    cells = {
        "system": {},
        "#core": -1,
        "core": "x",
        "the": True,
        "mgm": math.nan,
        "core+": [1],
        "smt": -1,
    }
    source = opened(tmp_path / "h", as_json([iteration(0, 0, systems=[cells])]))
    (row,) = source.readings[0].rows["hyptop_partition"]
    assert {*row.values()} == {None}


@given(st.text(max_size=100), st.integers(0, 900))
def test_any_hyptop_text_gives_rows_or_problems(text: str, at: int) -> None:
    notes: list[str] = []
    for whole in (as_json(), as_lines()):
        for damaged in (text, whole[:at] + text + whole[at:]):
            for reading in hyptop.TOOL.readings(damaged, "json", lambda kind, *_: notes.append(kind)):
                assert 0 <= reading.offset < len(damaged)
    assert set(notes) <= {*KINDS}


def test_hyptop_partitions_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "h"
    path.write_text(as_json(ITERATIONS[:1]))
    assert main(["report", "partition", str(path)]) == 0
    report = capsys.readouterr().out
    assert (
        "06:23:54 MYLPAR     .... Active      ...... ..... ..... .... ..... .....      3.796      3.817"
        in report
    )
