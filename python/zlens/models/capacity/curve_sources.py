"""Sources of the curve of capacity adjustment factors: catalog machine, scenario or file.

Linux reports the factors themselves (/proc/sysinfo, from STSI). z/VM monitor data, /proc/cpuinfo and lscpu
contain machine type and capability, which select a curve of the catalog.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from zlens.catalog import capacity_curves, processor_types
from zlens.catalog.capacity_curves import Point, from_adjustments
from zlens.catalog.expressions import literal
from zlens.errors import InputError, ScenarioError, ZlensError
from zlens.models.scenario import Scenario
from zlens.schema import user_files

if TYPE_CHECKING:
    from zlens.session.session import CoreSession


class NamedCurve(Struct, frozen=True):
    """A curve with its name, source, status and notes."""

    curve: tuple[Point, ...]
    text: str
    source: str
    status: str
    notes: tuple[str, ...] = ()


def named_curve(scenario: Scenario) -> NamedCurve | None:
    """Return the curve that a scenario selects; None without one."""
    sources = [key for key in ("machine", "factors", "adjustments", "data") if scenario[key] is not None]
    if len(sources) > 1:
        raise scenario.error(f"{' and '.join(sources)} each provide a curve", "keep one of them")
    if (name := scenario["machine"]) is not None:
        curves = capacity_curves.capacity_curves()
        if name not in curves:
            raise scenario.problem.value("machine", name, f"one of {', '.join(curves)}")
        return _catalog_curve(curves[name])
    if scenario["factors"] is not None:
        return NamedCurve(_scenario_points(scenario), "factors of the scenario", "the scenario", "given")
    if scenario["adjustments"] is not None:
        curve = tuple(from_adjustments(scenario["adjustments"]))
        return NamedCurve(curve, "adjustments of the scenario", "the scenario", "given")
    if scenario["data"] is not None:
        try:
            user_files.checked_path(scenario["data"])
        except InputError as error:
            raise ScenarioError(f"data names a file; {error.message}", cure=error.cure) from None
        return _of_file(_resolve(scenario.problem.file, scenario["data"]), scenario["system"])
    return None


def _resolve(scenario: str | None, path: str) -> str:
    """Resolve a path against the folder of the scenario file if it exists there, else return it unchanged."""
    candidate = None if scenario in (None, "-") else os.path.join(os.path.dirname(scenario or ""), path)
    return candidate if candidate is not None and os.path.exists(candidate) else path


def _catalog_curve(machine: capacity_curves.CapacityCurve, *notes: str) -> NamedCurve:
    all_notes = (*notes, machine.note.rstrip(".")) if machine.note else notes
    return NamedCurve(machine.curve, machine.text, machine.source, machine.status, all_notes)


def _scenario_points(scenario: Scenario) -> tuple[Point, ...]:
    """Return the points of the scenario, with 1 for one processor."""
    points: dict[int, float] = {1: 1.0}
    for text, value in scenario["factors"].items():
        if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 10_000:
            raise scenario.problem.value(f"factors.{text}", value, "numbers of processors from 1 to 10,000")
        points[int(text)] = value
    if points[1] != 1.0:
        raise scenario.problem.value("factors.1", points[1], "1: the factor of a single processor")
    return tuple(sorted(points.items()))


@lru_cache(maxsize=16)
def _of_file(path: str, system: str | None) -> NamedCurve:
    """Return the curve of a system in a file; cached, because a sweep needs it repeatedly."""
    from zlens.session.session import CoreSession

    try:
        with CoreSession([path]) as opened:
            return curve_of_session(opened, system)
    except ZlensError as error:
        if isinstance(error, ScenarioError):
            raise
        raise ScenarioError.of(error) from None


def curve_of_session(session: CoreSession, system: str | None = None) -> NamedCurve:
    """Return the curve of one system of a session; raise ScenarioError if the data does not determine it."""
    systems = [str(row[0]) for row in session.sql("SELECT DISTINCT system FROM system ORDER BY system").rows]
    if system is None and len(systems) == 1:
        system = systems[0]
    if system not in systems:
        known = ", ".join(systems[:20])
        message = (
            "the file contains several systems" if system is None else f"the file has no system {system}"
        )
        raise ScenarioError(message, expected=known, cure="name one: system = ...")
    return _of_linux(session, system) or _of_catalog(session, system)


def _rows(session: CoreSession, role: str, columns: str, system: str) -> Sequence[tuple[Any, ...]]:
    if not session.has_data(f"role.{role}"):
        return []
    return session.sql(f"SELECT {columns} FROM role.{role} WHERE system = {literal(system)}").rows


def _of_linux(session: CoreSession, system: str) -> NamedCurve | None:
    """Return the curve that the machine last reported to Linux."""
    rows = _rows(session, "linux_caf", "tod, cpus, adjustment", system)
    if not rows:
        return None
    last = max(row[0] for row in rows)
    stated = {cpus: value for tod, cpus, value in rows if tod == last and value}
    count = 1
    while count + 1 in stated:
        count += 1
    curve = from_adjustments([stated[n] for n in range(2, count + 1)])
    notes = []
    for primary, secondary, tod in _rows(
        session, "linux_system", "capability, secondary_capability, tod", system
    ):
        if tod == last and primary and secondary and primary != secondary:
            notes.append(
                f"The factors are for processors of primary capability {primary:g}; IFLs and zIIPs have "
                f"secondary capability {secondary:g} and another curve"
            )
    return NamedCurve(
        tuple(curve), f"the machine as reported by {system}", "/proc/sysinfo", "linux", tuple(notes)
    )


def _of_catalog(session: CoreSession, system: str) -> NamedCurve:
    """Return the catalog's curve by machine type and capability."""
    query = "SELECT any_value(machine_type), any_value(model) FROM system"
    types = session.sql(f"{query} WHERE system = {literal(system)}").rows
    machine_type, model = types[0] if types else (None, None)
    last = 'arg_max("primary", interval_end), arg_max(secondary, interval_end)'
    # A /proc/cpuinfo or lscpu names the capability, but not the curve.
    of_linux = "arg_max(capability, tod), arg_max(secondary_capability, tod)"
    rows = _rows(session, "capability", last, system) or _rows(session, "linux_system", of_linux, system)
    primary, secondary = rows[0] if rows else (None, None)
    types = session.sql(f"SELECT DISTINCT cpu_type FROM cpu WHERE system = {literal(system)}").rows
    cpu_types = {row[0] for row in types}
    has_full_speed = bool(cpu_types) and cpu_types <= processor_types.full_speed_types()
    capability = secondary if has_full_speed and secondary is not None else primary
    machine = capacity_curves.curve_of_type(
        str(machine_type), None if capability is None else int(capability)
    )
    has = "" if capability is None else f" of capability {capability:g}"
    if machine is None:
        raise ScenarioError(
            f"no curve is known for machine {machine_type}{' ' * bool(model)}{model or ''}{has}",
            expected=", ".join(capacity_curves.capacity_curves()),
            cure="name a machine, or use /proc/sysinfo of Linux on it as data",
        )
    unsure = "" if machine.capability is not None else "; whether it has that capability is unknown"
    return _catalog_curve(
        machine,
        f"{system} runs on a {machine_type}{has or ', capability not reported'}; "
        f"the curve is from {machine.name} in the catalog{unsure}",
    )
