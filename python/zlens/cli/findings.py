"""Check the input against the built-in rules and your own, and print those that apply, worst first. Text and
HTML begin with the verdict on each system: what caused its findings. zlens' own rules of thumb (class
heuristic) are checked only with --all, --class or --baseline.

Examples:
  zlens findings monwrite.data
  zlens findings monwrite.data --shift 'Mon-Fri 08:00-17:00' --format csv -o findings.csv
  zlens findings after.data --baseline before.data
  zlens explain findings
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zlens.cli import inputs, output

if TYPE_CHECKING:
    from zlens.findings import FindingsResult
    from zlens.inputs.options import Options

#: Maximum systems with a verdict.
_MOST_VERDICTS = 20
_CLASSES = ("ibm", "ibm-qual", "vendor", "heuristic", "unverified")
OPTIONS = f"""{inputs.INPUTS}
which rules:
--all                 rules of every class
--class {{{",".join(_CLASSES)}}}... -> classes  this class (may be repeated)
--rule ID... -> only  this rule (may be repeated)
--rules DIR...        folder with more rules
--baseline INPUT      compare the input with this baseline
options:
--missing             list the rules without data in this input
{output.OPTIONS}
{inputs.SELECTING}"""


def run(arguments: argparse.Namespace) -> int:
    from zlens import findings, verdict
    from zlens.findings.evaluate import find
    from zlens.session.session import CoreSession

    options = inputs.parse_options(arguments)
    with inputs.open_session(arguments.inputs, options) as (session, progress), ExitStack() as stack:
        baseline = None
        if arguments.baseline:
            opened = CoreSession([arguments.baseline], _baseline_options(options), progress)
            baseline = stack.enter_context(opened)
        # Rules chosen by the user may leave out causes.
        has_verdict = arguments.format in ("text", "html") and not (arguments.only or arguments.classes)
        result = find(
            session,
            classes=list(_CLASSES) if arguments.all else arguments.classes or None,
            only=arguments.only or None,
            folders=arguments.rules,
            baseline=baseline,
            later=verdict.queries() if has_verdict else (),
        )
        text = findings.render(
            result,
            arguments.format,
            verdicts=_verdicts(result) if has_verdict else (),
            missing=arguments.missing,
        )
        progress.close()
        output.write(text, arguments.output, arguments.format)
        return inputs.finish(session, strict=arguments.strict)


def _verdicts(result: FindingsResult) -> list[tuple[str, str]]:
    """Return the verdict on each system, unless there are too many to read."""
    from zlens import verdict

    systems = {info.system for info in result.session.systems}
    if len(systems) > _MOST_VERDICTS:
        return [("", f"{len(systems):,} systems: --system NAME chooses one")]
    return [(found.system, found.text) for found in verdict.compose(result)]


def _baseline_options(options: Options) -> Options:
    """Return the options without systems and dates, which differ in the baseline."""
    times = {
        side: time
        for side, time in (("start", options.start), ("end", options.end))
        if time is not None and time.date is None
    }
    return replace(
        options,
        systems=(),
        start=times.get("start"),
        end=times.get("end"),
        throughput=None,
        throughput_columns=None,
    )
