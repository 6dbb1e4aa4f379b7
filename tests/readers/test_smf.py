"""Tests of SMF dumps: systems, zones, intervals, the table of counters, events, the inventory."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
from smf113_builder import START_US, dump, opened, other, record, rows

import zlens
from samples import needs, sample
from zlens.catalog import smf
from zlens.catalog.smf_record import CounterSetValues
from zlens.errors import InputError
from zlens.inputs.options import Options, parse_zone
from zlens.readers.recognition import recognize
from zlens.readers.smf import systems as smf_systems
from zlens.readers.smf.dump import detect

SAMPLE = sample("smf/synth_rdw.smf")
START = dt.datetime.fromtimestamp(START_US / 1e6, dt.UTC)


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def power_save() -> list[bytes]:
    """Return subtype 2 of a z196 of January 2011 in power save for twenty minutes (J. Burg, IBM, SHARE 8882).

    The listing has the times of the records, processors, their classes 1 and 6, and the speed; the counts
    are synthetic: the cycles of a processor that is half busy.
    """
    moments = [(0, 5206), (19.07, 5206), (19.17, 4452), (300, 4452), (1294.18, 4452), (1294.35, 5206)]
    records = []
    cycles = dict.fromkeys(range(4), 10**12)
    before, speed_before = 0.0, 5206
    for moment, speed in moments:
        for cpu in range(4):
            cycles[cpu] += round((moment - before) * speed_before * 500_000)
            # The scheduled interval: five minutes, or up to the state change.
            start = moment - 300 if moment % 300 == 0 else moment // 300 * 300
            records.append(
                record(
                    2, cpu, moment, [cycles[cpu], cycles[cpu] // 2], start=start, speed=speed,
                    zone_s=-5 * 3600, CPUPROCCLASS=1 if cpu < 2 else 6, CFM=True,
                )
            )  # fmt: skip
        before, speed_before = moment, speed
    return records


class TestPowerSave:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return dump(tmp_path / "save.smf", power_save())

    def test_two_changes_of_speed_are_inferred(self, path: Path) -> None:
        with zlens.open(path) as session:
            found = session.sql(
                "select time, kind, subject, detail, inferred, record from event order by time"
            ).rows
        assert found == [
            (at(19.17), "CPU speed change", "CPU 0-3", "from 5206 to 4452 cycles per microsecond", True,
             "SMF113_CHANGE"),
            (at(1294.35), "CPU speed change", "CPU 0-3", "from 4452 to 5206 cycles per microsecond", True,
             "SMF113_CHANGE"),
        ]  # fmt: skip

    def test_short_intervals_are_flagged(self, path: Path) -> None:
        source = opened(path)
        (info,) = source.systems
        assert info.nominal_s == 300
        assert [(round(i.seconds or 0, 2), i.flag) for i in info.intervals] == [
            (19.07, "short"),
            (0.1, "short"),
            (280.83, None),
            (94.18, "short"),
            (0.17, "short"),
        ]
        of_cpu = [row for row in rows(source) if row["cpu_id"] == 2]
        flags = [None, "short", "short", None, "gap", "short"]
        assert [row["flag"] for row in of_cpu] == flags
        seconds = [None if row["seconds"] is None else round(row["seconds"], 2) for row in of_cpu]
        assert seconds == [None, 19.07, 0.1, 280.83, 994.18, 0.17]
        assert [row["cpsp"] for row in of_cpu] == [5206, 5206, 4452, 4452, 4452, 5206]
        # Half busy throughout, at either speed.
        for row in of_cpu[1:]:
            speed = 5206 if row["cpsp"] == 4452 and row["seconds"] < 1 else row["cpsp"]
            speed = 4452 if row["cpsp"] == 5206 and row["seconds"] < 1 else speed
            assert row["c0_d"] / row["seconds"] / speed / 1e6 == pytest.approx(0.5, rel=1e-3)

    def test_unnamed_processor_classes_stay_numbers(self, path: Path) -> None:
        source = opened(path)
        types = {(row["cpu_id"], row["cpu_class"], row["cpu_type"]) for row in rows(source)}
        assert types == {(0, 1, "1"), (1, 1, "1"), (2, 6, "6"), (3, 6, "6")}
        problems = source.problems(complete=True)
        assert [(p.kind, p.record, p.detail.split(",")[0]) for p in problems] == [
            ("section", "SMF 113.2", "1: unknown cpu_type (first occurrence); shown unchanged"),
            ("section", "SMF 113.2", "6: unknown cpu_type (first occurrence); shown unchanged"),
        ]

    def test_local_time(self, path: Path) -> None:
        (info,) = opened(path).systems
        assert info.utc_offset_s == -5 * 3600
        assert (info.machine, info.model, info.release) == ("2817-2A3B4", "M15", "1.12")
        (row,) = opened(path).inventory()
        assert row.first_us == START_US


def test_both_subtypes_of_one_interval(tmp_path: Path) -> None:
    records = []
    total = 0
    for end in (300, 600, 900):
        total += end
        records += [record(1, 0, end, [end]), record(2, 0, end, [total])]
    path = dump(tmp_path / "both.smf", records)
    source = opened(path)
    assert [(row["subtype"], row["c0_d"]) for row in rows(source)] == [(1, 300), (1, 600), (1, 900)]
    assert source.problems(complete=True) == []
    assert source.info()[0]["subtype_2"] == "not shown in 3 intervals that have subtype 1"
    records[-1] = record(2, 0, 900, [total + 1])
    source = opened(dump(tmp_path / "other.smf", records))
    (problem,) = source.problems(complete=True)
    assert problem.kind == "duplicate"
    assert "2 times and differ" not in problem.detail
    assert "differ 1 times" in problem.detail
    assert "counter 0 is 900 and 901" in problem.detail


def test_offline_processor_has_gap(tmp_path: Path) -> None:
    ends = {0: (300, 600, 900, 1200), 1: (300, 1200)}
    records = [
        record(2, cpu, end, [end * 1000 + cpu])
        for end in (300, 600, 900, 1200)
        for cpu in (0, 1)
        if end in ends[cpu]
    ]
    source = opened(dump(tmp_path / "offline.smf", records))
    found = {(row["cpu_id"], row["interval_end"]): row for row in rows(source)}
    gap = found[1, at(1200)]
    assert (gap["seconds"], gap["flag"], gap["c0_d"]) == (900.0, "gap", 900_000)
    assert found[0, at(1200)]["flag"] is None
    # The gap is left out of sums and does not extend intervals of other processors.
    (info,) = source.systems
    assert [interval.flag for interval in info.intervals] == [None, None, None]


def test_counter_resets_are_events(tmp_path: Path) -> None:
    records = [record(2, 3, 300 * n, [n * 10]) for n in (1, 2)]
    records += [record(2, 3, 300 * n, [n], run=700, CFF=n == 3) for n in (3, 4)]
    with zlens.open(dump(tmp_path / "run.smf", records)) as session:
        found = session.sql("select time, kind, subject, detail, inferred from event").rows
        assert found == [(at(700), "counters were reset", "CPU 3", "another run was started", True)]
        assert session.sql("select c0_d from smf113 order by tod").rows == [(None,), (10,), (None,), (1,)]


def test_changed_counter_version(tmp_path: Path) -> None:
    records = [record(1, 0, 300 * n, CTRVERSION2=2 if n < 3 else 3) for n in (1, 2, 3, 4)]
    with zlens.open(dump(tmp_path / "version.smf", records)) as session:
        kinds = session.sql("select kind, detail, inferred from event order by kind").rows
    assert kinds == [
        ("counter version change", "second counter version 2 to 3", True),
        ("counters were reset", "counter version changed", True),
    ]


def test_several_systems_and_files(tmp_path: Path) -> None:
    of = {
        name: [record(2, 0, 300 * n, [n * n], system=name) for n in range(1, 7)] for name in ("SYSA", "SYSB")
    }
    first = dump(tmp_path / "z-first.smf", [*of["SYSA"][:3], *of["SYSB"][:3]])
    second = dump(tmp_path / "a-second.smf", [*of["SYSB"][3:], *of["SYSA"][3:]])
    source = opened(second, first)
    assert [info.system for info in source.systems] == ["SYSA", "SYSB"]
    assert all(info.files == [str(first), str(second)] for info in source.systems)
    for name in of:
        counted = [row["c0_d"] for row in rows(source) if row["system"] == name]
        assert counted == [None, 3, 5, 7, 9, 11]
    with zlens.open([first, second], options=Options(systems=("SYSB",))) as session:
        assert session.sql("select distinct system from smf113").rows == [("SYSB",)]


def test_interval_spread_over_stamps(tmp_path: Path) -> None:
    """Records without an interval start belong to one interval if their timestamps are close."""
    bare = [
        record(2, cpu, 300 * n, [n], written=300 * n + cpu * 0.001, short_data=44)
        for n in range(1, 5)
        for cpu in range(3)
    ]
    bare = [r[:36] + bytes(8) + r[44:] for r in bare]
    source = opened(dump(tmp_path / "bare.smf", bare))
    (info,) = source.systems
    assert [round(i.seconds or 0, 2) for i in info.intervals] == [300.0] * 3
    assert info.nominal_s == 300
    assert len({row["interval_end"] for row in rows(source)}) == 4
    assert info.machine_type is None


def test_inventory_describes_record_types(tmp_path: Path) -> None:
    records = [
        other(2, None),
        *[record(1, cpu, 300) for cpu in range(3)],
        *[other(30, subtype, 10, 200 + subtype) for subtype in (2, 3, 3)],
        other(110, 1, length=30_000),
        other(3, None, 400),
    ]
    path = dump(tmp_path / "some.smf", records)
    found = {row.name: row for row in opened(path).inventory()}
    assert {name: (row.count, row.title, row.layout) for name, row in found.items()} == {
        "SMF 2": (1, "dump header", None),
        "SMF 3": (1, "dump trailer", None),
        "SMF 30.2": (1, "address space work: interval", "zlens"),
        "SMF 30.3": (2, "address space work: last interval of a step", "zlens"),
        "SMF 110.1": (1, "CICS", None),
        "SMF 113.1": (3, "CPU Measurement Facility: counts of the interval", "zlens"),
    }
    assert (found["SMF 30.3"].min_length, found["SMF 30.3"].bytes) == (203, 406)
    assert (found["SMF 113.1"].domain, found["SMF 113.1"].record) == (113, 1)
    with zlens.open(path) as session:
        assert session.sql("select sum(bytes), sum(count) from inventory").rows == [(path.stat().st_size, 9)]


def test_dump_without_counters(tmp_path: Path) -> None:
    path = dump(tmp_path / "plain.smf", [other(2, None), other(110, 4, 60), other(3, None)])
    source = opened(path)
    assert source.tables == {}
    (info,) = source.systems
    assert info.local_time
    assert info.first_us == START_US
    assert source.problems(complete=True) == source.resets() == []
    (info,) = opened(path, tz=parse_zone("+02:00")).systems
    assert not info.local_time
    assert info.first_us == START_US - 7200 * 1_000_000


def test_smf_subtracts_leap_seconds(tmp_path: Path) -> None:
    path = dump(tmp_path / "leap.smf", [record(1, 0, 300), record(1, 0, 600)])
    source = opened(path, leap=27)
    assert rows(source)[0]["interval_end"] == at(273)
    (info,) = source.systems
    assert (info.leap_s, info.utc_offset_s) == (27, 0)


def test_native_test_plan_equals_catalog() -> None:
    path = Path(__file__).parents[2] / "crates" / "columns" / "tests" / "counters" / "plan.json"
    assert json.loads(path.read_text()) == smf.plan(113)


def test_smf113_columns_equal_decoder_schema(tmp_path: Path) -> None:
    source = opened(dump(tmp_path / "one.smf", [record(1, 0, 300)]))
    (table,) = source.tables["smf113"]
    assert [(c.name, c.type) for c in table.columns] == source.decoder.schema()
    assert all(c.text for c in table.columns)
    (changes,) = source.tables["smf113_change"]
    assert all(c.text for c in changes.columns)
    assert rows(source, table="smf113_change") == []


@pytest.mark.parametrize(
    ("level", "release"),
    [
        ("SP7.2.5", "2.5"),
        ("SP7 3 1", "3.1"),
        ("SP725", "2.5"),
        ("SP7.1.3", "1.13"),
        ("SP7.0.9", "1.9"),
        ("", None),
        (None, None),
        ("z/VM", "z/VM"),
    ],
)
def test_zos_release_of_level(level: str | None, release: str | None) -> None:
    assert smf_systems.zos_release(level) == release


@pytest.mark.parametrize(
    ("ahead", "offset"),
    [(0, 0), (3600.4, 3600), (-18_000 + 27, -18_000), (20_700, 20_700), (3600 + 300, None), (9e9, None)],
)
def test_zones(ahead: float, offset: int | None) -> None:
    assert smf_systems.offset_s(START_US + round(ahead * 1e6), START_US) == offset


class TestDetect:
    def test_dump_is_found_among_others(self, tmp_path: Path) -> None:
        path = dump(tmp_path / "one.smf", [record(1, 0, 300)])
        assert recognize([str(path)]).files == {"smf.dump": [str(path)]}

    def test_detect_rejects_other_formats(self) -> None:
        for head in (b"", b"<xml>", bytes(5000), b"\xff" * 5000):
            assert not detect(head, len(head))

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda d: d[4:], "without their record descriptor words"),
            (lambda d: d.decode("cp037").encode("latin-1"), "EBCDIC to ASCII"),
        ],
        ids=["no words", "ascii"],
    )
    def test_unreadable_dump_formats(self, tmp_path: Path, change: object, words: str) -> None:
        good = dump(tmp_path / "good.smf", [record(1, 0, 300)])
        bad = tmp_path / "bad.smf"
        assert callable(change)
        bad.write_bytes(change(good.read_bytes()))
        with pytest.raises(InputError, match=words) as caught:
            recognize([str(bad)])
        assert caught.value.file == str(bad)
        assert "QUOTE SITE RDW" in str(caught.value)
        # With a good dump it is a problem, and the good dump is read.
        found = recognize([str(bad), str(good)])
        assert found.files == {"smf.dump": [str(good)]}
        assert [problem.kind for problem in found.problems] == ["transfer"]

    @pytest.mark.parametrize(
        ("swapped", "less", "words"),
        [
            (True, 0, "are little-endian"),
            (False, 4, "do not count themselves: each length is four bytes too small"),
            (True, 4, "are little-endian and do not count themselves"),
        ],
    )
    def test_words_of_another_kind(self, tmp_path: Path, swapped: bool, less: int, words: str) -> None:
        records = [record(1, cpu, 300) for cpu in range(3)]
        path = tmp_path / "words.smf"
        lengths = [(len(one) - less).to_bytes(2) for one in records]
        words_of = [length[::-1] if swapped else length for length in lengths]
        path.write_bytes(
            b"".join(word + bytes(2) + one[4:] for word, one in zip(words_of, records, strict=True))
        )
        with pytest.raises(InputError, match=f"record descriptor words {words}") as caught:
            recognize([str(path)])
        assert "write each word as a length of two bytes, big-endian" in str(caught.value)


@needs(SAMPLE)
class TestSample:
    """Tests of a dump generated elsewhere: 32 records of each subtype, among types 2, 3, 70 and 72."""

    def test_sample_is_read_completely(self) -> None:
        source = opened(SAMPLE)
        counts = {row.name: row.count for row in source.inventory()}
        assert counts == {
            "SMF 2": 1, "SMF 3": 1, "SMF 70.1": 4, "SMF 72.3": 40, "SMF 113.1": 32, "SMF 113.2": 32,
        }  # fmt: skip
        # Subtype 1 is the difference of subtype 2, in each of 188 counters.
        assert source.problems(complete=True) == []
        (info,) = source.systems
        assert (info.system, info.machine, info.nominal_s) == ("SY00", "3931-ABCDE", 900)
        # Four of the counters and four of RMF, which uses another clock: none covers another.
        assert [interval.layer for interval in info.intervals] == [1, 1, 1, 1, 0, 0, 0, 0]

    def test_sample_columns(self) -> None:
        found = rows(opened(SAMPLE))
        assert len(found) == 32
        assert {row["subtype"] for row in found} == {1}
        assert {(row["cpu_id"], row["core_id"], row["cpu_type"]) for row in found} == {
            (cpu, cpu // 2, "ZIIP" if cpu % 4 == 3 else "CP") for cpu in range(8)
        }
        sizes = {
            tuple(row[f"{name}_counters"] for name in ("basic", "problem", "crypto", "extended"))
            for row in found
        }
        assert sizes == {(6, 2, 20, 160)}
        assert all(row["c33_d"] <= row["c1_d"] for row in found)
        first = next(row for row in found if row["cpu_id"] == 0 and row["seconds"])
        assert [first[f"c{n}_d"] for n in range(6)] == [
            3204629798768, 1534811797754, 30696235955, 480694469815, 38370294943, 801157449692,
        ]  # fmt: skip

    def test_subtype_2_alone_gives_same_rows(self, tmp_path: Path) -> None:
        data = SAMPLE.read_bytes()
        kept = bytearray()
        offset = 0
        while offset < len(data):
            length = int.from_bytes(data[offset : offset + 2])
            whole = data[offset : offset + length]
            if whole[5] != 113 or whole[22:24] == b"\0\2":
                kept += whole
            offset += length
        path = tmp_path / "two.smf"
        path.write_bytes(kept)
        ones = {(row["cpu_id"], row["interval_end"]): row for row in rows(opened(SAMPLE))}
        twos = rows(opened(path))
        assert len(twos) == 32
        counters = [column.name for column in smf.columns(113) if column.name.endswith("_d")]
        compared = 0
        for row in twos:
            if row["seconds"] is not None:
                one = ones[row["cpu_id"], row["interval_end"]]
                assert all(one[name] == row[name] for name in counters)
                compared += 1
        assert compared == 24


def test_sets_of_any_width(tmp_path: Path) -> None:
    sets = [
        CounterSetValues("basic", range(6), 8),
        CounterSetValues("problem", range(2), 4),
        CounterSetValues("crypto", range(20), 4),
        CounterSetValues("mt_diag", range(48), 8),
        CounterSetValues("zos", range(3), 8),
    ]
    source = opened(dump(tmp_path / "sets.smf", [record(1, 0, 300, sets=sets)]))
    (row,) = rows(source)
    assert source.problems(complete=True) == []
    assert [row[f"c{n}_d"] for n in (5, 32, 33, 83, 448, 495)] == [5, 0, 1, 19, 0, 47]
    assert (row["extended_counters"], row["c128_d"]) == (None, None)
    assert (row["mt_diag_counters"], row["zos_counters"]) == (48, 3)
