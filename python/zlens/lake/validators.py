"""Validators of the JSON files of a lake, whose contents are not trusted."""

from __future__ import annotations

from typing import Any

from zlens.errors import InputError
from zlens.lake import file_names
from zlens.schema import document
from zlens.schema.validators import (
    DocumentErrors,
    FixedTuple,
    Integer,
    ListOf,
    MapOf,
    Nullable,
    Text,
    Validator,
)

#: Maximum length of lists, which grow with the imports. The size of a file limits them in practice.
LONGEST = 1_000_000_000
#: Bytes, rows and indexes.
COUNT = Integer(0)
#: Times in microseconds since 1970, and other integers.
WHOLE = Integer()
TEXT = Text()
SHA256 = Text(64, 64, file_names.SHA256, "a SHA-256 in hexadecimal digits")
KEY = Text(16, 16, file_names.KEY, "a key of 16 hexadecimal digits")
MAYBE_TEXT, MAYBE_WHOLE = Nullable(TEXT), Nullable(WHOLE)
MOMENTS = FixedTuple((WHOLE, WHOLE), "the first and the last timestamp, in microseconds since 1970")


def list_of(of: Validator) -> ListOf:
    """Return a validator of lists up to `LONGEST`."""
    return ListOf(of, most=LONGEST)


def map_of(of: Validator) -> MapOf:
    """Return a validator of up to `LONGEST` values by name."""
    return MapOf(of, 0, most=LONGEST)


def problem(file: str) -> DocumentErrors:
    """Return a builder of errors about one of the lake's files."""
    cure = "import the data into a new lake, or restore the file from a copy"
    return DocumentErrors(file, InputError, cure=cure, json=True)


def load_checked(data: bytes, file: str, kind: Validator) -> Any:
    """Parse a lake's file. Raises InputError if zlens cannot have written it."""
    errors = problem(file)
    return kind.check(document.from_json(data, errors), "", errors)
