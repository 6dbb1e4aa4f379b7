"""Tests of storage and paging of z/OS from SMF 71 and 75, and from a printed report.

The expected values are computed from the values written, by the formulas of RMF's Paging Activity and Page
Data Set Activity as smf2db (MIT, commit bdf919c) prints them from the same fields: frames in total are those
of the nucleus and the others, rates are counts over the interval, the time to move a page is
(REQ x INT / SAM) / PGX.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zlens
from readers import smf113_builder
from readers.section_builder import rmf
from zlens.catalog import smf_sections

LISTING = Path(__file__).parents[2] / "docs" / "published" / "listings" / "rmf-paging.txt"
SECONDS = 900
Fields = dict[str, Any]

#: Columns of image_storage, each computed from the fields of SMF 71.
WIDE: dict[str, Callable[[Fields], float]] = {
    "frames": lambda f: f["FIN"] + f["LVT"],
    "available": lambda f: f["LVF"],
    "available_least": lambda f: f["MNF"],
    "available_most": lambda f: f["MXF"],
    "fixed": lambda f: f["FIN"] + f["LVX"],
    "uic": lambda f: f["UAC"],
    "uic_least": lambda f: f["ULC"],
    "uic_most": lambda f: f["UHC"],
    "page_in_rate": lambda f: f["PIN"] / SECONDS,
    "page_out_rate": lambda f: f["POT"] / SECONDS,
    "swap_in_rate": lambda f: f["SIN"] / SECONDS,
    "swap_out_rate": lambda f: f["SOT"] / SECONDS,
    "vio_in_rate": lambda f: f["VIN"] / SECONDS,
    "vio_out_rate": lambda f: f["VOT"] / SECONDS,
    "hiperspace_in_rate": lambda f: f["HIN"] / SECONDS,
    "hiperspace_out_rate": lambda f: f["HOT"] / SECONDS,
    "lpa_in_rate": lambda f: f["LNI"] / SECONDS,
    "lpa_block_rate": lambda f: f["LBI"] / SECONDS,
    "csa_in_rate": lambda f: (f["SNI"] - f["LNI"]) / SECONDS,
    "csa_block_rate": lambda f: (f["SBI"] - f["LBI"]) / SECONDS,
    "common_out_rate": lambda f: f["SNO"] / SECONDS,
    "space_in_rate": lambda f: (f["PIN"] - f["SNI"]) / SECONDS,
    "space_out_rate": lambda f: (f["POT"] - f["SNO"]) / SECONDS,
    "demand_page_in_rate": lambda f: (f["PIN"] + f["BLP"]) / SECONDS,
    "shared_in_rate": lambda f: f["ASI"] / SECONDS,
    "shared_out_rate": lambda f: f["ASO"] / SECONDS,
    "block_rate": lambda f: f["BLK"] / SECONDS,
    "pages_per_block": lambda f: f["BLP"] / f["BLK"],
    "move_rate": lambda f: f["PMV"] / SECONDS,
    "move_pct": lambda f: 100 * f["PMT"] / SECONDS,
    "getmain_rate": lambda f: f["GRN"] / SECONDS,
    "getmain_frame_rate": lambda f: f["FBN"] / SECONDS,
    "fix_rate": lambda f: f["FRN"] / SECONDS,
    "fix_frame_rate": lambda f: f["FFN"] / SECONDS,
    "first_fault_rate": lambda f: f["1RN"] / SECONDS,
    "other_fault_rate": lambda f: f["NRN"] / SECONDS,
    "system_demotion_rate": lambda f: f["LSI"] / SECONDS,
    "requested_demotion_rate": lambda f: f["LRI"] / SECONDS,
    "slots": lambda f: f["TSC"],
    "slots_available": lambda f: f["LVU"],
    "slots_used_pct": lambda f: 100 * (f["TSC"] - f["LVU"]) / f["TSC"],
    "scm_in_rate": lambda f: f["PIS"] / SECONDS,
    "scm_1m_out_rate": lambda f: f["PO1"] / SECONDS,
    "scm_bytes": lambda f: f["TSA"] * 4096,
    "scm_used_bytes": lambda f: f["USA"] * 4096,
    "large_bytes": lambda f: f["L8A"] * 2**20,
    "large_available_bytes": lambda f: f["L9A"] * 2**20,
    "large_fixed_bytes": lambda f: f["LRA"] * 2**20,
    "large_pageable_bytes": lambda f: f["PLA"] * 2**20,
    "large_lost_bytes": lambda f: f["L3A"] * 2**20,
    "large_limit_bytes": lambda f: f["LFA"] * 2**20,
    "giant_usable_bytes": lambda f: f["GFA"] * 2**31,
    "giant_fixed_bytes": lambda f: f["GUA"] * 2**31,
}
#: Rows of storage_use: least, most and average, each a field; + adds those of the nucleus.
COUNTS = {
    ("CENTRAL STORAGE", "AVAILABLE"): "MNF MXF LVF",
    ("CENTRAL STORAGE", "SQA"): "MSR XSR ASR",
    ("CENTRAL STORAGE", "LPA"): "NLP XLP ALP",
    ("CENTRAL STORAGE", "CSA"): "MNP MXP AVP",
    ("CENTRAL STORAGE", "LSQA"): "MLR XLR ALR",
    ("CENTRAL STORAGE", "REGIONS+SWA"): "MNS MXS LVS",
    ("CENTRAL STORAGE", "TOTAL FRAMES"): "+MNT +MXT +LVT",
    ("FIXED FRAMES", "NUCLEUS"): "FIN FIN FIN",
    ("FIXED FRAMES", "SQA"): "MNQ MXQ AVQ",
    ("FIXED FRAMES", "LPA"): "NLF XLF ALF",
    ("FIXED FRAMES", "CSA"): "MNC MXC AVC",
    ("FIXED FRAMES", "LSQA"): "NLS XLS ALS",
    ("FIXED FRAMES", "REGIONS+SWA"): "MNR MXR LVR",
    ("FIXED FRAMES", "BELOW 16 MEG"): "MNL MXL AVL",
    ("FIXED FRAMES", "BETWEEN 16M-2G"): "MFB XFB AFB",
    ("FIXED FRAMES", "TOTAL FRAMES"): "+MNX +MXX +LVX",
    ("LOCAL PAGE DATA SET SLOT COUNTS", "AVAILABLE SLOTS"): "MNU MXU LVU",
    ("LOCAL PAGE DATA SET SLOT COUNTS", "VIO SLOTS"): "MNV MXV LVV",
    ("LOCAL PAGE DATA SET SLOT COUNTS", "NON-VIO SLOTS"): "MNM MXM LVM",
    ("LOCAL PAGE DATA SET SLOT COUNTS", "BAD SLOTS"): "MNB MXB LVB",
    ("LOCAL PAGE DATA SET SLOT COUNTS", "TOTAL SLOTS"): "MNA MXA TSC",
    ("SCM PAGING BLOCKS", "AVAILABLE"): "ASM ASX ASV",
    ("SCM PAGING BLOCKS", "TOTAL"): "TSM TSX TSA",
    ("SHARED FRAMES AND SLOTS", "CENTRAL STORAGE"): "MGC XGC AGC",
    ("SHARED FRAMES AND SLOTS", "FIXED TOTAL"): "MGF XGF AGF",
    ("SHARED FRAMES AND SLOTS", "FIXED BELOW 16 M"): "MGB XGB AGB",
    ("SHARED FRAMES AND SLOTS", "AUXILIARY SLOTS"): "MGA XGA AGA",
    ("SHARED FRAMES AND SLOTS", "TOTAL"): "MGT XGT AGT",
    ("MEMORY OBJECTS AND FRAMES", "OBJECTS COMMON"): "COM COX COA",
    ("MEMORY OBJECTS AND FRAMES", "OBJECTS SHARED"): "SOM SOX SOA",
    ("MEMORY OBJECTS AND FRAMES", "OBJECTS 1 MB"): "LOM LOX LOA",
    ("MEMORY OBJECTS AND FRAMES", "OBJECTS 2 GB"): "GOM GOX GOA",
    ("MEMORY OBJECTS AND FRAMES", "FRAMES COMMON"): "CRM CRX CRA",
    ("MEMORY OBJECTS AND FRAMES", "FRAMES COMMON FIXED"): "CFM CFX CFA",
    ("MEMORY OBJECTS AND FRAMES", "FRAMES SHARED"): "SRM SRX SRA",
    ("HIGH VIRTUAL COMMON", "1 MB FIXED"): "C2M C2X C2A",
    ("HIGH VIRTUAL COMMON", "TOTAL"): "C1M C1X C1A",
    ("HIGH VIRTUAL SHARED", "AUXILIARY SLOTS"): "S5M S5X S5A",
    ("HIGH VIRTUAL SHARED", "TOTAL"): "S1M S1X S1A",
    ("1 MB FRAMES", "AVAILABLE FOR FIXED"): "L7M L7X L7A",
    ("1 MB FRAMES", "FIXED"): "LRM LRX LRA",
    ("1 MB FRAMES", "PAGEABLE"): "PLM PLX PLA",
    ("1 MB FRAMES", "TOTAL"): "L8M L8X L8A",
    ("2 GB FRAMES", "FIXED"): "GUM GUX GUA",
}


def numbers(**given: Any) -> Fields:
    """Return a value for every number of the paging section, each another one; those given instead."""
    fields = smf_sections.layout("71").section("paging").fields
    values = list(range(1000, 1000 + len(fields)))
    random.Random(71).shuffle(values)
    numbers_by_field = {
        field.name: value
        for field, value in zip(fields, values, strict=True)
        if field.kind in ("unsigned", "hfp", "duration") and field.length >= 4
    }
    # Pages of an area are among all; storage and slots in use are among those there are.
    larger = {"PIN": 9000, "POT": 9000, "SNI": 5000, "SBI": 5000, "TSC": 90_000, "LVT": 90_000.0, "PMT": 4.5}
    return numbers_by_field | larger | {"RFL": ["SCM", "PLP"]} | given


def written(folder: Path, *paging: Fields, lengths: dict[str, int] | None = None, **product: Any) -> str:
    """Write an interval of a quarter of an hour for each section."""
    records = [
        record
        for number, values in enumerate(paging, 1)
        for record in rmf(71, SECONDS * number, {"paging": [values]}, product=product, lengths=lengths)
    ]
    return str(smf113_builder.dump(folder / "paging.smf", records))


def ask(path: str, query: str, **options: Any) -> list[tuple[Any, ...]]:
    with zlens.open([path], options=zlens.Options(**options)) as session:
        return session.sql(query).rows


def test_storage_and_paging_from_every_field(tmp_path: Path) -> None:
    fields = numbers()
    path = written(tmp_path, fields)
    (found,) = ask(path, f"SELECT {', '.join(WIDE)} FROM image_storage")
    expected = {name: formula(fields) for name, formula in WIDE.items()}
    assert dict(zip(WIDE, found, strict=True)) == pytest.approx(expected, rel=1e-12)


def test_counts_of_storage_from_every_field(tmp_path: Path) -> None:
    fields = numbers()
    rows = ask(written(tmp_path, fields), "SELECT area, kind, least, most, average FROM storage_use")
    found = {(area, kind): counts for area, kind, *counts in rows}
    for key, names in COUNTS.items():
        expected = [
            (fields["FIN"] if name[0] == "+" else 0) + fields[name.lstrip("+")] for name in names.split()
        ]
        assert found[key] == expected, key


def test_counts_over_time_are_rates_of_all(tmp_path: Path) -> None:
    """Pages per block of two intervals are all pages over all blocks, not the mean of the two."""
    path = written(tmp_path, numbers(BLP=100, BLK=50), numbers(BLP=900, BLK=150))
    query = "SELECT pages_per_block, page_in_rate FROM image_storage"
    assert ask(path, query, every_s=2 * SECONDS) == [(1000 / 200, 9000 / SECONDS)]


def test_paging_without_blocks_or_valid_samples(tmp_path: Path) -> None:
    query = "SELECT pages_per_block, block_rate FROM image_storage"
    assert ask(written(tmp_path, numbers(BLK=0)), query) == [(None, 0.0)]
    assert ask(written(tmp_path, numbers(), FLA=["ISS"]), query) == []


def test_unsupported_storage_is_unknown(tmp_path: Path) -> None:
    query = "SELECT scm_bytes, scm_in_rate, large_pageable_bytes, large_fixed_bytes FROM image_storage"
    fields = numbers(RFL=0)
    assert ask(written(tmp_path, fields), query) == [(None, None, None, fields["LRA"] * 2**20)]


def test_paging_of_short_section(tmp_path: Path) -> None:
    """A section of 580 bytes ends before the averages in floating point, the UIC and large frames."""
    fields = numbers()
    path = written(tmp_path, fields, lengths={"paging": 580})
    query = "SELECT frames, available, uic, uic_least, getmain_rate, large_bytes, slots FROM image_storage"
    expected = (fields["FIN"] + fields["AVT"], fields["AVF"], fields["ACA"] / 10, fields["LIC"])
    assert ask(path, query) == [(*expected, None, None, fields["TSC"])]


def test_printed_paging_feeds_the_same_measures() -> None:
    """Burg, CPU MF SMF 113s, SHARE 8882 (2011): RMF Paging Activity of a test of 1 MB pages."""
    columns = "frames, available_least, available_most, available, fixed, uic, slots, slots_available"
    assert ask(str(LISTING), f"SELECT {columns}, page_in_rate FROM image_storage") == [
        (786_432, 158_574, 161_884, 159_692, 77_611, 65_535, 2_855_515, 2_854_758, None)
    ]
    where = "area = 'SHARED FRAMES AND SLOTS' AND kind = 'TOTAL'"
    query = f"SELECT least, most, average, counted FROM storage_use WHERE {where}"
    assert ask(str(LISTING), query) == [(8389, 8518, 8450, "pages")]


# -- page data sets ------------------------------------------------------------------------------------

LOCAL: Fields = {
    "DSN": "PAGE.LOCAL1", "PST": ["LOC"], "FL2": ["VIO", "DNM"], "CHA": "a81f", "VOL": "PAGE01",
    "DEV": "33909", "SLA": 180_000, "MNU": 1000, "MXU": 5000, "AVU": 2999, "LVU": 3000.5, "BDS": 7,
    "USE": 90, "REQ": 90, "SIO": 1800, "PGX": 27_000,
}  # fmt: skip
SCM: Fields = {"PST": ["LOC"], "FL2": ["SCM"], "DSN": "x", "VOL": "x", "SLA": 1000, "PGX": 0, "REQ": 0}


def data_sets(folder: Path, *sets: Fields, samples: int = 900, **product: Any) -> str:
    product = {"SAM": samples, **product}
    records = [r for values in sets for r in rmf(75, SECONDS, {"page_data_set": [values]}, product=product)]
    return str(smf113_builder.dump(folder / "sets.smf", records))


def test_page_data_sets_from_fields(tmp_path: Path) -> None:
    columns = (
        "kind, volume, device, device_type, takes_vio, bad, slots, slots_used_least, slots_used_most, "
        "slots_used, "
        "bad_slots, slots_used_pct, in_use_pct, io_rate, page_rate, page_s, operations, pages"
    )
    query = f"SELECT {columns} FROM page_data_set WHERE data_set = 'PAGE.LOCAL1'"
    (found,) = ask(data_sets(tmp_path, LOCAL), query)
    assert found[:6] == ("LOCAL", "PAGE01", "A81F", "33909", True, False)
    # 90 of 900 samples are 90 of 900 seconds, in which 27,000 pages were moved.
    expected = (
        180_000,
        1000,
        5000,
        3000.5,
        7,
        100 * 3000.5 / 180_000,
        10.0,
        2.0,
        30.0,
        90 / 27_000,
        1800,
        27_000,
    )
    assert found[6:] == pytest.approx(expected)


def test_storage_class_memory_has_no_data_set(tmp_path: Path) -> None:
    query = "SELECT data_set, kind, volume, device, device_type, slots, page_s FROM page_data_set"
    assert ask(data_sets(tmp_path, SCM), query) == [("*SCM*", "SCM", None, None, None, 1000, None)]


def test_page_data_sets_without_samples(tmp_path: Path) -> None:
    query = "SELECT in_use_pct, page_s, page_rate FROM page_data_set"
    assert ask(data_sets(tmp_path, LOCAL, samples=0), query) == [(None, None, 30.0)]
    assert ask(data_sets(tmp_path, LOCAL, FLA=["ISS"]), query) == []
    old = LOCAL | {"FL2": 0, "PST": ["COM", "DSB"]}
    query = "SELECT kind, device_type, takes_vio, bad FROM page_data_set"
    assert ask(data_sets(tmp_path, old), query) == [("COMMON", None, False, True)]
