"""A lake: months of decoded data in a folder, as Parquet files by table, system and day.

`add` imports files; `stage` decodes them elsewhere, and `commit` adds staged inputs. `contents` describes a
lake, `check` verifies every file against the manifest, `forget` removes data, and `forget_raw` removes only
raw tables of old data with measures by hour and day (`zlens.stores.rollup`). A lake is read like any other
input: `zlens.open(folder)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zlens.lake.importer import ImportResult, add
    from zlens.lake.integrity import FileFault, check
    from zlens.lake.removal import RemovalResult, forget, forget_raw
    from zlens.lake.staging import CommitResult, commit, stage
    from zlens.lake.summary import LakeContents, contents

__all__ = [
    "CommitResult", "FileFault", "ImportResult", "LakeContents", "RemovalResult", "add", "check", "commit",
    "contents", "forget", "forget_raw", "stage",
]  # fmt: skip

_NAMES = {
    "importer": ("ImportResult", "add"),
    "integrity": ("FileFault", "check"),
    "removal": ("RemovalResult", "forget", "forget_raw"),
    "staging": ("CommitResult", "commit", "stage"),
    "summary": ("LakeContents", "contents"),
}


def __getattr__(name: str) -> Any:
    # Imported on first use: reading a lake must not load the modules that write one.
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"zlens.lake.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
