"""A run from the keys of a file of runs (facts/keys/runs.toml): from numbers or measured files."""

from __future__ import annotations

from typing import Any

from zlens.errors import ZlensError
from zlens.models.scenario_errors import ScenarioErrors
from zlens.models.scenario_keys import key_table
from zlens.studies.measurement import MeasuredRun, measure_run
from zlens.studies.runs import WorkloadRun

#: Keys of a run that have numbers, with the attributes of WorkloadRun; others have the name of the key.
_ATTRIBUTES = {name: name for name in key_table("runs.numbers").by_name} | {
    "cores": "cores_given",
    "itr": "itr_given",
    "busy": "busy_pct",
    "total_busy": "total_pct",
    "guest_busy": "guest_pct",
    "chargeable_busy": "chargeable_pct",
    "nonchargeable_busy": "nonchargeable_pct",
    "cpi": "cpi_given",
    "instructions": "instructions_given",
    "factor": "caf",
    "core_busy": "core_busy_pct",
    "max_capacity_factor": "maximum_pct",
    "client_busy": "client_busy_pct",
}
#: Keys of the window of data and of the throughput.
_WINDOW = tuple(key_table("runs.window").by_name)
#: Measured values of busy, ignored if busy is given.
_OF_BUSY = ("busy_pct", "total_pct", "guest_pct", "chargeable_pct", "nonchargeable_pct", "core_busy_pct")


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
        window = {key: values[key] for key in _WINDOW}
        try:
            recorded = measure_run(values["file"], window, problem.file)
        except ZlensError as error:
            # Name the run, one of many.
            error.message = f"{error.message} ({location})"
            raise
        numbers.update(recorded.numbers)
    else:
        file_keys = [key for key in _WINDOW if values[key] is not None]
        if file_keys:
            raise problem.general_error(
                f"{location}.{file_keys[0]} needs a file", cure=f"add {location}.file"
            )
    stated = {attribute: values[key] for key, attribute in _ATTRIBUTES.items() if values[key] is not None}
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
