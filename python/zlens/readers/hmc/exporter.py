"""Prometheus text of an HMC exporter: one or more saved scrapes.

A scrape describes one moment: its time stamps, or the date of the file if it has none. The system is the
machine, under its name on the HMC.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from zlens.catalog.columns import Column
from zlens.catalog.hmc import PARTS, Metric, facts
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, Progress, RawTable, SystemInfo
from zlens.readers.files import NO_END, unreadable
from zlens.readers.rows import Row, RowTable

NAME = "hmc"

#: Prefix of the metrics of the exporter.
PREFIX = "zhmc_"

MAX_LINE = 8 * 1024
MAX_SAMPLES = 2_000_000
MAX_NOTES = 100
#: An HMC manages a hundred machines.
MAX_MACHINES = 1_000
#: Number of unreadable lines after which a file is abandoned.
MAX_STRANGE = 100_000
#: Maximum distance searched for the end of a line.
MAX_SKIPPED = 64 << 20

#: Counters of 64 bits stay below this; so does everything that is computed from them.
_LARGEST = 2.0**64
#: Microseconds at the beginning of the year 2200.
_LATEST_US = 7_258_118_400_000_000

HEADER = (
    Column("system", "text", "", "machine, under its name on the HMC"),
    Column("source", "text", "", "source of the data"),
    Column("file", "text", "", "file"),
    Column("offset", "int", "bytes", "position of the line in the file"),
    Column("tod", "time", "", "time stamp of the sample, otherwise the date of the file, UTC"),
    Column("interval_end", "time", "", "same as tod"),
    Column("seconds", "float", "s", "NULL: the row describes one moment"),
    Column("flag", "text", "", "NULL"),
)

_METRIC = (
    *HEADER,
    Column("metric", "text", "", "name of the metric"),
    Column("kind", "text", "", "gauge or counter"),
    Column("partition", "text", "", "partition of the sample"),
    Column("processor", "text", "", "processor of the sample"),
    Column("cpu_type", "text", "", "type of that processor"),
    Column("labels", "text", "", "other labels: name=value, sorted by name"),
    Column("value", "float", "", "value"),
    Column("text", "text", "", "description from the exporter"),
)

_KEYS = {
    "partition": (
        Column("partition", "text", "", "name of the partition"),
        Column("cpu_type", "text", "", "type of the processors"),
    ),
    "processor": (
        Column("processor", "text", "", "name of the processor"),
        Column("cpu_type", "text", "", "type of the processor; SAP and IFP as the HMC names them"),
    ),
    "pool": (Column("cpu_type", "text", "", "type of the processors"),),
}

_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(\{.*\})?\s+(\S+)(?:\s+(-?\d{1,16}))?\s*\Z")
_LABEL = re.compile(r'\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|\Z)')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
_TAKEN = {"cpc", "partition", "processor"}


def detect(head: bytes, size: int) -> bool:
    """Return whether a file is text of this exporter."""
    return re.search(rb"(?m)^(?:# (?:HELP|TYPE) )?zhmc_[a-z0-9_]+[ {]", head[:65536]) is not None


def sample_time(line: str) -> int | None:
    """The time stamp of a sample in microseconds, 0 if it has none; None: this is not a sample."""
    match = _SAMPLE.match(line)
    if match is None:
        return None
    return int(match[4]) * 1000 if match[4] else 0


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> HmcSource:
    """Read scrapes. Raises InputError if none has a sample of a machine."""
    source = HmcSource()
    error: InputError | None = None
    for done, path in enumerate(paths):
        try:
            source.read(path)
        except OSError as failure:
            refused = unreadable(path, failure)
            error = error or refused
            source.note(path, None, "changed", refused.message, None)
        if progress is not None:
            progress(done + 1, len(paths), path)
    if not source.samples:
        raise error or InputError(
            "it contains no sample of a machine",
            file=paths[0],
            expected='lines such as zhmc_cpc_power_watts{cpc="A"} 1.0',
        )
    source.finish()
    return source


class HmcSource:
    """All scrapes of an input."""

    name = NAME

    def __init__(self) -> None:
        self.systems: list[SystemInfo] = []
        self.tables: dict[str, list[RawTable]] = {}
        self.samples: list[Row] = []
        self._problems: list[Problem] = []
        self._notes: Counter[str] = Counter()
        self._sizes: dict[str, int] = {}
        self._others: Counter[str] = Counter()
        self._seen: dict[tuple[Any, ...], str] = {}
        self._machines: set[str] = set()
        self._crowded: Counter[str] = Counter()

    # -- reading -------------------------------------------------------------------------------------

    def note(self, path: str, offset: int | None, kind: str, detail: str, lost: int | None) -> None:
        self._notes[path] += 1
        if self._notes[path] <= MAX_NOTES:
            self._problems.append(Problem(None, NAME, path, offset, None, kind, detail, lost))

    def read(self, path: str) -> None:
        """Read a scrape."""
        descriptions: dict[str, tuple[str | None, str | None]] = {}
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            self._sizes[path] = status.st_size
            for offset, line in self._lines(path, file):
                if line.startswith("#"):
                    _describe(descriptions, line)
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
            detail = (
                f"more than {MAX_MACHINES:,} machines; {self._crowded[path]:,} samples of others are not read"
            )
            self._add_problem(path, None, "length", detail)
        if self._notes[path] > MAX_NOTES:
            detail = f"{self._notes[path] - MAX_NOTES:,} more problems of this file are not listed"
            self._add_problem(path, None, "section", detail)

    def _add_problem(self, path: str, offset: int | None, kind: str, detail: str) -> None:
        self._problems.append(Problem(None, NAME, path, offset, None, kind, detail, None))

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

    def _sample(
        self,
        path: str,
        offset: int,
        line: str,
        descriptions: dict[str, tuple[str | None, str | None]],
        date_us: int,
    ) -> None:
        match = _SAMPLE.match(line)
        if not match:
            raise ValueError("a line that is not a sample")
        name = match[1]
        if not name.startswith(PREFIX):
            self._others[name.partition("_")[0]] += 1
            return
        labels = _labels(match[2] or "")
        machine = labels.get("cpc")
        if not machine:
            raise ValueError("a sample without a machine")
        if machine not in self._machines and len(self._machines) >= MAX_MACHINES:
            self._crowded[path] += 1
            return
        self._machines.add(machine)
        moment = int(match[4]) * 1000 if match[4] else date_us
        if not 0 <= moment < _LATEST_US:
            raise ValueError("an impossible time")
        value = _number(match[3])
        if abs(value) >= _LARGEST:
            detail = f"{name} is {match[3][:30]}, but no value reaches 2^64; it is NULL"
            self.note(path, offset, "impossible", detail, 0)
        key = (machine, moment, name, tuple(sorted(labels.items())))
        if key in self._seen:
            known = self._seen[key]
            same = known == match[3] or _number(known) == value
            what = "" if same else f" with the value {known[:30]}"
            detail = f"{name} was already read for the same moment{what}; not read"
            self.note(path, offset, "duplicate" if same else "conflict", detail, len(line))
            return
        self._seen[key] = match[3]
        kind, text = descriptions.get(name, (None, None))
        processor = name.startswith(f"{PREFIX}processor_")
        self.samples.append(
            {
                "system": machine,
                "source": NAME,
                "file": path,
                "offset": offset,
                "tod": moment,
                "interval_end": moment,
                "metric": name,
                "kind": kind,
                "partition": labels.get("partition"),
                "processor": labels.get("processor"),
                "cpu_type": _type(labels["type"]) if processor and labels.get("type") else None,
                "labels": ", ".join(
                    f"{label}={value}"
                    for label, value in sorted(labels.items())
                    if label not in _TAKEN and not (processor and label == "type")
                ),
                # NaN is what the exporter knows no value of.
                "value": value if abs(value) < _LARGEST else None,
                "text": text,
            }
        )

    # -- tables --------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Build the tables and the list of machines."""
        self._seen.clear()
        catalog = facts()
        rows: dict[str, dict[tuple[Any, ...], Row]] = {part: {} for part in PARTS}
        shared: list[tuple[Row, Metric]] = []
        for sample in self.samples:
            metric = catalog.metrics.get(sample["metric"])
            if metric is None:
                continue
            if metric.part == "partition" and metric.cpu_type is None:
                shared.append((sample, metric))
                continue
            row = _row(rows[metric.part], sample, metric.cpu_type or sample["cpu_type"])
            row[metric.column] = _value(sample, metric)
        partitions = {key: row for key, row in rows["partition"].items() if row.get("processors")}
        _spread(partitions, shared)
        rows["partition"] = partitions
        rows["pool"] = {key: row for key, row in rows["pool"].items() if row.get("processors")}
        self.tables["hmc_metric"] = [RowTable("hmc_metric", _METRIC, self.samples)]
        for part in PARTS:
            columns = (*HEADER, *_KEYS[part], *catalog.columns[part])
            self.tables[f"hmc_{part}"] = [RowTable(f"hmc_{part}", columns, list(rows[part].values()))]
        self._add_systems()

    def _add_systems(self) -> None:
        moments: dict[str, set[int]] = {}
        files: dict[str, dict[str, None]] = {}
        for sample in self.samples:
            moments.setdefault(sample["system"], set()).add(sample["tod"])
            files.setdefault(sample["system"], {})[sample["file"]] = None
        for system in sorted(moments):
            times = sorted(moments[system])
            self.systems.append(
                SystemInfo(
                    system,
                    NAME,
                    first_us=times[0],
                    last_us=times[-1],
                    files=list(files[system]),
                    known=[Interval(time, None) for time in times],
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
        """One row per file, machine and metric."""
        times_by_metric: dict[tuple[str, str, str], list[int]] = {}
        for sample in self.samples:
            times_by_metric.setdefault((sample["file"], sample["system"], sample["metric"]), []).append(
                sample["tod"]
            )
        texts = {sample["metric"]: sample["text"] for sample in self.samples}
        return [
            InventoryRow(
                system, NAME, file, None, None, metric, texts[metric] or "", "sample", len(times), None,
                min(times), max(times), layout="hmc",
            )
            for (file, system, metric), times in sorted(times_by_metric.items())
        ]  # fmt: skip

    def info(self) -> list[dict[str, Any]]:
        """One object per file."""
        machines: dict[str, dict[str, None]] = {}
        for sample in self.samples:
            machines.setdefault(sample["file"], {})[sample["system"]] = None
        return [
            {
                "format": "Prometheus text of an HMC exporter",
                "path": path,
                "bytes": size,
                "system": ", ".join(machines.get(path, {})) or None,
                "times": "time stamps of the samples, otherwise the date of the file",
                "others": ", ".join(f"{count} of {name}" for name, count in self._others.items()) or None,
            }
            for path, size in self._sizes.items()
        ]


def _describe(descriptions: dict[str, tuple[str | None, str | None]], line: str) -> None:
    words = line.split(maxsplit=3)
    if len(words) == 4 and words[1] in ("HELP", "TYPE") and len(descriptions) < 10_000:
        kind, text = descriptions.get(words[2], (None, None))
        descriptions[words[2]] = (kind, words[3]) if words[1] == "HELP" else (words[3], text)


def _labels(text: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    inner = text[1:-1]
    position = 0
    while position < len(inner):
        label = _LABEL.match(inner, position)
        if not label or label[1] in labels:
            raise ValueError("malformed labels")
        labels[label[1]] = re.sub(r'\\[\\"n]', lambda escape: _ESCAPES[escape[0]], label[2])
        position = label.end()
    return labels


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("a value that is not a number") from None


def _type(label: str) -> str:
    return facts().types.get(label, label.upper())


def _value(sample: Row, metric: Metric) -> Any:
    value = sample["value"]
    if value is None or value == metric.none:
        return None
    return bool(value) if metric.kind == "bool" else round(value * metric.scale, 9)


def _row(rows: dict[tuple[Any, ...], Row], sample: Row, cpu_type: str | None) -> Row:
    key = (sample["system"], sample["tod"], sample["partition"], sample["processor"], cpu_type)
    row = rows.get(key)
    if row is None:
        names = ("partition", "processor", *(column.name for column in HEADER))
        row = rows[key] = {name: sample.get(name) for name in names} | {"cpu_type": cpu_type}
    return row


def _spread(partitions: dict[tuple[Any, ...], Row], shared: list[tuple[Row, Metric]]) -> None:
    """Copy metrics of whole partitions to the rows of their processor types."""
    rows_of: dict[tuple[Any, ...], list[Row]] = {}
    for key, row in partitions.items():
        rows_of.setdefault(key[:3], []).append(row)
    for sample, metric in shared:
        rows = rows_of.get((sample["system"], sample["tod"], sample["partition"]), [])
        if metric.alone and len(rows) > 1:
            continue
        for row in rows:
            row.setdefault(metric.column, _value(sample, metric))
