"""Samples: data of real machines, which is not part of the repository; `make samples` lists it.

The folder is `../shared/samples` relative to the checkout, or the value of the variable ZLENS_SAMPLES.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = Path(os.environ.get("ZLENS_SAMPLES") or ROOT.parent / "shared" / "samples")
#: Contents of each folder, its origin, and what tests can compare with it.
CONTENTS = {
    "cpumf": (
        "counters measured on a z13 and a z16, with the values that perf and lshwc printed (Linux mailing "
        "lists, s390-tools): formulas of CPU MF"
    ),
    "dmcore": (
        "DISPLAY M=CORE of an 8562-Z06 and an 8561-776, and DISPLAY ASM (zos-utilities, Apache-2.0): "
        "HiperDispatch states, page data sets"
    ),
    "hmc": (
        "metrics of a LinuxONE with 30 IFLs and SMT as zhmc-prometheus-exporter prints them (Apache-2.0): "
        "a core's usage is the mean of its threads"
    ),
    "public": (
        "synthetic inputs for situations of public bug reports, with what is right for each: identity, limits"
    ),
    "rmf": (
        "RMF Postprocessor CPU reports of a z15 T02 (263 half-hours, 9 partitions), a Monitor III CPC "
        "report and error answers (zowe/zebra, EPL-2.0): every percentage, share and MSU recomputed from "
        "the times of its interval"
    ),
    "smf": (
        "a CPU activity report of a zPDT system (smf2db, MIT): its cells; synthetic SMF records 2, 3, 70, "
        "72 and 113: decoding"
    ),
    "sysinfo": (
        "/proc/sysinfo, /proc/cpuinfo and sysfs of five systems, with the output of lscpu (util-linux, "
        "GPL-2.0+): parsing, capacity adjustment"
    ),
    "sysinfo-texts": (
        "/proc/sysinfo of a z196 M66, a z13 NC9 and a z15 LT1 (libvirt, LGPL-2.1+; Ansible, GPL-3.0+): "
        "adjustment curves"
    ),
}


def sample(name: str) -> Path:
    """Return the path of a sample or of a folder of samples, which need not exist: `rmf/error.xml`."""
    folder = name.split("/")[0]
    if folder not in CONTENTS:
        raise ValueError(f"samples has no folder {folder!r}; expected one of {', '.join(CONTENTS)}")
    return SAMPLES / name


def needs(path: Path) -> pytest.MarkDecorator:
    """Return the mark that skips tests without a sample, with one reason for all samples of a folder."""
    folder = path.relative_to(SAMPLES).parts[0]
    return pytest.mark.skipif(not path.exists(), reason=f"no samples in {folder}: make samples")


def users(folder: str) -> list[str]:
    """Return the test modules that read a folder of samples."""
    read = re.compile(rf"""\bsample\("{folder}["/]|\bsamples(/|" / "){folder}["/]""")
    modules = [path for path in ROOT.glob("tests/**/test_*.py") if read.search(path.read_text("utf-8"))]
    return [path.relative_to(ROOT).as_posix() for path in sorted(modules)]


if __name__ == "__main__":
    print(f"samples are read from {SAMPLES}; another folder: make samples SAMPLES=FOLDER")
    for name, text in CONTENTS.items():
        print(f"\n{name}: {'present' if sample(name).exists() else 'missing'}\n  {text}")
        for user in users(name) or ["no test reads it"]:
            print(f"  - {user}")
