"""A run from recorded data: means over a window of a file, optionally with a throughput file."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from zlens.catalog import aggregation, expressions, measures
from zlens.errors import InputError
from zlens.models.optional_numbers import difference, product, ratio
from zlens.schema.wording import phrase

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Averaged columns, each with its measure and the table in the query.
_AVERAGED = {
    **dict.fromkeys(("online", "unparked", "busy_pct", "guest_pct", "etr"), ("load", "load")),
    **dict.fromkeys(("chargeable_cp_pct", "nonchargeable_cp_pct"), ("load", "load")),
    "response_s": ("per_transaction", "cost"),
    "ghz": ("cpumf_type", "counted"),
}


def _query() -> str:
    """Return SQL of one row per interval; rates are per second, percentages of one logical processor."""
    averaged = []
    for name, (measure, table) in _AVERAGED.items():
        column = measures.load_measure(measure).column(name)
        assert column is not None
        weight = aggregation.weight_sql(column, table)
        averaged.append(f"{table}.{name}, {weight} AS {expressions.quote(aggregation.weight_column(column))}")
    return f"""\
SELECT load.system, load.source, load.interval_end, load.seconds, load.flag,
    {", ".join(averaged)},
    counted.instructions / counted.seconds AS instruction_rate,
    counted.cycles / counted.seconds AS cycle_rate, counted.finite_cycles / counted.seconds AS finite_rate
FROM load
LEFT JOIN per_transaction AS cost USING (system, source, interval_end)
LEFT JOIN _counters_by_load_interval AS counted USING (system, source, interval_end)
ORDER BY load.system, load.interval_end
"""


_CORES = """\
SELECT count(DISTINCT core_id) FROM cpu
WHERE flag IS NULL HAVING count(core_id) = count(*) AND max(thread_id) > 0
"""

#: Core values of intervals with a single, multithreaded type of core.
_THREADS = """\
SELECT interval_end, any_value(seconds) AS seconds, sum(core_busy_pct * cores) AS core_busy,
    any_value(max_capacity_factor_pct) AS maximum
