"""A lake: months of decoded data in a folder, as Parquet, by table, system and day.

`add` imports files; `stage` decodes them elsewhere, and `commit` joins what is staged. `contents` shows what
a lake contains, `check` verifies every file against the manifest, `forget` removes data, and `forget_raw`
only the raw tables of old data whose measures are kept (`zlens.stores.rollup`). A lake is read like any other
input: `zlens.open(folder)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zlens.lake.importer import Added, add
    from zlens.lake.integrity import Fault, check
    from zlens.lake.removal import Forgotten, forget, forget_raw
    from zlens.lake.staging import Committed, commit, stage
    from zlens.lake.summary import Contents, contents

__all__ = [
    "Added",
    "Committed",
    "Contents",
    "Fault",
    "Forgotten",
    "add",
    "check",
    "commit",
    "contents",
    "forget",
    "forget_raw",
    "stage",
]

_WHERE = {
    "add": "importer",
    "Added": "importer",
    "check": "integrity",
    "Fault": "integrity",
    "contents": "summary",
    "Contents": "summary",
    "forget": "removal",
    "forget_raw": "removal",
    "Forgotten": "removal",
    "stage": "staging",
    "commit": "staging",
    "Committed": "staging",
}


def __getattr__(name: str) -> Any:
    # Reading a lake needs nothing that writing one does, least of all the SQL engine.
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"zlens.lake.{_WHERE[name]}"), name)
