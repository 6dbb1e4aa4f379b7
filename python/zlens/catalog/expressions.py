"""Formula language of the catalog, and its translation into SQL.

A formula is text in a catalog file, so it is parsed against a short list of allowed elements and never
spliced into SQL. The elements are:

    numbers, 'text', true, false, null
    names                column, or entity.role
    + - * /  = != <> < <= > >=  and or not  is null  is not null
    functions            coalesce nullif greatest least abs round floor sqrt
                         bits(number, mask): those bits of a whole number that are on in the mask
                         elapsed(from, to): seconds between two times
                         case(condition, value, condition, value, ..., [otherwise])
    aggregates           sum avg min max count any_value last

Arithmetic is in floating point, so that no counter can overflow a query. Division by zero returns NULL, as
does a result that is not finite. `greatest` and `least` return NULL if one of their arguments is NULL, where
SQL would ignore it and so invent a value.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from functools import cache

from msgspec import Struct

from zlens.errors import CatalogError

Resolve = Callable[[str], str]

#: Maximum nesting depth of a formula.
MAX_DEPTH = 40

AGGREGATES = frozenset({"sum", "total", "avg", "min", "max", "count", "any_value", "last"})

#: Minimum and maximum number of arguments by function (None: any number).
FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "coalesce": (1, None), "case": (2, None), "greatest": (2, None), "least": (2, None), "abs": (1, 1),
    "round": (1, 2), "floor": (1, 1), "sqrt": (1, 1), "nullif": (2, 2), "bits": (2, 2), "elapsed": (2, 2),
    "sum": (1, 1), "total": (1, 1), "avg": (1, 1), "min": (1, 1), "max": (1, 1), "count": (0, 1),
    "any_value": (1, 1), "last": (1, 1),
}  # fmt: skip

_KEYWORDS = frozenset({"and", "or", "not", "is", "null", "true", "false"})
_ARITHMETIC = frozenset({"+", "-", "*", "/"})
#: Functions whose result is a floating-point number, and those whose result has the type of arguments.
_FLOATS = frozenset({"abs", "round", "floor", "sqrt", "elapsed", "avg"})
_LIKE_PARTS = frozenset({"coalesce", "case", "greatest", "least", "nullif", "sum", "total", "min", "max"})
#: How tightly operators bind; a chain of operators that bind alike is computed from the left.
_PRECEDENCE = {"OR": 1, "AND": 2, "+": 4, "-": 4, "*": 5, "/": 5}
_COMPARISONS = {"=": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_.]))
    |(?P<text>'(?:[^'\x00-\x1f]|'')*')
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?(?![A-Za-z0-9_.]))
    |(?P<symbol><=|>=|<>|!=|[-+*/=<>(),])""",
    re.VERBOSE,
)


class FormulaNode(Struct, frozen=True):
    """One node of a parsed formula.

    kind is number, text, constant, name, call, unary, binary or null_test
    """

    kind: str
    value: str
    children: tuple[FormulaNode, ...] = ()


class _Token(Struct, frozen=True):
    kind: str
    text: str
    position: int


def quote(identifier: str) -> str:
    """Return an identifier as SQL."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text value as SQL."""
    return "'" + text.replace("'", "''") + "'"


def float_literal(number: float) -> str:
    """Return a floating-point number as SQL."""
    # An exponent makes it a DOUBLE: 1.5 would be a DECIMAL, whose arithmetic can overflow.
    text = repr(number)
    return text if "e" in text else f"{text}e0"


def value_sql(value: object) -> str:
    """Return a value of a column as SQL."""
    if isinstance(value, dt.datetime):
        return f"TIMESTAMPTZ '{value.isoformat(sep=' ')}'"
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "true", False: "false"}[value]
    return repr(value) if isinstance(value, int | float) else literal(str(value))


#: A name that `quote` wrote, with or without its table; and SQL that needs no parentheses.
_NAME = re.compile(r'(?:\w+\.|"[^"]+"\.)?"[^"]+"')
_CLOSED = re.compile(rf"{_NAME.pattern}|\w+\([^()]*\)")


def _is_name(sql: str) -> bool:
    return _NAME.fullmatch(sql) is not None


def cast(sql: str, type: str) -> str:
    """Return SQL of a cast, in the form that the engine parses fastest."""
    return f"{sql}::{type}" if sql == "NULL" or _is_name(sql) else f"CAST({sql} AS {type})"


def _formula_error(formula: str, position: int, message: str) -> CatalogError:
    shown = formula if len(formula) <= 200 else formula[:200] + "..."
    return CatalogError(f"formula `{shown}`, character {position + 1}: {message}")


