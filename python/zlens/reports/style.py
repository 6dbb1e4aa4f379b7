"""How a value looks in the classic text reports.

No leading zero (`.0`, `.229`); fewer decimals, then thousands and millions (`2062`, `152k`, `152M`) when a
number is too wide for its column; dots across the column when there is no value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import datetime

from zlens.reports.definition import Column

Value = object
Display = Callable[[datetime], datetime]

_LETTERS = ((10**3, "k"), (10**6, "M"), (10**9, "G"), (10**12, "T"), (10**15, "P"), (10**18, "E"))


#: Rounding goes by the binary value; this lifts 62.5, and .285 that is a little less, to what people expect.
_TIE = 1 + 1e-15


def number(value: float, width: int, decimals: int) -> str:
    """A number in at most `width` characters if any form of it fits, else its shortest form.

    >>> number(0.0, 5, 1), number(152399.0, 5, 1), number(2061.7, 5, 1), number(0.2291, 4, 3)
    ('.0', '152k', '2062', '.229')
    """
    for places in range(decimals, -1, -1):
        text = fixed(value, places)
        if len(text) <= width:
            return text
    for factor, letter in _LETTERS:
        text = fixed(value / factor, 0) + letter
        if len(text) <= width:
            return text
    return min((fixed(value / factor, 0) + letter for factor, letter in _LETTERS), key=len)


def fixed(value: float, places: int) -> str:
    """With that many decimals, without leading zero and without a sign before nothing."""
    if isinstance(value, int):
        # Not through a float, which would round beyond 2**53.
        return f"{value or ''}." + "0" * places if places else str(value)
    text = f"{value * _TIE:.{places}f}"
    if text.startswith("0."):
        return text[1:]
    if text.startswith("-0"):
        if not text.strip("-0."):
            return fixed(0.0, places)
        return "-" + text[2:]
    return text


def dots(width: int) -> str:
    return "." * width


def clock(when: datetime) -> str:
    return when.strftime("%H:%M:%S")


def day(when: datetime) -> str:
    return when.strftime("%Y/%m/%d")


def stamp(when: datetime) -> str:
    return when.strftime("%Y/%m/%d %H:%M:%S")


def missing(value: Value) -> bool:
    """No value: NULL, or a float that is none."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def cell(value: Value, column: Column, display: Display) -> str | None:
    """The text of one value, not yet padded; None if there is no value."""
    if value is None:
        return None
    if column.type == "number" and isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return number(value, column.width, column.decimals)
    if isinstance(value, datetime):
        return stamp(display(value))
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, float):
        # An identifier that went through a mean: whole, or shown as it is.
        return str(int(value)) if value.is_integer() else str(value)
    return _one_line(str(value))


def cells(values: Iterable[Value], column: Column, display: Display) -> list[str | None]:
    """The texts of a whole column. Reports have tens of thousands of rows, so floats take a short way."""
    if column.type != "number":
        return [cell(value, column, display) for value in values]
    width, form, zero = column.width, f"%.{column.decimals}f", fixed(0.0, column.decimals)
    texts: list[str | None] = []
    for value in values:
        if type(value) is float and 0.0 <= value < math.inf:
            if value == 0.0:
                texts.append(zero)
                continue
            text = form % (value * _TIE)
            if column.decimals and text[0] == "0":
                text = text[1:]
            if len(text) > width:
                text = number(value, width, column.decimals)
            texts.append(text)
        else:
            texts.append(cell(value, column, display))
    return texts


def _one_line(text: str) -> str:
    """Names come from input: a control character in one must not break the line or the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)
