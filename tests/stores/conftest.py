"""Fixtures of lakes, which store a few measures by default and every measure with --all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from iterations import iterations
from zlens.stores import bucket_sql

#: One or two measures of each source.
MEASURES = ("load", "cpu", "guest", "device", "cpumf", "partition", "workload", "job")


@pytest.fixture(scope="module", autouse=True)
def few_measures_of_lakes() -> Iterator[None]:
    kept = iterations(bucket_sql.measures(), [name for name in bucket_sql.measures() if name in MEASURES])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bucket_sql, "measures", lambda: kept)
        yield
