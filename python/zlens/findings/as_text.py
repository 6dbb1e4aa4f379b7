"""Findings as an analyst reads them: one block for each rule and system, the worst first."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from zlens.catalog.rules import CLASSES, SEVERITIES
from zlens.findings.evaluate import Findings, Session
from zlens.findings.finding import Finding, amount
from zlens.version import VERSION

WIDTH = 100
_MARGIN = 10
#: Of one rule and system so many subjects are printed; the other formats have all.
SHOWN = 8
_CALLED = {"crit": "CRITICAL", "warn": "WARNING", "info": "INFO"}
_COUNTED = {
    "crit": ("critical", "critical"),
    "warn": ("warning", "warnings"),
    "info": ("for information", "for information"),
}


def render(findings: Findings, *, missing: bool = False, now: datetime | None = None) -> str:
    """All of them, then what could not be computed."""
    lines = list(_head(findings, now or datetime.now()))
    for block in _blocks(findings.rows):
        lines += ["", *_block(block, findings)]
    lines += ["", *_tail(findings, missing)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _head(findings: Findings, now: datetime) -> Iterator[str]:
    program = f"zlens {VERSION}"
    left = f"FINDINGS  Run {now:%Y/%m/%d %H:%M:%S}"
    yield f"{left}{program:>{WIDTH - len(left)}}"
    yield from _inputs(findings.session)
    if findings.baseline is not None:
        yield from (f"against {line}" for line in _inputs(findings.baseline))
    counts = Counter(block[0].severity for block in _blocks(findings.rows))
    told = [f"{n} {_COUNTED[severity][n > 1]}" for severity in SEVERITIES if (n := counts[severity])]
    yield f"{', '.join(told) or 'Nothing found'}; {len(findings.asked)} rules checked"
    yield "_" * WIDTH


def _inputs(session: Session) -> Iterator[str]:
    """The systems of a session and their time."""
    spans = session.sql(
        "SELECT system, source, count(*), min(interval_start), max(interval_end) "
        'FROM "interval" GROUP BY ALL ORDER BY ALL'
    ).rows
    for system, data, count, start, end in spans:
        yield f"{_one_line(system)}  {data}  {_span(session, system, start, end)}, {count:,} intervals"


def _blocks(rows: list[Finding]) -> list[list[Finding]]:
    """Findings of one rule and system together, in the order of the worst of each."""
    blocks: dict[tuple[object, ...], list[Finding]] = {}
    for each in rows:
        blocks.setdefault((each.rule.id, each.system, each.data), []).append(each)
    return list(blocks.values())


def _block(block: list[Finding], findings: Findings) -> Iterator[str]:
    first = block[0]
    rule = first.rule
    kind = "balance, tolerance" if rule.kind == "balance" else "class"
    left = f"{_CALLED[first.severity]:<{_MARGIN}}{rule.id}  {rule.title}"
    right = f"[{kind} {rule.threshold_class}]"
    yield f"{left}{right:>{max(WIDTH - len(left), len(right) + 2)}}"
    on = _one_line(first.system or "this input")
    if len(block) == 1:
        yield from _hung("On", on)
        yield from _hung("", _told(first, findings))
    else:
        heads = (f"{on}, {len(block):,} found", *_shared(block, findings))
        yield from _hung("On", "; ".join(heads))
        limits = {each.limit for each in block}
        for each in block[:SHOWN]:
            yield from _hung("", _listed(each, findings, limit=len(limits) > 1))
    if len(block) > SHOWN:
        yield from _hung("", f"and {len(block) - SHOWN:,} more (--format csv has all)")
    yield from _hung("Means", rule.meaning)
    yield from _hung("Action", rule.action)
    yield from _hung("Caution", rule.guard)
    for other in first.others:
        yield from _hung("But", other)
    yield from _hung("Source", rule.source)


def _told(each: Finding, findings: Findings) -> str:
    """Subject, value against threshold, when."""
    parts = [*_found(each, limit=True), _when(each, findings)]
    told = "; ".join(filter(None, parts))
    return _one_line(f"{each.subject}: {told}" if each.subject and told else each.subject or told)


def _shared(block: list[Finding], findings: Findings) -> Iterator[str]:
    """What holds for all subjects of a block: the threshold, and within which time."""
    limits = {each.limit for each in block}
    if len(limits) == 1 and block[0].limit and block[0].value is not None:
        yield f"against {block[0].limit}"
    starts = [each.first for each in block if each.first]
    ends = [each.last for each in block if each.last]
    if starts and ends:
        yield _span(findings.session, block[0].system or "", min(starts), max(ends))


def _listed(each: Finding, findings: Findings, *, limit: bool) -> str:
    """One of several subjects of a rule: its value, and for how long."""
    parts = _found(each, limit=limit)
    if each.rule.compare == "exists" or not each.worst:
        parts += [f"{each.held:,} times"] if each.held > 1 else []
    elif each.tested > 1:
        at = _clock(findings, each.system or "", each.worst, each.last or each.worst)
        parts.append(f"in {each.held:,} of {each.tested:,} intervals, worst at {at}")
    told = "; ".join(parts)
    return _one_line(f"{each.subject or 'all'}: {told}" if told else each.subject)


def _found(each: Finding, *, limit: bool) -> list[str]:
    """The value, against its threshold where that is not said elsewhere, and what else is known."""
    parts = []
    value = amount(each.value, each.rule.unit)
    words = each.limit if limit else ""
    if value or words:
        parts.append(f"{value} against {words}" if value and words else value or words)
    if not value and words and each.detail:
        return [f"{each.detail} against {words}"]
    if each.detail:
        parts.append(each.detail)
    if each.baseline is not None and each.value != each.mean:
        mean, was = amount(each.mean, each.rule.unit), amount(each.baseline, each.rule.unit)
        parts.append(f"mean {mean}, in the baseline {was}")
    return parts


def _when(each: Finding, findings: Findings) -> str:
    if each.first is None or each.last is None:
        return ""
    system = each.system or ""
    span = _span(findings.session, system, each.first, each.last)
    if each.rule.compare == "exists":
        return f"{span}, {each.held:,} times" if each.held > 1 else span
    if each.tested == 1:
        return span
    told = f"{span}, in {each.held:,} of {each.tested:,} intervals"
    if each.worst is not None and each.held > 1:
        told += f", worst at {_clock(findings, system, each.worst, each.last)}"
    return told


def _span(session: Session, system: str, start: datetime | None, end: datetime | None) -> str:
    if start is None or end is None:
        return ""
    a, b = session.display(start, system), session.display(end, system)
    if end - start < timedelta(seconds=1):
        return f"{b:%Y/%m/%d %H:%M:%S}"
    if a.date() == b.date():
        return f"{a:%Y/%m/%d %H:%M:%S} to {b:%H:%M:%S}"
    return f"{a:%Y/%m/%d %H:%M} to {b:%Y/%m/%d %H:%M}"


def _clock(findings: Findings, system: str, when: datetime, last: datetime) -> str:
    shown, end = findings.session.display(when, system), findings.session.display(last, system)
    return f"{shown:%H:%M:%S}" if shown.date() == end.date() else f"{shown:%Y/%m/%d %H:%M:%S}"


def _tail(findings: Findings, missing: bool) -> Iterator[str]:
    yield "_" * WIDTH
    if findings.off:
        classes = sorted({rule.threshold_class for rule in findings.off}, key=list(CLASSES).index)
        yield from _wrapped(
            f"Not asked: {len(findings.off)} rules of class {', '.join(classes)} "
            "(--all, --class, or --baseline with an input to compare with)."
        )
    if not findings.missing:
        return
    tables = Counter(table for _, names in findings.missing for table in dict.fromkeys(map(_table, names)))
    listed = sorted(tables.items(), key=lambda each: (-each[1], each[0]))
    most = ", ".join(f"{table} ({count})" for table, count in listed)
    yield from _wrapped(
        f"Not computable here: {len(findings.missing)} rules, for want of values in {most}."
        + ("" if missing else " --missing tells of each.")
    )
    if missing:
        for rule, names in findings.missing:
            yield from _hung(f"  {rule.id}", f"{rule.title}: without {', '.join(names)}", margin=12)


def _table(name: str) -> str:
    """The measure of a column that is missing; a baseline is no column."""
    return "the baseline" if " " in name else name.rpartition(".")[0]


def _hung(head: str, text: str, margin: int = _MARGIN) -> list[str]:
    if not text:
        return []
    return textwrap.wrap(
        " ".join(text.split()),
        WIDTH,
        initial_indent=f"{head:<{margin}}",
        subsequent_indent=" " * margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False)


def _one_line(text: str) -> str:
    """Names come from input: a control character in one must not act on the terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)
