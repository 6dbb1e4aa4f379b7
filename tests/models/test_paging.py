"""Tests of paging space, STORBUF and paging I/O.

Publications: IBM, z/VM 6.3 Performance Report, Performance Considerations (630con); IBM, z/VM 6.2 and 6.3
(2013); IBM, "z/VM for eighty logical processors", table 8 and its FCX108 rows.
"""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from iterations import draws
from zlens import models
from zlens.errors import ScenarioError
from zlens.models import sweeps
from zlens.models.paging import page_space
from zlens.models.scenario import example
from zlens.rendering.answer import Answer, by_name

GB = 2**30

#: 224 paging volumes: page rate, I/O per second and volume, service time in ms, busy in percent as printed.
FCX108 = [
    (211000, 180.0, 0.855, 15),
    (182000, 89.4, 3.19, 29),
    (184000, 48.0, 8.02, 38),
    (195000, 43.4, 10.3, 45),
    (201000, 45.5, 11.2, 51),
]


def solve(**scenario: Any) -> Answer:
    return models.solve("paging", scenario)


def guest(storage: float, count: int = 1) -> dict[str, Any]:
    return {"name": "G", "storage": storage, "count": count}


def volume(**facts: Any) -> dict[str, Any]:
    return {"name": "V", **facts}


def figures(answer: Answer) -> dict[str, float | None]:
    return {one.key: one.value for one in answer.figures}


# Space --------------------------------------------------------------------------------------------


def test_630con_space() -> None:
    """Three guests, data spaces, virtual disks, a segment and directory pages."""
    found = page_space.space_needed(160 * GB, 8 * GB, 4 * GB, 1 * GB, 2621)
    assert found / GB == pytest.approx(174.74, abs=0.005)
    answer = solve(
        guest=[guest(64, 2), guest(32)], data_spaces=8.0, vdisks=4.0, nss_dcss=1.0, directory_pages=2621
    )
    assert answer.figure("needed") == pytest.approx(174.74, abs=0.005)
    assert answer.figure("needed_slots") == pytest.approx(found / 4096)
    space = by_name(answer.table("space"))
    assert space["DAT structures, 1%"]["gb"] == pytest.approx(1.73)
    assert sum(float(row["gb"] or 0) for row in space.values()) + 128 == pytest.approx(174.74, abs=0.005)


def test_directory_space_is_counted_once() -> None:
    assert page_space.space_needed(0, 0, 0, 0, 1000) == 1000 * 4096
    assert page_space.space_needed(100, 0, 0, 0) == pytest.approx(101)


def test_every_kind_of_space_counts_alike() -> None:
    rng = draws(2)
    for _ in range(1000):
        parts = [rng.uniform(0, 100) for _ in range(4)]
        expected = 1.01 * sum(parts) * GB
        rng.shuffle(parts)
        a, b, c, d = (part * GB for part in parts)
        assert page_space.space_needed(a, b, c, d) == pytest.approx(expected)


def test_growth_is_added() -> None:
    assert solve(guest=[guest(100)], growth=50.0).figure("needed") == pytest.approx(151.5)
    assert any("growth adds it" in note for note in solve(guest=[guest(1)]).notes)


def test_cylinder_of_3390_has_180_slots() -> None:
    """QUERY ALLOC: 10,016 cylinders are 1,761 K pages."""
    assert round(10016 * page_space.SLOTS_OF_CYLINDER / 1024) == 1761
    answer = solve(guest=[guest(1)], volume=[volume(cylinders=10016, count=2), volume(slots=1000)])
    assert answer.figure("there_is") == pytest.approx((2 * 1802880 + 1000) * 4096 / GB)
    assert any("differ in size" in note for note in answer.notes)


def test_page_space_use() -> None:
    slots = 100 * GB // 4096
    for storage, said in ((110.0, "do not fit"), (90.0, "become small"), (70.0, None)):
        answer = solve(guest=[guest(storage)], volume=[volume(slots=slots)])
        assert answer.figure("full") == pytest.approx(storage * 1.01)
        notes = [note for note in answer.notes if "no place" in note or "become small" in note]
        assert [said in note for note in notes if said] == [True] * len(notes) if said else not notes
        assumed = {one.name for one in answer.assumptions}
        assert ("page_space_full" in assumed) == (said == "become small")
    harder = solve(guest=[guest(70)], volume=[volume(slots=slots)], full_from=50)
    assert any("Above 50% full" in note for note in harder.notes)


def test_slots_in_use() -> None:
    answer = solve(guest=[guest(1)], used_pct=80.0)
    assert any("80% of the slots are in use, more than 75%" in note for note in answer.notes)
    assert not any("in use" in note for note in solve(guest=[guest(1)], used_pct=75.0).notes)


# Storage ------------------------------------------------------------------------------------------


def test_ibm_2013_storbuf_defaults() -> None:
    assert page_space.Storbuf.by_name()["current"].percent == (300, 250, 200)
    assert page_space.Storbuf.by_name()["older"].percent == (125, 105, 95)
    new = solve(guest=[guest(100)], real=50.0)
    assert new.table("storbuf").column("gb") == [150, 125, 100]
    assert new.figure("overcommit") == pytest.approx(2)
    old = solve(guest=[guest(100)], real=50.0, storbuf="older")
    assert old.table("storbuf").column("percent") == [125, 105, 95]


# I/O ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("page_rate", "each", "service", "busy"), FCX108)
def test_eighty_fcx108_busy_of_paging_volumes(
    page_rate: float, each: float, service: float, busy: float
) -> None:
    answer = solve(io={"page_rate": page_rate, "io_rate": 224 * each, "service_ms": service, "volumes": 224})
    assert answer.figure("busy") == pytest.approx(busy, abs=0.7)
    assert answer.figure("pages_per_io") == pytest.approx(page_rate / (224 * each))


