"""Findings as an answer: one entry for each rule and system, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from zlens.catalog.rules import CLASSES, SEVERITIES
from zlens.findings.evaluate import FindingsResult
from zlens.findings.finding import Finding, format_amount
from zlens.rendering.answer import Answer, AnswerEntry
from zlens.rendering.text_lines import WIDTH
from zlens.schema.plain_text import format_count, replace_controls
from zlens.version import VERSION

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Maximum subjects printed for a rule and system; the other formats contain all.
SHOWN = 8
_LABELS = {"crit": "CRITICAL", "warn": "WARNING", "info": "INFO"}
_COUNTED = {
    "crit": ("critical", "critical"),
    "warn": ("warning", "warnings"),
    "info": ("for information", "for information"),
}


def build_answer(
    findings: FindingsResult,
    *,
    verdicts: Sequence[tuple[str, str]] = (),
    most: int | None = None,
    missing: bool = False,
    now: datetime | None = None,
) -> Answer:
    """Return the findings, then the unchecked rules.

    verdicts  systems and their verdicts, which come first
    most      maximum subjects of a rule and system
    """
    left, program = f"FINDINGS  Run {now or datetime.now():%Y/%m/%d %H:%M:%S}", f"zlens {VERSION}"
    blocks = _blocks(findings.rows)
    return Answer(
        "findings",
        f"{left}{program:>{WIDTH - len(left)}}",
        lead=list(_lead(findings, blocks)),
        entries=[
            *([AnswerEntry("VERDICT", [*_labeled(verdicts)])] if verdicts else []),
            *(_entry(block, findings, most) for block in blocks),
            AnswerEntry("", [*_unchecked(findings, missing)]),
        ],
    )


def _lead(findings: FindingsResult, blocks: list[list[Finding]]) -> Iterator[str]:
    yield from _inputs(findings.session)
    if findings.baseline is not None:
        yield from (f"against {line}" for line in _inputs(findings.baseline))
    counts = Counter(block[0].severity for block in blocks)
    summary = [
        f"{count} {_COUNTED[severity][count > 1]}" for severity in SEVERITIES if (count := counts[severity])
    ]
    yield f"{', '.join(summary) or 'Nothing found'}; {format_count(len(findings.asked), 'rule')} checked"


def _labeled(verdicts: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the label and the text of each verdict."""
    for system, text in verdicts:
        yield replace_controls(system, "?"), text


def _inputs(session: CoreSession) -> Iterator[str]:
    """Yield the systems of a session and their time ranges."""
    spans = session.sql(
        "SELECT system, source, count(*), min(interval_start), max(interval_end) "
        'FROM "interval" GROUP BY ALL ORDER BY ALL'
    ).rows
    for system, data, count, start, end in spans:
        span = _span(session, (system, data), start, end)
        yield f"{replace_controls(system, '?')}  {data}  {span}, {format_count(count, 'interval')}"


def _blocks(rows: list[Finding]) -> list[list[Finding]]:
    """Group findings by rule and system, ordered by the worst of each group."""
    blocks: dict[tuple[object, ...], list[Finding]] = {}
    for finding in rows:
        blocks.setdefault((finding.rule.id, finding.system, finding.data), []).append(finding)
    return list(blocks.values())


def _entry(block: list[Finding], findings: FindingsResult, most: int | None) -> AnswerEntry:
    first = block[0]
    rule = first.rule
    kind = "balance, tolerance" if rule.kind == "balance" else "class"
    title = f"{_LABELS[first.severity]:<10}{rule.id}  {rule.title}"
    on = replace_controls(first.system or "this input", "?")
    if len(block) == 1:
        facts = [("On", on), ("", _summary(first, findings))]
    else:
        limits = {finding.limit for finding in block}
        facts = [("On", "; ".join((f"{on}, {len(block):,} found", *_common(block, findings))))]
        facts += [("", _subject(finding, findings, limit=len(limits) > 1)) for finding in block[:most]]
    if most is not None and len(block) > most:
        facts.append(("", f"and {len(block) - most:,} more (--format csv lists all)"))
    facts += [("Means", rule.meaning), ("Action", rule.action), ("Caution", rule.guard)]
    facts += [*(("But", other) for other in first.others), ("Source", rule.source)]
    aside = f"[{kind} {rule.threshold_class}]"
    return AnswerEntry(title, [fact for fact in facts if fact[1]], aside, first.severity)


def _summary(finding: Finding, findings: FindingsResult) -> str:
    """Return subject, value compared with the threshold, and time."""
    parts = [*_values(finding, limit=True), _interval(finding, findings)]
    text = "; ".join(filter(None, parts))
    on_subject = f"{finding.subject}: {text}" if finding.subject and text else finding.subject or text
    return replace_controls(on_subject, "?")


