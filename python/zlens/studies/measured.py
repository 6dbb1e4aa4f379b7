"""A run taken from what was recorded: means of a window of files, with a throughput file beside them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zlens.catalog import aggregation, expressions, metrics
from zlens.errors import InputError
from zlens.schema.kinds import Kind, Line, Number
from zlens.schema.wording import say

if TYPE_CHECKING:
    from zlens.session.session import Session

#: Which data of the files, and what was achieved: key, kind, what it is, unit.
WINDOW: tuple[tuple[str, Kind, str, str], ...] = (
    ("throughput", Line(), "CSV of what was achieved, as the option throughput takes it", ""),
    ("throughput_columns", Line(), 'which of its columns is what: "rate=Load:per min"', ""),
    ("throughput_offset", Number(), "what to add to its times to fit the system's clock", "s"),
    ("system", Line(), "only this system of the files", ""),
    ("from", Line(), 'intervals after this time: "2026-03-02 09:15" or "09:15"', ""),
    ("to", Line(), "intervals up to this time", ""),
    ("shift", Line(), 'only these hours: "Mon-Fri 08:00-17:00"', ""),
    ("peak", Line(), 'only the busiest stretch: "60m"', ""),
    ("tz", Line(), 'zone of files with local times only: "Europe/Berlin"', ""),
)

#: What is averaged: names of columns, each with the measure that says how and the table of the question.
_AVERAGED = {
    **dict.fromkeys(("online", "unparked", "busy_pct", "guest_pct", "etr"), ("load", "load")),
    **dict.fromkeys(("chargeable_cp_pct", "nonchargeable_cp_pct"), ("load", "load")),
    "response_s": ("per_transaction", "cost"),
    "ghz": ("cpumf_type", "counted"),
}


def _asked() -> str:
    """Rows of one interval; every rate is per second, every percentage of one logical processor."""
    averaged = []
    for name, (measure, table) in _AVERAGED.items():
        column = metrics.table(measure).column(name)
        assert column is not None
        weight = aggregation.weight(column, table)
        averaged.append(f"{table}.{name}, {weight} AS {expressions.quote(aggregation.parted(column))}")
    return f"""\
SELECT load.system, load.source, load.interval_end, load.seconds, load.flag,
    {", ".join(averaged)},
    counted.instructions / counted.seconds AS instruction_rate,
    counted.cycles / counted.seconds AS cycle_rate, counted.finite_cycles / counted.seconds AS finite_rate
FROM load
LEFT JOIN per_transaction AS cost USING (system, source, interval_end)
LEFT JOIN _counted_beside AS counted USING (system, source, interval_end)
ORDER BY load.system, load.interval_end
"""


_CORES = """\
SELECT count(DISTINCT core_id) FROM cpu
WHERE flag IS NULL HAVING count(core_id) = count(*) AND max(thread_id) > 0
"""

#: Of systems with one type of core, its cores; a type that is not multithreaded has a density of 1.
_THREADS = """\
SELECT interval_end, any_value(seconds) AS seconds, sum(core_busy_pct * cores) AS core_busy,
    any_value(max_capacity_factor_pct) AS maximum
