"""What Linux guests report about themselves, beside CP's view of them.

Publication: Linux kernel, arch/s390/appldata: appldata_os.c, appldata_mem.c and appldata_net_sum.c (times in
hundredths of a second, load averages with 11 bits behind the point, memory in KiB).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import guest_made as guests
import monwrite_made as made
import zlens
from zlens import _native
from zlens.catalog import layouts, plans

LAYOUT = next(one for one in layouts.layouts("D10R2") if one.release == "5.3")
MIB = 1024


def payload(time_us: int, section: str, values: Mapping[str, Any]) -> bytes:
    """A record with one payload of LNX1."""
    found = LAYOUT.section(section)
    assert found is not None
    assert found.match is not None
    own = {"APLSDT_USERID": "LNX1", "APLSDT_MDGPROD": found.match[1].ljust(32, "0")}
    told = {"sync_count_1": 1, "sync_count_2": 1, **values}
    return plans.encode(LAYOUT, own, tod=_native.tod_from_unix_us(time_us), entries={section: [told]})


def told(number: int) -> list[bytes]:
    """Of each minute and processor: 30 s of user, 6 s of system time, 3 s stolen."""
    cpus = [
        {
            "per_cpu_user": 3000 * number,
            "per_cpu_system": 500 * number,
            "per_cpu_softirq": 100 * number,
            "per_cpu_iowait": 60 * number,
            "per_cpu_steal": 300 * number,
            "cpu_id": cpu,
        }
        for cpu in (0, 1)
    ]
    system = {"per_cpu_size": 36, "avenrun_1": 5120, "nr_running": 3, "nr_threads": 150, "linux_os_cpu": cpus}
    memory = {"totalram": 2048 * MIB, "freeram": 512 * MIB, "cached": 256 * MIB, "bufferram": 256 * MIB}
    memory |= {"totalswap": 100 * MIB, "freeswap": 40 * MIB, "pswpin": 60 * number, "pswpout": 120 * number}
    network = {"rx_bytes": 300_000_000 * number, "tx_bytes": 6_000_000 * number}
    end = guests.end_of(number) - 500
    return [
        payload(end, "linux_os", system),
        payload(end + 1, "linux_mem", memory),
        payload(end + 2, "linux_net", network),
    ]


def test_both_views_of_a_guest(tmp_path: Path) -> None:
    path = guests.write(
        tmp_path / "data",
        (
            [guests.processor(guests.end_of(n), n), guests.activity(guests.end_of(n), "LNX1", n), *told(n)]
            for n in range(3)
        ),
        {},
    )
    with zlens.open([path]) as session:
        assert session.all_problems() == []
        text = session.report("appldata")
        (cp,) = session.sql(
            "SELECT DISTINCT cpu_pct, 100 * virtual_s / seconds FROM guest WHERE cpu_pct IS NOT NULL"
        ).rows
    (row,) = (line.split() for line in text.split("\n") if line.startswith(">>Mean>>"))
    assert row[:8] == [">>Mean>>", "LNX1", "2", "120.0", "100.0", "20.0", "2.0", "10.0"]
    assert [float(word) for word in row[8:10]] == [round(value, 1) for value in cp]
    assert row[11:] == ["2.50", "3.0", "150", "2048", "1024", "60", "3.0", "5.00", ".10"]


def test_without_application_data_it_says_what_to_collect(tmp_path: Path) -> None:
    path = made.write(tmp_path / "a", [made.configuration(made.START_US), *made.minutes(2)])
    with zlens.open([path]) as session:
        text = " ".join(session.report("appldata").split())
    assert "This input has nothing for this report. It needs: application data of Linux guests" in text
