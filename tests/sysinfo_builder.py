"""Synthetic Linux on Z: the texts of the kernel, as a folder or in a tar."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

CPUS = "sys/devices/system/cpu"
#: 2023-11-14 22:14:00 UTC
MOMENT_S = 1_700_000_040

SYSINFO = """\
Manufacturer:         IBM
Type:                 3931
LIC Identifier:       00000000000a1b2c
Model:                7A1              A01
Sequence Code:        0000000000012345
Plant:                02
Model Capacity:       7A1              00001234

CPU Topology HW:      0 0 4 2 2 8
CPU Topology SW:      0 0 4 2 2 8
CPUs Total:           16
CPUs Configured:      10
CPUs Standby:         0
CPUs Reserved:        6
CPUs G-MTID:          0
CPUs S-MTID:          1
Capability:           416
Secondary Capability: 416.5
Adjustment 02-way:    62000
Adjustment 100-way:   31000

LPAR Number:          7
LPAR Characteristics: Dedicated Limited
LPAR Name:            MADE1
LPAR Adjustment:      250
LPAR CPUs Total:      3
LPAR CPUs Configured: 2
LPAR CPUs Standby:    1
LPAR CPUs Reserved:   0
LPAR CPUs Dedicated:  2
LPAR CPUs Shared:     0
LPAR CPUs G-MTID:     0
LPAR CPUs S-MTID:     1
LPAR CPUs PS-MTID:    1
LPAR UUID:            00000000-0000-0000-0000-000000000007
"""


def cpu(
    number: int, threads: str, socket: str, book: str, polarization: str = "vertical:high"
) -> dict[str, str]:
    """Return the texts of an online CPU."""
    at = f"{CPUS}/cpu{number}"
    return {
        f"{at}/address": str(number),
        f"{at}/configure": "1",
        f"{at}/online": "1",
        f"{at}/dedicated": "1",
        f"{at}/polarization": polarization,
        f"{at}/topology/core_id": str(number // 2),
        f"{at}/topology/physical_package_id": socket,
        f"{at}/topology/book_id": book,
        f"{at}/topology/drawer_id": "1",
        f"{at}/topology/thread_siblings_list": threads,
        f"{at}/topology/core_siblings_list": "0-3" if socket == "5" else "4-5",
        f"{at}/topology/book_siblings_list": "0-5",
        f"{at}/topology/drawer_siblings_list": "0-5",
    }


def texts(**changed: str) -> dict[str, str]:
    """Return texts: two 2-thread cores in socket 5, in socket 6 one with one CPU online; a standby core."""
    found = {
        "proc/sysinfo": SYSINFO,
        "proc/cpuinfo": "vendor_id       : IBM/S390\nbogomips per cpu: 3241.00\nfeatures\t: esan3 zarch vx\n"
        "cache0          : level=1 type=Data scope=Private size=128K line_size=256 associativity=8\n"
        "processor 0: version = 00,  identification = 072345,  machine = 3931\n\n"
        "cpu number      : 0\ncpu MHz dynamic : 5200\ncpu MHz static  : 5200\n",
        "proc/sys/kernel/hostname": "made",
        "proc/sys/kernel/osrelease": "6.4.0-made",
        f"{CPUS}/dispatching": "1",
        f"{CPUS}/online": "0-4",
        f"{CPUS}/offline": "5-7",
        f"{CPUS}/present": "0-7",
        **cpu(0, "0-1", "5", "3"),
        **cpu(1, "0-1", "5", "3"),
        **cpu(2, "2-3", "5", "3", "vertical:medium"),
        **cpu(3, "2-3", "5", "3", "vertical:medium"),
        **cpu(4, "4", "6", "3", "vertical:low"),
        f"{CPUS}/cpu5/online": "0",
        f"{CPUS}/cpu5/configure": "1",
        f"{CPUS}/cpu6/online": "0",
        f"{CPUS}/cpu6/configure": "0",
        f"{CPUS}/cpu7/online": "0",
        f"{CPUS}/cpu7/configure": "0",
    }
    return found | {name.replace("__", "/"): text for name, text in changed.items()}


def folder(root: Path, files: dict[str, str], moment_s: int = MOMENT_S) -> str:
    """Write the texts below a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + ("" if text.endswith("\n") else "\n"))
        os.utime(path, (moment_s, moment_s))
    return str(root)


def tar(
    files: dict[str, str],
    root: str = "",
    *,
    form: int = tarfile.GNU_FORMAT,
    pad: int = 0,
    packed: bool = False,
) -> bytes:
    """Return the texts in an archive, each padded with `pad` zeros, as tar does for files of the kernel."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, text in files.items():
            data = text.encode() + b"\n" + bytes(pad)
            member = tarfile.TarInfo(root + name)
            member.size = len(data)
            member.mtime = MOMENT_S
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(out.getvalue()) if packed else out.getvalue()
