"""Paging volumes as one group against IBM's published rows.

Publication: z/VM Performance Report, Eighty Logical Processors (IBM, 2019): FCX108 of five runs with 224
paging volumes as one group. Every printed field is held against the listing: of measures with the published
means, and of records whose counters give them. In the runs AP3 and AP4 the published response time is not
service time plus queue by rate, whatever rounding hides, so no records give it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fake_session import FakeSession
from io_made import activity

import monwrite_made as made
import zlens
from store_made import PREFIXES
from zlens import reports
from zlens.catalog import groups
from zlens.inputs.options import Options

VOLUMES = 224
PUBLISHED = {
    "AP1Z604G": "PAGING                  ....  ..  180    .0 .147 .479 .229 .855 1.50 .000  .12   15   97",
    "AP2Z604G": "PAGING                  ....  .. 89.4    .0 .156 2.77 .271 3.19 6.46 .000  .29   29   93",
    "AP3Z604G": "PAGING                  ....  .. 48.0    .0 .208 7.39 .418 8.02 18.0 .000  .47   38   86",
    "AP4Z604D": "PAGING                  ....  .. 43.4    .0 .240 9.58 .483 10.3 25.2 .000  .66   45   84",
    "AP5Z604G": "PAGING                  ....  .. 45.5    .0 .241 10.5 .480 11.2 30.8 .000  .89   51   84",
}
NAMES = ("rate", "avoided", "pend", "disc", "conn", "serv", "resp", "cu_wait", "queued", "busy", "read_pct")
#: What rounding hides of the published times: their sum is that of unrounded ones.
HIDDEN = {
    "AP1Z604G": {"queued": -0.0039},
    "AP2Z604G": {"disc": -0.004, "queued": 0.002},
    "AP3Z604G": {"disc": -0.0001},
    "AP5Z604G": {"queued": 0.0008},
}
GROUP = '[device]\n"4000-40DF" = "PAGING"\n'
NOW = datetime(2019, 6, 1)


def published(run: str) -> list[str]:
    return PUBLISHED[run].split()


def means(run: str) -> dict[str, float]:
    """The published means, as nearly as rounding leaves them open."""
    found = dict(zip(NAMES, map(float, published(run)[3:]), strict=True))
    for name, more in HIDDEN.get(run, {}).items():
        found[name] += more
    return found


def printed(text: str, label: str = "PAGING") -> list[list[str]]:
    """The fields of the group's rows up to READ; fields without a value are dotted in any width."""
    rows = [line for line in text.split("\n") if line.startswith(f"{label} ")]
    # What stands behind READ is not of the publication.
    return [[field if field.strip(".") else "...." for field in line.split()[:14]] for line in rows]


def expected(run: str) -> list[str]:
    return [field if field.strip(".") else "...." for field in published(run)]


