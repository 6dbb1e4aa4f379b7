"""Tests that the same values are read from every format of perf stat and lshwc.

The texts are generated after the tools' sources: perf's builtin-stat, lshwc.c and util_fmt.c of the
s390-tools. `test_linux_lshwc` compares them with output of the formatter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iterations import iterations
from zlens.inputs.options import Options
from zlens.readers.linux.counters import open_files

NAMES = {0: "CPU_CYCLES", 1: "INSTRUCTIONS", 33: "PROBLEM_STATE_INSTRUCTIONS", 145: "DCW_REQ"}
#: Difference of each counter of each CPU in each interval.
Counts = list[dict[int, dict[int, int]]]
#: The maximum count; the sum over two CPUs and six intervals fits in 63 bits.
MOST = 2**59

counts = st.lists(
    st.fixed_dictionaries(
        {cpu: st.fixed_dictionaries({n: st.integers(0, MOST) for n in NAMES}) for cpu in (0, 7)}
    ),
    min_size=1,
    max_size=5,
)


def lshwc(counts: Counts, *, delta: bool) -> Iterator[tuple[int, str, dict[int, int]]]:
    """Yield step, CPU or the word for all, and values: a first sample, then one for every step."""
    before = {cpu: dict.fromkeys(NAMES, 1000) for cpu in counts[0]}
    now = before
    for step, came in enumerate([before, *counts]):
        if step:
            now = {cpu: {n: now[cpu][n] + came[cpu][n] for n in NAMES} for cpu in came}
        shown = came if delta else now
        yield from ((step, str(cpu), values) for cpu, values in shown.items())
        word = "delta" if delta and step else "total"
        yield step, word, {n: sum(values[n] for values in shown.values()) for n in NAMES}


def lshwc_csv(counts: Counts, number: str = "%d", *, delta: bool = False, quoted: bool, short: bool) -> str:
    letters = {0: "B0", 1: "B1", 33: "P33", 145: "E145"}
    labels = [letters[n] if short else f"{name}({n})" for n, name in NAMES.items()]
    lines = [",".join(f'"{each}"' for each in ("Date", "Time", "CPU", *labels))]
    for step, who, values in lshwc(counts, delta=delta):
        cpu = f"CPU{who}" if who.isdigit() else who.title()
        cells = ["2025-03-26", f"10:34:{10 * step:02}", cpu, *(number % values[n] for n in NAMES)]
        lines.append(",".join(f'"{cell}"' if quoted else cell for cell in cells))
    return "\n".join(lines) + "\n"


def lshwc_json(
    counts: Counts, number: str = "%d", *, delta: bool = False, quoted: bool, form: str = "json"
) -> str:
    def bare(text: object) -> str:
        return f'"{text}"' if quoted else str(text)

    rows = []
    for step, who, values in lshwc(counts, delta=delta):
        counters = [
            f'{{"name": "{name.lower()}","id": {bare(number % n)},"value": {bare(number % values[n])}}}'
            for n, name in NAMES.items()
        ]
        cpu = bare(who) if who.isdigit() else f'"{who}"'
        times = f'"date_time": "2025-03-26 10:34:00+0100","time_epoch": {bare(1742981640 + 10 * step)}'
        rows.append(f'{{{times},"cpu": {cpu},"counters": [{",".join(counters)}]}}')
    versions = f'"counter first": {bare(3)},"counter second": {bare(7)}'
    info = f'"cpumcf info": {{{versions},"authorization": {bare(47)}}}'
    meta = '"meta": {"api_level": 1,"version": "2.37.0","host": "lnx1"}'
    body = f'{{{info},"measurements": [{",".join(rows)}]}}'
    if form == "json":
        return f'{{{meta},\n"lshwc": {body}}}\n'
    # A stream has an object for each part, and top-level objects have no name.
    begin = "\x1e" if form == "json-seq" else ""
    return f"{begin}{{{meta}}}\n{begin}{body}\n"


def lshwc_pairs(counts: Counts, number: str = "%d", *, delta: bool = False, quoted: bool) -> str:
    def bare(text: object) -> str:
        return f'"{text}"' if quoted else str(text)

    lines = [f"meta.api_level={bare(1)}", 'meta.version="2.37.0"', 'meta.host="lnx1"']
    for at, (step, who, values) in enumerate(lshwc(counts, delta=delta)):
        of = f"lshwc.measurements[{at}].{f'cpu_{who}' if who.isdigit() else 'total'}"
        lines.append(f'{of}.date_time="2025-03-26 10:34:00+0100"')
        lines.append(f"{of}.time_epoch={bare(1742981640 + 10 * step)}")
        cpu = bare(who) if who.isdigit() else f'"{who}"'
        lines.append(f"{of}.cpu={cpu}")
        for n, (counter, name) in enumerate(NAMES.items()):
            lines.append(f'{of}.counters[{n}].name="{name.lower()}"')
            lines.append(f"{of}.counters[{n}].id={bare(number % counter)}")
            lines.append(f"{of}.counters[{n}].value={bare(number % values[counter])}")
    return "\n".join(lines) + "\n"


def perf(counts: Counts, form: str, *, named: bool) -> str:
    lines = ["#           time CPU    counts unit events\n"] if form == "text" else []
    for step, came in enumerate(counts, 1):
        for n, name in NAMES.items():
            event = f"cpum_cf/{name}/" if named else f"r{n:x}"
            for cpu, values in came.items():
                value, since = values[n], f"{10 * step}.000100000"
                if form == "text":
                    line = f"{since:>16} CPU{cpu:<5} {value:>20,}      {event:<30}"
                elif form == "csv":
                    line = f"{since},CPU{cpu},{value},,{event},10000000000,100.00,,"
                else:
                    facts = {"interval": float(since), "cpu": str(cpu), "counter-value": f"{value}.000000"}
                    line = json.dumps({**facts, "unit": "", "event": event, "pcnt-running": 100.0})
                lines.append(line + "\n")
    return "".join(lines)


FORMS: dict[str, Callable[[Counts], str]] = {
    **{
        f"lshwc csv{' -d' * delta}{' -q' * quoted}{' -s' * short} {number}": partial(
            lshwc_csv, number=number, delta=delta, quoted=quoted, short=short
        )
        for delta in (False, True)
        for quoted, short in ((False, False), (True, True))
        for number in ("%d", "%#x", *(["%x"] if delta else []))
    },
    **{
        f"lshwc {form}{' -d' * delta}{' -q' * quoted} {number}": partial(
            lshwc_json, number=number, delta=delta, quoted=quoted, form=form
        )
        for delta in (False, True)
        for quoted, form in ((False, "json"), (True, "json"), (False, "json-seq"), (True, "jsonl"))
        for number in ("%d", "%x", "%#x")
    },
    **{
        f"lshwc pairs{' -d' * delta}{' -q' * quoted} {number}": partial(
            lshwc_pairs, number=number, delta=delta, quoted=quoted
        )
        for delta in (False, True)
        for quoted in (False, True)
        for number in ("%d", "%x", "%#x")
    },
    **{
        f"perf {form} {'names' if named else 'numbers'}": partial(perf, form=form, named=named)
        for form in ("text", "csv", "json")
        for named in (True, False)
    },
}  # fmt: skip


def read(path: Path) -> list[dict[int, dict[int, int]]]:
    """Return the difference of each counter of each CPU in each interval."""
    source = open_files([str(path)], Options())
    (table,) = source.tables["linux_counter"]
    columns = ["tod", "cpu", "number", "value"]
    found: dict[int, dict[int, dict[int, int]]] = {}
    for row in pa.table(table.stream(columns)).to_pylist():
        if row["cpu"] is not None and row["value"] is not None:
            found.setdefault(row["tod"], {}).setdefault(row["cpu"], {})[row["number"]] = row["value"]
    return [found[tod] for tod in sorted(found)]


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=iterations(8, 3), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(counts=counts)
def test_linux_formats_give_same_counters(tmp_path: Path, form: str, counts: Counts) -> None:
    path = tmp_path / "counts"
    if "csv" in form and form.endswith("%x"):
        # In CSV only letters show that values are hexadecimal.
        counts = [
            {cpu: {n: v | 0xABCDE for n, v in of.items()} for cpu, of in each.items()} for each in counts
        ]
    path.write_text(FORMS[form](counts))
    assert read(path) == counts
