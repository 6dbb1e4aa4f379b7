"""Lines of plain text: aligned columns and wrapped sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

#: Width of sentences.
WIDTH = 100


def with_unit(number: str, unit: str) -> str:
    """Return a number with its unit; percent signs and rates follow without a blank.

    >>> with_unit("81.2", "%"), with_unit("5", "/s"), with_unit("3", "ms"), with_unit("60", "")
    ('81.2%', '5/s', '3 ms', '60')
    """
    return number + unit if unit.startswith(("%", "/")) else f"{number} {unit}".rstrip()


def align_columns(rows: Sequence[Sequence[str]], left: Sequence[bool]) -> list[str]:
    """Return rows of cells as lines: columns as wide as their widest cell, aligned left or right.

    >>> align_columns([["name", "n"], ["a", "10"]], [True, False])
    ['name   n', 'a     10']
    """
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    return [line(row, widths, left) for row in rows]


def line(cells: Sequence[str], widths: Sequence[int], left: Sequence[bool]) -> str:
    """Return one row of cells as a line without trailing blanks."""
    padded = (
        cell.ljust(width) if side else cell.rjust(width)
        for cell, width, side in zip(cells, widths, left, strict=True)
    )
    return "  ".join(padded).rstrip()


def wrap_hanging(head: str, text: str, *, width: int = WIDTH, indent: int | None = None) -> list[str]:
    """Wrap sentences: the first line follows `head`, the others are indented, by default to its width."""
    return textwrap.wrap(
        " ".join(text.split()),
        max(width, len(head) + 40),
        initial_indent=head,
        subsequent_indent=" " * (len(head) if indent is None else indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