def swaying(number: int, times: int) -> float:
    """Up for so many volumes and down by the same for as many after them."""
    return (number // (2 * times) % 10) / 40 * (1 if number // times % 2 else -1)


@pytest.mark.parametrize("show", ["sum", "mean"])
def test_published_rows_of_measures(show: str) -> None:
    end = datetime(2019, 5, 1, 12, tzinfo=UTC)
    share = VOLUMES if show == "sum" else 1
    tables: dict[str, list[Mapping[str, object]]] = {"system": [], "interval": [], "device": [], "paging": []}
    for run in PUBLISHED:
        mean = means(run)
        head = {"system": run, "source": "zvm-monitor", "interval_end": end, "seconds": 600.0}
        tables["system"].append({"system": run, "source": "zvm-monitor", "release": "7.1.0"})
        tables["interval"].append({**head, "interval_start": end - timedelta(minutes=10)})
        for number in range(VOLUMES):
            # Pairs of volumes with one rate, and times that differ within a pair.
            busier, slower = 1 + swaying(number, 2), 1 + swaying(number, 1)
            of_one = {name: mean[name] / share for name in ("rate", "queued", "busy")}
            row: dict[str, object] = {**head, "device": f"{0x4000 + number:04X}", "volume": f"PG{number:04}"}
            row |= {"rate": of_one["rate"] * busier, "measured_rate": of_one["rate"] * busier}
            row |= {
                f"{name}_s": mean[name] / 1000 * slower for name in ("pend", "disc", "conn", "serv", "resp")
            }
            row |= {
                "queued": of_one["queued"] * slower,
                "busy_pct": of_one["busy"] * slower,
                "cu_wait_s": 0.0,
            }
            row |= {"avoided_rate": 0.0, "read_pct": mean["read_pct"], "links": 0, "paths": number % 2 + 7}
            tables["device"].append(row)
            tables["paging"].append(
                {**head, "device": row["device"], "volume": row["volume"], "area": "PAGE", "slots": 9_000_000}
            )
    session = FakeSession(tables)
    wanted = groups.parse(f'show = "{show}"\n{GROUP}', "groups.toml")
    for name in ("device", "paging"):
        session.connection.execute(f"ALTER TABLE {name} RENAME TO {name}_each")
        session.connection.execute(
            f"CREATE TABLE {name} AS {groups.sql(name, f'SELECT * FROM {name}_each', wanted)}"
        )
    text = reports.render("paging", session, now=NOW)
    assert printed(text) == [expected(run) for run in PUBLISHED]


def records(end_us: int, minutes: int, run: str) -> list[bytes]:
    """What the volumes of a run had counted after so many minutes, each at the published rate or near it."""
    mean = means(run)
    found = []
    for number in range(VOLUMES):
        busier = 1 + swaying(number, 1)
        given = {name: mean[name] for name in ("pend", "disc", "conn", "read_pct", "queued")}
        given |= {"rate": mean["rate"] * busier, "IODDEV_RDEVSER": f"PG{number:04}"}
        found.append(activity(0x4000 + number, end_us, minutes, given))
        page = {"RDEVDEV": 0x4000 + number, "CALVSER": f"PG{number:04}", "CALPAGE": 1_000}
        values = {f"{PREFIXES['D3R4']}_{name}": value for name, value in page.items()}
        found.append(made.sim_record("D3R4", end_us - 100, values))
    return found


def file_of(tmp_path: Path, run: str) -> Path:
    hour = 60 * made.MINUTE_US
    return made.write(
        tmp_path / run,
        [
            made.configuration(made.START_US, {**made.SIM_CONFIG, "MTRSYS_SYSTMID": run}, 3600),
            made.interval(made.START_US, records(made.START_US, 0, run)),
            made.interval(made.START_US + hour, records(made.START_US + hour, 60, run)),
        ],
    )


def test_published_rows_of_records(tmp_path: Path) -> None:
    (tmp_path / "groups.toml").write_text(f'show = "mean"\n{GROUP}', encoding="utf-8")
    paths: Sequence[Any] = [file_of(tmp_path, run) for run in PUBLISHED]
    with zlens.open(paths, options=Options(group=str(tmp_path / "groups.toml"))) as session:
        rows = printed(session.report("paging"))
        assert session.sql("SELECT count(*) FROM device").rows == [(5,)]
    for run, row in zip(PUBLISHED, rows, strict=True):
        wanted = expected(run)
        # One field the published row has of its own: see above.
        apart = {"AP3Z604G": 9, "AP4Z604D": 9}.get(run)
        assert [f for i, f in enumerate(row) if i != apart] == [f for i, f in enumerate(wanted) if i != apart]


def test_volumes_without_a_group_keep_their_rows(tmp_path: Path) -> None:
    (tmp_path / "groups.toml").write_text(
        '[volume]\n"PG00[0-9]" = "x"\n"PG000?" = "PAGING"\n', encoding="utf-8"
    )
    path = file_of(tmp_path, "AP1Z604G")
    with zlens.open(path, options=Options(group=str(tmp_path / "groups.toml"))) as session:
        text = session.report("paging")
        # Rates of ten volumes together.
        assert session.sql("SELECT round(rate) FROM device WHERE device = 'PAGING'").rows == [(1800,)]
    assert len(printed(text)) == 1
    assert sum(line.startswith("40") for line in text.split("\n")) == VOLUMES - 10
    heads = [line for line in text.split("\n") if line.startswith(("<-- Device", "Addr"))]
    assert [line[:89].rstrip() for line in heads] == [
        "<-- Device Descr. -->  Mdisk Pa- <-Rate/s-> <------- Time (msec) -------> Req. <Percent>",
        "Addr Type   Label/ID   Links ths  I/O Avoid Pend Disc Conn Serv Resp CUWt Qued Busy READ",
    ]
