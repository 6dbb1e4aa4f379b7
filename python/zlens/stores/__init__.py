"""Measures that outlive their records: by hour and day in a lake.

`rollup` brings the measures of a lake by hour and day up to date.
"""

from zlens.stores.rolling import Rolled, rollup

__all__ = ["Rolled", "rollup"]
