"""The Rust half of zlens: reading and writing binary sources, tables in Arrow form."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, final

@final
class MonwriteFile:
    """A file of z/VM monitor data, written by MONWRITE or captured from the live stream: opened by one pass
    that finds its records, read again for queries."""

    path: str
    size: int
    #: Raw TOD values, None when the file holds no record.
    first_tod: int | None
    last_tod: int | None
    #: Whether the end-of-data record is at the end.
    complete: bool
    #: Whether it is a capture of the live stream.
    capture: bool

    @staticmethod
    def open(path: str, progress: Callable[[int, int], None] | None = None) -> MonwriteFile: ...
    def inventory(self) -> list[dict[str, Any]]: ...
    def problems(self) -> list[tuple[str, int, int, str | None, str]]: ...
    def interval_ends(self) -> list[tuple[int, int, int]]: ...
    def split_points(self) -> list[tuple[int, int]]:
        """TOD value of every interval end, and where what was written together with it ends: a cut there
        separates nothing. The file may not be that long yet."""
        ...
    def digests(self) -> list[tuple[int, int, int]]:
        """For every interval end: digest of the sample records before it, number and digest of its events."""
        ...
    def records(self, domain: int, record: int, limit: int = 1) -> list[tuple[int, bytes]]: ...
    def configurations(self) -> list[tuple[int, int]]:
        """Offsets of system configuration records: of the control record before them, and of the record."""
        ...
    def slice(self, begin: int, end: int) -> MonwriteFile:
        """What is from a control record at `begin` up to `end`, as a file with the offsets of the whole."""
        ...
    def write_plain(self, path: str) -> None:
        """Write what is indexed to a file: of a capture in the form that MONWRITE writes."""
        ...
    def changed(self) -> str | None: ...

class ArrowStream:
    """Rows in Arrow form: every `__arrow_c_stream__` starts over; of a raw table, with a scan."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class ArrowTable(ArrowStream):
    """Rows at hand, of a raw table or built from Python rows.

    Types are int, float, text, bool and time (microseconds UTC).
    """

    num_rows: int

    def __init__(self, columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]]) -> None: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class MonwriteDecoder:
    """Raw tables of one or more systems, decoded from their files by compiled plans (JSON)."""

    def __init__(self, systems: list[dict[str, Any]], plans_json: str, leap_seconds: int = 0) -> None: ...
    def schema(self, table: str) -> list[tuple[str, str]]: ...
    def stream(self, table: str, columns: Sequence[str] | None = None) -> ArrowStream: ...
    def batches(
        self, tables: Sequence[str] | None = None, differences: bool = True
    ) -> Iterator[tuple[str, ArrowTable]]: ...
    def problems(self) -> list[tuple[str, str, int, int, str, str, str]]: ...
    def resets(self) -> list[tuple[str, int, str, str, str]]: ...

