"""Tests of the numbers of cores and processors that z/VM supports, with publications."""

from __future__ import annotations

import pytest

from zlens.models.partitions import zvm_limits
from zlens.models.partitions.zvm_limits import PartitionFit, fit, mode, release

EIGHTY = release("7.1 VM66265")


#: "Eighty Logical Processors", table 1: mode, level, cores by type; limit, processors, their numbers.
@pytest.mark.parametrize(
    ("where", "smt", "cores", "expected"),
    [
        ("Linux-only", "non-SMT", {"CP": 80}, PartitionFit(True, 80, 80, 80, "00 to 4F")),
        ("Linux-only", "SMT-1", {"CP": 40}, PartitionFit(False, None, None, None, "not available")),
        ("Linux-only", "SMT-2", {"CP": 40}, PartitionFit(False, None, None, None, "not available")),
        ("Linux-only", "non-SMT", {"IFL": 80}, PartitionFit(True, 80, 80, 80, "00 to 4F")),
        ("Linux-only", "SMT-1", {"IFL": 40}, PartitionFit(True, 40, 40, 40, "00, 02 to 4E")),
        ("Linux-only", "SMT-2", {"IFL": 40}, PartitionFit(True, 40, 40, 80, "00 to 4F")),
        ("z/VM", "non-SMT", {"CP": 10, "IFL": 70}, PartitionFit(True, 80, 80, 80, "00 to 4F")),
        ("z/VM", "SMT-1", {"CP": 10, "IFL": 30}, PartitionFit(True, 40, 40, 40, "00, 02 to 4E")),
        (
            "z/VM",
            "SMT-2",
            {"CP": 10, "IFL": 30},
            PartitionFit(True, 40, 40, 70, "within 00 to 4F, odd ones on IFL cores only"),
        ),
        ("z/VM", "SMT-2", {"CP": 10, "ZIIP": 2}, PartitionFit(True, 40, 12, 12, "00, 02 to 16")),
        ("other", "non-SMT", {"CP": 80}, PartitionFit(True, 80, 80, 80, "00 to 4F")),
        ("other", "SMT-1", {"CP": 1}, PartitionFit(False, None, None, None, "not available")),
        ("Linux-only", "non-SMT", {"IFL": 81}, PartitionFit(True, 80, None, None, "more than 80 cores")),
        ("Linux-only", "SMT-2", {"IFL": 41}, PartitionFit(True, 40, None, None, "more than 40 cores")),
        ("Linux-only", "SMT-2", {"IFL": 1}, PartitionFit(True, 40, 1, 2, "00, 01")),
        ("Linux-only", "SMT-1", {"IFL": 2}, PartitionFit(True, 40, 2, 2, "00, 02")),
        ("Linux-only", "SMT-1", {"IFL": 1}, PartitionFit(True, 40, 1, 1, "00")),
        ("Linux-only", "SMT-1", {}, PartitionFit(True, 40, 0, 0, "")),
    ],
)
def test_limits_of_eighty_processors(
    where: str, smt: str, cores: dict[str, int], expected: PartitionFit
) -> None:
    assert fit(EIGHTY, mode(where), smt, cores) == expected


@pytest.mark.parametrize(
    ("smt", "cores", "expected"),
    [
        # "z/VM 6.4 Performance": 64 cores are permitted; SMT-1 and SMT-2 ignore cores beyond 32.
        ("non-SMT", 64, PartitionFit(True, 64, 64, 64, "00 to 3F")),
        ("non-SMT", 65, PartitionFit(True, 64, None, None, "more than 64 cores")),
        ("SMT-1", 36, PartitionFit(True, 32, 32, 32, "00, 02 to 3E")),
        ("SMT-2", 36, PartitionFit(True, 32, 32, 64, "00 to 3F")),
        # Table of core and CPU identifiers in the same publication.
        ("non-SMT", 8, PartitionFit(True, 64, 8, 8, "00 to 07")),
        ("SMT-1", 8, PartitionFit(True, 32, 8, 8, "00, 02 to 0E")),
        ("SMT-2", 8, PartitionFit(True, 32, 8, 16, "00 to 0F")),
    ],
)
def test_release_6_4(smt: str, cores: int, expected: PartitionFit) -> None:
    assert fit(release("6.4"), mode("Linux-only"), smt, {"IFL": cores}) == expected


def test_ignored_mixed_cores_are_unknown() -> None:
    found = fit(release("6.4"), mode("z/VM"), "SMT-2", {"CP": 10, "IFL": 30})
    assert (found.used, found.processors) == (32, None)


@pytest.mark.parametrize("name", ["7.3", "7.4"])
def test_releases_of_z17(name: str) -> None:
    """PR/SM Planning Guide, control program support: 80 cores, 40 with 40 threads, 40 with 80."""
    for smt, cores, processors in (("non-SMT", 80, 80), ("SMT-1", 40, 40), ("SMT-2", 40, 80)):
        found = fit(release(name), mode("Linux-only"), smt, {"IFL": cores})
        assert (found.limit, found.processors) == (cores, processors)


def test_limits_and_numbers_agree() -> None:
    for name in zvm_limits.releases():
        one = release(name)
        assert one.cores == one.highest + 1
        assert one.smt_cores == (one.highest + 1) // 2
        assert one.source
        assert one.status in ("verified", "derived")
