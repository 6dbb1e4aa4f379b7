"""Tests of the measure channel from SMF 73 and D0R20: measurement groups, valid words, time bases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import channel_builder
import monwrite_builder as monwrite
import record_encoder
import zlens
from channel_builder import ALL, COUNTS, EXTENDED, MOST, PTI, THREE, UNIT, T, entry
from monwrite_builder import MINUTE_US, START_US, configuration, interval
from readers import smf113_builder
from zlens import _native
from zlens.api import Session
from zlens.catalog import layouts
from zlens.explain.names import explain


def opened(
    folder: Path,
    channels: Sequence[Mapping[str, Any]],
    extended: Sequence[Mapping[str, Any]] = (),
    **control: Any,
) -> Session:
    folder.mkdir(exist_ok=True)
    return zlens.open(
        [smf113_builder.dump(folder / "a", channel_builder.record(channels, extended, **control))]
    )


def one(session: Session, columns: str) -> tuple[Any, ...]:
    (row,) = session.sql(f"SELECT {columns} FROM channel WHERE seconds IS NOT NULL").rows
    return row


UTILIZATION = "util_pct, partition_util_pct, bus_util_pct, data_util_pct, write_util_pct"
BYTES = "read_rate, write_rate, partition_read_rate, partition_write_rate"


def of_ficon(t: float) -> list[float]:
    """Return utilizations and bytes a second of the counts above over t seconds."""
    return [
        100 * 3_000_000 / (8_000 * t),
        100 * 2_100_000 / (8_000 * t),
        100 * 300_000_000 / (2_000_000 * t),
        100 * 33_000_000 / (220_000 * t),
        100 * 9_000_000 / (200_000 * t),
        33_000_000 * UNIT / t,
        9_000_000 * UNIT / t,
        30_000_000 * UNIT / t,
        8_000_000 * UNIT / t,
    ]


@pytest.mark.parametrize("group", [2, 4, 5])
def test_ficon_groups_of_smf73(tmp_path: Path, group: int) -> None:
    """s390-tools, cmg2.c, cmg4.c and cmg5.c; the time is that of the channel path, not of the interval."""
    words = {**MOST, **COUNTS, "US": UNIT}
    with opened(tmp_path, [entry("5A", group, words, SPD=8, MSC=0, GEN=21)]) as session:
        row = one(session, f"{UTILIZATION}, {BYTES}")
        assert list(row) == pytest.approx(of_ficon(T), rel=1e-6)
        found = one(session, "chpid, channel_type, measurement_group, generation, speed, shared, measured_s")
        assert found == ("5A", "FC_S", group, 21, 800.0, False, pytest.approx(T))


def test_engine_of_channel_path_of_z17(tmp_path: Path) -> None:
    words = {**MOST, **COUNTS, "US": UNIT, "IOEC": 4}
    with opened(tmp_path, [entry("5A", 4, words, IOEN=7)]) as session:
        # The byte of the cores is not a part of the unit size.
        assert one(session, "engine, read_rate") == (7, pytest.approx(33_000_000 * UNIT / T))
        assert one(session, "dpu_util_pct") == (None,)
    with opened(tmp_path, [entry("5A", 2, {**MOST, **COUNTS, "US": UNIT}, MSC=7)]) as session:
        assert one(session, "engine") == (None,)


@pytest.mark.parametrize(
    ("misc", "number", "mbits"),
    [(0, 16, 1600.0), (9, 32, 32_000.0), (6, 100, 100.0), (3, 5, None), (9, 0, None)],
)
def test_speed_is_scaled_by_power_of_ten(tmp_path: Path, misc: int, number: int, mbits: float | None) -> None:
    with opened(tmp_path, [entry("5A", 2, {}, SPD=number, MSC=misc)]) as session:
        assert one(session, "speed") == (mbits,)


def test_busy_time_of_old_channel_paths(tmp_path: Path) -> None:
    """Groups 1 and 0, and the two modes of the measurement facility without groups."""
    old = {"TUT": 2_000_000, "PUT": 500_000}
    with opened(tmp_path / "1", [entry("01", 1, old)]) as session:
        found = one(session, f"{UTILIZATION}, {BYTES}")
        assert found[:2] == pytest.approx((100 * 2_000_000 * 128e-6 / T, 100 * 500_000 * 128e-6 / T))
        assert found[2:] == (None,) * 7
    plain = [entry("01", 0, {}, PBY=87_842, BSY=450)]
    with opened(tmp_path / "0", plain) as session:
        assert one(session, UTILIZATION) == (None, pytest.approx(100 * 87_842 / PTI), None, None, None)
    with opened(tmp_path / "2", plain, CMI=1) as session:
        assert one(session, UTILIZATION) == (None, pytest.approx(100 * 87_842 / PTI), None, None, None)
    with opened(tmp_path / "3", plain, CMI=0, SMP=900) as session:
        assert one(session, UTILIZATION) == (50.0, None, None, None, None)
    with opened(tmp_path / "4", plain, CMI=0, SMP=900, SFL=["MCS"]) as session:
        assert one(session, UTILIZATION) == (None,) * 5


MESSAGES = (
    "message_rate, partition_message_rate, message_size, partition_message_size, "
    "partition_send_fail_rate, receive_fail_rate, partition_receive_fail_rate, write_rate, "
    "partition_write_rate, util_pct, read_rate"
)


def of_hipersockets(t: float) -> list[float | None]:
    """Return what MESSAGES are: sizes of 0 are 1, or the partition's for the total (cmg3.c)."""
    written, own_written = 6_000_000 * 64, 3_000_000 * 64
    return [
        20_000 * 4 / t, 30_000 * 1 / t, written / (20_000 * 4), own_written / (30_000 * 1), 90 / t,
        180 / t, 45 / t, written / t, own_written / t, None, None,
    ]  # fmt: skip