def _tokens(formula: str) -> Iterator[_Token]:
    position = 0
    while position < len(formula):
        match = _TOKEN.match(formula, position)
        if match is None:
            problem = "text without a closing quote" if formula[position] == "'" else "not part of a formula"
            raise _formula_error(formula, position, f"{formula[position : position + 12]!r} is {problem}")
        if match.lastgroup != "space":
            yield _Token(str(match.lastgroup), match.group(), position)
        position = match.end()
    yield _Token("end", "", position)


class _FormulaParser:
    """Recursive descent parser, one method per level of precedence, loosest first."""

    def __init__(self, formula: str) -> None:
        self.formula = formula
        self.tokens = list(_tokens(formula))
        self.at = 0
        self.depth = 0
        self.in_aggregate = False

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def wrong(self, message: str) -> CatalogError:
        return _formula_error(self.formula, self.token.position, message)

    def take(self, *texts: str) -> str | None:
        """Consume the current token if it is one of these symbols or keywords; return its text, else None."""
        token = self.token
        if token.kind in ("symbol", "name") and token.text in texts:
            self.at += 1
            return token.text
        return None

    def expect(self, text: str) -> None:
        if self.take(text) is None:
            actual = repr(self.token.text) if self.token.text else "the end"
            raise self.wrong(f"expected {text!r} here, not {actual}")

    def whole(self) -> FormulaNode:
        node = self.either()
        if self.token.kind != "end":
            raise self.wrong(f"unexpected {self.token.text!r}")
        return node

    def either(self) -> FormulaNode:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.wrong(f"nested deeper than {MAX_DEPTH} levels")
        node = self.chain(self.both, "or")
        self.depth -= 1
        return node

    def chain(self, tighter: Callable[[], FormulaNode], *operators: str) -> FormulaNode:
        """Parse operands of a tighter level that operators join from the left."""
        node = tighter()
        while operator := self.take(*operators):
            node = FormulaNode("binary", operator.upper(), (node, tighter()))
        return node

    def prefixed(self, tighter: Callable[[], FormulaNode], operator: str) -> FormulaNode:
        """Parse an operand of a tighter level after any number of the same operator."""
        count = 0
        while self.take(operator):
            count += 1
        node = tighter()
        return FormulaNode("unary", operator.upper(), (node,)) if count % 2 else node

    def both(self) -> FormulaNode:
        return self.chain(lambda: self.prefixed(self.comparison, "not"), "and")

    def comparison(self) -> FormulaNode:
        node = self.sum()
        operator = self.take(*_COMPARISONS)
        if operator:
            node = FormulaNode("binary", _COMPARISONS[operator], (node, self.sum()))
            if self.token.text in _COMPARISONS:
                raise self.wrong("comparisons do not chain; join them with `and`")
        if self.take("is"):
            negated = self.take("not")
            self.expect("null")
            node = FormulaNode("null_test", "IS NOT NULL" if negated else "IS NULL", (node,))
        return node

    def sum(self) -> FormulaNode:
        return self.chain(self.product, "+", "-")

    def product(self) -> FormulaNode:
        return self.chain(lambda: self.prefixed(self.primary, "-"), "*", "/")

    def primary(self) -> FormulaNode:
        token = self.token
        if self.take("("):
            node = self.either()
            self.expect(")")
            return node
        if token.kind == "number":
            if float(token.text) == float("inf"):
                raise self.wrong(f"{token.text} is too large")
            self.at += 1
            return FormulaNode("number", token.text)
        if token.kind == "text":
            self.at += 1
            return FormulaNode("text", token.text[1:-1].replace("''", "'"))
        if token.kind == "name":
            if token.text in ("true", "false", "null"):
                self.at += 1
                return FormulaNode("constant", token.text.upper())
            if token.text not in _KEYWORDS:
                self.at += 1
                return self.call(token) if self.take("(") else FormulaNode("name", token.text)
        actual = f"{token.text!r} is" if token.text else "the formula ends"
        raise self.wrong(f"{actual} where a value is expected")

    def call(self, name: _Token) -> FormulaNode:
        if name.text not in FUNCTIONS:
            message = f"there is no function {name.text!r} (available: {', '.join(sorted(FUNCTIONS))})"
            raise _formula_error(self.formula, name.position, message)
        aggregate = name.text in AGGREGATES
        if aggregate and self.in_aggregate:
            raise _formula_error(self.formula, name.position, "an aggregate is nested in an aggregate")
        self.in_aggregate = self.in_aggregate or aggregate
        arguments: list[FormulaNode] = []
        if not self.take(")"):
            arguments.append(self.either())
            while self.take(","):
                arguments.append(self.either())
            self.expect(")")
        self.in_aggregate = self.in_aggregate and not aggregate
        minimum, maximum = FUNCTIONS[name.text]
        if len(arguments) < minimum or (maximum is not None and len(arguments) > maximum):
            number = (
                str(minimum)
                if maximum == minimum
                else f"{minimum} to {maximum}"
                if maximum
                else f"at least {minimum}"
            )
            raise _formula_error(
                self.formula, name.position, f"{name.text} requires {number} arguments, not {len(arguments)}"
            )
        return FormulaNode("call", name.text, tuple(arguments))


