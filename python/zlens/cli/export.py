"""Write the measures of a lake for other programs. Repeating the command writes only days that have changed.

parquet  a file for each measure, system and day
delta    a Delta Lake table for each measure (pip install '.[delta]')
iceberg  an Iceberg table for each measure, with a catalog next to them (pip install '.[iceberg]')

Examples:
  zlens import /data/monwrite --lake lake && zlens export measures lake --to parquet -o measures
  zlens export measures lake --to delta -o /shared/zlens --table load --table guest
  zlens sql -q "select userid, sum(cpu_s) from 'measures/guest/*/*.parquet' group by all"
"""

from __future__ import annotations

import argparse

from zlens.cli import DONE, output
from zlens.schema.plain_text import format_count, replace_controls

#: The formats are those of `zlens.stores.TARGETS`, which is slow to import.
OPTIONS = """
{measures} -> what  measures: all columns of all intervals
LAKE                lake written by zlens import
--to {parquet,delta,iceberg}!  format
-o --output DIR!    folder of the tables
--system NAME...    only this system (repeatable)
--table NAME...     only this measure (repeatable)
"""


def run(arguments: argparse.Namespace) -> int:
    from zlens import stores
    from zlens.progress import Progress

    with output.open_output(None) as out, Progress() as progress:

        def report(exported: stores.ExportResult) -> None:
            progress.close()
            name = replace_controls(", ".join(exported.systems))
            if not exported.days:
                out.write(f"{name}: up to date\n")
                return
            span = " to ".join(dict.fromkeys((exported.days[0], exported.days[-1])))
            days = format_count(len(exported.days), "day")
            tables = format_count(exported.tables, "measure")
            out.write(f"{name}: {span}: {days}, {format_count(exported.rows, 'row')} of {tables}\n")
            out.flush()

        stores.export(
            arguments.lake,
            arguments.output,
            arguments.to,
            systems=arguments.system,
            tables=arguments.table,
            progress=progress,
            report=report,
        )
    return DONE
