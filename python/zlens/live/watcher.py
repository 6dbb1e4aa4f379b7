"""Watcher of feeds: computes closed intervals once, retains them for a time, and imports them into a lake."""

from __future__ import annotations

import datetime as dt
import fcntl
import hashlib
import os
import re
import shutil
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import groups, measures, session_columns
from zlens.errors import LakeError, ZlensError
from zlens.inputs.identity import KnownSystem, merge_ranges
from zlens.inputs.options import ALL, Options, TimeSpec
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, Source, SystemInfo, identity_ranges
from zlens.lake.file_names import LIVE
from zlens.lake.location import open_folder
from zlens.live.alerts import FindingAlerts
from zlens.live.feeds import Feed, FeedGroup
from zlens.live.measure_store import End, MeasureStore
from zlens.live.polling import PollingFeed
from zlens.live.retained_source import Parts, RetainedSource
from zlens.live.spool import Spool
from zlens.live.storage import Storage
from zlens.live.stream import ClosedSegment, LiveStream
from zlens.live.watch_step import ClosedInterval, WatchStep
from zlens.readers.streaming import CutPoint
from zlens.schema.temporary_folder import TemporaryFolder
from zlens.session.session import CoreSession

#: Seconds that a removed or moved folder may be away, such as that of a file system that is mounted again.
MISSING_S = 60.0
#: Maximum number of problems; older ones are dropped.
MAX_PROBLEMS = 10_000
_SECOND_US = 1_000_000
#: A time later than any record.
_NEVER_US = 2**62
_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class RetentionLimits(Struct, frozen=True):
    """Limits in seconds of recorded time.

    raw       retention of raw records
    measures  retention of rows of measures
    part      length of the parts that are imported into the lake
    grace     grace period of records after their interval end
    """

    raw: float = 3600.0
    measures: float = 86_400.0
    part: float = 3600.0
    grace: float = 10.0


