"""zlens: a performance laboratory for IBM Z, off the machine.

import zlens
with zlens.open("monwrite.data") as session:
    session.sql("SELECT cpu_id, avg(busy_pct) FROM cpu GROUP BY cpu_id").rows
    print(session.report("prclog"))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zlens.version import VERSION

if TYPE_CHECKING:
    from zlens.api import Session as Session
    from zlens.api import open as open
    from zlens.api import simulate as simulate
    from zlens.errors import CatalogError as CatalogError
    from zlens.errors import InputError as InputError
    from zlens.errors import LakeError as LakeError
    from zlens.errors import QueryError as QueryError
    from zlens.errors import ScenarioError as ScenarioError
    from zlens.errors import ZlensError as ZlensError
    from zlens.inputs.options import Options as Options

__version__ = VERSION

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
    "run_rig",
    "simulate",
]


def __getattr__(name: str) -> Any:
    # Imported when asked for: the help of the program needs none of it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = {"Options": "inputs.options", **dict.fromkeys(("Session", "open", "run_rig", "simulate"), "api")}
    value = globals()[name] = getattr(import_module(f"zlens.{home.get(name, 'errors')}"), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
