"""Tests of zlens solve capacity: choice of the curve, sizes, deployments and runs.

Publication: IBM, "z/VM for eighty logical processors" (tables 2 to 4).
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from iterations import draws, iterations
from monwrite_builder import (
    MINUTE_US,
    S_US,
    SIM_CONFIG,
    START_US,
    configuration,
    interval,
    processors,
    sim_record,
    write,
)
from samples import needs, sample
from zlens import models
from zlens.catalog import capacity_curves
from zlens.cli import main
from zlens.errors import ScenarioError
from zlens.models import sweeps
from zlens.models.scenario import example
from zlens.rendering import answer_html, answer_text
from zlens.rendering.answer import Answer, by_name

SAMPLES, SAMPLE_TEXTS = sample("sysinfo"), sample("sysinfo-texts")
SYSINFO = """\
Manufacturer:         IBM
Type:                 2964
Model:                703              N96
Sequence Code:        00000000000829E7
CPUs Total:           4
Capability:           492
Secondary Capability: 400
Adjustment 02-way:    61470
Adjustment 03-way:    59694
Adjustment 04-way:    58336

LPAR Number:          71
LPAR Characteristics: Shared
LPAR Name:            S35LP67
LPAR CPUs Total:      4
LPAR CPUs Configured: 4
"""


def solve(**scenario: Any) -> Answer:
    return models.solve("capacity", scenario)


def runs(*of: tuple[int, float]) -> list[dict[str, Any]]:
    return [{"processors": n, "itr": itr} for n, itr in of]


# Answers ------------------------------------------------------------------------------------------


def test_capacity_example_as_published() -> None:
    answer = solve(**tomllib.loads(example("capacity")))
    sizes = by_name(answer.table("sizes"))
    assert [sizes[n]["capability"] for n in (16, 32, 48, 64, 80)] == pytest.approx(
        [11.54, 20.67, 28.94, 36.99, 44.32], abs=0.0065
    )
    deployed = answer.table("deployments")
    assert deployed.column("sizes") == ["1 x 80", "2 x 40", "4 x 20", "8 x 10"]
    assert deployed.column("capability") == pytest.approx([44.32, 49.76, 55.44, 64.16], abs=0.0051)
    assert deployed.column("gain") == pytest.approx([0, 12.3, 25.1, 44.8], abs=0.05)
    assert answer.table("runs").column("verdict") == ["base", "scales", "scales", "rolls off", "rolls off"]
    assert answer.figure("efficiency") == pytest.approx(0.81, abs=0.01)
    assert any(note.startswith("From 57 to 76 processors") for note in answer.notes)
    assert {one.name for one in answer.assumptions} == {"rolloff_gain", "usl_fits_within"}


def test_poor_fit_of_machine_curve_is_noted() -> None:
    answer = solve(machine="z14-m05", usl="curve")
    miss = answer.figure("usl_miss")
    assert miss is not None
    assert miss >= 14
    assert any("does not fit: its error is up to 17.6%" in note for note in answer.notes)
    assert answer.figure("usl_peak") is None
    assert by_name(answer.table("law"))["gamma"]["how"] == "given"


def test_good_fit_is_not_noted() -> None:
    points = [(n, 100 * n / (1 + 0.03 * (n - 1) + 0.0004 * n * (n - 1))) for n in (1, 4, 8, 16, 32)]
    answer = solve(run=runs(*points), usl_one=100.0)
    law = by_name(answer.table("law"))
    assert [law[name]["value"] for name in ("gamma", "alpha", "beta")] == pytest.approx([100, 0.03, 0.0004])
    assert answer.figure("usl_peak") == pytest.approx((0.97 / 0.0004) ** 0.5)
    assert not any("does not fit" in note for note in answer.notes)
    noisy = [(n, rate * (1.2 if n == 8 else 1)) for n, rate in points]
    assert any("does not fit" in note for note in solve(run=runs(*noisy)).notes)
    assert not any("does not fit" in note for note in solve(run=runs(*noisy), usl_fits_within=50).notes)


def test_unproven_peak_is_noted() -> None:
    def noted(beta: float) -> bool:
        noise = (1.01, 0.99, 1.01, 0.99, 1.01, 0.99)
        sizes = (1, 2, 4, 8, 16, 32)
        points = [
            (n, part * 100 * n / (1 + 0.05 * (n - 1) + beta * n * (n - 1)))
            for n, part in zip(sizes, noise, strict=True)
        ]
        answer = solve(run=runs(*points))
        assert answer.figure("usl_peak") is not None
        return any("do not show whether throughput has a peak" in note for note in answer.notes)

    assert noted(0.0001)
    assert not noted(0.002)


def test_three_runs_fit_law_exactly() -> None:
    answer = solve(run=runs((1, 10), (4, 30), (16, 60)))
    assert any("the fit cannot be checked" in note for note in answer.notes)
    assert by_name(answer.table("law"))["alpha"]["low"] is None
    few = solve(run=runs((1, 10), (4, 30)))
    assert any("at least three sizes" in note for note in few.notes)
    assert [table.key for table in few.tables] == ["runs"]


def test_without_curve_linear_is_expected() -> None:
    answer = solve(run=runs((2, 20), (4, 39), (8, 40)), usl="no")
    assert answer.table("runs").column("ratio") == [1, 2, 4]
    assert answer.table("runs").column("verdict") == ["base", "scales", "rolls off"]
    assert any("Expected is linear" in note for note in answer.notes)
    assert {one.name for one in answer.assumptions} == {"rolloff_gain"}
    harder = solve(run=runs((2, 20), (4, 39), (8, 40)), usl="no", rolloff_gain=0.99)
    assert harder.table("runs").column("verdict") == ["base", "rolls off", "rolls off"]


def test_differing_busy_is_noted() -> None:
    low = [{"processors": 2, "etr": 50.0, "busy": 60.0}, {"processors": 4, "etr": 150.0, "busy": 90.0}]
    answer = solve(machine="z14-m05", run=low)
    assert any("60.0% to 90.0% busy" in note for note in answer.notes)
    assert "busy_apart" in {one.name for one in answer.assumptions}
    near = [{**run, "busy": 90.0} for run in low]
    assert not any("busy: processors" in note for note in solve(machine="z14-m05", run=near).notes)


def test_run_without_busy_has_no_itr() -> None:
    answer = solve(run=[{"processors": 2, "etr": 50.0}, {"processors": 4, "etr": 90.0}])
    assert answer.table("runs").column("itr") == [None, None]
    assert answer.table("runs").column("etrr") == [1, 1.8]
    assert answer.table("runs").column("verdict") == ["", ""]
    assert any("no ITR" in note for note in answer.notes)


def test_interpolated_factors_are_marked() -> None:
    answer = solve(machine="z14-m05", sizes=[19, 80, 95, 161])
    table = answer.table("sizes")
    assert table.column("how") == ["between", "stated", "beyond", "unknown"]
    errors = table.column("error")
    assert errors[1] == 0
    assert errors[3] is None
    assert 0.3 < float(errors[0] or 0) < 0.6
    assert any("Factors of 19 processors" in note for note in answer.notes)
    assert any("ends at 80 processors: for 95, 161" in note for note in answer.notes)
    assert table.column("capability")[3] is None


def test_more_partitions_than_processors_are_ignored() -> None:
    answer = solve(machine="z14-m05", processors=3)
    assert answer.table("deployments").column("sizes") == ["1 x 3", "1 x 2 + 1 x 1"]
    assert any("cannot form 4, 8 partitions" in note for note in answer.notes)
    singly = solve(machine="z14-m05", processors=4, partitions=[4]).table("deployments")
    assert singly.column("sizes") == ["4 x 1"]
    assert singly.column("capability") == [4]


def test_capacity_sweep_has_row_per_number() -> None:
    scenario = {"machine": "z13-nc9", "processors": 1, "partitions": [1, 2]}
    answer = sweeps.solve("capacity", scenario, "processors=1:96")
    curve = dict(capacity_curves.capacity_curves()["z13-nc9"].curve)
    found = answer.table("sweep").column("capability")
    assert found == pytest.approx([n * curve[n] for n in range(1, 97)])
    split = answer.table("sweep").column("capability_2 partitions")
    assert split[0] is None
    assert split[11] == pytest.approx(12 * curve[6])


# Choice of the curve ------------------------------------------------------------------------------


def test_explicit_factors_and_adjustments() -> None:
    one = solve(factors={"2": 0.938, "4": 0.89}, sizes=[1, 2, 4]).table("sizes")
    assert one.column("capability") == pytest.approx([1, 1.876, 3.56])
    two = solve(adjustments=[61470, 59694, 58336], sizes=[1, 2, 4]).table("sizes")
    assert two.column("capability") == pytest.approx([1, 1.876, 3.5605], abs=1e-4)


def test_curve_notes() -> None:
    assert any("IBM's reference workloads" in note for note in solve(machine="z14-m05").notes)
    assert solve(factors={"2": 0.938, "4": 0.89}).notes == []
    (note,) = solve(factors={"2": 0.8, "4": 0.89}).notes
    assert "rises at 4 processors" in note


def test_file_of_sysinfo(tmp_path: Path) -> None:
    path = tmp_path / "sysinfo"
    path.write_text(SYSINFO, encoding="utf-8")
    answer = solve(data=str(path), processors=4)
    assert answer.figure("capability") == pytest.approx(4 * 58336 / 65536)
    assert answer.table("sizes").column("processors") == [1, 2, 3, 4]
    assert any("IFLs and zIIPs have secondary capability 400" in note for note in answer.notes)
    with pytest.raises(ScenarioError, match="the file has no system NONE"):
        solve(data=str(path), system="NONE")


def test_last_sysinfo_of_input_is_used(tmp_path: Path) -> None:
    for name, factor, when in (("a", "60000", 2_000), ("b", "50000", 1_000)):
        path = tmp_path / name / "proc" / "sysinfo"
        path.parent.mkdir(parents=True)
        path.write_text(SYSINFO.replace("61470", factor), encoding="utf-8")
        os.utime(path, (1_700_000_000 + when,) * 2)
    sizes = solve(data=str(tmp_path), sizes=[2]).table("sizes")
    assert sizes.column("factor") == [60000 / 65536]


def test_sysinfo_without_factors(tmp_path: Path) -> None:
    """Without factors, machine type and capability select the curve, as with monitor data."""
    path = tmp_path / "sysinfo"
    text = "".join(line for line in SYSINFO.splitlines(keepends=True) if "Adjustment" not in line)
    path.write_text(text.replace("2964", "3906"), encoding="utf-8")
    answer = solve(data=str(path), processors=80)
    assert answer.figure("capability") == pytest.approx(44.32)
    assert any("from z14-m05 in the catalog; whether it has" in note for note in answer.notes)
    path2 = tmp_path / "other"
    path2.write_text(text.replace("2964", "9175"), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"no curve is known for machine 9175"):
        solve(data=str(path2))


def monitored(path: Path, machine_type: str, capability: dict[str, Any], kinds: dict[str, Any]) -> str:
    """Write a monitor file with the capability of a machine and one processor of a kind."""
    config = {**SIM_CONFIG, "MTRSYS_SYSMTYPE": machine_type}
    groups = [configuration(START_US - 1_000_000, config)]
    for minute in range(3):
        end = START_US + minute * MINUTE_US
        busy = processors(end, {0: {"SYTPRP_PFXUTIME": minute * S_US, **kinds}})
        groups.append(interval(end, [*busy, sim_record("D0R19", end - 100, capability)]))
    return str(write(path, groups))


@pytest.mark.parametrize(
    ("capability", "kind", "machine"),
    [
        ({"SYTSYG_CPUCAPAB": 3296, "SYTSYG_SCPCAPAB": 492}, 0, "z13-n63-400"),
        ({"SYTSYG_CPUCAPAB": 3296, "SYTSYG_SCPCAPAB": 492}, 3, "z13-nc9"),
        ({"SYTSYG_CPUCAPAB": 492}, 3, "z13-nc9"),
    ],
)
def test_curve_of_monitor_data(tmp_path: Path, capability: dict[str, Any], kind: int, machine: str) -> None:
    """CPs of a subcapacity model have the curve of the primary capability, IFLs of the secondary one."""
    path = monitored(tmp_path / "x", "2964", capability, {"SYTPRP_PFXCPUTY": kind})
    answer = solve(data=path, sizes=[2, 4])
    curve = dict(capacity_curves.capacity_curves()[machine].curve)
    assert answer.table("sizes").column("factor") == [curve[2], curve[4]]
    assert any(f"from {machine} in the catalog" in note for note in answer.notes)


def test_unknown_capability_is_rejected(tmp_path: Path) -> None:
    path = monitored(tmp_path / "x", "2964", {"SYTSYG_CPUCAPAB": 1000}, {"SYTPRP_PFXCPUTY": 0})
    with pytest.raises(ScenarioError, match=r"no curve is known .* of capability 1000"):
        solve(data=path)


@needs(SAMPLES)
@needs(SAMPLE_TEXTS)
@pytest.mark.parametrize(
    ("path", "machine", "last"),
    [
        (SAMPLES / "s390-lpar" / "proc" / "sysinfo", "z196-m66", 54),
        (SAMPLES / "s390-lpar-drawer" / "proc" / "sysinfo", "z13-nc9", 96),
        (SAMPLES / "s390-nested-virt" / "proc" / "sysinfo", "z13-n63-400", 63),
        (SAMPLE_TEXTS / "z196-2817-703-M66-zvm-libvirt.txt", "z196-m66", 69),
        (SAMPLE_TEXTS / "z13-2964-704-NC9-lpar-libvirt.txt", "z13-nc9", 129),
        (SAMPLE_TEXTS / "z15-8561-400-LT1-zvm-ansible.txt", "z15-lt1-400", 190),
    ],
)
def test_catalog_curve_equals_sysinfo(path: Path, machine: str, last: int) -> None:
    curve = capacity_curves.capacity_curves()[machine].curve[:last]
    found = solve(data=str(path), sizes=[n for n, _ in curve]).table("sizes")
    assert found.column("factor") == [value for _, value in curve]
    assert set(found.column("how")) == {"stated"}


@needs(SAMPLES)
def test_cpuinfo_selects_curve_by_bogomips(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_bytes((SAMPLES / "s390-lpar-drawer" / "proc" / "cpuinfo").read_bytes())
    answer = solve(data=str(path), sizes=[129])
    curve = capacity_curves.capacity_curves()["z13-nc9"].curve
    assert answer.table("sizes").column("factor") == [curve[-1][1]]
    assert any("runs on a 2964 of capability 492" in note for note in answer.notes)


# Replacing a machine ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "speed"),
    [
        # PCI of the 701 models, z16 Technical Overview (IBM 2022): within 0.4%.
        ("z196", "zEC12", 1514 / 1202),
        ("2827", "z13", 1695 / 1514),
        (3906, 3931, 1.203),
        ("z15", "z16", 2253 / 2055),
        ("z16", "z17", 380 / 346),
    ],
)
def test_speed_of_one_processor_on_another_machine(old: str | int, new: str | int, speed: float) -> None:
    answer = solve(from_machine=old, to_machine=new)
    assert answer.figure("speed") == pytest.approx(speed, rel=0.005)
    assert answer.table("machines").column("speed")[0] == 1.0
    assert all(answer.table("machines").column("status"))


def test_processors_of_replaced_machine_need_curves() -> None:
    answer = solve(from_machine="z196", to_machine="z13", processors=20)
    old = dict(capacity_curves.capacity_curves()["z196-m66"].curve)
    new = dict(capacity_curves.capacity_curves()["z13-nc9"].curve)
    needed = answer.figure("needed")
    assert needed is not None

    def enough(count: int) -> bool:
        return count * new[count] * 696 / 492 >= 20 * old[20]

    assert enough(int(needed))
    assert not enough(int(needed) - 1)
    same = solve(from_machine="z13", to_machine="z13", processors=64)
    assert (same.figure("speed"), same.figure("needed")) == (1.0, 64)
    with pytest.raises(ScenarioError, match=r"several processors of 3931 .* is not public"):
        solve(from_machine="z16", to_machine="z17", processors=2)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ({"from_machine": "z16"}, "from_machine is given without to_machine"),
        ({"from_machine": "z99", "to_machine": "z17"}, r'from_machine is "z99"; expected one of 2097'),
        ({"from_machine": 3932, "to_machine": "z17"}, r"a processor of 3932 \(z16 A02\) is not public"),
    ],
)
def test_unknown_machine_is_refused(scenario: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        solve(**scenario)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ({}, "neither curve nor run"),
        ({"machine": "z99"}, 'machine is "z99"'),
        ({"machine": "z14-m05", "factors": {"2": 0.9}}, "machine and factors each provide a curve"),
        ({"factors": {"two": 0.9}}, "factors.two"),
        ({"factors": {"1": 0.9, "2": 0.8}}, "factors.1"),
        ({"factors": {"0": 0.9}}, "factors.0"),
        ({"sizes": [2], "run": [{"processors": 1, "itr": 2}]}, "sizes needs the curve"),
        ({"usl": "curve", "run": [{"processors": 1, "itr": 2}]}, "usl needs the curve"),
        ({"run": [{"processors": 1}]}, "run 1 has no throughput"),
        ({"run": [{"processors": 1, "etr": 1, "busy": 50, "itr": 2}]}, "itr as well as etr and busy"),
        ({"run": [{"processors": 0, "itr": 2}]}, "run"),
        ({"data": "/nowhere/at/all"}, "nowhere"),
    ],
)
def test_invalid_capacity_scenario_is_rejected(scenario: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        solve(**scenario)
    assert said in str(caught.value)


def test_degenerate_runs_are_answered() -> None:
    assert solve(run=runs((1, 5))).table("runs").column("verdict") == ["base"]
    same = solve(run=runs((4, 5), (4, 6), (4, 7)))
    assert same.table("runs").column("gain") == [None, None, None]
    flat = solve(run=runs((1, 5), (2, 5), (4, 5), (8, 5)))
    assert by_name(flat.table("law"))["alpha"]["value"] == pytest.approx(1)


def test_scenario_file_paths_are_relative(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sysinfo").write_text(SYSINFO, encoding="utf-8")
    path = tmp_path / "capacity.toml"
    path.write_text('data = "sysinfo"\nprocessors = 4\n', encoding="utf-8")
    assert main(["solve", "capacity", str(path)]) == 0
    assert "Partitions of the machine as reported by S35LP67" in capsys.readouterr().out
    assert main(["solve", "capacity", str(path), "--set", f"data={tmp_path / 'sysinfo'}"]) == 0
    assert "3.56 processors" in capsys.readouterr().out


def test_solve_capacity_prints_text_and_html(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "capacity.toml"
    path.write_text(example("capacity"), encoding="utf-8")
    assert main(["solve", "capacity", str(path), "--set", "machine=z13-nc9"]) == 0
    text = capsys.readouterr().out
    assert "Partitions of z13 model NC9" in text
    assert main(["solve", "capacity", str(path), "--format", "html"]) == 0
    assert "Effective capability" in capsys.readouterr().out


def test_any_capacity_scenario_is_solved_or_rejected() -> None:
    """Random scenarios, also extreme ones, have an answer that can be rendered or a ScenarioError."""
    rng = draws(7)

    def size() -> int:
        return rng.choice([1, 2, 3, 64, 9999, 10_000, rng.randint(1, 200)])

    answered = 0
    tried = iterations(400, 80)
    for _ in range(tried):
        run: list[dict[str, Any]] = [
            {"processors": size(), "itr": rng.choice([1e-9, 1.0, 1e14, rng.uniform(0.1, 100)])}
            for _ in range(rng.randint(0, 6))
        ]
        scenario: dict[str, Any] = {
            "run": run,
            "usl": rng.choice(["runs", "curve", "no"]),
            "sizes": [size(), size()],
            "processors": size(),
            "partitions": [size(), 1],
            **rng.choice(
                [
                    {"machine": "z14-m05"},
                    {"factors": {str(size()): rng.choice([1e-9, 0.5, 2.0])}},
                    {"adjustments": [rng.randint(1, 131_072) for _ in range(3)]},
                ]
            ),
        }
        try:
            answer = models.solve("capacity", scenario)
        except ScenarioError:
            continue
        assert answer_text.render(answer)
        assert answer_html.render(answer)
        answered += 1
    assert answered > tried * 3 / 4
