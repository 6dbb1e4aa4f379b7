"""Measures that outlive their records: by hour and day in a lake, and in formats that others query.

`rollup` brings the measures of a lake by hour and day up to date, `export` those in another format.
"""

from zlens.stores.exporting import Exported, export
from zlens.stores.rolling import Rolled, rollup
from zlens.stores.targets import TARGETS

__all__ = ["TARGETS", "Exported", "Rolled", "export", "rollup"]
