"""The endpoint /ledger: accounts that add up, from a machine to its jobs."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from zlens.catalog.ledgers import ledger_names, load_ledger
from zlens.ledger.answer import further_tables, kept_notes
from zlens.ledger.rows import ledger_rows
from zlens.ledger.tree import entries
from zlens.server import json_values
from zlens.server.workspace import Workspace

#: What the web UI does not need of a row.
_INNER = ("end", "amounts")
_WINDOW = ("from", "to", "input", "source")


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of a ledger, each with its depth below a root; others of an account are one row."""
    ledger = load_ledger(request["name"])
    window = tuple(request[key] for key in _WINDOW)

    def work() -> dict[str, Any]:
        # All systems: a machine's time is divided among them.
        with workspace.open_narrow(None, *window) as session:
            rows = ledger_rows(session, ledger)
            tables = [*further_tables(session, ledger)] if rows else []
            notes = kept_notes(session, ledger)
        titles = {name: account.title for name, account in ledger.accounts().items()}
        texts = {name: account.text for name, account in ledger.accounts().items()}
        return {
            **json_values.attributes(ledger, "title", "unit", "text", "not_counted", "needs"),
            "ledgers": [{"name": name, "title": load_ledger(name).title} for name in ledger_names()],
            "levels": [json_values.attributes(level, "name", "title") for level in ledger.levels],
            "rows": [
                json_values.json_value(
                    {
                        **{key: value for key, value in asdict(entry.row).items() if key not in _INNER},
                        "depth": entry.depth,
                        "title": titles[entry.row.account],
                        "text": texts[entry.row.account],
                    }
                )
                for entry in entries(rows, request["top"])
            ],
            "tables": [*map(json_values.answer_table, tables)],
            "notes": notes,
        }

    key = "ledger", request["name"], request["top"], *window
    return workspace.compute_once(key, work)
