"""Scrapes as raw tables: every sample, and rows of the samples that the catalog knows.

A scrape describes one moment, or the interval that ends there if the program says how long that is: its time
stamps, or the date of the file if it has none.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from zlens.catalog.openmetrics import Exporter, ExporterMetric, ExporterTable, MetricLabel, load_exporter
from zlens.catalog.raw_columns import FIXED, RawColumn
from zlens.catalog.raw_tables import load_tables
from zlens.errors import InputError
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, Progress, RawTable, SystemInfo
from zlens.readers.files import NO_END, read_error
from zlens.readers.openmetrics.text import LONGEST_S, Descriptions, labels, number, sample
from zlens.readers.row_tables import Row, RowTable

MAX_LINE = 8 * 1024
MAX_SAMPLES = 2_000_000
MAX_NOTES = 100
#: An HMC manages a hundred machines, a sysplex has 32 systems.
MAX_SYSTEMS = 1_000
#: Number of unreadable lines after which a file is abandoned.
MAX_STRANGE = 100_000
#: Maximum distance searched for the end of a line.
MAX_SKIPPED = 64 << 20
#: Bytes of a file in which a first sample is searched.
_HEAD = 64 * 1024

#: Counters of 64 bits stay below this; so does everything that is computed from them.
_LARGEST = 2.0**64
#: Microseconds at the beginning of the year 2200.
_LATEST_US = 7_258_118_400_000_000
_LONGEST_INT = 18


def detect(name: str, head: bytes) -> bool:
    """Return whether a file is text of one of EXPORTERS."""
    prefix = re.escape(load_exporter(name).prefix.encode())
    return re.search(rb"(?m)^(?:# (?:HELP|TYPE) )?" + prefix + rb"[a-z0-9_]+[ {]", head[:_HEAD]) is not None


def open_files(name: str, paths: list[str], progress: Progress | None = None) -> ScrapeSource:
    """Read scrapes of one of EXPORTERS. Raises InputError if none has a sample of a system."""
    source = ScrapeSource(load_exporter(name))
    error: InputError | None = None
    for done, path in enumerate(paths):
        try:
            source.read(path)
        except OSError as failure:
            refused = read_error(path, failure)
            error = error or refused
            source.note(path, None, "changed", refused.message, None)
        if progress is not None:
            progress(done + 1, len(paths), path)
    if not source.samples:
        raise error or InputError(
            f"it contains no sample of a {source.exporter.subject}",
            file=paths[0],
            expected=f"lines such as {source.exporter.example}",
        )
    source.finish()
    return source


class ScrapeSource:
    """All scrapes of an input."""

    def __init__(self, program: Exporter) -> None:
        self.exporter = program
        self.name = program.name
        self.systems: list[SystemInfo] = []
        self.tables: dict[str, list[RawTable]] = {}
        self.samples: list[Row] = []
        self._problems: list[Problem] = []
        self._notes: Counter[str] = Counter()
        self._sizes: dict[str, int] = {}
        self._others: Counter[str] = Counter()
        self._seen: dict[tuple[Any, ...], str] = {}
        self._known: set[str] = set()
        self._crowded: Counter[str] = Counter()
        #: Lengths of intervals, by file and moment, then by sysplex.
        self._lengths: dict[tuple[str, int], dict[str | None, float]] = {}

    # -- reading -------------------------------------------------------------------------------------

    def note(self, path: str, offset: int | None, kind: str, detail: str, lost: int | None) -> None:
        self._notes[path] += 1
        if self._notes[path] <= MAX_NOTES:
            self._problems.append(Problem(None, self.name, path, offset, None, kind, detail, lost))

    def read(self, path: str) -> None:
        """Read a scrape."""
        descriptions = Descriptions()
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            self._sizes[path] = status.st_size
            for offset, line in self._lines(path, file):
                if line.startswith("#"):
                    descriptions.add(line)
                    continue
                try:
                    self._sample(path, offset, line, descriptions, status.st_mtime_ns // 1000)
                except ValueError as error:
                    lost = len(line.encode())
                    self.note(path, offset, "header", f"{error}: {line[:60]!r}; not read", lost)
                if len(self.samples) >= MAX_SAMPLES:
                    self._add_problem(
                        path, offset, "length", "more samples than zlens keeps; not read from here on"
                    )
                    break
                if self._notes[path] > MAX_STRANGE:
                    detail = f"more than {MAX_STRANGE:,} unreadable lines; not read from here on"
                    self._add_problem(path, offset, "length", detail)
                    break
            if os.fstat(file.fileno()).st_size != status.st_size:
                self._add_problem(path, None, "changed", "the file changed while it was read")
        if self._crowded[path]:
            what = f"more than {MAX_SYSTEMS:,} {self.exporter.subject}s"
            detail = f"{what}; {self._crowded[path]:,} samples of others are not read"
            self._add_problem(path, None, "length", detail)

    def _add_problem(self, path: str, offset: int | None, kind: str, detail: str) -> None:
        self._problems.append(Problem(None, self.name, path, offset, None, kind, detail, None))

    def _lines(self, path: str, file: Any) -> Iterator[tuple[int, str]]:
        offset = 0
        while raw := file.readline(MAX_LINE):
            begin, offset = offset, offset + len(raw)
            if not raw.endswith(b"\n"):
                rest = file.readline(MAX_LINE)
                if rest:
                    while rest and not rest.endswith(b"\n"):
                        offset += len(rest)
                        if offset - begin > MAX_SKIPPED:
                            detail = f"no line ends within {MAX_SKIPPED:,} bytes; not read from here on"
                            self._add_problem(path, begin, "length", detail)
                            return
                        rest = file.readline(MAX_LINE)
                    offset += len(rest)
                    self.note(
                        path, begin, "length", f"a line of {offset - begin:,} bytes; not read", offset - begin
                    )
                    continue
                self.note(path, begin, "truncated", NO_END, len(raw))
                return
            text = raw.decode("utf-8", "replace").strip()
            if text:
                yield begin, text

    def _sample(self, path: str, offset: int, line: str, descriptions: Descriptions, date_us: int) -> None:
        program = self.exporter
        found = sample(line)
        if found is None:
            raise ValueError("a line that is not a sample")
        name = found.name
        if not name.startswith(program.prefix):
            self._others[name.partition("_")[0]] += 1
            return
        named = labels(found.labels)
        system = next((named[label] for label in program.system if named.get(label)), None)
        if system is None:
            raise ValueError(f"a sample without a {program.subject}")
        if system not in self._known and len(self._known) >= MAX_SYSTEMS:
            self._crowded[path] += 1
            return
        self._known.add(system)
        moment = date_us if found.us is None else found.us
        if not 0 <= moment < _LATEST_US:
            raise ValueError("an impossible time")
        value = number(found.value)
        if abs(value) >= _LARGEST:
            detail = f"{name} is {found.value[:30]}, but no value reaches 2^64; it is NULL"
            self.note(path, offset, "impossible", detail, 0)
        key = (system, moment, name, tuple(sorted(named.items())))
        if key in self._seen:
            before = self._seen[key]
            same = before == found.value or number(before) == value
            what = "" if same else f" with the value {before[:30]}"
            detail = f"{name} was already read for the same moment{what}; not read"
            self.note(path, offset, "duplicate" if same else "conflict", detail, len(line))
            return
        self._seen[key] = found.value
        if name == program.interval:
            self._add_length(path, offset, moment, named.get("sysplex"), value)
        kind, text = descriptions.of(name)
        columns = {
            label.column.name: _cell(label, named[label.name], program)
            for label in program.labels
            if named.get(label.name) and name.startswith(label.of)
        }
        taken = {*program.system, *(label.name for label in program.labels if label.column.name in columns)}
        row: Row = dict.fromkeys(label.column.name for label in program.labels)
        row |= columns
        row |= {
            "system": system,
            "source": self.name,
            "file": path,
            "offset": offset,
            "tod": moment,
            "interval_end": moment,
            "metric": name,
            "kind": kind,
            "labels": ", ".join(f"{label}={named[label]}" for label in sorted(named) if label not in taken),
            # NaN is what the program knows no value of.
            "value": value if abs(value) < _LARGEST else None,
            "text": text,
        }
        self.samples.append(row)

    def _add_length(self, path: str, offset: int, moment: int, sysplex: str | None, seconds: float) -> None:
        if not 0 < seconds <= LONGEST_S:
            detail = f"the interval is {seconds:g} s long; its length is NULL"
            self.note(path, offset, "impossible", detail, 0)
            return
        self._lengths.setdefault((path, moment), {})[sysplex] = seconds

    # -- tables --------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Build the tables and the list of systems."""
        self._seen.clear()
        program = self.exporter
        rows: dict[str, dict[tuple[Any, ...], Row]] = {part: {} for part in program.parts}
        firsts: dict[tuple[Any, ...], Row] = {}
        shared: list[tuple[Row, ExporterMetric]] = []
        for each in self.samples:
            each["seconds"] = self._seconds(each)
            metric = program.metrics.get(each["metric"])
            if metric is None:
                continue
            part = program.parts[metric.part]
            cpu_type = metric.cpu_type or each.get("cpu_type")
            named = (each[label.column.name] for label in program.labels)
            first = firsts.setdefault((each["system"], each["tod"], each["metric"], *named), each)
            if first is not each:
                self._note_again(first, each)
                continue
            if part.spread and cpu_type is None:
                shared.append((each, metric))
                continue
            row = _row(rows[metric.part], each, part, cpu_type)
            if row is not None:
                row.setdefault(metric.column, _value(each, metric))
        columns = tuple(label.column for label in program.labels)
        tables = load_tables("openmetrics/scrape_tables")
        self._add_table("metric", tables.columns("metric", columns), self.samples)
        by_name = {column.name: column for column in columns}
        for name, part in program.parts.items():
            kept = rows[name]
            if part.needs is not None:
                kept = {key: row for key, row in kept.items() if row.get(part.needs)}
            if part.spread:
                _spread(kept, part.key[0], [pair for pair in shared if pair[1].part == name])
            keys = tuple(by_name[column] for column in (*part.key, *part.keep))
            self._add_table(name, (*tables.leading, *keys, *part.columns), [*kept.values()])
        self._add_systems()
        for path, count in self._notes.items():
            if count > MAX_NOTES:
                detail = f"{count - MAX_NOTES:,} more problems of this file are not listed"
                self._add_problem(path, None, "section", detail)

    def _note_again(self, first: Row, again: Row) -> None:
        """Note a sample that differs from one shown only in labels that say nothing of what it is of."""
        same = first["value"] == again["value"]
        value = "no value" if first["value"] is None else f"the value {first['value']:g}"
        others = f"with {first['labels'] or 'fewer labels'}{'' if same else f' and {value}'}"
        detail = (
            f"{again['metric']} was already read for the same moment, {others}; "
            f"this one is only in {self.name}_metric"
        )
        self.note(again["file"], again["offset"], "duplicate" if same else "conflict", detail, 0)

    def _add_table(self, part: str, columns: tuple[RawColumn, ...], rows: list[Row]) -> None:
        name = f"{self.name}_{part}"
        self.tables[name] = [RowTable(name, columns, rows)]

    def _seconds(self, row: Row) -> float | None:
        lengths = self._lengths.get((row["file"], row["tod"]), {})
        # A text of one sysplex need not name it in every sample.
        (alone,) = lengths.values() if len(lengths) == 1 else (None,)
        return lengths.get(row.get("sysplex"), alone)

    def _add_systems(self) -> None:
        moments: dict[str, dict[int, float | None]] = {}
        files: dict[str, dict[str, None]] = {}
        sysplexes: dict[str, set[str]] = {}
        for row in self.samples:
            system = row["system"]
            times = moments.setdefault(system, {})
            times[row["tod"]] = times.get(row["tod"]) or row["seconds"]
            files.setdefault(system, {})[row["file"]] = None
            if row.get("sysplex"):
                sysplexes.setdefault(system, set()).add(row["sysplex"])
        for system in sorted(moments):
            times = moments[system]
            named = sysplexes.get(system, set())
            self.systems.append(
                SystemInfo(
                    system,
                    self.name,
                    sysplex=named.pop() if len(named) == 1 else None,
                    first_us=min(times),
                    last_us=max(times),
                    files=list(files[system]),
                    known=[Interval(time, times[time]) for time in sorted(times)],
                )
            )

    # -- the source interface ------------------------------------------------------------------------

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """What could not be read; complete once the texts are read."""
        return list(self._problems)

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        """Always empty: counter values are kept as is."""
        return []

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """One row per file, system and metric."""
        times_by_metric: dict[tuple[str, str, str], list[int]] = {}
        for row in self.samples:
            times_by_metric.setdefault((row["file"], row["system"], row["metric"]), []).append(row["tod"])
        texts = {row["metric"]: row["text"] for row in self.samples}
        return [
            InventoryRow(
                system, self.name, file, None, None, metric, texts[metric] or "", "sample", len(times), None,
                min(times), max(times), layout=self.name,
            )
            for (file, system, metric), times in sorted(times_by_metric.items())
        ]  # fmt: skip

    def info(self) -> list[dict[str, Any]]:
        """One object per file."""
        systems: dict[str, dict[str, None]] = {}
        for row in self.samples:
            systems.setdefault(row["file"], {})[row["system"]] = None
        return [
            {
                "format": self.exporter.title,
                "path": path,
                "bytes": size,
                "system": ", ".join(systems.get(path, {})) or None,
                "times": "time stamps of the samples, otherwise the date of the file",
                "others": ", ".join(f"{count} of {name}" for name, count in self._others.items()) or None,
            }
            for path, size in self._sizes.items()
        ]