def test_hipersockets_of_smf73(tmp_path: Path) -> None:
    with opened(tmp_path, [entry("F7", 3, THREE)]) as session:
        assert list(one(session, MESSAGES)) == pytest.approx(of_hipersockets(T))


@pytest.mark.parametrize("word", range(1, 6))
def test_invalid_characteristic_leaves_out(tmp_path: Path, word: int) -> None:
    valid = [name for name in ALL if name != f"WD{word}"]
    with opened(tmp_path, [entry("5A", 2, {**MOST, **COUNTS, "US": UNIT}, FG5=valid)]) as session:
        row = one(session, f"{UTILIZATION}, {BYTES}")
    missing = {1: [2], 2: [0, 1], 3: [3, 4], 4: [3], 5: [5, 6, 7, 8]}[word]
    assert [at for at, value in enumerate(row) if value is None] == missing


@pytest.mark.parametrize("flags", [{"FG2": ["VAC"]}, {"FG4": ["NVL"]}, {"PTI": 0}])
def test_invalid_channel_path_has_no_values(tmp_path: Path, flags: dict[str, Any]) -> None:
    with opened(tmp_path, [entry("5A", 2, {**MOST, **COUNTS, "US": UNIT}, **flags)]) as session:
        assert one(session, f"{UTILIZATION}, {BYTES}") == (None,) * 9


def test_entry_without_channel_path_has_no_row(tmp_path: Path) -> None:
    known = [entry("5A", 2, {**MOST, **COUNTS, "US": UNIT}), entry("5B", 2, {}, FG3=[])]
    with opened(tmp_path, known) as session:
        assert one(session, "chpid") == ("5A",)


OPERATIONS = "ficon_rate, ficon_active, ficon_defer_rate, zhpf_rate, zhpf_active, zhpf_defer_rate"


def test_operations_of_extended_section(tmp_path: Path) -> None:
    words = {**MOST, **COUNTS, "US": UNIT}
    paths = [entry("5A", 2, words), entry("5B", 2, words, FG4=["XCM"], EIX=1)]
    with opened(tmp_path / "1", paths, [EXTENDED]) as session:
        rows = session.sql(f"SELECT {OPERATIONS} FROM channel ORDER BY chpid").rows
    # Without operations there is no average number of active ones.
    assert rows == [(None,) * 6, pytest.approx((90_000 / T, 2.0, 450 / T, 0.0, None, 0.0))]
    # A section of the level of z17 begins otherwise: it is not that of the channel path.
    with opened(tmp_path / "2", paths, [EXTENDED | {"ECP": "00"}]) as session:
        assert session.sql(f"SELECT {OPERATIONS} FROM channel ORDER BY chpid").rows == [(None,) * 6] * 2
    paths[1]["FG4"] = []
    with opened(tmp_path / "3", paths, [EXTENDED]) as session:
        assert session.sql(f"SELECT {OPERATIONS} FROM channel ORDER BY chpid").rows == [(None,) * 6] * 2


