"""Query results in a notebook: an HTML table of the first rows."""

from __future__ import annotations

import sys
from html import escape

from zlens._native import count_rows
from zlens.engine.results import QueryResult
from zlens.rendering.rows import MAX_TERMINAL_ROWS, format_columns, time_formatter
from zlens.session.session import CoreSession


def table(answer: QueryResult, session: CoreSession) -> str:
    """Return the first rows as a table, with the number of rows below it if there are more."""
    rows, more = answer.first(MAX_TERMINAL_ROWS, longest=sys.maxsize, most=sys.maxsize)
    cells = format_columns(answer.types, rows, time_formatter(session, answer.columns))
    sides = ["right" if kind in ("int", "float") else "left" for kind in answer.types]

    def line(tag: str, texts: list[str]) -> str:
        parts = zip(texts, sides, strict=True)
        row = "".join(f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>' for text, side in parts)
        return f"<tr>{row}</tr>"

    body = "".join(line("td", list(row)) for row in zip(*cells, strict=True))
    rest = f"<p>{len(rows)} of {answer.read(count_rows):,} rows</p>" if more else ""
    return f"<table><thead>{line('th', answer.columns)}</thead><tbody>{body}</tbody></table>{rest}"
