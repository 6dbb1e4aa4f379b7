"""SYSLOG from D0R19: its layout is not public, so nothing is held against a listing."""

from __future__ import annotations

from pathlib import Path

import monwrite_made as made
import zlens


def test_rates_and_processors(tmp_path: Path) -> None:
    groups = [made.configuration(made.START_US)]
    for number in range(4):
        end = made.START_US + number * made.MINUTE_US
        values = {
            "SYTSYG_FTRDONE": 2**32 - 900 + 600 * number,  # it wraps
            "SYTSYG_FTRABORT": 50 + 6 * number,
            "SYTSYG_FTRNOTEL": 7,
            "SYTSYG_CPUCAPAB": 2000,
            "SYTSYG_CPUCOUNT": 8,
            "SYTSYG_CPUCFGCT": 6 if number < 3 else 5,
            "SYTSYG_CPUSTNBY": 1,
            "SYTSYG_CPURESVD": 1,
        }
        values["SYTSYG_FTRDONE"] %= 2**32
        groups.append(made.interval(end, [made.record("D0R19", end - 100, values)]))
    with zlens.open(made.write(tmp_path / "a.mon", groups)) as session:
        assert session.all_problems() == []
        lines = [line.split() for line in session.report("fcx179").split("\n")]
    rows = {line[0]: line[1:] for line in lines if line and line[0].startswith((">>", "09:"))}
    steady = ["10.0", ".1", ".0", "8", "6", "1", "1", "2000", "." * 9]
    assert rows["09:01:00"] == rows["09:02:00"] == steady
    assert rows["09:03:00"] == [*steady[:4], "5", *steady[5:]]
    assert rows[">>Mean>>"] == steady
