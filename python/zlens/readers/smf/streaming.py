"""SMF records in a stream: no record marks the end of an interval, so a grace period closes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

from zlens.catalog import smf, smf_record
from zlens.engine.connection import connect
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.readers.boundaries import subject_records_sql
from zlens.readers.smf.boundaries import SUBJECT
from zlens.readers.smf.dump import RECORD, open_files
from zlens.readers.streaming import CutPoint, DecodedWindow, StreamFormat

#: Bytes of a record descriptor word, and of the shortest header after it.
_RDW, _HEADER = 4, 14
#: Time for which records are held, in microseconds.
_HELD_US = 1_800_000_000


class SmfStreamFormat(StreamFormat):
    """SMF records with record descriptor words, not in blocks. The decoder detects duplicate records."""

    shares_intervals = False

    def records(self, path: str) -> Iterator[tuple[int | None, int]]:
        """Yield the complete records; their times are local."""
        size = os.stat(path).st_size
        with open(path, "rb") as file:
            offset = 0
            while offset + _RDW <= size:
                file.seek(offset)
                header = file.read(_RDW + _HEADER)
                length = int.from_bytes(header[:2])
                if length < _RDW + _HEADER or header[2:4] not in (b"\0\0",):
                    raise InputError(
                        "this is not an SMF record with a record descriptor word",
                        file=path,
                        offset=offset,
                        expected="complete records, neither in blocks nor in segments",
                        cure="import dumps in other formats as files",
                    )
                if offset + length > size:
                    return
                offset += length
                yield smf_record.local_us(header[: _RDW + _HEADER]), offset

    def cut_point(
        self, path: str, options: Options, *, passed_us: int | None, grace_s: float, silent: bool, ended: bool
    ) -> CutPoint | None:
        """Return a cut point after all records; intervals that ended `grace_s` ago are closed.

        Records are held for half an hour, the usual interval of RMF, because its records add to shorter
        intervals.
        """
        records = [(us, end) for us, end in self.records(path) if us is not None]
        if not records:
            return None
        window, newest = records[-1][1], max(us for us, _ in records)
        grace_us = round(grace_s * 1e6)
        if ended:
            return CutPoint(window, window, newest, newest, newest)
        if not silent and newest - (records[0][0] if passed_us is None else passed_us) < grace_us:
            # Not for every record, to limit the number of cut points.
            return None
        held_us = newest - _HELD_US
        end = 0
        for us, record_end in records:
            if us > held_us:
                break
            end = record_end
        return CutPoint(window, end, newest, newest if silent else newest - grace_us, held_us)

    def keep_tail(self, window: DecodedWindow, target_path: str, options: Options, retain_us: int) -> int:
        """Write the last record of each processor and subtype of type 113, whose counters are cumulative."""
        source = open_files([window.path], options)
        layout = smf.layout(RECORD)
        offsets: list[int] = []
        if layout.table in source.tables:
            (table,) = source.tables[layout.table]
            with closing(connect(None)) as connection:
                subject = ["system", *SUBJECT]
                connection.register("raw", table.stream([*subject, "offset", "tod"]))
                records = subject_records_sql(subject, "raw", end=window.end)
                query = f"SELECT last_offset FROM ({records}) WHERE last_offset IS NOT NULL ORDER BY 1"
                offsets = [offset for (offset,) in connection.execute(query).fetchall()]
        (dump,) = source.dumps
        dump.file.extract(RECORD, layout.order, None, offsets, target_path)
        return 0

    def interval_ends(self, path: str, options: Options) -> set[tuple[str, str, int]]:
        if not os.path.getsize(path):
            return set()
        source = open_files([path], options)
        return {
            (info.system, source.name, interval.end_us)
            for info in source.systems
            for interval in info.intervals
        }


FORM = SmfStreamFormat()
