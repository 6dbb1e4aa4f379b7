"""Tests of query plans on inputs that have only names: no data, no engine."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

import duckdb
import pytest

from zlens.catalog import session_columns
from zlens.catalog.roles import entity
from zlens.compiler.plan import Compiler, CompilerInput
from zlens.compiler.query_plan import Plan, TableReads, compile_queries
from zlens.compiler.schema import Schema

DATABASE = duckdb.connect()
SESSION = {
    name: [(column.name, column.type) for column in columns]
    for name, columns in session_columns.always().items()
}


def select(query: str, value: str) -> str:
    return str(DATABASE.execute(query, [value]).fetchall()[0][0])


def compiled(
    *queries: Mapping[str, set[str]],
    materialized: Mapping[str, set[str]] | None = None,
    planned: Mapping[str, set[str]] | None = None,
    sizes: Mapping[str, int] | None = None,
    share: bool = False,
    more: Collection[str] = (),
    **options: object,
) -> Plan:
    raw = {}
    for origin in (origin for name in ("processor", "guest", "counter") for origin in entity(name).origins):
        tables = ("d0r2", "d4r3", *(counters.table for counters in entity("counter").origins), *more)
        if origin.table in tables:
            names = {field.lower() for how in origin.roles.values() for field in how.fields}
            columns = dict.fromkeys([*names, *(f"{name}_d" for name in names)], "int")
            raw[origin.table] = {"system": "text", "source": "text", "interval_end": "time", **columns}
    source = CompilerInput(raw, SESSION, {None: ["A"]}, **options)  # type: ignore[arg-type]
    compiler = Compiler(
        source,
        lambda sql: select("SELECT json_serialize_sql(?)", sql),
        lambda tree: select("SELECT json_deserialize_sql(?)", json.dumps(tree)),
    )
    reads = [TableReads(query) for query in queries]
    schema = Schema(compiler)
    return compile_queries(
        reads, compiler, schema, materialized or {}, planned or {}, sizes or {}, share=share
    )


def steps(plan: Plan) -> list[str]:
    return [step.table for step in plan.steps]


def test_table_is_planned_once_with_columns_of_all_queries() -> None:
    plan = compiled({"cpu": {"busy_pct"}}, {"cpu": {"cpu_id"}}, {"system": {"system"}})
    assert sorted(steps(plan)) == sorted({*steps(plan)})
    [cpu] = [step for step in plan.steps if step.table == "cpu"]
    assert cpu.columns == ["cpu_id", "busy_pct"]
    assert cpu.statement is not None
    assert "d0r2" in cpu.statement.reads
    [system] = [step for step in plan.steps if step.table == "system"]
    assert system.statement is None


def test_steps_follow_the_tables_that_they_read() -> None:
    plan = compiled({"load": {"busy_pct", "guest_pct", "tv"}, "guest": {"cpu_pct"}})
    order = steps(plan)
    for step in plan.steps:
        read = {*step.statement.makes} if step.statement else set()
        assert read <= {*order[: order.index(step.table)]}, step.table


def test_materialized_columns_are_not_planned_again() -> None:
    assert "cpu" not in steps(compiled({"cpu": {"busy_pct"}}, materialized={"cpu": {"busy_pct", "cpu_id"}}))
    plan = compiled({"cpu": {"busy_pct"}}, materialized={"cpu": {"cpu_id"}}, planned={"cpu": {"user_pct"}})
    [cpu] = [step for step in plan.steps if step.table == "cpu"]
    assert cpu.columns == ["cpu_id", "busy_pct", "user_pct"]


def test_lazy_measure_has_a_statement_for_each_query() -> None:
    plan = compiled({"guest_cpu": {"cpu_pct"}}, {"cpu": {"busy_pct"}})
    assert "guest_cpu" not in steps(plan)
    assert [sorted(rows) for rows in plan.rows] == [["guest_cpu"], []]
    shared = compiled(*[{"guest_cpu": {"cpu_pct", "cpu_s"}}] * 2)
    assert "guest_cpu" in steps(shared)
    assert [*shared.rows] == [{}, {}]


def test_lazy_measure_that_a_measure_reads_is_materialized() -> None:
    """Also if a query of its own reads it."""
    plan = compiled({"capacity": {"known_s"}}, {"guest": {"cpu_s", "userid"}})
    [guest] = [step for step in plan.steps if step.table == "guest"]
    assert {"cpu_s", "userid", "interval_end"} <= {*guest.columns}
    assert steps(plan).index("guest") < steps(plan).index("capacity")


def test_role_that_queries_share_is_computed_once() -> None:
    single, shared = ({"role.processor": {"cpu_id"}},), [{"role.processor": {"cpu_id", "user_time"}}] * 2
    assert "role.processor" not in steps(compiled(*single))
    plan = compiled(*shared)
    [role] = [step for step in plan.steps if step.table == "role.processor"]
    assert role.columns == ["cpu_id", "user_time"]
    assert [*plan.rows] == [{}, {}]
    # Raw tables are read for each query.
    raw = compiled(*[{"d0r2": {"system"}}] * 2)
    assert "d0r2" not in steps(raw)


def test_role_that_tables_share_is_computed_once() -> None:
    queries = {"cpu": {"busy_pct"}}, {"load": {"busy_pct", "capture_pct"}}, {"guest": {"cpu_pct"}}
    assert not any(name.startswith("role.") for name in steps(compiled(*queries)))
    # A role of one raw table is short.
    assert "role.processor" not in steps(compiled(*queries, share=True))
    plan = compiled(*queries, share=True, more=["rmf_cpu"])
    tables = {step.table: step for step in plan.steps}
    # Not guests: their rows have other seconds if counters are read.
    assert "role.guest" not in tables
    assert {"system_time", "user_time"} <= {*tables["role.processor"].columns}
    for name in ("cpu", "load"):
        statement = tables[name].statement
        assert statement is not None
        assert {"user_time"} <= statement.makes["role.processor"]
        assert "d0r2" not in statement.reads
        assert steps(plan).index("role.processor") < steps(plan).index(name)
    assert "role.processor" not in steps(compiled(queries[2], share=True, more=["rmf_cpu"]))


def test_stages_begin_with_the_smallest_records() -> None:
    queries = {"guest": {"cpu_pct"}}, {"cpu": {"busy_pct"}}
    for sizes, first in (({"d0r2": 1, "d4r3": 10**9}, "cpu"), ({"d0r2": 10**9, "d4r3": 1}, "guest")):
        names = [name for name, _ in compiled(*queries, sizes=sizes).stages()]
        assert names[0] == first
        assert sorted(names) == ["cpu", "guest"]


def test_long_tables_that_exist_are_read_last() -> None:
    queries = {"guest": {"cpu_pct"}}, {"cpu": {"busy_pct"}}
    sizes = {"d0r2": 10**6, "d4r3": 10**9}
    for exists, order in (
        ({"guest": {"cpu_pct"}}, ["cpu", "guest"]),
        ({"cpu": {"busy_pct"}}, ["cpu", "guest"]),
    ):
        plan = compiled(*queries, sizes=sizes, materialized=exists)
        assert [name for name, _ in plan.stages()] == order
        assert not exists.keys() & {*steps(plan)}


@pytest.mark.parametrize("counted", [False, True])
def test_plan_needs_known_generations(counted: bool) -> None:
    plan = compiled({"cpumf": {"rni"}}, generations=frozenset({"z13"}), counted=counted)
    assert plan.incomplete != counted
    assert bool(plan.steps) == counted


def test_rows_of_another_source_are_omitted() -> None:
    repeated = {"cpu": ("source = 'second'", {"system", "source"})}
    [cpu] = [step for step in compiled({"cpu": {"busy_pct"}}, repeated=repeated).steps if step.table == "cpu"]
    assert cpu.statement is not None
    assert cpu.statement.sql().endswith("WHERE NOT source = 'second'")
