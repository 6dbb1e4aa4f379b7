"""The measures of the catalog: complete, well formed, and told on their reference page."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from zlens.catalog import check_metrics, metrics, reference_measures
from zlens.catalog.roles import SQL_TYPES
from zlens.errors import CatalogError

ROOT = Path(__file__).parents[2]

#: Every table that views may read, with columns that must be there.
TABLES = {
    "alias_pool": "share entitlement in_use queued",
    "cache": "io_rate read_pct read_hit_pct write_hit_pct ssid",
    "cec": "physical dedicated lgclc_pct ovrhd_pct lpmgt_pct total_pct type_tl machine observer cpu_type",
    "channel": "util_pct read_rate write_rate",
    "core": "core_id cpu_type core_busy_pct thread_density productivity_pct capacity_factor_pct "
    "max_capacity_factor_pct mt_utilization_pct",
    "core_type": "sampled_s cores core_busy_pct thread_density productivity_pct capacity_factor_pct "
    "max_capacity_factor_pct mt_utilization_pct",
    "cpu": "cpu_id core_id thread_id cpu_type polarity entitlement_pct parked_pct busy_pct user_pct "
    "emulation_pct system_pct wait_pct suspend_pct runci_rate runpf_rate runcp_rate",
    "cpumf": "cpi problem_state_pct l1mp l15p l2lp l2rp l2p l3p l4lp l4rp memp est_instr_cmplx_cpi "
    "est_finite_cpi est_scpl1m rni workload_hint ghz basis polarity parked_pct",
    "cpumf_polarity": "cpu_type polarity processors parked_pct lpar_cpu_pct cpi problem_state_pct l1mp l15p "
    "l2lp l2rp l2p l3p l4lp l4rp memp est_instr_cmplx_cpi est_finite_cpi est_scpl1m rni ghz",
    "cpumf_type": "cpu_type processors cpi problem_state_pct l1mp l15p l2lp l2rp l2p l3p l4lp l4rp memp "
    "est_instr_cmplx_cpi est_finite_cpi est_scpl1m rni workload_hint ghz basis crypto_busy_pct",
    "device": "rate pend_s disc_s conn_s serv_s resp_s queued read_pct",
    "event": "time kind subject detail inferred",
    "guest": "userid share cpu_s mt1_s prorated_s virtual_s dispatch_wait_s",
    "guest_cpu": "userid vcpu cpu_s mt1_s prorated_s virtual_s dispatch_wait_s",
    "guest_wait": "userid vcpu samples running_samples dormant_samples",
    "interval": "system interval_end seconds source flag",
    "job": "kind job job_id step program cp_s ziip_s task_instructions ziip_instructions cp_mips",
    "load": "online unparked busy_pct guest_pct chargeable_cp_pct nonchargeable_cp_pct tv capture_pct "
    "logged_on active page_rate virtual_io_rate etr itr",
    "lock": "collision_rate avg_spin_s spin_pct",
    "network": "in_bytes_rate out_bytes_rate in_discards_rate out_discards_rate",
    "paging": "read_rate write_rate slots_used_pct mload_s queue block_size",
    "partition": "weight logical_cpus effective_s total_s entitlement vh vm vl machine observer cpu_type",
    "pci": "function function_type load_rate store_rate received_rate sent_rate",
    "per_transaction": "etr itr response_s busy_pct cpu_s guest_s chargeable_cp_s nonchargeable_cp_s cp_s "
    "instructions cpi est_finite_cpi est_instr_cmplx_cpi ghz counted_cpu_s complexity_s finite_cache_s",
    "problem": "system source file offset record kind detail bytes",
    "storage": "frames available reserved overcommit",
    "system": "system source machine_type model serial release lpar utc_offset_s",
    "throughput": "etr response_s",
    "workload": "velocity_pct performance_index response_s ended_rate appl_cp_pct appl_ziip_pct",
    "workload_response": "class period bucket bound_pct bound_s ended reached_pct",
    "workload_service": "class period service_rate promoted_blocked_s dasd_rate dasd_resp_s",
    "workload_state": "class period samples delay_pct cpu_delay_pct ziip_delay_pct idle_pct",
}


def test_all_tables_are_there() -> None:
    assert metrics.tables() == sorted(TABLES)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_tables_have_their_columns(name: str) -> None:
    table = metrics.table(name)
    names = [column.name for column in table.columns]
    assert not set(TABLES[name].split()) - set(names)
    if not table.plain:
        assert names[:5] == ["system", "source", "interval_end", "seconds", "flag"]


def test_the_catalog_is_well_formed() -> None:
    assert check_metrics.check() == []


def test_every_column_is_commented() -> None:
    for table, column in metrics.all_columns():
        assert column.text, f"{table.name}.{column.name}"
        assert column.source, f"{table.name}.{column.name}"
        assert column.status in metrics.STATUSES, f"{table.name}.{column.name}"


def test_every_column_has_a_type_the_engine_has() -> None:
    database = duckdb.connect()
    for name in metrics.tables():
        columns = ", ".join(f'"{c.name}" {SQL_TYPES[c.type]}' for c in metrics.table(name).columns)
        database.execute(f'CREATE TABLE "{name}" ({columns})')


def test_names_of_other_sources_lead_to_columns() -> None:
    for alias in metrics.aliases():
        assert metrics.find(alias), alias
    assert [f"{t.name}.{c.name}" for t, c in metrics.find("PRBSTATE")] == ["cpumf.problem_state_pct"]
    assert [f"{t.name}.{c.name}" for t, c in metrics.find("est  finite cpi")] == [
        "cpumf.est_finite_cpi",
        "cpumf_polarity.est_finite_cpi",
        "cpumf_type.est_finite_cpi",
        "per_transaction.est_finite_cpi",
    ]
    assert metrics.alias_of("prbstate")
    assert metrics.alias_of("busy_pct") == ""


def test_a_bare_column_is_found_in_every_table_that_has_it() -> None:
    assert {"cpu", "load", "device"} <= {table.name for table, _ in metrics.find("busy_pct")}
    assert metrics.find("cpu.nothing") == []
    assert metrics.find("nothing.busy_pct") == []


def test_the_reference_page_is_up_to_date() -> None:
    written = (ROOT / reference_measures.MEASURES_PAGE).read_text(encoding="utf-8")
    made = reference_measures.measures_page()
    assert written == made, "make it anew: python -m zlens.catalog.reference_measures"


def test_the_reference_page_tells_every_column() -> None:
    text = reference_measures.measures_page()
    for table, column in metrics.all_columns():
        assert f"## {table.name}\n" in text
        assert f"| `{column.name}` |" in text
    widths = {len(line.replace("\\|", "").split("|")) for line in text.splitlines() if line.startswith("| `")}
    assert widths == {9}


GOOD = """
table = "thing"
text = "A thing."
grain = "interval x thing"
key = ["thing"]
[[column]]
name = "thing"
type = "text"
unit = ""
text = "name of the thing"
aggregate = "key"
status = "derived"
source = "nowhere"
[[column]]
name = "used_pct"
type = "float"
unit = "%"
text = "use of it"
formula = "100 * processor.user_time / seconds"
aggregate = "ratio"
weight = "seconds"
status = "derived"
source = "nowhere"
"""


def found(text: str) -> list[str]:
    return [str(finding) for finding in check_metrics.check_text(text, Path("thing.toml"))]


def test_a_good_table_has_no_findings() -> None:
    assert found(GOOD) == []
    table = metrics.parse(GOOD, "thing.toml")
    assert table.scope == "system"
    assert table.column("used_pct") is not None
    assert table.column("other") is None


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ('type = "float"', 'type = "double"', "type is 'double'"),
        ('unit = "%"', 'unit = "furlongs"', "unit is 'furlongs'"),
        ('unit = "%"', 'unit = "s"', "_pct"),
        ('aggregate = "ratio"', 'aggregate = "mean"', "aggregate is 'mean'"),
        ('status = "derived"', 'status = "certain"', "status is 'certain'"),
        ('text = "use of it"', 'text = ""', "empty"),
        ('name = "used_pct"', 'name = "thing"', "twice"),
        ('name = "used_pct"', 'name = "Used_pct"', "lower-case"),
        ('key = ["thing"]', 'key = ["other"]', "the key other"),
        ('aggregate = "key"', 'aggregate = "state"', "has the aggregate state"),
        ('aggregate = "key"', 'aggregate = "counter"', "text has the aggregate counter"),
        ('weight = "seconds"', "", "a ratio has a weight, or the reason"),
        ('weight = "seconds"', 'weight = "seconds"\nunweighted = "why"', "or the reason why it has none"),
        ('weight = "seconds"', 'weight = "processor.user_time"', "names a role"),
        ('weight = "seconds"', 'weight = "hours"', "hours is not an earlier column"),
        ('aggregate = "ratio"', 'aggregate = "counter"', "counter has a weight"),
        ('aggregate = "key"', 'aggregate = "key"\nunweighted = "why"', "key has the key unweighted"),
        ('weight = "seconds"', 'weight = "seconds"\nacross = "all"', "across is 'all'"),
        ('weight = "seconds"', 'weight = "seconds"\nacross = "by hours"', "hours is not an earlier column"),
        ('key = ["thing"]', 'key = ["thing"]\napart = ["used_pct"]', "stands in apart"),
        ("user_time", "no_such_role", "is not a role"),
        ("processor.user_time", "no_such_column", "not an earlier column"),
        ("processor.user_time", "no_such.user_time", "neither an entity"),
        ("100 * p", "100 * * p", "where a value should stand"),
        ('key = ["thing"]', 'key = ["thing"]\nempty = true', "the table is empty"),
        ('table = "thing"', 'table = "other"', "of the table"),
        ('text = "A thing."', 'text = ""', "text or grain"),
        ('status = "derived"', 'status = "derived"\nscope = "galaxy"', "scope is"),
    ],
)
def test_what_is_wrong_is_found(was: str, now: str, said: str) -> None:
    assert any(said in finding for finding in found(GOOD.replace(was, now)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("table = [", "TOML"),
        (GOOD.replace("grain", "grian"), "grian"),
        (GOOD.replace('source = "nowhere"', ""), "lacks the key 'source'"),
        (GOOD.replace('unit = "%"', 'unti = "%"'), "unti"),
        (GOOD.replace('unit = "%"', "unit = 1"), "every key is text"),
    ],
)
def test_wrong_files_are_errors(text: str, said: str) -> None:
    with pytest.raises(CatalogError) as caught:
        metrics.parse(text, "thing.toml")
    assert said in str(caught.value)
    assert "thing.toml" in str(caught.value)
    assert any(said in finding for finding in found(text))


def test_a_finding_says_where() -> None:
    [finding] = check_metrics.check_text(GOOD.replace('unit = "%"', 'unit = "s"'), Path("thing.toml"))
    assert finding.line == 1 + GOOD[: GOOD.index('name = "used_pct"')].count("\n")
    assert finding.file == "thing.toml"


def test_an_unknown_table_is_an_error() -> None:
    with pytest.raises(CatalogError):
        metrics.table("../roles/processor")
