"""Tests of processors under multithreading in the Postprocessor's XML, with numbers of a published report.

Publication: IBM, z/VM and simultaneous multithreading, 2015 and 2020: z/OS RMF CPU Activity of four zIIP
cores with MT=2, their total use (245.62%), and their averages. The publication prints text: no public page
has the headings of its XML, so those used here follow RMF's spelling of the adjacent headings.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from raw_rows import rows
from rmf_builder import document, part, report, segment, table, variables
from zlens.api import Session
from zlens.inputs.options import Options
from zlens.readers.rmf import postprocessor as rmf_xml

HEADS = [
    *("CPU Number", "CPU Type", "Time% Online", "Time% LPAR Busy", "Time% MVS Busy", "Time% Parked"),
    *("MT% Prod", "MT% Util", "LOG PROC Share%", "HiperDispatch Priority"),
]
#: As published: the second line of a core has only the thread's own values.
PRINTED = [
    "4|IIP|100.00|78.23|67.24|0.00|87.30|68.29|100.0|HIGH",
    "||||58.40|0.00||||",
    "5|IIP|100.00|59.46|50.57|0.00|85.64|50.92|100.0|HIGH",
    "||||41.88|0.00||||",
    "6|IIP|100.00|80.77|70.34|0.00|88.38|71.38|100.0|HIGH",
    "||||62.20|0.00||||",
    "7|IIP|100.00|63.67|55.08|0.00|86.43|55.03|100.0|HIGH",
    "||||45.52|0.00||||",
    "+TOTAL/AVERAGE|IIP||70.53|56.41||86.94|61.41|400.0|",
]


def written(folder: Path, heads: list[str], lines: list[str]) -> Path:
    body = segment("CPU Activity", part(variables({"CPU": "2964"}) + table(heads, lines)))
    path = folder / "mt.xml"
    path.write_text(document(report(body=body)))
    return path


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with zlens.open([written(tmp_path, HEADS, PRINTED)]) as opened:
        yield opened


def test_rows_of_threads_are_those_of_their_core(tmp_path: Path) -> None:
    source = rmf_xml.open_files([str(written(tmp_path, HEADS, PRINTED))], Options())
    found = rows(source, "rmf_cpu", "cpu_number", "core_id", "thread_id", "cpu_type", "lpar_busy_pct")
    assert [tuple(row.values()) for row in found[:3]] == [
        ("4", 4, 0, "IIP", 78.23),
        (None, 4, 1, "IIP", 78.23),
        ("5", 5, 0, "IIP", 59.46),
    ]
    # A total row does not continue a core.
    assert tuple(found[-1].values()) == ("TOTAL/AVERAGE", None, 0, "IIP", 70.53)
    (total,) = [row for row in rows(source, "rmf_cpu") if row["row_kind"] == "total"]
    assert (total["online_pct"], total["priority"], total["by_core"]) == (None, None, True)
    assert [p.kind for p in source.problems()] == ["zone"]


def test_processors_are_numbered_like_zos(session: Session) -> None:
    found = session.sql(
        "SELECT cpu_id, core_id, thread_id, cpu_type, polarity, round(busy_pct, 2), round(mvs_busy_pct, 2) "
        "FROM cpu ORDER BY cpu_id"
    ).rows
    assert found[:3] == [
        (8, 4, 0, "ZIIP", "Vh", 78.23, 67.24),
        (9, 4, 1, "ZIIP", "Vh", 78.23, 58.40),
        (10, 5, 0, "ZIIP", "Vh", 59.46, 50.57),
    ]
    assert len(found) == 8
    ((average,),) = session.sql("SELECT avg(mvs_busy_pct) FROM cpu").rows
    assert average == pytest.approx(56.41, abs=0.01)


def test_core_use_as_published(session: Session) -> None:
    cores = session.sql(
        "SELECT core_id, round(core_busy_pct, 2), round(productivity_pct, 2), mt_utilization_pct "
        "FROM core ORDER BY 1"
    ).rows
    assert [row[:3] for row in cores] == [
        (4, 78.23, 87.30),
        (5, 59.46, 85.64),
        (6, 80.77, 88.38),
        (7, 63.67, 86.43),
    ]
    for (*_, ours), printed in zip(cores, (68.29, 50.92, 71.38, 55.03), strict=True):
        # Use is LPAR busy times productivity, both rounded.
        assert ours == pytest.approx(printed, abs=0.01)
    ((kind, busy, productivity, used),) = session.sql(
        "SELECT cpu_type, core_busy_pct, productivity_pct, mt_used_pct FROM core_type"
    ).rows
    assert kind == "ZIIP"
    assert busy == pytest.approx(70.53, abs=0.01)
    assert productivity == pytest.approx(86.94, abs=0.01)
    assert used == pytest.approx(245.62, abs=0.01)


def test_report_of_cpu_activity(session: Session) -> None:
    text = session.report("rmfcpu")
    (line,) = [one for one in text.splitlines() if one.startswith("09:30:00    4    8")]
    assert line.split()[1:12] == [
        *("4", "8", "IIP", "100.00", "78.23", "67.24", "0.00", "87.30", "68.29", "100.0", "HIGH")
    ]


def test_extra_row_with_unknown_headings_has_no_core(tmp_path: Path) -> None:
    """Without the headings of multithreading, the number may not be of a core."""
    heads = ["Threads Prod" if h == "MT% Prod" else "Threads Util" if h == "MT% Util" else h for h in HEADS]
    with zlens.open([written(tmp_path, heads, PRINTED)]) as opened:
        found = opened.sql("SELECT cpu_id, core_id FROM cpu ORDER BY 1").rows
        assert found == [(4, 4), (5, 5), (6, 6), (7, 7)]
        assert opened.sql("SELECT count(*) FROM core").rows == [(0,)]
        kept = opened.sql("SELECT name, count(*) FROM rmf_other GROUP BY 1 ORDER BY 1").rows
    assert kept == [("Threads Prod", 5), ("Threads Util", 5)]


def test_invalid_cpu_number_is_null(tmp_path: Path) -> None:
    source = rmf_xml.open_files([str(written(tmp_path, HEADS, ["4G|IIP|1|1|1|0|1|1|1|HIGH"]))], Options())
    (row,) = rows(source, "rmf_cpu")
    assert (row["cpu_number"], row["core_id"]) == ("4G", None)
    assert "'4G' under 'CPU Number' is not a hexadecimal number" in " ".join(
        p.detail for p in source.problems()
    )