@cache
def parse(formula: str) -> FormulaNode:
    """Return the tree of a formula; CatalogError with the position of the problem."""
    return _FormulaParser(formula).whole()


def _walk(node: FormulaNode) -> Iterator[FormulaNode]:
    # Not recursive: the tree of a sum of a thousand terms has a thousand levels.
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def names(formula: str) -> list[str]:
    """Return the columns and roles in a formula, each once, in the order of their first mention."""
    return list(_names(formula))


@cache
def _names(formula: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(node.value for node in _walk(parse(formula)) if node.kind == "name"))


@cache
def names_outside_aggregates(formula: str) -> tuple[str, ...]:
    """Return the names in a formula outside of aggregates."""
    if not formula:
        return ()
    outside: dict[str, None] = {}
    pending = [parse(formula)]
    while pending:
        node = pending.pop()
        if node.kind == "name":
            outside[node.value] = None
        if node.kind != "call" or node.value not in AGGREGATES:
            pending.extend(reversed(node.children))
    return tuple(outside)


def _is_whole(node: FormulaNode) -> bool:
    return node.kind == "number" and node.value.isdecimal() and len(node.value) < 19


def _is_nonzero(node: FormulaNode) -> bool:
    return node.kind == "number" and float(node.value) != 0


def _is_float(node: FormulaNode) -> bool:
    """Return whether the SQL of a node is a floating-point number without a cast."""
    if node.kind == "number":
        return not _is_whole(node)
    if node.kind == "call":
        if node.value in _FLOATS:
            return True
        # Of values of several types, the engine takes the wider one.
        parts = {"case": node.children[1::2], "nullif": node.children[:1]}.get(node.value, node.children)
        return node.value in _LIKE_PARTS and any(map(_is_float, parts))
    if node.kind == "name":
        # The time that a row covers is floating-point wherever it is named.
        return node.value == "seconds"
    return node.kind in ("binary", "unary") and node.value in _ARITHMETIC


