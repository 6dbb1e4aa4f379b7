"""Measures that outlive their records: by hour and day in a lake, and in formats that others query.

`rollup` brings the measures of a lake by hour and day up to date, `export` those in another format.
"""

from zlens.stores.export_targets import TARGETS
from zlens.stores.exporter import ExportResult, export
from zlens.stores.rollup_builder import RollupResult, rollup

__all__ = ["TARGETS", "ExportResult", "RollupResult", "export", "rollup"]
