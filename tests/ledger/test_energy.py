"""Tests of the ledger of energy: simulated power comes back, and each level adds up to the one above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import power_builder as power
import zlens
from iterations import draws, iterations
from zlens.catalog.ledgers import load_ledger
from zlens.cli import main
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.ledger import answer, factors
from zlens.ledger.ledger_row import LedgerRow
from zlens.ledger.rows import ledger_rows
from zlens.ledger.tree import imbalances
from zlens.session.session import CoreSession

SECONDS = power.SECONDS
#: A zpwr reading of a partition of the same machine, without the machine's power (s390-tools, zpwr(8)).
ZPWR = (
    "iteration,time,time_epoch_sec,time_epoch_nsec,update_interval,cpu,storage,io,total,unassigned_resources,"
    "infrastructure\n"
)


def ledger(inputs: Sequence[Path], **options: object) -> list[LedgerRow]:
    with CoreSession([str(path) for path in inputs], Options(**options)) as session:
        assert not session.problems
        return ledger_rows(session, load_ledger("energy"))


def amounts(rows: Sequence[LedgerRow], account: str) -> dict[str | None, float | None]:
    return {row.subject: row.amount for row in rows if row.account == account}


def hmc(folder: Path) -> Path:
    """Write scrapes of every minute, which also have a partition without data of a system."""
    powers = {"ZVM1": power.PARTITION_W + 10, "LINUX9": 40.0}
    return power.scrapes(folder, dict.fromkeys(range(0, SECONDS + 1, 60), (power.MACHINE_W + 50, powers)))


def zpwr(folder: Path) -> Path:
    start = round(power.START.timestamp())
    lines = [
        f'"{number}","","{start + 10 * number}","0","10000000000","140000000","1719200","40000000","","",""\n'
        for number in range(4)
    ]
    path = folder / "lnx1.csv"
    path.write_text(ZPWR + "".join(lines))
    return path


def test_simulated_energy_comes_back(tmp_path: Path) -> None:
    """Processors need 20 W each, busy or not: guests have those of their CPU time, idle time the others."""
    rows = ledger([power.monitor(tmp_path)])
    assert amounts(rows, "machine") == {"9175-12F17": pytest.approx(power.MACHINE_W * SECONDS)}
    assert amounts(rows, "infrastructure") == {"infrastructure": 4000.0 * SECONDS}
    assert amounts(rows, "unassigned") == {"unassigned": (700.0 + 6 * 20) * SECONDS}
    assert amounts(rows, "partitions") == {"ZVM1": pytest.approx(power.PARTITION_W * SECONDS)}
    assert amounts(rows, "processors") == {"processors": 4 * 20.0 * SECONDS}
    assert amounts(rows, "memory") == {"memory": 0.25 * 32 * SECONDS}
    guests = amounts(rows, "guests")
    assert guests == {
        "HALF": pytest.approx(0.5 * 20 * SECONDS, rel=0.01),
        "TENTH": pytest.approx(0.1 * 20 * SECONDS, rel=0.01),
    }
    assert amounts(rows, "idle") == {"idle": pytest.approx(3.4 * 20 * SECONDS, rel=0.01)}
    assert {row.status for row in rows if row.level == "workload"} <= {"assumed", "measured"}
    assert {row.status for row in rows if row.account == "guests"} == {"assumed"}


def test_guests_share_dynamic_energy_by_cpu_time(tmp_path: Path) -> None:
    """With 30 W more for a busy core, energy of guests stays in proportion to their CPU time."""
    path = power.monitor(tmp_path, core_busy=30.0)
    rows = ledger([path])
    (processors,) = amounts(rows, "processors").values()
    assert processors == pytest.approx((4 * 20 + 0.6 * 30) * SECONDS, rel=0.01)
    guests = amounts(rows, "guests")
    cpu = dict(power.rows([path], "SELECT userid, sum(cpu_s) FROM guest GROUP BY userid"))
    for name in ("HALF", "TENTH"):
        assert guests[name] == pytest.approx(processors * cpu[name] / (4 * SECONDS), rel=1e-3)


def varying(folder: Path, number: int = 1, **powers: float) -> Path:
    """Write 20 minutes of monitor data in which the use of processors varies; no power without `powers`."""
    scenario = power.scenario(**powers)
    scenario["simulation"] |= {"seconds": 1200, "seed": number}
    scenario["user"] = [
        user | {"virtual_cpus": 2, "demand": demand, "load": {"burst": burst}}
        for user, demand, burst in zip(scenario["user"], (80, 50), (4000, 9000), strict=True)
    ]
    if not powers:
        del scenario["machine"]["power"]
    path = folder / f"varying{number}.data"
    zlens.simulate(scenario, str(path))
    return path


def read_by_hmc(folder: Path, data: Path, watts: Callable[[float], float]) -> Path:
    """Write scrapes of the partition's power at the end of each interval, by the processors used in it."""
    query = "SELECT interval_end, effective_s / seconds FROM partition WHERE partition = 'ZVM1'"
    readings = {0: (5000.0, {"ZVM1": 0.0})}
    for end, used in power.rows([data], query):
        readings[round((end - power.START).total_seconds())] = 5000.0, {"ZVM1": watts(used)}
    return power.scrapes(folder, readings)


