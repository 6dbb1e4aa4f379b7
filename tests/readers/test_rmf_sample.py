"""Tests of the reader against RMF: a Postprocessor CPU report of a z15 T02 (8562 Z02), z/OS 2.5 RMF,
263 half-hours of April 2022, published with the Zowe project zebra (EPL-2.0).

Every utilization, share and MSU value that RMF printed is recomputed from the times, weights and counts of
the same interval in the reader's tables.

Bounds: a printed dispatch time of t ms is truncated, so the true time is in [t, t + 1 ms), as
`test_rmf_times_are_truncated` shows. The length of an interval is printed to the ms, so the true length is
within 1 ms of it. A printed percentage is within half a unit of its last digit. A printed
value agrees if true times within these bounds give it; weights, counts and the capacity are exact. With the
printed times, all but a few counted values agree to the digit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import pytest

from raw_rows import rows
from samples import needs, sample
from zlens.errors import InputError
from zlens.inputs.options import Options, parse_zone
from zlens.readers.rmf import postprocessor as rmf_xml

MONTH = sample("rmf/rmf-postprocessor-cpu-8562-z15.xml")
SMALL = sample("rmf/rmf-postprocessor-cpu-small.xml")

pytestmark = needs(MONTH)

INTERVALS = 263
MS = Fraction(1, 1000)
Row = dict[str, Any]


class Month:
    """The tables of the file, by interval."""

    def __init__(self) -> None:
        self.source = rmf_xml.open_files([str(MONTH)], Options())
        self.intervals = {row["interval_end"]: row for row in rows(self.source, "rmf_interval")}
        self.partitions = self.by_end("rmf_partition")
        self.cpus = self.by_end("rmf_cpu")
        self.physical: dict[Any, dict[str, int]] = defaultdict(dict)
        for row in rows(self.source, "rmf_processor_count"):
            if row["row_kind"] == "type":
                self.physical[row["interval_end"]][row["cpu_type"]] = row["processors"]

    def by_end(self, table: str) -> dict[Any, list[Row]]:
        found = defaultdict(list)
        for row in rows(self.source, table):
            found[row["interval_end"]].append(row)
        return found


@pytest.fixture(scope="module")
def month() -> Month:
    return Month()


def exact(value: float) -> Fraction:
    """Return the decimal as printed, not the nearest binary number."""
    return Fraction(str(value))


def to_digit(value: Fraction, digits: int) -> Fraction:
    """Round half up."""
    scale = 10**digits
    return Fraction((value * scale + Fraction(1, 2)).__floor__(), scale)


class Comparison:
    """Counts of equal values, and a list of the others."""

    def __init__(self) -> None:
        self.compared: Counter[str] = Counter()
        self.to_the_digit: Counter[str] = Counter()
        self.wrong: list[tuple[str, Any, float, float]] = []

    def hold(
        self,
        name: str,
        where: Any,
        printed: float,
        low: Fraction,
        value: Fraction,
        high: Fraction,
        digits: int,
    ) -> None:
        half = Fraction(1, 2 * 10**digits)
        self.compared[name] += 1
        self.to_the_digit[name] += to_digit(value, digits) == exact(printed)
        if not low - half <= exact(printed) <= high + half:
            self.wrong.append((name, where, printed, float(value)))

    def percent(
        self, name: str, where: Any, printed: float, seconds: Fraction, spread: int, of: Fraction, t: Fraction
    ) -> None:
        """Compare 100 * seconds / (of * t); `spread` is 1 for a truncated time, 2 for a difference of two."""
        value = 100 * seconds / (of * t)
        low = 100 * (seconds - (spread - 1) * MS) / (of * (t + MS))
        high = 100 * (seconds + MS) / (of * (t - MS))
        self.hold(name, where, printed, low, value, high, 2)


def test_every_utilization_and_msu_of_partition_data(month: Month) -> None:
    found = Comparison()
    for end, header in month.intervals.items():
        t, capacity = exact(header["seconds"]), header["cpc_capacity_msu"]
        for row in month.partitions[end]:
            if row["cpu_type"] is None:
                continue
            where = (end, row["partition"], row["cpu_type"])
            physical = Fraction(month.physical[end][row["cpu_type"]])
            total = exact(row["total_s"])
            effective = exact(row["effective_s"]) if row["effective_s"] is not None else None
            kind = row["row_kind"]

            def percent(
                column: str,
                seconds: Fraction,
                spread: int,
                of: Fraction,
                row: Row = row,
                where: Any = where,
                t: Fraction = t,
                kind: str = kind,
            ) -> None:
                found.percent(f"{kind} {column}", where, row[column], seconds, spread, of, t)

            if kind == "physical":
                assert effective is None
                percent("physical_lpmgt_pct", total, 1, physical)
                percent("physical_total_pct", total, 1, physical)
                continue
            assert effective is not None
            percent("physical_lpmgt_pct", total - effective, 2, physical)
            percent("physical_effective_pct", effective, 1, physical)
            percent("physical_total_pct", total, 1, physical)
            if kind == "partition":
                logical = exact(row["logical_processors"])
                percent("logical_effective_pct", effective, 1, logical)
                percent("logical_total_pct", total, 1, logical)
            if row["msu_actual"] is not None:
                share = effective / (physical * t)
                low = effective / (physical * (t + MS)) * capacity
                high = (effective + MS) / (physical * (t - MS)) * capacity
                found.hold("msu_actual", where, row["msu_actual"], low, share * capacity, high, 0)
    assert found.wrong == []
    # Nine active partitions and three pools: every value that RMF printed is compared.
    assert found.compared == {
        "partition logical_effective_pct": 9 * INTERVALS,
        "partition logical_total_pct": 9 * INTERVALS,
        "partition physical_lpmgt_pct": 9 * INTERVALS,
        "partition physical_effective_pct": 9 * INTERVALS,
        "partition physical_total_pct": 9 * INTERVALS,
        "physical physical_lpmgt_pct": 3 * INTERVALS,
        "physical physical_total_pct": 3 * INTERVALS,
        "total physical_lpmgt_pct": 3 * INTERVALS,
        "total physical_effective_pct": 3 * INTERVALS,
        "total physical_total_pct": 3 * INTERVALS,
        "msu_actual": 4 * INTERVALS,
    }
    columns = [c for c in found.compared if c != "msu_actual"]
    printed = sum(
        row[column] is not None
        for each in month.partitions.values()
        for row in each
        for column in {c.split()[1] for c in columns} | {"msu_actual"}
    )
    assert printed == sum(found.compared.values()) == 64 * INTERVALS
    missed = found.compared - found.to_the_digit
    assert missed == {
        "partition logical_effective_pct": 2,
        "partition physical_lpmgt_pct": 2,
        "partition physical_effective_pct": 1,
        "total physical_lpmgt_pct": 2,
    }


def test_rmf_times_are_truncated(month: Month) -> None:
    """TOTAL is truncated to ms after the sum: it exceeds the sum of k rows by 0 to k - 1 ms."""
    excess: Counter[int] = Counter()
    for end in month.intervals:
        for cpu_type in ("CP", "IFL", "ICF"):
            pool = [row for row in month.partitions[end] if row["cpu_type"] == cpu_type]
            (total,) = [row for row in pool if row["row_kind"] == "total"]
            parts = [row for row in pool if row["row_kind"] != "total"]
            assert sum(row["weight"] or 0 for row in parts) == total["weight"]
            for column in ("effective_s", "total_s"):
                times = [exact(row[column]) for row in parts if row[column] is not None]
                over = (exact(total[column]) - sum(times)) / MS
                assert over.denominator == 1
                assert 0 <= over < len(times)
                excess[int(over)] += 1
    assert excess.total() == 2 * 3 * INTERVALS
    assert max(excess) == 4


def test_every_share_of_processors(month: Month) -> None:
    """Entitlement = weight / weights of the pool x physical processors, to the digit: weights are exact."""
    compared = 0
    for end, header in month.intervals.items():
        pool = [row for row in month.partitions[end] if row["cpu_type"] == "CP"]
        (own,) = [row for row in pool if row["partition"] == header["partition"]]
        (total,) = [row for row in pool if row["row_kind"] == "total"]
        entitlement = to_digit(100 * Fraction(own["weight"], total["weight"]) * month.physical[end]["CP"], 1)
        (printed,) = [row for row in month.cpus[end] if row["row_kind"] == "total"]
        assert exact(printed["share_pct"]) == entitlement
        processors = [row for row in month.cpus[end] if row["row_kind"] == "processor"]
        by_priority = {row["priority"]: exact(row["share_pct"]) for row in processors}
        # Less than one processor: the vertical-medium one has all of it, the vertical-low one 0.
        assert by_priority == {"MED": entitlement, "LOW": 0}
        assert sum(by_priority.values()) == exact(printed["share_pct"])
        compared += 3
    assert compared == 3 * INTERVALS


def test_processor_averages(month: Month) -> None:
    """The report has no times of single processors: their mean is compared with the partition's time."""
    found = Comparison()
    for end, header in month.intervals.items():
        t = exact(header["seconds"])
        (own,) = [
            row
            for row in month.partitions[end]
            if row["partition"] == header["partition"] and row["cpu_type"] == "CP"
        ]
        processors = [row for row in month.cpus[end] if row["row_kind"] == "processor"]
        (total,) = [row for row in month.cpus[end] if row["row_kind"] == "total"]
        assert all(row["online_pct"] == 100 and row["parked_pct"] == 0 for row in processors)
        n = Fraction(len(processors))
        assert n == exact(own["logical_processors"])
        found.percent("lpar_busy_pct", end, total["lpar_busy_pct"], exact(own["total_s"]), 1, n, t)
        half = Fraction(1, 200)
        for column in ("lpar_busy_pct", "mvs_busy_pct"):
            mean = sum(exact(row[column]) for row in processors) / n
            found.hold(f"mean {column}", end, total[column], mean - half, mean, mean + half, 2)
        rates = [exact(row["io_rate"]) for row in processors]
        # Four digits are printed: two decimals below 100, one below 1000, then none.
        digits = [2 if rate < 100 else 1 if rate < 1000 else 0 for rate in (*rates, exact(total["io_rate"]))]
        slack = sum(Fraction(1, 2 * 10**d) for d in digits[:-1])
        found.hold("io_rate", end, total["io_rate"], sum(rates) - slack, sum(rates, Fraction()),
                   sum(rates) + slack, digits[-1])  # fmt: skip
    assert found.wrong == []
    assert found.compared == dict.fromkeys(
        ("lpar_busy_pct", "mean lpar_busy_pct", "mean mvs_busy_pct", "io_rate"), INTERVALS
    )
    assert found.to_the_digit["lpar_busy_pct"] == INTERVALS


