"""Report topology: a made system to the letter, five real ones against what lscpu printed of them (tests of
util-linux, GPL-2.0+)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import zlens
from sysinfo_made import SYSINFO, folder, texts

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared" / "samples" / "sysinfo"
NAMES = ("s390-kvm", "s390-lpar", "s390-lpar-drawer", "s390-nested-virt", "s390-zvm")

MADE = """\
Machine, Partition and Hypervisors

Interval                                                CPUs           Adjust
End Time Level            Name                          Conf Stby Resv  /1000 How
22:14:00 Machine          3931-7A1 A01 SN 12345           10    0    6 ...... \
4 drawers x 2 books x 2 sockets x 8 cores
22:14:00 Partition        MADE1 (7)                        2    1    0    250 \
Dedicated Limited, 2 threads per core
22:14:00 Linux 6.4.0-made made                             5 .... .... ...... vertical, 2 threads per core

CPUs

Interval
End Time Where                 ID Cores  CPUs Polarization           Ded   MHz CPU Numbers
22:14:00 Online             .....     3     5 2 Vh, 2 Vm, 1 Vl       Yes  5200 0-4
22:14:00   Drawer 0             1     3     5 2 Vh, 2 Vm, 1 Vl       Yes  5200 0-4
22:14:00     Book 0             3     3     5 2 Vh, 2 Vm, 1 Vl       Yes  5200 0-4
22:14:00       Socket 0         5     2     4 2 Vh, 2 Vm             Yes  5200 0-3
22:14:00         Core 0         0     1     2 Vh                     Yes  5200 0-1
22:14:00         Core 1         1     1     2 Vm                     Yes ..... 2-3
22:14:00       Socket 1         6     1     1 Vl                     Yes ..... 4
22:14:00         Core 2         2     1     1 Vl                     Yes ..... 4
22:14:00 Offline            ..... .....     1 ...................... ... ..... 5
22:14:00 Standby            ..... .....     2 ...................... ... ..... 6-7
"""


def test_a_made_system(tmp_path: Path) -> None:
    with zlens.open([folder(tmp_path / "s", texts())]) as session:
        text = "\n".join(line.rstrip() for line in session.report("topology").splitlines())
    assert MADE in text
    assert "CPU 3931-7A1" in text


def test_hypervisors_stand_from_the_outermost_to_the_system(tmp_path: Path) -> None:
    guest = SYSINFO + (
        "\nVM00 Name:            KVM1\nVM00 Control Program: KVM/Linux\nVM00 CPUs Configured: 2\n"
        "\nVM01 Name:            HOST\nVM01 Control Program: z/VM    7.3.0\nVM01 CPUs Configured: 4\n"
    )
    with zlens.open([folder(tmp_path / "s", texts(proc__sysinfo=guest))]) as session:
        rows = json.loads(session.report("topology", format="json"))
    assert [(row["what"], row["name"], row["configured"]) for row in rows if row["table"] == "levels"] == [
        ("Machine", "3931-7A1 A01 SN 12345", 10),
        ("Partition", "MADE1 (7)", 2),
        ("z/VM 7.3.0", "HOST", 4),
        ("KVM/Linux", "KVM1", 2),
        ("Linux 6.4.0-made", "made", 5),
    ]


def test_a_sysinfo_alone_has_levels_and_no_cpus(tmp_path: Path) -> None:
    (tmp_path / "sysinfo").write_text(SYSINFO)
    with zlens.open([str(tmp_path / "sysinfo")]) as session:
        text = session.report("topology")
    assert "MADE1 (7)" in text
    assert "Socket" not in text


@pytest.mark.skipif(not SAMPLES.exists(), reason="sample data is not here")
@pytest.mark.parametrize("name", NAMES)
def test_the_drawing_places_cpus_where_lscpu_does(name: str) -> None:
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
