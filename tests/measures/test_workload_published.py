"""Tests of the measure workload against the printed figures of published RMF reports.

Publications: IBM, z/VM and simultaneous multithreading (2015, 2020), with an RMF Workload Activity report of
a system with two threads per zIIP core; B. Merrill on IBM-MAIN, an RMF report and its underlying service
units; Precisely, on times of workload management under multithreading.
"""

from __future__ import annotations

import pytest

from smf72_rows import UNITS, one, period


def test_appl_of_multithreaded_system() -> None:
    """IBM: CPU 3545.743 s, IIP 1995.640 s in 10.14.053; the factor is printed as 1.473."""
    row = period(
        614.053,
        {"mcf": 1024, "mcfs": 1508},
        ccpu=3545.743 * UNITS,
        csup=1995.640 * UNITS,
        csuc=2.64 * UNITS,
        crcp=5_502_452,
        ctat=12.69 * 614.053 / 0.001024,
        ctrr=12.69 * 614.053 / 0.001024,
        ciea=12.69 * 614.053 / 0.001024,
    )
    wanted = {
        "cpu_s": 3545.743, "srb_s": 0.0, "rct_s": 0.0, "iit_s": 0.0, "hst_s": 0.0, "ziip_s": 1995.640,
        "appl_cp_pct": 252.44, "appl_zaap_on_cp_pct": 0.0, "appl_ziip_on_cp_pct": 0.43,
        "appl_ziip_pct": 220.69, "active": 12.69, "resident": 12.69, "ended_rate": 8960.87, "enclaves": 12.69,
    }  # fmt: skip
    found = one(", ".join(f"round({name}, {3 if name.endswith('_s') else 2})" for name in wanted), row)
    assert found == tuple(wanted.values())
    (factor,) = one("round(max_capacity_ziip, 3)", row)
    assert factor == 1.473


def test_ziips_faster_than_cps() -> None:
    """Merrill: 1,793,920 units on CPs and 2,137,167 normalized ones on zIIPs, factor 569/256, in an hour.

    He prints the sum as 3,931,092, and RMF 3931K. One length of a service unit explains all that RMF prints
    of them; his own seconds (178.92 and 213.16) use a length that is 0.2% shorter, and miss RMF's 392.9.
    """
    ziip = 2_137_167 * 256 / 569
    row = period(
        3600.0,
        {"nffs": 569, "madj": 1599},
        ccpu=1_793_920 + 2_137_167,
        csup=ziip,
        csuc=0.07 * 36 * 1e7 * 1.6 / 1599,
        csrv=1_793_920 + 2_137_167,
        crcp=51,
        ctat=0.23 * 3600 / 0.001024,
    )
    found = one(
        "round(cpu_s, 1), round(ziip_s, 1), round(appl_cp_pct, 2), round(appl_ziip_on_cp_pct, 2)", row
    )
    assert found == (392.9, 96.1, 4.98, 0.07)
    found = one("round(appl_ziip_pct, 2), round(service_rate), round(ended_rate, 2), round(active, 2)", row)
    assert found == (2.67, 1092.0, 0.01, 0.23)
    cpu, normalized, cp = one("cpu_s, ziip_cp_s, cp_s", row)
    assert cpu == pytest.approx(cp + normalized)
    assert normalized / one("ziip_s", row)[0] == pytest.approx(2.222, abs=0.001)


def test_published_merrill_service_units() -> None:
    """Merrill: 178.92 s on CPs and 213.16 s, normalized, on zIIPs."""
    row = period(
        3600.0, {"nffs": 569, "madj": 1_595_800}, ccpu=3_931_087 / 1000, csup=2_137_167 * 0.256 / 569
    )
    assert one("round(cp_s, 2), round(ziip_cp_s, 2)", row) == (178.92, 213.16)


def test_ziip_time_in_time_of_cores() -> None:
    """Precisely: 2060.22 s of workload management divided by the factor 1.488 are 1384.55 s."""
    row = period(3600.0, {"mcfs": 1524}, ccpu=2060.22 * UNITS, csup=2060.22 * UNITS)
    cores, by_printed, appl = one(
        "ziip_core_s, ziip_s / round(max_capacity_ziip, 3), appl_ziip_pct * seconds / 100", row
    )
    assert by_printed == pytest.approx(1384.55, abs=0.01)
    assert cores == pytest.approx(1384.55, rel=0.0005 / 1.488), "the record has the factor in 1024ths"
    assert appl == pytest.approx(cores)
