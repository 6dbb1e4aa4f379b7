"""Names of files in a lake. All paths are built here, none is read from a manifest."""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from urllib.parse import unquote

#: Maximum length of an escaped name.
LONGEST = 200

#: Object storage: S3, Google Cloud Storage, Azure.
URL = re.compile(r"(?:s3a?|gs|az|adl|azure|abfss?)://", re.IGNORECASE)
SHA256 = re.compile(r"[0-9a-f]{64}")
TABLE = re.compile(r"[a-z0-9_]{1,80}")
DAY = re.compile(r"\d{4}-\d\d-\d\d|unknown")
KEY = re.compile(r"[0-9a-f]{16}")
SIDE = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+){1,3}")

#: The day of rows without a time, or with an impossible one.
UNKNOWN = "unknown"

MANIFEST = "manifest.json"
#: The first bytes of every manifest distinguish it from other files of that name.
MARK = b'{"zlens_lake": '
STAGING = ".staging"
LOCK = ".lock"
LIVE = ".live"
READERS = ".readers"
INPUTS = "_inputs"
SCHEMAS = "_schemas"
MEASURES = "_measures"

_PLAIN = re.compile(r"[A-Za-z0-9_-]")


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return whether a name is a URL of object storage, not a path."""
    return URL.match(os.fspath(path)) is not None


def has_manifest(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder contains a zlens manifest, valid or not."""
    try:
        with open(os.path.join(folder, MANIFEST), "rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError:
        return False


@cache
def escape(system: str) -> str:
    """Return a system's name for a path: letters, digits, `_` and `-` unchanged, other UTF-8 bytes as %XX.

    The result is never empty, a dot or hidden. The digest replaces very long names.
    """
    if not system:
        return "%"
    data = system.encode("utf-8", "surrogatepass")
    text = "".join(chr(byte) if _PLAIN.match(chr(byte)) else f"%{byte:02X}" for byte in data)
    return text if len(text) <= LONGEST else f"%%{hashlib.sha256(data).hexdigest()[:32]}"


def is_in_path(system: str) -> bool:
    """Return whether the engine reads a system's name from the path of its files."""
    return unquote(escape(system)) == system != "__HIVE_DEFAULT_PARTITION__"


def data_file(table: str, system: str, day: str, sha256: str, kind: str, key: str | None = None) -> str:
    """Return the name of a Parquet file of kind `main` or `edge`; with a key it replaces the one without."""
    end = "" if kind == "main" and key is None else f".{kind}" if key is None else f".{kind}-{key}"
    return f"{table}/system={escape(system)}/day={day}/{sha256}{end}.parquet"


def replaced_file(sha256: str, document_key: str, place: int, table: str, day: str, kind: str) -> str:
    """Return the name of a replaced file, outside its table: other tools read all files of a table."""
    return f"{document_folder(sha256, document_key)}/{place}.{table}.{day}.{kind}.parquet"


def document_folder(sha256: str, key: str) -> str:
    """Return the folder of the facts about an input."""
    return f"{INPUTS}/{sha256}/{key}"


def measure_file(table: str, system: str, day: str, state: str) -> str:
    """Return the name of a Parquet file of a measure by hour or day."""
    return f"{MEASURES}/{table}/system={escape(system)}/day={day}/{state}.parquet"


def measures_document(system: str, day: str, state: str) -> str:
    """Return the name of the document that lists a day's measure files."""
    return f"{MEASURES}/_days/{escape(system)}/{day}.{state}.json"


def gathered(table: str, day: str, key: str) -> str:
    """Return the name of a Parquet file of a measure by hour or day, of many systems."""
    return f"{MEASURES}/{table}/day={day}/{key}.parquet"


def gathered_document(day: str, key: str) -> str:
    """Return the name of the document that lists a day's measure files of many systems."""
    return f"{MEASURES}/_gathered/{day}.{key}.json"


def schema(key: str) -> str:
    return f"{SCHEMAS}/{key}.json"


_OWN = re.compile(
    r"(?:[a-z0-9_]{1,80}/system=[A-Za-z0-9_%-]{1,200}/day=(?:\d{4}-\d\d-\d\d|unknown)/"
    r"[0-9a-f]{64}(?:\.(?:main|edge)(?:-[0-9a-f]{16})?)?\.parquet"
    rf"|{INPUTS}/[0-9a-f]{{64}}/[0-9a-f]{{16}}/[a-z0-9]+(?:\.[a-z0-9_-]+){{1,4}}"
    rf"|{SCHEMAS}/[0-9a-f]{{16}}\.json"
    rf"|{MEASURES}/[a-z0-9_]{{1,80}}/(?:system=[A-Za-z0-9_%-]{{1,200}}/)?day=\d{{4}}-\d\d-\d\d/"
    r"[0-9a-f]{16}\.parquet"
    rf"|{MEASURES}/(?:_days/[A-Za-z0-9_%-]{{1,200}}|_gathered)/\d{{4}}-\d\d-\d\d\.[0-9a-f]{{16}}\.json)"
)


def is_own(path: str) -> bool:
    """Return whether this module can have built a path."""
    return _OWN.fullmatch(path) is not None


def own_names(listed: object) -> list[str]:
    """Return the valid names of a list that was read from a file: no other files are removed."""
    items = listed if isinstance(listed, list) else []
    return [name for name in items if isinstance(name, str) and is_own(name)]
