"""Tests that SMF record streams of one system name are neither added nor mixed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import zlens
from fakes import START_US
from iterations import quick_subset
from readers import section_builder
from samples import needs, sample
from smf70_builder import US, Cpu, Logical, Lpar, encoded, record
from zlens import _native, lake
from zlens.catalog import smf_sections, smf_writer
from zlens.cli import main
from zlens.inputs.options import Options

QUARTER = 900.0
RMF_AND_CMF = sample("public/smf70-rmf-and-cmf.smf")


def of_70(
    number: int,
    busy: float,
    *,
    seconds: float = QUARTER,
    cpus: int = 2,
    own: int = 1,
    product: dict[str, Any] | None = None,
    control: dict[str, Any] | None = None,
    system: str = "SYSA",
) -> bytes:
    """Return the record of an interval; `busy` is the utilization of each processor."""
    lpars = [
        Lpar(
            "OTHER" if own == 2 else "PROD",
            own,
            [Logical("CP", n, busy * seconds, busy * seconds) for n in range(cpus)],
        )
    ]
    content = record(
        seconds,
        lpars,
        [Cpu(n, 0, (1 - busy) * seconds) for n in range(cpus)],
        own=own,
        physical={"CP": 4},
        control=control,
        product={"OIL": round(seconds), "PRD": "RMF", **(product or {})},
    )
    (data,) = encoded(system, content, START_US + round(number * seconds * US), seconds)
    return data


def of_72(number: int, cpu_s: float, **product: Any) -> bytes:
    """Return the record of a service class with this CPU time."""
    times = {**smf_writer.interval(START_US + round(number * QUARTER * US), QUARTER, 0)}
    sections = {
        "product": [{**times, "OIL": 900, "PRD": "RMF", **product}],
        "wms": [{"MCNM": "ONLINE", "MNSP": "POLICY", "MADJ": 16, "MCPU": 10_000, "MSRB": 10_000}],
        "scs": [{"CPER": 1, "CCPU": round(cpu_s * 1e6)}],
    }
    layout = smf_sections.layout("72")
    local_us = START_US + round(number * QUARTER * US)
    return smf_writer.encode_record(layout, 3, system="SYSA", local_us=local_us, sections=sections)


def dump(path: Path, records: Sequence[bytes]) -> str:
    writer = _native.SmfWriter(str(path))
    writer.write([*records])
    writer.finish()
    return str(path)


def busy(inputs: str | list[str]) -> dict[str, list[float]]:
    """Return the utilization of each system's intervals in percent."""
    found: dict[str, list[float]] = {}
    with zlens.open(inputs) as session:
        for system, value in session.sql("SELECT system, busy_pct FROM load ORDER BY 1, interval_end").rows:
            found.setdefault(str(system), []).append(round(value, 6))
    return found


