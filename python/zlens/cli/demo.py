"""zlens demo: sample files, and a first look at them."""

from __future__ import annotations

import argparse
from pathlib import Path

DESCRIPTION = """\
Write sample files into a folder and show what is in them: an hour of a z/VM system with four processors
(MONWRITE), the RMF report and the SMF records of a z/OS system on the same machine, and an hour of a z/VM
system with multithreading on another one, for what is known to be recorded and not where in the records.
The files are made: nothing in them was measured anywhere.
"""
EXAMPLES = """\
Examples:
  zlens demo
  zlens demo /tmp/demo --quiet
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", default="zlens-demo", help="folder to write into (zlens-demo)"
    )
    parser.add_argument(
        "--seed", type=int, default=530, metavar="N", help="another hour of the machine (530)"
    )
    parser.add_argument("--quiet", action="store_true", help="write the files, print their names only")


def run(arguments: argparse.Namespace) -> int:
    from zlens import demo
    from zlens.cli import output

    paths = demo.write(Path(arguments.folder), arguments.seed)
    with output.opened(None) as out:
        out.write("Synthetic demo data:\n")
        for path in paths:
            out.write(f"  {path}\n")
    if arguments.quiet:
        return 0
    from zlens.cli import main

    monwrite, rmf, smf, sim = map(str, paths)
    zone = ["--tz", demo.ZONE]
    shown = (
        ["info", monwrite, rmf, smf, *zone],
        ["report", "prclog", monwrite, "--every", "15m"],
        ["report", "partition", monwrite, rmf, *zone, "--peak", "15m", "--every", "15m"],
        ["report", "cpumflog", smf, "--every", "15m"],
        ["report", "smtmet", sim, "--every", "15m"],
    )
    for command in shown:
        with output.opened(None) as out:
            out.write(f"\n$ zlens {' '.join(command)}\n\n")
            out.flush()
        status = main(command)
        if status:
            return status
    with output.opened(None) as out:
        out.write(f"\nTo look at them in the browser:\n\n$ zlens serve {arguments.folder} {' '.join(zone)}\n")
    return 0
