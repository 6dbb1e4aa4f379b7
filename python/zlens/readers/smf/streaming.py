"""Following SMF records: nothing marks the end of an interval; its records are given time to come."""

from __future__ import annotations

import os
from collections.abc import Iterator

from zlens.catalog import smf, smf_record
from zlens.engine.connection import connect
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.readers.smf.dump import RECORD, open_files
from zlens.readers.streaming import CutPoint, RetainedTail

#: Bytes of a record descriptor word, and of the shortest header behind it.
_RDW, _HEADER = 4, 14
#: How long records are held.
_HELD_US = 1_800_000_000


class SmfStreamFormat:
    """SMF records with descriptor words, not in blocks."""

    shares_intervals = False

    def has_intervals(self, head: bytes) -> bool:
        return True

    def missing_header(self, path: str, begin: int, name: str, options: Options) -> bytes:
        return b""

    def is_wrapped(self, path: str) -> bool:
        return False

    def unwrap(self, path: str, into: str) -> int:
        return 0

    def write_times(self, path: str) -> list[tuple[int, int]]:
        newest = 0
        moments = []
        for us, end in _records(path):
            newest = max(newest, us or 0)
            moments.append((newest, end))
        return moments

    def repeated_ranges(self, path: str, options: Options, known: set[int]) -> list[tuple[int, int]]:
        # Copies of records are found when they are decoded.
        return []

    def cut_point(
        self, path: str, options: Options, *, passed_us: int | None, grace_s: float, silent: bool, ended: bool
    ) -> CutPoint | None:
        """All records; intervals that ended `grace_s` ago are closed.

        Records are held for half an hour, the usual interval of RMF: its records tell more of shorter ones.
        """
        records = [(us, end) for us, end in _records(path) if us is not None]
        if not records:
            return None
        window, newest = records[-1][1], max(us for us, _ in records)
        grace_us = round(grace_s * 1e6)
        if ended:
            return CutPoint(window, window, newest, newest, newest)
        if not silent and newest - (records[0][0] if passed_us is None else passed_us) < grace_us:
            # Not for every record.
            return None
        held_us = newest - _HELD_US
        end = 0
        for us, behind in records:
            if us > held_us:
                break
            end = behind
        return CutPoint(window, end, newest, newest if silent else newest - grace_us, held_us)

    def keep_tail(
        self, path: str, begin: int, fresh: int, end: int, into: str, options: Options, oldest_us: int
    ) -> RetainedTail:
        """The last record of each processor and subtype of type 113: their counters are cumulative."""
        source = open_files([path], options)
        layout = smf.layout(RECORD)
        offsets: list[int] = []
        if layout.table in source.tables:
            (table,) = source.tables[layout.table]
            connection = connect(None)
            try:
                connection.register("raw", table.stream(["system", "subtype", "cpu_id", "offset"]))
                by = "GROUP BY system, subtype, cpu_id ORDER BY 1"
                query = f'SELECT max("offset") FROM raw WHERE "offset" < ? {by}'
                offsets = [offset for (offset,) in connection.execute(query, [end]).fetchall()]
            finally:
                connection.close()
        (dump,) = source.dumps
        if offsets:
            dump.file.extract(RECORD, layout.order, None, offsets, into)
        else:
            open(into, "wb").close()
        return RetainedTail(len(offsets), 0)

    def interval_ends(self, path: str, options: Options) -> set[tuple[str, str, int]]:
        if not os.path.getsize(path):
            return set()
        source = open_files([path], options)
        return {
            (info.system, source.name, interval.end_us)
            for info in source.systems
            for interval in info.intervals
        }

    def write_part_header(self, path: str, into: str, options: Options) -> None:
        """Every record stands for itself."""
        open(into, "wb").close()


def _records(path: str) -> Iterator[tuple[int | None, int]]:
    """The local time of each whole record, None without one, and where it ends."""
    size = os.stat(path).st_size
    with open(path, "rb") as file:
        at = 0
        while at + _RDW <= size:
            file.seek(at)
            head = file.read(_RDW + _HEADER)
            length = int.from_bytes(head[:2])
            if length < _RDW + _HEADER or head[2:4] not in (b"\0\0",):
                raise InputError(
                    "this is not an SMF record with a record descriptor word",
                    file=path,
                    offset=at,
                    expected="whole records, neither in blocks nor in segments",
                    cure="import dumps in other forms as files",
                )
            if at + length > size:
                return
            at += length
            yield smf_record.local_us(head[: _RDW + _HEADER]), at


FORM = SmfStreamFormat()
