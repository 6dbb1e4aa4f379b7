"""Tests of the subjects of perf stat: a run, an interval, a control group, a thread, a part of the machine.

The formats are from perf's stat-display.c.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import zlens
from readers.test_linux_counters import PERF_CSV, metrics, opened
from samples import needs, sample

SUMMARY = sample("public/perf-summary.json")
FORMS = ("text", "csv", "json")


def line(
    form: str, since: float | None, event: str, value: int, *, cgroup: str | None = None, where: str = ""
) -> str:
    """Return one count in a format of perf stat; `where` is a part of the machine or a thread."""
    if form == "json":
        facts: dict[str, Any] = {} if since is None else {"interval": since}
        if where:
            kind = "thread" if "-" in where and where[0] != "S" else "core" if "C" in where else "socket"
            facts |= {kind: where} | ({} if kind == "thread" else {"aggregate-number": 2})
        facts |= {"counter-value": f"{value}.000000", "unit": "", "event": event}
        facts |= {} if cgroup is None else {"cgroup": cgroup}
        return json.dumps({**facts, "event-runtime": 1000, "pcnt-running": 100.0}) + "\n"
    time = "" if since is None else f"{since:.9f}"
    if form == "csv":
        cells = [time] * bool(time) + ([where] + ["2"] * (where[0] == "S") if where else [])
        cells += [str(value), "", event, *([] if cgroup is None else [cgroup]), "1000", "100.00", "0.50"]
        return ",".join([*cells, "insn per cycle"]) + "\n"
    place = f"{where:<18} {2:>4} " if where else ""
    group = "" if cgroup is None else f" {cgroup:<16}"
    return f"{time:>16} {place}{value:>18,} {event:<32}{group} #    0.50  insn per cycle\n"


def whole(form: str, lines: str) -> str:
    return f"#           time             counts unit events\n{lines}" if form == "text" else lines


def intervals(form: str, **of: Any) -> str:
    rows = [(1.0001, "cycles", 1000), (1.0001, "instructions", 500)]
    rows += [(2.0002, "cycles", 3000), (2.0002, "instructions", 600)]
    return whole(form, "".join(line(form, *row, **of) for row in rows))


def problems(session: zlens.Session) -> list[tuple[str, str]]:
    return [(each.kind, each.detail) for each in session.problems if each.kind not in ("zone", "no_layout")]


def counts(session: zlens.Session) -> list[tuple[Any, ...]]:
    return session.sql(
        "SELECT system, part, counter, value FROM linux_counter ORDER BY tod, system, part, number"
    ).rows


def cycles(session: zlens.Session) -> int:
    ((total,),) = session.sql("SELECT sum(value) FROM linux_counter WHERE counter = 'cycles'").rows
    return int(total)


# The summary after intervals


@needs(SUMMARY)
def test_summary_of_sample_is_not_added() -> None:
    with zlens.open(SUMMARY) as session:
        assert cycles(session) == 4000
        assert metrics(session, "round(seconds, 4), cpi") == [(1.0001, 2.0), (1.0001, 5.0)]
        assert problems(session) == [("duplicate", "a summary of the preceding intervals; not read")]


@pytest.mark.parametrize(
    ("form", "mark"), [("text", ""), ("csv", ""), ("csv", "summary,"), ("csv", "  summary,"), ("json", "")]
)
def test_summary_is_not_added(tmp_path: Path, form: str, mark: str) -> None:
    summary = [mark + line(form, None, event, n) for event, n in (("cycles", 4000), ("instructions", 1100))]
    text = intervals(form) + "".join(summary)
    with opened(tmp_path, {"counts": text}) as session:
        assert cycles(session) == 4000
        assert problems(session) == [("duplicate", "a summary of the preceding intervals; not read")]
    # Another run of intervals after the summary.
    with opened(tmp_path / "again", {"counts": text + intervals(form) + "".join(summary)}) as session:
        assert cycles(session) == 8000
        assert [row[0] for row in metrics(session, "cpi")] == [2.0, 5.0] * 2
        assert [kind for kind, _ in problems(session)] == ["duplicate"] * 2


def test_truncated_text_summary_is_not_added(tmp_path: Path) -> None:
    head = "\n Performance counter stats for 'system wide':\n\n"
    text = intervals("text") + head + line("text", None, "cycles", 4000)
    with opened(tmp_path, {"counts": text}) as session:
        assert cycles(session) == 4000
        assert [kind for kind, _ in problems(session)] == ["duplicate"]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_untimed_perf_lines_are_one_run(tmp_path: Path, form: str) -> None:
    text = line(form, None, "cycles", 4000) + line(form, None, "instructions", 2000)
    with opened(tmp_path, {"counts": text * 2}) as session:
        assert metrics(session, "cpi") == [(2.0,), (2.0,)]
        assert problems(session) == []
    # A run before intervals is a separate run.
    with opened(tmp_path / "mixed", {"counts": text + intervals(form)}) as session:
        assert [row[0] for row in metrics(session, "cpi")] == [2.0, 2.0, 5.0]
        assert len(session.sql("SELECT DISTINCT tod FROM linux_counter").rows) == 3


def test_summary_after_cut_point_is_not_added(tmp_path: Path) -> None:
    """A comment of zlens records the time of the cut point."""
    text = "# started on Wed Mar 26 10:34:19 2025\n# after 2.000200000\n" + line("csv", None, "cycles", 4000)
    text += line("csv", 3.0002, "cycles", 500)
    with opened(tmp_path, {"counts.csv": text}) as session:
        rows = session.sql("SELECT round(seconds, 4), value FROM linux_counter").rows
        assert rows == [(1.0, 500)]
        assert [kind for kind, _ in problems(session)] == ["duplicate"]


# Control groups


@pytest.mark.parametrize("form", FORMS)
def test_control_group_is_separate_system(tmp_path: Path, form: str) -> None:
    rows = [("cycles", 9000, ""), ("instructions", 3000, "")]
    rows += [("cycles", 1000, "web.slice"), ("instructions", 500, "web.slice")]
    rows += [("cycles", 4000, "/db"), ("instructions", 1000, "/db")]
    lines = "".join(line(form, 1.0, event, value, cgroup=group) for event, value, group in rows)
    with opened(tmp_path, {"counts": whole(form, lines)}) as session:
        assert [info.system for info in session.systems] == [
            "unknown-counts", "unknown-counts-/db", "unknown-counts-web.slice"
        ]  # fmt: skip
        assert sorted(metrics(session, "system, cpu_id, cpi")) == [
            ("unknown-counts", None, 3.0),
            ("unknown-counts-/db", None, 4.0),
            ("unknown-counts-web.slice", None, 2.0),
        ]
        assert session.sql("SELECT cycles FROM cpumf_type ORDER BY 1").rows == [(1000,), (4000,), (9000,)]
        assert problems(session) == []
        (source_info,) = session._core.sources[0].info()
        assert source_info["cgroups"] == "/db, web.slice"


@pytest.mark.parametrize("form", FORMS)
def test_control_group_counts_are_not_system_counts(tmp_path: Path, form: str) -> None:
    text = intervals(form, cgroup="web.slice")
    with opened(tmp_path, {"counts": text}) as session:
        assert [info.system for info in session.systems] == ["unknown-counts-web.slice"]
        assert metrics(session, "system, cpi") == [
            ("unknown-counts-web.slice", 2.0),
            ("unknown-counts-web.slice", 5.0),
        ]
        assert [info.nominal_s for info in session.systems] == [None]


def test_control_groups_inherit_host_and_machine(tmp_path: Path) -> None:
    facts = {"Manufacturer": "IBM", "Type": "3906", "Sequence Code": "00000000000AB1C8", "CPUs Total": "10",
        "CPUs Configured": "10", "CPUs Standby": "0", "LPAR Number": "7", "LPAR Name": "LNXPROD"}  # fmt: skip
    sysinfo = "".join(f"{name + ':':<22}{value}\n" for name, value in facts.items())
    text = intervals("csv", cgroup="web")
    with opened(tmp_path, {"counts.csv": text, "tree/proc/sysinfo": sysinfo}) as session:
        assert metrics(session, "system, generation")[0] == ("LNXPROD-web", "z14")


# Repeated events


@pytest.mark.parametrize("form", FORMS)
def test_repeated_perf_event_counts_once(tmp_path: Path, form: str) -> None:
    same = line(form, 1.0, "cycles", 1000) * 2 + line(form, 1.0, "instructions", 500)
    with opened(tmp_path, {"counts": whole(form, same)}) as session:
        assert counts(session) == [
            ("unknown-counts", None, "cycles", 1000), ("unknown-counts", None, "instructions", 500)
        ]  # fmt: skip
        assert problems(session) == [("duplicate", "cycles appears twice at one timestamp; read once")]
    other = same + line(form, 1.0, "cycles", 1001)
    with opened(tmp_path / "other", {"counts": whole(form, other)}) as session:
        assert metrics(session, "cpi") == [(2.0,)]
        assert [kind for kind, _ in problems(session)] == ["duplicate", "conflict"]
        assert problems(session)[1][1] == (
            "cycles appears again at one timestamp with another value, 1,001; the first, 1,000, is shown"
        )


def test_repeated_event_in_marked_run_is_same_run(tmp_path: Path) -> None:
    """A run that begins with its start time has one sample."""
    start = "# started on Wed Mar 26 10:34:19 2025\n\n"
    run = line("csv", None, "cycles", 1000) + line("csv", None, "instructions", 500)
    text = start + run + line("csv", None, "cycles", 1001)
    with opened(tmp_path, {"counts.csv": text}) as session:
        assert metrics(session, "cpi") == [(2.0,)]
        assert [kind for kind, _ in problems(session)] == ["conflict"]


def test_events_with_different_units_are_separate(tmp_path: Path) -> None:
    text = intervals("csv") + "2.000200000,5,msec,task,1000,100.00,,\n2.000200000,5,ns,task,1000,100.00,,\n"
    with opened(tmp_path, {"counts.csv": text}) as session:
        rows = session.sql("SELECT amount, unit FROM linux_counter WHERE counter = 'task' ORDER BY unit").rows
        assert rows == [(5.0, "msec"), (5.0, "ns")]
        assert problems(session) == []


# Parts of the machine, and threads


@pytest.mark.parametrize("form", FORMS)
def test_parts_of_two_kinds_are_not_added(tmp_path: Path, form: str) -> None:
    """A socket contains its cores."""
    cores = "".join(
        line(form, 1.0, event, value, where=f"S0-D0-C{core}")
        for core in (0, 1)
        for event, value in (("cycles", 1000), ("instructions", 500))
    )
    socket = line(form, 1.0, "cycles", 7000, where="S0") + line(form, 1.0, "instructions", 1000, where="S0")
    with opened(tmp_path, {"counts": whole(form, cores + socket)}) as session:
        assert session.sql("SELECT cpu_id, c0, c1 FROM linux_cpumf").rows == [(None, 2000, 1000)]
        assert len(counts(session)) == 6
        ((kind, detail),) = problems(session)
        assert kind == "section"
        assert "counts of several kinds of parts" in detail


def test_sum_over_parts_needs_all_parts(tmp_path: Path) -> None:
    """Cycles of two cores and instructions of one result in no CPI; a counter with two names counts once."""
    text = (
        line("csv", 1.0, "cycles", 1000, where="S0-D0-C0")
        + line("csv", 1.0, "cycles", 3000, where="S0-D0-C1")
        + line("csv", 1.0, "cpum_cf/CPU_CYCLES/", 1000, where="S0-D0-C0")
        + line("csv", 1.0, "instructions", 500, where="S0-D0-C0")
    )
    with opened(tmp_path, {"counts.csv": text}) as session:
        assert session.sql("SELECT c0, c1 FROM linux_cpumf").rows == [(4000, None)]


@pytest.mark.parametrize("form", FORMS)
def test_threads_are_not_added(tmp_path: Path, form: str) -> None:
    lines = "".join(
        line(form, 1.0, event, value, where=thread)
        for thread in ("java-4711", "java-4712")
        for event, value in (("cycles", 1000), ("instructions", 500))
    )
    if form == "text":
        lines = lines.replace("           2 ", "")
    with opened(tmp_path, {"counts": whole(form, lines)}) as session:
        assert [row[1] for row in counts(session)] == ["java-4711"] * 2 + ["java-4712"] * 2
        assert session.sql("SELECT count(*) FROM linux_cpumf").rows == [(0,)]
        ((kind, detail),) = problems(session)
        assert kind == "section"
        assert "counts of threads" in detail


def test_perf_json_with_cpu_and_part(tmp_path: Path) -> None:
    """JSON names every subject of a count; a thread on a CPU is not the CPU."""
    facts = {"interval": 1.0, "cpu": "3", "thread": "java-4711", "counter-value": "1000.000000"}
    text = json.dumps({**facts, "unit": "", "event": "cycles"}) + "\n"
    with opened(tmp_path, {"counts": text}) as session:
        assert session.sql("SELECT cpu, part, value FROM linux_counter").rows == [(3, "java-4711", 1000)]
        assert session.sql("SELECT count(*) FROM linux_cpumf").rows == [(0,)]


def test_metric_columns_are_not_control_groups(tmp_path: Path) -> None:
    variance = PERF_CSV.replace(",1000123,", ",1.25%,1000123,")
    with opened(tmp_path, {"counts.csv": variance}) as session:
        assert [info.system for info in session.systems] == ["unknown-counts"]
        assert len(session.sql("SELECT * FROM linux_counter").rows) == 8
