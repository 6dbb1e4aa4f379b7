"""The bench of answers: what it counts, and how docs/speed.md keeps its table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "bench"))

import answers  # noqa: E402

PAGE = """# Title

<!-- answers -->
<!-- /answers -->

## More
"""
ROWS = [("SELECT 1 | 2", "a.monwrite", "3.10 B", "2 B"), ("info", "folder", "2.00 B", "2 B")]


def test_cpu_is_of_the_whole_process_and_its_children() -> None:
    idle = answers.cpu(sys.executable, "-c", "import time; time.sleep(0.3)")
    spin = "import time\nwhile time.process_time() < 0.5: pass"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '''{spin}'''])"
    assert answers.cpu(sys.executable, "-c", child) > 0.5 > idle


def test_a_command_that_fails_is_told_with_its_words() -> None:
    with pytest.raises(OSError, match="no such file"):
        answers.zlens_cpu("info", "/nowhere/at/all")
    question = answers.Question("info", "", ("info", "/nowhere/at/all"), 2)
    (row,), bases = answers.measured([question], 1, 1)
    assert "no such file" in row.error
    assert row.seconds == []
    assert len(bases) == 2


def test_the_page_keeps_what_was_before(tmp_path: Path) -> None:
    path = tmp_path / "speed.md"
    path.write_text(PAGE)
    page = answers.Page(path)
    page.save("before", ROWS, "B 0.2 s; one machine")
    first = path.read_text()
    assert first.startswith("# Title\n")
    assert first.endswith("## More\n")
    assert "| SELECT 1 \\| 2 | a.monwrite | 3.10 B |  | 2 B |" in first
    assert "before: B 0.2 s; one machine" in first
    faster = [(name, on, "1.00 B", bound) for name, on, _, bound in ROWS]
    answers.Page(path).save("after", faster, "B 0.3 s; another")
    second = path.read_text()
    assert "| SELECT 1 \\| 2 | a.monwrite | 3.10 B | 1.00 B | 2 B |" in second
    assert "| info | folder | 2.00 B | 1.00 B | 2 B |" in second
    assert "before: B 0.2 s; one machine" in second
    assert "after: B 0.3 s; another" in second
    answers.Page(path).save("after", faster, "B 0.3 s; another")
    assert path.read_text() == second
