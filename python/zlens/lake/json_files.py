"""JSON files of a lake: types of their values, and their contents, which are not trusted."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from msgspec import Meta
from msgspec.json import Decoder

from zlens.errors import InputError, ZlensError
from zlens.lake import file_names
from zlens.schema import document, structs
from zlens.schema.structs import Int64
from zlens.schema.validators import DocumentErrors

_T = TypeVar("_T")
Sha256 = Annotated[
    str, Meta(pattern=rf"^{file_names.SHA256.pattern}\Z", title="a SHA-256 in hexadecimal digits")
]
Key = Annotated[str, Meta(pattern=rf"^{file_names.KEY.pattern}\Z", title="a key of 16 hexadecimal digits")]
Table = Annotated[str, Meta(pattern=rf"^{file_names.TABLE.pattern}\Z", title="a table")]
Moments = Annotated[
    tuple[Int64, Int64],
    Meta(title="the first and the last timestamp, in microseconds since 1970"),
]


def errors(file: str) -> DocumentErrors:
    """Return a builder of errors about one of the lake's files."""
    cure = "import the data into a new lake, or restore the file from a copy"
    return DocumentErrors(file, InputError, cure=cure, json=True)


def load(decoder: Decoder[_T], data: bytes, file: str, kind: Any = None) -> _T:
    """Return the contents of a lake's file. Raises InputError if zlens cannot have written it.

    kind   type with which errors are found, if values of the decoder's are decoded later
    """
    problem = errors(file)
    if b"\\u0000" in data:
        raise problem.general_error("has a text with a zero character", expected="texts without one")
    return decode(decoder, data, problem, kind=kind)


def decode(
    decoder: Decoder[_T], data: bytes, problem: DocumentErrors, location: str = "", kind: Any = None
) -> _T:
    """Return the contents of a part of a file; raises an error of `problem`."""
    try:
        return decoder.decode(data)
    except (ValueError, RecursionError):
        raise error(data, kind or decoder.type, problem, location) from None


def error(data: bytes, kind: Any, problem: DocumentErrors, location: str = "") -> ZlensError:
    """Return the error of JSON that is not of a type."""
    values = document.from_json(data, problem)
    return structs.find_error(values, kind, location, problem) or document.not_json(problem)
