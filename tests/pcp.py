"""Performance Co-Pilot, if `make pcp` has installed it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tools

UNPACKED = Path(__file__).parents[1] / "target" / "pcp"
#: Debian's Python, which its pcp module requires.
PYTHON = Path("/usr/bin/python3")
#: Variables of folders that PCP writes to.
_WRITTEN = ("PCP_RUN_DIR", "PCP_LOG_DIR", "PCP_TMP_DIR", "PCP_TMPFILE_DIR")
#: Tries, a tenth of a second apart, until the agent has answered.
_TRIES = 300


class Copilot:
    """A local pmcd with only the OpenMetrics agent, which reads one address."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._environment = environment
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])
        agent = UNPACKED / "usr/lib/pcp/pmdas/openmetrics/pmdaopenmetrics.python"
        words = f"{PYTHON} {agent} -c {folder / 'config'} -l {folder / 'agent.log'} -t 10"
        (folder / "pmcd.conf").write_text(f"openmetrics 144 pipe binary notready {words}\n")
        (folder / "names").write_text("root {\n    openmetrics\t144:*:*\n}\n")
        options = {"-c": "pmcd.conf", "-n": "names", "-l": "pmcd.log", "-s": "socket"}
        placed = [word for name, file in options.items() for word in (name, str(folder / file))]
        command = [str(UNPACKED / "usr/lib/pcp/bin/pmcd"), "-f", "-p", self._port, "-i", "127.0.0.1", *placed]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)

    def values(self, name: str) -> dict[str, float]:
        """Wait for values of a metric and return them by their labels."""
        command = [str(UNPACKED / "usr/bin/pminfo"), "-h", f"127.0.0.1:{self._port}", "-f", name]
        for _ in range(_TRIES):
            done = subprocess.run(
                command, env=self._environment, capture_output=True, text=True, check=False, timeout=60
            )
            found = re.findall(r'inst \[\d+ or "\d+ ([^"]*)"\] value (\S+)', done.stdout)
            if found:
                return {labels: float(value) for labels, value in found}
            time.sleep(0.1)
        pytest.fail(f"PCP has no values of {name}: {done.stdout}{done.stderr}")


@contextmanager
def running(folder: Path, url: str) -> Iterator[Copilot]:
    """Run PCP that reads the addresses in a file of contrib/; skip the test if PCP is not installed."""
    tools.require("pcp", present=(UNPACKED / "usr/lib/pcp/bin/pmcd").exists() and PYTHON.exists())
    (folder / "config").mkdir()
    (folder / "config" / "zlens.url").write_text(url)

    def place(found: re.Match[str]) -> str:
        name, path = found[1], found[2]
        here = UNPACKED / path[1:]
        return f"{name}={folder if name in _WRITTEN else here if here.exists() else path}"

    settings = (UNPACKED / "etc/pcp.conf").read_text()
    (folder / "pcp.conf").write_text(re.sub(r"(?m)^(PCP_\w+)=(/\S+)$", place, settings))
    modules = [UNPACKED / "usr/lib/python3/dist-packages", sysconfig.get_path("purelib")]
    copilot = Copilot(
        folder,
        {
            **os.environ,
            "PCP_CONF": str(folder / "pcp.conf"),
            "LD_LIBRARY_PATH": str(UNPACKED / "usr/lib"),
            # The agent needs requests, which the test environment has.
            "PYTHONPATH": os.pathsep.join(map(str, modules)),
        },
    )
    try:
        yield copilot
    finally:
        copilot.process.terminate()
        copilot.process.wait(30)
