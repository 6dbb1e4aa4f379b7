"""Small faults that `mutants.py` inserts into the program: the possible ones, and the draw.

A mutant replaces an expression in a Python function or a token in a Rust function. Code that runs on import
is excluded, because every test reaches it, and so are f-strings and patterns of `match`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any

SEED = "zlens 1"
#: Number of mutants drawn below each of these folders.
DRAWN = {"python": 80, "crates": 40}


@dataclass(frozen=True)
class Mutant:
    """Bytes `start` to `end` of a file replaced by `text`; `body` is the enclosing Rust function."""

    file: str
    function: str
    line: int
    source: str
    change: str
    nth: int
    start: int
    end: int
    text: str
    body: tuple[int, int]

    @property
    def key(self) -> tuple[Any, ...]:
        """Return an identity that is stable when code around the mutant changes."""
        return (self.file, self.function, self.source, self.change, self.nth)

    @property
    def rank(self) -> str:
        return blake2b(repr((SEED, *self.key)).encode(), digest_size=8).hexdigest()


def possible(root: Path, folder: str) -> Iterator[Mutant]:
    """Yield every mutant below `python` or `crates`."""
    pattern = "zlens/**/*.py" if folder == "python" else "*/src/**/*.rs"
    for path in sorted((root / folder).glob(pattern)):
        # One character per byte, so that offsets count bytes.
        code, name = path.read_text("latin-1"), path.relative_to(root).as_posix()
        times: Counter[tuple[str, ...]] = Counter()
        for function, start, end, text, body in _python(code) if folder == "python" else _rust(code):
            line = code.count("\n", 0, start) + 1
            source = " ".join(code.split("\n")[line - 1].encode("latin-1").decode().split())
            change = f"{' '.join(code[start:end].encode('latin-1').decode().split())} -> {text}"
            nth = times[function, source, change]
            times[function, source, change] += 1
            yield Mutant(name, function, line, source, change, nth, start, end, text, body)


def ranked(root: Path, folder: str) -> list[Mutant]:
    """Return the mutant with the lowest rank of each function, ordered by rank."""
    first: dict[tuple[Any, ...], Mutant] = {}
    for mutant in possible(root, folder):
        place = (mutant.file, mutant.function, mutant.body[0])
        first[place] = min(mutant, first.get(place, mutant), key=lambda one: one.rank)
    return sorted(first.values(), key=lambda one: one.rank)


#: A function, start and end of the replaced bytes, the replacement, and the body of the function.
Place = tuple[str, int, int, str, tuple[int, int]]


def _table(text: str) -> dict[str, list[str]]:
    return {name: others.split(",") for name, others in (pair.split("~") for pair in text.split())}


_OPERATORS = _table(
    "Lt~LtE,GtE LtE~Lt,Gt Gt~GtE,LtE GtE~Gt,Lt Eq~NotEq NotEq~Eq In~NotIn NotIn~In Is~IsNot IsNot~Is And~Or "
    "Or~And Add~Sub Sub~Add Mult~Div Div~Mult FloorDiv~Mult Mod~FloorDiv LShift~RShift RShift~LShift "
    "BitAnd~BitOr BitOr~BitAnd"
)
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
_NO_NUMBERS = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict)


def _python(code: str) -> Iterator[Place]:
    lines = [0, *accumulate(len(line) + 1 for line in code.split("\n"))]

    def walk(node: ast.AST, function: str, name: str) -> Iterator[Place]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{name}.{node.name}".removeprefix(".")
            for statement in node.body:
                yield from walk(statement, "" if isinstance(node, ast.ClassDef) else name, name)
            return
        if isinstance(node, ast.JoinedStr | ast.pattern):
            return
        for old, new in _changes(node) if function else ():
            start = lines[old.lineno - 1] + old.col_offset
            end = lines[(old.end_lineno or 0) - 1] + (old.end_col_offset or 0)
            yield function, start, end, new if isinstance(new, str) else ast.unparse(new), (0, 0)
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and field != "annotation":
                    yield from walk(child, function, name)

    return walk(ast.parse(code.encode("latin-1")), "", "")


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | str]]:
    """Yield the replaceable parts of a node with their replacements."""
    others = [getattr(ast, name)() for name in _OPERATORS.get(type(getattr(node, "op", None)).__name__, ())]
    match node:
        case ast.Compare(left, [operator], [right]):
            for name in _OPERATORS[type(operator).__name__]:
                yield node, ast.Compare(left, [getattr(ast, name)()], [right])
        case ast.BoolOp(_, values):
            yield node, ast.BoolOp(others[0], values)
        case ast.UnaryOp(ast.Not(), operand):
            yield node, operand
        case ast.BinOp(left, _, right) if others:
            if not any(isinstance(getattr(one, "value", one), (str, *_NO_NUMBERS)) for one in (left, right)):
                yield node, ast.BinOp(left, others[0], right)
        case ast.Constant(bool() as value):
            yield node, str(not value)
        case ast.Constant(int() | float() as value):
            yield node, str(value + 1)
        case ast.Return(ast.expr() as result) if ast.unparse(result) != "None":
            yield result, "None"
        case ast.Slice(lower, upper):
            yield from ((bound, "None") for bound in (lower, upper) if bound is not None)
        case ast.Call(ast.Attribute(_, "get"), [ast.Constant(str()), *default], []):
            yield node, default[0] if default else "None"
        case ast.Call(ast.Name(name), arguments, keywords) if name in _CALLED:
            yield node, ast.Call(ast.Name(_CALLED[name]), arguments, keywords)
        case ast.If(test) | ast.While(test) | ast.IfExp(test):
            if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
                yield test, ast.UnaryOp(ast.Not(), test)


_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|b?r(?P<h>\#*)".*?"(?P=h)|b?c?"(?:\\.|[^"\\])*"
        |b?'(?:\\[^']+|[^'\\\n]{1,4})'|'\w+)
    |(?P<number>0x[\da-fA-F_]+\w*|\d[\d_]*(?:\.\d+)?\w*)|(?P<word>[A-Za-z_]\w*)
    |<<=|>>=|\.\.=|&&|\|\||[=!<>]=|<<|>>|\+=|-=|->|=>|\.\.|::|\S""",
    re.DOTALL | re.VERBOSE,
)
_MARKS = _table(
    "<~<=,>= <=~<,> >~>=,<= >=~>,< ==~!= !=~== &&~|| ||~&& +~- -~+ *~/ /~* %~/ <<~>> >>~<< &~| |~& "
    "+=~-= -=~+="
)
_WORDS = {"true": "false", "false": "true", "min": "max", "max": "min"}
_CLOSED = {"(": ")", "[": "]", "{": "}"}


