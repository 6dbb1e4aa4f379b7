"""Divide what a machine used in the selected time into accounts that add up: machine, partitions, systems,
guests or service classes, jobs. Each amount is measured, solved or assumed.

Examples:
  zlens ledger --list
  zlens ledger cpu monwrite.data smf.dump
  zlens ledger cpu smf.dump --from 09:00 --to 10:00 --every 15m
  zlens ledger msu smf.dump --prices prices.toml
  zlens ledger cpu monwrite.data --group groups.toml --format csv -o cpu.csv
  zlens ledger energy monwrite.data scrape.prom --factors factors.toml
"""

from __future__ import annotations

import argparse

from zlens.cli import inputs, output
from zlens.errors import QueryError

#: Subjects of an account that text and HTML show below one row.
_TOP = 10
OPTIONS = f"""
NAME?           name of the ledger: cpu, energy, msu
{inputs.ANY_INPUTS}
--list          list all ledgers, and what they do not count
--top N:int     only the N largest subjects of each account, the others as one row (text and HTML: {_TOP})
--factors FILE  emission of CO2 of the ledger energy: a TOML file with unit = "g/kWh", co2 and source
--prices FILE   of the ledger msu: your prices of an MSU, by product
{output.OPTIONS}{inputs.SELECTING}"""


def run(arguments: argparse.Namespace) -> int:
    from zlens.catalog.ledgers import ledger_names, load_ledger

    if arguments.list:
        for name in ledger_names():
            ledger = load_ledger(name)
            print(f"{name}: {ledger.text}\n  {ledger.not_counted}")
        return 0
    if arguments.name is None:
        raise QueryError("which ledger?", cure="zlens ledger --list lists them")
    load_ledger(arguments.name)
    if not arguments.inputs:
        raise QueryError("no input", cure=f"zlens ledger {arguments.name} INPUT")
    from zlens.cli.model_output import render
    from zlens.ledger import answer, prices
    from zlens.ledger import factors as factor_files

    priced = None if arguments.prices is None else prices.read(arguments.prices)
    top = arguments.top
    if top is None and arguments.format in ("text", "html"):
        top = _TOP
    if top is not None and top < 1:
        raise QueryError(f"--top {top} shows nothing", expected="a number from 1")
    factors = None if arguments.factors is None else factor_files.read(arguments.factors)
    with inputs.open_session(arguments.inputs, inputs.parse_options(arguments)) as (session, progress):
        found = answer.solve(session, arguments.name, top=top, factors=factors, prices=priced)
        text = render(found, arguments.format)
        progress.close()
        output.write(text, arguments.output, arguments.format)
        return inputs.finish(session, strict=arguments.strict)
