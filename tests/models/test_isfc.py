"""Tests of ISFC links: published configurations, the write path, measured rates."""

from __future__ import annotations

import pytest

from zlens.models import published_numbers
from zlens.models.relocation import isfc
from zlens.models.relocation.isfc import Device

UPDATE = "z/VM Performance Update 6.2 and 6.3"


@pytest.mark.parametrize(
    ("speeds", "factor", "ctcs"),
    [
        ([2, 4, 4, 8], 18, 16),
        ([2, 4, 4], 10, 12),
        ([2, 4], 6, 8),
        ([4], 4, 4),
        ([2], 2, 4),
    ],
    ids=lambda value: f"{UPDATE}, {value}" if isinstance(value, list) else None,
)
def test_capacity_factor(speeds: list[float], factor: float, ctcs: int) -> None:
    """ISFC capacity test: each chpid has four CTC devices."""
    assert isfc.capacity_factor(speeds) == factor
    assert len(speeds) * 4 == ctcs <= isfc.MAX_DEVICES


@pytest.mark.parametrize(
    ("devices", "each_side"),
    [(0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (8, 7), (9, 7), (12, 10), (16, 14)],
)
def test_usable_devices(devices: int, each_side: int) -> None:
    """Avoidance of write collisions, IBM's Linux documentation: one less of 2 to 8, two less of 9 to 16."""
    assert isfc.usable_device_count(devices) == each_side


@pytest.mark.parametrize(("chpids", "devices"), [(1, 4), (2, 4), (3, 4), (4, 3), (7, 2), (14, 1), (15, 0)])
def test_recommended_devices(chpids: int, devices: int) -> None:
    """Recommendations, IBM's Linux documentation: four, or fewer for at most 14 in total."""
    assert isfc.recommended_devices(chpids) == devices


def test_write_path_of_documentation() -> None:
    """D000 to D00F: LPAR1 writes on D000 to D00D; only LPAR2 writes on D00E and D00F."""
    devices = [Device(number, 0) for number in range(0xD000, 0xD010)]
    assert [one.number for one in isfc.writes_on(devices, "LPAR1", "LPAR2")] == list(range(0xD000, 0xD00E))
    assert [one.number for one in isfc.writes_on(devices, "LPAR2", "LPAR1")] == list(
        range(0xD00F, 0xD001, -1)
    )


def test_isfc_every_device_has_writer() -> None:
    for many in range(2, 17):
        devices = [Device(number, 0) for number in range(many)]
        up, down = isfc.writes_on(devices, "A", "B"), isfc.writes_on(devices, "B", "A")
        assert {*up, *down} == set(devices)
        alone = set(devices) - set(down)
        assert len(alone) == many - isfc.usable_device_count(many)
        assert alone == set(up[: len(alone)])


def test_system_names_sort_letters_before_digits() -> None:
    assert isfc.comes_first("ATLANTA", "BOSTON")
    assert isfc.comes_first("VMA", "VM1")
    assert not isfc.comes_first("VM1", "VMA")
    assert isfc.comes_first("vma", "VMB")
    assert isfc.comes_first("VM", "VMA")


def test_measured_rate() -> None:
    """12 devices on one FICON Express4 channel: 10 write, 45 starts a second each, 342 MB/s."""
    assert isfc.usable_device_count(12) * 45 == published_numbers.number("isfc_measured_ssch") == 450
    assert isfc.mb_per_ssch() == pytest.approx(0.76, abs=0.005)


def test_chpid_rate() -> None:
    assert isfc.chpid_rate(4, 10, per_gb=85.5) == pytest.approx(342)
    assert isfc.chpid_rate(4, 10, per_gb=85.5, ssch=45) == pytest.approx(342)
    assert isfc.chpid_rate(4, 3, per_gb=85.5, ssch=45) == pytest.approx(3 * 34.2)
    assert isfc.chpid_rate(4, 10, per_gb=85.5, share=25) == pytest.approx(85.5)
    assert isfc.chpid_rate(8, 0, per_gb=85.5) == 0
