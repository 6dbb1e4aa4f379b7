"""Files that survive a crash of the system."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def replace_document(path: Path, document: dict[str, Any]) -> None:
    """Replace a JSON file: a crash leaves the old document or the new one."""
    staged = path.with_name(f".{path.name}")
    with open(staged, "w", encoding="utf-8") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(staged, path)
    flush(path.parent)


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