class Watcher:
    """Watches feeds.

    lake   folder of the lake, which also stores the state of the feeds; None: a temporary folder
    """

    def __init__(
        self,
        feeds: Iterable[Feed | FeedGroup],
        options: Options | None = None,
        *,
        lake: str | None = None,
        limits: RetentionLimits | None = None,
        findings: bool = True,
    ) -> None:
        # Measures of every source are retained; a session over them shows one source.
        self.options = replace(options or Options(), source=ALL)
        self.limits = limits or RetentionLimits()
        self.lake = lake
        self.measures = MeasureStore()
        self.alerts = FindingAlerts() if findings else None
        self.problems: deque[Problem] = deque(maxlen=MAX_PROBLEMS)
        self.step_number = 0
        self._newest: dict[tuple[str, str], int] = {}
        self._feeds = list(feeds)
        self._temporary = TemporaryFolder()
        self._filled = False
        self._errors: list[str] = []
        self._lock: IO[bytes] | None = None
        self._folder = Path(lake, LIVE) if lake is not None else Path(self._temporary.path)
        #: Imports parts in the background, so that steps do not wait.
        self._importer = ThreadPoolExecutor(1, "zlens-import")
        self._importing: dict[str, Future[tuple[list[int], str | None]]] = {}
        self._streams: dict[str, LiveStream] = {}
        self._infos: dict[tuple[str, str], SystemInfo] = {}
        self._intervals: dict[tuple[str, str], dict[int, Interval]] = {}
        self._known: dict[tuple[str, str], KnownSystem] = {}
        self._new_problems: list[Problem] = []
        self._group_file = self.options.group
        self._read_groups()
        #: Why nothing can be stored now; nothing is then read from feeds, so that nothing is lost.
        self.blocked: str | None = None
        self._missing_since: float | None = None
        self._is_failed = False
        if lake is not None:
            self._prepare(lake)
        self._storage = Storage(self._folder)
        self._find_streams()

    def close(self) -> None:
        self._importer.shutdown()
        self._storage.close()
        for stream in self._streams.values():
            stream.feed.close()
        self.measures.close()
        if self._lock is not None:
            self._lock.close()
        self._temporary.remove()

    # -- sources -------------------------------------------------------------------------------------

    @property
    def streams(self) -> list[LiveStream]:
        return [*self._streams.values()]

    @property
    def done(self) -> bool:
        """Whether no more data will arrive from any feed."""
        return not self._may_get_feeds and all(stream.done for stream in self.streams)

    @property
    def _may_get_feeds(self) -> bool:
        """Whether there is a group, such as a folder, which may get new feeds."""
        return any(isinstance(feed, FeedGroup) for feed in self._feeds)

    def _find_streams(self) -> None:
        for feed in self._feeds:
            for each in feed.current_feeds() if isinstance(feed, FeedGroup) else [feed]:
                if each.name not in self._streams:
                    spool = Spool(self._folder / _folder_name(each.name))
                    stream = LiveStream(each, spool, self.options, self.limits.grace)
                    self._streams[each.name] = stream
                    self._restore(stream)

    def reload(self) -> str:
        """Reload the user's rules and groups; returns a message. Invalid files are not used."""
        try:
            if self.alerts is not None:
                self.alerts.reload()
            self._read_groups()
        except ZlensError as error:
            return f"the previous rules and groups stay in use: {error}"
        return "the rules and groups were read again"

    def _read_groups(self) -> None:
        """Read the groups from a copy of the file, which may change later."""
        if self._group_file is None:
            return
        groups.read(self._group_file)
        copy = os.path.join(self._temporary.path, f"groups-{self.step_number}.toml")
        shutil.copyfile(self._group_file, copy)
        self.options = replace(self.options, group=copy)

    # -- steps ---------------------------------------------------------------------------------------

    def step(self) -> WatchStep | None:
        """Read new data and close intervals; None if there is nothing to report.

        Raises LakeError if the folder was removed or moved and does not return in time, or a write failed so
        that only a restart can resume. Nothing is read while the disk lacks room.
        """
        reason = self._obstacle()
        if reason is not None:
            is_new = self.blocked is None
            self.blocked = reason
            return WatchStep(self.step_number, errors=[reason]) if is_new else None
        notes = ["data is stored again"] if self.blocked is not None else []
        self.blocked = None
        if (forecast := self._storage.forecast()) is not None:
            notes.append(forecast)
        self._find_streams()
        step = WatchStep(self.step_number, errors=[*self._errors, *self._collect_imports()], notes=notes)
        self._errors = []
        for stream in self.streams:
            if stream.refused:
                continue
            stream.options = self._named_options(stream)
            try:
                stream.read_feed(self._report)
                segment = stream.closable_segment(self._report)
            except (ZlensError, OSError) as error:
                if (reason := self._obstacle()) is not None:
                    # What was read is kept, and written once that is possible.
                    self.blocked = reason
                    step.errors.append(reason)
                    break
                if not self._may_get_feeds and all(other.refused for other in self.streams):
                    raise
                # Reported once, although every step tries again.
                if stream.trouble != str(error):
                    stream.trouble = str(error)
                    step.errors.append(str(error))
                continue
            stream.trouble = None
            if segment is not None:
                self._close_segment(stream, segment, step)
        step.number = self.step_number
        step.problems, self._new_problems = self._new_problems, []
        return step if step else None

    def _obstacle(self) -> str | None:
        """Return why nothing can be stored; None if nothing prevents it.

        Raises LakeError if the folder has been missing for too long.
        """
        folders = [stream.spool.folder for stream in self.streams]
        missing = self._storage.missing(folders)
        if missing is None:
            self._missing_since = None
            lack = self._storage.lack(max((stream.open_bytes for stream in self.streams), default=0))
            if lack is None:
                return None
            free, needed = (f"{count / 1e6:,.0f} MB" for count in lack)
            return f"{self._folder}: the disk has {free} free, and {needed} are needed; sources wait"
        now = time.monotonic()
        self._missing_since = self._missing_since or now
        if now - self._missing_since >= MISSING_S:
            self._is_failed = True
            raise _missing_error(missing)
        return f"{missing}: this folder was removed or moved; zlens ends if it is not back in {MISSING_S:g} s"

    def _close_segment(self, stream: LiveStream, segment: ClosedSegment, step: WatchStep) -> None:
        try:
            with CoreSession([os.fspath(segment.path)], stream.options) as session:
                session.brief = True
                new = self._compute(stream, session, segment.begin, segment.cut)
                step.closed += new
                if self.alerts is not None and new:
                    ends = [interval.key for interval in new]
                    opened, cleared = self.alerts.update(session, self.measures, self.step_number, ends)
                    step.opened += opened
                    step.cleared += cleared
                    if self.alerts.error:
                        step.errors.append(self.alerts.error)
        except ZlensError as error:
            # The records are retained and imported into the lake.
            step.errors.append(f"{stream.name}: an interval could not be computed: {error}")
        try:
            self._close(stream, segment)
        except OSError as error:
            # What is on disk is consistent, but not with what is in memory.
            self._is_failed = True
            raise LakeError(
                f"cannot be written: {error.strerror or error}",
                file=error.filename or str(stream.spool.folder),
                cure="check the disk and start again: nothing that was closed is lost",
            ) from None

    def _compute(
        self, stream: LiveStream, session: CoreSession, begin: int, cut: CutPoint | None
    ) -> list[ClosedInterval]:
        """Compute the measures of newly closed intervals, and of closed intervals that may have changed."""
        self.step_number += 1
        shares_intervals = stream.form().shares_intervals
        offsets = {
            (info.system, info.source): 0 if info.local_time else (info.utc_offset_s or 0) * _SECOND_US
            for info in session.systems
        }
        # Monitor data has UTC.
        zones = dict.fromkeys(offsets, 0) if shares_intervals else offsets
        limits = {}
        if cut is not None and cut.closed_us is not None:
            limits = {key: cut.closed_us - zone for key, zone in zones.items()}
        dropped_us = stream.dropped_us
        begins = {} if dropped_us is None else {key: dropped_us - zone for key, zone in zones.items()}
        names = self._names(session)
        if "event" in names:
            names.remove("event")
            self.measures.add_events(session.sql("SELECT * FROM event"), self.step_number)
        ends: set[End] = set()
        results = session.answers([f"SELECT * FROM {name}" for name in names])
        for name, result in zip(names, results, strict=True):
            known = (stream.ends if shares_intervals else self.measures.ends(name)) - stream.held
            ends |= self.measures.add(name, result, self.step_number, known, limits, begins)
        self._report_problems(stream, session, begin)
        closed = self._note_intervals(stream, session, ends - stream.ends, limits)
        stream.ends |= ends | {interval.key for interval in closed}
        if cut is not None:
            stream.held = {
                end for end in ends | stream.held if end[2] > cut.held_us - zones.get((end[0], end[1]), 0)
            }
        busy = self.measures.values("load", "busy_pct", [interval.key for interval in closed])
        return [replace(interval, busy_pct=busy.get(interval.key)) for interval in closed]

    @staticmethod
    def _names(session: CoreSession) -> list[str]:
        """Return the measures with data in a session, without those that every session computes."""
        computed_names = session_columns.always()
        return [
            name for name in measures.measure_names() if name not in computed_names and session.has_data(name)
        ]

    def _note_intervals(
        self, stream: LiveStream, session: CoreSession, ends: set[End], limits: dict[tuple[str, str], int]
    ) -> list[ClosedInterval]:
        """Record the newly closed intervals of systems and of rows of measures."""
        closed: dict[End, ClosedInterval] = {}
        for info in session.systems:
            key = (info.system, info.source)
            self._remember_identity(stream, session, info)
            known_intervals = self._intervals.setdefault(key, {})
            self._infos[key] = info
            limit = limits.get(key)
            for interval in info.intervals:
                if limit is None or interval.end_us <= limit:
                    if interval.end_us not in known_intervals:
                        ends.add((*key, interval.end_us))
                    known_intervals[interval.end_us] = interval
            for system, source, end_us in ends:
                if (system, source) == key:
                    interval = known_intervals.get(end_us, Interval(end_us, None))
                    closed[system, source, end_us] = ClosedInterval(
                        system, source, end_us, interval.seconds, None
                    )
        ordered = sorted(closed, key=lambda end: (end[2], end))
        self._newest |= {(system, source): end_us for system, source, end_us in ordered}
        return [closed[end] for end in ordered]

    def _remember_identity(self, stream: LiveStream, session: CoreSession, info: SystemInfo) -> None:
        """Record the identity of a system, so that another system of its name gets another name."""
        ranges = [
            each
            for source in session.sources
            if source.name == info.source
            for each in identity_ranges(source, info)
        ]
        if ranges:
            stream.systems.add((info.system, info.source))
            name = info.recorded_name or info.system
            self._add_known(KnownSystem(info.source, info.system, name, tuple(ranges)))

    def _add_known(self, system: KnownSystem) -> None:
        key = (system.name, system.source)
        known = self._known.get(key)
        ranges = merge_ranges([*(known.ranges if known is not None else ()), *system.ranges])
        self._known[key] = replace(system, ranges=tuple(ranges))

    def _named_options(self, stream: LiveStream) -> Options:
        """Return the options for records of a stream, with the known systems.

        Identities in other growing streams have no end, because their next records have not arrived yet.
        """
        others = [other for other in self.streams if other is not stream and other.growing]
        growing_keys = {key for other in others for key in other.systems}
        known = []
        for key, system in self._known.items():
            if key in growing_keys:
                first_us, _, identity = system.ranges[-1]
                system = replace(system, ranges=(*system.ranges[:-1], (first_us, _NEVER_US, identity)))
            known.append(system)
        address = stream.feed.name if isinstance(stream.feed, PollingFeed) else None
        return replace(self.options, known=tuple(known), address=address)

    def _report_problems(self, stream: LiveStream, session: CoreSession, begin: int) -> None:
        """Report the problems of the new bytes; earlier ones are already reported."""
        for source in session.sources:
            for problem in source.problems(complete=True):
                if problem.offset is not None and problem.offset >= begin and problem.kind != "truncated":
                    self._report(replace(problem, file=stream.name, offset=None))

    def _report(self, problem: Problem) -> None:
        self.problems.append(problem)
        self._new_problems.append(problem)

    def _close(self, stream: LiveStream, segment: ClosedSegment) -> None:
        oldest_us = segment.cut.now_us - round(self.limits.measures * _SECOND_US)
        late = stream.close(segment, oldest_us)
        if late:
            detail = f"{late:,} records came after their interval was closed; its measures are without them"
            self._report(stream.problem("late", detail))
        begun_us = stream.spool.state.begun_us
        if begun_us is not None and segment.cut.now_us - begun_us >= self.limits.part * _SECOND_US:
            self._rotate_part(stream)
        self._forget()

    def _forget(self) -> None:
        """Drop data beyond the limits. Every system has its own clock, which may be set back."""
        for key, newest_us in self._newest.items():
            before = newest_us - round(self.limits.measures * _SECOND_US)
            self.measures.forget(key[0], before)
            known_intervals = self._intervals.get(key, {})
            for end in [end for end in known_intervals if end <= before]:
                del known_intervals[end]
            if (system := self._known.get(key)) is not None:
                # The last range stays, because it identifies the owner of the name.
                recent = tuple(each for each in system.ranges if each[1] > before)
                self._known[key] = replace(system, ranges=recent or system.ranges[-1:])
            for stream in self.streams:
                # One hour longer than the rows, to recognize duplicates.
                oldest = before - 3600 * _SECOND_US
                stream.ends -= {end for end in stream.ends if end[:2] == key and end[2] <= oldest}

    # -- the lake ------------------------------------------------------------------------------------

    def _prepare(self, lake: str) -> None:
        from zlens.lake.file_names import is_url
        from zlens.lake.lake_folder import LakeFolder
        from zlens.lake.manifest import known_systems

        if is_url(lake):
            raise LakeError(
                "zlens live does not write to object storage",
                file=lake,
                cure="name a folder; its data can be imported at a URL later",
            )
        folder = LakeFolder(lake)
        folder.create()
        with folder.locked():
            folder.begin()
        for known in known_systems(folder.load().inputs.values()):
            self._add_known(known)
        self._folder.mkdir(exist_ok=True)
        self._lock = (self._folder / "lock").open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LakeError(
                "another zlens live writes to this lake", file=lake, cure="end it, or name another folder"
            ) from None

    def _rotate_part(self, stream: LiveStream) -> None:
        """End the current part of a stream; with a lake, it is imported."""
        stream.spool.rotate_part(pending=self.lake is not None)
        self._start_import(stream)
        stream.spool.forget(max(round(self.limits.raw / self.limits.part), 1))

    def _start_import(self, stream: LiveStream) -> None:
        """Import pending parts in the background; failed imports are retried with the next part."""
        pending = stream.spool.state.pending
        if self.lake is not None and pending and stream.name not in self._importing:
            parts = [(number, stream.spool.part_of(number)) for number in pending]
            job = self._importer.submit(_import, parts, self.lake, self._named_options(stream))
            self._importing[stream.name] = job

    def _collect_imports(self, *, wait: bool = False) -> list[str]:
        """Record the imported parts; returns the errors of failed imports."""
        errors = []
        while jobs := [(name, job) for name, job in self._importing.items() if wait or job.done()]:
            for name, job in jobs:
                numbers, error = job.result()
                del self._importing[name]
                stream = self._streams[name]
                for number in numbers:
                    stream.spool.mark_imported(number)
                if error is None:
                    self._start_import(stream)
                else:
                    errors.append(error)
        return errors

    def finish(self) -> None:
        """Import all closed data before the program ends; after a failure, the next start imports it."""
        if self._is_failed:
            return
        if (missing := self._storage.missing(())) is not None:
            raise _missing_error(missing)
        for stream in self.streams:
            if self.lake is not None and stream.spool.state.bytes:
                self._rotate_part(stream)
        for error in self._collect_imports(wait=True):
            raise LakeError(error)

    def _restore(self, stream: LiveStream) -> None:
        """Resume a stream: load its measures from the lake, and compute its current part again."""
        state = stream.spool.state
        if not state.step:
            return
        self._start_import(stream)
        self._errors += self._collect_imports(wait=True)
        if not self._filled:
            self._filled = True
            self._load_from_lake()
        stream.ends |= {end for name in self.measures.names() for end in self.measures.ends(name)}
        if not state.bytes:
            return
        stream.options = self._named_options(stream)
        base = stream.spool.base_of(state.part)
        for path in base:
            stream.ends |= stream.form().interval_ends(os.fspath(path), stream.options)
        paths = [os.fspath(path) for path in (*base, stream.spool.part)]
        try:
            with CoreSession(paths, stream.options) as session:
                self._compute(stream, session, 0, None)
        finally:
            self._new_problems.clear()

    def _load_from_lake(self) -> None:
        """Load the measures of the last intervals from the lake."""
        if self.lake is None or not open_folder(self.lake).load().parts():
            return
        with CoreSession([self.lake], self.options) as whole:
            newest = max((info.last_us for info in whole.systems if info.last_us is not None), default=None)
        if newest is None:
            return
        start = newest / 1e6 - self.limits.measures
        since = replace(self.options, start=TimeSpec.from_utc(dt.datetime.fromtimestamp(start, dt.UTC)))
        with CoreSession([self.lake], since) as session:
            for name in self._names(session):
                result = session.sql(f"SELECT * FROM {name}")
                if name == "event":
                    self.measures.add_events(result, self.step_number)
                else:
                    self.measures.add(name, result, self.step_number, (), {}, {})
            for info in session.systems:
                self._infos[info.system, info.source] = info
                known_intervals = self._intervals.setdefault((info.system, info.source), {})
                for interval in info.intervals:
                    if interval.end_us > start * 1e6:
                        known_intervals[interval.end_us] = interval
                if known_intervals:
                    self._newest[info.system, info.source] = max(known_intervals)

    # -- the web UI ----------------------------------------------------------------------------------

    def session(self) -> CoreSession:
        """Return a session over the retained raw records and measures."""
        sources: list[Source] = []
        for stream in self._streams.values():
            sizes = {os.fspath(path): size for path in stream.spool.parts() if (size := path.stat().st_size)}
            options = self._named_options(stream)
            parts = Parts(stream.spool.state.reader, sizes, options.known, options.address)
            if parts.reader and parts.sizes:
                sources.append(RetainedSource.of(parts, self.options, self._infos, self._intervals))
        shown = {(info.system, info.source) for source in sources for info in source.systems}
        sources.append(
            RetainedSource.alone(
                [info for key, info in self._infos.items() if key not in shown],
                self._intervals,
                [*self.problems],
            )
        )
        computed = self.measures.tables(self.step_number)
        return CoreSession.from_sources(sources, replace(self.options, source=None), computed=computed)

    def system(self, system: str, source: str) -> SystemInfo | None:
        """Return the facts about a system; None if it is unknown."""
        return self._infos.get((system, source))


def _import(parts: list[tuple[int, Path]], lake: str, options: Options) -> tuple[list[int], str | None]:
    """Import numbered parts in order; returns the numbers of imported parts, and errors."""
    from zlens.lake import add
    from zlens.stores.coverage import lost_error
    from zlens.stores.rollup_builder import lost_of

    numbers: list[int] = []
    errors: list[str] = []
    for number, path in parts:
        try:
            # A part that was imported just before a crash is recognized by its digest.
            added, _ = add([path], lake, options=options)
            numbers.append(number)
            if lost := [lost for each in added for lost in lost_of(lake, each)]:
                errors.append(str(lost_error(lake, lost)))
        except (ZlensError, OSError) as error:
            errors.append(f"{lake}: {error}")
            break
    return numbers, "; ".join(errors) or None


def _missing_error(folder: Path) -> LakeError:
    return LakeError(
        "this folder of zlens live was removed or moved",
        file=str(folder),
        cure="move it back and start again, or start with another lake",
    )


def _folder_name(name: str) -> str:
    """Return the folder name of a stream, readable and unique."""
    plain = _NAME.sub("-", os.path.basename(name)).strip("-.")[:40]
    return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"
