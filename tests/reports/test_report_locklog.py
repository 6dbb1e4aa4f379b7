"""LOCKLOG against IBM's published listing.

Publication: IBM, z/VM 7.3 Performance Toolkit Reference, FCX265 Spin Lock Log Screen (2817, 00:00:30 to
07:33:30). Counters are fed that give its rows, and every printed field is held against the listing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import moved_pages
import pytest

import monwrite_made as made
import zlens
from zlens import _native
from zlens.catalog import layouts, plans

LOCKS = (
    "RCCSFQL", "RSANOQLK", "NSUNLSLK", "HCPPGDML", "NSUIMGLK", "FSDVMLK", "DCTLLOK", "SYSDATLK", "RSACALLK",
    "RSAAVLLK", "HCPPGDAL", "HCPPGDTL",
)  # fmt: skip
#: The one lock that anybody spun for, and what is printed of it and of all.
SPUN = "RSACALLK"
PUBLISHED = ".1 .249 .000 .1 .1 .249 .000 .1 .0 .000 .000 .0"
IDLE = ".0 .000 .000 .0 .0 .000 .000 .0 .0 .000 .000 .0"
OWN = (made.sim_record, made.SIM_CONFIG)
HALF_MINUTE = 30 * made.S_US


def entry(name: str, number: int, sim: bool, rate: float, shared: float = 0) -> Mapping[str, object]:
    """A lock after so many half minutes of `rate` collisions a second, .249 microseconds each."""
    own, others = round(30 * rate * number), round(30 * shared * number)
    found: dict[str, object] = {
        "SYTLCK_CALLCKID": name,
        "SYTLCK_CALXSCNT": own,
        "SYTLCK_CALXTIME": 10**9 + round(own * 0.249 * 4096),
        "SYTLCK_CALSSCNT": others,
        "SYTLCK_CALSTIME": 10**9 + others * 4096,
    }
    return found | ({"SYTLCK_ZLXCADS": own, "SYTLCK_ZLSCADS": 2 * others} if sim else {})


def locks(
    time_us: int, entries: list[Mapping[str, object]], sim: bool, record: Any = made.sim_record
) -> bytes:
    values = {"SYTLCK_CALNMLKS": len(entries)}
    if sim:
        return bytes(record("D0R23", time_us, values, {"CALLKDATA": entries}))
    layout = next(one for one in layouts.layouts("D0R23") if one.release == "5.3")
    tod = _native.tod_from_unix_us(time_us)
    return plans.encode(layout, values, tod=tod, entries={"CALLKDATA": entries})


def written(path: Path, sim: bool, shared: float = 0, count: int = 5, way: Any = OWN) -> Path:
    record, config = way
    groups = [made.configuration(made.START_US, config if sim else made.CONFIG, interval_s=30)]
    for number in range(count):
        end = made.START_US + number * HALF_MINUTE
        entries = [
            entry(name, number, sim, 0.1 if name == SPUN else 0, shared if name == "RSAAVLLK" else 0)
            for name in LOCKS
        ]
        groups.append(made.interval(end, [locks(end - 100, entries, sim, record)]))
    return made.write(path, groups)


def printed(path: Path, name: str) -> list[list[str]]:
    with zlens.open(path) as session:
        assert session.all_problems() == []
        text = session.report(name)
    return [line.split() for line in text.split("\n") if line.startswith(">>Mean>>")]


def masked(fields: str, sim: bool) -> list[str]:
    """CADs/sec, every fourth field, are in our own pack alone."""
    return [field if sim or i % 4 != 3 else "....." for i, field in enumerate(fields.split())]


@pytest.mark.parametrize("sim", [False, True], ids=["5.3", "sim"])
@pytest.mark.parametrize("name", ["fcx265", "lockact"])
def test_every_published_field_is_printed(tmp_path: Path, name: str, sim: bool) -> None:
    rows = printed(written(tmp_path / "a.mon", sim), name)
    expected = {lock: masked(PUBLISHED if lock == SPUN else IDLE, sim) for lock in LOCKS}
    assert {row[1]: row[2:] for row in rows[:-1]} == expected
    assert rows[-1][1:] == [">>Total>", *masked(PUBLISHED, sim)]


@pytest.mark.parametrize("name", ["fcx265", "lockact"])
def test_pages_with_other_places_print_the_same(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = moved_pages.moved(tmp_path, ["D0R23"], "7.3", monkeypatch)
    texts = []
    for way in (OWN, (elsewhere.record, elsewhere.config)):
        folder = tmp_path / way[1]["MTRSYS_HCPCPEID"]
        folder.mkdir()
        with zlens.open(written(folder / "a.mon", True, shared=0.2, way=way)) as session:
            # Footnotes tell which of the two reports a level has.
            texts.append(re.sub("Run .{19}", "", session.report(name)).split("\n* ")[0])
    assert PUBLISHED.split()[1] in texts[0]
    assert moved_pages.same(*texts)


def test_headings_are_those_of_the_listing(tmp_path: Path) -> None:
    with zlens.open(written(tmp_path / "a.mon", True)) as session:
        lines = session.report("locklog").split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("Interval"))
    assert [word.strip("<->") for word in lines[at - 1].split() if word.strip("<->")] == [
        "Combined",
        "Exclusive",
        "Shared",
    ]
    assert lines[at].split() == ["Interval", *["Colls", "AvgSpin", "Spin", "CADs"] * 3]
    assert lines[at + 1].split() == ["End", "Time", "LockName", *["/sec", "usec", "%Busy", "/sec"] * 3]


def test_totals_are_over_all_collisions(tmp_path: Path) -> None:
    """6 collisions of 1 us, 3 of .249 us in each half minute: not the mean of the two means."""
    path = written(tmp_path / "a.mon", True, shared=0.2)
    total = printed(path, "locklog")[-1][2:]
    assert total == [".3", ".750", ".000", ".5", ".1", ".249", ".000", ".1", ".2", "1.000", ".000", ".4"]
    with zlens.open(path) as session:
        lines = session.report("locklog").split("\n")
        rows = session.sql(
            "SELECT mode, collision_rate, avg_spin_s, spin_pct, cad_rate FROM lock "
            "WHERE lock = 'RSAAVLLK' AND flag IS NULL ORDER BY ALL DESC LIMIT 1"
        ).rows
    assert rows == [("shared", 0.2, pytest.approx(1e-6), pytest.approx(2e-5), 0.4)]
    after = [line.split()[2:] for line in lines if line[8:].startswith(" >>Total>") and line[2] == ":"]
    assert after == [total] * 4
