"""Measures that outlive their records: by hour and day in a lake, and in the formats that others query.

`rollup` brings the measures of a lake by hour and day up to date.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zlens.stores.rolling import Rolled, rollup

__all__ = ["Rolled", "rollup"]

_WHERE = {"rollup": "rolling", "Rolled": "rolling"}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"zlens.stores.{_WHERE[name]}"), name)