def monitor(
    folder: Path,
    group: int,
    words: Mapping[str, int],
    able: Mapping[str, int],
    *,
    valid: int = 0x7F,
    can: int = 0x1F,
) -> Session:
    """Open D0R20 of a channel path that counts these words in a minute."""
    (layout,) = (one for one in layouts.layouts("D0R20") if one.release == "5.3")
    groups = [configuration(START_US)]
    for n in range(2):
        counted = {f"SYTEPM_SMF73{name}": 1000 + n * value for name, value in words.items()}
        able_to = {f"SYTEPM_{name}": value for name, value in able.items()}
        sections = {
            "ECMENTRY": [{"SYTEPM_CUIV": valid} | counted],
            "CMCHARS": [{"SYTEPM_CMG": group, "SYTEPM_CMCV": can} | able_to],
        }
        end = START_US + n * MINUTE_US
        tod = _native.tod_from_unix_us(end - 100)
        record = record_encoder.encode(layout, {"SYTEPM_CALCHPID": 0x5A}, tod=tod, entries=sections)
        groups.append(interval(end, [record]))
    return zlens.open([monwrite.write(folder / "a", groups)])


def characteristics(group: int) -> dict[str, int]:
    able = {f"SMF73{name}": value for name, value in MOST.items()}
    return able | ({"SMF73US": UNIT} if group == 2 else {"SMF73G4US": UNIT, "SMF73G4IOEC": 4, "IOEN": 7})


@pytest.mark.parametrize("group", [2, 4, 5])
def test_ficon_groups_of_monitor(tmp_path: Path, group: int) -> None:
    with monitor(tmp_path, group, COUNTS, characteristics(group)) as session:
        assert list(one(session, f"{UTILIZATION}, {BYTES}")) == pytest.approx(of_ficon(60))
        engine = 7 if group > 2 else None
        assert one(session, "chpid, measurement_group, engine") == ("5A", group, engine)


def test_old_channel_path_of_monitor(tmp_path: Path) -> None:
    with monitor(tmp_path, 1, {"TUT": 200_000, "PUT": 50_000}, {}) as session:
        found = one(session, f"{UTILIZATION}, {BYTES}")
        assert found == (100 * 200_000 * 128e-6 / 60, 100 * 50_000 * 128e-6 / 60, *[None] * 7)


def test_hipersockets_of_monitor(tmp_path: Path) -> None:
    counts = {name: value for name, value in THREE.items() if name[1:] not in ("DU", "UM")}
    sizes = {f"SMF73{name}": value for name, value in THREE.items() if name[1:] in ("DU", "UM")}
    with monitor(tmp_path, 3, counts, sizes) as session:
        assert list(one(session, MESSAGES)) == pytest.approx(of_hipersockets(60))


@pytest.mark.parametrize(
    ("valid", "can", "missing"),
    [
        (0x3F, 0x1F, [2]), (0x5F, 0x1F, [0]), (0x6F, 0x1F, [1]), (0x77, 0x1F, [3, 4, 6]),
        (0x7B, 0x1F, [8]), (0x7D, 0x1F, [3, 5]), (0x7E, 0x1F, [7]), (0x7F, 0x0F, [2]),
        (0x7F, 0x17, [0, 1]), (0x7F, 0x1B, [3, 4]), (0x7F, 0x1D, [3]), (0x7F, 0x1E, [5, 6, 7, 8]),
    ],
)  # fmt: skip
def test_invalid_words_of_monitor(tmp_path: Path, valid: int, can: int, missing: list[int]) -> None:
    with monitor(tmp_path, 2, COUNTS, characteristics(2), valid=valid, can=can) as session:
        row = one(session, f"{UTILIZATION}, {BYTES}")
    assert [at for at, value in enumerate(row) if value is None] == missing


@pytest.mark.parametrize("group", [0, 6])
def test_unknown_group_has_no_values(tmp_path: Path, group: int) -> None:
    with monitor(tmp_path, group, COUNTS, characteristics(2)) as session:
        assert one(session, f"{UTILIZATION}, {BYTES}, message_rate") == (None,) * 10


def test_wrapped_word_is_one_difference(tmp_path: Path) -> None:
    """The columns of all groups lie over the same words: a wrap of one is not a reset of another."""
    with monitor(tmp_path, 2, COUNTS | {"TBC": 2**32 - 1_000_000 - 1000}, characteristics(2)) as session:
        assert one(session, "bus_util_pct")[0] is not None
        assert session.sql("SELECT count(*) FROM problem").rows == [(0,)]


def test_explanation_names_inferred_fields() -> None:
    """What is concluded for groups 4 and 5, and for D0R20, is labelled as such."""
    assert "G4TUC" in explain("smf73_channel").upper()
    assert "groups 4 and 5 of SMF 73 are inferred" in " ".join(explain("channel.util_pct").split())
    for column in ("util_pct", "read_rate", "message_rate", "engine"):
        assert "unverified: not confirmed" in explain(f"channel.{column}")
    assert "verified-secondary: " in explain("channel.ficon_rate")
