"""Write sample files into a folder and show what they contain: an hour of a z/VM system with four processors
(MONWRITE), the RMF report and SMF records of a z/OS system on the same machine, and an hour of a z/VM system
with multithreading on another machine. The data is synthetic: nothing in them was measured.

Examples:
  zlens demo
  zlens demo /tmp/demo --quiet
"""

from __future__ import annotations

import argparse
from pathlib import Path

OPTIONS = """
DIR? [zlens-demo] -> folder  folder to write into (zlens-demo)
--seed N:int [530]           seed of the random load (530)
--quiet                      write the files and print only their names
"""


def run(arguments: argparse.Namespace) -> int:
    from zlens import demo
    from zlens.cli import output

    paths = demo.write(Path(arguments.folder), arguments.seed)
    with output.open_output(None) as out:
        out.write("Synthetic demo data:\n")
        for path in paths:
            out.write(f"  {path}\n")
    if arguments.quiet:
        return 0
    from zlens.cli import main

    monwrite, rmf, smf, sim = map(str, paths)
    zone = ["--tz", demo.ZONE]
    commands = (
        ["info", monwrite, rmf, smf, *zone],
        ["report", "prclog", monwrite, "--every", "15m"],
        ["report", "partition", monwrite, rmf, *zone, "--peak", "15m", "--every", "15m"],
        ["report", "cpumflog", smf, "--every", "15m"],
        ["report", "smtmet", sim, "--every", "15m"],
    )
    for command in commands:
        with output.open_output(None) as out:
            out.write(f"\n$ zlens {' '.join(command)}\n\n")
            out.flush()
        status = main(command)
        if status:
            return status
    with output.open_output(None) as out:
        out.write(f"\nTo view them in the browser:\n\n$ zlens serve {arguments.folder} {' '.join(zone)}\n")
    return 0