def power_model(inputs: Sequence[Path]) -> dict[str, Any]:
    with CoreSession([str(path) for path in inputs]) as session:
        found = answer.solve(session, "energy").table("power_model").records()
    [of_partition] = [row for row in found if row["partition"] is not None]
    return of_partition


@pytest.mark.parametrize("number", range(iterations(10, 2)))
def test_power_at_rest_is_solved_within_its_error(number: int, tmp_path: Path) -> None:
    """An HMC reads power at rest, power by use, and noise of 1 W; the line is within five errors."""
    chance = draws(number)
    rest, each = chance.uniform(20, 200), chance.uniform(10, 60)
    data = varying(tmp_path, number + 1)
    meter = read_by_hmc(tmp_path, data, lambda used: rest + each * used + chance.gauss(0, 1))
    found = power_model([data, meter])
    assert found["taken"] == "yes"
    assert abs(found["idle_w"] - rest) < 5 * found["idle_error_w"]
    assert abs(found["used_w"] - each) < 5 * found["used_error_w"]
    assert found["idle_error_w"] < 10
    assert 0 < found["r2"] < 1
    rows = ledger([data, meter])
    [idle] = [row for row in rows if row.account == "idle"]
    assert (idle.amount, idle.status) == (pytest.approx(found["idle_w"] * 1200, rel=1e-3), "solved")
    assert set(imbalances(load_ledger("energy"), rows).values()) == {0.0}


def test_simulated_power_at_rest_is_solved(tmp_path: Path) -> None:
    """Four cores of 20 W, no more while they are busy: no line; with 30 W more, 80 W and 30 W."""
    refused = power_model([varying(tmp_path, 1, core_busy=0.0)])
    assert refused["taken"] == "no: power does not rise with use"
    found = power_model([varying(tmp_path, 2, core_busy=30.0)])
    assert (found["idle_w"], found["used_w"]) == (pytest.approx(80, abs=0.01), pytest.approx(30, abs=0.01))


@pytest.mark.long
def test_energy_of_a_lake_is_that_of_its_days(tmp_path: Path) -> None:
    """Each side of midnight has its own power at rest, so that measures by day have the same amounts."""
    scenario = power.scenario(core_busy=30.0)
    scenario["simulation"] |= {"seconds": 2400, "start": "2026-03-02T23:40:00Z"}
    scenario["user"] = [user | {"load": {"burst": 9000}} for user in scenario["user"]]
    data, lake = tmp_path / "midnight.data", str(tmp_path / "lake")
    zlens.simulate(scenario, str(data))
    assert main(["import", str(data), "--lake", lake]) == 0
    assert main(["lake", "rollup", lake]) == 0
    query = "SELECT account, subject, status, sum(amount) FROM {} WHERE ledger = 'energy' GROUP BY ALL"
    with CoreSession([lake]) as session:
        rows, by_day = (
            sorted(session.sql(query.format(table)).rows, key=str) for table in ("ledger", "ledger_day")
        )
        lines = answer.solve(session, "energy").table("power_model").records()
    assert rows == by_day
    days = ["2026-03-02", "2026-03-03"]
    assert [(line["partition"], line["day"]) for line in lines if line["partition"]] == [
        ("ZVM1", day) for day in days
    ]
    assert [line["day"] for line in lines if line["partition"] is None] == days