@final
class ListingRows:
    """Rows of one raw table of listings, read from lines of reports.

    `columns` are pairs of name and type; `labels` pairs of what rows begin with and their kind; `totals`
    texts by column that make a row with a time a total; `subject` are the columns that tell the rows of one
    interval apart; `moment` is the column with times in UTC.
    """

    def __init__(
        self,
        columns: Sequence[tuple[str, str]],
        labels: Sequence[tuple[str, str]],
        totals: Sequence[Sequence[tuple[int, str]]],
        *,
        timed: bool,
        subject: Sequence[int],
        moment: int | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def set_layout(
        self,
        places: Sequence[tuple[int, int, bool, int, str]],
        timed: bool,
        *,
        cut: int | None = None,
        order: str = "below",
    ) -> None: ...
    def read(self, data: bytes, at: int, number: int, base: int, *, controlled: bool) -> tuple[int, int]: ...
    def row(self, line: str, number: int, offset: int) -> bool: ...
    def pop(self) -> None: ...
    def set_day(self, day: int) -> None: ...
    def assign_times(
        self,
        system: str,
        sources: tuple[str, str],
        file: str,
        *,
        start_us: int | None,
        end_us: int | None,
        seconds: float | None,
        day_us: int,
        offset_us: int,
    ) -> list[tuple[int, float | None, int, int]]: ...
    @property
    def dated(self) -> bool: ...
    @property
    def source(self) -> str: ...
    def flag(self, end_us: int) -> None: ...
    def repeats(self) -> list[tuple[int, str, bool]]: ...
    def notes(self) -> list[tuple[int, int, str, str]]: ...
    def numeric(self, column: int) -> bool: ...
    def table(self, columns: Sequence[str]) -> ArrowTable: ...

@final
class MonwriteWriter:
    """Writes a MONWRITE file: control records, 4 KB frames, the end-of-data record."""

    def __init__(self, path: str) -> None: ...
    def write(self, groups: Sequence[tuple[bool, int, int, int, Sequence[bytes]]]) -> None: ...
    def finish(self) -> None: ...

@final
class SmfFile:
    """An SMF dump: opened by one pass that finds its records, read again for queries."""

    path: str
    size: int

    @staticmethod
    def open(
        path: str,
        plan_json: str,
        identities: Sequence[tuple[int, int | None, Sequence[tuple[int, int, int, int, int]]]],
        progress: Callable[[int, int], None] | None = None,
        unpack_limit: int | None = None,
    ) -> SmfFile: ...
    @property
    def compression(self) -> tuple[str, int, int] | None: ...
    @property
    def block_stats(self) -> tuple[int, int, int, int]: ...
    def inventory(self) -> list[dict[str, Any]]: ...
    def problems(self) -> list[tuple[str, int, int, str | None, str]]: ...
    def intervals(self) -> list[tuple[bytes, int, int | None, int, int]]: ...
    def records(
        self, record: int, subtype: int, system: bytes | None = None, limit: int = 1
    ) -> list[tuple[int, bytes]]: ...
    def offsets(self, record: int, subtypes: Sequence[int], system: bytes | None = None) -> list[int]: ...
    def extract(
        self, record: int, subtypes: Sequence[int], system: bytes | None, offsets: Sequence[int], path: str
    ) -> None: ...
    def changed(self) -> str | None: ...

@final
class CountersDecoder:
    """The table of counters of some dumps, decoded by a compiled plan (JSON)."""

    def __init__(
        self,
        source: str,
        systems: list[dict[str, Any]],
        files: list[SmfFile],
        plan_json: str,
        leap_seconds: int = 0,
    ) -> None: ...
    def schema(self) -> list[tuple[str, str]]: ...
    def stream(self, columns: Sequence[str] | None = None) -> ArrowStream: ...
    def drain(self, columns: Sequence[str] | None = None, check: bool = False) -> None: ...
    def problems(self) -> list[tuple[str | None, str, int, int, str, str, str]]: ...
    def resets(self) -> list[tuple[str, int, str, str, str]]: ...
    def changes(self) -> list[tuple[str, str, int, int, str, int, int, int | None, int, int]]: ...

@final
class SectionsDecoder:
    """Tables of sections of SMF records, decoded by compiled plans (JSON), one for each layout."""

    def __init__(
        self,
        source: str,
        systems: list[dict[str, Any]],
        files: list[SmfFile],
        plans: list[str],
        leap_seconds: int = 0,
    ) -> None: ...
    def schema(self, table: str) -> list[tuple[str, str]]: ...
    def stream(self, table: str, columns: Sequence[str] | None = None) -> ArrowStream: ...
    def drain(self, plan: str) -> None: ...
    def intervals(self, plans: Sequence[str]) -> list[tuple[str, str, int, float | None, bool, int]]: ...
    def problems(self) -> list[tuple[str | None, str, int, int, str, str, str]]: ...

@final
class SmfWriter:
    """Writes an SMF dump: records, each with four bytes of room for its descriptor word."""

    def __init__(self, path: str) -> None: ...
    def write(self, records: Sequence[bytes]) -> None: ...
    def finish(self) -> None: ...

def sniff_smf(head: bytes, size: int) -> tuple[str, str]: ...
def encode_text(text: str, width: int) -> bytes: ...
def tod_from_unix_us(us: int) -> int: ...
def unix_us_from_tod(tod: int, leap: int = 0) -> int: ...
def sniff(head: bytes, size: int) -> tuple[str, str]: ...

class StreamError(RuntimeError):
    """What a producer of Arrow says has gone wrong."""

@final
class Section:
    """Some rows of a report, read from an Arrow stream and printable any number of times.

    The first three columns of the stream are block, time and flag.
    """

    #: By block: its name; how many rows it has; of each column how many of them have a value, and how many
    #: characters the longest text has, at least the column's width; the earliest and the latest time in
    #: microseconds since 1970 UTC; flags.
    runs: list[tuple[str | None, int, list[int], list[int], tuple[int, int] | None, list[str]]]

    @staticmethod
    def read(stream: object, types: Sequence[str], columns: Sequence[object]) -> Section: ...

@final
class Lines:
    """Rows of sections as text, chunk by chunk: those of one time together, the sections in their order."""

    def __iter__(self) -> Iterator[str]: ...
    def __next__(self) -> str: ...
    @staticmethod
    def table(
        part: Sequence[tuple[Section, int | None]],
        columns: Sequence[tuple[int, int, bool]],
        sections: Sequence[tuple[str, Sequence[str | None], Sequence[str]]],
        *,
        label_width: int | None,
        blank: bool,
        dated: bool,
        offset_us: int,
    ) -> Lines: ...
    @staticmethod
    def csv(
        part: Sequence[tuple[Section, int | None]], before: Sequence[Sequence[str]], *, timed: bool
    ) -> Lines: ...
    @staticmethod
    def json(
        part: Sequence[tuple[Section, int | None]],
        before: Sequence[Sequence[tuple[str, str]]],
        names: Sequence[str],
        fixed: Sequence[Sequence[str | None]],
        *,
        timed: bool,
    ) -> Lines: ...
    @staticmethod
    def html(
        part: Sequence[tuple[Section, int | None]],
        columns: Sequence[tuple[bool, bool]],
        labels: Sequence[str],
        fixed: Sequence[Sequence[str | None]],
        empty: Sequence[Sequence[str]],
        *,
        timed: bool,
        offset_us: int,
    ) -> Lines: ...

@final
class AnswerText:
    """An answer as CSV or JSON, batch by batch as they come from its Arrow stream."""

    @staticmethod
    def csv(stream: object, names: Sequence[str], types: Sequence[str]) -> AnswerText: ...
    @staticmethod
    def json(stream: object, names: Sequence[str], types: Sequence[str]) -> AnswerText: ...
    def next(self) -> str | None: ...

def samples(
    stream: object,
    types: Sequence[str],
    sets: Sequence[Sequence[tuple[str, int]]],
    families: Sequence[tuple[str, str, int, int | None]],
) -> str: ...
def json_rows(stream: object, types: Sequence[str], limit: int) -> tuple[str, bool]: ...
def count_rows(stream: object) -> int: ...
def number_text(value: float, width: int, decimals: int, *, zero: bool = False) -> str: ...
def float_text(value: float) -> str: ...
def simulate(
    scenario: str,
    outputs: Mapping[str, tuple[str, str]],
    progress: Callable[[float], bool] | None = None,
    policies: Mapping[str, object] = ...,
) -> str: ...
def toml_values(text: str, deepest: int) -> dict[str, Any]:
    """The values of a TOML text; a ValueError has what is wrong with it, and a line."""
    ...

def toml_line(text: str, path: str) -> int | None:
    """The line of a key such as `tables[2].columns[1].width`, or of the nearest one around it."""
    ...
