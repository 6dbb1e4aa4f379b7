"""Tests of the bench of answers: its counts, and the table of docs/speed.md."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "bench"))

import answers  # noqa: E402
import day  # noqa: E402
import page_day  # noqa: E402

import zlens  # noqa: E402

PAGE = """# Title

<!-- answers -->
<!-- /answers -->

## More
"""
ROWS = [
    ("SELECT 1 | 2", "a.monwrite", "3.10 B", "2 B"),
    ("report --list", "folder", "9.00 B", ""),
    ("report cpu", "a.monwrite", "1.00 B", "3 B"),
    ("report user", "b.monwrite", "3.50 B", "3 B"),
    ("report cpu", "folder", "2.00 B", "4 B"),
    ("report user", "folder", "failed", "4 B"),
]


def test_cpu_time_includes_child_processes() -> None:
    idle = answers.cpu(sys.executable, "-c", "import time; time.sleep(0.3)")
    spin = "import time\nwhile time.process_time() < 0.5: pass"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '''{spin}'''])"
    assert answers.cpu(sys.executable, "-c", child) > 0.5 > idle


def test_day_of_the_bench_has_no_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters advance in their own direction, and times of a core do not contradict each other."""
    monkeypatch.setattr(day, "INTERVALS", 3)
    monkeypatch.setattr(page_day, "DEVICES", 3)
    monkeypatch.setattr(page_day, "GUESTS", 2)
    path = tmp_path / "day.data"
    page_day.write(path)
    with zlens.open(path) as session:
        assert session.sql("SELECT kind, detail FROM problem").rows == []
        (rows,) = session.sql("SELECT count(emulation_pct) FROM cpu").rows
        assert rows == (3 * page_day.PROCESSORS,)


def test_failing_command_is_reported() -> None:
    with pytest.raises(OSError, match="no such file"):
        answers.zlens_cpu("info", "/nowhere/at/all")
    question = answers.Question("info", "", ("info", "/nowhere/at/all"), 2)
    (row,), bases = answers.measured([question], 1, 1)
    assert "no such file" in row.error
    assert row.seconds == []
    assert len(bases) == 2


def test_bench_page_has_last_table(tmp_path: Path) -> None:
    path = tmp_path / "speed.md"
    path.write_text(PAGE)
    for machine in ("B 0.2 s; one machine", "B 0.3 s; another"):
        answers.Page(path).save(ROWS, machine)
    text = path.read_text()
    assert text.startswith("# Title\n")
    assert text.endswith("## More\n")
    table = text.partition("<!-- answers -->\n\n")[2].partition("\n\n<!-- /answers -->")[0]
    assert table.splitlines() == [
        "B 0.3 s; another",
        "",
        "| what | on | cost | to reach |",
        "|---|---|--:|--:|",
        "| SELECT 1 \\| 2 | a.monwrite | 3.10 B, **missed** | 2 B |",
        "| report --list | folder | 9.00 B |  |",
        "| 2 reports, median; failed: report user | folder | 2.00 B | 4 B |",
        "| 2 reports, median; missed: user 3.50 B | the file that fills it best | 2.25 B | 3 B |",
    ]
