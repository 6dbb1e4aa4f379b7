"""Tests of the demo dump's storage, paging and I/O of address spaces against its other records."""

from __future__ import annotations

import pytest

from zlens.api import Session

#: Records of intervals, and of steps: a job-end record repeats its step.
SPACES = "kind NOT IN ('job', 'last interval')"


@pytest.fixture(scope="module")
def session(dump_session: Session) -> Session:
    return dump_session


def test_frames_add_up_to_storage(session: Session) -> None:
    """All frames are available, of the nucleus, or of one of the areas."""
    rows = session.sql(
        "SELECT interval_end, sum(average) FILTER (WHERE kind <> 'TOTAL FRAMES'), "
        "sum(average) FILTER (WHERE kind = 'TOTAL FRAMES') "
        "FROM storage_use WHERE area = 'CENTRAL STORAGE' OR kind = 'NUCLEUS' GROUP BY ALL"
    ).rows
    assert len(rows) == 4
    assert all(parts == total for _, parts, total in rows)


def test_pages_of_address_spaces_are_those_of_the_system(session: Session) -> None:
    rows = session.sql(
        "SELECT round(space_in_rate * seconds), round(space_out_rate * seconds), ins, outs "
        "FROM image_storage JOIN (SELECT interval_end, sum(page_ins) AS ins, sum(page_outs) AS outs "
        f"FROM job WHERE {SPACES} GROUP BY interval_end) USING (interval_end)"
    ).rows
    assert len(rows) == 4
    assert all(row[0] > 0 and row[:2] == row[2:] for row in rows)


def test_page_data_sets_move_the_pages_of_the_system(session: Session) -> None:
    rows = session.sql(
        "SELECT round((page_in_rate + page_out_rate) * image.seconds), sum(pages), any_value(image.slots), "
        "sum(sets.slots) FILTER (WHERE kind = 'LOCAL'), "
        "any_value(image.slots - slots_available), sum(slots_used) FILTER (WHERE kind = 'LOCAL') "
        "FROM image_storage AS image JOIN page_data_set AS sets USING (interval_end) "
        "GROUP BY interval_end, page_in_rate, page_out_rate, image.seconds"
    ).rows
    assert len(rows) == 4
    for moved, pages, slots, of_sets, used, used_in_sets in rows:
        assert (moved, slots, used) == (pages, of_sets, used_in_sets)


def test_disk_io_of_address_spaces_is_that_of_classes(session: Session) -> None:
    rows = session.sql(
        "SELECT service_class, interval_end, sum(dasd_starts), sum(dasd_connect_s), "
        "any_value(ops), any_value(connect) FROM job JOIN (SELECT interval_end, r723mcnm AS service_class, "
        'r723circ AS ops, r723cict * 128e-6 AS connect FROM smf72_scs JOIN smf72_wms USING (file, "offset", '
        "interval_end) WHERE NOT r723mscf_mrcl) USING (interval_end, service_class) "
        f"WHERE {SPACES} GROUP BY ALL"
    ).rows
    assert len(rows) == 4 * 5
    for _, _, starts, connect_s, operations, connect in rows:
        assert starts == operations > 0
        assert connect_s == pytest.approx(connect)
