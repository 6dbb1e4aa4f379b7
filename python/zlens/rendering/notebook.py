"""Tables in a notebook: HTML of the first rows of a query's result, or of other rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from html import escape

from zlens._native import count_rows
from zlens.engine.results import QueryResult
from zlens.rendering.rows import MAX_TERMINAL_ROWS, format_columns, time_formatter
from zlens.session.session import CoreSession


def result_table(answer: QueryResult, session: CoreSession) -> str:
    """Return the first rows as a table, with the number of rows below it if there are more."""
    rows, more = answer.first(MAX_TERMINAL_ROWS, longest=sys.maxsize, most=sys.maxsize)
    cells = format_columns(answer.types, rows, time_formatter(session, answer.columns))
    rest = f"{len(rows)} of {answer.read(count_rows):,} rows" if more else ""
    numeric = [kind in ("int", "float") for kind in answer.types]
    return table(answer.columns, numeric, zip(*cells, strict=True), rest)


def table(
    columns: Sequence[str], numeric: Sequence[bool], rows: Iterable[Sequence[str]], note: str = ""
) -> str:
    """Return rows of texts as a table, numeric columns right-aligned, with a note below it."""
    sides = ["right" if is_number else "left" for is_number in numeric]

    def line(tag: str, texts: Sequence[str]) -> str:
        parts = zip(texts, sides, strict=True)
        row = "".join(f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>' for text, side in parts)
        return f"<tr>{row}</tr>"

    body = "".join(line("td", row) for row in rows)
    foot = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead>{line('th', columns)}</thead><tbody>{body}</tbody></table>{foot}"
