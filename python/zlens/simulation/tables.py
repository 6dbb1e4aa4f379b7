"""The answers of a simulation: what it came to, and the constants that it uses."""

from __future__ import annotations

from collections.abc import Sequence

from zlens.models.answer import Answer, Column, Figure, Table
from zlens.simulation.run import Prepared, Run

_CONSTANTS = (
    Column("name", "Constant"),
    Column("value", "Value", decimals=3),
    Column("unit", "Unit"),
    Column("status", "Status"),
    Column("text", "Is"),
    Column("source", "Source"),
)
_FILES = (
    Column("file", "File"),
    Column("system", "System"),
    Column("seed", "Seed"),
    Column("seconds", "Simulated", "s", "seconds recorded", 0),
    Column("events", "Events", "", "dispatches, arrivals, ends of work and the like"),
)
_PARTITIONS = (
    Column("partition", "Partition"),
    Column("seed", "Seed"),
    Column("type", "Type"),
    Column("cores", "Used", "cores", "on average", 3),
)
_USERS = (
    Column("user", "User"),
    Column("system", "System"),
    Column("seed", "Seed"),
    Column("cpu", "CPU", "% of 1", "CPU time charged to it, of one processor", 2),
    Column("virtual", "Virtual", "% of 1", "its own part of that", 2),
    Column("dispatches", "Dispatches", "1/s"),
    Column("given_up", "Given up", "% of 1", "demand that could wait no longer", 2),
)
_TRANSACTIONS = (
    Column("name", "Class"),
    Column("system", "System"),
    Column("seed", "Seed"),
    Column("throughput", "Throughput", "1/s", "transactions that ended", 3),
    Column("response", "Response", "s", "mean response time", 5),
    Column("refused", "Refused", "1/s", "transactions that found too many before them", 3),
)


def constants(ready: Prepared) -> Answer:
    """The constants that a simulation uses, with what is known of each."""
    rows = [(one.name, one.value, one.unit, one.status, one.text, one.source) for one in ready.constants]
    table = Table("constants", "", _CONSTANTS, rows)
    return Answer("simulation", f"What the simulation of {ready.title or ready.model} assumes", [table])


def summary(ready: Prepared, runs: Sequence[Run]) -> Answer:
    """What simulations came to: use by partition and user, throughput and response of transactions."""
    files, partitions, users, transactions = [], [], [], []
    for run in runs:
        seconds = run.summary["seconds"]
        files += [
            (path, system, run.seed, seconds, run.summary["events"]) for system, path in run.files.items()
        ]
        for name, used in run.summary["partitions"].items():
            partitions += [(name, run.seed, kind, cores) for kind, cores in used.items()]
        for system in run.files:
            found = run.summary["systems"][system]
            for name, user in found["users"].items():
                amounts = (100 * user["cpu_s"], 100 * user["virtual_s"], user["dispatches"],
                           100 * user["refused_s"])  # fmt: skip
                users.append((name, system, run.seed, *_per(amounts, seconds)))
            for name, one in found["transactions"].items():
                ended, refused = _per((one["completed"], one["refused"]), seconds)
                transactions.append((name, system, run.seed, ended, one["mean_response_s"], refused))
    tables = [
        Table("files", "Files", _FILES, files),
        Table("partitions", "Partitions", _PARTITIONS, partitions),
        Table("users", "Users", _USERS, users),
    ]
    if transactions:
        tables.append(Table("transactions", "Transactions", _TRANSACTIONS, transactions))
    assumed = sum(one.status != "given" for one in ready.constants)
    notes = [f"{assumed} values are assumptions, which --explain lists"] if assumed else []
    if not all(run.complete for run in runs):
        notes.insert(0, "interrupted: the files end with the last whole interval")
    events = sum(run.summary["events"] for run in runs)
    figure = Figure("events", float(events), "", "Events", 0)
    return Answer("simulation", ready.title or f"Simulation of {ready.model}", tables, [figure], notes=notes)


def _per(amounts: Sequence[float], seconds: float) -> tuple[float | None, ...]:
    return tuple(amount / seconds if seconds else None for amount in amounts)
