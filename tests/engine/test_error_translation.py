"""Tests of the engine's messages as errors of queries."""

from __future__ import annotations

import tempfile

import pytest

from fakes import FakeSource, processors, session, system
from zlens.engine.error_translation import query_error
from zlens.errors import LONGEST, QueryError, Wording, truncate
from zlens.schema.temporary_folder import CURE, FULL_DISK


@pytest.mark.parametrize(
    ("used", "message"),
    [
        ("2.5 MiB/2.6 MiB", f"{tempfile.gettempdir()}: {FULL_DISK}; {CURE}"),
        ("16.0 GiB/16.0 GiB", "the query needs more than its 4 GB of memory"),
        ("7.9 GiB/8.0 GiB", "the query needs more than its 4 GB of memory"),
    ],
)
def test_full_disk_differs_from_spill_limit(used: str, message: str) -> None:
    """DuckDB lowers its limit to the room on the disk."""
    text = f"Out of Memory Error: failed to offload data block of size 256.0 KiB ({used} used).\nThis limit"
    assert str(query_error(Exception(text))).startswith(message)


def test_error_of_query_is_truncated_like_values() -> None:
    opened = session([FakeSource([system("ONE")], [processors("ONE", [[0.5]])])])
    with pytest.raises(QueryError) as error:
        opened.sql("SELECT error(repeat('e', 1000000))").rows  # noqa: B018
    text = str(error.value)
    assert len(text) <= LONGEST + 3
    assert text.endswith("eee...")
    with pytest.raises(QueryError) as error:
        opened.sql(f'SELECT "{"c" * 500_000}" FROM system')
    assert len(str(error.value)) < 3 * LONGEST


def test_all_wordings_are_truncated() -> None:
    text = truncate(Wording("p" * 20_000, "command", "w" * 20_000))
    assert isinstance(text, Wording)
    assert (len(text), text.command, len(text.page)) == (LONGEST + 3, "command", LONGEST + 3)
