"""Formulas of numbers are in measures: queries of reports select, join, aggregate and change units."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from zlens.catalog.reports import definition
from zlens.compiler.sql_tree import Tree
from zlens.engine.sql_parser import shared_parser
from zlens.schema import document

ARITHMETIC = {"+", "-", "*", "/", "//", "%", "^", "**"}
#: Factors that only change the unit of a number: milli, micro, mega, binary mega.
UNITS = {"60", "1000", "1e6", "1000000", "1048576"}
RATE = "a count of a role that no measure has, per second"
OVER_CPUS = "sums over the virtual CPUs of a guest, each over its own seconds"
SUMS = "sums over the disks of a subsystem"
SPINS = "spin times of a mode, weighted by collisions"
SAMPLES = "shares of the samples of a guest"
POINTS = "a difference of two columns of the row"
PLACE = "the position of a line or number in its text, not a value"
TEXT = "part of a text"
#: Columns of reports that are computed in their queries, and why: by report and table.
ALLOWED: dict[str, dict[str, str]] = {
    "appldata.guests": {
        "busy_pct user_pct system_pct io_wait_pct steal_pct": "times of a Linux that no measure has",
        "virtual_pct received_mb sent_mb swap_rate": RATE,
        "used_mb swap_used_mb": "memory of a Linux that no measure has",
    },
    "auxlog.auxiliary": {"page_used_pct spool_used_pct mload_ms": "sums over volumes by area"},
    "burg.metrics": {"hour": TEXT, "local_end": "a time"},
    "caf.caf": {
        "factor together begins": "the table of a role: a factor in units of 1/65536, and its ranges of CPUs"
    },
    "members.guests": {"counts ?": "CPU time of several systems, weighted by their capability"},
    "cpowned.areas": {"total_rate": "sum of two columns of the row"},
    "cpu.load": {"cp_pct": POINTS},
    "ctlunit.control_units": {
        "io_rate stage_rate destage_rate inhibit_rate bypass_rate delayed_rate": SUMS,
    },
    "device110.paths": {"paths": TEXT},
    "device110.paging": {"total_rate": "sum of two columns of the row"},
    "device110.seeks": {"distance": "the width of a class of seeks"},
    "energy.months": {"energy_kwh": "kilowatt-hours of the joules of the ledger"},
    "meters.comparisons": {
        "first_w second_w": "joules in the seconds of both meters",
        "difference_pct difference_w": "a difference of two columns of the row",
    },
    "meters.meters": {"machine_w": "joules in the seconds of the meter"},
    "dispwait.guests": {"mean_us": "a ratio of sums of the row"},
    "indicate_multithread.state": {"interval_start": "a time"},
    "indload.lines": {"line_no": PLACE, "?": PLACE},
    "isfeact.end_points": {
        "received_rate sent_rate received_bytes_rate sent_bytes_rate": RATE,
    },
    "isflact.links": {
        "local_received_rate local_sent_rate forwarded_received_rate forwarded_sent_rate": RATE,
    },
    "lockact.locks": {
        "combined_spin exclusive_spin shared_spin spins avg_spin_s": SPINS,
    },
    "locklog.locks": {
        "combined_spin exclusive_spin shared_spin": SPINS,
    },
    "lpar.processors": {
        "busy_pct overhead_pct": RATE,
        "suspend_pct vm_load_pct": "a time: whether the partition's own interval overlaps",
    },
    "lparlog.partitions": {
        "overhead_pct": POINTS,
        "suspend_pct": "a time: whether the partition's own interval overlaps",
    },
    "lsharact.partitions": {
        "entitled_pct used_pct excess_pct": "fractions of processors in percent, and a difference"
    },
    "mondata.records": {
        "records_per_interval bytes_per_interval": "counts of the file's records, not of measures"
    },
    "partition.partitions": {
        "?": "PR/SM time of a type in percent of its processors, in the row of PHYSICAL"
    },
    "privop.instructions": {"rate": RATE},
    "privop.diagnoses": {"rate": RATE},
    "procsum.processors": {"empty_pct users steal_rate": RATE},
    "query_capability.response": {
        "first second usual": "the binary floating point format of the response",
        "interval_start": "a time",
    },
    "rmfcache.disks": {"read_hits total_hits write_hits": SUMS},
    "rmfcache.subsystems": {
        "cache_fast_read_hits cache_fast_read_rate cache_fast_write_hits cache_fast_write_rate hits io_rate "
        "normal_read_hits normal_read_rate normal_write_hits normal_write_rate sequential_read_hits "
        "sequential_read_rate sequential_write_hits sequential_write_rate total_hits total_rate": SUMS,
    },
    "rmfdevice.units": {"rate": SUMS},
    "rmfioq.processors": {"interrupt_rate queued_rate start_rate": SUMS},
    "rmfcpu.processors": {"tpi_pct": "the mean of processors, weighted by their interrupts"},
    "rmfcpu.multithreading": {"max_cf cf": "percent as a factor"},
    "ssischlg.synchronizations": {"sync_rate": RATE},
    "sysconf.stp": {"?": TEXT},
    "syslog.facilities": {"done_rate aborted_rate not_eligible_rate": RATE},
    "syssumlg.intervals": {"storage_used_pct spool_rate": "sum or share of columns of the row"},
    "system.operations": {"first_rate second_rate": RATE},
    "system.storage": {"first_rate second_rate": RATE},
    "topology.levels": {"?": TEXT},
    "topology.tree": {"run ?": PLACE},
    "user.guests": {
        "cpu_pct cpu_s virtual_s tv virtual_io_rate dasd_io_rate avoided_io_rate diag98_rate "
        "unit_record_io_rate page_rate ios dasd avoided diag98 unit_record pages": OVER_CPUS,
    },
    "user.captured": {"guest_s user_s": "percentages of processors as times"},
    "ustat.guests": {
        "active_pct running_pct cpu_wait_pct loading_pct page_wait_pct io_wait_pct simulation_wait_pct "
        "console_wait_pct test_idle_pct eligible_pct dormant_pct io_active_pct page_active_pct "
        "limit_wait_pct server_pct other_pct queue0_pct queue1_pct queue2_pct queue3_pct": SAMPLES,
    },
    "workload.goals": {
        "performance_index": "compares counts: selects the bucket in which a percentile is reached"
    },
}


def formulas(query: str) -> set[str]:
    """Return the columns of a query, and of its subqueries, that have arithmetic or a number like 5.5."""
    # References to measures and times are expanded elsewhere.
    text = re.sub(r"\{time(?: of \w+)?\}", "", query)
    text = re.sub(r"\{(?:mean|across|total|of_totals|known) [^{}]*\}", "reference", text)
    tree = json.loads(shared_parser().parse(text))
    assert not tree["error"], tree
    return {
        item["alias"] or "?"
        for node in parts(tree)
        for item in node.get("select_list", ())
        if any(is_formula(part) for part in parts(item, nested=False))
    }


def parts(tree: object, *, nested: bool = True) -> Iterator[Tree]:
    """Yield every object of a tree, with those of its subqueries if `nested`."""
    pending = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, dict) and (nested or "select_list" not in item):
            yield item
            pending += item.values()
        elif isinstance(item, list):
            pending += item


def is_formula(part: Tree) -> bool:
    if part.get("class") == "CONSTANT":
        literal = part["literal"]
        return literal["kind"] == "NUMERIC" and literal["text"] not in UNITS
    if part.get("class") != "FUNCTION" or part["function_name"] not in ARITHMETIC:
        return False
    values = [argument["expression"].get("literal", {}).get("text") for argument in part["arguments"]]
    return not (part["function_name"] in ("*", "/") and UNITS & set(values))


def found() -> dict[str, set[str]]:
    """Return the computed columns of the queries of all reports, by report and table."""
    by_table: dict[str, set[str]] = {}
    for name, path in definition.files().items():
        report = document.parse_toml(document.text_of(path), str(path))
        queries = [("notes", note.get("when")) for note in report.get("notes", ())]
        queries += [("members", report.get("members"))]
        for table in report["tables"]:
            key = table.get("key", "table")
            queries += [(key, table.get("query")), (key, table.get("title_values"))]
            queries += [(key, rows.get("query")) for rows in table.get("rows", ())]
        for key, query in queries:
            if query and (columns := formulas(query)):
                by_table.setdefault(f"{name}.{key}", set()).update(columns)
    return by_table


def test_reports_have_no_formulas_beyond_the_listed() -> None:
    """A formula of a number belongs into a measure, with its unit, source and aggregation."""
    allowed = {
        place: {column for columns in reasons for column in columns.split()}
        for place, reasons in ALLOWED.items()
    }
    assert found() == allowed


def test_formula_in_query_of_report_is_detected() -> None:
    query = (
        "SELECT system, {mean cpu.busy_pct} AS mean, 1000 * resp_s AS resp_ms, coalesce(index, 5.5) AS index"
    )
    assert formulas(f"{query}, (SELECT max(cpu_s) / 60 AS min FROM guest) FROM cpu") == {"index"}
    assert formulas("SELECT a FROM (SELECT 100 * cpu_s / seconds AS a FROM guest)") == {"a"}
