"""SQL of rules: the rows that a rule tests, its condition on them, and the results by system and subject."""

from __future__ import annotations

from msgspec.structs import fields

from zlens.catalog import measures
from zlens.catalog.rules import COMPARES, Rule
from zlens.findings.finding import RuleTest

#: Comparisons of values that are too small.
BELOW = ("<", "<=")
#: Columns of the query of a rule.
_TESTED = tuple(field.name for field in fields(RuleTest))
#: Start of the interval of a row that a rule tests.
BEGAN = "interval_end - to_seconds(coalesce(CAST(seconds AS DOUBLE), 0))"


def summaries_sql(rows: str) -> str:
    """Return the statement over the rows of several rules."""
    by = '"#", '
    return summary_sql(f"({typed_rows_sql(rows, by=by)})", by=by)


def large_summaries_sql(rows: str) -> str:
    """Return the statement over the rows of several rules about measures with many rows."""
    return large_summary_sql(rows, by='"#"')


def threshold(rule: Rule) -> str:
    """Return SQL of the threshold of a rule; NULL if it compares no number."""
    if "threshold" in rule.gives:
        return "CAST(threshold AS DOUBLE)"
    if "T" not in rule.threshold or rule.compare in ("exists", "holds", ""):
        return "CAST(NULL AS DOUBLE)"
    return repr(float(rule.threshold["T"]))


def condition_sql(rule: Rule) -> str:
    """Return SQL of the condition of a rule on a row of its query."""
    conditions = []
    if rule.compare in COMPARES and rule.compare not in ("holds", "exists"):
        conditions.append(f"value {rule.compare} {threshold(rule)}")
    if "holds" in rule.gives:
        conditions.append("holds")
    return " AND ".join(conditions) or ("true" if rule.compare == "exists" else "false")


def rule_rows_sql(rule: Rule, *, baseline: bool = False) -> str:
    """Return SQL of the rows that a rule tests, by system, subject and interval, with equal columns.

    What can be computed from them for all rules at once is left to `typed_rows_sql`.
    """
    detail = "detail" if "detail" in rule.gives else "NULL"
    # Building the text of every tested row costs more than the test, and only a baseline needs it.
    every_detail = detail if rule.baseline else "NULL"
    limit = "threshold" if "threshold" in rule.gives else "NULL"
    # Of occurrences without a value, such as events, the first is shown.
    exists = rule.compare == "exists"
    rank = "coalesce(-epoch(interval_end), 0)" if exists else "NULL"
    sign = "-1e0" if rule.compare in BELOW else "1e0"
    return f"""
SELECT system, source, subject, interval_end, seconds, value, {rank} AS rank, {sign} AS sign,
    {limit} AS threshold, {detail} AS detail, {every_detail} AS every_detail, {condition_sql(rule)} AS held
FROM (
{rule.sql(baseline=baseline)}
) AS tested
{"" if exists else "WHERE value IS NOT NULL"}
"""


def typed_rows_sql(rows: str, *, by: str = "") -> str:
    """Return SQL of the rows of rules in their types, with the start of each interval and a rank."""
    return f"""
SELECT {by}system, source, CAST(subject AS VARCHAR) AS subject, interval_end, {BEGAN} AS began,
    CAST(value AS DOUBLE) AS value, coalesce(rank, sign * CAST(value AS DOUBLE)) AS rank, sign,
    CAST(threshold AS DOUBLE) AS threshold, CAST(detail AS VARCHAR) AS detail,
    CAST(every_detail AS VARCHAR) AS every_detail, held
FROM ({rows})
"""


def summary_sql(rows: str, *, by: str = "", detail: bool = True) -> str:
    """Return SQL of the fields of `RuleTest` for each system and subject, and for each value of `by`.

    `rows` is a FROM clause of what `typed_rows_sql` returns.
    """
    text = "coalesce(arg_max(detail, rank) FILTER (WHERE held), '')" if detail else "''"
    return f"""
SELECT {by}system, source, coalesce(subject, ''), count(*), count(*) FILTER (WHERE held),
    any_value(sign) * max(sign * value) FILTER (WHERE held), arg_max(threshold, rank) FILTER (WHERE held),
    {text},
    min(began) FILTER (WHERE held), max(interval_end) FILTER (WHERE held),
    arg_max(interval_end, rank) FILTER (WHERE held),
    avg(value), min(began), max(interval_end), coalesce(min(every_detail), '')
FROM {rows} AS tested
GROUP BY {by}system, source, subject
ORDER BY {by}system, source, subject
"""


def rule_sql(rule: Rule, *, baseline: bool = False) -> str:
    """Return the SQL of a rule: one row per system and subject that its query tests."""
    rows = rule_rows_sql(rule, baseline=baseline)
    if "detail" in rule.gives and is_large(rule):
        return large_summary_sql(rows)
    return summary_sql(f"({typed_rows_sql(rows)})")


def large_summary_sql(rows: str, *, by: str = "") -> str:
    """Return SQL like `summary_sql`: of many rows only the texts of the worst ones are built."""
    names = [*([by] if by else []), *(f"c{index}" for index in range(len(_TESTED)))]
    system, source, subject, text, worst_end = (
        f"c{_TESTED.index(name)}" for name in ("system", "data", "subject", "detail", "worst")
    )
    keys = [*([by] if by else []), system, source, subject]
    shown = (f"coalesce(texts.{name}, '')" if name == text else f"found.{name}" for name in names)
    group = f"{by}, " if by else ""
    same = f"tested.{by} = found.{by} AND " if by else ""
    return f"""
WITH tested AS NOT MATERIALIZED ({typed_rows_sql(rows, by=group)}),
found({", ".join(names)}) AS MATERIALIZED ({summary_sql("tested", by=group, detail=False)}),
texts({", ".join([*keys, text])}) AS (
    SELECT {group}system, source, coalesce(subject, ''),
        coalesce(arg_max(detail, rank) FILTER (WHERE held), '')
    FROM tested SEMI JOIN found
    ON {same}system = {system} AND source = {source} AND coalesce(subject, '') = {subject}
        AND interval_end = {worst_end}
    GROUP BY {group}system, source, subject
)
SELECT {", ".join(shown)} FROM found LEFT JOIN texts USING ({", ".join(keys)})
ORDER BY {", ".join(keys)}
"""


def is_large(rule: Rule) -> bool:
    """Return whether a rule is about a measure with many rows."""
    names = {name.rpartition(".")[0] for name in rule.needs}.intersection(measures.measure_names())
    return any(measures.load_measure(name).lazy for name in names)
