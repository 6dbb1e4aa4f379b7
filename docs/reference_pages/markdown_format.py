"""Descriptions and tables as Markdown, for the reference pages of the site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from zlens.explain.description import Description


def format_markdown(description: Description, level: int = 2) -> Iterator[str]:
    """Yield the lines of a section: heading, text and facts; members have tables of their own."""
    name, _, about = description.title.partition(": ")
    yield from ("", f"{'#' * level} {name}", "", *([about, ""] if about else []))
    for label, fact in description.facts:
        texts = fact if isinstance(fact, list) else [fact] if fact else []
        if len(texts) > 1:
            yield from (
                f"- **{label}**:",
                "",
                "    ```text",
                *(f"    {line}" for line in texts),
                "    ```",
                "",
            )
        else:
            yield from (f"- **{label}**: {text}" for text in texts)


def format_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: int = 0) -> list[str]:
    """Return a table whose last `right` columns are numbers."""
    sides = ["---"] * (len(heads) - right) + ["---:"] * right
    return [f"| {' | '.join(heads)} |", f"|{'|'.join(sides)}|", *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.replace('|', chr(92) + '|').split()) for cell in cells)} |"
