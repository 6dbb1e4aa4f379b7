"""Tests of numbers that no machine prints, in every text format that zlens reads."""

from __future__ import annotations

import math
import random
import re
import runpy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from iterations import draws, iterations
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import KINDS
from zlens.readers.linux import counters, sysinfo
from zlens.readers.openmetrics import dds, hmc
from zlens.readers.rmf import monitor3, postprocessor
from zlens.readers.throughput import table
from zlens.readers.zos import text

FUZZ = Path(__file__).parents[2] / "fuzz" / "texts.py"
READERS = {
    "linux_counters": counters,
    "sysinfo": sysinfo,
    "hmc": hmc,
    "dds": dds,
    "rmf_xml": postprocessor,
    "rmf_monitor3": monitor3,
    "zos_text": text,
}
NUMBERS = (
    *("1e308", "1e400", "-1e308", "inf", "nan", "9" * 400, "9" * 400 + ".00", "9" * 5000, "F" * 5000),
    *("99999999999999999999", "\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT FIVE}", "-1", "1_000", "0x10"),
)
_NUMBER = re.compile(rb"\d[\d.]*")


@pytest.fixture(scope="module")
def seeds() -> dict[str, Any]:
    found: dict[str, Any] = runpy.run_path(str(FUZZ))["seeds"]()
    return found


def damaged(corpus: list[bytes], chance: random.Random) -> bytes:
    """Return an input with one number, all equal numbers, or a column of numbers replaced."""
    data = chance.choice(corpus)
    number = chance.choice(NUMBERS).encode()
    places = list(_NUMBER.finditer(data))
    place = chance.choice(places)
    if chance.random() < 0.1:
        return data.replace(place[0], number)
    return data[: place.start()] + number + data[place.end() :]


@pytest.mark.parametrize("target", READERS)
def test_text_numbers_are_finite(seeds: dict[str, Any], tmp_path: Path, target: str) -> None:
    chance = draws(target)
    corpus = [data for data in seeds[target][1] if not data.startswith(b"\x1f\x8b")]
    path = tmp_path / "input.txt"
    for _ in range(iterations(3000, 150)):
        path.write_bytes(damaged(corpus, chance))
        try:
            source = READERS[target].open_files([str(path)], Options())
        except InputError:
            continue
        assert all(problem.kind in KINDS for problem in source.problems(complete=True))
        for one in (one for tables in source.tables.values() for one in tables):
            rows = pa.table(one.stream([column.name for column in one.columns]))
            for name, column in zip(rows.column_names, rows.columns, strict=True):
                if pa.types.is_floating(column.type):
                    assert all(math.isfinite(value) for value in column.drop_null().to_pylist()), name
                if pa.types.is_timestamp(column.type):
                    # Python's years are 1 to 9999.
                    column.to_pylist()


def test_throughput_numbers_are_finite(seeds: dict[str, Any], tmp_path: Path) -> None:
    chance = draws(0)
    path = tmp_path / "input.csv"
    for _ in range(iterations(3000, 300)):
        path.write_bytes(damaged(seeds["throughput"][1], chance))
        try:
            found = table.read(str(path))
        except InputError:
            continue
        assert all(0 <= row.start_us < row.end_us < 2**53 for row in found.rows)
