"""SSI reports and ISFEACT from what is public of real records: their first fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import monwrite_made as made
import zlens
from zlens import _native
from zlens.catalog import layouts, plans


def record(name: str, time_us: int, values: dict[str, Any]) -> bytes:
    """A record as long as the published page says, of which only the first fields are known."""
    (layout,) = [one for one in layouts.layouts(name) if one.pack == layouts.BUILTIN]
    return plans.encode(layout, values, tod=_native.tod_from_unix_us(time_us))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = {**made.CONFIG, "MTRSYS_HCPCPEID": "7.5.0"}
    cluster = record("D1R25", made.START_US - 1_200, {"MTRSSI_SYSPLXNM": "CLUSTER1", "MTRSSI_SYSPLXLV": 1})
    groups = [made.configuration(made.START_US, config, more=[cluster])]
    for number in range(4):
        end = made.START_US + number * made.MINUTE_US
        if number == 2:
            at = end - 20 * made.S_US
            events = [
                record("D11R3", at, {"SSISCH_CALSYSNM": "MEMBER2", "SSISCH_SYSPLXOM": b"\x01"}),
                record("D11R8", at + made.S_US, {"SSIPDR_SYSPLVOL": "PDRVL2"}),
            ]
            groups.append((False, events))
        samples = [
            record("D11R1", end - 300, {"SSISCS_PLMSYCNT": 100 + 30 * number}),
            record("D11R2", end - 200, {"SSISMI_PLMNJONG": 3 + number // 2}),
            *(record("D9R2", end - 100, {"ISFISA_SCKID": point}) for point in (0, 1, 0x10)),
        ]
        groups.append(made.interval(end, samples))
    return made.write(tmp_path_factory.mktemp("ssi") / "a.mon", groups)


def rows(path: Path, name: str, *labels: str) -> list[list[str]]:
    with zlens.open(path) as session:
        # What is behind the known fields is told, and nothing else is wrong.
        assert {problem.kind for problem in session.all_problems()} == {"long"}
        text = session.report(name)
    return [line.split() for line in text.split("\n") if line.startswith(labels)]


def test_cluster_and_its_volume(path: Path) -> None:
    assert rows(path, "ssiconf", "CLUSTER1", "2026") == [
        ["CLUSTER1", "1"],
        ["2026/03/02", "09:01:41", "SSI", "cluster", "PDR", "volume", "PDRVL2"],
    ]


def test_synchronizations(path: Path) -> None:
    found = rows(path, "ssischlg", ">>Mean>>", "09:0", "2026")
    assert found[:4] == [
        [">>Mean>>", "30.0", ".500"],
        *([f"09:0{minute}:00", "30.0", ".500"] for minute in (1, 2, 3)),
    ]
    assert found[4][:5] == ["2026/03/02", "09:01:40", "member", "MEMBER2", "mode"]


def test_states(path: Path) -> None:
    assert rows(path, "ssismilg", ">>Sum>>", "09:0") == [
        [">>Sum>>", "1"],
        ["09:01:00", "0"],
        ["09:02:00", "1"],
        ["09:03:00", "0"],
    ]


def test_end_points_without_a_page_have_ids(path: Path) -> None:
    """An id of 0 says that no sample could be taken: it is no end point."""
    assert rows(path, "isfeact", "000000") == [
        ["00000001", "3", "........", "." * 30],
        ["00000010", "3", "........", "." * 30],
    ]
