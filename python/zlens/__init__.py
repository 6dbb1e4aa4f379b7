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
    from zlens.api import Report as Report
    from zlens.api import Session as Session
    from zlens.api import open as open
    from zlens.api import run_rig as run_rig
    from zlens.api import run_rig_worlds as run_rig_worlds
    from zlens.api import simulate as simulate
    from zlens.engine.results import QueryResult as QueryResult
    from zlens.errors import CatalogError as CatalogError
    from zlens.errors import InputError as InputError
    from zlens.errors import LakeError as LakeError
    from zlens.errors import QueryError as QueryError
    from zlens.errors import ScenarioError as ScenarioError
    from zlens.errors import ZlensError as ZlensError
    from zlens.findings.evaluate import FindingsResult as FindingsResult
    from zlens.findings.finding import Finding as Finding
    from zlens.inputs.options import Options as Options

__version__ = VERSION

#: Modules below zlens, by the names in them; `errors` has the others.
_MODULES = {
    "Finding": "findings.finding",
    "FindingsResult": "findings.evaluate",
    "Options": "inputs.options",
    "QueryResult": "engine.results",
    **dict.fromkeys(("Report", "Session", "open", "run_rig", "run_rig_worlds", "simulate"), "api"),
}

__all__ = [
    "CatalogError",
    "Finding",
    "FindingsResult",
    "InputError",
    "LakeError",
    "Options",
    "QueryError",
    "QueryResult",
    "Report",
    "ScenarioError",
    "Session",
    "ZlensError",
    "open",
    "run_rig",
    "run_rig_worlds",
    "simulate",
]


if not TYPE_CHECKING:
    # Type checkers know the names above, and report all others.

    def __getattr__(name: str) -> Any:
        # Imported when asked for: the help of the program needs none of it.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"zlens.{_MODULES.get(name, 'errors')}")
        value = globals()[name] = getattr(module, name)
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