OTHERS: dict[str, dict[str, Any]] = {
    "SYSA-CMF": {"product": {"PRD": "CMF"}},
    "SYSA-9ABCD": {"control": {"CSC": "9ABCD"}},
    "SYSA-LP2": {"own": 2},
    "SYSA-PLEXB": {"product": {"XNM": "PLEXB"}},
    "SYSA-5m": {"seconds": 300.0},
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("files", [1, 2])
def test_overlapping_streams_are_two_systems(name: str, files: int, tmp_path: Path) -> None:
    other = OTHERS[name]
    shorter = 3 if "seconds" in other else 1
    plex = {"product": {"XNM": "PLEXA"}} if name == "SYSA-PLEXB" else {}
    ours = [of_70(number, 0.25, **plex) for number in range(1, 4)]
    theirs = [of_70(number, 0.75, **other) for number in range(1, 1 + 3 * shorter)]
    if files == 1:
        inputs = [dump(tmp_path / "one.smf", [*ours, *theirs])]
    else:
        inputs = [dump(tmp_path / "a.smf", ours), dump(tmp_path / "b.smf", theirs)]
    assert busy(inputs) == {"SYSA": [25.0] * 3, name: [75.0] * 3 * shorter}


def test_work_belongs_to_writer_of_partitions(tmp_path: Path) -> None:
    """Record type 72 names the product and partition, not the machine."""
    records = [
        *(of_70(number, 0.25) for number in (1, 2)),
        *(of_70(number, 0.75, product={"PRD": "CMF"}) for number in (1, 2)),
        *(of_72(number, 100.0) for number in (1, 2)),
        *(of_72(number, 300.0, PRD="CMF") for number in (1, 2)),
    ]
    with zlens.open(dump(tmp_path / "both.smf", records)) as session:
        query = "SELECT system, count(*), sum(r723ccpu) FROM smf72_scs GROUP BY 1 ORDER BY 1"
        assert session.sql(query).rows == [("SYSA", 2, 200e6), ("SYSA-CMF", 2, 600e6)]


#: The later stream, and the event that reports it.
AFTER: list[tuple[dict[str, Any], str, str]] = [
    ({"control": {"CSC": "9ABCD"}}, "another machine", "8561 12F17 to 8561 9ABCD"),
    ({"product": {"PRD": "DG"}}, "another writer", "RMF to DG"),
    ({"own": 2}, "another partition", "number 1 to 2"),
    ({"seconds": 1800.0}, "another interval length", "900 to 1800 s"),
]


@pytest.mark.parametrize(("after", "kind", "detail"), AFTER, ids=[kind for _, kind, _ in AFTER])
def test_consecutive_streams_are_one_system(
    after: dict[str, Any], kind: str, detail: str, tmp_path: Path
) -> None:
    shift = 1 if "seconds" in after else 0
    records = [
        *(of_70(number, 0.25) for number in (1, 2)),
        *(of_70(number - shift, 0.75, **after) for number in (3, 4)),
    ]
    path = dump(tmp_path / "moved.smf", records)
    assert busy(path) == {"SYSA": [25.0, 25.0, 75.0, 75.0]}
    with zlens.open(path) as session:
        rows = session.sql(f"SELECT detail FROM event WHERE kind = '{kind}'").rows
        (row,) = session.sql("SELECT count(*) FROM inventory WHERE name = 'SMF 70.1'").rows
    assert (rows, row) == ([(detail,)], (1,))


@needs(RMF_AND_CMF)
def test_two_writers_of_one_sample_are_not_added() -> None:
    with zlens.open(RMF_AND_CMF) as session:
        systems = [name for (name,) in session.sql("SELECT system FROM system ORDER BY 1").rows]
        assert systems == ["SYS1", "SYS1-CMF"]
        rows = session.sql("SELECT max(logical_cpus) FROM partition WHERE partition = 'PROD'").rows
    assert rows == [(4,)]


@pytest.fixture
def moved(tmp_path: Path) -> list[str]:
    """Two dumps of a system, the second from another machine; another system stays on the first machine."""
    stays = [of_70(number, 0.5, own=2, system="SYSB") for number in range(1, 5)]
    before = [of_70(number, 0.25) for number in (1, 2)]
    after = [of_70(number, 0.75, control={"CSC": "9ABCD"}) for number in (3, 4)]
    return [
        dump(tmp_path / "before.smf", [*before, *stays[:2]]),
        dump(tmp_path / "after.smf", [*after, *stays[2:]]),
    ]


MACHINES = """
    SELECT machine, observer, string_agg(partition, ' ' ORDER BY interval_end)
    FROM partition GROUP BY ALL ORDER BY machine, min(interval_end), observer
"""


@pytest.mark.parametrize("in_lake", [False, True])
def test_rows_of_moved_system_have_own_machine(moved: list[str], tmp_path: Path, in_lake: bool) -> None:
    inputs: str | list[str] = moved
    if in_lake:
        inputs = str(tmp_path / "lake")
        for path in moved:
            lake.add([path], inputs)
    with zlens.open(inputs) as session:
        assert session.sql(MACHINES).rows == [
            ("8561-12F17", "SYSA", "PROD PROD"),
            # SYSA no longer observes the machine that it left.
            ("8561-12F17", "SYSB", "OTHER OTHER"),
            ("8561-9ABCD", "SYSA", "PROD PROD"),
        ]
        (info,) = [info for info in session.systems if info.system == "SYSA"]
    assert (info.machine, info.last_machine) == ("8561-12F17", "8561-9ABCD")
    assert [since - START_US for since, _ in info.moves] == [2 * 900 * US]


def test_info_shows_move_of_system(moved: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", *moved]) == 0
    assert "Moved     to 8561-9ABCD, 2023-11-14 22:44:00" in capsys.readouterr().out


@pytest.mark.parametrize("name", quick_subset(2, OTHERS))
def test_lake_separates_systems_of_same_name(name: str, tmp_path: Path) -> None:
    """Dumps imported separately were never open in one session."""
    other = OTHERS[name]
    shorter = 3 if "seconds" in other else 1
    plex = {"product": {"XNM": "PLEXA"}} if name == "SYSA-PLEXB" else {}
    ours = dump(tmp_path / "a.smf", [of_70(number, 0.25, **plex) for number in range(1, 4)])
    theirs = dump(tmp_path / "b.smf", [of_70(number, 0.75, **other) for number in range(1, 1 + 3 * shorter)])
    lake_path = tmp_path / "lake"
    for path in (ours, theirs):
        lake.add([path], lake_path)
    assert busy(str(lake_path)) == {"SYSA": [25.0] * 3, name: [75.0] * 3 * shorter}
    # Later data belongs to the system that it matches.
    after = [of_70(number, 0.75, **{**other, "seconds": QUARTER}) for number in range(11, 13)]
    lake.add([dump(tmp_path / "c.smf", after)], lake_path)
    goes_on = "SYSA" if "seconds" in other else name
    assert busy(str(lake_path))[goes_on][-2:] == [75.0] * 2
    assert lake.check(lake_path).faults == []
    # A removed system that is imported again has the same name.
    before = busy(str(lake_path))
    lake.forget(lake_path, Options(systems=(name,)))
    assert set(busy(str(lake_path))) == {"SYSA"}
    lake.add([theirs, tmp_path / "c.smf"], lake_path)
    assert busy(str(lake_path)) == before


def test_lake_refuses_staged_data_of_another_system(tmp_path: Path) -> None:
    """Staged data already has a system name."""
    lake_path = tmp_path / "lake"
    for file, others in (("a.smf", {}), ("b.smf", {"control": {"CSC": "9ABCD"}})):
        path = dump(tmp_path / file, [of_70(number, 0.25, **others) for number in range(1, 4)])
        lake.stage([path], tmp_path / "stage")
    committed = lake.commit([tmp_path / "stage"], lake_path)
    [error] = [one.error for one in committed if one.error is not None]
    assert "another SYSA is in the lake at the same time" in str(error)
    assert "import the file itself" in str(error)
    assert list(busy(str(lake_path))) == ["SYSA"]


def test_work_without_writer_belongs_to_sysplex(tmp_path: Path) -> None:
    """Record type 30 names only the sysplex."""
    records = []
    for plex, cpu_s in (("PLEXA", 1.0), ("PLEXB", 3.0)):
        for number in (1, 2):
            at = {"ISS": section_builder.START_US + (number - 1) * 900 * US}
            times = {"JBN": plex, **at, "IET": section_builder.START_US + number * 900 * US}
            sections = {
                "subsystem": [{"PNM": "SMF", "OSL": "SP7.3.1", "SYN": "SYSA", "SYP": plex}],
                "id": [times],
                "cas": [{"CPT": round(100 * cpu_s)}],
            }
            records.append(section_builder.job(2, 900.0 * number, sections))
    with zlens.open(dump(tmp_path / "jobs.smf", records)) as session:
        rows = session.sql("SELECT system, job, sum(cp_s) FROM job GROUP BY ALL ORDER BY ALL").rows
        assert rows == [("SYSA", "PLEXA", 2.0), ("SYSA-PLEXB", "PLEXB", 6.0)]
