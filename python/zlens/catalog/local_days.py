"""SQL of the local day of an interval: that of its middle, as intervals end milliseconds after the minute."""

from __future__ import annotations

DAY_US = 86_400_000_000


def middle_sql(offset_us: str) -> str:
    """Return SQL of the local middle of a row's interval, in microseconds since 1970.

    offset_us  SQL of local time minus UTC
    """
    return f"(epoch_us(interval_end) - CAST(round(coalesce(seconds, 0) * 500000) AS BIGINT) + {offset_us})"


def day_sql(middle: str) -> str:
    """Return SQL of the day of a local middle, counted from 1970. A day contains its end, not its start."""
    return f"(({middle} + {DAY_US - 1}) // {DAY_US} - 1)"


#: SQL of the day of rows of a measure, joined with `utc_offset_s` of their system.
LOCAL_DAY = day_sql(middle_sql("1000000 * coalesce(utc_offset_s, 0)"))
