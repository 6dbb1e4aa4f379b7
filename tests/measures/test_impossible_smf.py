"""Tests of impossible values in SMF records: withheld with all dependent values, and reported."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import smf30_builder
import zlens
from iterations import draws, iterations, quick_subset
from measures.test_workload_bytes import CLASS, PERIOD
from readers import smf113_builder
from samples import needs, sample
from smf70_builder import US, Core, Cpu, Logical, Lpar, Record, encoded, record, session
from zlens.api import Session
from zlens.catalog import measures, roles, smf_sections, smf_writer
from zlens.catalog.smf_record import CounterSetValues
from zlens.compiler.role_bounds import withheld_rows_sql

SAMPLE = sample("public/smf72-impossible-cpu.smf")
SECONDS = 900.0
END_US = smf30_builder.END_US
MEASURES = ("load", "cpu", "partition", "cec", "workload", "job")


def impossible(opened: Session) -> list[str]:
    return [problem.detail for problem in opened._core.all_problems() if problem.kind == "impossible"]


@needs(SAMPLE)
def test_impossible_cpu_time_is_withheld() -> None:
    """APARs PH18676 and OW28256: -5000 s, 1e9 s and a negative time, in 900 s."""
    with zlens.open([SAMPLE]) as opened:
        rows = opened.sql("SELECT cpu_s, rct_s, cp_s, appl_cp_pct FROM workload").rows
        (problem,) = impossible(opened)
    assert all(value is None or 0 <= value < 1e5 for row in rows for value in row)
    # Each of the three makes the sum and its percentage NULL.
    assert [row.count(None) for row in rows if None in row] == [3, 3, 3]
    assert problem.startswith(
        "3 samples of class period have impossible values, which are left out; the first: "
    )
    assert problem.endswith("rct_time 1e+09 of 230400 s")


def machine(changed: dict[str, Any] | None = None, more: dict[str, Any] | None = None) -> Record:
    """Return a record of partition A with two processors, the first changed, and B with one."""
    physical = {"PDT": 5 * US, **(more or {})}
    content = record(
        SECONDS,
        [
            Lpar("A", 1, [Logical("CP", 0, 400, 390, fields=changed or {}), Logical("CP", 1, 100, 90)]),
            Lpar("B", 2, [Logical("CP", 0, 100, 90)]),
        ],
        [Cpu(0, 0, 500), Cpu(1, 0, 800)],
        own=1,
        physical={"CP": 4},
        management_s={"CP": 5},
        cores=[Core(0, 1, 0.9, 400), Core(1, 1, 0.9, 100)],
    )
    content["logical"][-1].update(physical)
    return content


#: Impossible fields; NULL columns of partition A, of the machine's CPs and of the load; the text.
WITHHELD = [
    ({"PDT": 1000 * US}, "total_s total_pct", "total_s phys_total_pct", "", "dispatch_time 1000 of 900 s"),
    ({"PDT": 500 * US, "ONT": 300 * US}, "total_s total_pct", "total_s", "", "dispatch_time 500 of 300 s"),
    (
        {"ONT": 5000 * US},
        "logical_cpus total_pct",
        "logical_cpus",
        "online busy_pct",
        "online_time 5000 of 900 s",
    ),
    (
        {"EDT": 450 * US},
        "effective_s phys_lpmgt_pct",
        "effective_s ovrhd_pct",
        "",
        "effective_time 450 of 400 s",
    ),
    ({"BPS": 5000}, "weight share_pct entitlement", "total_weight", "", "weight 5000 of 999"),
]


@pytest.mark.parametrize(
    ("changed", "partition", "cec", "load", "ending"), quick_subset(3, WITHHELD, several=True)
)
def test_sum_with_withheld_part_is_null(
    changed: dict[str, Any], partition: str, cec: str, load: str, ending: str
) -> None:
    """The sum of each partition would be possible: three processors have 2700 s."""
    for content, shown in ((machine(), True), (machine(changed), False)):
        with session({"SYSA": [content]}, SECONDS) as opened:
            for table, columns, where in (
                ("partition", partition, "partition = 'A'"),
                ("cec", cec, "cpu_type = 'CP'"),
                ("load", load, "true"),
            ):
                for column in columns.split():
                    ((value,),) = opened.sql(f"SELECT {column} FROM {table} WHERE {where}").rows
                    assert (value is not None) == shown, (table, column, value)
            problems = impossible(opened)
            assert shown == (not problems)
            assert shown or any(problem.endswith(ending) for problem in problems), problems


def test_impossible_management_time_is_withheld() -> None:
    with session({"SYSA": [machine(more={"PDT": 5000 * US})]}, SECONDS) as opened:
        assert opened.sql("SELECT total_s, management_s FROM cec").rows == [(None, None)]
        (problem,) = impossible(opened)
    assert problem.endswith("management_time 5000 of 900 s")


def test_partition_above_machine_has_null_share() -> None:
    content = machine()
    content["name"][0] |= {"CTN": 0, "CAN": 1}
    content["name"][0]["CTN"] = 1
    content["control"][0]["DSA"] = 1800
    with session({"SYSA": [content]}, SECONDS) as opened:
        rows = opened.sql("SELECT total_s, phys_total_pct, phys_effective_pct FROM cec").rows
        parts = opened.sql("SELECT DISTINCT phys_total_pct FROM partition").rows
        (problem,) = impossible(opened)
    assert rows == [(605, None, None)]
    assert parts == [(None,)]
    assert problem.startswith("partitions had more than the machine in 1 rows of cec")


def test_step_ending_before_start_has_null_length(tmp_path: Path) -> None:
    """A step also has no more CPU time than 256 processors provide."""
    times = smf30_builder.TIMES | {"CPT": 4_000_000_000}
    # Interval records determine the zone.
    records = [smf30_builder.record(kind) for kind in (smf30_builder.INTERVAL, smf30_builder.STEP)]
    records.append(smf30_builder.record(smf30_builder.STEP, 300, cas=times))
    wrong = bytearray(smf30_builder.record(smf30_builder.STEP, 600))
    at = _places(30, bytes(wrong), "id", "SIT")[0]
    wrong[at : at + 4] = (86_399_99).to_bytes(4)
    with zlens.open([smf113_builder.dump(tmp_path / "a.smf", [*records, bytes(wrong)])]) as opened:
        rows = opened.sql(
            "SELECT seconds, tcb_s, cp_s IS NULL FROM job WHERE kind = 'step' ORDER BY interval_end"
        ).rows
        (problem,) = impossible(opened)
    assert rows == [(61, 10, False), (61, None, True), (None, 10, False)]
    assert problem.startswith("2 samples of job have impossible values")


def _places(number: int, data: bytes | bytearray, section: str, field: str) -> list[int]:
    """Return the offsets of a field in the sections of a record."""
    facts = smf_sections.layout(str(number)).section(section)
    if facts.triplet is None:
        return []
    at = facts.triplet
    offset, length, count = (int.from_bytes(data[at + a : at + b]) for a, b in ((0, 4), (4, 6), (6, 8)))
    return [offset + n * length + facts.field(field).offset for n in range(count)]


def _class(**changed: Any) -> bytes:
    return smf_writer.encode_record(
        smf_sections.layout("72"),
        3,
        system="SYSA",
        local_us=END_US,
        sections={
            "product": [{"MVS": "ZV030100", "SNM": "SYSA", **smf_writer.interval(END_US, SECONDS, 0)}],
            "wms": [CLASS],
            "scs": [PERIOD | {"CTSA": 1000.0} | changed],
            "rts": [{"TRDB_1": 50}, {"TRDB_1": 1}],
        },
    )


def _all() -> Iterator[tuple[int, bytes]]:
    """Yield a record of each type, of one interval of one system."""
    yield 70, encoded("SYSA", machine(), END_US, SECONDS)[0]
    yield 72, _class()
    for kind in (smf30_builder.INTERVAL, smf30_builder.STEP, smf30_builder.JOB):
        yield 30, smf30_builder.record(kind)
    counters = [CounterSetValues("basic", [3 * 10**12, 10**12, 10**10, 10**10, 10**10, 10**10])]
    for subtype in (1, 1):
        yield 113, smf113_builder.record(subtype, 0, 600, sets=counters)


def _damaged(chance: random.Random) -> tuple[str, list[bytes]]:
    """Change a field in one record of each type; return changes and all records."""
    named = "".join(path.read_text("utf-8").lower() for path in roles.FOLDER.glob("[!_]*.toml"))
    records = list(_all())
    changes = []
    for number in (70, 72, 30, 113):
        which = chance.choice([n for n, (kind, _) in enumerate(records) if kind == number])
        wrong = bytearray(records[which][1])
        if number == 113:
            at, length, name = chance.randrange(60, len(wrong) - 8), 8, "bytes"
        else:
            fields = [
                (section.name, field)
                for section in smf_sections.layout(str(number)).sections
                for field in section.fields
                if field.kind != "text"
                and field.column in named
                and _places(number, wrong, section.name, field.name)
            ]
            section, field = chance.choice(fields)
            at = chance.choice(_places(number, wrong, section, field.name))
            length, name = field.length, f"{section}.{field.name}"
        ends = [b"\xff" * length, b"\x80" + bytes(length - 1), b"\x7f" + b"\xff" * (length - 1)]
        small = [bytes(length), bytes(length - 1) + b"\x01"]
        value = chance.choice([*ends, *small, chance.randbytes(length)])
        wrong[at : at + length] = value
        changes.append(f"{number} {name} at {at}: {value.hex()}")
        records[which] = (number, bytes(wrong))
    return ", ".join(changes), [data for _, data in records]


def _beyond(table: str, row: dict[str, Any]) -> list[str]:
    """Return the columns of a row with impossible values; 2% and 0.05 s are accepted, as by the bounds."""
    seconds = row["seconds"] or 0
    wrong = []
    for column in measures.load_measure(table).columns:
        value = row.get(column.name)
        if (
            value is None
            or column.type not in ("int", "float")
            or column.unit not in ("s", "count", "%", "/s")
        ):
            continue
        least, most = 0.0, float("inf")
        if column.unit == "%":
            most = {"workload": 100 * 256, "cec": 100 * 65536}.get(table, 100)
            whole = (
                "velocity_pct within_goal_pct goal_percent phys_lpmgt_pct phys_effective_pct phys_total_pct"
            )
            most = 100 if column.name in whole.split() else most
            # Quotients by a length of nearly zero have no bound, nor have those by the capacity of threads.
            online = seconds * (row.get("online_pct") or 0) / 100 if table == "cpu" else seconds
            online = seconds * min(1, row.get("logical_cpus") or 1) if table == "partition" else online
            most = 1.02 * most + 5 / online if online > 0 else float("inf")
            least = -2 - 5 / online if online > 0 else float("-inf")
        if column.unit == "s" and table == "workload":
            least = -0.1 - 0.02 * (row["cpu_s"] or 0)
        if column.name == "cpu_delay_pct" or "appl" in column.name:
            most = float("inf")
        if not least <= value <= most:
            wrong.append(f"{table}.{column.name} {value}")
    return wrong


@pytest.mark.long
def test_each_withheld_value_is_a_problem(tmp_path: Path) -> None:
    """Problems search only entities that a short statement finds; here all of them are searched."""
    chance = draws("impossible")
    damaged = 0
    for number in range(iterations(60, 4)):
        what, records = _damaged(chance)
        with zlens.open([smf113_builder.dump(tmp_path / f"{number}.smf", records)]) as opened:
            details = [
                detail
                for name in roles.bounded_entities()
                if opened._core.has_data(f"role.{name}")
                for _, _, _, detail in opened.sql(withheld_rows_sql(name)).rows
            ]
            assert set(details) == {each for each in impossible(opened) if "partitions had" not in each}, what
        damaged += bool(details)
    assert damaged


def test_withheld_value_is_shown_nowhere(tmp_path: Path) -> None:
    chance = draws("impossible")
    for number in range(iterations(200, 6)):
        what, records = _damaged(chance)
        with zlens.open([smf113_builder.dump(tmp_path / f"{number}.smf", records)]) as opened:
            for table in MEASURES:
                answer = opened.sql(f"SELECT * FROM {table}")
                names = answer.columns
                for row in answer.rows:
                    assert not _beyond(table, dict(zip(names, row, strict=True))), what