def _common(block: list[Finding], findings: FindingsResult) -> Iterator[str]:
    """Yield facts common to all subjects of a block: the threshold and the time range."""
    limits = {finding.limit for finding in block}
    if len(limits) == 1 and block[0].limit and block[0].value is not None:
        yield f"threshold {block[0].limit}"
    starts = [finding.first for finding in block if finding.first]
    ends = [finding.last for finding in block if finding.last]
    if starts and ends:
        yield _span(findings.session, _recorded_by(block[0]), min(starts), max(ends))


def _subject(finding: Finding, findings: FindingsResult, *, limit: bool) -> str:
    """Return the value and number of intervals of one of several subjects of a rule."""
    parts = _values(finding, limit=limit)
    if finding.rule.compare == "exists" or not finding.worst:
        parts += [f"{finding.held:,} times"] if finding.held > 1 else []
    elif finding.tested > 1:
        time = _clock(findings, _recorded_by(finding), finding.worst, finding.last or finding.worst)
        parts.append(f"in {finding.held:,} of {format_count(finding.tested, 'interval')}, worst at {time}")
    text = "; ".join(parts)
    return replace_controls(f"{finding.subject or 'all'}: {text}" if text else finding.subject, "?")


def _values(finding: Finding, *, limit: bool) -> list[str]:
    """Return the value (with its threshold if `limit`), the detail, and the mean with a baseline."""
    parts = []
    value = format_amount(finding.value, finding.rule.unit)
    threshold = finding.limit if limit else ""
    if value or threshold:
        parts.append(f"{value} (threshold {threshold})" if value and threshold else value or threshold)
    if not value and threshold and finding.detail:
        return [f"{finding.detail} against {threshold}"]
    if finding.detail:
        parts.append(finding.detail)
    if finding.baseline is not None and finding.value != finding.mean:
        mean, baseline = (
            format_amount(finding.mean, finding.rule.unit),
            format_amount(finding.baseline, finding.rule.unit),
        )
        parts.append(f"mean {mean}, in the baseline {baseline}")
    return parts


def _interval(finding: Finding, findings: FindingsResult) -> str:
    if finding.first is None or finding.last is None:
        return ""
    recorded_by = _recorded_by(finding)
    span = _span(findings.session, recorded_by, finding.first, finding.last)
    if finding.rule.compare == "exists":
        return f"{span}, {finding.held:,} times" if finding.held > 1 else span
    if finding.tested == 1:
        return span
    text = f"{span}, in {finding.held:,} of {format_count(finding.tested, 'interval')}"
    if finding.worst is not None and finding.held > 1:
        text += f", worst at {_clock(findings, recorded_by, finding.worst, finding.last)}"
    return text


def _recorded_by(finding: Finding) -> tuple[str, str | None]:
    """Return the system and the source whose zone the times of a finding are shown in."""
    return finding.system or "", finding.data


def _span(
    session: CoreSession, recorded_by: tuple[str, str | None], start: datetime | None, end: datetime | None
) -> str:
    if start is None or end is None:
        return ""
    first, last = session.display(start, *recorded_by), session.display(end, *recorded_by)
    if end - start < timedelta(seconds=1):
        return f"{last:%Y/%m/%d %H:%M:%S}"
    if first.date() == last.date():
        return f"{first:%Y/%m/%d %H:%M:%S} to {last:%H:%M:%S}"
    return f"{first:%Y/%m/%d %H:%M} to {last:%Y/%m/%d %H:%M}"


def _clock(
    findings: FindingsResult, recorded_by: tuple[str, str | None], time: datetime, last: datetime
) -> str:
    shown, end = (findings.session.display(each, *recorded_by) for each in (time, last))
    return f"{shown:%H:%M:%S}" if shown.date() == end.date() else f"{shown:%Y/%m/%d %H:%M:%S}"


def _unchecked(findings: FindingsResult, missing: bool) -> Iterator[tuple[str, str]]:
    if findings.off:
        classes = sorted({rule.threshold_class for rule in findings.off}, key=list(CLASSES).index)
        yield (
            "",
            f"Not checked: {format_count(len(findings.off), 'rule')} of class {', '.join(classes)} "
            "(--all, --class, or --baseline with an input to compare with).",
        )
    if not findings.missing:
        return
    tables = Counter(table for _, names in findings.missing for table in dict.fromkeys(map(_table, names)))
    listed = sorted(tables.items(), key=lambda item: (-item[1], item[0]))
    counts = ", ".join(f"{table} ({count})" for table, count in listed)
    yield (
        "",
        f"Not computable here: {format_count(len(findings.missing), 'rule')} without values of {counts}."
        + ("" if missing else " --missing lists them."),
    )
    if missing:
        for rule, names in findings.missing:
            yield f"  {rule.id}", f"{rule.title}: without {', '.join(names)}"


def _table(name: str) -> str:
    """Return the measure of a missing column; a baseline is not a column."""
    return "the baseline" if " " in name else name.rpartition(".")[0]
