"""Tests of the report topology: five real systems against lscpu (tests of util-linux, GPL-2.0+)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import zlens

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared" / "samples" / "sysinfo"
NAMES = ("s390-kvm", "s390-lpar", "s390-lpar-drawer", "s390-nested-virt", "s390-zvm")


@pytest.mark.skipif(not SAMPLES.exists(), reason="sample data is not here")
@pytest.mark.parametrize("name", NAMES)
def test_topology_drawing_agrees_with_lscpu(name: str) -> None:
    with zlens.open([str(SAMPLES / name)]) as session:
        text = session.report("topology")
    placed: dict[int, tuple[str, str]] = {}
    socket = ""
    for line in text.splitlines():
        where = re.search(r"(Socket|Core) (\d+) .* (\d+(?:-\d+)?)$", line.rstrip())
        if where and where[1] == "Socket":
            socket = where[2]
        elif where:
            placed[int(where[3])] = (where[2], socket)
    expected = (SAMPLES / f"expected-lscpu-{name}.txt").read_text()
    table = re.findall(r"^(\d+),(\d+),(\d+),.*$", expected.split("# CPU,")[1], re.MULTILINE)
    assert placed == {int(cpu): (core, socket) for cpu, core, socket in table}
    books = re.search(r"Socket\(s\) per book: +(\d+)", expected)
    assert books is not None
    if f" x {books[1]} sockets x " not in text:
        assert name in ("s390-kvm", "s390-nested-virt", "s390-zvm"), "a guest is not told of the machine's"
