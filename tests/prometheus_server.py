"""Prometheus and promtool, if `make prometheus` has installed them."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

import tools

UNPACKED = Path(__file__).parents[1] / "target" / "prometheus" / "usr" / "bin"
#: Tries, a tenth of a second apart, until a started program answers.
_TRIES = 300


def program(name: str) -> str:
    """Return the path of a program; skip the test if it is not installed."""
    found = shutil.which(name) or shutil.which(name, path=str(UNPACKED))
    tools.require("prometheus", present=found is not None)
    return found or ""


@contextmanager
def started(folder: Path, scraped: str | None, rules: Path | None = None) -> Iterator[str]:
    """Start a local Prometheus that scrapes one address every second, or receives remote writes."""
    configuration = [
        "global: {scrape_interval: 1s, evaluation_interval: 1s}",
        *([f"rule_files: [{rules}]"] if rules is not None else []),
    ]
    if scraped is not None:
        target = f"static_configs: [{{targets: ['{urlsplit(scraped).netloc}']}}]"
        configuration.append(f"scrape_configs: [{{job_name: zlens, {target}}}]")
    (folder / "prometheus.yml").write_text("\n".join(configuration) + "\n", encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [
        program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=error",
        *([] if scraped is not None else ["--web.enable-remote-write-receiver"]),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        for _ in range(_TRIES):
            if process.poll() is not None:
                pytest.fail(process.communicate()[1].decode())
            try:
                if httpx.get(f"http://{address}/-/ready", timeout=10, verify=False).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        yield f"http://{address}"
    finally:
        process.terminate()
        process.communicate(timeout=30)


def answered(address: str, query: str) -> dict[str, float]:
    """Wait for the result of a query and return it by system."""
    for _ in range(_TRIES):
        answer = httpx.get(
            f"{address}/api/v1/query", params={"query": query}, timeout=10, verify=False
        ).json()
        if found := answer["data"]["result"]:
            return {one["metric"].get("system", ""): float(one["value"][1]) for one in found}
        time.sleep(0.1)
    pytest.fail(f"Prometheus has no answer to {query}")