def test_flags_agree_with_header(month: Month) -> None:
    """The three letters of the system's partition equal the three settings of the header, in order."""
    for end, header in month.intervals.items():
        (own,) = [r for r in month.partitions[end] if r["partition"] == header["partition"]]
        assert (own["cap_initial"], own["cap_hardware"], own["cap_hardware_group"]) == (
            header["initial_capping"],
            header["hardware_capping"],
            header["hardware_group_capping"],
        )
        assert own["capping"] == "N Y N"


def test_rmf_sample_contents(month: Month) -> None:
    (system,) = month.source.systems
    assert (system.system, system.lpar, system.machine, system.model) == (
        "RPRT",
        "VIRPT",
        "8562-5ED28",
        "Z02",
    )
    assert (system.release, system.nominal_s, system.local_time) == ("z/OS V2R5", 1800.0, True)
    assert len(system.intervals) == len(month.intervals) == INTERVALS
    assert {interval.flag for interval in system.intervals} == {None}
    lengths = {row["seconds"] for row in month.intervals.values()}
    assert min(lengths) == 1799.995
    assert max(lengths) == 1800.005
    # The only problem of this file is the unknown zone.
    assert [p.kind for p in month.source.problems()] == ["zone"]
    counts = {name: len(rows(month.source, name)) for name in month.source.tables}
    assert counts == {
        "rmf_interval": INTERVALS,
        "rmf_cpu": 3 * INTERVALS,
        "rmf_processor_count": 6 * INTERVALS,
        "rmf_partition": 17 * INTERVALS,
        "rmf_address_space": 11 * INTERVALS,
        "rmf_inready": 16 * INTERVALS,
        "rmf_work_unit": INTERVALS,
        "rmf_blocked": INTERVALS,
        "rmf_multithreading": 0,
        "rmf_other": 0,
    }
    kinds = Counter((r["row_kind"], r["status"]) for each in month.partitions.values() for r in each)
    assert kinds == {
        ("partition", "Active"): 9 * INTERVALS,
        ("partition", "Deactivated"): 2 * INTERVALS,
        ("physical", None): 3 * INTERVALS,
        ("total", None): 3 * INTERVALS,
    }
    for end, header in month.intervals.items():
        names = {r["partition"] for r in month.partitions[end] if r["row_kind"] == "partition"}
        assert len(names) == header["configured_partitions"] == 11
    inventory = month.source.inventory()
    assert [row.count for row in inventory] == [INTERVALS] * 8
    assert all(row.layout == "postprocessor_cpu" for row in inventory)


