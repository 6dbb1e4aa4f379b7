"""Tests of the numbers and settings of logical processors in systems with multithreading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens.api import Session
from zlens.cli import main
from zlens.errors import ScenarioError
from zlens.models import solve

#: IBM, z/VM 6.4 Performance, Non-SMT, SMT-1, and SMT-2: processors of four IFL cores.
NUMBERS = {"non-SMT": [0, 1, 2, 3], "SMT-1": [0, 2, 4, 6], "SMT-2": [0, 1, 2, 3, 4, 5, 6, 7]}


def scenario(smt: str, cores: dict[str, int], **settings: Any) -> dict[str, Any]:
    """Return a system whose users always want all processors."""
    common = {"name": "ZVM1", "weight": 100, "zvm": "7.4", "smt": smt, **settings}
    return {
        "model": "system",
        "processors": dict(cores),
        "partition": [{**common, "type": kind, "cores": count} for kind, count in cores.items()],
        "user": [
            {"name": f"U{kind}", "type": kind, "relative": 100, "virtual_cpus": 2 * count}
            for kind, count in cores.items()
        ],
        "simulation": {"seconds": 120, "interval": 60, "start": "2026-03-02T08:00:00Z"},
    }


def simulated(values: dict[str, Any], folder: Path) -> Session:
    zlens.simulate(values, folder / "smt.data")
    return zlens.open([folder / "smt.data"])


@pytest.mark.parametrize("smt", NUMBERS)
def test_processor_numbers_are_those_published(smt: str, tmp_path: Path) -> None:
    values = scenario(smt, {"IFL": 4}, mode="Linux-only")
    with simulated(values, tmp_path) as session:
        used = session.sql("SELECT DISTINCT cpu_id FROM cpu WHERE busy_pct > 90 ORDER BY 1").rows
        configured = session.sql("SELECT cpu_id FROM role.processor_configuration ORDER BY 1").rows
        status = session.sql("SELECT multithreading FROM role.configuration").rows
    assert [cpu for (cpu,) in used] == [cpu for (cpu,) in configured] == NUMBERS[smt]
    assert [text == "Enabled" for (text,) in status] == [smt != "non-SMT"]
    answer = solve("partitions", {key: values[key] for key in ("processors", "partition")})
    [table] = [table for table in answer.tables if table.key == "zvm"]
    columns = {column.key: at for at, column in enumerate(table.columns)}
    [row] = [row for row in table.rows if row[columns["smt"]] == smt]
    assert row[columns["processors"]] == len(NUMBERS[smt])
    assert str(row[columns["numbers"]]).endswith(f"{NUMBERS[smt][-1]:02X}")


def test_cores_of_other_types_have_even_numbers(tmp_path: Path) -> None:
    """IBM, Eighty Logical Processors, table 1: a core that is no IFL has processor 2n, but not 2n+1."""
    with simulated(scenario("SMT-2", {"CP": 2, "IFL": 2}), tmp_path) as session:
        rows = session.sql("SELECT DISTINCT cpu_type, cpu_id, core_id FROM cpu ORDER BY cpu_id").rows
    assert rows == [("CP", 0, 0), ("CP", 2, 1), ("IFL", 4, 2), ("IFL", 5, 2), ("IFL", 6, 3), ("IFL", 7, 3)]


@pytest.fixture(scope="module")
def switched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Session]]:
    """A system that has two threads per core, one after two minutes, and two again after four."""
    values = scenario("SMT-2", {"IFL": 4})
    values["simulation"]["seconds"] = 420
    values["command"] = [
        {"at": 120, "do": "set multithread", "type": "IFL", "threads": 1},
        {"at": 240, "do": "set multithread", "type": "IFL", "threads": 2},
    ]
    folder = tmp_path_factory.mktemp("switched")
    with simulated(values, folder) as session:
        yield folder / "smt.data", session


def test_processors_come_and_go_with_switch(switched: tuple[Path, Session]) -> None:
    """No difference is computed across a switch; in the others all processors are busy."""
    _, session = switched
    rows = session.sql(
        "SELECT interval_end, string_agg(cpu_id, ' ' ORDER BY cpu_id), min(busy_pct) FROM cpu "
        "WHERE busy_pct IS NOT NULL GROUP BY interval_end ORDER BY interval_end"
    ).rows
    two, one = (" ".join(map(str, NUMBERS[smt])) for smt in ("SMT-2", "SMT-1"))
    assert [(row[0].minute, row[1]) for row in rows] == [
        (1, two),
        (2, two),
        (4, one),
        (6, two),
        (7, two),
    ]
    assert all(row[2] > 90 for row in rows)
    assert session.sql("SELECT * FROM problem").rows == []


def test_switch_leaves_multithreading_enabled(switched: tuple[Path, Session]) -> None:
    _, session = switched
    rows = session.sql("SELECT prcsmt_zlmtstat, prcsmt_zlmtifl FROM d5r21 ORDER BY tod").rows
    assert rows == [(3, 1), (3, 2)]


@pytest.mark.parametrize(
    ("window", "threads", "processors"),
    [
        ([], 2, "SMT-2"),
        (["--to", "08:02"], 2, "SMT-2"),
        (["--from", "08:03", "--to", "08:04"], 1, "SMT-1"),
        (["--from", "08:05"], 2, "SMT-2"),
    ],
)
def test_reports_agree_on_threads_in_window(
    switched: tuple[Path, Session],
    capsys: pytest.CaptureFixture[str],
    window: list[str],
    threads: int,
    processors: str,
) -> None:
    path, _ = switched

    def printed(report: str) -> str:
        assert main(["report", report, str(path), *window]) == 0
        return capsys.readouterr().out

    indicated = printed("indicate_multithread")
    assert "Multithreading is enabled." in indicated
    [line] = [line for line in indicated.splitlines() if line.startswith("IFL")]
    assert line.split()[1:3] == [str(threads), "4"]
    listed = [line.split() for line in printed("prclog").splitlines() if line.startswith(">>Mean>>")]
    means = {int(words[1]) for words in listed if words[1].isdigit()}
    assert means == set(NUMBERS["SMT-2"] if not window else NUMBERS[processors])
    configured = printed("sysconf")
    assert "Multithreading          Enabled" in configured
    # The last change so far says how many threads there are, also before the window.
    changes = re.findall("multithreading changed, Enabled, threads per core: CP 1, IFL ([12])", configured)
    assert (["2", *changes])[-1] == str(threads)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"smt": "non-SMT"}, "ZVM1 is non-SMT"),
        ({"polarization": "horizontal"}, "the partition is horizontal"),
        ({"mode": "other"}, r"smt is SMT-2, which CP and IFL cores do not have in mode other"),
    ],
)
def test_switch_needs_enabled_vertical_partition(change: dict[str, str], says: str) -> None:
    values = scenario(**{"smt": "SMT-2", "cores": {"CP": 1, "IFL": 1}, **change})
    values["command"] = [{"at": 60, "do": "set multithread", "type": "IFL", "threads": 1}]
    with pytest.raises(ScenarioError, match=says):
        zlens.simulate(values, "none")


def test_only_cores_with_two_threads_get_two() -> None:
    values = scenario("SMT-1", {"CP": 1, "IFL": 1})
    values["command"] = [{"at": 60, "do": "set multithread", "type": "CP", "threads": 2}]
    with pytest.raises(ScenarioError, match="sets 2 threads per CP core; expected 1, in mode z/VM"):
        zlens.simulate(values, "none")


def test_multithreading_needs_reshuffle() -> None:
    """IBM, z/VM and simultaneous multithreading, SYSSET: the dispatcher must be at its default."""
    values = scenario("SMT-1", {"IFL": 1}) | {"cp": {"dspwdmethod": "REBALANCE"}}
    with pytest.raises(ScenarioError, match=r"cp\.dspwdmethod is REBALANCE"):
        zlens.simulate(values, "none")


def test_dedicated_cores_are_vertical_high(tmp_path: Path) -> None:
    """IBM, z/VM and simultaneous multithreading, PRCLOG: VhD; SYSSET: vertical."""
    values = scenario("SMT-2", {"IFL": 2})
    values["partition"][0] |= {"dedicated": True, "weight": None}
    del values["partition"][0]["weight"]
    with simulated(values, tmp_path) as session:
        rows = session.sql("SELECT DISTINCT polarity, dedicated FROM cpu").rows
        assert rows == [("Vh", True)]
        assert session.sql("SELECT polarization FROM role.scheduler_settings").rows == [("Vertical",)]
