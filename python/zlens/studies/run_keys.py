"""Keys of one run in a file of runs, and the resulting run, from numbers or measured files."""

from __future__ import annotations

from typing import Any

from zlens.errors import ZlensError
from zlens.models.scenario_errors import ScenarioErrors
from zlens.schema.validators import Key, MapOf, Number, SingleLine, Spec
from zlens.studies.measurement import WINDOW, MeasuredRun, measure_run
from zlens.studies.runs import WorkloadRun

_PERCENT = "% of one logical processor"

#: Key in the file, attribute of WorkloadRun, validator, description, unit.
_NUMBERS = (
    ("processors", "processors", Number(1, 10_000), "logical processors online: threads under SMT", ""),
    ("cores", "cores_given", Number(1, 10_000), "cores they run on, if SMT is enabled", ""),
    ("etr", "etr", Number(0, above=True), "external throughput rate: transactions", "/s"),
    ("itr", "itr_given", Number(0, above=True), "internal throughput rate; computed by default", "/s"),
    ("busy", "busy_pct", Number(0, 100), "mean busy of all online processors, parked ones included", "%"),
    ("total_busy", "total_pct", Number(0), "busy of all processors in total", _PERCENT),
    ("guest_busy", "guest_pct", Number(0), "guests' own part of it", _PERCENT),
    ("chargeable_busy", "chargeable_pct", Number(0), "CP's part of it on behalf of guests", _PERCENT),
    ("nonchargeable_busy", "nonchargeable_pct", Number(0), "CP's part charged to no guest", _PERCENT),
    ("cpi", "cpi_given", Number(0, above=True), "cycles per instruction", ""),
    ("complexity_cpi", "complexity_cpi", Number(0), "part of it spent on the instructions themselves", ""),
    ("finite_cpi", "finite_cpi", Number(0), "part of it spent waiting for caches and storage", ""),
    ("instructions", "instructions_given", Number(0, above=True), "instructions per transaction", ""),
    ("ghz", "ghz", Number(0, 100, above=True), "speed of the processors", "GHz"),
    ("unparked", "unparked", Number(0, 10_000, above=True), "processors not parked, on average", ""),
    ("response_ms", "response_ms", Number(0), "mean response time", "ms"),
    ("factor", "caf", Number(0, 2, above=True), "capacity adjustment factor for this number of cores", ""),
    ("core_busy", "core_busy_pct", Number(0, 100), "mean busy of the cores, under SMT", "%"),
    ("max_capacity_factor", "maximum_pct", Number(50, 200), "largest capacity factor of two threads", "%"),
    ("clients", "clients", Number(1, 1e6), "guests that send the transactions", ""),
    ("client_busy", "client_busy_pct", Number(0), "mean busy of such a machine, all its virtual CPUs", "%"),
    ("client_vcpus", "client_vcpus", Number(1, 1000), "virtual CPUs of each of them; default 1", ""),
)

_STATED_KEYS = tuple(Key(name, kind, text, unit, default=None) for name, _, kind, text, unit in _NUMBERS)

#: Measured values of busy, ignored if busy is given.
_OF_BUSY = ("busy_pct", "total_pct", "guest_pct", "chargeable_pct", "nonchargeable_pct", "core_busy_pct")

KEYS = (
    *_STATED_KEYS,
    Key("also", MapOf(Number()), "other numbers of the run, shown as is", default=None),
    Key(
        "file",
        SingleLine(),
        "data to measure the run from; numbers specified here take precedence",
        default=None,
    ),
    *(Key(name, kind, text, unit, default=None) for name, kind, text, unit in WINDOW),
)

NAMED = Spec((Key("name", SingleLine(), "name of the run"), *KEYS))


def run_of(
    values: dict[str, Any],
    location: str,
    problem: ScenarioErrors,
    *,
    name: str = "",
    as_published: bool = False,
) -> tuple[WorkloadRun, MeasuredRun | None]:
    """Return a run from checked values, with its measured data if it names a file. location: path in TOML."""
    numbers: dict[str, Any] = {}
    recorded = None
    for reserved in ("run", "table"):
        if reserved in (values["also"] or {}):
            raise problem.general_error(
                f"{location}.also.{reserved} is a reserved name", cure="rename the number"
            )
    if values["file"] is not None:
        window = {key: values[key] for key, *_ in WINDOW}
        try:
            recorded = measure_run(values["file"], window, problem.file)
        except ZlensError as error:
            # Name the run, one of many.
            error.message = f"{error.message} ({location})"
            raise
        numbers.update(recorded.numbers)
    else:
        file_keys = [key for key, *_ in WINDOW if values[key] is not None]
        if file_keys:
            raise problem.general_error(
                f"{location}.{file_keys[0]} needs a file", cure=f"add {location}.file"
            )
    stated = {attribute: values[key] for key, attribute, *_ in _NUMBERS if values[key] is not None}
    if recorded is not None:
        # Measured parts of a value that is given would not match it.
        if "busy_pct" in stated or "total_pct" in stated:
            for part in _OF_BUSY:
                numbers.pop(part, None)
        if "cpi_given" in stated:
            numbers.pop("complexity_cpi", None)
            numbers.pop("finite_cpi", None)
        if "etr" in stated:
            numbers.pop("instructions_given", None)
    numbers.update(stated)
    run_name = name or str(values["name"])
    run = WorkloadRun(name=run_name, also=values["also"] or {}, as_published=as_published, **numbers)
    return run, recorded