class _FormulaCompiler:
    def __init__(self, resolve: Resolve, below: Callable[[FormulaNode], str] | None = None) -> None:
        self.resolve = resolve
        self.below = below

    def number(self, node: FormulaNode) -> str:
        """Return SQL of a node as a floating-point number, for a place that needs no parentheses."""
        if _is_whole(node):
            return f"{node.value}e0"
        sql = self.bare(node)
        return sql if _is_float(node) and node.kind != "name" else cast(sql, "DOUBLE")

    def bare(self, node: FormulaNode) -> str:
        """Return SQL of a node for a place that needs no parentheses."""
        if node.kind == "name":
            return self.resolve(node.value)
        sql = self.sql(node)
        return sql[1:-1] if node.kind in ("binary", "unary", "null_test") else sql

    def sql(self, node: FormulaNode) -> str:
        if _is_whole(node):
            return node.value
        if node.kind == "number":
            return float_literal(float(node.value))
        if node.kind == "text":
            return literal(node.value)
        if node.kind == "constant":
            return node.value
        if node.kind == "name":
            resolved = self.resolve(node.value)
            return resolved if _CLOSED.fullmatch(resolved) else f"({resolved})"
        if node.kind == "null_test":
            return f"({self.sql(node.children[0])} {node.value})"
        if node.kind == "unary":
            operand = node.children[0]
            if node.value == "NOT":
                return f"(NOT {self.sql(operand)})"
            return f"(-{self.sql(operand) if _is_float(operand) else self.number(operand)})"
        if node.kind == "binary":
            return self.binary(node)
        return self.call(node)

    def binary(self, node: FormulaNode) -> str:
        # Chains like a + b + c lean to the left; a loop follows them without recursion.
        chain = [node]
        while chain[-1].children[0].kind == "binary":
            chain.append(chain[-1].children[0])
        left = chain[-1].children[0]
        sql, left_is_float, tightness = self.operand(left), _is_float(left) or _is_whole(left), 0
        for step in reversed(chain):
            operator, right = step.value, step.children[1]
            if operator not in _ARITHMETIC:
                right_sql = self.sql(right)
                if step is chain[-1]:
                    sql = self.sql(left)
            else:
                right_sql = self.operand(right)
                if operator == "/":
                    # The result is floating-point, whatever the operands are.
                    bare = right_sql[1:-1] if right.kind == "binary" else right_sql
                    right_sql = right_sql if _is_nonzero(right) else f"nullif({bare}, 0)"
                elif not left_is_float and not _is_float(right) and not _is_whole(right):
                    sql = cast(sql, "DOUBLE")
            if tightness and tightness >= _PRECEDENCE.get(operator, 6):
                # The left part is a chain of operators that bind as tightly or tighter.
                sql = sql[1:-1]
            sql = f"({sql} {operator} {right_sql})"
            left_is_float, tightness = operator in _ARITHMETIC, _PRECEDENCE.get(operator, 0)
        return sql

    def operand(self, node: FormulaNode) -> str:
        """Return SQL of an operand: of two numbers, only one need be floating-point."""
        return f"{node.value}e0" if _is_whole(node) else self.sql(node)

    def call(self, node: FormulaNode) -> str:
        name, arguments = node.value, node.children
        if name in ("abs", "round", "floor", "sqrt"):
            digits = f", {self.sql(arguments[1])}" if len(arguments) == 2 else ""
            return f"{name}({self.number(arguments[0])}{digits})"
        if self.below is not None and name in AGGREGATES:
            return self.below(node)
        if name in ("greatest", "least"):
            values = [self.sql(argument) for argument in arguments]
            tested = [value for value, node in zip(values, arguments, strict=True) if node.kind != "number"]
            present = " AND ".join(f"{value} IS NOT NULL" for value in tested) or "true"
            return f"CASE WHEN {present} THEN {name}({', '.join(values)}) END"
        values = [self.bare(argument) for argument in arguments]
        if name == "case":
            pairs = zip(values[0::2], values[1::2], strict=False)
            branches = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
            otherwise = f" ELSE {values[-1]}" if len(values) % 2 else ""
            return f"CASE {branches}{otherwise} END"
        if name == "bits":
            return f"({cast(values[0], 'BIGINT')} & {cast(values[1], 'BIGINT')})"
        if name == "elapsed":
            return f"(epoch_us({values[1]}) / 1e6 - epoch_us({values[0]}) / 1e6)"
        if name == "total":
            # A sum with an unknown part is unknown.
            return total_sql(values[0])
        if name == "last":
            # The last known value: arg_max ignores rows whose value is NULL.
            return f"arg_max({values[0]}, {self.resolve('interval_end')})"
        if name == "count" and not values:
            return "count(*)"
        return f"{name}({', '.join(values)})"


def total_sql(sql: str) -> str:
    """Return SQL of a sum over rows that is NULL if a part of it is unknown."""
    return f"CASE WHEN count({sql}) = count(*) THEN sum({sql}) END"


def compile_sql(formula: str, resolve: Resolve, type: str = "") -> str:
    """Return SQL of a formula. `resolve` returns the SQL of a name (`busy_pct`, `processor.user_time`).

    With the type of the column (int, float, text, bool, time) the result has that type; a float that is not
    finite, or an int that does not fit, is NULL.
    """
    node = parse(formula)
    compiler = _FormulaCompiler(resolve)
    if type == "float":
        return finite_sql(compiler.number(node))
    if type == "int":
        return f"TRY_CAST({compiler.bare(node)} AS BIGINT)"
    if type == "text":
        return f"CAST({compiler.bare(node)} AS VARCHAR)"
    if type == "bool":
        return f"CAST({compiler.bare(node)} AS BOOLEAN)"
    if type in ("", "time"):
        return compiler.sql(node)
    raise CatalogError(f"there is no column type {type!r}", expected="int, float, text, bool or time")


def compile_raw(
    formula: str, resolve: Resolve, type: str, below: Callable[[FormulaNode], str] | None = None
) -> str:
    """Return SQL of a formula before its type bounds it: a float may be infinite (see `finite_sql`).

    It is for a place that needs no parentheses. `below` returns the SQL of an aggregate that a lower layer
    has computed.
    """
    compiler = _FormulaCompiler(resolve, below)
    return compiler.number(parse(formula)) if type == "float" else compiler.bare(parse(formula))


def compile_node(node: FormulaNode, resolve: Resolve) -> str:
    """Return SQL of a part of a formula."""
    return _FormulaCompiler(resolve).sql(node)


def finite_sql(number: str) -> str:
    """Return SQL of a floating-point number, NULL if it is not finite. The number occurs twice in it."""
    return f"CASE WHEN isfinite({number}) THEN {number} END"
