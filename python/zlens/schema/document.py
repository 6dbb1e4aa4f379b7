"""TOML and JSON documents: reads, parses and checks them, with errors that name file, line and cure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from zlens.errors import CatalogError, ZlensError
from zlens.schema import toml
from zlens.schema.validators import DocumentErrors


def text_of(path: Path) -> str:
    """Return the text of a catalog file; CatalogError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise CatalogError(f"cannot be read: {reason}", file=str(path), cure="check the name") from None


def parse_toml(
    text: str, file: str, error: type[ZlensError] = CatalogError, cure: str = "correct the line"
) -> dict[str, Any]:
    """Return the values of a TOML text; raises the given error class with the line."""
    try:
        return toml.parse(text)
    except toml.TomlError as problem:
        raise error(f"is not valid TOML: {problem}", file=f"{file}:{problem.line}", cure=cure) from None


def from_json(data: bytes, problem: DocumentErrors) -> Any:
    """Return the values of JSON bytes."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise not_json(problem) from None


def not_json(problem: DocumentErrors) -> ZlensError:
    """Return the error of bytes that are not JSON."""
    return problem.general_error("is not JSON", "write it again")
