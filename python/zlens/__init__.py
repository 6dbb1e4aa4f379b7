"""zlens: a performance laboratory for IBM Z, off the machine.

import zlens
with zlens.open("monwrite.data") as session:
    session.sql("SELECT cpu_id, avg(busy_pct) FROM cpu GROUP BY cpu_id").rows
    print(session.report("prclog"))
"""

from zlens.errors import CatalogError, InputError, LakeError, QueryError, ScenarioError, ZlensError
from zlens.options import Options
from zlens.session import Session, open

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
