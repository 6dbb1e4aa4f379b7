"""Tests of the user's groups on the command line, with partitions of the demo's RMF report."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

from zlens.cli import main


def query_rows(
    capsys: pytest.CaptureFixture[str], rmf_file: Path, query: str, *more: str
) -> list[dict[str, Any]]:
    assert main(["sql", str(rmf_file), "-q", query, "--format", "json", *more]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


QUERY = """
select interval_end, partition, cpu_type, group_name, effective_s, total_pct, logical_cpus from partition
"""


@pytest.mark.parametrize("every", [(), ("--every", "30m")])
def test_partitions_as_groups(
    capsys: pytest.CaptureFixture[str], rmf_file: Path, tmp_path: Path, every: tuple[str, ...]
) -> None:
    each = query_rows(capsys, rmf_file, QUERY, *every)
    names = sorted({row["partition"] for row in each})
    assert len(names) > 2
    path = tmp_path / "groups.toml"
    path.write_text(f'[partition]\n"{names[0].lower()}" = "both"\n"{names[1]}" = "both"\n', encoding="utf-8")
    found = query_rows(capsys, rmf_file, QUERY, "--group", str(path), *every)
    assert {row["partition"] for row in found} == {"both", *names[2:]}
    for row in found:
        head = (row["interval_end"], row["cpu_type"])
        own = {row["partition"]} if row["partition"] != "both" else set(names[:2])
        members = [m for m in each if (m["interval_end"], m["cpu_type"]) == head and m["partition"] in own]
        assert math.isclose(row["effective_s"], sum(m["effective_s"] for m in members))
        cpus = [m["logical_cpus"] for m in members]
        weighted = sum(m["total_pct"] * n for m, n in zip(members, cpus, strict=True)) / sum(cpus)
        assert math.isclose(row["total_pct"], weighted)
        assert row["group_name"] == ("both" if row["partition"] == "both" else None)


def test_report_of_groups(capsys: pytest.CaptureFixture[str], rmf_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "groups.toml"
    path.write_text('[partition]\n"*" = "everything"\n', encoding="utf-8")
    words = ["report", "partition", str(rmf_file), "--format", "csv", "--group", str(path)]
    assert main(words) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["partition"] for row in rows} >= {"everything"}


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "cannot be read"), ("[guest", "is not valid TOML"), ('[guest]\n"A" = 1', "'A' is 1")],
)
def test_invalid_group_file_exits_with_2(
    capsys: pytest.CaptureFixture[str], rmf_file: Path, tmp_path: Path, text: str | None, said: str
) -> None:
    path = tmp_path / "mine.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert main(["sql", str(rmf_file), "-q", "from partition", "--group", str(path)]) == 2
    (line,) = capsys.readouterr().err.strip().split("\n")
    assert str(path) in line
    assert said in line


def test_patterns_that_match_nothing_are_named(
    capsys: pytest.CaptureFixture[str], rmf_file: Path, tmp_path: Path
) -> None:
    """RMF has partitions but no guests: only patterns of partitions and systems can match nothing."""
    names = {row["partition"] for row in query_rows(capsys, rmf_file, QUERY)}
    capsys.readouterr()
    path = tmp_path / "groups.toml"
    path.write_text(
        f'[partition]\n"{min(names)}" = "a"\n"NOSUCH*" = "b"\n[guest]\n"LNX*" = "c"\n[cluster]\n"Q" = "d"\n',
        encoding="utf-8",
    )
    said = (
        f"zlens: {path}: [cluster] 'Q' matches nothing in this input\n"
        f"zlens: {path}: [partition] 'NOSUCH*' matches nothing in this input\n"
    )
    for words in (["report", "partition", str(rmf_file)], ["sql", str(rmf_file), "-q", "from partition"]):
        assert main([*words, "--group", str(path), "--tz", "+01:00"]) == 0
        assert capsys.readouterr().err == said


def test_report_without_data_names_its_input(capsys: pytest.CaptureFixture[str], rmf_file: Path) -> None:
    for format in ("csv", "json"):
        options = [str(rmf_file), "--tz", "+01:00", "--format", format]
        assert main(["report", "hpalias", *options]) == 0
        assert "zlens: no data for hpalias in this input; it needs: " in capsys.readouterr().err
        assert main(["report", "partition", *options]) == 0
        assert capsys.readouterr().err == ""


def test_written_report_without_data_is_announced(
    capsys: pytest.CaptureFixture[str], rmf_file: Path, tmp_path: Path
) -> None:
    """The file contains it, too, but is not on the screen."""
    path = tmp_path / "x.lst"
    assert main(["report", "hpalias", str(rmf_file), "--tz", "+01:00", "--output", str(path)]) == 0
    assert "zlens: no data for hpalias in this input; it needs: " in capsys.readouterr().err
    assert "This input has no data for this report. It needs: " in path.read_text()
    assert main(["report", "hpalias", str(rmf_file), "--tz", "+01:00"]) == 0
    assert capsys.readouterr().err == ""
