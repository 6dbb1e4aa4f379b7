"""Chargeback over the members of a cluster: seconds are added only where they are alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import guest_made as guests
import monwrite_made as made
import zlens
from zlens import _native
from zlens.catalog import groups, layouts, plans
from zlens.errors import InputError
from zlens.inputs.options import Options

MINUTES = range(5)


def cluster_record(time_us: int, name: str) -> bytes:
    (layout,) = layouts.layouts("D1R25")
    return plans.encode(layout, {"MTRSSI_SYSPLXNM": name}, tod=_native.tod_from_unix_us(time_us))


def member(
    folder: Path,
    name: str,
    *,
    used_s: float = 30,
    machine: str = "3931",
    capability: int | None = 500,
    cluster: str | None = "SSI1",
    guest: str = "LNX1",
    **facts: Any,
) -> None:
    """A file of a system on which a guest used so many seconds a minute, for four minutes."""
    intervals = []
    for n in MINUTES:
        at = guests.end_of(n)
        found = [guests.processor(at, used_s * n), guests.activity(at, guest, used_s * n, **facts)]
        if capability is not None:
            found.append(made.sim_record("D0R19", at - 300, {"SYTSYG_CPUCAPAB": capability}))
        intervals.append(found)
    config = {**made.SIM_CONFIG, "MTRSYS_SYSTMID": name, "MTRSYS_SYSMTYPE": machine}
    begin = made.START_US - made.MINUTE_US - 1_200
    guests.write(
        folder / name, intervals, config=config, more=[cluster_record(begin, cluster)] if cluster else []
    )


def lines(folder: Path, **options: Any) -> list[list[Any]]:
    with zlens.open(folder, options=Options(**options)) as session:
        text = session.report("chargeback", "csv")
    head, *found = [line.split(",") for line in text.strip().split("\n")]
    wanted = [
        head.index(name) for name in ("cluster", "userid", "member", "counts", "cpu_s", "mt1_s", "basis")
    ]
    return [[line[at].strip('"\r') for at in wanted] for line in found]


def numbers(line: list[Any]) -> list[float | None]:
    return [float(one) if one else None for one in line[3:6]]


def test_seconds_of_equal_members_are_added(tmp_path: Path) -> None:
    member(tmp_path, "ZVM1")
    member(tmp_path, "ZVM2", used_s=10)
    first, second, both = lines(tmp_path)
    assert [one[:3] for one in (first, second, both)] == [
        ["SSI1", "LNX1", "ZVM1"],
        ["SSI1", "LNX1", "ZVM2"],
        ["SSI1", "LNX1", ">>All>>"],
    ]
    assert numbers(first) == [1.0, pytest.approx(120), pytest.approx(84)]
    assert numbers(second) == [1.0, pytest.approx(40), pytest.approx(28)]
    assert numbers(both) == [None, pytest.approx(160), pytest.approx(112)]
    assert both[6] == "added"


def test_unlike_members_are_normalized_by_capability(tmp_path: Path) -> None:
    member(tmp_path, "ZVM1", capability=500)
    # Half the number is a processor of twice the speed: its seconds count double.
    member(tmp_path, "ZVM2", capability=250, machine="9175")
    first, second, both = lines(tmp_path)
    assert numbers(first) == [1.0, pytest.approx(120), pytest.approx(84)]
    assert numbers(second) == [2.0, pytest.approx(120), pytest.approx(84)]
    assert numbers(both) == [None, pytest.approx(360), pytest.approx(252)]
    assert both[6] == "normalized by capability"


def test_a_factor_of_the_user_comes_before_capability(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    member(folder, "ZVM1")
    member(folder, "ZVM2", capability=250)
    chosen = tmp_path / "groups.toml"
    chosen.write_text('[member]\n"ZVM2" = 1.5\n\n[guest]\n"LNX*" = "linux"\n', encoding="utf-8")
    first, second, both = lines(folder, group=str(chosen))
    assert [one[1] for one in (first, second, both)] == ["linux"] * 3
    assert numbers(first)[0] == 1.0
    assert numbers(second)[0] == 1.5
    assert numbers(both)[1] == pytest.approx(120 + 180)
    assert both[6] == "normalized by a given factor"


@pytest.mark.parametrize("capability", [None, 250])
def test_without_a_known_capability_there_is_no_sum(tmp_path: Path, capability: int | None) -> None:
    member(tmp_path, "ZVM1", capability=None)
    member(tmp_path, "ZVM2", capability=capability)
    first, second, both = lines(tmp_path)
    assert numbers(first)[1:] == numbers(second)[1:] == [pytest.approx(120), pytest.approx(84)]
    assert numbers(both) == [None, None, None]
    assert both[6] == "no sum: capability not known"


def test_a_time_that_one_member_does_not_tell_is_not_added(tmp_path: Path) -> None:
    member(tmp_path, "ZVM1")
    # Steps back in every interval: not one difference is known.
    falling = {"VMDTTIME_MT1": 0}
    member(tmp_path, "ZVM2", **falling)
    assert numbers(lines(tmp_path)[2]) == [None, pytest.approx(240), pytest.approx(84)]


def test_systems_of_no_cluster_are_not_put_together(tmp_path: Path) -> None:
    member(tmp_path, "ZVM1", cluster=None)
    member(tmp_path, "ZVM2", cluster=None)
    found = lines(tmp_path)
    assert [one[:3] for one in found] == [["ZVM1", "LNX1", "ZVM1"], ["ZVM2", "LNX1", "ZVM2"]]
    assert all(numbers(one)[0] is None for one in found)


def test_a_report_of_a_cluster_has_one_header(tmp_path: Path) -> None:
    member(tmp_path, "ZVM1")
    member(tmp_path, "ZVM2", guest="LNX2")
    with zlens.open(tmp_path) as session:
        text = session.report("chargeback")
    assert text.count("CPU time by Guest") == 1
    assert "SSI1" in text.split("\n")[3]
    assert ">>All>>" not in text
    assert "never add them to each other" in text


@pytest.mark.parametrize("factor", ["0", "-1.5", "inf", "nan", "true", '"two"'])
def test_a_factor_is_a_number_above_zero(factor: str) -> None:
    with pytest.raises(InputError, match="above 0"):
        groups.parse(f'[member]\n"ZVM2" = {factor}\n', "groups.toml")
    with pytest.raises(InputError, match="member"):
        groups.parse("member = 2\n", "groups.toml")
