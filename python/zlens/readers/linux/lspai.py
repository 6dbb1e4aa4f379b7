"""Output of lspai from s390-tools: counts of Processor Activity Instrumentation as CSV or JSON.

The CSV is like that of lshwc. Counts get the names that perf prints for their events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from zlens.catalog import pai
from zlens.readers.linux import json_lists, lshwc
from zlens.readers.linux.perf import MAX_COUNTS, Count, Lines, Note, PerfReading

_MEASUREMENTS = json_lists.begins("measurements")
_CPU = re.compile(r"cpu(\d{1,6})")
_LAST_S = 2**33


def is_csv(text: str) -> bool:
    """Return whether a text starts with the header of lspai's CSV."""
    return any(lshwc.labels(line, pai.lspai_events) for line in text.splitlines()[:20])


def is_json(text: str) -> bool:
    """Return whether a text starts like lspai's JSON."""
    return text.lstrip().startswith("{") and _MEASUREMENTS.search(text) is not None and '"valuetype"' in text


def csv_readings(lines: Lines, note: Note) -> Iterator[PerfReading]:
    """Yield the readings of lspai's CSV."""
    return lshwc.csv_readings(lines, note, events=pai.lspai_events)


def json_readings(text: str, note: Note) -> Iterator[PerfReading]:
    """Yield the readings of lspai's JSON; a truncated file yields the complete ones."""
    for offset, run, measurement in json_lists.entries(text, _MEASUREMENTS, note):
        reading = _reading(measurement, offset, run, note)
        if reading is not None:
            yield reading


def _reading(measurement: Any, offset: int, run: int, note: Note) -> PerfReading | None:
    """Return a measurement; None if it has no time or no counters."""
    time = measurement.get("time_epoch") if isinstance(measurement, dict) else None
    counters = measurement.get("counters") if isinstance(measurement, dict) else None
    if not isinstance(time, int) or not 0 <= time < _LAST_S or not isinstance(counters, list):
        note("header", "a measurement without time_epoch or counters; not read", offset)
        return None
    reading = PerfReading(offset, run, epoch_s=time, absolute=measurement.get("valuetype") == "total")
    for counter in counters:
        # The heading that the CSV would have for it.
        heading = f"{counter.get('name')}({counter.get('id')})" if isinstance(counter, dict) else ""
        (event,) = pai.lspai_events([heading]) or (None,)
        if event is None:
            note("header", "a counter that PAI does not have; not read", offset)
            continue
        for key, value in counter.items():
            cpu = _CPU.fullmatch(key)
            if (key != "value" and cpu is None) or len(reading.counts) >= MAX_COUNTS:
                continue
            if not isinstance(value, int) or value < 0:
                note("header", f"{str(value)[:30]!r} is not a count; it is NULL", offset)
                value = None
            reading.counts.append(Count(event, value=value, cpu=int(cpu[1]) if cpu else None))
    return reading
