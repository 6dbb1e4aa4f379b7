"""Tests of commands at their times: what each changes, and the event that tells of it.

Expected numbers are the definitions of the commands: entitlements by weight, caps, shares of aliases, and
work in proportion to the CPU capability.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens.api import Session
from zlens.errors import ScenarioError
from zlens.simulation import run

AT = 120
INTERVAL = 60
#: Intervals before and after the command.
EACH = AT // INTERVAL


def scenario(**tables: Any) -> dict[str, Any]:
    """Return a partition of four cores whose guests always have work."""
    return {
        "model": "system",
        "processors": {"IFL": 4},
        "partition": [partition("ZVM1", cores=4, dedicated=True, zvm="7.4")],
        "user": [
            {"name": "A", "type": "IFL", "virtual_cpus": 4, "relative": 100, "partition": "ZVM1"},
        ],
        "simulation": {"seconds": 2 * AT, "interval": INTERVAL, "warmup": 30, "checked": True},
        **tables,
    }


def partition(name: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "type": "IFL", **keys}


def paging(**cp: Any) -> dict[str, Any]:
    """Return guests that thrash, on two volumes of a control unit with two aliases."""
    users = [
        {"name": f"G{n}", "type": "IFL", "relative": 100, "storage": 1024, "working_set": 1024}
        for n in range(1, 9)
    ]
    volumes = [
        {"name": f"PAGE0{n}", "control_unit": "CU1", "paging": True, "connect": 0.2, "connect_page": 0.02,
         "variation": 0, "read_hit": 100, "transport": 50}
        for n in (1, 2)
    ]  # fmt: skip
    return scenario(
        partition=[partition("ZVM1", cores=4, dedicated=True, zvm="7.4", storage=2048)],
        user=users,
        volume=volumes,
        control_unit=[{"name": "CU1", "aliases": 2}],
        cp=cp,
    )


def commanded(values: dict[str, Any], path: Path, **command: Any) -> Session:
    """Simulate a scenario with one command."""
    zlens.simulate({**values, "command": [{"at": AT, **command}]}, str(path))
    return zlens.open([str(path)])


def halves(session: Session, value: str, table: str, where: str = "true") -> tuple[float, float]:
    """Return the mean of a column before the command, and after it without the interval that follows."""
    rows = session.sql(f"SELECT interval_end, {value} FROM {table} WHERE {where} GROUP BY 1 ORDER BY 1").rows
    assert len(rows) == 2 * EACH
    values = [float(row[1]) for row in rows]
    return sum(values[:EACH]) / EACH, sum(values[EACH + 1 :]) / (EACH - 1)


def events(session: Session, kind: str) -> list[tuple[Any, ...]]:
    return session.sql(
        f"SELECT subject, detail, inferred, record FROM event WHERE kind = '{kind}' ORDER BY time"
    ).rows


def test_set_reserved_keeps_pages_from_its_time_on(tmp_path: Path) -> None:
    values = paging()
    seldom = {"demand": 1, "references": {"rate": 100}, "storage": 200, "working_set": 200}
    values["user"][0] |= seldom
    with commanded(
        values, tmp_path / "reserved.monwrite", do="set reserved", user="G1", reserve=200
    ) as session:
        before, after = halves(session, "max(reserved)", "storage")
        assert (before, after) == (0, 200 * 256)
        pages = "max(resident_pages) FILTER (userid = 'G1')"
        before, after = halves(session, pages, "guest")
        assert before < 0.5 * after
        assert events(session, "reserved frames changed") == [("system", "0 to 51200", True, "D3R1")]


def test_reserves_stay_within_the_limit(tmp_path: Path) -> None:
    values = paging(reserve_limit=300)
    values["user"][1]["reserve"] = 200
    with commanded(values, tmp_path / "limit.monwrite", do="set reserved", user="G1", reserve=200) as session:
        assert halves(session, "max(reserved)", "storage") == (200 * 256, 300 * 256)


def vertical() -> dict[str, Any]:
    """Return a partition with two vertical-low cores, next to one that leaves power."""
    return scenario(
        processors={"IFL": 8},
        partition=[
            partition("ZVM1", cores=6, weight=50, polarization="vertical", zvm="7.4"),
            partition("OTHER", cores=4, weight=50, demand=1.0, polarization="vertical"),
        ],
        user=[{"name": "A", "type": "IFL", "virtual_cpus": 1, "relative": 100, "partition": "ZVM1"}],
    )


def test_set_srm_unparking_parks_from_its_time_on(tmp_path: Path) -> None:
    values = vertical() | {"cp": {"unparking": "LARGE"}}
    with commanded(
        values, tmp_path / "small.monwrite", do="set srm unparking", unparking="SMALL", partition="ZVM1"
    ) as session:
        before, after = halves(session, "avg(unparked)", "load")
        assert before > 4
        assert after < 3.5
        [(subject, detail, _, record)] = events(session, "scheduler settings changed")
        assert (subject, record) == ("scheduler", "D2R7")
        assert "unparking SMALL" in detail


def test_set_srm_excessuse_takes_no_excess(tmp_path: Path) -> None:
    values = vertical() | {"cp": {"unparking": "LARGE", "excessuse": "HIGH"}}
    with commanded(
        values, tmp_path / "none.monwrite", do="set srm excessuse", excessuse="NONE", partition="ZVM1"
    ) as session:
        before, after = halves(session, "avg(unparked)", "load")
        # Entitled to four cores.
        assert before > 5
        assert after == 4
        [(_, detail, _, _)] = events(session, "scheduler settings changed")
        assert "EXCESSUSE of IFLs NONE" in detail


def test_set_paging_alias_on_uses_aliases(tmp_path: Path) -> None:
    with commanded(
        paging(paging_alias=False), tmp_path / "alias.monwrite", do="set paging alias", on=True
    ) as session:
        before, after = halves(session, "max(in_use)", "alias_pool", "io_type = 'PAGING'")
        assert before == 0
        assert after > 1
        before, after = halves(session, "sum(rate)", "device")
        assert after > 1.2 * before


def test_set_paging_hpf_off_ends_transport_mode(tmp_path: Path) -> None:
    with commanded(paging(), tmp_path / "hpf.monwrite", do="set paging hpf", on=False) as session:
        before, after = halves(session, "1000 * avg(conn_s)", "device")
        assert before == pytest.approx(0.5 * (0.2 + 8 * 0.02), rel=0.02)
        assert after == pytest.approx(0.2 + 8 * 0.02, rel=0.02)


def test_set_cu_steers_aliases(tmp_path: Path) -> None:
    """Both uses always want more: of eight aliases, minidisk I/O has six, then two."""
    values = paging()
    for user in values["user"]:
        user |= {"virtual_cpus": 8, "quick_dispatch": True}
    values["control_unit"][0] |= {"aliases": 8, "minidisk_share": 300, "paging_share": 100}
    values["volume"].append(
        {"name": "DATA01", "control_unit": "CU1", "connect": 0.5, "variation": 0, "read_hit": 100}
    )
    values["user"] += [
        {"name": f"M{n}", "type": "IFL", "relative": 10_000, "virtual_cpus": 16, "quick_dispatch": True,
         "storage": 1, "working_set": 1, "load": {"io_rate": 50_000, "volumes": ["DATA01"]}}
        for n in range(1, 3)
    ]  # fmt: skip
    with commanded(
        values,
        tmp_path / "cu.monwrite",
        do="set cu",
        control_unit="CU1",
        minidisk_share=100,
        paging_share=300,
    ) as session:
        before, after = halves(session, "max(in_use)", "alias_pool", "io_type = 'MDISK'")
        assert before == pytest.approx(6, rel=0.05)
        # Paging I/O leaves some of its six.
        assert after == pytest.approx(2, rel=0.25)
        assert {row[:2] for row in events(session, "alias shares changed")} == {
            ("pool 0, MDISK", "300 to 100"),
            ("pool 0, PAGING", "100 to 300"),
        }


def weighted(polarization: str) -> dict[str, Any]:
    """Return two partitions that both want all of six cores."""
    return scenario(
        processors={"IFL": 6},
        partition=[
            partition("ZVM1", cores=6, weight=100, polarization=polarization, zvm="7.4"),
            partition("OTHER", cores=6, weight=200, polarization=polarization),
        ],
        cp={"parking": False},
        user=[{"name": "A", "type": "IFL", "virtual_cpus": 6, "relative": 100, "partition": "ZVM1"}],
    )


@pytest.mark.parametrize("polarization", ["horizontal", "vertical"])
def test_set_weight_moves_entitlements(polarization: str, tmp_path: Path) -> None:
    with commanded(
        weighted(polarization), tmp_path / "weight.monwrite",
        do="set weight", partition="ZVM1", type="IFL", weight=400,
    ) as session:  # fmt: skip
        before, after = halves(session, "sum(cpu_s / seconds)", "guest")
        assert before == pytest.approx(2, rel=0.02)
        assert after == pytest.approx(4, rel=0.02)
        assert ("partition ZVM1", "weight 100 to 400", True, "D0R16") in events(session, "weight changed")


def test_weight_changes_polarity_of_cores() -> None:
    values = weighted("vertical")
    values["command"] = [{"at": AT, "do": "set weight", "partition": "ZVM1", "type": "IFL", "weight": 400}]
    [command] = run.prepare(values).lowered.scenario["systems"][0]["commands"]
    own, other = command["action"]["set_weight"]["weights"]
    # Entitlements of four and two cores: an integer has a medium core beside lows.
    assert (own["entitlement"], own["highs"] + own["mediums"]) == (4, 4)
    assert (other["entitlement"], other["highs"] + other["mediums"]) == (2, 2)


def test_set_cap_caps_from_its_time_on(tmp_path: Path) -> None:
    values = weighted("horizontal")
    values["partition"][1]["demand"] = 1.0
    values["partition"][0]["absolute_cap"] = 6.0
    with commanded(
        values, tmp_path / "cap.monwrite", do="set cap", partition="ZVM1", type="IFL", cap=1.5
    ) as session:
        before, after = halves(session, "sum(cpu_s / seconds)", "guest")
        assert before == pytest.approx(5, rel=0.02)
        assert after == pytest.approx(1.5, rel=0.02)


@pytest.mark.parametrize("smt", ["non-SMT", "SMT-2"])
def test_set_capability_slows_work(smt: str, tmp_path: Path) -> None:
    """A capability of 1250 instead of 1000 is four fifths of the speed."""
    values = scenario(
        machine={"capability": 1000},
        transaction=[{"name": "WORK", "customers": 32, "step": [{"cpu": 10, "user": "A"}]}],
    )
    values["partition"][0]["smt"] = smt
    values["user"][0] |= {"demand": 0, "virtual_cpus": 8}
    with commanded(values, tmp_path / "slow.monwrite", do="set capability", capability=1250) as session:
        assert events(session, "capability change") == [
            ("machine", "primary CPU capability 1250, secondary 1250", False, "D1R18")
        ]
    ended = [
        int(line.split(",")[2])
        for line in (tmp_path / "slow.monwrite.throughput.csv").read_text().splitlines()[1:]
    ]
    assert ended[-1] / ended[0] == pytest.approx(0.8, rel=0.02)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ({"do": "set reserved", "user": "A"}, "set reserved, needs reserve"),
        ({"do": "set cu", "control_unit": "CU9", "minidisk_share": 1, "paging_share": 1}, "CU9"),
        ({"do": "set weight", "type": "IFL", "weight": 5}, "its IFL cores are dedicated"),
        ({"do": "set capability", "capability": 5}, "machine.capability is not given"),
        ({"do": "logoff", "user": "A", "on": True}, "has no operand on"),
    ],
)
def test_inconsistent_setting_is_rejected(command: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError, match=says) as raised:
        run.prepare({**scenario(), "command": [{"at": 1, **command}]})
    assert raised.value.cure


def test_set_cap_needs_a_cap_to_begin_with() -> None:
    values = weighted("horizontal")
    values["command"] = [{"at": 1, "do": "set cap", "partition": "ZVM1", "type": "IFL", "cap": 2}]
    with pytest.raises(ScenarioError, match="has no absolute_cap to begin with"):
        run.prepare(values)


# At the end of an interval ------------------------------------------------------------------------


CHANGES = {
    "vary off": {"command": [{"do": "vary off", "core": 1}]},
    "vary on": {"command": [{"do": "vary off", "core": 1, "at": INTERVAL / 2}, {"do": "vary on", "core": 1}]},
    "logoff": {"command": [{"do": "logoff", "user": "A"}]},
    "set share": {"command": [{"do": "set share", "user": "A", "relative": 300}]},
    "set pool limit": {"command": [{"do": "set pool limit", "pool": "POOL", "limit": 20}]},
    "set cap": {"command": [{"do": "set cap", "type": "IFL", "cap": 1.0}]},
    "set capability": {"command": [{"do": "set capability", "capability": 900}]},
    "device goes offline": {"offline": [[AT, 2 * AT]]},
    "device comes online": {"offline": [[0, AT]]},
    "function is attached": {"attach": AT},
}


def changing(offline: list[list[int]], attach: int | None = None, **tables: Any) -> dict[str, Any]:
    """Return guests with work, a volume that is not used and a PCI function."""
    users = [
        {"name": name, "type": "IFL", "virtual_cpus": 2, "relative": 100, "demand": demand, "pool": "POOL"}
        for name, demand in (("A", 150), ("B", 50))
    ]
    function = {"id": 7, "user": "B", "type": 5, "format": "DMA", "in": 1.0}
    return scenario(
        machine={"capability": 1000},
        partition=[partition("ZVM1", cores=4, weight=100, absolute_cap=3.0, zvm="7.4")],
        pool=[{"name": "POOL", "type": "IFL", "capacity": 2.5}],
        user=users,
        control_unit=[{"name": "CU1"}],
        volume=[{"name": "VOL001", "control_unit": "CU1", "offline": offline}],
        function=[function if attach is None else function | {"attach": attach}],
        **tables,
    )


@pytest.mark.parametrize("kind", CHANGES)
def test_change_at_interval_end_leaves_it_alone(tmp_path: Path, kind: str) -> None:
    """Whatever changes at the end of an interval, the records up to then are those without the change."""
    change = {"offline": [], **CHANGES[kind]}
    # What is offline until the end of the interval was so before; an earlier command is given in both.
    before = change | {
        "offline": [[0, 9 * AT]] if kind == "device comes online" else [],
        "command": [one for one in change.get("command", []) if "at" in one],
        "attach": 9 * AT if kind == "function is attached" else None,
    }
    change["command"] = [{"at": AT, **one} for one in change.get("command", [])]
    records = []
    for name, values in (("before", before), ("after", change)):
        file = tmp_path / f"{name}.data"
        zlens.simulate(changing(**values), file)
        records.append(file.read_bytes())
    file = tmp_path / "short.data"
    short = changing(**before)
    short["simulation"]["seconds"] = AT
    zlens.simulate(short, file)
    # The last page says that the data ends.
    until = file.read_bytes()[:-4096]
    assert all(found.startswith(until) for found in records)
    assert records[0] != records[1]