@pytest.mark.parametrize(
    ("watts", "reason"),
    [
        (lambda used: 100 - 10 * used, "no: power does not rise with use"),
        (lambda used: 90 * used - 20, "no: power at rest would be negative"),
    ],
)
def test_power_at_rest_is_refused(watts: Callable[[float], float], reason: str, tmp_path: Path) -> None:
    data = varying(tmp_path)
    meter = read_by_hmc(tmp_path, data, watts)
    assert power_model([data, meter])["taken"] == reason
    assert {row.status for row in ledger([data, meter]) if row.account == "idle"} == {"assumed"}


@pytest.mark.long
@pytest.mark.parametrize("rest", [3000.0, 5000.0])
def test_power_of_a_machine_at_rest_by_hmc_alone(rest: float, tmp_path: Path) -> None:
    """Two pools of ten processors, each of which adds 40 W while it is used, over an hour of scrapes."""
    chance = draws(1)
    usage = {
        60 * minute: {"cp": chance.randint(10, 90) / 100, "ifl": chance.randint(10, 90) / 100}
        for minute in range(61)
    }
    watts = {second: (rest + 400 * sum(each.values()), {}) for second, each in usage.items()}
    path = power.scrapes(tmp_path, watts, usage=usage)
    with CoreSession([str(path)]) as session:
        [found] = answer.solve(session, "energy").table("power_model").records()
    assert (found["machine"], found["partition"], found["intervals"]) == ("BOX", None, 60)
    assert (found["idle_w"], found["used_w"]) == (pytest.approx(rest), pytest.approx(40))
    assert found["taken"] == "no: of the whole machine"
    assert {row.status for row in ledger([path])} == {"measured"}
    without = power.scrapes(tmp_path, watts, "OTHER")
    with CoreSession([str(without)]) as session:
        assert [table.key for table in answer.solve(session, "energy").tables] == ["accounts"]


def test_power_at_rest_needs_intervals_that_differ(tmp_path: Path) -> None:
    """Ten intervals with the same use have no line; nor have five."""
    refused = power_model([power.monitor(tmp_path)])
    assert (refused["intervals"], refused["taken"]) == (10, "no: use of processors varies by less than 1%")
    data = tmp_path / "short.data"
    zlens.simulate(power.scenario() | {"simulation": {"seconds": 300}}, str(data))
    assert power_model([data])["taken"] == "no: fewer than 10 intervals"


@pytest.mark.parametrize("meters", ["monitor", "smf", "hmc", "zpwr", "monitor smf", "monitor smf hmc zpwr"])
def test_energy_of_each_level_adds_up(meters: str, tmp_path: Path) -> None:
    makers = {
        "monitor": power.monitor,
        "smf": lambda folder: power.smf(folder, power.MACHINE_W + 100),
        "hmc": hmc,
        "zpwr": zpwr,
    }
    rows = ledger([makers[name](tmp_path) for name in meters.split()])
    assert {row.level for row in rows} >= {"partition", "resource"}
    found = imbalances(load_ledger("energy"), rows)
    assert found
    assert set(found.values()) == {0.0}


def test_power_that_no_meter_has_is_not_attributed(tmp_path: Path) -> None:
    """The HMC has 98 and 40 W of partitions, and no power of infrastructure."""
    rows = ledger([hmc(tmp_path)])
    assert amounts(rows, "machine") == {"BOX": (power.MACHINE_W + 50) * SECONDS}
    assert amounts(rows, "partition_rest") == {"BOX": (power.MACHINE_W + 50 - 98 - 40) * SECONDS}
    assert {row.status for row in rows if row.account == "processors"} == {"assumed"}


def test_machine_energy_counts_once(tmp_path: Path) -> None:
    """Three meters of a machine: its energy is that of one, and partitions have those of their own."""
    inputs = [power.monitor(tmp_path), power.smf(tmp_path, power.MACHINE_W + 100), hmc(tmp_path)]
    rows = ledger(inputs)
    assert amounts(rows, "machine") == {"9175-12F17": (power.MACHINE_W + 100) * SECONDS}
    assert amounts(rows, "partitions") == {
        "ZVM1": pytest.approx(power.PARTITION_W * SECONDS),
        "ZOS1": 73.0 * SECONDS,
        "LINUX9": 40.0 * SECONDS,
    }
    rest = power.MACHINE_W + 100 - 4000 - 700 - power.PARTITION_W - 73 - 40
    assert amounts(rows, "partition_rest") == {"9175-12F17": pytest.approx(rest * SECONDS)}


