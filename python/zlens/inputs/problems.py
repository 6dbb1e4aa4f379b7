"""Problems of the data: each is a row of the table `problem`."""

from __future__ import annotations

import re

from msgspec import Struct

from zlens.schema.structs import Int64, Text

#: Half of a surrogate pair, with which Python represents a byte that is not UTF-8.
_SURROGATE = re.compile("[\ud800-\udfff]")

#: Kinds of problems.
KINDS = (
    "truncated",  # the file ends inside a record or block
    "length",  # a length field is impossible (zero, past its frame)
    "header",  # a record or control record header is not plausible
    "no_layout",  # a record type without a layout in the catalog
    "short",  # a record is shorter than its layout; the fields beyond are NULL
    "long",  # a record is longer than its layout; the bytes beyond are not decoded
    "gap",  # data is missing between two samples
    "resync",  # bytes skipped up to the next plausible offset
    "duplicate",  # duplicate data; read once
    "conflict",  # an interval repeats with other records; the first ones are shown
    "outdated",  # measures in a lake were computed by earlier rules
    "late",  # late records; their interval is shown without them
    "transfer",  # the file was damaged in transfer (ASCII translation and the like)
    "section",  # a section of a record points outside it or is not expected
    "time",  # an impossible time
    "zone",  # times are local and their zone is unknown; they are read as printed
    "impossible",  # an impossible value, such as more CPU time than elapsed; withheld
    "changed",  # the file changed while it was read, or a value decreased without reset evidence
)

#: Kinds that mean damaged or incomplete input; the others concern data that is read as recorded.
DAMAGE = frozenset({"truncated", "length", "header", "resync", "transfer", "time", "impossible", "conflict"})


class Problem(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A row of the table `problem`. `bytes` is the number of bytes lost (0: none, None: unknown)."""

    system: Text | None
    source: Text
    file: Text
    offset: Int64 | None
    record: Text | None
    kind: Text
    detail: Text
    bytes: Int64 | None = 0


def printable(name: str) -> str:
    """Return a file name as printable text; bytes that are not UTF-8 become replacement characters."""
    return name if name.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", name)
