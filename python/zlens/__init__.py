"""zlens: a performance laboratory for IBM Z, off the machine.

import zlens
with zlens.open("monwrite.data") as session:
    session.sql("SELECT cpu_id, avg(busy_pct) FROM cpu GROUP BY cpu_id").rows
    print(session.report("prclog"))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zlens.errors import CatalogError as CatalogError
    from zlens.errors import InputError as InputError
    from zlens.errors import LakeError as LakeError
    from zlens.errors import QueryError as QueryError
    from zlens.errors import ScenarioError as ScenarioError
    from zlens.errors import ZlensError as ZlensError
    from zlens.options import Options as Options
    from zlens.session import Session as Session
    from zlens.session import open as open

__version__ = "0.1.0"

__all__ = [
    "CatalogError",
    "InputError",
    "LakeError",
    "Options",
    "QueryError",
    "ScenarioError",
    "Session",
    "ZlensError",
    "open",
]


def __getattr__(name: str) -> Any:
    # Imported when asked for: the help of the program needs none of it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = {"Options": "options", "Session": "session", "open": "session"}.get(name, "errors")
    value = globals()[name] = getattr(import_module(f"zlens.{home}"), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
