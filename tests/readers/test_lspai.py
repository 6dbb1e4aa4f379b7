"""Tests of PAI counters: output of lspai, and events of perf stat.

The formats are from lspai(8) of s390-tools and stat-display.c of perf.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iterations import draws, iterations
from zlens.catalog import pai
from zlens.inputs.options import Options
from zlens.readers.linux import lspai
from zlens.readers.linux.counters import open_files
from zlens.session.session import CoreSession

#: Events with ALL: perf, pmu-events/arch/s390/cf_z16 and cf_z17.
EVENTS = {"crypto": {"z16": 157, "z17": 173}, "nnpa": {"z16": 28, "z17": 37}}
#: Counts per minute since the start of the run, by CPU: NNPA_ALL, NNPA_ADD.
MINUTES = [{0: (0, 0), 1: (5, 5)}, {0: (100, 60), 1: (205, 105)}, {0: (200, 60), 1: (205, 110)}]


def csv(*, short: bool = False, each: bool = True, delta: bool = False) -> str:
    lines = ["Date,Time,CPU," + ("N0,N1" if short else "NNPA_ALL(0),NNPA_ADD(1)")]
    previous = {0: (0, 0), 1: (0, 0)}
    for minute, totals in enumerate(MINUTES):
        values = totals
        if delta and minute:
            values = {
                cpu: (all - previous[cpu][0], add - previous[cpu][1]) for cpu, (all, add) in totals.items()
            }
        previous = totals
        time = f"2025-05-13,08:{18 + minute}:27"
        if each:
            lines += [f"{time},CPU{cpu},{all},{add}" for cpu, (all, add) in values.items()]
        sums = [sum(part) for part in zip(*values.values(), strict=True)]
        lines.append(f"{time},{'Delta' if delta and minute else 'Total'},{sums[0]},{sums[1]}")
    return "\n".join(lines) + "\n"


def as_json(*, whole: bool = True) -> str:
    measurements = [
        {
            "iteration": minute,
            "time_epoch": 1747124307 + 60 * minute,
            "time": "2025-05-13 08:18:27",
            "valuetype": "total",
            "counters": [
                {
                    "name": name, "shortname": f"N{number}", "config": 6144 + number, "id": number,
                    "value": sum(values[number] for values in totals.values()),
                    **{f"cpu{cpu}": values[number] for cpu, values in totals.items()},
                }
                for number, name in enumerate(("NNPA_ALL", "NNPA_ADD"))
            ],
        }
        for minute, totals in enumerate(MINUTES)
    ]  # fmt: skip
    text = json.dumps({"meta": {"host": "made"}, "measurements": measurements})
    return text if whole else text[:-20]


def counted(path: Path, text: str) -> list[tuple[Any, ...]]:
    path.write_text(text)
    with CoreSession([str(path)]) as session:
        query = 'SELECT "set", name, state, executions, rate FROM pai ORDER BY interval_end, name'
        return [tuple(row) for row in session.sql(query).rows]


SUMS = [
    ("nnpa", "NNPA_ADD", "problem", 160, pytest.approx(160 / 60)),
    ("nnpa", "NNPA_ALL", "problem", 300, 5.0),
    ("nnpa", "NNPA_ADD", "problem", 5, pytest.approx(5 / 60)),
    ("nnpa", "NNPA_ALL", "problem", 100, pytest.approx(100 / 60)),
]


@pytest.mark.parametrize(
    "text",
    [csv(), csv(short=True), csv(each=False), csv(delta=True), csv(delta=True, each=False), as_json()],
    ids=["cpus", "short", "total", "delta", "delta total", "json"],
)
def test_lspai_counts_by_interval(text: str, tmp_path: Path) -> None:
    """CPUs and their total are counted once, whatever the options of lspai."""
    assert counted(tmp_path / "x", text) == SUMS


def test_appended_lspai_run_is_separate(tmp_path: Path) -> None:
    """Totals of another run, which begin at 0 again, have no difference to those of the first."""
    path = tmp_path / "x"
    later = re.sub(r"17471\d+", lambda match: str(int(match[0]) + 600), as_json())
    assert counted(path, as_json() + later) == SUMS * 2
    assert open_files([str(path)], Options()).resets() == []


def test_truncated_lspai_json_keeps_measurements(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert counted(path, as_json(whole=False)) == SUMS[:2]
    assert [p.kind for p in open_files([str(path)], Options()).problems()] == ["truncated"]


@given(st.text(max_size=200), st.integers(0, 400))
def test_any_text_is_read_as_lspai_json(text: str, at: int) -> None:
    whole = as_json()
    notes: list[str] = []
    for damaged in (text, whole[:at] + text + whole[at:]):
        for reading in lspai.json_readings(damaged, lambda kind, *_: notes.append(kind)):
            assert all(count.value is None or count.value >= 0 for count in reading.counts)
    assert set(notes) <= {"header", "truncated"}


@pytest.mark.parametrize("group", EVENTS)
def test_pai_sets_have_the_events_of_perf(group: str) -> None:
    known = pai.PaiFacts.load().sets[group]
    assert list(known.counters) == list(range(EVENTS[group]["z17"]))
    since = [counter.since for counter in known.counters.values()]
    assert since == ["z16"] * EVENTS[group]["z16"] + ["z17"] * (len(since) - EVENTS[group]["z16"])
    assert len({counter.name for counter in known.counters.values()}) == len(since)
    for number, counter in known.counters.items():
        configs = (f"{known.pmu}/event={known.base + number:{form}}/" for form in ("#x", "d", "05"))
        for event in (f"{known.pmu}/{counter.name}/", *configs, counter.name):
            found = pai.parse_perf_event(event)
            assert found is not None, event
            assert (found.set, found.number, found.name) == (group, number, counter.name)


@pytest.mark.parametrize(
    ("event", "state"),
    [
        ("pai_crypto/KM_AES_128/", "both"),
        ("pai_crypto/KM_AES_128/u", "problem"),
        ("KM_AES_128:k", "supervisor"),
        ("pai_ext/NNPA_ADD/", "problem"),
        ("pai_ext/KM_AES_128/", None),
        ("pai_crypto/KM_AES_128/ukh", None),
        ("pai_crypto/event=0x1fff/", None),
        ("cycles", None),
        ("cpum_cf/CPU_CYCLES/", None),
    ],
)
def test_state_of_pai_event(event: str, state: str | None) -> None:
    found = pai.parse_perf_event(event)
    assert (None if found is None else found.state) == state


@pytest.mark.parametrize("seed", range(iterations(50, 5)))
def test_random_pai_counts_of_perf_are_summed(seed: int, tmp_path: Path) -> None:
    """Random events of all sets on random CPUs, next to events of the CPU MF."""
    random = draws(seed)
    events = [
        (known.pmu, counter.name, name)
        for name, known in pai.PaiFacts.load().sets.items()
        for counter in random.sample(sorted(known.counters.values(), key=lambda c: c.name), 5)
    ]
    cpus = random.sample(range(64), random.randint(1, 4))
    lines, expected = [], {}
    for pmu, name, group in events:
        values = [random.randrange(2**40) for _ in cpus]
        expected[group, name] = sum(values)
        lines += [
            f"60.000000000,CPU{cpu},{value},,{pmu}/{name}/,1000,100.00,,"
            for cpu, value in zip(cpus, values, strict=True)
        ]
    lines += [f"60.000000000,CPU{cpu},{random.randrange(2**40)},,cycles,1000,100.00,," for cpu in cpus]
    found = counted(tmp_path / "x", "\n".join(lines) + "\n")
    assert {(group, name): count for group, name, _, count, _ in found} == expected
    assert {rate for *_, rate in found} == {count / 60 for count in expected.values()}


def test_pai_report_and_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from zlens.cli import main

    base, other = tmp_path / "base", tmp_path / "other"
    base.write_text(csv())
    other.write_text(csv().replace(",205,105", ",505,405"))
    assert main(["report", "pai", str(base)]) == 0
    report = capsys.readouterr().out
    assert re.search(r">>Mean>> nnpa +problem +NNPA_ADD +83 +1\.38 element-wise addition", report)
    assert main(["compare", str(base), "--", str(other), "--format", "csv"]) == 0
    assert "NNPA_ADD" in capsys.readouterr().out
