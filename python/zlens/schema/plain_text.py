"""Formats counts, lists and names of the input as plain text."""

from __future__ import annotations

from collections.abc import Sequence


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """Format a count: 1 file, 1,234 files."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_list(names: Sequence[str], most: int) -> str:
    """Format a list: A, B and 3 others."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} others" if len(names) > most else "")


def replace_controls(text: str, by: str = "\N{REPLACEMENT CHARACTER}", *, keep: str = "") -> str:
    """Replace control characters except `keep`: names of the input must not act on the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else by for char in text)
