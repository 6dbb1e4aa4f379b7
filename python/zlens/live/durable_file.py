"""Files that survive a crash of the system."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name a file in the errors of writing to it: the system names it only when it is opened."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def replace_document(path: Path, document: dict[str, Any]) -> None:
    """Replace a JSON file: a crash leaves the old document or the new one."""
    staged = path.with_name(f".{path.name}")
    with writing(path), open(staged, "w", encoding="utf-8") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(staged, path)
    flush(path.parent)


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with writing(path):
            os.fsync(handle)
    finally:
        os.close(handle)
