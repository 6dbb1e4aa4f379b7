"""Files of I/O records with given rates and times per operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monwrite_builder import (
    MINUTE_US,
    SIM_CONFIG,
    START_US,
    configuration,
    interval,
    record,
    sim_record,
    write,
)

#: High-frequency samples of a minute.
SAMPLES = 30


@dataclass(frozen=True)
class Form:
    """Layouts of records: synthetic ones, or those from record pages of a release."""

    make: Callable[..., bytes] = sim_record
    config: Mapping[str, Any] = field(default_factory=lambda: SIM_CONFIG)


SIM = Form()


def configured(devices: Mapping[int, Mapping[str, Any]]) -> list[bytes]:
    """Return D1R6 of each device."""
    return [
        record("D1R6", START_US - 1_400, {"MTRDEV_RDEVDEV": number, "MTRDEV_RDEVCLAS": 4, **values})
        for number, values in devices.items()
    ]


def activity(number: int, end_us: int, minutes: float, given: Mapping[str, Any], form: Form = SIM) -> bytes:
    """Return D6R3 of a device after these minutes: rate, times in ms, queued, read_pct; the rest by field."""
    done = dict(given)
    seconds = 60 * minutes
    operations = done.pop("rate", 0.0) * seconds
    samples = round(SAMPLES * minutes)
    values: dict[str, Any] = {
        "IODDEV_RDEVDEV": number,
        "IODDEV_SCGSSCH": round(operations),
        "IODDEV_SCGCOUNT": round(operations),
        "IODDEV_HFRDEVCT": samples,
        "IODDEV_HFCTIO": round(samples * done.pop("queued", 0.0)),
        "IODDEV_RDEVMCIA": round(done.pop("avoided", 0.0) * seconds),
    }
    read = done.pop("read_pct", None)
    if read is not None:
        values["IODDEV_ZLREADS"] = round(operations * read / 100)
        values["IODDEV_ZLWRITES"] = round(operations * (1 - read / 100))
    for name, timer in (("pend", "FPTIM"), ("disc", "DDTIM"), ("conn", "CNTIM"), ("cu_wait", "CQTIM")):
        values[f"IODDEV_SCM{timer}"] = round(done.pop(name, 0.0) * operations / 0.128)
    return form.make("D6R3", end_us - 100, values | done)


def devices(
    path: Path,
    samples: Sequence[Mapping[int, Mapping[str, Any]]],
    configuration_of: Mapping[int, Mapping[str, Any]] | None = None,
    minutes: int = 1,
    form: Form = SIM,
) -> Path:
    """Write devices with these rates in consecutive intervals, from counters at zero."""
    at = {number: dict[str, float]() for one in samples for number in one}
    groups = [configuration(START_US, form.config, 60 * minutes, configured(configuration_of or {}))]
    zero = {number: dict(values) for number, values in samples[0].items()}
    groups.append(interval(START_US, [activity(n, START_US, 0, v, form) for n, v in zero.items()]))
    totals: dict[int, dict[str, float]] = {number: {} for number in at}
    for i, one in enumerate(samples, 1):
        end = START_US + i * minutes * MINUTE_US
        records = []
        for number, values in one.items():
            records.append(activity(number, end, minutes * i, _mean(totals[number], values, i), form))
        groups.append(interval(end, records))
    return write(path, groups)


def _mean(total: dict[str, float], values: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Add the values to the total, and return the mean rates and times of `count` intervals."""
    rate = values.get("rate", 0.0)
    found = dict(values)
    for name in ("rate", "queued", "avoided"):
        total[name] = total.get(name, 0.0) + values.get(name, 0.0)
        found[name] = total[name] / count
    for name in ("pend", "disc", "conn", "cu_wait", "read_pct"):
        if name in values:
            total[name] = total.get(name, 0.0) + values[name] * rate
            found[name] = total[name] / total["rate"] if total["rate"] else 0.0
    return found
