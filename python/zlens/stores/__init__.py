"""Measures by hour and day in a lake, and in formats of other programs.

`rollup` updates the measures of a lake by hour and day; `export` writes measures in another format.
"""

from zlens.stores.export_targets import TARGETS
from zlens.stores.exporter import ExportResult, export
from zlens.stores.rollup_builder import RollupResult, rollup

__all__ = ["TARGETS", "ExportResult", "RollupResult", "export", "rollup"]
