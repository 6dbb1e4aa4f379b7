"""Tests of the measures against an RMF report.

Publication: RMF Postprocessor CPU Activity of a z15 T02 (8562), 263 half-hours of April 2022, from the
history of the zebra project (EPL-2.0). From the raw times of the same interval, the measures recompute
every utilization, share and MSU value that RMF printed.
"""

from __future__ import annotations

import pytest

import zlens
from samples import needs, sample

SAMPLE = sample("rmf/rmf-postprocessor-cpu-8562-z15.xml")

pytestmark = needs(SAMPLE)

#: RMF truncates dispatch times to 1 ms and rounds printed numbers half up to two decimals.
PRINTED = 0.005
CUT_S = 0.001


@pytest.fixture(scope="module")
def z15():
    with zlens.open(SAMPLE) as session:
        yield session


@pytest.mark.parametrize(
    ("ours", "printed", "base"),
    [
        ("effective_pct", "logical_effective_pct", "p.logical_cpus"),
        ("total_pct", "logical_total_pct", "p.logical_cpus"),
        ("phys_lpmgt_pct", "physical_lpmgt_pct", "c.physical"),
        ("phys_effective_pct", "physical_effective_pct", "c.physical"),
        ("phys_total_pct", "physical_total_pct", "c.physical"),
    ],
)
def test_partition_utilizations(z15, ours, printed, base):
    rows = z15.sql(
        f"""
        SELECT p.{ours}, r.{printed}, 100 * {CUT_S} / ({base} * p.seconds)
        FROM partition p
        JOIN cec c USING (system, source, interval_end, cpu_type)
        JOIN rmf_partition r ON r.partition = p.partition AND r.interval_end = p.interval_end
            AND r.cpu_type = p.cpu_type AND r.row_kind = 'partition'
        """
    ).rows
    assert len(rows) == 2367
    assert all(abs(mine - theirs) <= PRINTED + cut + 1e-9 for mine, theirs, cut in rows)


def test_caps_equal_rmf_print(z15):
    """Capping Def: initial, absolute and group; VIRPT has N Y N: capped, but not initially."""
    rows = z15.sql(
        """
        SELECT DISTINCT p.partition, r.capping, p.any_cap, p.capped
        FROM partition p
        JOIN rmf_partition r ON r.partition = p.partition AND r.interval_end = p.interval_end
            AND r.cpu_type = p.cpu_type AND r.row_kind = 'partition'
        WHERE r.capping IS NOT NULL
        """
    ).rows
    assert ("VIRPT", "N Y N", True, False) in rows
    for partition, printed, any_cap, initial in rows:
        assert any_cap is ("Y" in printed), partition
        assert initial is printed.startswith("Y"), partition


@pytest.mark.parametrize("printed", ["physical_lpmgt_pct", "physical_effective_pct", "physical_total_pct"])
def test_cec_totals(z15, printed):
    ours = printed.replace("physical", "phys")
    rows = z15.sql(
        f"""
        SELECT c.{ours}, r.{printed}, 10 * 100 * {CUT_S} / (c.physical * c.seconds)
        FROM cec c
        JOIN rmf_partition r ON r.interval_end = c.interval_end
            AND r.cpu_type = c.cpu_type AND r.row_kind = 'total'
        """
    ).rows
    assert len(rows) == 789
    assert all(abs(mine - theirs) <= PRINTED + cut + 1e-9 for mine, theirs, cut in rows)


def test_msu_is_rounded_like_rmf(z15):
    rows = z15.sql(
        """
        SELECT p.msu_actual, r.msu_actual
        FROM partition p
        JOIN rmf_partition r ON r.partition = p.partition AND r.interval_end = p.interval_end
            AND r.cpu_type = p.cpu_type AND r.row_kind = 'partition'
        WHERE r.msu_actual IS NOT NULL
        """
    ).rows
    assert len(rows) == 1052
    assert all(int(mine + 0.5) == theirs for mine, theirs in rows)


def test_share_of_observer(z15):
    """The LOG PROC Shares of its processors add up to the partition's entitlement."""
    rows = z15.sql(
        """
        SELECT 100 * any_value(p.entitlement), sum(c.entitlement_pct), any_value(r.share_pct)
        FROM cpu c
        JOIN rmf_interval i USING (system, interval_end)
        JOIN partition p ON p.interval_end = c.interval_end AND p.partition = i.partition
            AND p.cpu_type = c.cpu_type
        JOIN rmf_cpu r ON r.interval_end = c.interval_end AND r.row_kind = 'total' AND r.cpu_type = c.cpu_type
        GROUP BY c.interval_end, c.cpu_type
        """
    ).rows
    assert len(rows) == 263
    assert all(abs(mine - total) <= 0.05 + 1e-9 for mine, _, total in rows)
    assert all(abs(by_cpu - total) <= 0.15 + 1e-9 for _, by_cpu, total in rows)


def test_busy_of_processors(z15):
    rows = z15.sql(
        """
        SELECT l.busy_pct, r.lpar_busy_pct, m.mvs, r.mvs_busy_pct
        FROM load l
        JOIN rmf_cpu r USING (system, interval_end)
        JOIN (SELECT interval_end, avg(mvs_busy_pct) AS mvs FROM cpu GROUP BY 1) m USING (interval_end)
        WHERE r.row_kind = 'total'
        """
    ).rows
    assert len(rows) == 263
    assert all(abs(mine - theirs) <= 0.01 + 1e-9 for mine, theirs, _, _ in rows)
    assert all(abs(mine - theirs) <= 0.01 + 1e-9 for _, _, mine, theirs in rows)


def test_pool_identities_of_sample(z15):
    """FCX302's relation holds for RMF's data: total = LgclC + Ovrhd + LPmgt, in units of one processor."""
    rows = z15.sql("SELECT lgclc_pct + ovrhd_pct + lpmgt_pct, total_pct, lcot_l, type_tl FROM cec").rows
    assert len(rows) == 789
    assert all(abs(parts - whole) < 1e-9 for parts, whole, _, _ in rows)
    assert all(1 <= lcot <= total for _, _, lcot, total in rows)


def test_every_sums_raw_times_and_divides_again(z15):
    with zlens.open(SAMPLE, options=zlens.Options(every_s=4 * 3600)) as four_hours:
        summed = four_hours.sql(
            "SELECT interval_end, partition, cpu_type, seconds, effective_s, effective_pct, weight, "
            "weight_max FROM partition WHERE cpu_type IS NOT NULL ORDER BY ALL"
        ).rows
        single = z15.sql(
            "SELECT time_bucket(INTERVAL 4 HOUR, interval_end - INTERVAL 1 MICROSECOND, "
            "TIMESTAMPTZ '2000-01-01') + INTERVAL 4 HOUR AS b, partition, cpu_type, sum(seconds), "
            "sum(effective_s), "
            "100 * sum(effective_s) / sum(logical_cpus * seconds), avg(weight), max(weight) "
            "FROM partition WHERE cpu_type IS NOT NULL GROUP BY ALL ORDER BY ALL"
        ).rows
    assert len(summed) == len(single) == 297
    for mine, theirs in zip(summed, single, strict=True):
        assert mine[:3] == theirs[:3]
        assert mine[3:] == pytest.approx(theirs[3:], rel=1e-12)