def test_partition_counts_while_machine_is_measured(tmp_path: Path) -> None:
    """Without Global Performance Data, D0R25 has no machine: the HMC has it for three of ten minutes."""
    scenario = power.scenario()
    scenario["cp"] = {"global_performance_data": False}
    path = tmp_path / "zvm.data"
    zlens.simulate(scenario, str(path))
    powers = {second: (5000.0, {"ZVM1": 90.0}) for second in (120, 180, 240, 300)}
    rows = ledger([path, power.scrapes(tmp_path, powers)])
    assert amounts(rows, "machine") == {"9175-12F17": 5000.0 * 180}
    assert amounts(rows, "partitions") == {"ZVM1": pytest.approx(power.PARTITION_W * 180)}


def test_planted_difference_is_in_energy_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """100 W for ten minutes are 60,000 J."""
    inputs = [power.monitor(tmp_path), power.smf(tmp_path, power.MACHINE_W + 100)]
    assert main(["ledger", "energy", *map(str, inputs)]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "smf, zvm-monitor" in line)
    assert line.split()[-2:] == ["60,000.0", "98.00"]


def test_energy_of_transactions(tmp_path: Path) -> None:
    """6,000 transactions in ten minutes: the energy of the partition has them."""
    path = power.monitor(tmp_path)
    start = power.START
    lines = [f"{start.isoformat()},{start.replace(minute=10).isoformat()},6000"]
    (tmp_path / "zvm.data.throughput.csv").write_text("\n".join(["start,end,transactions", *lines]) + "\n")
    rows = ledger([path], throughput=str(tmp_path / "zvm.data.throughput.csv"))
    (partition,) = (row for row in rows if row.account == "partitions")
    assert partition.transactions == pytest.approx(6000)
    assert partition.amount == pytest.approx(power.PARTITION_W * SECONDS)


def test_energy_by_month_in_kilowatt_hours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "energy", str(power.monitor(tmp_path))]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    kwh = f"{power.MACHINE_W * SECONDS / 3.6e6:.3f}".lstrip("0")
    assert any(line.startswith(f"2026-03 (machine) machine machine 9175-12F17 .... {kwh}") for line in lines)


def test_input_without_power_meter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = power.scenario()
    del scenario["machine"]["power"]
    path = tmp_path / "a.data"
    zlens.simulate(scenario, str(path))
    assert main(["ledger", "energy", str(path)]) == 2
    error = capsys.readouterr().err
    assert "no data of the ledger energy; expected a power meter: zlens report meters lists" in error


FACTORS = 'unit = "g/kWh"\nco2 = 380\nsource = "the contract"\n[machine]\n9175-12F17 = 36\n'


def test_emission_by_factor_of_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """4908 W for ten minutes are 0.818 kWh, which at 36 g/kWh emit 29.4 g."""
    (tmp_path / "factors.toml").write_text(FACTORS)
    options = ["--factors", str(tmp_path / "factors.toml")]
    assert main(["ledger", "energy", str(power.monitor(tmp_path)), *options]) == 0
    text = capsys.readouterr().out
    (line,) = (line for line in text.partition("Emission of CO2")[2].splitlines() if " Machine " in line)
    assert line.split()[:4] == ["9175-12F17", "Machine", "0.8180", "29.4"]
    assert "Emission factors: the contract." in text
    assert factors.read(options[1]).grams("OTHER", 3.6e6) == 380.0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (FACTORS.replace("380", '"much"'), r'factors.toml:2: co2 is "much"; expected a number'),
        (FACTORS.replace("g/kWh", "t/MWh"), r'factors.toml:1: unit is "t/MWh"; expected one of "g/kWh"'),
        (FACTORS.replace("co2 = 380\n", ""), r"co2 is missing: the factor of all machines"),
        (FACTORS.replace("36", "-1"), r"factors.toml:5: machine.9175-12F17 is -1; expected a number"),
        ("co2 380", r"factors.toml:1: is not valid TOML"),
    ],
)
def test_invalid_emission_factors(text: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "factors.toml").write_text(text)
    with pytest.raises(InputError, match=error):
        factors.read(str(tmp_path / "factors.toml"))


def test_emission_factors_are_for_energy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "factors.toml").write_text(FACTORS)
    options = ["--factors", str(tmp_path / "factors.toml")]
    assert main(["ledger", "cpu", str(power.monitor(tmp_path)), *options]) == 2
    assert "emission factors are for energy, and the ledger cpu is in s" in capsys.readouterr().err
