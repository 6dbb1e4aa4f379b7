"""Tests of user groups: the file of patterns, and grouped rows against sums and means computed here."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iterations import iterations
from zlens.catalog import groups, measures
from zlens.errors import InputError

SQL_TYPES = {"text": "VARCHAR", "int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "time": "TIMESTAMP"}
CONNECTION = duckdb.connect(":memory:", config={"threads": 1})
# Interval lengths are known only from the rows.
CONNECTION.execute(
    "CREATE TABLE interval (system VARCHAR, source VARCHAR, interval_end TIMESTAMPTZ, seconds DOUBLE)"
)
DEVICES = ("1000", "1001", "1002", "20AB", "20AC")


def grouped(
    name: str, rows: Sequence[Mapping[str, Any]], wanted: groups.Groups | None
) -> list[dict[str, Any]]:
    """Return the grouped rows of a measure, with intervals of a minute; missing columns are NULL."""
    columns = measures.load_measure(name).columns
    typed = ", ".join(f'"{column.name}" {SQL_TYPES[column.type]}' for column in columns)
    CONNECTION.execute(f"CREATE OR REPLACE TABLE made ({typed})")
    if rows:
        CONNECTION.executemany(
            f"INSERT INTO made VALUES ({', '.join('?' * len(columns))})",
            [[{"seconds": 60.0, **row}.get(column.name) for column in columns] for row in rows],
        )
    found = CONNECTION.execute(groups.sql(name, "SELECT * FROM made", wanted))
    names = [entry[0] for entry in found.description or []]
    assert names == [column.name for column in columns]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def device(number: str, **values: Any) -> dict[str, Any]:
    found = {"system": "SYS1", "source": "made", "seconds": 60.0, "device": number, **values}
    # Every operation was measured.
    return found | {"measured_rate": values["rate"]} if "rate" in values else found


def one(rows: list[dict[str, Any]], key: str, name: str) -> dict[str, Any]:
    (found,) = [row for row in rows if row[key] == name]
    return found


PAGING = groups.parse('[device]\n"1000-1002" = "PAGING"', "groups.toml")


def test_rates_are_added_and_times_weighted_by_rate() -> None:
    rows = [
        device("1000", rate=10.0, serv_s=0.001, queued=0.5, volume="PAG001", use="paging", paths=8),
        device("1001", rate=30.0, serv_s=0.003, queued=0.25, volume="PAG002", use="paging", paths=8),
        device("1002", rate=0.0, serv_s=None, queued=0.0, volume="PAG003", use="paging", paths=8),
        device("20AB", rate=7.0, serv_s=0.002, queued=0.0, volume="USR001", use="minidisk", paths=4),
    ]
    found = grouped("device", rows, PAGING)
    assert len(found) == 2
    group = one(found, "device", "PAGING")
    assert group["rate"] == 40.0
    assert group["serv_s"] == pytest.approx((10 * 0.001 + 30 * 0.003) / 40)
    assert group["queued"] == 0.75
    assert group["group_name"] == "PAGING"
    assert (group["volume"], group["use"], group["paths"]) == (None, "paging", 8)
    alone = one(found, "device", "20AB")
    assert {key: value for key, value in alone.items() if value is not None} == {**rows[3], "seconds": 60.0}


def test_group_value_is_null_if_member_is_null() -> None:
    rows = [device("1000", rate=10.0, queued=1.0), device("1001", rate=5.0, queued=None)]
    group = one(grouped("device", rows, PAGING), "device", "PAGING")
    assert (group["rate"], group["queued"]) == (15.0, None)
    # A time without its weight would be ignored.
    unweighed = device("1001", rate=5.0, pend_s=0.2) | {"measured_rate": None}
    rows = [device("1000", rate=10.0, pend_s=0.1), unweighed]
    assert one(grouped("device", rows, PAGING), "device", "PAGING")["pend_s"] is None


@pytest.mark.long
def test_group_member_counts_after_first_difference() -> None:
    rows = [
        {"system": "S", "source": "m", "userid": "LNX1", "cpu_s": 2.0, "storage_bytes": 100},
        {"system": "S", "source": "m", "userid": "LNX2", "cpu_s": None, "storage_bytes": 50},
    ]
    wanted = groups.parse('[guest]\n"lnx?" = "linux"', "groups.toml")
    group = one(grouped("guest", rows, wanted), "userid", "linux")
    assert (group["cpu_s"], group["storage_bytes"]) == (2.0, 150)


def test_virtual_processors_of_group_are_one_row() -> None:
    head = {"system": "S", "source": "m"}
    rows = [{**head, "userid": "LNX1", "vcpu": 0, "cpu_s": 1.0, "virtual_s": 1.0, "tv": 1.0}]
    rows += [{**head, "userid": "LNX1", "vcpu": 1, "cpu_s": 3.0, "virtual_s": 2.0, "tv": 1.5}]
    rows += [{**head, "userid": "CMS", "vcpu": 0, "cpu_s": 0.5, "virtual_s": 0.25, "tv": 2.0}]
    found = grouped("guest_cpu", rows, groups.parse('[guest]\n"LNX*" = "linux"', "groups.toml"))
    group = one(found, "userid", "linux")
    assert (group["vcpu"], group["cpu_s"], group["tv"]) == (None, 4.0, pytest.approx(4 / 3))
    assert one(found, "userid", "CMS")["vcpu"] == 0


def test_partition_groups_are_per_processor_type() -> None:
    head = {"system": "S", "source": "m", "machine": "z"}
    rows = [
        {
            **head,
            "partition": name,
            "cpu_type": kind,
            "effective_s": 1.0,
            "effective_pct": pct,
            "logical_cpus": n,
        }
        for name, kind, pct, n in (
            ("TEST1", "CP", 50.0, 1),
            ("TEST2", "CP", 20.0, 3),
            ("TEST1", "IFL", 5.0, 1),
        )
    ]
    found = grouped("partition", rows, groups.parse('[partition]\n"TEST*" = "test"', "groups.toml"))
    assert sorted((row["cpu_type"], row["effective_s"], row["effective_pct"]) for row in found) == [
        ("CP", 2.0, 27.5),
        ("IFL", 1.0, 5.0),
    ]


def test_subject_named_like_group_belongs_to_it() -> None:
    wanted = groups.parse('[device]\n"1000" = "20AB"', "groups.toml")
    found = grouped("device", [device("1000", rate=1.0), device("20AB", rate=2.0)], wanted)
    assert [(row["device"], row["rate"]) for row in found] == [("20AB", 3.0)]


def test_group_matches_volume_name_if_device_does_not() -> None:
    wanted = groups.parse('[volume]\n"PAG*" = "paging"\n[device]\n"1000" = "first"', "groups.toml")
    rows = [device(number, volume="PAG001", rate=1.0) for number in ("1000", "1001", "1002")]
    found = grouped("device", rows, wanted)
    assert sorted((row["device"], row["rate"]) for row in found) == [("first", 1.0), ("paging", 2.0)]


def test_sql_wildcards_are_literal_in_groups() -> None:
    wanted = groups.parse('[guest]\n"A_%\'*" = "odd"', "groups.toml")
    rows = [{"system": "S", "source": "m", "userid": name} for name in ("A_%'X", "ABCD", "A_%")]
    assert sorted(row["userid"] for row in grouped("guest_wait", rows, wanted)) == ["ABCD", "A_%", "odd"]


def test_short_member_interval_does_not_flag_group() -> None:
    rows = [device("1000", rate=1.0, flag="short"), device("1001", rate=1.0)]
    assert one(grouped("device", rows, PAGING), "device", "PAGING")["flag"] is None
    rows[1]["flag"] = "gap"
    assert one(grouped("device", rows, PAGING), "device", "PAGING")["flag"] == "short"


RATES = st.one_of(st.none(), st.just(0.0), st.floats(0.001, 1e6))
TIMES = st.one_of(st.none(), st.floats(0.0, 10.0))
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(DEVICES), RATES, TIMES, RATES, TIMES),
    max_size=20,
    unique_by=lambda row: row[:2],
)


def rows_of(drawn: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [
        device(number, rate=rate, serv_s=serv, queued=queued, read_pct=read) | {"system": f"S{system}"}
        for system, number, rate, serv, queued, read in drawn
    ]


def added(values: Sequence[float | None]) -> float | None:
    return None if None in values or not values else math.fsum(v for v in values if v is not None)


def weighted(pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
    if any(weight is None for _, weight in pairs):
        return None
    kept = [(value, weight) for value, weight in pairs if weight]
    if not kept or any(value is None for value, _ in kept):
        return None
    return math.fsum(v * w for v, w in kept if v is not None and w) / math.fsum(w for _, w in kept if w)


@settings(max_examples=iterations(30, 6), deadline=None)
@given(ROWS, st.booleans())
def test_group_rows_are_sums_and_weighted_means(drawn: Sequence[tuple[Any, ...]], mean: bool) -> None:
    wanted = groups.Groups(PAGING.patterns, mean)
    rows = rows_of(drawn)
    found = {(row["system"], row["device"]): row for row in grouped("device", rows, wanted)}
    for system in {row["system"] for row in rows}:
        members = [r for r in rows if r["system"] == system and r["device"].startswith("10")]
        if len(members) > 1:
            row = found[system, "PAGING"]
            # A new member has no rate yet.
            there = [r for r in members if r["rate"] is not None]
            total = added([r["rate"] for r in there])
            expected = total / len(there) if mean and total is not None else total
            assert row["rate"] == pytest.approx(expected)
            for column in ("serv_s", "read_pct"):
                assert row[column] == pytest.approx(weighted([(r[column], r["rate"]) for r in there]))
            # No operation waits for an idle device.
            waiting = [r for r in members if r["rate"] or r["queued"] is not None]
            queued = added([r["queued"] for r in waiting])
            assert row["queued"] == pytest.approx(queued / len(waiting) if mean and queued else queued)
    others = [row for row in rows if row["device"].startswith("20")]
    for row in others:
        same = found[row["system"], row["device"]]
        assert {key: value for key, value in same.items() if key in row} == row


@settings(max_examples=iterations(20, 5), deadline=None)
@given(ROWS, st.booleans())
def test_single_member_groups_change_nothing(drawn: Sequence[tuple[Any, ...]], mean: bool) -> None:
    rows = rows_of(drawn)
    own = groups.Groups({"device": tuple((name, name) for name in DEVICES)}, mean)
    once = grouped("device", rows, own)

    def key(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return row["system"], row["device"]

    plain = sorted(grouped("device", rows, None), key=key)
    assert sorted((row | {"group_name": None} for row in once), key=key) == plain
    assert sorted(grouped("device", once, own), key=key) == sorted(once, key=key)


def test_every_grouped_measure_runs() -> None:
    everything = groups.Groups(dict.fromkeys(groups.KINDS, (("*", "all"),)))
    assert set(groups.groupings()) == {"guest", "guest_cpu", "guest_wait", "device", "paging", "partition"}
    # DuckDB needs seconds to bind all columns of `guest`; other tests run this statement as well.
    for table in iterations([*groups.groupings()], sorted({*groups.groupings()} - {"guest", "guest_cpu"})):
        assert grouped(table, [], everything) == []


BAD = [
    ("not toml", "is not valid TOML", "under [guest]"),
    ('[guests]\n"A" = "b"', "has 'guests'", "[guest], [device], [volume], [partition]"),
    ('guest = "A"', "has 'guest'", "[guest]"),
    ('[guest]\n"A" = 3', "[guest] 'A' is 3", "the name of a group"),
    ('[guest]\n"A" = " "', "is ' '", "the name of a group"),
    ('[guest]\n"" = "b"', "'' is not a pattern", "* or ?"),
    ('[device]\n"2000-1FFF" = "b"', "not a range of devices", "the lower first"),
    ('[device]\n"2000-XYZ" = "b"', "not a range of devices", "the lower first"),
    ('show = "most"', "show = 'most'", "sum or mean"),
]


@pytest.mark.parametrize(("text", "said", "cure"), BAD)
def test_invalid_group_files_are_reported(text: str, said: str, cure: str) -> None:
    with pytest.raises(InputError) as caught:
        groups.parse(text, "mine.toml")
    assert said in str(caught.value)
    assert "mine.toml" in str(caught.value)
    assert cure in f"{caught.value.expected} {caught.value.cure}"


def test_unreadable_group_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        groups.read(str(tmp_path / "none.toml"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        groups.read(str(tmp_path / "binary"))
    (tmp_path / "long").write_bytes(b"#" * 1_000_002)
    with pytest.raises(InputError, match="longer than 1,000,000 bytes"):
        groups.read(str(tmp_path / "long"))


def test_group_file_example_is_read() -> None:
    example = "\n".join(line[4:] for line in str(groups.__doc__).split("\n") if line.startswith("    "))
    assert set(groups.parse(example, "example.toml").patterns) == {*groups.KINDS, groups.CLUSTER}


def test_groups_documentation_is_correct() -> None:
    text = (Path(__file__).parents[2] / "docs" / "groups.md").read_text(encoding="utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    assert set(groups.parse(example, "example.toml").patterns) == {*groups.KINDS, groups.CLUSTER}
    listed = text.rpartition("The measures ")[2].partition(" show groups.")[0]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(groups.groupings())


@pytest.mark.parametrize(
    ("system", "cluster"),
    [
        ("ZVM1", "PROD"),
        ("zvm12", "PROD"),
        ("ZVM", "PROD"),
        ("TEST1", "TEST"),
        ("TEST12", None),
        ("A.B", "DOT"),
        ("AXB", None),
        ("", None),
    ],
)
def test_first_matching_pattern_determines_cluster(system: str, cluster: str | None) -> None:
    text = '[cluster]\n"ZVM*" = "PROD"\n"TEST?" = "TEST"\n"ZVM1" = "LATER"\n"A.B" = "DOT"'
    assert groups.cluster(system, groups.parse(text, "groups.toml")) == cluster
    assert groups.cluster(system, groups.parse("", "groups.toml")) is None
    assert groups.cluster(system, None) is None


@pytest.mark.parametrize("factor", ["0", "-1.5", "inf", "nan", "true", '"two"'])
def test_factor_of_member_is_number_above_zero(factor: str) -> None:
    with pytest.raises(InputError, match="above 0"):
        groups.parse(f'[member]\n"ZVM2" = {factor}\n', "groups.toml")
    with pytest.raises(InputError, match="member"):
        groups.parse("member = 2\n", "groups.toml")