FROM core_type WHERE flag IS NULL
GROUP BY interval_end HAVING count(*) = 1 AND max(threads) > 1
"""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Measured:
    """numbers: attributes of a Run. machine: type and model, None where it is not told."""

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


def measured(file: str, window: dict[str, Any], beside: str | None) -> Measured:
    """Means over the window of one system of a file. Names are relative to the file of runs, `beside`."""
    import zlens

    path = placed(file, beside)
    with zlens.open([path], options=_options(window, beside)) as session:
        systems = list(dict.fromkeys(info.system for info in session.systems))
        if len(systems) != 1:
            raise InputError(
                f"tells of {len(systems)} systems",
                file=path,
                expected=f"one of {', '.join(systems[:8])}" if systems else "one system",
                cure="name one with system = in the run" if systems else None,
            )
        return _of_session(session, path)


def _options(window: dict[str, Any], beside: str | None) -> Any:
    from zlens.inputs import options
    from zlens.inputs.options import Options

    def parsed(key: str, parse: Any) -> Any:
        return None if window[key] is None else parse(window[key])

    achieved = window["throughput"]
    return Options(
        systems=() if window["system"] is None else (window["system"],),
        start=parsed("from", options.parse_moment),
        end=parsed("to", options.parse_moment),
        shift=parsed("shift", options.parse_shift),
        peak_minutes=parsed("peak", options.parse_minutes),
        tz=parsed("tz", options.parse_zone),
        throughput=None if achieved is None else placed(achieved, beside),
        throughput_columns=window["throughput_columns"],
        throughput_offset_s=window["throughput_offset"] or 0.0,
    )


def placed(name: str, beside: str | None) -> str:
    """A name in the file of runs, from the folder that file is in."""
    if beside is None or beside in ("-", "/dev/stdin"):
        return name
    return str(Path(beside).parent / name)


def _of_session(session: Session, path: str) -> Measured:
    answer = session.sql(_asked())
    rows: list[Row] = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    whole = [row for row in rows if row["flag"] is None and row["busy_pct"] is not None and row["seconds"]]
    sources = list(dict.fromkeys(row["source"] for row in whole))
    if len(sources) > 1:
        # The same time told twice is to count once.
        best = max(sources, key=lambda one: sum(1 for row in whole if row["source"] == one))
        whole = [row for row in whole if row["source"] == best]
        rows = [row for row in rows if row["source"] == best]
    if not whole:
        raise InputError(
            "nothing in this window tells how busy processors were",
            file=path,
            cure=say("look_at_times"),
        )
    notes = []
    told = [row for row in whole if row["etr"] is not None]
    if told and len(told) < len(whole):
        notes.append(
            f"{path}: the throughput file tells of {len(told):,} of {len(whole):,} intervals, "
            "and only those are used"
        )
    if len(whole) < len(rows):
        left = len(rows) - len(whole)
        notes.append(f"{path}: {left:,} intervals that are short, follow a gap or tell nothing are left out")
    used = told or whole
    info = session.systems[0]
    facts = {key: value for key, value in _numbers(used).items() if value is not None}
    cores = session.sql(_CORES).rows
    if cores and cores[0][0]:
        facts["cores_given"] = float(cores[0][0])
        facts.update(_of_cores(session, used, facts["cores_given"]))
    named = [str(part) for part in (info.machine_type, info.model) if part]
    return Measured(
        path,
        info.system,
        "-".join(named) or None,
        info.release,
        _shown(session, used[0], 1),
        _shown(session, used[-1], 0),
        len(used),
        sum(row["seconds"] for row in used),
        facts,
        notes,
    )


def _of_cores(session: Session, used: list[Row], cores: float) -> dict[str, float]:
    """Busy of the cores and the largest capacity factor, where every interval that is used tells them."""
    told = {row[0]: row[1:] for row in session.sql(_THREADS).rows}
    mine = [told[row["interval_end"]] for row in used if row["interval_end"] in told]
    if len(mine) < len(used):
        return {}
    busy = _mean([each[1] for each in mine], [each[0] for each in mine])
    if busy is None:
        return {}
    # Idle cores tell little of what two threads can do.
    maximum = _mean([each[2] for each in mine], [each[0] * each[1] for each in mine])
    found = {"core_busy_pct": busy / cores}
    return found if maximum is None else found | {"maximum_pct": maximum}


def _shown(session: Session, row: Row, start: int) -> str:
    time = row["interval_end"] - start * dt.timedelta(seconds=row["seconds"])
    return f"{session.display(time, row['system']):%Y-%m-%d %H:%M:%S}"


def _numbers(rows: list[Row]) -> dict[str, float | None]:
    """Means over time; per transaction, sums over sums. What an interval does not tell is not known."""
    seconds = [row["seconds"] for row in rows]

    def mean(name: str) -> float | None:
        return _mean([row[name] for row in rows], [row[f"{name}#weight"] for row in rows])

    def over_time(name: str) -> float | None:
        return _mean([row[name] for row in rows], seconds)

    online = mean("online")

    def together(name: str) -> float | None:
        share = mean(name)
        return None if share is None or online is None else share * online

    etr = mean("etr")
    rate, cycles, finite = map(over_time, ("instruction_rate", "cycle_rate", "finite_rate"))
    cpi = cycles / rate if cycles is not None and rate else None
    waiting = finite / rate if finite is not None and rate else None
    response = mean("response_s")
    return {
        "processors": online,
        "unparked": mean("unparked"),
        "total_pct": together("busy_pct"),
        "guest_pct": together("guest_pct"),
        "chargeable_pct": together("chargeable_cp_pct"),
        "nonchargeable_pct": together("nonchargeable_cp_pct"),
        "etr": etr or None,
        "response_ms": None if response is None else 1000 * response,
        "instructions_given": rate / etr if rate and etr else None,
        "cpi_given": cpi,
        "finite_cpi": waiting,
        "complexity_cpi": None if cpi is None or waiting is None else cpi - waiting,
        "ghz": mean("ghz"),
    }


def _mean(values: list[float | None], weights: list[float | None]) -> float | None:
    """Weighted; None where nothing weighs, or a value that weighs is not known."""
    if None in weights:
        return None
    pairs = [(value, weight) for value, weight in zip(values, weights, strict=True) if weight]
    if not pairs or any(value is None for value, _ in pairs):
        return None
    total = sum(weight for _, weight in pairs if weight)
    return sum(value * weight for value, weight in pairs if value is not None and weight) / total
