"""Tests of the lineage of measure columns, compared with the columns that their statements read."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from iterations import quick_subset
from zlens.catalog import expressions, measures, roles, smf_sections
from zlens.catalog.cpumf import FormulaPolicy
from zlens.catalog.raw_columns import FIXED
from zlens.catalog.roles import ALL_TIMES_SUFFIX
from zlens.compiler import nodes
from zlens.compiler.plan import Compiler, CompilerInput
from zlens.explain.lineage import column_lineage, raw_lines
from zlens.explain.names import explain

FED = [name for name in measures.measure_names() if nodes.is_joined(name)]
Raw = dict[str, set[str]]


def everything() -> Raw:
    """Return raw tables with all columns that roles name; tables of sections have those of their layout."""
    found: Raw = {}

    def note(table: str, names: Iterable[str]) -> None:
        names = {*names}
        for name in [name for name in names if "." in name]:
            # A column of a joined table.
            names.remove(name)
            owner, _, column = name.partition(".")
            note(owner, (column,))
        section = smf_sections.find(table)
        known = {column.name for column in smf_sections.columns(*section)} if section else {*names}
        found.setdefault(table, {*FIXED}).update(known)

    def named(how: roles.RoleValue) -> set[str]:
        own = {field.lower() + how.suffix for field in how.fields}
        own |= set(expressions.names(how.expression)) if how.expression else set()
        return own | named(how.fallback) if how.fallback else own

    for name in roles.entities():
        for origin in roles.entity(name).origins:
            note(origin.table, {one for how in origin.roles.values() for one in named(how)})
            for formula in (origin.where, origin.seconds):
                note(origin.table, expressions.names(formula) if formula else ())
            if origin.began:
                counters = (field.lower() for how in origin.roles.values() for field in how.fields)
                note(origin.table, (origin.began.lower(), *counters))
            for join in origin.joins:
                note(join.table, {*join.same, *expressions.names(join.on)})
                note(origin.table, join.same)
    return found


class Statements:
    """Columns that the compiled statements of single columns read, down to the raw tables."""

    def __init__(self, raw: Raw) -> None:
        graph = column_lineage().lineages.nodes
        source = CompilerInput(
            raw, graph.session, {"0": ["a"], None: ["b"]}, trust=FormulaPolicy(unverified=True)
        )
        # No statement runs, so its text is only a placeholder for its columns.
        place = f'"{nodes.PLACE}"'
        self.compiler = Compiler(source, graph._parse, lambda _: place)
        self.compiler.nodes = graph
        self.known: dict[tuple[str, frozenset[str]], Raw] = {}

    def reads(self, name: str, columns: frozenset[str]) -> Raw:
        if (name, columns) not in self.known:
            plan = self.compiler.plan(name, columns)
            found: Raw = {}
            makes: Raw = {}
            for table, ones in plan.reads.items():
                found.setdefault(table.removesuffix(ALL_TIMES_SUFFIX), set()).update(ones)
            for materialized, ones in plan.makes.items():
                if materialized in self.compiler.input.session:
                    makes.setdefault(materialized, set()).update(ones)
                else:
                    for table, below in self.reads(materialized, frozenset(ones)).items():
                        found.setdefault(table, set()).update(below)
            found.update({one: ones for one, ones in makes.items() if not one.startswith("_")})
            self.known[name, columns] = found
        return self.known[name, columns]


@pytest.fixture(scope="module")
def statements() -> Statements:
    return Statements(everything())


@pytest.mark.parametrize("name", quick_subset(8, FED))
def test_lineage_equals_columns_read(name: str, statements: Statements) -> None:
    for column in measures.load_measure(name).columns:
        read = statements.reads(name, frozenset({column.name}))
        found = column_lineage().lineages.lineage(name, column.name)
        columns_by_table: Raw = {}
        for part in (found.raw, found.rows):
            for table, ones in part.items():
                columns_by_table.setdefault(table, set()).update(ones)
        assert columns_by_table == {table: ones for table, ones in read.items() if ones}, (
            f"{name}.{column.name}"
        )


def test_column_has_raw_columns_or_reason() -> None:
    for table, column in measures.all_columns():
        if column.status == "constructed":
            continue
        raw, _ = raw_lines(table, column)
        why = "always, so far" in explain(f"{table.name}.{column.name}") if not raw else ""
        assert raw or why, f"{table.name}.{column.name}"


def test_only_constants_have_no_raw_column() -> None:
    constants = {
        f"{table.name}.{column.name}"
        for table, column in measures.all_columns()
        if raw_lines(table, column)[0] == ["none: it follows from the existing rows"]
    }
    assert constants == {
        "coupling_delay.reason",
        "coupling_facility.processors",
        "cpumf_polarity.processors",
        *(f"decision.{name}" for name in ("capped", "flag", "reason", "request")),
        *(f"hiperdispatch.{name}" for name in ("decisions", "parks", "refused", "unparks")),
        "job.flag",
        *(f"ledger.{name}" for name in ("account", "ledger", "level", "meter", "place", "unit")),
        *(f"ledger_meter.{name}" for name in ("comparison", "first_meter", "ledger", "second_meter", "unit")),
        "lock.mode",
        "paging.area",
        "storage.zone",
        *(f"{name}.{column}" for name in ("policy_interval", "topology") for column in ("flag", "seconds")),
        *(f"hiperdispatch.{name}" for name in ("flag", "interval_end", "seconds")),
    }


def test_lineage_follows_helpers_to_roles() -> None:
    # The helper _share reads roles of partitions by a dozen names, and _pool by many more.
    shares = [each for each in column_lineage().roles("cpu", "entitlement_pct") if each[0] == "partition"]
    assert shares == [("partition", "dedicated"), ("partition", "logical_cpus"), ("partition", "weight")]
    assert ("processor", "user_time") not in column_lineage().roles("cpu", "cpu_type")
    assert column_lineage().roles("cpu", "user_pct") == [("processor", "seconds"), ("processor", "user_time")]


def test_formula_table_is_join_not_entity_of_same_name() -> None:
    # The rows of guest are from the helper _guest, and an entity guest exists as well.
    assert ("_guest", "cpu_time") in column_lineage().lineages.referenced_columns("guest", "guest.cpu_time")
    assert "compiler/selects/guest.sql, from role.guest, role.guest_end" in explain("guest.cpu_pct")


def test_columns_using_role_through_helpers() -> None:
    used = column_lineage().columns_using("processor", "user_time")
    # Through the measure load and the helper _cost.
    assert {"cpu.user_pct", "load.chargeable_cp_pct", "per_transaction.cp_s"} <= {*used}
    assert "cpu.cpu_type" not in used
    assert used == [
        f"{table.name}.{column.name}"
        for table, column in measures.all_columns()
        if ("processor", "user_time") in column_lineage().roles(table.name, column.name)
    ]
    # Values from VALUES of a helper that also has rows.
    assert "workload_response.ended" in column_lineage().columns_using("class_period", "bucket3")


def test_lineage_separates_values_and_row_columns() -> None:
    found = column_lineage().lineages.lineage("cpu", "user_pct")
    assert found.raw["d0r2"] == ["seconds", "sytprp_pfxutime_d"]
    assert "sytprp_pfxutime_d" not in found.rows["d0r2"]
    text = explain("per_transaction.cp_s")
    assert "Raw      d0r2: seconds, sytprp_pfxprbtm_d, sytprp_pfxtmsys_d, sytprp_pfxutime_d" in text
    assert "Rows by  " in text
    assert "c128_d to c139_d" in text
