"""Scrapes as raw tables: every sample, and rows of the samples in the catalog.

A scrape is a snapshot, or describes the interval before it if the program reports the length. Its time
comes from its timestamps, or is the date of the file.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from zlens.catalog import codes
from zlens.catalog.openmetrics import Exporter, ExporterMetric, ExporterTable, MetricLabel, load_exporter
from zlens.catalog.raw_columns import FIXED, RawColumn
from zlens.catalog.raw_tables import load_tables
from zlens.errors import InputError
from zlens.inputs.identity import IdentityRange
from zlens.inputs.options import Options
from zlens.inputs.source import Interval, InventoryRow, Progress, SystemInfo
from zlens.inputs.unix_time import LATEST_US
from zlens.readers.files import NO_END, TextSource, compare_repeat
from zlens.readers.openmetrics.text import LONGEST_S, Descriptions, labels, number, sample
from zlens.readers.row_tables import Row, RowTable, leading

MAX_LINE = 8 * 1024
MAX_SAMPLES = 2_000_000
MAX_NOTES = 100
#: An HMC manages a hundred machines, a sysplex has 32 systems.
MAX_SYSTEMS = 1_000
#: Number of unreadable lines after which a file is abandoned.
MAX_STRANGE = 100_000
#: Maximum number of bytes searched for the end of a line.
MAX_SKIPPED = 64 << 20
#: Number of first bytes of a file that are searched for a sample.
_HEAD = 64 * 1024

#: Counters of 64 bits, and all values computed from them, are below this limit.
_LARGEST = 2.0**64
_LONGEST_INT = 18


def detect(name: str, first_bytes: bytes, size: int) -> bool:
    """Return whether a file is text of one of EXPORTERS."""
    prefix = re.escape(load_exporter(name).prefix.encode())
    return re.search(rb"(?m)^(?:# (?:HELP|TYPE) )?%b[a-z0-9_]+[ {]" % prefix, first_bytes[:_HEAD]) is not None


def open_files(
    name: str, paths: list[str], options: Options, progress: Progress | None = None
) -> ScrapeSource:
    """Read scrapes of one of EXPORTERS. Raises InputError if none has a sample of a system."""
    return ScrapeSource(load_exporter(name), options).read_files(paths, progress)


class ScrapeSource(TextSource):
    """All scrapes of an input."""

    max_notes = MAX_NOTES

    def __init__(self, program: Exporter, options: Options) -> None:
        super().__init__()
        self.exporter = program
        self.name = program.name
        self._address = options.address
        self._known_systems = [system for system in options.known if system.source == program.name]
        #: Names of systems whose label another address has, too.
        self._apart: dict[str, str] = {}
        self.samples: list[Row] = []
        self._sizes: dict[str, int] = {}
        self._others: Counter[str] = Counter()
        self._seen: dict[tuple[Any, ...], str] = {}
        self._known: set[str] = set()
        self._unread_counts: Counter[str] = Counter()
        #: Lengths of intervals, by file and time, then by sysplex.
        self._lengths: dict[tuple[str, int], dict[str | None, float]] = {}

    # -- reading -------------------------------------------------------------------------------------

    def no_data(self, path: str) -> InputError:
        message = f"it contains no sample of a {self.exporter.subject}"
        return InputError(message, file=path, expected=f"lines such as {self.exporter.example}")

    def read(self, path: str, step: Callable[[int], None]) -> None:
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
                    detail = "more samples than zlens stores; not read from here on"
                    self.add_problem(path, offset, "length", detail)
                    break
                if self._noted[path] > MAX_STRANGE:
                    detail = f"more than {MAX_STRANGE:,} unreadable lines; not read from here on"
                    self.add_problem(path, offset, "length", detail)
                    break
            if os.fstat(file.fileno()).st_size != status.st_size:
                self.add_problem(path, None, "changed", "the file changed while it was read")
        if self._unread_counts[path]:
            reason = f"more than {MAX_SYSTEMS:,} {self.exporter.subject}s"
            detail = f"{reason}; {self._unread_counts[path]:,} samples of others are not read"
            self.add_problem(path, None, "length", detail)

    def _lines(self, path: str, file: Any) -> Iterator[tuple[int, str]]:
        offset = 0
        while raw := file.readline(MAX_LINE):
            start, offset = offset, offset + len(raw)
            if not raw.endswith(b"\n"):
                rest = file.readline(MAX_LINE)
                if rest:
                    while rest and not rest.endswith(b"\n"):
                        offset += len(rest)
                        if offset - start > MAX_SKIPPED:
                            detail = f"no line ends within {MAX_SKIPPED:,} bytes; not read from here on"
                            self.add_problem(path, start, "length", detail)
                            return
                        rest = file.readline(MAX_LINE)
                    offset += len(rest)
                    detail = f"a line of {offset - start:,} bytes; not read"
                    self.note(path, start, "length", detail, offset - start)
                    continue
                self.note(path, start, "truncated", NO_END, len(raw))
                return
            text = raw.decode("utf-8", "replace").strip()
            if text:
                yield start, text

    def _sample(self, path: str, offset: int, line: str, descriptions: Descriptions, date_us: int) -> None:
        program = self.exporter
        parsed = sample(line)
        if parsed is None:
            raise ValueError("a line that is not a sample")
        name = parsed.name
        if not name.startswith(program.prefix):
            self._others[name.partition("_")[0]] += 1
            return
        label_values = labels(parsed.labels)
        system = next((label_values[label] for label in program.system if label_values.get(label)), None)
        if system is None:
            raise ValueError(f"a sample without a {program.subject}")
        if system not in self._known and len(self._known) >= MAX_SYSTEMS:
            self._unread_counts[path] += 1
            return
        self._known.add(system)
        time_us = date_us if parsed.us is None else parsed.us
        if not 0 <= time_us < LATEST_US:
            raise ValueError("an invalid time")
        system = self._named_apart(system, time_us)
        value = number(parsed.value)
        if abs(value) >= _LARGEST:
            detail = f"{name} is {parsed.value[:30]}, but no value reaches 2^64; it is NULL"
            self.note(path, offset, "impossible", detail, 0)
        key = (system, time_us, name, tuple(sorted(label_values.items())))
        if key in self._seen:
            previous = self._seen[key]
            kind, difference = compare_repeat(previous == parsed.value or number(previous) == value)
            difference = difference.replace("other values", f"the value {previous[:30]}")
            detail = f"{name} was already read for the same time{difference}; not read"
            self.note(path, offset, kind, detail, len(line))
            return
        self._seen[key] = parsed.value
        if name == program.interval:
            self._add_length(path, offset, time_us, label_values.get("sysplex"), value)
        metric_type, text = descriptions.of(name)
        columns = {
            label.column.name: _cell(label, label_values[label.name], program)
            for label in program.labels
            if label_values.get(label.name) and name.startswith(label.of)
        }
        used_labels = {
            *program.system,
            *(label.name for label in program.labels if label.column.name in columns),
        }
        row: Row = dict.fromkeys(label.column.name for label in program.labels)
        row |= columns | leading(system, self.name, path, offset, time_us)
        row |= {
            "metric": name,
            "kind": metric_type,
            "labels": ", ".join(
                f"{label}={label_values[label]}" for label in sorted(label_values) if label not in used_labels
            ),
            # NaN means that the program has no value.
            "value": value if abs(value) < _LARGEST else None,
            "text": text,
        }
        self.samples.append(row)

    def _named_apart(self, label: str, time_us: int) -> str:
        """Return the name of a system: its label, or another one if the label is of another address then."""
        address = self._address
        if address is None or label in self._apart:
            return self._apart.get(label, label)
        for known in self._known_systems:
            addresses = {one.get("address") for first, last, one in known.ranges if first <= time_us <= last}
            if known.recorded_name == label and address in [one.get("address") for *_, one in known.ranges]:
                self._apart[label] = known.name
                return known.name
            if known.name == label and addresses - {None, address}:
                self._apart[label] = f"{label}-{urlsplit(address).netloc or Path(address).stem}"
        return self._apart.get(label, label)

    def identity_ranges(self, system: str) -> list[IdentityRange]:
        """Return the address of a system's scrapes, if they were polled."""
        if self._address is None:
            return []
        (info,) = [info for info in self.systems if info.system == system]
        return [(info.first_us or 0, info.last_us or 0, {"address": self._address})]

    def _add_length(self, path: str, offset: int, time_us: int, sysplex: str | None, seconds: float) -> None:
        if not 0 < seconds <= LONGEST_S:
            detail = f"the interval is {seconds:g} s long; its length is NULL"
            self.note(path, offset, "impossible", detail, 0)
            return
        self._lengths.setdefault((path, time_us), {})[sysplex] = seconds

    # -- tables --------------------------------------------------------------------------------------

    def finish(self) -> None:
        self._seen.clear()
        program = self.exporter
        rows: dict[str, dict[tuple[Any, ...], Row]] = {part: {} for part in program.parts}
        firsts: dict[tuple[Any, ...], Row] = {}
        shared: list[tuple[Row, ExporterMetric]] = []
        for sample_row in self.samples:
            sample_row["seconds"] = self._seconds(sample_row)
            if sample_row["metric"] not in program.metrics:
                continue
            metric, metric_type = program.metrics[sample_row["metric"]]
            part = program.parts[metric.part]
            cpu_type = metric_type or sample_row.get("cpu_type")
            label_values = (sample_row[label.column.name] for label in program.labels)
            first = firsts.setdefault(
                (sample_row["system"], sample_row["tod"], sample_row["metric"], *label_values), sample_row
            )
            if first is not sample_row:
                self._report_ambiguous(first, sample_row)
                continue
            if part.spread and cpu_type is None:
                shared.append((sample_row, metric))
                continue
            row = _row(rows[metric.part], sample_row, part, cpu_type)
            if row is not None:
                row.setdefault(metric.column.name, _value(sample_row, metric))
        columns = tuple(label.column for label in program.labels)
        tables = load_tables("openmetrics/scrape_tables")
        self._add_table("metric", tables.columns("metric", columns), self.samples)
        by_name = {column.name: column for column in columns}
        for name, part in program.parts.items():
            selected = rows[name]
            if part.needs is not None:
                selected = {key: row for key, row in selected.items() if row.get(part.needs)}
            if part.spread:
                _spread(selected, part.key[0], [pair for pair in shared if pair[1].part == name])
            keys = tuple(by_name[column] for column in (*part.key, *part.keep))
            self._add_table(name, (*tables.leading, *keys, *program.columns(name)), [*selected.values()])
        self._add_systems()
        for path, count in self._noted.items():
            if count > MAX_NOTES:
                detail = f"{count - MAX_NOTES:,} more problems of this file are not listed"
                self.add_problem(path, None, "section", detail)

    def _report_ambiguous(self, first: Row, duplicate: Row) -> None:
        """Report a sample that differs from another one only in labels that do not identify its subject."""
        is_same = first["value"] == duplicate["value"]
        value = "no value" if first["value"] is None else f"the value {first['value']:g}"
        difference = f"with {first['labels'] or 'fewer labels'}{'' if is_same else f' and {value}'}"
        detail = (
            f"{duplicate['metric']} was already read for the same time, {difference}; "
            f"this one is only in {self.name}_metric"
        )
        self.note(duplicate["file"], duplicate["offset"], "duplicate" if is_same else "conflict", detail, 0)

    def _add_table(self, part: str, columns: tuple[RawColumn, ...], rows: list[Row]) -> None:
        name = f"{self.name}_{part}"
        self.tables[name] = [RowTable(name, columns, rows)]

    def _seconds(self, row: Row) -> float | None:
        lengths = self._lengths.get((row["file"], row["tod"]), {})
        # A text of one sysplex need not name it in every sample.
        (only_length,) = lengths.values() if len(lengths) == 1 else (None,)
        return lengths.get(row.get("sysplex"), only_length)

    def _add_systems(self) -> None:
        times_by_system: dict[str, dict[int, float | None]] = {}
        files: dict[str, dict[str, None]] = {}
        sysplexes: dict[str, set[str]] = {}
        for row in self.samples:
            system = row["system"]
            times = times_by_system.setdefault(system, {})
            times[row["tod"]] = times.get(row["tod"]) or row["seconds"]
            files.setdefault(system, {})[row["file"]] = None
            if row.get("sysplex"):
                sysplexes.setdefault(system, set()).add(row["sysplex"])
        for system in sorted(times_by_system):
            times = times_by_system[system]
            names = sysplexes.get(system, set())
            labels_apart = (label for label, name in self._apart.items() if name == system != label)
            self.systems.append(
                SystemInfo(
                    system, self.name, sysplex=names.pop() if len(names) == 1 else None,
                    first_us=min(times), last_us=max(times), files=list(files[system]),
                    recorded_name=next(labels_apart, None),
                    known=[Interval(time, times[time]) for time in sorted(times)],
                )
            )  # fmt: skip

    # -- the source interface ------------------------------------------------------------------------

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return one row per file, system and metric."""
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
        systems: dict[str, dict[str, None]] = {}
        for row in self.samples:
            systems.setdefault(row["file"], {})[row["system"]] = None
        return [
            {
                "format": self.exporter.title,
                "path": path,
                "bytes": size,
                "system": ", ".join(systems.get(path, {})) or None,
                "times": "timestamps of the samples, otherwise the date of the file",
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
    if metric.codes is not None:
        return codes.words(metric.codes).get(str(value).removesuffix(".0"))
    return bool(value) if metric.column.type == "bool" else round(value * metric.scale, 9)


def _row(
    rows: dict[tuple[Any, ...], Row], sample_row: Row, part: ExporterTable, cpu_type: str | None
) -> Row | None:
    """Return the row of a sample; None if a label that identifies its subject is missing."""
    typed = sample_row | {"cpu_type": cpu_type} if cpu_type else sample_row
    if part.key and typed.get(part.key[0]) is None:
        return None
    key = (sample_row["system"], sample_row["tod"], *(typed.get(name) for name in part.key))
    row = rows.get(key)
    if row is None:
        names = (*part.key, *part.keep, *FIXED)
        row = rows[key] = {name: typed.get(name) for name in names}
    return row


def _spread(rows: dict[tuple[Any, ...], Row], subject: str, shared: list[tuple[Row, ExporterMetric]]) -> None:
    """Copy values of entire subjects to the rows of their processor types."""
    rows_of: dict[tuple[Any, ...], list[Row]] = {}
    for key, row in rows.items():
        rows_of.setdefault(key[:3], []).append(row)
    for sample_row, metric in shared:
        subject_rows = rows_of.get((sample_row["system"], sample_row["tod"], sample_row[subject]), [])
        if metric.alone and len(subject_rows) > 1:
            continue
        for row in subject_rows:
            row.setdefault(metric.column.name, _value(sample_row, metric))
