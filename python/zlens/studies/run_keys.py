"""What a file of runs may say of one run, and the run that follows: told in numbers, or measured in files."""

from __future__ import annotations

from typing import Any

from zlens.errors import ZlensError
from zlens.models.scenario import Problem
from zlens.schema.kinds import Key, Line, Named, Number, Spec
from zlens.studies.measured import WINDOW, Measured, measured
from zlens.studies.runs import Run

_PERCENT = "% of one logical processor"

#: Key of the file, attribute of Run, what it may be, what it is, its unit.
_NUMBERS = (
    ("processors", "processors", Number(1, 10_000), "logical processors online: threads under SMT", ""),
    ("cores", "cores_given", Number(1, 10_000), "cores that they are on, where SMT makes more of them", ""),
    ("etr", "etr", Number(0, above=True), "external throughput rate: transactions", "/s"),
    ("itr", "itr_given", Number(0, above=True), "internal throughput rate; else worked out", "/s"),
    ("busy", "busy_pct", Number(0, 100), "mean busy of all online processors, parked ones included", "%"),
    ("total_busy", "total_pct", Number(0), "busy of all of them together", _PERCENT),
    ("guest_busy", "guest_pct", Number(0), "guests' own part of it", _PERCENT),
    ("chargeable_busy", "chargeable_pct", Number(0), "CP's part of it on behalf of guests", _PERCENT),
    ("nonchargeable_busy", "nonchargeable_pct", Number(0), "CP's part charged to nobody", _PERCENT),
    ("cpi", "cpi_given", Number(0, above=True), "cycles per instruction", ""),
    ("complexity_cpi", "complexity_cpi", Number(0), "its part spent on the instructions themselves", ""),
    ("finite_cpi", "finite_cpi", Number(0), "its part spent waiting for caches and storage", ""),
    ("instructions", "instructions_given", Number(0, above=True), "instructions per transaction", ""),
    ("ghz", "ghz", Number(0, 100, above=True), "speed of the processors", "GHz"),
    ("unparked", "unparked", Number(0, 10_000, above=True), "processors that are not parked, on average", ""),
    ("response_ms", "response_ms", Number(0), "mean response time", "ms"),
    ("factor", "caf", Number(0, 2, above=True), "capacity adjustment factor of so many cores", ""),
    ("core_busy", "core_busy_pct", Number(0, 100), "mean busy of the cores, under SMT", "%"),
    ("max_capacity_factor", "maximum_pct", Number(50, 200), "largest capacity factor of two threads", "%"),
    ("clients", "clients", Number(1, 1e6), "virtual machines that send the transactions", ""),
    ("client_busy", "client_busy_pct", Number(0), "mean busy of such a machine, all its virtual CPUs", "%"),
    ("client_vcpus", "client_vcpus", Number(1, 1000), "virtual CPUs of each of them; else 1", ""),
)

_TOLD = tuple(Key(name, kind, text, unit, default=None) for name, _, kind, text, unit in _NUMBERS)

#: What was measured of busy, which is left out where busy is told.
_OF_BUSY = ("busy_pct", "total_pct", "guest_pct", "chargeable_pct", "nonchargeable_pct", "core_busy_pct")

KEYS = (
    *_TOLD,
    Key("also", Named(Number()), "other numbers that belong to the run, shown as they are", default=None),
    Key("file", Line(), "data to take measures from; numbers given beside it hold before them", default=None),
    *(Key(name, kind, text, unit, default=None) for name, kind, text, unit in WINDOW),
)

NAMED = Spec((Key("name", Line(), "name of the run"), *KEYS))


def run_of(
    values: dict[str, Any], where: str, problem: Problem, *, name: str = "", as_published: bool = False
) -> tuple[Run, Measured | None]:
    """A run of checked values, and what was measured where it names a file; where: its place in the TOML."""
    facts: dict[str, Any] = {}
    found = None
    for ours in ("run", "table"):
        if ours in (values["also"] or {}):
            raise problem.wrong(f"{where}.also.{ours} is a name of ours", cure="give the number another name")
    if values["file"] is not None:
        window = {key: values[key] for key, *_ in WINDOW}
        try:
            found = measured(values["file"], window, problem.file)
        except ZlensError as error:
            # Of many runs: which.
            error.message = f"{error.message} ({where})"
            raise
        facts.update(found.numbers)
    else:
        lost = [key for key, *_ in WINDOW if values[key] is not None]
        if lost:
            raise problem.wrong(
                f"{where}.{lost[0]} says which data, and the run names no file", cure=f"add {where}.file"
            )
    told = {attribute: values[key] for key, attribute, *_ in _NUMBERS if values[key] is not None}
    if found is not None:
        # Parts of what is told otherwise would be parts of something else.
        if "busy_pct" in told or "total_pct" in told:
            for part in _OF_BUSY:
                facts.pop(part, None)
        if "cpi_given" in told:
            facts.pop("complexity_cpi", None)
            facts.pop("finite_cpi", None)
        if "etr" in told:
            facts.pop("instructions_given", None)
    facts.update(told)
    own = name or str(values["name"])
    return Run(name=own, also=values["also"] or {}, as_published=as_published, **facts), found
