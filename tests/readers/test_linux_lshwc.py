"""Tests of all formats of `lshwc -f`.

The texts were printed by libutil/util_fmt.c of s390-tools 2.43.0 for the calls of cpumf/lshwc.c. In
streams of objects, and without the object `meta` (FMT_NOMETA=1), no object has the name `lshwc`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import zlens
from readers.test_linux_counters import metrics, opened
from readers.test_linux_formats import NAMES, Counts, lshwc_json, lshwc_pairs
from samples import needs, sample
from zlens.readers.linux.counters import form_of

SEQUENCE = sample("public/lshwc.json-seq")

META = '{"meta": {"api_level": 1,"version": "2.43.0","host": "lnx1","time_epoch": 1750094646,"time": "x"}}\n'
JSONL = META + (
    '{"cpumcf info": {"counter first": 3,"counter second": 8,"authorization": 47},"measurements": ['
    '{"date_time": "2025-06-16 19:24:06+0200","time_epoch": 1750094646,"cpu": 3,"counters": '
    '[{"name": "cpu_cycles","id": 0,"value": 250},{"id": 290,"value": 85}]},'
    '{"date_time": "2025-06-16 19:24:06+0200","time_epoch": 1750094646,"cpu": "total","counters": '
    '[{"name": "cpu_cycles","id": 0,"value": 250},{"id": 290,"value": 85}]},'
    '{"date_time": "2025-06-16 19:25:06+0200","time_epoch": 1750094706,"cpu": 3,"counters": '
    '[{"name": "cpu_cycles","id": 0,"value": 500},{"id": 290,"value": 168}]},'
    '{"date_time": "2025-06-16 19:25:06+0200","time_epoch": 1750094706,"cpu": "total","counters": '
    '[{"name": "cpu_cycles","id": 0,"value": 500},{"id": 290,"value": 168}]}]}\n'
)
JSON_SEQ = "".join(f"\x1e{line}\n" for line in JSONL.splitlines())
PAIRS = """meta.api_level=1
meta.version="2.43.0"
meta.host="lnx1"
meta.time_epoch=1750094646
meta.time="2025-06-16 19:24:06+0200"
lshwc.measurements[0].cpu_3.date_time="2025-06-16 19:24:06+0200"
lshwc.measurements[0].cpu_3.time_epoch=1750094646
lshwc.measurements[0].cpu_3.cpu=3
lshwc.measurements[0].cpu_3.counters[0].name="cpu_cycles"
lshwc.measurements[0].cpu_3.counters[0].id=0
lshwc.measurements[0].cpu_3.counters[0].value=250
lshwc.measurements[0].cpu_3.counters[1].id=290
lshwc.measurements[0].cpu_3.counters[1].value=85
lshwc.measurements[1].total.date_time="2025-06-16 19:24:06+0200"
lshwc.measurements[1].total.time_epoch=1750094646
lshwc.measurements[1].total.cpu="total"
lshwc.measurements[1].total.counters[0].name="cpu_cycles"
lshwc.measurements[1].total.counters[0].id=0
lshwc.measurements[1].total.counters[0].value=250
lshwc.measurements[1].total.counters[1].id=290
lshwc.measurements[1].total.counters[1].value=85
lshwc.measurements[2].cpu_3.date_time="2025-06-16 19:25:06+0200"
lshwc.measurements[2].cpu_3.time_epoch=1750094706
lshwc.measurements[2].cpu_3.cpu=3
lshwc.measurements[2].cpu_3.counters[0].name="cpu_cycles"
lshwc.measurements[2].cpu_3.counters[0].id=0
lshwc.measurements[2].cpu_3.counters[0].value=500
lshwc.measurements[2].cpu_3.counters[1].id=290
lshwc.measurements[2].cpu_3.counters[1].value=168
lshwc.measurements[3].total.date_time="2025-06-16 19:25:06+0200"
lshwc.measurements[3].total.time_epoch=1750094706
lshwc.measurements[3].total.cpu="total"
lshwc.measurements[3].total.counters[0].name="cpu_cycles"
lshwc.measurements[3].total.counters[0].id=0
lshwc.measurements[3].total.counters[0].value=500
lshwc.measurements[3].total.counters[1].id=290
lshwc.measurements[3].total.counters[1].value=168
"""
#: Without `meta`, as with FMT_NOMETA=1, a text names no host.
FORMATS = {
    "jsonl": JSONL,
    "json-seq": JSON_SEQ,
    "pairs": PAIRS,
    "jsonl, no meta": JSONL.split("\n", 1)[1],
    "pairs, no meta": PAIRS[PAIRS.index("lshwc") :],
}


CYCLES, OTHER = "cpu_cycles(0)", "(290)"


def counted(session: zlens.Session) -> list[tuple[Any, ...]]:
    columns = "cpu, counter, value, total, seconds"
    return session.sql(f"SELECT {columns} FROM linux_counter ORDER BY tod, cpu, counter DESC").rows


def kinds(session: zlens.Session) -> set[str]:
    return {problem.kind for problem in session.problems}


@needs(SEQUENCE)
def test_lshwc_sample() -> None:
    with zlens.open(SEQUENCE) as session:
        columns = "system, cpu_id, seconds, generation, counter_first, counter_second, cpi, cycles"
        assert metrics(session, columns) == [
            ("lnx1", 0, 60.0, "z17", 3, 8, 2.5, 250),
            ("lnx1", 1, 60.0, "z17", 3, 8, 2.5, 500),
        ] * 2  # fmt: skip
        assert session.problems == []


@pytest.mark.parametrize("name", FORMATS)
def test_lshwc_formats_give_same_counters(tmp_path: Path, name: str) -> None:
    with opened(tmp_path, {"hw": FORMATS[name]}) as session:
        assert counted(session) == [
            (3, CYCLES, None, 250, None), (3, OTHER, None, 85, None),
            (None, CYCLES, None, 250, None), (None, OTHER, None, 85, None),
            (3, CYCLES, 250, 500, 60.0), (3, OTHER, 83, 168, 60.0),
            (None, CYCLES, 250, 500, 60.0), (None, OTHER, 83, 168, 60.0),
        ]  # fmt: skip
        (info,) = session.systems
        assert (info.system, info.utc_offset_s) == ("unknown-hw" if "no meta" in name else "lnx1", 7200)
        assert kinds(session) == set()
        (source_info,) = session._core.sources[0].info()
        # Only objects have the counter versions.
        assert source_info["counter_versions"] == (None if "pairs" in name else "3.8")


@pytest.mark.parametrize("name", FORMATS)
def test_consecutive_lshwc_runs(tmp_path: Path, name: str) -> None:
    later = FORMATS[name].replace("17500946", "17500956").replace("17500947", "17500957")
    with opened(tmp_path, {"hw": FORMATS[name] + later}) as session:
        assert [row[2] for row in counted(session) if row[:2] == (3, CYCLES)] == [None, 250, None, 250]
        assert kinds(session) == set()


def test_pairs_quoted_and_in_hexadecimal(tmp_path: Path) -> None:
    """With -q, -x and -X, counter numbers are hexadecimal, too."""
    for form in ("x", "#x"):

        def shown(match: re.Match[str], form: str = form) -> str:
            return f'{match[1]}="{int(match[2]):{form}}"'

        quoted = re.sub(r"\b(id|value)=(\d+)", shown, PAIRS)
        quoted = re.sub(r"=(\d+)$", r'="\1"', quoted, flags=re.MULTILINE).replace('="0x0"', '="0"')
        with opened(tmp_path / form, {"hw": quoted}) as session:
            assert [row[:3] for row in counted(session)][4:6] == [(3, CYCLES, 250), (3, OTHER, 83)]


def test_truncated_and_damaged_lshwc_pairs(tmp_path: Path) -> None:
    with opened(tmp_path / "cut", {"hw": PAIRS[:-2]}) as session:
        # 168 truncated to 16 is a number, too; without its line the last sample has no counter for all CPUs.
        assert [row[2] for row in counted(session) if row[0] == 3] == [None, None, 250, 83]
        assert "truncated" in kinds(session)
    half = PAIRS[: PAIRS.index("lshwc.measurements[3]")]
    with opened(tmp_path / "half", {"hw": half}) as session:
        assert len(counted(session)) == 4
        assert any("ends before the values of all CPUs" in problem.detail for problem in session.problems)
    damaged = PAIRS.replace("counters[0].value=500", "counters[0].value=5x0", 1).replace(
        "].cpu_3.cpu=3", "].x", 1
    )
    with opened(tmp_path / "damaged", {"hw": damaged}) as session:
        assert "header" in kinds(session)
        assert [row[2] for row in counted(session) if row[:2] == (None, CYCLES)] == [None, 250]


def test_other_tools_of_s390_tools_are_not_lshwc() -> None:
    """lspai and chpstat use the same formatter."""
    others = (
        META + '{"cpus": [{"cpu": 0,"counters": [{"name": "KM_DEA","value": 1}]}]}\n',
        '{"meta": {"api_level": 1},\n"chpstat": {"iteration": 1,"channel_paths": []}}\n',
        "meta.api_level=1\nlspai.measurements[0].cpu_0.cpu=0\n",
    )
    assert [form_of(text.encode()) for text in others] == [None] * len(others)


def test_generated_lshwc_formats_match_formatter() -> None:
    """Generated texts equal the formatter's output, except for the version and the counters."""
    counts: Counts = [{0: dict.fromkeys(NAMES, 1)}]

    def shape(text: str) -> list[str]:
        return re.findall(r"[\x1e{}\[\]]|[a-z][a-z _]+(?=\"?[:=\[.])|\n", re.sub(r"cpu_\d", "cpu", text))

    def without_counters(text: str) -> str:
        return re.sub(r'"counters": \[.*?\]', '"counters": []', text)

    formatted = lshwc_json(counts, quoted=False, form="jsonl")
    assert shape(without_counters(formatted)) == shape(
        without_counters(JSONL).replace(',"time_epoch": 1750094646,"time": "x"', "")
    )
    assert lshwc_json(counts, quoted=False, form="json-seq") == "".join(
        f"\x1e{line}\n" for line in formatted.splitlines()
    )
    pairs = re.findall(r"(?m)^lshwc\.\S+?(?==)", lshwc_pairs(counts, quoted=False))
    assert pairs[:6] == re.findall(r"(?m)^lshwc\.\S+?(?==)", PAIRS.replace("cpu_3", "cpu_0"))[:6]