FROM core_type WHERE flag IS NULL
GROUP BY interval_end HAVING count(*) = 1 AND max(threads) > 1
"""

Row = dict[str, Any]


class MeasuredRun(Struct, frozen=True):
    """Means over a window. numbers: attributes of WorkloadRun. machine: type and model, if reported."""

    file: str
    system: str
    machine: str | None
    release: str | None
    first: str
    last: str
    intervals: int
    seconds: float
    numbers: dict[str, float]
    notes: list[str] = field(default_factory=list)


def measure_run(file: str, window: dict[str, Any], base_file: str | None) -> MeasuredRun:
    """Return means over the window of one system of a file. Paths are relative to `base_file`."""
    from zlens.session.session import CoreSession

    path = resolve_path(file, base_file)
    with CoreSession([path], _options(window, path, base_file)) as session:
        systems = list(dict.fromkeys(info.system for info in session.systems))
        if len(systems) != 1:
            raise InputError(
                f"contains {len(systems)} systems",
                file=path,
                expected=f"one of {', '.join(systems[:8])}" if systems else "one system",
                cure="name one with system = in the run" if systems else None,
            )
        return _of_session(session, path)


def _options(window: dict[str, Any], path: str, base_file: str | None) -> Any:
    from zlens.inputs import options
    from zlens.inputs.options import Options

    def parsed(key: str, parse: Any) -> Any:
        return None if window[key] is None else parse(window[key])

    # A simulation writes its transactions beside the monitor data.
    beside = f"{path}.throughput.csv"
    throughput = beside if Path(beside).is_file() else None
    if window["throughput"] is not None:
        throughput = resolve_path(window["throughput"], base_file)
    return Options(
        systems=() if window["system"] is None else (window["system"],),
        start=parsed("from", options.parse_time_spec),
        end=parsed("to", options.parse_time_spec),
        shift=parsed("shift", options.parse_shift),
        peak_minutes=parsed("peak", options.parse_minutes),
        tz=parsed("tz", options.parse_zone),
        throughput=throughput,
        throughput_columns=window["throughput_columns"],
        throughput_offset_s=window["throughput_offset"] or 0.0,
    )


def resolve_path(name: str, base_file: str | None) -> str:
    """Resolve a path against the folder of `base_file`, the file that contains it."""
    if base_file is None or base_file in ("-", "/dev/stdin"):
        return name
    return str(Path(base_file).parent / name)


def _of_session(session: CoreSession, path: str) -> MeasuredRun:
    answer = session.sql(_query())
    rows: list[Row] = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    complete = [row for row in rows if row["flag"] is None and row["busy_pct"] is not None and row["seconds"]]
    sources = list(dict.fromkeys(row["source"] for row in complete))
    if len(sources) > 1:
        # Count intervals that several sources report only once.
        best = max(sources, key=lambda source: sum(1 for row in complete if row["source"] == source))
        complete = [row for row in complete if row["source"] == best]
        rows = [row for row in rows if row["source"] == best]
    if not complete:
        message = "this window has no data on the utilization of processors"
        raise InputError(message, file=path, cure=phrase("look_at_times"))
    notes = []
    with_etr = [row for row in complete if row["etr"] is not None]
    if with_etr and len(with_etr) < len(complete):
        notes.append(
            f"{path}: the throughput file covers {len(with_etr):,} of {len(complete):,} intervals; "
            "only those are used"
        )
    if len(complete) < len(rows):
        left_out = len(rows) - len(complete)
        notes.append(
            f"{path}: {left_out:,} intervals that are short, follow a gap or have no data are left out"
        )
    used = with_etr or complete
    info = session.systems[0]
    numbers = {key: value for key, value in _means(used).items() if value is not None}
    cores = session.sql(_CORES).rows
    if cores and cores[0][0]:
        numbers["cores_given"] = float(cores[0][0])
        numbers.update(_core_numbers(session, used, numbers["cores_given"]))
    machine_parts = [str(part) for part in (info.machine_type, info.model) if part]
    return MeasuredRun(
        path,
        info.system,
        "-".join(machine_parts) or None,
        info.release,
        _shown(session, used[0], 1),
        _shown(session, used[-1], 0),
        len(used),
        sum(row["seconds"] for row in used),
        numbers,
        notes,
    )


def _core_numbers(session: CoreSession, used: list[Row], cores: float) -> dict[str, float]:
    """Return core busy and the largest capacity factor, if every used interval reports them."""
    by_end = {row[0]: row[1:] for row in session.sql(_THREADS).rows}
    core_values = [by_end[row["interval_end"]] for row in used if row["interval_end"] in by_end]
    if len(core_values) < len(used):
        return {}
    busy = _mean([values[1] for values in core_values], [values[0] for values in core_values])
    if busy is None:
        return {}
    # Weight by busy time: idle cores show little of what two threads can do.
    maximum = _mean([values[2] for values in core_values], [values[0] * values[1] for values in core_values])
    numbers = {"core_busy_pct": busy / cores}
    return numbers if maximum is None else numbers | {"maximum_pct": maximum}


def _shown(session: CoreSession, row: Row, start: int) -> str:
    time = row["interval_end"] - start * dt.timedelta(seconds=row["seconds"])
    return f"{session.display(time, row['system']):%Y-%m-%d %H:%M:%S}"


def _means(rows: list[Row]) -> dict[str, float | None]:
    """Return means over time, and ratios of sums per transaction; None if an interval has no value."""
    seconds = [row["seconds"] for row in rows]

    def mean(name: str) -> float | None:
        return _mean([row[name] for row in rows], [row[f"{name}#weight"] for row in rows])

    def over_time(name: str) -> float | None:
        return _mean([row[name] for row in rows], seconds)

    online = mean("online")

    def summed(name: str) -> float | None:
        return product(mean(name), online)

    etr = mean("etr")
    rate, cycles, finite = map(over_time, ("instruction_rate", "cycle_rate", "finite_rate"))
    cpi, waiting = ratio(cycles, rate), ratio(finite, rate)
    return {
        "processors": online,
        "unparked": mean("unparked"),
        "total_pct": summed("busy_pct"),
        "guest_pct": summed("guest_pct"),
        "chargeable_pct": summed("chargeable_cp_pct"),
        "nonchargeable_pct": summed("nonchargeable_cp_pct"),
        "etr": etr or None,
        "response_ms": product(1000, mean("response_s")),
        "instructions_given": ratio(rate or None, etr),
        "cpi_given": cpi,
        "finite_cpi": waiting,
        "complexity_cpi": difference(cpi, waiting),
        "ghz": mean("ghz"),
    }


def _mean(values: list[float | None], weights: list[float | None]) -> float | None:
    """Return the weighted mean; None if the weights sum to 0 or a weighted value is missing."""
    if None in weights:
        return None
    pairs = [(value, weight) for value, weight in zip(values, weights, strict=True) if weight]
    if not pairs or any(value is None for value, _ in pairs):
        return None
    total = sum(weight for _, weight in pairs if weight)
    return sum(value * weight for value, weight in pairs if value is not None and weight) / total
