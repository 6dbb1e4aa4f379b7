"""Previous samples: the records of subjects that rows of other files are compared with."""

from __future__ import annotations

from zlens.engine.connection import connect
from zlens.readers.boundaries import subject_records_sql

ROWS = """(
    SELECT offset_ AS "offset", make_timestamp(us)::TIMESTAMPTZ AS tod, guest, cpu
    FROM (VALUES (10, 1, 'LINUX1', 0), (20, 2, 'LINUX1', NULL), (30, 3, 'LINUX1', 0), (40, 4, 'LINUX2', 0))
        AS records(offset_, us, guest, cpu)
)"""


def test_first_and_last_record_of_each_subject() -> None:
    with connect(None) as connection:
        query = f"{subject_records_sql(['guest', 'cpu'], ROWS)} ORDER BY subject"
        assert connection.execute(query).fetchall() == [
            ("LINUX1/", 20, 20, 2, 2),
            ("LINUX1/0", 10, 30, 1, 3),
            ("LINUX2/0", 40, 40, 4, 4),
        ]


def test_last_record_of_each_subject_before_cut_point() -> None:
    with connect(None) as connection:
        records = subject_records_sql(["guest"], ROWS, end=30, values=["count(*) AS count"])
        query = f"SELECT subject, last_offset, last_us, count FROM ({records}) ORDER BY subject"
        assert connection.execute(query).fetchall() == [("LINUX1", 20, 3, 3), ("LINUX2", None, 4, 1)]


def test_rows_without_subject_are_compared_with_each_other() -> None:
    with connect(None) as connection:
        assert connection.execute(subject_records_sql([], ROWS)).fetchall() == [("", 10, 40, 1, 4)]
