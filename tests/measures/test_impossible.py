"""Values that cannot be, as of damaged bytes: withheld in every face, with a problem that says which."""

from __future__ import annotations

from pathlib import Path

import pytest

import guest_made as guests
import monwrite_made as made
import zlens
from zlens.inputs.options import Options

SECOND = 4096 * 10**6


def written(path: Path, *, jump_s: int = 0, at: int = 3) -> Path:
    """Two processors, each 30 s busy a minute; processor 1's user time jumps once."""
    return guests.write(
        path,
        (
            made.processors(
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
def test_time_above_the_interval_is_withheld(tmp_path: Path, every: int | None) -> None:
    with zlens.open(written(tmp_path / "data", jump_s=200), options=Options(every_s=every)) as session:
        query = "SELECT cpu_id, count(*) - count(busy_pct), max(busy_pct) FROM cpu GROUP BY 1 ORDER BY 1"
        cpus = session.sql(query).rows
        loads = session.sql("SELECT count(*) - count(busy_pct), max(busy_pct) FROM load").rows
        problems = [p for p in session.all_problems() if p.kind == "impossible"]
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


def test_what_can_be_is_shown(tmp_path: Path) -> None:
    """Two samples need not be taken at the same instant of their second: 2 % are let pass."""
    with zlens.open(written(tmp_path / "data", jump_s=30)) as session:
        assert session.sql("SELECT max(busy_pct) FROM cpu").rows == [(pytest.approx(100 * 61 / 60),)]
        assert "impossible" not in {p.kind for p in session.all_problems()}
