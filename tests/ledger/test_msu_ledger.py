"""Tests of the MSU ledger: accounts that add up, leaks, four-hour averages and their highest hours, costs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import zlens
from iterations import draws
from samples import needs, sample
from zlens.api import Session
from zlens.catalog.ledgers import load_ledger
from zlens.cli import main
from zlens.errors import InputError, QueryError
from zlens.ledger import answer, msu_peaks, prices
from zlens.ledger.rows import LedgerRow, ledger_rows
from zlens.ledger.tree import imbalances
from zlens.models.partitions import msu
from zlens.rendering.answer import Answer
from zos_days import MSU, QUARTER_S, Image, Work, written

HOURS = QUARTER_S / 3600
UNRATED = sample("smf/rmf_cpu_activity_S0W1_2021-07-27.txt")


@contextmanager
def opened(path: Path, images: Sequence[Image]) -> Iterator[Session]:
    with zlens.open([written(path / "days.smf", images)]) as session:
        yield session


def solved(path: Path, images: Sequence[Image], **keys: Any) -> Answer:
    with opened(path, images) as session:
        return answer.solve(session._core, "msu", **keys)


def rows_of(path: Path, images: Sequence[Image]) -> list[LedgerRow]:
    with opened(path, images) as session:
        return ledger_rows(session._core, load_ledger("msu"))


def amounts(rows: Sequence[LedgerRow], account: str) -> dict[str | None, float | None]:
    found = {row.subject: row.amount for row in rows if row.account == account}
    assert len(found) == sum(row.account == account for row in rows)
    return found


#: Fields of a partition in a capacity group.
GROUP = {"PFL": ["GRP"], "GNM": "PRODUCT", "GMU": 400}


def machine(batch: Sequence[float], *, reported: bool = True, **keys: Any) -> list[Image]:
    """Return three partitions, two in a group; the class BATCH of the first may have no records."""
    quiet = [0.5] * len(batch)
    return [
        Image(
            "SYSA",
            "LPA",
            1,
            [Work("ONLINE", quiet, {"CICS1": 0.75}), Work("BATCH", batch, {"NIGHTLY": 1.0}, reported)],
            0.25,
            fields=GROUP,
            **keys,
        ),
        Image("SYSB", "LPB", 2, [Work("DB", quiet)], 0.1, fields=GROUP),
        Image("SYSC", "LPC", 3, [Work("TEST", quiet)], silent=True),
    ]


def test_msu_of_each_level(tmp_path: Path) -> None:
    """A quarter of an hour at 144 MSU per CP and hour; nothing else is used on eight CPs."""
    rows = rows_of(tmp_path, machine([1.0, 1.0]))
    quarters = 2 * HOURS * MSU
    assert amounts(rows, "capacity") == {"8561-12F17": pytest.approx(8 * quarters)}
    assert amounts(rows, "groups") == {
        "PRODUCT": pytest.approx((1.75 + 0.6) * quarters),
        "no capacity group": pytest.approx(0.5 * quarters),
    }
    assert amounts(rows, "msu_partitions") == {
        "LPA": pytest.approx(1.75 * quarters),
        "LPB": pytest.approx(0.6 * quarters),
        "LPC": pytest.approx(0.5 * quarters),
    }
    assert amounts(rows, "unused") == {"idle": pytest.approx((8 - 2.85) * quarters)}
    assert amounts(rows, "msu_classes") == {
        "ONLINE": pytest.approx(0.5 * quarters),
        "BATCH": pytest.approx(1.0 * quarters),
        "DB": pytest.approx(0.5 * quarters),
    }
    assert amounts(rows, "msu_jobs") == {
        "CICS1": pytest.approx(0.375 * quarters),
        "NIGHTLY": pytest.approx(1.0 * quarters),
    }
    rest = {row.partition: row.amount for row in rows if row.account == "msu_class_rest"}
    assert rest == {"LPA": pytest.approx(0.25 * quarters), "LPB": pytest.approx(0.1 * quarters)}


def test_msu_of_levels_add_up(tmp_path: Path) -> None:
    chance = draws(7)
    for number in range(4):
        batch = [chance.random() * 2 for _ in range(chance.randrange(1, 6))]
        folder = tmp_path / str(number)
        folder.mkdir()
        rows = rows_of(folder, machine(batch, reported=chance.random() < 0.5))
        differences = imbalances(load_ledger("msu"), rows)
        assert len(differences) > 4
        assert set(differences.values()) == {0.0}


def test_missing_class_is_not_attributed_and_named(tmp_path: Path) -> None:
    """BATCH has no records of SMF 72-3: its MSU are not attributed, in its partition only; jobs name it."""
    batch = [1.0, 2.0, 1.5]
    (tmp_path / "leak").mkdir()
    whole = rows_of(tmp_path, machine(batch))
    with opened(tmp_path / "leak", machine(batch, reported=False)) as session:
        leak = ledger_rows(session._core, load_ledger("msu"))
        [missing] = answer.solve(session._core, "msu").table("missing").records()
    before, after = (
        {row.partition: row.amount for row in rows if row.account == "msu_class_rest"}
        for rows in (whole, leak)
    )
    lost = sum(batch) * HOURS * MSU
    assert after["LPA"] == pytest.approx(before["LPA"] + lost)
    assert after["LPB"] == pytest.approx(before["LPB"])
    assert (missing["partition"], missing["system"], missing["class"]) == ("LPA", "SYSA", "BATCH")
    assert (missing["seen_in"], missing["amount"]) == ("SMF 30", pytest.approx(lost))
    assert set(imbalances(load_ledger("msu"), leak).values()) == {0.0}


def test_answer_of_a_lake_is_that_of_its_files(tmp_path: Path) -> None:
    """Queries of a lake run in a database of their own, that of missing classes reads helpers too."""
    path, lake = written(tmp_path / "days.smf", machine([1.0, 2.0, 1.5], reported=False)), tmp_path / "lake"
    assert main(["import", str(path), "--lake", str(lake)]) == 0
    found = []
    for name in (path, lake):
        with zlens.open([name]) as session:
            tables = answer.solve(session._core, "msu").tables
            found.append({table.key: table.rows for table in tables})
    assert found[0]["missing"]
    assert found[0] == found[1]


def brute_force(used: Sequence[float]) -> dict[int, float]:
    """Return the mean four-hour average of each hour, in MSU; hours begin with the first quarter."""
    averages = {end: sum(used[end - 16 : end]) / 16 * MSU for end in range(16, len(used) + 1)}
    hours: dict[int, list[float]] = {}
    for end, average in averages.items():
        hours.setdefault((end - 1) // 4, []).append(average)
    return {hour: sum(values) / len(values) for hour, values in hours.items()}


def test_highest_hour_of_each_subject(tmp_path: Path) -> None:
    batch = [0.5] * 20 + [3.0] * 4 + [0.5] * 8
    given = machine(batch)
    by_subject = {row["subject"]: row for row in solved(tmp_path, given).table("peaks").records()}
    used = {image.partition: [image.used(number) for number in range(len(batch))] for image in given}
    members = {"PRODUCT": ("LPA", "LPB"), "8561-12F17": ("LPA", "LPB", "LPC")}
    for name in (*used, *members):
        parts = [used[each] for each in members.get(name, (name,))]
        hours = brute_force([sum(values) for values in zip(*parts, strict=True)])
        row = by_subject[name]
        assert row["msu"] == pytest.approx(max(hours.values()))
        assert (row["month"], row["basis"], row["since_ipl"]) == ("2023-11", "computed", None)
    # The first hour began at 23:00; the average is highest in the two hours after the busy one.
    assert by_subject["LPA"]["hour"] == "2023-11-15 06:00"
    assert by_subject["LPA"]["used"] == pytest.approx(1.25 * MSU)
    assert (by_subject["PRODUCT"]["limit"], by_subject["PRODUCT"]["kind"]) == (400, "group")


def test_work_in_the_highest_hour(tmp_path: Path) -> None:
    """In the hour that ended at 06:00, BATCH used half a CP; in the hour before, three."""
    batch = [0.5] * 20 + [3.0] * 4 + [0.5] * 8
    work = {row["subject"]: row for row in solved(tmp_path, machine(batch)).table("peak_work").records()}
    assert work["BATCH"]["in_hour"] == work["NIGHTLY"]["in_hour"] == pytest.approx(0.5 * MSU)
    in_window = (12 * 0.5 + 4 * 3.0) * HOURS * MSU
    assert work["BATCH"]["in_window"] == work["NIGHTLY"]["in_window"] == pytest.approx(in_window)
    assert (work["NIGHTLY"]["class"], work["NIGHTLY"]["partition"]) == ("BATCH", "LPA")
    assert work["DB"]["in_hour"] == pytest.approx(0.5 * MSU)


def test_recorded_average_is_preferred_and_compared(tmp_path: Path) -> None:
    averages = [200.0 + number for number in range(20)]
    tables = solved(tmp_path, machine([1.0] * 20, averages=averages))
    row = next(row for row in tables.table("peaks").records() if row["subject"] == "LPA")
    # The last hour's records are 216 to 219.
    assert (row["msu"], row["basis"]) == (pytest.approx(217.5), "recorded")
    [compared] = tables.table("recorded").records()
    assert (compared["partition"], compared["intervals"]) == ("LPA", 5)
    assert compared["computed"] == pytest.approx(1.75 * MSU)
    assert compared["difference"] == pytest.approx(217 - 1.75 * MSU)
    assert compared["largest"] == pytest.approx(215 - 1.75 * MSU)


def test_average_after_ipl_is_flagged(tmp_path: Path) -> None:
    """The IPL was at the start of the data: of 12 quarters at 252 MSU the average is three quarters."""
    from zos_days import FIRST_US

    given = machine([1.0] * 12, control={"IPL_TIME": FIRST_US})
    rows = {row["subject"]: row for row in solved(tmp_path, given).table("peaks").records()}
    # The mean of 9/16 to 12/16 of 252 MSU.
    assert rows["LPA"]["msu"] == pytest.approx(252 * 10.5 / 16)
    assert rows["LPA"]["since_ipl"] == "yes"
    assert rows["LPB"]["msu"] is None
    assert rows["8561-12F17"]["msu"] is None


@pytest.mark.long
def test_hours_of_local_times_are_solved_or_left_out(demo_files: list[Path], tmp_path: Path) -> None:
    """RMF's XML of ZLZ1 has four intervals up to 09:30, the dump those up to 09:00, of UTC+1.

    An interval that both have with other values is no evidence of the offset.
    """
    xml, dump = demo_files[1:3]
    cut, other = tmp_path / "cut.smf", tmp_path / "other.xml"
    data, at = dump.read_bytes(), 0
    with cut.open("wb") as file:
        while at < len(data):
            # Length of the record, and hundredths of a second since midnight.
            length, time = (int.from_bytes(data[at + first : at + last]) for first, last in ((0, 2), (6, 10)))
            if time < 100 * (9 * 3600 + 300):
                file.write(data[at : at + length])
            at += length
    printed = xml.read_text(encoding="utf-8")
    assert "23.31.763" in printed
    other.write_text(printed.replace("23.31.763", "23.31.999"), encoding="utf-8")
    ends: dict[str, list[str]] = {}
    clocks = {}
    for name, paths in (("cut", [cut]), ("solved", [xml, cut]), ("left out", [other, cut])):
        with zlens.open(paths) as session:
            tables = {table.key: table for table in answer.solve(session._core, "msu").tables}
            clocks[name] = tables["clocks"].rows if "clocks" in tables else []
            averages = msu.partitions(session._core)
        ends[name] = [f"{dt.datetime.fromtimestamp(row.end, dt.UTC):%H:%M}" for row in averages]
        assert [row.recorded for row in averages] == [148, 149, None, None][: len(averages)]
        assert tables["peaks"].records()[0]["hour"] == "2010-03-09 09:00"
    assert clocks["cut"] == []
    assert clocks["solved"] == [("ZLZ1", "rmf-xml", "+01:00", 6, "solved")]
    [left_out] = clocks["left out"]
    assert left_out[:4] == ("ZLZ1", "rmf-xml", None, None)
    assert "set the time zone" in str(left_out[4])
    first = ["07:45", "08:00"]
    assert ends == {"cut": first, "solved": [*first, "08:15", "08:30"], "left out": first}


@needs(UNRATED)
def test_machine_without_a_rating_has_no_msu() -> None:
    """RMF prints a CPC capacity of 0 for a machine type 1090."""
    with zlens.open([UNRATED]) as session, pytest.raises(QueryError, match="no data of the ledger msu"):
        answer.solve(session._core, "msu")


def test_time_capped(tmp_path: Path) -> None:
    """In 900 of 1800 samples of each interval WLM considered to cap, in 450 it did: 30 and 15 minutes."""
    given = machine([1.0] * 4, samples={"NSW": 900, "NCA": 450})
    rows = {row["subject"]: row for row in solved(tmp_path, given).table("peaks").records()}
    assert (rows["LPA"]["wlm_capped_h"], rows["LPA"]["cap_reached_h"]) == pytest.approx((0.5, 0.25))
    assert rows["LPB"]["wlm_capped_h"] == 0


PRICES = """
currency = "EUR"

