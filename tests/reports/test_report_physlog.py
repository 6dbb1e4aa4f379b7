"""PHYSLOG against IBM's published listing.

Publication: IBM, z/VM Performance Toolkit update (2018): FCX302 of 2017/06/26 10:10:00 to 10:46:00, on a
machine of 86 IFLs. Times of logical and physical processors are fed that make its three rows; the other 34
intervals of its mean are alike. Every printed field is held against the listing.
"""

from __future__ import annotations

import pytest

import monwrite_made as made
import partitions_made as lpar
import zlens

MEAN = "IFL 86 0 95 1000 3240.9 244.65 1.075 1804.8 5290.4 1.632"
FIRST = "IFL 86 0 116 1000 4238.0 340.31 1.080 1714.0 6292.3 1.485"
SECOND = "IFL 86 0 115 1000 4164.1 343.12 1.082 1911.5 6418.7 1.541"
PHYSICAL = 86
INTERVALS = 36
#: 2017-06-26 10:10:00 UTC
START_US = 1_498_471_800 * made.S_US


def intervals() -> list[tuple[int, float, float, float]]:
    """Logical processors, %LgclC, %Ovrhd, %LPmgt of each minute: two as published, the rest for the mean."""
    found = []
    for line in (FIRST, SECOND):
        fields = line.split()
        found.append((int(fields[3]), *(float(fields[i]) for i in (5, 6, 8))))
    rest = INTERVALS - len(found)
    fields = MEAN.split()
    means = [float(fields[i]) for i in (5, 6, 8)]
    # Printed totals are of unrounded values; a hundredth more is hidden by rounding.
    means[2] += 0.02
    others = [(INTERVALS * mean - sum(one[i + 1] for one in found)) / rest for i, mean in enumerate(means)]
    # Processors only leave, so that each has a sample before: 27 intervals of 94 and 7 of 93.
    return found + [(94 if i < 27 else 93, others[0], others[1], others[2]) for i in range(rest)]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    partitions = [
        lpar.Partition("ZVM1", 1, 500, [lpar.Logical(i) for i in range(60)]),
        lpar.Partition("ZVM2", 2, 300, [lpar.Logical(i) for i in range(40)]),
        lpar.Partition("ZVM3", 3, 200, [lpar.Logical(i) for i in range(16)]),
    ]
    management = [10**12 + i for i in range(PHYSICAL)]
    groups = [made.configuration(START_US, {**made.CONFIG, "MTRSYS_SYSTMID": "PHYSTEST"})]

    def sample(end: int) -> None:
        records = [lpar.partition(end - 300, one) for one in partitions]
        records.append(lpar.physical(end - 200, [("IFL", time) for time in management]))
        groups.append(made.interval(end, records))

    sample(START_US)
    for number, (count, logical, overhead, none) in enumerate(intervals(), 1):
        while sum(len(one.processors) for one in partitions) > count:
            max(partitions, key=lambda one: len(one.processors)).processors.pop()
        for one in partitions:
            for processor in one.processors:
                processor.run(0.6 * logical / count, 0.6 * overhead / count)
        management = [time + round(0.6 * none / PHYSICAL * lpar.US) for time in management]
        sample(START_US + number * made.MINUTE_US)
    path = made.write(tmp_path_factory.mktemp("physlog") / "a.mon", groups)
    with zlens.open(path) as session:
        assert session.all_problems() == []
        return session.report("fcx302")


def rows(text: str, label: str) -> list[list[str]]:
    return [line[len(label) :].split() for line in text.split("\n") if line.startswith(label)]


@pytest.mark.parametrize(
    ("label", "published"), [(">>Mean>>", MEAN), ("10:11:00", FIRST), ("10:12:00", SECOND)]
)
def test_every_published_field_is_printed(text: str, label: str, published: str) -> None:
    fields = published.split()
    assert rows(text, label) == [fields, [">Sum", *fields[1:]]]


def test_headings_are_those_of_the_listing(text: str) -> None:
    lines = text.split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("End Time"))
    assert lines[1] == "Real Core Utilization Log"
    assert lines[at - 1].split() == ["Interval", "<PhCore>", "Shrd", "Total"]
    assert lines[at].split() == [
        "End", "Time", "Type", "Conf", "Ded", "Log.", "Weight", "%LgclC", "%Ovrhd", "LCoT/L", "%LPmgt",
        "%Total", "TypeT/L",
    ]  # fmt: skip
    assert lines[3].startswith("From 2017/06/26 10:10:00")
    assert lines[4].startswith("To   2017/06/26 10:46:00")
    assert lines[5].startswith("For   2160 Secs 00:36:00")
