"""Reports workload and workstate: what RMF printed of published intervals, and what is dotted."""

from __future__ import annotations

import pytest

from workload_made import UNITS, Row, opened, period
from zlens.errors import QueryError


def published() -> Row:
    """IBM, z/VM and simultaneous multithreading (2015, 2020): RMF report of the class WASTRANS."""
    return period(
        614.053,
        {"mcnm": "WASTRANS", "mwnm": "WASWKLD", "mnsp": "PATPLEX", "mcf": 1024, "mcfs": 1508},
        ccpu=3545.743 * UNITS,
        csup=1995.640 * UNITS,
        csuc=2.64 * UNITS,
        crcp=5_502_452,
        ctat=12.69 * 614.053 / 0.001024,
        ctrr=12.69 * 614.053 / 0.001024,
        ciea=12.69 * 614.053 / 0.001024,
    )


def lines(text: str, title: str) -> list[str]:
    """The rows of intervals below a title."""
    below = text.split(f"\n{title}\n", 1)[1].splitlines()
    ends = next(
        (n for n, line in enumerate(below) if line and below[n - 1] == "" and n > 1 and ":" not in line), None
    )
    return [line for line in below[:ends] if line[2:3] == ":" or line.startswith(">>")]


def test_a_published_report() -> None:
    with opened([published()]) as session:
        text = session.report("workload")
    (mean, row) = lines(text, "Service Time and APPL %")
    assert mean.split()[1:] == row.split()[1:]
    assert row.split()[1:] == [
        *("WASTRANS", "S", "1"),
        *("3545.743", ".000", ".000", ".000", ".000", "1995.640", ".000"),
        *("252.44", ".00", ".43", ".00", "220.69"),
    ]
    row = lines(text, "Transactions")[1]
    assert row.split()[4:12] == ["12.69", "12.69", "5502452", "8960.87", "0", "0", "12.69", ".000000"]
    assert " PATPLEX  WASWKLD  ........ 1.000 1.473" in text


def goals() -> list[Row]:
    return [
        period(of={"mcnm": "HIGH"}, crgf=32, cval=50, cimp=1, ctou=300, ctot=100, ctsa=1000.0, ccde=60),
        period(
            of={"mcnm": "ONLINE", "ggnm": "LIMITED", "mcde": "what customers do"},
            cper=2, crgf=128, crtf=128, cval=500, cpct=90, rtdm=500, cimp=2, crcp=100, ctetx=100 * 0.4e6,
            buckets=[10, 0, 0, 0, 0, 60, 20, 0, 0, 0, 0, 0, 0, 10],
        ),
        period(of={"mcnm": "AVERAGE"}, crgf=64, crtf=64, cval=2, cimp=3, crcp=10, ctetx=10 * 3e6),
        period(of={"mcnm": "ALL", "mscf_mrcl": True, "mwnm": ""}, crs1=128, crgf=32, cval=50, cadf=32),
    ]  # fmt: skip


def test_goals_and_how_they_were_met() -> None:
    with opened(goals(), goals()) as session:
        text = session.report("workload")
    told = [line.split() for line in lines(text, "Goals") if line.startswith("22:14")]
    dots = "....."
    assert told == [
        ["22:14:00", "ALL", "R", "1", ".", "." * 9, *[dots] * 7],
        ["22:14:00", "AVERAGE", "S", "1", "3", "3.000", dots, dots, "1.50", *[dots] * 4],
        ["22:14:00", "HIGH", "S", "1", "1", "." * 9, dots, "75.0", ".67", "10.0", "6.0", ".0", ".0"],
        ["22:14:00", "ONLINE", "S", "2", "2", ".400", "70.0", dots, "1.10", *[dots] * 4],
    ]
    means = {row[1]: row for row in map(str.split, lines(text, "Goals")) if row[0] == ">>Mean>>"}
    # Two intervals alike have what each of them has; of percentiles there is no index of the two.
    assert {name: row[8] for name, row in means.items()} == {
        "ALL": dots, "AVERAGE": "1.50", "HIGH": ".67", "ONLINE": dots,
    }  # fmt: skip
    assert (means["AVERAGE"][5], means["HIGH"][7], means["ONLINE"][6]) == ("3.000", "75.0", "70.0")
    classes = text.split("\nClasses\n", 1)[1].split("\nTransactions\n", 1)[0]
    assert "HIGH     S 1 1 EX VEL 50.0%" in classes
    assert (
        "ONLINE   S 2 2 0.500 s FOR 90%       POLICY   WORK     LIMITED  1.000 1.000 what customers do"
        in classes
    )
    assert "AVERAGE  S 1 3 2.000 s AVG" in classes
    assert "ALL      R 1 . ....................." in classes


def test_response_times_of_all_intervals_together() -> None:
    with opened(goals(), goals()) as session:
        text = session.report("workload")
    table = text.split("\nResponse Time Distribution\n", 1)[1].split("\n* ", 1)[0]
    rows = [line.split() for line in table.splitlines() if line.startswith("ONLINE")]
    assert len(rows) == 14
    assert rows[0][3:] == ["<", ".250", "50", "20", "20", "10.0", "10.0"]
    assert rows[5][3:] == ["<=", ".500", "100", "140", "120", "70.0", "60.0"]
    assert rows[13][3:] == [">", "2.000", "400", "200", "20", "100.0", "10.0"]


def test_one_class() -> None:
    with opened(goals()) as session:
        text = session.report("workload", only=["HIGH"])
        assert "HIGH" in text
        assert "ONLINE" not in text
        with pytest.raises(QueryError, match="no rows for 'LOW'"):
            session.report("workload", only=["LOW"])


def test_states_service_and_disks() -> None:
    row = period(
        10.0, ctsa=1000.0, ccus=100, supu=50, ctot=225, ccde=125, capr=10, caco=15, cidl=500, cunk=75,
        csrv=1e6, ccpu=9e5, csrb=1e5, ctat=500 / 0.001024, ctrr=250 / 0.001024, tpdp=2 / 0.001024, circ=1000,
        cict=1 / 0.000128, cidt=2 / 0.000128, ciwt=0.5 / 0.000128, ciot=0.1 / 0.000128,
    )  # fmt: skip
    with opened([row]) as session:
        text = session.report("workstate")
    states = lines(text, "States")[1].split()[4:]
    assert states[:5] == ["10.0", "5.0", ".0", "22.5", "12.5"]
    assert states[8] == "2.5"
    assert states[-3:] == [".0", "50.0", "7.5"]
    service = lines(text, "Service, Promotion and Disks")[1].split()[4:]
    assert service[:7] == ["0", "90000", "0", "10000", "100000", "4000", "2000"]
    assert service[7] == "2.000"
    assert service[12:] == ["100.0", "3.6", "1.0", "2.0", ".5", ".1"]