[[product]]
name = "Database"
price = 10
partitions = ["LPA", "LPB"]

[[product]]
name = "System"
price = 2.5

[[product]]
name = "Elsewhere"
price = 1
partitions = ["LPX"]
"""


def test_cost_of_the_highest_hour(tmp_path: Path) -> None:
    batch = [0.5] * 20 + [3.0] * 4 + [0.5] * 8
    given = machine(batch)
    priced = prices.parse(PRICES, "prices.toml")
    table = solved(tmp_path, given, prices=priced).table("costs")
    assert table.title == "Cost of the highest hours, in EUR"
    costs = {row["product"]: row for row in table.records()}
    both = max(brute_force([given[0].used(n) + given[1].used(n) for n in range(len(batch))]).values())
    assert costs["Database"]["cost"] == pytest.approx(10 * both)
    assert costs["System"]["msu"] == pytest.approx(both + 0.5 * MSU)
    assert costs["System"]["partitions"] == "LPA, LPB, LPC"
    assert costs["Elsewhere"]["cost"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[product]]\nname = "A"\nprice = 1', "currency"),
        ('currency = "EUR"', "product"),
        ('currency = "EUR"\n[[product]]\nname = "A"\nprice = -1', r"prices.toml:4: .*price"),
        ('currency = "EUR"\n[[product]]\nname = "A"\nprice = 1\nmsu = 2', r"prices.toml:5: .*msu"),
        ("currency = EUR", "is not valid TOML"),
    ],
)
def test_invalid_prices(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prices.parse(text, "prices.toml")


def test_capped_hours_are_unknown_if_a_part_is() -> None:
    assert msu_peaks._capped_hours([(1800, 50.0), (3600, 25.0)]) == 0.5
    assert msu_peaks._capped_hours([(1800, 50.0), (3600, None)]) is None
