"""Result tables of a simulation, and the constants that it uses."""

from __future__ import annotations

from collections.abc import Sequence

from zlens.rendering.answer import Answer, AnswerFigure
from zlens.rendering.answer_columns import answer_table
from zlens.simulation.run import PreparedScenario, SimulationRun


def constants(ready: PreparedScenario) -> Answer:
    """Return the constants that a simulation uses, with their status and source."""
    rows = [(one.name, one.value, one.unit, one.status, one.text, one.source) for one in ready.constants]
    table = answer_table("simulation", "constants", "", rows)
    return Answer("simulation", f"Assumptions of the simulation of {ready.title or ready.model}", [table])


def summary(ready: PreparedScenario, runs: Sequence[SimulationRun]) -> Answer:
    """Return the results of simulations: use by partition and user, throughput and response times."""
    files, partitions, users, transactions = [], [], [], []
    for run in runs:
        seconds = run.summary["seconds"]
        files += [
            (path, system, run.seed, seconds, run.summary["events"]) for system, path in run.files.items()
        ]
        for name, used in run.summary["partitions"].items():
            partitions += [(name, run.seed, kind, cores) for kind, cores in used.items()]
        for system in run.files:
            system_summary = run.summary["systems"][system]
            for name, user in system_summary["users"].items():
                amounts = (100 * user["cpu_s"], 100 * user["virtual_s"], user["dispatches"],
                           100 * user["refused_s"])  # fmt: skip
                users.append((name, system, run.seed, *_per(amounts, seconds)))
            for name, one in system_summary["transactions"].items():
                ended, refused = _per((one["completed"], one["refused"]), seconds)
                transactions.append((name, system, run.seed, ended, one["mean_response_s"], refused))
    tables = [
        answer_table("simulation", "files", "Files", files),
        answer_table("simulation", "partitions", "Partitions", partitions),
        answer_table("simulation", "users", "Users", users),
    ]
    if transactions:
        tables.append(answer_table("simulation", "transactions", "Transactions", transactions))
    decisions = [
        (cost.method, cost.system, run.seed, cost.decisions, cost.seconds,
         1e6 * cost.seconds / cost.decisions if cost.decisions else None)
        for run in runs for cost in run.decisions
    ]  # fmt: skip
    if decisions:
        tables.append(answer_table("simulation", "decisions", "Decisions of the policy", decisions))
    assumed = sum(one.status != "given" for one in ready.constants)
    notes = [f"{assumed} values are assumptions, which --explain lists"] if assumed else []
    if not all(run.complete for run in runs):
        notes.insert(0, "interrupted: the files end with the last complete interval")
    events = sum(run.summary["events"] for run in runs)
    figure = AnswerFigure("events", float(events), "", "Events", 0)
    return Answer("simulation", ready.title or f"Simulation of {ready.model}", tables, [figure], notes=notes)


def _per(amounts: Sequence[float], seconds: float) -> tuple[float | None, ...]:
    return tuple(amount / seconds if seconds else None for amount in amounts)