def test_eighty_blocks_grew_with_partition() -> None:
    io = {"service_ms": 1.0, "volumes": 224}
    answers = [solve(io={**io, "page_rate": rate, "io_rate": 224 * each}) for rate, each, _, _ in FCX108]
    found = [answer.figure("pages_per_io") for answer in answers]
    assert found == pytest.approx([5.23, 9.09, 17.11, 20.06, 19.72], abs=0.01)


def test_more_pages_per_io_reduce_io() -> None:
    io = {"page_rate": 1000.0, "pages_per_io": 4.0, "service_ms": 10.0, "volumes": 10}
    loads = by_name(solve(io=io).table("loads"))
    assert [loads[n]["rate"] for n in (1, 2, 4, 8, 16, 32)] == pytest.approx(
        [1000, 500, 250, 125, 62.5, 31.25]
    )
    assert (loads[4]["busy_least"], loads[4]["busy_most"]) == (25.0, 25.0)
    assert (loads[8]["busy_least"], loads[8]["busy_most"]) == (12.5, 25.0)
    assert (loads[2]["busy_least"], loads[2]["busy_most"]) == (25.0, 50.0)
    assert (loads[8]["volumes_least"], loads[8]["volumes_most"]) == (7, 13)


def test_service_time_per_page_separates_answers() -> None:
    io = {"page_rate": 1000.0, "pages_per_io": 4.0, "service_ms": 10.0, "volumes": 10, "per_page_ms": 1.0}
    answer = solve(io=io)
    loads = by_name(answer.table("loads"))
    for pages, service in ((1, 7), (8, 14), (32, 38)):
        assert loads[pages]["busy_least"] == loads[pages]["busy_most"]
        assert loads[pages]["busy_least"] == pytest.approx(100 * 1000 / pages / 10 * service / 1000)
    assert not any("on no public page" in note for note in answer.notes)


def test_paging_bounds_and_minimum_volumes() -> None:
    rng = draws(5)
    for _ in range(1000):
        rate, now, pages = rng.uniform(1, 1e6), rng.uniform(1, 40), rng.uniform(1, 40)
        service = rng.uniform(1e-4, 0.05)
        per_page = rng.uniform(0, service / now)
        low, high = page_space.service_of(pages, now, service, None)
        between, same = page_space.service_of(pages, now, service, per_page)
        assert between == same
        assert low - 1e-12 <= between <= high + 1e-12
        at_most = rng.uniform(1, 100)
        found = page_space.paging_load(rate, pages, 10, (low, high), at_most)
        for count, one in ((found.volumes_least, low), (found.volumes_most, high)):
            busy = 100 * rate / pages * one
            assert busy / count <= at_most * (1 + 1e-6)
            assert count == 1 or busy / (count - 1) > at_most * (1 - 1e-6)


def test_overloaded_paging_volumes_are_noted() -> None:
    io = {"page_rate": 1000.0, "pages_per_io": 1.0, "service_ms": 1.0, "volumes": 4}
    assert any("above the target of 20%" in note for note in solve(io=io).notes)
    assert not any("above the target" in note for note in solve(io=io, busy_at_most=30).notes)
    assert any("over 100% busy" in note for note in solve(io={**io, "volumes": 1, "service_ms": 2.0}).notes)


def test_volumes_of_scenario_do_io() -> None:
    io = {"page_rate": 1000.0, "pages_per_io": 1.0, "service_ms": 1.0}
    answer = solve(io=io, volume=[volume(slots=10, count=8), volume(slots=10, count=2)])
    assert answer.figure("busy") == pytest.approx(10)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ({}, "neither guest nor io"),
        ({"guest": [guest(1)], "volume": [volume()]}, "volume.V has no size or two"),
        ({"guest": [guest(1)], "volume": [volume(slots=1, cylinders=1)]}, "volume.V has no size or two"),
        ({"io": {"page_rate": 10, "service_ms": 1, "volumes": 1}}, "needs exactly one of"),
        ({"io": {"page_rate": 10, "service_ms": 1, "pages_per_io": 2}}, "io has no volumes"),
        (
            {"io": {"page_rate": 10, "service_ms": 1, "io_rate": 20, "volumes": 1}},
            "less than one page per I/O",
        ),
        ({"io": {"service_ms": 1}}, "io.page_rate is missing"),
        ({"guest": [{"name": "A"}]}, "storage is missing"),
        ({"guest": [guest(-1)]}, "storage is -1"),
    ],
)
def test_invalid_paging_scenario_is_rejected(scenario: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        solve(**scenario)
    assert said in str(caught.value)


def test_empty_paging_scenario_is_solved() -> None:
    answer = solve(guest=[guest(0)])
    assert answer.figure("needed") == 0
    assert answer.table("space").column("share") == [None]


def test_paging_example_and_sweep() -> None:
    scenario = tomllib.loads(example("paging"))
    answer = models.solve("paging", scenario)
    assert set(figures(answer)) >= {"needed", "there_is", "full", "used", "busy", "overcommit"}
    rows = sweeps.solve("paging", scenario, "guest.2.count=1:8").table("sweep")
    assert rows.column("needed")[-1] == pytest.approx(answer.figure("needed"))
    each = 32 * 1.01 * 1.1
    steps = [
        float(b or 0) - float(a or 0)
        for a, b in zip(rows.column("needed"), rows.column("needed")[1:], strict=False)
    ]
    assert steps == pytest.approx([each] * 7)
