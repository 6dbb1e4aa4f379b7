"""Tests of counters measured on real machines against the output of perf and lshwc.

The counts are sample data, which is not part of the repository: without it the tests are skipped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import zlens
from samples import needs, sample

SAMPLE = sample("cpumf/linux-measured-counters.json")

pytestmark = needs(SAMPLE)

#: Column and printed digits by perf metric name.
METRICS = {"l4rp": ("l4rp", 2)}


def published() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(SAMPLE.read_text(encoding="utf-8"))
    return found


def measured(machine: str) -> dict[str, Any]:
    return next(each for each in published() if each["machine"] == machine and "counters" in each)


def text(counters: dict[str, int]) -> str:
    lines = "".join(f"{value:18,}      {name:<40} # 0.0 l4rp\n" for name, value in counters.items())
    end = "       1.000000000 seconds time elapsed\n"
    return f"\n Performance counter stats for 'system wide':\n\n{lines}\n{end}"


def values(counters: dict[str, int]) -> str:
    return "".join(f"{value},,cpum_cf/{name}/,1000000,100.00,,\n" for name, value in counters.items())


def objects(counters: dict[str, int]) -> str:
    facts = [
        {
            "counter-value": f"{value}.000000",
            "unit": "",
            "event": name,
            "event-runtime": 1,
            "pcnt-running": 100,
        }
        for name, value in counters.items()
    ]
    return "".join(json.dumps(each) + "\n" for each in facts)


@pytest.mark.parametrize("form", [text, values, objects])
@pytest.mark.parametrize("machine", ["z13", "z16"])
def test_published_perf_output(tmp_path: Path, form: Any, machine: str) -> None:
    """Linux kernel mailing list, 13 March 2023: metrics for s390."""
    one = measured(machine)
    path = tmp_path / "counts"
    path.write_text(form(one["counters"]), encoding="utf-8")
    with zlens.open(path) as session:
        for name, printed in one["metrics"].items():
            column, digits = METRICS[name]
            ((value, generation, by),) = session.sql(
                f"SELECT {column}, generation, generation_by FROM cpumf"
            ).rows
            assert round(value, digits) == printed
            assert machine in generation.split(" or ")
            assert by.startswith("names of counters")
        assert session.sql(f"SELECT {column} FROM cpumf_type").rows == [(value,)]


def test_published_lshwc_output(tmp_path: Path) -> None:
    """s390-tools, lshwc(8): the basic counter set in deltas of five seconds."""
    one = next(each for each in published() if "rows" in each)
    lines = [f"2025-03-26,10:34:{19 + 5 * n},{','.join(row)}\n" for n, row in enumerate(one["rows"])]
    path = tmp_path / "hw.csv"
    path.write_text(f"Date,Time,CPU,{one['columns']}\n" + "".join(lines), encoding="utf-8")
    (tmp_path / "service_levels").write_text("CPU-MF: Counter facility: version=3.8 authorization=002f\n")
    with zlens.open(tmp_path) as session:
        rows = session.sql("SELECT seconds, cpi, l1mp, generation, est_finite_cpi FROM cpumf").rows
    deltas = [[int(cell) for cell in row[1:]] for row in one["rows"] if row[0] == "Delta"]
    assert [row[0] for row in rows] == [5.0] * len(deltas)
    for (_, cpi, l1mp, generation, finite), (b0, b1, b2, _, b4, _) in zip(rows, deltas, strict=True):
        assert cpi == pytest.approx(b0 / b1)
        assert l1mp == pytest.approx(100 * (b2 + b4) / b1)
        # The man page shows CFVN 3, CSVN 8, but no extended counter, which finite CPI requires.
        assert (generation, finite) == ("z17", None)
