"""Allocation of a machine: to its partitions, and by each z/VM system to its users.

Composes the models of partitions and shares; other tables are for zlens simulate.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from zlens.models.partitions import model as partitions
from zlens.models.scenario import Scenario
from zlens.models.shares import model as shares
from zlens.models.system import partitions as system_parts
from zlens.models.system.partitions import Entry, SystemPartition
from zlens.rendering.answer import Answer, AnswerFigure

SUMMARY = "a complete machine: partitions, and the users of each z/VM system by the use of its partition"


def solve(scenario: Scenario) -> Answer:
    """Solve partitions by the demand of their users, then users by the allocation of their partition."""
    parts = system_parts.system_partitions(scenario)
    notes: list[str] = []
    entries = [_with_user_demand(part, entry, notes) for part in parts for entry in part.cores]
    machine_answer = partitions.solve(system_parts.partitions_scenario(scenario, entries))
    table = machine_answer.table("partitions")
    in_order = [entry for kind in partitions.TYPES for entry in entries if entry["type"] == kind]
    amounts = zip(in_order, table.column("allocation"), strict=True)
    gets = {(entry["name"], entry["type"]): float(amount or 0.0) for entry, amount in amounts}
    tables, figures = list(machine_answer.tables), list(machine_answer.figures)
    charts = list(machine_answer.charts)
    systems = [part for part in parts if part.users]
    for part in systems:
        processors = {}
        for entry in part.cores:
            amount = gets[part.name, entry["type"]]
            type_users = [user for user in part.users if user["type"] == entry["type"] and user["logged_on"]]
            dedicated = sum(user["dedicated"] for user in type_users)
            # Dedicated processors count even if the partition gets less.
            processors[entry["type"]] = max(amount, float(dedicated))
        answer = shares.solve(system_parts.shares_scenario(scenario, part, processors))
        key = "users" if len(systems) == 1 else f"users_{part.name}"
        tables.append(replace(answer.table("users"), key=key, title=f"Users of {part.system}"))
        figures += [
            AnswerFigure(
                figure.key if len(systems) == 1 else f"{figure.key}_{part.name}",
                figure.value, figure.unit, f"{part.system}, {figure.text}", figure.decimals,
            )
            for figure in answer.figures
            if not figure.key.startswith("idle")
        ]  # fmt: skip
        charts += [replace(chart, title=f"{chart.title}, {part.system}") for chart in answer.charts]
        notes += [f"{part.system}: {note}" for note in answer.notes]
    if not systems:
        scenario.unused("absolute_shares_at_most")
    return Answer(
        "system",
        scenario.title or "A machine",
        tables,
        _unique(figures),
        charts,
        [*machine_answer.notes, *notes],
        follow=("users", "allocation") if len(systems) == 1 else ("partitions", "allocation"),
    )


def _unique(figures: list[AnswerFigure]) -> list[AnswerFigure]:
    """Return the figures with unique keys: users get other keys than partitions."""
    by_key: dict[str, AnswerFigure] = {}
    for figure in figures:
        key = figure.key if figure.key not in by_key else f"{figure.key}_by_users"
        by_key[key] = replace(figure, key=key)
    return list(by_key.values())


def _with_user_demand(part: SystemPartition, entry: Entry, notes: list[str]) -> Entry:
    """Return a partition's entry with the demand of its users, unless it has one."""
    type_users = [user for user in part.users if user["type"] == entry["type"] and user["logged_on"]]
    for user in type_users:
        load = demand(part, user)
        if user["demand"] is None and user["demands"] is None and load is not None:
            user["demand"] = load
            closed = [one for one in part.transactions if one["customers"] is not None]
            if any(user["name"] in _named(one) for one in closed):
                notes.append(
                    f"{user['name']}: its customers are assumed to wait for nothing else; "
                    "other waits reduce its load"
                )
    if not part.users or entry["demand"] is not None:
        return entry
    cores = math.fsum(_user_demand(user) for user in type_users) / 100
    return {**entry, "demand": min(cores, 1000.0)}


def _user_demand(user: Entry) -> float:
    """Return the demand of a user, percent of one processor."""
    dedicated: int = user["dedicated"]
    sharing: int = user["virtual_cpus"] - dedicated
    if user["demands"] is not None:
        return 100.0 * dedicated + math.fsum(min(100.0, float(value)) for value in user["demands"])
    maximum = 100.0 * sharing
    return 100.0 * dedicated + (maximum if user["demand"] is None else min(float(user["demand"]), maximum))


def _named(transaction: Entry) -> set[str]:
    return {name for step in transaction["step"] for name in system_parts.users_of(step)}


def demand(part: SystemPartition, user: Entry) -> float | None:
    """Return the CPU demand of transactions on a user, percent of one processor; None without any.

    A closed class offers the load of customers that never wait.
    """
    total: float = 0.0
    has_steps = False
    for transaction in part.transactions:
        steps = [step for step in transaction["step"] if user["name"] in system_parts.users_of(step)]
        if not steps:
            continue
        has_steps = True
        each = math.fsum(
            step["cpu"] / 1000 / len(system_parts.users_of(step)) for step in steps if step["cpu"] is not None
        )
        rate = transaction["rate"]
        if rate is None:
            service_ms = math.fsum(
                (step["cpu"] or 0.0) + (step["delay"] or 0.0) for step in transaction["step"]
            )
            cycle = transaction["think"] + service_ms / 1000
            rate = transaction["customers"] / cycle if cycle else math.inf
        total += rate * each if each else 0.0
    return min(100.0 * total, 1e6) if has_steps else None
