"""Tests of the reader against the output of lscpu for five real systems of util-linux's tests (GPL-2.0+)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from raw_rows import rows
from samples import needs, sample
from zlens.inputs.options import Options
from zlens.readers.linux.sysinfo import SysinfoSource, open_files
from zlens.session.session import CoreSession

SAMPLES = sample("sysinfo")
NAMES = ("s390-kvm", "s390-lpar", "s390-lpar-drawer", "s390-nested-virt", "s390-zvm")

pytestmark = needs(SAMPLES)


@dataclass(frozen=True)
class Lscpu:
    """Output of lscpu: facts by label; core and socket of each CPU, counted and as IDs."""

    facts: dict[str, str]
    counted: dict[int, dict[str, str]]
    ids: dict[int, dict[str, str]]


@cache
def lscpu(name: str) -> Lscpu:
    text = (SAMPLES / f"expected-lscpu-{name}.txt").read_text()
    facts = dict(re.findall(r"^([^#:\n]+):\s+(.*)$", text, re.MULTILINE))
    tables = []
    for part in text.split("# CPU,")[1:]:
        head, *lines = part.split("\n")
        names = ["CPU", *head.split(",")]
        parsed = [dict(zip(names, line.split(","), strict=True)) for line in lines if re.match(r"\d", line)]
        tables.append({int(row["CPU"]): row for row in parsed})
    return Lscpu(facts, *tables)


@cache
def source(name: str) -> SysinfoSource:
    return open_files([str(SAMPLES / name)], Options())


def machine(name: str) -> dict[str, Any]:
    (row,) = rows(source(name), "linux_sysinfo")
    return row


def same(said: str | None, expected: Any) -> bool:
    return said is None if expected is None else said == str(expected)


@pytest.mark.parametrize("name", NAMES)
def test_sysinfo_samples_have_no_problems(name: str) -> None:
    assert source(name).problems() == []


@pytest.mark.parametrize("name", NAMES)
def test_machine_facts_equal_lscpu(name: str) -> None:
    said, row = lscpu(name).facts, machine(name)
    assert said["Machine type"] == row["machine_type"]
    assert said["Hypervisor"] == row["hypervisor"]
    assert said["Dispatching mode"] == row["dispatching"]
    assert said["Flags"] == row["features"]
    assert float(said["BogoMIPS"]) == row["bogomips"]
    cpus = rows(source(name), "linux_cpu")
    assert int(said["CPU(s)"]) == len(cpus)
    on, off = ([c["cpu"] for c in cpus if c["online"] is state] for state in (True, False))
    assert _ranges(said["On-line CPU(s) list"]) == on
    assert _ranges(said.get("Off-line CPU(s) list", "")) == off
    for label, column in (("dynamic", "mhz_dynamic"), ("static", "mhz_static")):
        clock = said.get(f"CPU {label} MHz")
        assert {cpu[column] for cpu in cpus} == {float(clock) if clock else None}


def _ranges(text: str) -> list[int]:
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_nesting_equals_lscpu(name: str) -> None:
    said, row = lscpu(name).facts, machine(name)
    assert said["Thread(s) per core"] == str(row["threads"])
    assert said["Core(s) per socket"] == str(row["cores"])
    assert said["Socket(s) per book"] == str(row["sockets"])
    assert same(said.get("Drawer(s)"), row["drawers"])
    assert said["Book(s) per drawer" if row["drawers"] else "Book(s)"] == str(row["books"])


@pytest.mark.parametrize("name", NAMES)
def test_cores_and_sockets_are_numbered_like_lscpu(name: str) -> None:
    online = {cpu["cpu"]: cpu for cpu in rows(source(name), "linux_cpu") if cpu["online"]}
    counted, ids = lscpu(name).counted, lscpu(name).ids
    assert online.keys() == counted.keys() == ids.keys()
    for number, cpu in online.items():
        assert (counted[number]["Core"], counted[number]["Socket"]) == (str(cpu["core"]), str(cpu["socket"]))
        socket = "-" if cpu["socket_id"] is None else str(cpu["socket_id"])
        assert (ids[number]["Core"], ids[number]["Socket"]) == (str(cpu["core_id"]), socket)


@pytest.mark.parametrize("name", ["s390-lpar-drawer", "s390-nested-virt"])
def test_private_cache_sums_equal_lscpu(name: str) -> None:
    said = lscpu(name).facts
    cores = len({cpu["core"] for cpu in rows(source(name), "linux_cpu") if cpu["online"]})
    letters = {"Data": "d", "Instruction": "i", "Unified": ""}
    units = {"KiB": 2**10, "MiB": 2**20}
    for cache_ in rows(source(name), "linux_cache"):
        private = cache_["scope"] == "Private"
        printed = said[f"L{cache_['level']}{letters[cache_['type']]} cache"].split()
        assert int(printed[0]) * units[printed[1]] == cache_["bytes"] * (cores if private else 1)


def test_z196_partition_has_one_medium_and_seventeen_low() -> None:
    cpus = rows(source("s390-lpar"), "linux_cpu")
    configured = [cpu["polarity"] for cpu in cpus if cpu["configured"]]
    assert (configured.count("Vm"), configured.count("Vl"), len(configured)) == (1, 17, 18)
    assert machine("s390-lpar")["lpar_cpus_configured"] == 18
    assert machine("s390-lpar")["standby_cpus"] == machine("s390-lpar")["lpar_cpus_standby"] == 2


@pytest.mark.parametrize("name", NAMES)
def test_adjustment_applies_to_pool(name: str) -> None:
    """LPAR Adjustment = floor(1000 x CPUs / CPUs of the pool): an integer number of CPUs matches."""
    row = machine(name)
    cpus, adjustment = row["lpar_cpus_configured"], row["lpar_adjustment"]
    assert [pool for pool in range(cpus, 400) if 1000 * cpus // pool == adjustment]


@pytest.mark.parametrize(
    ("name", "count", "last"),
    [
        ("s390-kvm", 33, 41800),
        ("s390-lpar", 53, 38520),
        ("s390-lpar-drawer", 95, 33987),
        ("s390-zvm", 33, 41800),
    ],
)
def test_adjustments_are_listed_up_to_all_cpus_of_machine(name: str, count: int, last: int) -> None:
    caf = rows(source(name), "linux_caf")
    assert len(caf) == count == machine(name)["cpus_total"] - 1
    assert (caf[0]["cpus"], caf[-1]["cpus"], caf[-1]["adjustment"]) == (2, count + 1, last)


def test_capped_and_two_levels_below_it() -> None:
    row = machine("s390-nested-virt")
    assert (row["limited"], row["shared"], row["dedicated"], row["vm_levels"]) == (True, True, False, 2)
    levels = [(r["level"], r["control_program"]) for r in rows(source("s390-nested-virt"), "linux_vm")]
    assert levels == [(0, "KVM/Linux"), (1, "z/VM 6.4.0")]


@pytest.mark.parametrize("name", NAMES)
def test_lscpu_alone_states_what_sysinfo_states(name: str) -> None:
    alone = open_files([str(SAMPLES / f"expected-lscpu-{name}.txt")], Options())
    assert alone.problems() == []
    (row,) = rows(alone, "linux_sysinfo")
    whole = machine(name)
    for column in ("machine_type", "bogomips", "features", "dispatching", "online_cpus", "threads"):
        assert row[column] == whole[column], column
    assert alone.systems[0].machine_type == whole["machine_type"]


@pytest.mark.parametrize("name", NAMES)
def test_cpuinfo_alone_states_machine(name: str, tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_bytes((SAMPLES / name / "proc" / "cpuinfo").read_bytes())
    alone = open_files([str(path)], Options())
    (row,) = rows(alone, "linux_sysinfo")
    whole = machine(name)
    for column in ("machine_type", "bogomips", "features", "online_cpus"):
        assert row[column] == whole[column], column
    assert rows(alone, "linux_cache") == [
        {**cache, "file": str(path), "system": row["system"], "tod": row["tod"], "interval_end": row["tod"]}
        for cache in rows(source(name), "linux_cache")
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["lscpu", "cpuinfo"])
def test_bogomips_names_capability(name: str, text: str, tmp_path: Path) -> None:
    """As /proc/sysinfo of the same machine states it."""
    path = (
        SAMPLES / name / "proc" / "cpuinfo" if text == "cpuinfo" else SAMPLES / f"expected-lscpu-{name}.txt"
    )
    copy = tmp_path / "text"
    copy.write_bytes(path.read_bytes())
    with CoreSession([str(copy)]) as session:
        (row,) = session.sql("SELECT capability FROM role.linux_system").rows
    stated = machine(name)["capability"]
    assert row[0] == pytest.approx(stated, abs=0 if stated <= 3162 else 1)
