"""PRCLOG against IBM's published listings.

Publication: z/VM SMT: PRCLOG FCX304 listings, IBM z/VM performance presentation 2015/2020, of a run without
multithreading (2015/02/14 16:04:29 to 16:14:59) and of one with two threads per core (16:31:32 to 16:42:02).
Intervals are fed whose means are the published numbers, and every printed field is held against the listing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from fake_session import FakeSession

from zlens import reports

KEYS = (
    "entitlement_pct", "dvid", "parked_pct", "busy_pct", "user_pct", "system_pct", "emulation_pct",
    "inst_sim_rate", "diag_rate", "sigp_rate", "ssch_rate", "pages_below_2g_rate", "pgin_rate",
    "fast_path_pct", "page_read_rate", "msgs_rate", "diag9c_rate",
)  # fmt: skip

# The fields of the published rows, from CPU to Core/Thread.
PLAIN = """
0 IFL VhD 100 0000 0 95.7 95.5 .2 88.2 38153 551.3 22.8 37.1 .0 .0 .... .0 .2 .0 00/0
1 IFL VhD 100 0001 0 95.7 95.5 .2 88.2 37536 492.2 10.3 2.7 .0 .0 .... .0 .0 .0 01/0
2 IFL VhD 100 0002 0 95.6 95.4 .2 88.0 38178 509.8 74.0 2.9 .0 .0 .... .1 .0 .0 02/0
3 IFL VhD 100 0003 0 95.5 95.3 .2 87.8 38532 508.4 8.8 4.8 .0 .0 .... .1 .1 .0 03/0
"""
PLAIN_TOTAL = "4 IFL VhD 400 MIX 0 382.5 381.6 .9 352.1 152k 2062 115.9 47.5 .0 .0 .... .2 .3 .0 MIX"
THREADS = """
0 IFL VhD 100 0000 0 84.7 84.5 .2 77.0 30035 416.7 1124 34.6 .0 .0 .... .2 .2 .0 00/0
1 IFL VhD 100 0000 0 84.3 84.1 .2 76.8 29845 447.8 1054 2.0 .0 .0 .... .0 .0 .0 00/1
2 IFL VhD 100 0001 0 84.5 84.4 .2 76.8 31053 439.6 1098 1.4 .0 .0 .... .0 .0 .0 01/0
3 IFL VhD 100 0001 0 84.6 84.4 .2 77.0 30648 491.9 1028 1.2 .0 .0 .... .0 .0 .0 01/1
4 IFL VhD 100 0002 0 84.5 84.3 .2 77.0 29912 535.7 1106 1.7 .0 .0 .... .0 .0 .0 02/0
5 IFL VhD 100 0002 0 84.9 84.7 .2 77.5 29667 526.1 1029 1.3 .0 .0 .... .0 .0 .0 02/1
6 IFL VhD 100 0003 0 84.8 84.6 .2 77.3 29368 450.1 1062 2.1 .0 .0 .... .1 .0 .0 03/0
7 IFL VhD 100 0003 0 84.7 84.5 .2 77.3 29026 566.8 1027 2.0 .0 .0 .... .0 .0 .0 03/1
"""
THREADS_TOTAL = "8 IFL VhD 800 MIX 0 677.0 675.5 1.5 616.6 240k 3875 8527 46.2 .0 .0 .... .2 .3 .0 MIX"

# Published totals are of unrounded means. These are what rounding can hide: they lead from the sum of the
# printed means to the printed total, without changing any printed mean.
PLAIN_HIDDEN = {"user_pct": -0.02, "system_pct": 0.02, "emulation_pct": -0.02}
THREADS_HIDDEN = {
    "system_pct": -0.01, "emulation_pct": -0.01, "sigp_rate": -0.1, "ssch_rate": -0.01,
    "page_read_rate": -0.03, "msgs_rate": 0.014,
}  # fmt: skip


def session(published: str, hidden: dict[str, float], start: datetime) -> FakeSession:
    """21 intervals of 30 seconds around the published means, and two that belong in no mean."""
    head = {"system": "SYSTEMID", "source": "zvm-monitor"}
    ends = [start + timedelta(seconds=30 * (i + 1)) for i in range(21)]
    cpu: list[dict[str, object]] = []
    for line in published.split("\n"):
        if not line:
            continue
        number, kind, _, *fields, place = line.split()
        core, thread = map(int, place.split("/"))
        means: dict[str, object] = {}
        for key, field in zip(KEYS, fields, strict=True):
            if key == "dvid":
                means[key] = field
            elif not field.startswith(".."):
                value = float(field)
                means[key] = max(value + hidden.get(key, 0.0), 0.0)
        for i, end in enumerate(ends):
            # Up and down by the same, so that the mean stays: 21 intervals, the middle one as it is.
            sway = 1 + (i - 10) / 100
            values = {k: v * sway if isinstance(v, float) else v for k, v in means.items()}
            flag = None
            cpu.append(
                {
                    **head,
                    "interval_end": end,
                    "seconds": 30.0,
                    "flag": flag,
                    "cpu_id": int(number),
                    "cpu_type": kind,
                }
                | {"polarity": "Vh", "dedicated": True, "core_id": core, "thread_id": thread}
                | values
                | {"entitlement_pct": 100.0}
            )
        for flag, seconds in (("gap", 95.0), ("short", 4.0)):
            cpu.append(
                {
                    **head,
                    "interval_end": ends[-1] + timedelta(seconds=seconds),
                    "seconds": seconds,
                    "flag": flag,
                }
                | {
                    "cpu_id": int(number),
                    "cpu_type": kind,
                    "polarity": "Vl",
                    "dedicated": False,
                    "busy_pct": 3.0,
                }
                | {"core_id": core, "thread_id": thread, "inst_sim_rate": 9e9}
            )
    interval = [
        {**head, "interval_end": end, "interval_start": end - timedelta(seconds=30), "seconds": 30.0}
        for end in ends
    ]
    system = {**head, "machine_type": "2964", "model": "704", "serial": "12F17", "release": "6.3.0"}
    return FakeSession({"system": [system], "interval": interval, "cpu": cpu})


def fields(text: str, label: str) -> list[list[str]]:
    """The published columns; %Susp, which newer levels print too, follows them."""
    return [line[len(label) :].split()[:-1] for line in text.split("\n") if line.startswith(label)]


def suspended(text: str, label: str) -> list[str]:
    return [line.split()[-1] for line in text.split("\n") if line.startswith(label)]


CASES = [
    pytest.param(PLAIN, PLAIN_TOTAL, PLAIN_HIDDEN, datetime(2015, 2, 14, 16, 4, 29, tzinfo=UTC), id="plain"),
    pytest.param(
        THREADS, THREADS_TOTAL, THREADS_HIDDEN, datetime(2015, 2, 14, 16, 31, 32, tzinfo=UTC), id="threads"
    ),
]


@pytest.mark.parametrize(("published", "total", "hidden", "start"), CASES)
def test_every_published_field_is_printed(
    published: str, total: str, hidden: dict[str, float], start: datetime
) -> None:
    text = reports.render("fcx304", session(published, hidden, start), now=datetime(2015, 2, 15, 8, 52, 14))
    assert fields(text, ">>Mean>>") == [line.split() for line in published.strip().split("\n")]
    assert fields(text, ">>Total>") == [total.split()]


def test_header_block_is_that_of_the_listing() -> None:
    start = datetime(2015, 2, 14, 16, 4, 29, tzinfo=UTC)
    text = reports.render("prclog", session(PLAIN, {}, start), now=datetime(2015, 2, 15, 8, 52, 14))
    lines = text.split("\n")
    assert re.fullmatch(r"FCX304  Run 2015/02/15 08:52:14         PRCLOG +zlens \d+\.\d+\.\d+", lines[0])
    assert lines[1] == "Processor Activity, by Time"
    assert re.fullmatch(r"From 2015/02/14 16:04:29 +SYSTEMID", lines[3])
    assert re.fullmatch(r"To   2015/02/14 16:14:59 +CPU 2964-704   SN 12F17", lines[4])
    assert re.fullmatch(r"For    630 Secs 00:10:30 +z/VM V\.6\.3\.0", lines[5])
    assert set(lines[6]) == {"_"}
    assert len({len(line) for line in (lines[0], *lines[3:7])}) == 1


def test_headings_are_those_of_the_listing() -> None:
    start = datetime(2015, 2, 14, 16, 4, 29, tzinfo=UTC)
    text = reports.render("prclog", session(PLAIN, {}, start), now=datetime(2015, 2, 15, 8, 52, 14))
    heads = text.split("\n")[8:12]
    published = [
        "<--- Percent Busy ----> <-- Rates per Sec. ---> <----- Paging -------> <Co> < Di>",
        "C Pct Fast Page <mm> < ag>",
        "Interval P Park Inst <2GB PGIN Path Read Msgs X'9C' Core/",
        "End Time U Type PPD Ent. DVID Time Total User Syst Emul Siml DIAG SIGP SSCH /s /s % /s /s /s Thread"
        " %Susp",
    ]
    # Dashes apart: the listing does not center every heading in the same way.
    assert [re.sub("-+", "-", line).split() for line in heads] == [
        re.sub("-+", "-", line).split() for line in published
    ]
    for group in published[0].split("> <")[:3]:
        width = len(group.strip("<>")) + 2
        assert any(len(found) == width for found in re.findall("<-[^>]*>", heads[0]))


def test_types_are_not_added_up() -> None:
    made = session(PLAIN, {}, datetime(2015, 2, 14, 16, 4, 29, tzinfo=UTC))
    made.connection.execute(
        "UPDATE cpu SET cpu_type = 'CP', polarity = 'Hor', dedicated = false WHERE cpu_id = 0"
    )
    totals = fields(reports.render("prclog", made, now=datetime(2015, 2, 15)), ">>Total>")
    assert [row[:4] for row in totals] == [["1", "CP", "Hor", "100"], ["3", "IFL", "VhD", "300"]]


def test_suspended_time_follows_the_published_columns() -> None:
    """IBM, VM66063: suspend time of a logical core is %Susp of FCX304."""
    made = session(PLAIN, {}, datetime(2015, 2, 14, 16, 4, 29, tzinfo=UTC))
    made.connection.execute("UPDATE cpu SET suspend_pct = 1.5 + cpu_id WHERE cpu_id < 3")
    text = reports.render("prclog", made, now=datetime(2015, 2, 15))
    assert suspended(text, ">>Mean>>") == ["1.5", "2.5", "3.5", "....."]
    # Where one part of a sum is not known, neither is the sum.
    assert suspended(text, ">>Total>") == ["....."]
