"""Findings of I/O from records of z/OS."""

from __future__ import annotations

from pathlib import Path

import pytest

from smf_io_builder import DEVICE, LCU, PATH, UNIT_S, devices, opened, queuing

#: IBM Health Checker for z/OS User's Guide, IOS_CMRTIME_MONITOR: an example with THRESHOLD 3 ms and RATIO 5.
EXAMPLE_MS = (11, 3, 2, 4)


def responding(*milliseconds: float) -> bytes:
    """Return a record of a logical control unit whose paths respond in these times."""
    requests = 10_000
    paths = [
        {**PATH, "CPID": f"4{n}", "PT": requests, "CMR": round(ms / 1000 * requests / UNIT_S)}
        for n, ms in enumerate(milliseconds, 1)
    ]
    return queuing(path=paths, lcu=[LCU])


@pytest.mark.parametrize(
    ("milliseconds", "subjects"),
    [
        (EXAMPLE_MS, ["path 41 of LCU 0042"]),
        # Not five times the fastest, or not above three milliseconds.
        ((9, 3, 2, 4), []),
        ((2.9, 0.1, 0.1, 0.1), []),
        ((11, 12, 2, 4), ["path 42 of LCU 0042", "path 41 of LCU 0042"]),
    ],
)
def test_slow_path_is_found_as_by_health_checker(
    milliseconds: tuple[float, ...], subjects: list[str], tmp_path: Path
) -> None:
    with opened(tmp_path, [responding(*milliseconds)]) as session:
        findings = [each for each in session.findings() if each.rule.id == "IO-008"]
    assert [each.subject for each in findings] == subjects
    if subjects:
        assert findings[0].value == pytest.approx(max(milliseconds), rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"CMR": 400_000, "DVB": 0}, "pending, mostly for the command response"),
        ({"CMR": 100_000, "DVB": 300_000}, "pending, mostly for a busy device"),
        ({"CMR": 100_000, "DVB": 100_000}, "pending"),
        ({"PEN": 0, "CMR": 0, "DVB": 0, "DIS": 500_000}, "disconnected"),
        ({"PEN": 150_000}, None),
    ],
)
def test_pending_time_names_its_largest_part(
    changes: dict[str, int], detail: str | None, tmp_path: Path
) -> None:
    disk = {**DEVICE, "CNN": 200_000, "PEN": 500_000, "DIS": 10_000, **changes}
    with opened(tmp_path, [devices(disk)]) as session:
        found = list(session.findings(only=["IO-002"]))
    assert [each.detail for each in found] == ([] if detail is None else [detail])


def test_requests_queued_in_ios_are_found(tmp_path: Path) -> None:
    """A wait of 3 ms for a service of less than 1 ms; without it, nothing."""
    queued = {**DEVICE, "IOS": 90_000 * 3000.0}
    for disk, subjects in ((queued, ["device 0A01 ZLVOL1"]), (DEVICE, [])):
        with opened(tmp_path, [devices(disk)]) as session:
            assert [e.subject for e in session.findings() if e.rule.id == "IO-001"] == subjects
