"""Problems of the data: each is a row of the table `problem`."""

from __future__ import annotations

import re

from msgspec import Struct

#: Half of a surrogate pair, by which Python writes a byte that is not UTF-8.
_SURROGATE = re.compile("[\ud800-\udfff]")

#: The kinds of problems (nothing is dropped silently).
KINDS = (
    "truncated",  # the file ends inside something
    "length",  # a length field is impossible (zero, past its frame)
    "header",  # a record or control record header is not plausible
    "no_layout",  # a record type without a layout in the catalog
    "short",  # a record is shorter than its layout; the fields beyond are NULL
    "long",  # a record is longer than its layout; the bytes beyond are not decoded
    "gap",  # data is missing between two samples
    "resync",  # bytes skipped to the next plausible place
    "duplicate",  # the same data twice; read once
    "conflict",  # the same interval again with other records; those read first are shown
    "outdated",  # measures that a lake keeps were computed by earlier rules
    "late",  # records that came after their interval was closed, which is shown without them
    "transfer",  # the file was damaged in transfer (ASCII translation and the like)
    "section",  # a section of a record points outside it, or is not expected
    "time",  # an impossible time
    "zone",  # times are local and their zone is unknown; they are read as printed
    "impossible",  # a value that cannot be, as more CPU time than elapsed; withheld
    "changed",  # the file changed while it was read; or a value stepped back without evidence of a reset
)

#: Kinds that mean an input is damaged or incomplete; the others concern data that is read as recorded.
DAMAGE = frozenset({"truncated", "length", "header", "resync", "transfer", "time", "impossible", "conflict"})


class Problem(Struct, frozen=True):
    """One row of `problem`. `bytes` is the number of bytes lost (0: none, None: unknown)."""

    system: str | None
    source: str
    file: str
    offset: int | None
    record: str | None
    kind: str
    detail: str
    bytes: int | None = 0


def printable(name: str) -> str:
    """The name of a file as text: bytes that are not UTF-8 become replacement characters."""
    return name if name.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", name)
