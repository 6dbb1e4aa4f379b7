"""Rows of published tables of runs, as printed.

Eighty processors: IBM, "z/VM Support for Eighty Logical Processors", tables 2 and 4 to 11, in docs/published.
SMT: IBM, "z/VM SMT performance", tables of the application with serialization and of the ideal application.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

#: Table 2 and text: capacity adjustment factors of a 3906-M05.
CAF = {"1": 1.0, "2": 0.941, "10": 0.802, "16": 0.721, "20": 0.693, "32": 0.646, "40": 0.622, "48": 0.603}
CAF |= {"64": 0.578, "80": 0.554}

FOLDER = Path(__file__).parents[2] / "docs" / "published"
CHAPTER = tomllib.loads((FOLDER / "eighty-processors.toml").read_text(encoding="utf-8"))


def runs_of(table: str) -> list[dict[str, Any]]:
    """Return the runs of a table with their input numbers, without numbers that follow from others."""
    path = FOLDER / "runs" / f"{table.replace(' ', '-')}.toml"
    found: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["run"]
    return found


def printed(begin: str) -> dict[str, dict[str, float]]:
    """Return the printed values of tables with this start of the title, by run and column."""
    found: dict[str, dict[str, float]] = {}
    for table in CHAPTER["table"]:
        for row in table["row"] if table["title"].startswith(begin) else ():
            values = {column: float(text) for column, text in row["printed"].items()}
            found.setdefault(row["name"], {}).update(values)
    return found


def _rich(table: str) -> dict[str, tuple[float, ...]]:
    printed_rows = printed(f"{table.capitalize()}.")
    return {
        run["name"]: (
            *(run["processors"], run["etr"], printed_rows[run["name"]]["itr"], run["busy"]),
            *(printed_rows[run["name"]]["itrr"], printed_rows[run["name"]]["expected"]),
        )
        for run in runs_of(table)
    }


#: Processors, ETR, ITR, mean busy, ITR ratio, capability ratio.
RICH = {table: _rich(table) for table in ("table 4", "table 5", "table 6", "table 7")}
#: Tables 8 and 9 by run: measured and printed values.
PAGED = {
    table: {
        run["name"]: {
            **{key: value for key, value in run.items() if key not in ("name", "also")},
            **{name: value for name, value in printed_row.items() if name not in ("busy_pct", "total_pct")},
            "busy": printed_row["busy_pct"],
            "total_busy": printed_row["total_pct"],
            "paging_rate": run["also"]["paging_rate"],
        }
        for run in runs_of(table)
        for printed_row in (printed(f"{table.capitalize()}.")[run["name"]],)
    }
    for table in ("table 8", "table 9")
}

#: Table 10: percent-busy of the average unparked processor.
BUSY_OF_UNPARKED = {
    table: tuple(printed("Table 10.")[run]["busy_of_unparked_pct"] for run in PAGED[table]) for table in PAGED
}

#: Table 11: mean dispatch wait of clients and servers in microseconds, response time in milliseconds.
WAITS = {
    table: tuple(
        (run["also"]["wait_clients_us"], run["also"]["wait_servers_us"], run["response_ms"])
        for run in runs_of(table)
    )
    for table in PAGED
}

#: Lines of the tables of the application with serialization. From client_tx on they follow from the
#: utilization law: CPU time in clients and elsewhere, bounds of processors and vCPUs, binding one.
SERIALIZATION_LINES: dict[str, tuple[Any, ...]] = {
    "run": ("SMT-0", "SMT-2", "SMT-2, 2 vCPUs", "SMT-2, 6 clients"),
    "cores": (3, 3, 3, 3),
    "processors": (3, 6, 6, 6),
    "clients": (3, 3, 3, 6),
    "client_vcpus": (1, 1, 2, 1),
    "etrr": (1.0, 0.649, 1.065, 1.303),
    "itrr": (1.0, 1.018, 1.101, 1.306),
    "response": (1.0, 1.45, 0.896, 1.701),
    "busy": (95.8, 61.1, 92.6, 95.6),
    "client_busy": (70.5, 95.4, 143.8, 73.7),
    "core_busy": (95.8, 95.5, 95.1, 95.7),
    "density": (None, 1.28, 1.95, 1.99),
    "factor": (None, 104, 149, None),
    "max_capacity_factor": (None, 115, 151, None),
    "client_tx": (2.115, 4.41, 4.051, 3.394),
    "server_tx": (0.759, 1.239, 1.166, 1.008),
    "processor_bound": (1.044, 1.062, 1.15, 1.363),
    "client_bound": (1.418, 0.68, 1.481, 1.768),
    "bound_by": ("processors", "client vCPUs", "processors", "processors"),
}
IDEAL: dict[str, tuple[float, ...]] = {
    "SMT-0": (4, 4, 1.000, 1.000, 1.000, 95.6),
    "SMT-2": (4, 8, 1.362, 1.539, 0.743, 84.6),
}


def by_run(lines: dict[str, tuple[Any, ...]]) -> dict[str, dict[str, Any]]:
    """Return the columns of a table by the name of their run."""
    return {
        name: {line: row[at] for line, row in lines.items() if line != "run"}
        for at, name in enumerate(lines["run"])
    }


SERIALIZATION = by_run(SERIALIZATION_LINES)


def serialization() -> list[dict[str, Any]]:
    keys = ("cores", "processors", "clients", "client_vcpus", "busy", "client_busy", "core_busy")
    keys += ("max_capacity_factor",)
    return [
        {
            "name": name,
            "etr": row["etrr"],
            "response_ms": row["response"],
            **{key: row[key] for key in keys if row[key] is not None},
        }
        for name, row in SERIALIZATION.items()
    ]
