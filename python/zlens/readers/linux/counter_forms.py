"""Formats of counters of Linux, each recognized by the beginning of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from zlens.readers.linux import lshwc, lspai, perf
from zlens.readers.linux.lshwc import Facility
from zlens.readers.linux.perf import Lines, Note, PerfReading

TITLES = {
    "perf-text": "perf stat",
    "perf-csv": "perf stat -x",
    "perf-json": "perf stat -j",
    "lshwc-csv": "lshwc, CSV",
    "lshwc-json": "lshwc, JSON",
    "lshwc-pairs": "lshwc, pairs",
    "lspai-csv": "lspai, CSV",
    "lspai-json": "lspai, JSON",
    "facility": "lscpumf or /proc/service_levels",
}
#: Formats that are read at once, because JSON is one object.
TEXTS = frozenset({"lshwc-json", "lshwc-pairs", "lspai-json"})
#: Formats in which each line is a row of counter values.
ROWS = frozenset({"lshwc-csv", "lspai-csv", "perf-csv"})

#: In order of recognition; metrics without counts are of no format.
_FORMS: tuple[tuple[str | None, Callable[[str], bool]], ...] = (
    ("lshwc-json", lshwc.is_json),
    ("lspai-json", lspai.is_json),
    ("lspai-csv", lspai.is_csv),
    ("lshwc-pairs", lshwc.is_pairs),
    (None, perf.is_metric_only),
    ("perf-json", perf.is_json),
    ("lshwc-csv", lshwc.is_csv),
    ("facility", lshwc.is_facility),
    ("perf-text", perf.is_text),
    ("perf-csv", lambda text: perf.separator(text) is not None),
)


def form_of(first_bytes: bytes) -> str | None:
    """Return the format of a file from its first bytes, None if it is another one."""
    # A system crash leaves zeros at the end of a file being written.
    first_bytes = first_bytes.rstrip(b"\0")
    if b"\0" in first_bytes:
        return None
    text = beginning(first_bytes)
    if not text.strip() or text.count("\ufffd") > len(text) // 50:
        return None
    return next((form for form, has_form in _FORMS if has_form(text)), None)


def beginning(first_bytes: bytes) -> str:
    """Return the first bytes of a file as text."""
    return first_bytes.decode("utf-8", "replace").lstrip("\ufeff")


def text_readings(form: str, text: str, note: Note) -> tuple[Facility, Iterator[PerfReading]]:
    """Return the facility and the readings of a text in one of TEXTS."""
    if form == "lspai-json":
        return Facility(), lspai.json_readings(text, note)
    return lshwc.json_readings(text, note) if form == "lshwc-json" else lshwc.pairs(text, note)


def line_readings(
    form: str, first_bytes: bytes, lines: Lines, note: Note
) -> tuple[Facility, Iterator[PerfReading]]:
    """Return the facility and the readings of lines in any other format."""
    if form == "facility":
        return lshwc.facility(lines, note), iter(())
    if form == "lshwc-csv":
        hexadecimal = lshwc.is_hexadecimal(beginning(first_bytes))
        return Facility(), lshwc.csv_readings(lines, note, hexadecimal=hexadecimal)
    if form == "perf-csv":
        by = perf.separator(beginning(first_bytes)) or ","
        return Facility(), perf.separated_readings(lines, note, by)
    read = {"lspai-csv": lspai.csv_readings, "perf-text": perf.text_readings, "perf-json": perf.json_readings}
    return Facility(), read[form](lines, note)