def _rust(code: str) -> Iterator[Place]:
    tokens = [found for found in _TOKEN.finditer(code) if not found["skip"]]
    texts = [token[0] for token in tokens]

    def after(at: int) -> int:
        """Return the index after the bracket that closes the one at `at`."""
        depth = 0
        while True:
            depth += (texts[at] in _CLOSED) - (texts[at] in _CLOSED.values())
            at += 1
            if not depth:
                return at

    def block(at: int) -> tuple[int, int]:
        """Return the next block outside of brackets, or the semicolon in its place."""
        while texts[at] not in {"{", ";"}:
            at = after(at) if texts[at] in _CLOSED else at + 1
        return at, after(at) if texts[at] == "{" else at + 1

    at = 0
    while at < len(texts):
        if texts[at] == "#" and texts[at + 1] in {"[", "!"}:
            is_test = texts[at + 1 : at + 5] == ["[", "cfg", "(", "test"]
            at = after(at + 1 + (texts[at + 1] == "!"))
            at = block(at)[1] if is_test else at
        elif texts[at] == "fn" and tokens[at + 1]["word"]:
            begin, end = block(at)
            body = (tokens[begin].start(), tokens[end - 1].end())
            if texts[begin] == "{" and texts[at - 1] != "const":
                for start, stop, text in _replaced(code, tokens[begin:end]):
                    yield texts[at + 1], start, stop, text, body
            at = end
        else:
            at += 1


def _replaced(code: str, tokens: list[re.Match[str]]) -> Iterator[tuple[int, int, str]]:
    for before, token, then in zip(tokens, tokens[1:], tokens[2:], strict=False):
        text, (start, end) = token[0], token.span()
        if text in _MARKS and code[start - 1].isspace() and code[end].isspace():
            yield from ((start, end, other) for other in _MARKS[text])
        elif text in {"true", "false"} or (text in _WORDS and before[0] == "." and then[0] == "("):
            yield start, end, _WORDS[text]
        elif text == "!" and not code[start - 1].isalnum() and then.start() == end:
            yield start, end, ""
        elif token["number"] and "." not in text and before[0] != ".":
            number = re.match(r"0x[\da-fA-F_]+|\d[\d_]*", text) or token
            yield start, end, f"{int(number[0].replace('_', ''), 0) + 1}{text[number.end() :].lstrip('_')}"
        elif text == "if" and then[0] != "let":
            brace = code.find(" {", end)
            test = code[end:brace].strip()
            if brace > 0 and not re.search(r"[<>=&|{;]|\blet\b|^!", test):
                yield end + 1, brace, f"!({test})"