def _cell(label: MetricLabel, value: str, program: Exporter) -> str | int | None:
    if label.types:
        return program.types.get(value.lower(), value.upper())
    if label.column.type == "int":
        return int(value) if value.isascii() and value.isdigit() and len(value) <= _LONGEST_INT else None
    return value


def _value(row: Row, metric: ExporterMetric) -> Any:
    value = row["value"]
    if value is None or value == metric.none:
        return None
    if metric.words is not None:
        return metric.words.get(str(value).removesuffix(".0"))
    return bool(value) if metric.kind == "bool" else round(value * metric.scale, 9)


def _row(
    rows: dict[tuple[Any, ...], Row], each: Row, part: ExporterTable, cpu_type: str | None
) -> Row | None:
    """The row a sample belongs to; None: the sample lacks what identifies it."""
    typed = each | {"cpu_type": cpu_type} if cpu_type else each
    if part.key and typed.get(part.key[0]) is None:
        return None
    key = (each["system"], each["tod"], *(typed.get(name) for name in part.key))
    row = rows.get(key)
    if row is None:
        names = (*part.key, *part.keep, *FIXED)
        row = rows[key] = {name: typed.get(name) for name in names}
    return row


def _spread(rows: dict[tuple[Any, ...], Row], subject: str, shared: list[tuple[Row, ExporterMetric]]) -> None:
    """Copy values of whole subjects to the rows of their processor types."""
    rows_of: dict[tuple[Any, ...], list[Row]] = {}
    for key, row in rows.items():
        rows_of.setdefault(key[:3], []).append(row)
    for each, metric in shared:
        alike = rows_of.get((each["system"], each["tod"], each[subject]), [])
        if metric.alone and len(alike) > 1:
            continue
        for row in alike:
            row.setdefault(metric.column, _value(each, metric))
