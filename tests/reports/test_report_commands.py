"""Reports in the form of commands: INDICATE MULTITHREAD and QUERY CAPABILITY.

Publications: IBM, "z/VM and simultaneous multithreading", 2015 and 2020, $SMTMET of AMPDGLD1, whose last
printed interval is shown as the command shows it, in whole numbers; B. Bitner and B. Wade, "z/VM Performance
Update", 2011 and 2013: the responses of QUERY CAPABILITY.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from moved_pages import moved, same
from test_report_smtmet import LOADED_TYPES, made, published, type_interval

import zlens
from monwrite_made import (
    CONFIG,
    MINUTE_US,
    SIM_CONFIG,
    START_US,
    configuration,
    interval,
    minutes,
    record,
    sim_record,
    write,
)

OWN = (sim_record, SIM_CONFIG)


def printed(path: Path, name: str) -> str:
    with zlens.open([path]) as session:
        return re.sub("Run .{19}", "", session.report(name))


def test_multithreading_in_whole_numbers(tmp_path: Path) -> None:
    intervals = [type_interval(row) for row in published(LOADED_TYPES)[1:]]
    config = {**SIM_CONFIG, "MTRSYS_ZLMTSTAT": 3}
    text = printed(made(tmp_path / "x", "21:32:02", intervals, (sim_record, config)), "indicate_multithread")
    assert re.search(r"\nMultithreading is enabled\. +2015/02/14 21:37:32 2015/02/14 21:38:02\n", text)
    # 93.7 159.0 169.6 90.4 1.85 at 21:38:02; busy is utilization by productivity.
    (line,) = (line.split() for line in text.split("\n") if line.startswith("IFL"))
    assert line == ["IFL", "2", "4", "97", "1.85", "94", "90", "159", "170"]


@pytest.mark.parametrize(
    ("state", "response"),
    [
        (0, "The Multithreading Facility is not installed."),
        (1, "Multithreading is disabled."),
        (2, "Multithreading is disabled."),
    ],
)
def test_multithreading_not_enabled(tmp_path: Path, state: int, response: str) -> None:
    """IBM Docs, z/VM 7.2, INDICATE MULTITHREAD, responses 1 and 2."""
    config = {**SIM_CONFIG, "MTRSYS_ZLMTSTAT": state}
    path = write(tmp_path / "x", [configuration(START_US - 1_000_000, config), *minutes(3)])
    text = printed(path, "indicate_multithread")
    assert f"\n{response} " in text
    assert "IFL" not in text


def capability(path: Path, values: Mapping[str, int], way: Any = OWN) -> Path:
    written, config = way
    groups = [configuration(START_US - 1_000_000, config)]
    for minute in range(3):
        end = START_US + minute * MINUTE_US
        # Only the last interval is told of.
        given = values if minute == 2 else {"SYTSYG_CPUCAPAB": 500}
        groups.append(interval(end, [written("D0R19", end - 100, given)]))
    return write(path, groups)


NOMINAL = {"SYTSYG_CPUCAPAB": 696, "SYTSYG_SCPCAPAB": 696, "SYTSYG_ZLNOMCAP": 696, "SYTSYG_ZLCAPIND": 100}
RESPONSE = [
    "CAPABILITY: PRIMARY 696 SECONDARY 696 NOMINAL 696",
    "CAPACITY-ADJUSTMENT INDICATION 100",
    "CAPACITY-CHANGE REASON 0",
    "RUNNING AT NOMINAL CAPACITY.",
]
STATES = {
    1: "RUNNING WITH REDUCED CAPACITY DUE TO A MANUAL CONTROL SETTING.",
    2: "RUNNING WITH REDUCED CAPACITY DUE TO AN EXTERNAL EXCEPTION CONDITION.",
}


def response(text: str) -> list[str]:
    return [
        line.split("  ")[0].split(" 2026/")[0]
        for line in text.split("\n")
        if line.startswith(("CAPA", "RUNN"))
    ]


def test_capability(tmp_path: Path) -> None:
    text = printed(capability(tmp_path / "x", NOMINAL), "query_capability")
    assert response(text) == RESPONSE
    assert "2026/03/02 09:01:00 2026/03/02 09:02:00" in text


@pytest.mark.parametrize(("reason", "said"), STATES.items())
def test_reduced_capability(tmp_path: Path, reason: int, said: str) -> None:
    values = {**NOMINAL, "SYTSYG_CPUCAPAB": 800, "SYTSYG_ZLCAPIND": 87, "SYTSYG_ZLCAPRSN": reason}
    lines = response(printed(capability(tmp_path / "x", values), "query_capability"))
    assert lines == [
        "CAPABILITY: PRIMARY 800 SECONDARY 696 NOMINAL 696",
        "CAPACITY-ADJUSTMENT INDICATION 87",
        f"CAPACITY-CHANGE REASON {reason}",
        said,
    ]


def test_a_capability_that_is_no_whole_number(tmp_path: Path) -> None:
    """STSI gives a floating-point number where the first nine bits are not zero: here 0.75."""
    values = {"SYTSYG_CPUCAPAB": 0x3F400000, "SYTSYG_SCPCAPAB": 696}
    path = capability(tmp_path / "x", values, (record, CONFIG))
    assert response(printed(path, "query_capability")) == ["CAPABILITY: PRIMARY 0.75 SECONDARY 696"]


def test_no_secondary_capability_is_not_one_of_nothing(tmp_path: Path) -> None:
    config = {**CONFIG, "MTRSYS_CPUCAPAB": 696, "MTRSYS_SCPCAPAB": 0}
    path = capability(tmp_path / "x", {"SYTSYG_CPUCAPAB": 696, "SYTSYG_SCPCAPAB": 0}, (record, config))
    assert response(printed(path, "query_capability")) == ["CAPABILITY: PRIMARY 696"]
    assert re.search(r"\nReal Proc: Cap +696\.0000 ", printed(path, "sysconf"))
    assert re.search(r"\nSec\. Proc: Cap \.+ ", printed(path, "sysconf"))
    (means,) = (line for line in printed(path, "syslog").split("\n") if line.startswith(">>Mean>>"))
    assert re.search(r" 598 \.+$", means)  # of 500 and 696


def test_fields_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = moved(tmp_path, ["D0R2", "D0R19"], "7.3", monkeypatch)
    # Without the page of D1R4 it is the figures that say multithreading is enabled.
    own = (sim_record, {**SIM_CONFIG, "MTRSYS_ZLMTSTAT": 3})
    ways = (("own", own), ("moved", (elsewhere.record, elsewhere.config)))
    first, second = (
        printed(capability(tmp_path / name, NOMINAL, way), "query_capability") for name, way in ways
    )
    assert "NOMINAL 696" in first
    assert same(first, second)
    intervals = [type_interval(row) for row in published(LOADED_TYPES)[1:4]]
    first, second = (
        printed(made(tmp_path / f"mt {name}", "21:32:02", intervals, way), "indicate_multithread")
        for name, way in ways
    )
    assert "IFL" in first
    # Footnotes tell of faults by release.
    assert same(*(text.split("\n* ")[0] for text in (first, second)))