def test_rows_are_at_their_offset(month: Month) -> None:
    data = MONTH.read_bytes()
    for end, header in month.intervals.items():
        assert data[header["offset"] :].startswith(b"<postprocessor>")
        for row in month.partitions[end]:
            text = data[row["offset"] : row["offset"] + 200]
            assert text.startswith(b"<row ")
            assert f"<col>{row['partition']}</col>".encode() in text


def test_zone_option_gives_utc_times() -> None:
    source = rmf_xml.open_files([str(MONTH)], Options(tz=parse_zone("America/New_York")))
    (system,) = source.systems
    assert source.problems() == []
    assert (system.utc_offset_s, system.local_time) == (-4 * 3600, False)
    ends = [row["interval_end"] for row in rows(source, "rmf_interval")]
    assert min(ends).isoformat() == "2022-04-06T17:00:00+00:00"
    assert max(ends).isoformat() == "2022-04-12T04:00:00+00:00"


def test_interval_in_two_files_is_read_once() -> None:
    """The small file ends 2022-04-12 00:30, after the month; given twice, it counts once."""
    source = rmf_xml.open_files([str(SMALL), str(MONTH), str(SMALL)], Options())
    (system,) = source.systems
    assert len(system.intervals) == INTERVALS + 1
    assert system.files == [str(MONTH), str(SMALL)]
    kinds = Counter(p.kind for p in source.problems())
    assert kinds == {"zone": 2, "duplicate": 1}


def test_rmf_error_response_has_rmf_message() -> None:
    words = ["GPM0739E", "Invalid DDS request parameter 'DATE'"]
    path = sample("rmf/rmf-postprocessor-cpu-error.xml")
    data = path.read_bytes()
    assert rmf_xml.detect(data[:65536], len(data))
    with pytest.raises(InputError) as caught:
        rmf_xml.open_files([str(path)], Options())
    assert caught.value.file == str(path)
    assert caught.value.offset
    for word in words:
        assert word in str(caught.value)
    # With a readable file they are problems.
    source = rmf_xml.open_files([str(path), str(SMALL)], Options())
    assert len(source.systems) == 1
    assert any(words[0] in p.detail for p in source.problems() if p.file == str(path))
