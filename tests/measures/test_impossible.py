"""Tests of impossible values, as in damaged bytes: withheld in all interfaces, and named by a problem."""

from __future__ import annotations

from pathlib import Path

import pytest

import guest_builder as guests
import monwrite_builder as monwrite
import rmf_builder as rmf
import zlens
from readers.test_hmc import MADE as HMC
from zlens.catalog import roles
from zlens.inputs.options import Options

SECOND = 4096 * 10**6


def written(path: Path, *, jump_s: int = 0, at: int = 3) -> Path:
    """Write two processors, each 30 s busy a minute; the user time of processor 1 jumps once."""
    return guests.write(
        path,
        (
            monwrite.processors(
                guests.end_of(n),
                {
                    cpu: {
                        "SYTPRP_PFXUTIME": SECOND * (1000 + 30 * n + (jump_s if cpu == 1 and n >= at else 0)),
                        "SYTPRP_PFXTMSYS": SECOND * n,
                        "SYTPRP_PFXTOTWT": SECOND * (100 + 29 * n),
                    }
                    for cpu in (0, 1)
                },
            )
            for n in range(6)
        ),
    )


@pytest.mark.parametrize("every", [None, 60, 300])
def test_time_above_interval_is_withheld(tmp_path: Path, every: int | None) -> None:
    with zlens.open(written(tmp_path / "data", jump_s=200), options=Options(every_s=every)) as session:
        query = "SELECT cpu_id, count(*) - count(busy_pct), max(busy_pct) FROM cpu GROUP BY 1 ORDER BY 1"
        cpus = session.sql(query).rows
        loads = session.sql("SELECT count(*) - count(busy_pct), max(busy_pct) FROM load").rows
        problems = [p for p in session._core.all_problems() if p.kind == "impossible"]
    (_, missing, most), (_, missing_1, most_1) = cpus
    assert (missing, missing_1) == (0, 1)
    assert most == pytest.approx(100 * 31 / 60)
    if every is None or every == 60:
        assert most_1 == pytest.approx(100 * 31 / 60)
        # A sum with an unknown part is unknown.
        assert loads == [(1, pytest.approx(100 * 31 / 60))]
    (problem,) = problems
    assert "1 sample of processor" in problem.detail
    assert "processor 1, " in problem.detail
    assert "user_time 230 of 60 s" in problem.detail


def test_small_excess_is_shown(tmp_path: Path) -> None:
    """Two samples may be taken at different times within their second: 2% excess is accepted."""
    with zlens.open(written(tmp_path / "data", jump_s=30)) as session:
        assert session.sql("SELECT max(busy_pct) FROM cpu").rows == [(pytest.approx(100 * 61 / 60),)]
        assert "impossible" not in {p.kind for p in session._core.all_problems()}


WRONG = [
    # Monitor III's CPC report: weight, logical processors, defined capacity, physical processors.
    (
        "|60|2|",
        "|-4000000000|2|",
        "SELECT count(weight) FROM partition WHERE (partition, cpu_type) = ('ALPHA', 'CP')",
    ),
    (
        "|60|2|",
        "|4000000000|2|",
        "SELECT count(weight) FROM partition WHERE (partition, cpu_type) = ('ALPHA', 'CP')",
    ),
    (
        "|N Y N|4.0|",
        "|N Y N|-4000000000|",
        "SELECT count(logical_cpus) FROM partition WHERE (partition, cpu_type) = ('ALPHA', 'CP')",
    ),
    (
        "|20|N Y N|",
        "|-20|N Y N|",
        "SELECT count(msu_actual) FROM partition WHERE (partition, cpu_type) = ('ALPHA', 'CP')",
    ),
    ("|20.5|CP|", "|250.0|CP|", "SELECT count(*) FROM partition WHERE 250 in (total_pct, phys_total_pct)"),
]


@pytest.mark.parametrize(("right", "wrong", "query"), WRONG)
def test_impossible_rmf_values_are_withheld(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str, query: str
) -> None:
    rows = [row.replace(right, wrong) for row in rmf.CPC_ROWS]
    assert rows != rmf.CPC_ROWS
    monkeypatch.setattr(rmf, "CPC_ROWS", rows)
    path = tmp_path / "cpc.xml"
    path.write_text(rmf.document(rmf.monitor3()), encoding="utf-8")
    with zlens.open(path) as session:
        assert session.sql(query).rows == [(0,)]
        assert "impossible" in {p.kind for p in session._core.all_problems()}


def test_processor_busy_above_100_is_withheld(tmp_path: Path) -> None:
    """RMF's CPU Activity: 250% is not a valid share of a processor."""
    text = rmf.document(rmf.report())
    path = tmp_path / "cpu.xml"
    path.write_text(text, encoding="utf-8")
    with zlens.open(path) as session:
        [(busy,)] = session.sql("SELECT busy_pct FROM cpu WHERE busy_pct > 0 LIMIT 1").rows
    shown = f">{busy:g}<" if f">{busy:g}<" in text else f">{busy:.1f}<"
    assert shown in text
    path.write_text(text.replace(shown, ">250.0<"), encoding="utf-8")
    with zlens.open(path) as session:
        assert session.sql("SELECT count(*) FROM cpu WHERE busy_pct > 102").rows == [(0,)]
        (problem,) = [p for p in session._core.all_problems() if p.kind == "impossible"]
        assert "busy_time" in problem.detail


@pytest.mark.parametrize("value", ["-4e9", "4e12"])
@pytest.mark.parametrize(
    ("sample", "query"),
    [
        ("zhmc_cpc_ifl_processor_count", "SELECT physical FROM cec WHERE cpu_type = 'IFL'"),
        ("zhmc_partition_ifl_processor_count", "SELECT logical_cpus FROM partition WHERE cpu_type = 'IFL'"),
        (
            "zhmc_partition_ifl_initial_processing_weight",
            "SELECT weight FROM partition WHERE cpu_type = 'IFL'",
        ),
    ],
)
def test_impossible_hmc_values_are_withheld(tmp_path: Path, value: str, sample: str, query: str) -> None:
    lines = [
        f"{line.rpartition(' ')[0]} {value}" if line.startswith(sample + "{") else line
        for line in HMC.splitlines()
    ]
    path = tmp_path / "hmc.txt"
    path.write_text("\n".join(lines) + "\n")
    with zlens.open(path) as session:
        assert {row[0] for row in session.sql(query).rows} <= {None}
        assert "impossible" in {p.kind for p in session._core.all_problems()}


def test_numeric_limits_have_source() -> None:
    limits = [role for name in roles.entities() for role in roles.entity(name).roles.values() if role.within]
    assert all(role.source for role in limits if role.within.isdigit() and role.unit != "%")
    assert sum(bool(role.source) for role in limits) >= 6
