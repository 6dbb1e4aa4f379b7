"""Prometheus alerts from rules of findings whose condition is a plain threshold on metrics.

The condition is translated from the syntax tree of the rule's query. Conditions that PromQL cannot express
are omitted: window functions, subqueries, and values of several measures or of the entire recording.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from zlens.catalog import exposition, rules
from zlens.catalog.exposition import MetricGroup
from zlens.catalog.rules import Rule
from zlens.compiler.sql_tree import Tree
from zlens.engine.sql_parser import shared_parser
from zlens.errors import CatalogError
from zlens.rendering.text_lines import with_unit

#: Severities as in the examples of Alertmanager.
_SEVERITIES = {"crit": "critical", "warn": "warning", "info": "info"}
_COMPARES = {
    "COMPARE_EQUAL": "==",
    "COMPARE_NOTEQUAL": "!=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
}
_OPPOSITE = {"==": "!=", "!=": "==", ">": "<=", ">=": "<", "<": ">=", "<=": ">"}
_HOLDS = {
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge, "<": operator.lt,
    "<=": operator.le,
}  # fmt: skip
_AGGREGATES = {"sum": "sum", "avg": "avg", "max": "max", "min": "min"}
#: The value of an alert with four digits.
_VALUE = '{{ printf "%.4g" $value }}'
#: Columns that a query selects in addition to the value and that do not depend on it.
_INTERVAL = ("system", "source", "interval_end")


class _NotThresholdError(Exception):
    """The condition is not a plain threshold."""


class PrometheusAlert(Struct, frozen=True):
    """A rule as an alert on the metrics of one prefix."""

    rule: Rule
    prefix: str
    expr: str


def alerts() -> list[PrometheusAlert]:
    """Return the alerts of all built-in rules that findings check by default, by prefix and id."""
    result = []
    for rule in rules.builtin().values():
        checked = rule.kind == "balance" or rule.threshold_class != "heuristic"
        if rule.computable and checked and rule.compare in (">", ">=", "<", "<=") and "T" in rule.threshold:
            result += [*_of(rule)]
    return sorted(result, key=lambda alert: (alert.prefix, alert.rule.id))


def _of(rule: Rule) -> Iterator[PrometheusAlert]:
    try:
        node = _node(rule.sql())
        group = exposition.names().measure(node["from_table"]["table_name"])
        for prefix in group.prefixes:
            if (expr := _Condition(rule, node, group, prefix).text()) is not None:
                yield PrometheusAlert(rule, prefix, expr)
    except (_NotThresholdError, CatalogError):
        return


def _node(sql: str) -> Tree:
    node: Tree = json.loads(shared_parser().parse(sql))["statements"][0]["node"]
    if node["type"] != "SELECT_NODE" or any(map(node.get, ("qualify", "having", "modifiers"))):
        raise _NotThresholdError
    source = node["from_table"]
    if (node.get("cte_map") or {}).get("map") or source["type"] != "BASE_TABLE" or source.get("schema_name"):
        raise _NotThresholdError
    return node


class _Condition(Struct):
    """The condition of one rule on the metrics of one prefix."""

    rule: Rule
    node: Tree
    group: MetricGroup
    prefix: str
    #: Label matchers of every metric.
    matchers: list[str] = field(default_factory=list)
    #: Additional conditions, in PromQL.
    ands: list[str] = field(default_factory=list)
    #: A metric of the value; its samples show which subjects exist.
    anchor: str = ""

    def text(self) -> str | None:
        """Return the condition in PromQL; None if the rule does not apply to this prefix."""
        conditions = _conjuncts(self.node.get("where_clause"))
        texts = [one for one in conditions if not self._is_label(one)]
        if not all(self._of_prefix(one) for one in conditions):
            return None
        selected = {one.get("alias") or _column(one): one for one in self.node["select_list"]}
        value = self._value(selected["value"], self._groups())
        for one in texts:
            self._condition(one)
        if "holds" in selected:
            for one in _conjuncts(selected["holds"]):
                self._condition(one)
        self.ands += [*self._needed(value)]
        threshold = self.rule.threshold["T"]
        return " ".join([f"{value} {self.rule.compare} {threshold:g}", *self.ands])

    def _needed(self, value: str) -> Iterator[str]:
        """Yield conditions for required columns: a rule is not checked where such a column is empty."""
        expressions = " ".join([value, *(one for one in self.ands if one.startswith("and "))])
        for name in self.rule.needs:
            measure, _, column = name.rpartition(".")
            needed = exposition.family_of(measure, column)[1]
            if f"{self.prefix}_{needed.sample}" not in expressions:
                yield f"and on (system) {self.prefix}_{needed.sample}"

    def _groups(self) -> list[str] | None:
        """Return the labels that a value is grouped by; None if every row has its own value."""
        grouped = [_column(one) for one in self.node.get("group_expressions") or []]
        if not grouped:
            return None
        if any(name is None for name in grouped) or not {*_INTERVAL} <= {*grouped}:
            # The value is over all intervals, but metrics contain only the newest one.
            raise _NotThresholdError
        names = [name for name in grouped if name not in _INTERVAL and name is not None]
        if any(name not in self.group.labels for name in names):
            raise _NotThresholdError
        added = [name for name in exposition.names().system_labels if name not in self.group.labels.values()]
        return ["system", *added, *(self.group.labels[name] for name in names)]

    def _is_label(self, condition: Tree) -> bool:
        """Return whether a condition is on a label; adds it to the matchers of every metric."""
        if condition.get("type") == "OPERATOR_IS_NULL" and _column(condition["children"][0]) == "flag":
            return True
        if condition.get("type") != "COMPARE_EQUAL":
            return False
        column, text = _column(condition["left"]), _constant(condition["right"])
        if column == "source":
            return True
        if column is not None and column in self.group.labels and isinstance(text, str):
            self.matchers.append(f"{self.group.labels[column]}={json.dumps(text)}")
            return True
        return False

    def _of_prefix(self, condition: Tree) -> bool:
        """Return whether a condition on the source allows this prefix."""
        if condition.get("type") != "COMPARE_EQUAL" or _column(condition["left"]) != "source":
            return True
        return exposition.names().sources.get(str(_constant(condition["right"]))) == self.prefix

    def _condition(self, condition: Tree) -> None:
        kind = condition.get("type")
        if kind == "OPERATOR_IS_NOT_NULL":
            # NULL has no sample, and neither has a value computed from it.
            self._metric(_column(condition["children"][0]))
        elif kind == "OPERATOR_IS_NULL":
            self.ands.append(f"unless {self._metric(_column(condition['children'][0]))}")
        elif kind == "OPERATOR_NOT":
            self.ands.append(f"unless {self._true(condition['children'][0])}")
        elif kind in _COMPARES:
            self._comparison(condition["left"], _COMPARES[kind], _constant(condition["right"]))
        else:
            raise _NotThresholdError

    def _comparison(self, left: Tree, compare: str, right: str | float | None) -> None:
        column, default = _with_default(left)
        if isinstance(right, str):
            if column not in self.group.info or compare != "==" or default not in (None, right):
                raise _NotThresholdError
            self.ands.append(f"and {self._info(column, right)}")
        elif right is None:
            raise _NotThresholdError
        elif default is None:
            self.ands.append(f"and {self._value(left, None)} {compare} {right:g}")
        elif not isinstance(default, str) and _HOLDS[compare](default, right):
            # The condition also holds without a value.
            self.ands.append(f"unless {self._metric(column)} {_OPPOSITE[compare]} {right:g}")
        else:
            self.ands.append(f"and {self._metric(column)} {compare} {right:g}")

    def _info(self, column: str, text: str) -> str:
        [info] = [family for family in self.group.families if family.kind == "info"]
        labels = ", ".join(["system", *self.group.labels.values()])
        matchers = ",".join([*self.matchers, f"{self.group.info[column]}={json.dumps(text)}"])
        return f"on ({labels}) {self.prefix}_{info.sample}{{{matchers}}}"

    def _true(self, condition: Tree) -> str:
        column, default = _with_default(condition)
        if default not in (None, "false"):
            raise _NotThresholdError
        return f"{self._metric(column)} == 1"

    def _metric(self, column: str | None) -> str:
        """Return the PromQL of a metric in the unit of its column."""
        if column is None:
            raise _NotThresholdError
        family = exposition.family_of(self.group.measure, column)[1]
        matchers = f"{{{','.join(self.matchers)}}}" if self.matchers else ""
        name = f"{self.prefix}_{family.sample}{matchers}"
        self.anchor = self.anchor or name
        if family.base.per != 1:
            return f"{name} * {family.base.per}"
        return name if family.base.times == 1 else f"{name} / {family.base.times}"

    def _value(self, node: Tree, by: Sequence[str] | None) -> str:
        if (column := _column(node)) is not None:
            return self._metric(column)
        constant = _constant(node)
        if constant is not None and not isinstance(constant, str):
            return f"{constant:g}"
        if node.get("type") == "OPERATOR_COALESCE":
            return self._coalesce(node["children"], by)
        if node.get("class") != "FUNCTION":
            raise _NotThresholdError
        name, arguments = node["function_name"], [one["expression"] for one in node["arguments"]]
        if name in ("+", "-", "*", "/") and len(arguments) == 2:
            left, right = (self._value(one, by) for one in arguments)
            return f"({left} {name} {right})" if name != "*" or " " in left + right else f"{left} * {right}"
        if name == "nullif" and _constant(arguments[1]) == 0:
            return f"({self._value(arguments[0], by)} != 0)"
        if name in _AGGREGATES and by is not None and not node.get("filter") and not node.get("distinct"):
            return f"{_AGGREGATES[name]} by ({', '.join(by)}) ({self._value(arguments[0], None)})"
        raise _NotThresholdError

    def _coalesce(self, children: Sequence[Tree], by: Sequence[str] | None) -> str:
        first, second = children
        default = _constant(second)
        if default is None:
            return f"({self._value(first, by)} or {self._value(second, by)})"
        if isinstance(default, str) or not self.anchor:
            raise _NotThresholdError
        return f"({self._value(first, by)} or {self.anchor} * 0 + {default:g})"


def _conjuncts(condition: Tree | None) -> list[Tree]:
    if not condition:
        return []
    if condition.get("type") == "CONJUNCTION_AND":
        return [part for child in condition["children"] for part in _conjuncts(child)]
    return [condition]


def _column(node: Tree) -> str | None:
    names = node.get("column_names") if node.get("class") == "COLUMN_REF" else None
    return str(names[0]) if names and len(names) == 1 else None


def _constant(node: Tree) -> str | float | None:
    if node.get("class") != "CONSTANT":
        return None
    literal = node["literal"]
    return float(literal["text"]) if literal["kind"] in ("INTEGER", "NUMERIC") else str(literal["text"])


def _with_default(node: Tree) -> tuple[str, Any]:
    """Return the column and the constant of `column` or `coalesce(column, constant)`."""
    default = None
    if node.get("type") == "OPERATOR_COALESCE":
        node, default = node["children"][0], _constant(node["children"][1])
    column = _column(node)
    return ("", None) if column is None else (column, default)


def rules_file() -> str:
    """Return the rule file for Prometheus: YAML with a group for each prefix."""
    lines = ["# Written from python/zlens/facts/rules by `make contrib`: change the rules there.", "groups:"]
    last = ""
    for alert in alerts():
        if alert.prefix != last:
            last = alert.prefix
            lines += [f"  - name: zlens-{alert.prefix}", "    rules:"]
        rule = alert.rule
        labels = {"severity": _SEVERITIES[rule.severity], "area": rule.area, "platform": alert.prefix}
        texts = {
            "summary": rule.title,
            "description": f"{rule.condition}: {with_unit(_VALUE, rule.unit)}. {rule.meaning}",
            "action": rule.action,
            "source": rule.source,
            "guard": rule.guard,
        }
        lines += [
            f"      - alert: {rule.id}",
            f"        expr: {json.dumps(alert.expr)}",
            f"        labels: {{{', '.join(f'{name}: {value}' for name, value in labels.items())}}}",
            "        annotations:",
            *(f"          {name}: {json.dumps(text)}" for name, text in texts.items() if text),
        ]
    return "\n".join(lines) + "\n"
