"""Tests that other programs accept their files in contrib/, if these programs are installed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tools
from prometheus_server import program
from zlens.cli import parser
from zlens.cli.listen_socket import DEFAULT_PORT
from zlens.server.guard import METRICS, READY

CONTRIB = Path(__file__).parents[2] / "contrib"


def _text(name: str) -> str:
    return (CONTRIB / name).read_text(encoding="utf-8")


def test_promtool_accepts_configuration() -> None:
    """The check includes the rules file next to it."""
    command = [program("promtool"), "check", "config", str(CONTRIB / "prometheus" / "prometheus.yml")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "rules found" in checked.stdout


def test_collector_scrapes_like_prometheus(tmp_path: Path) -> None:
    """The Collector's Prometheus receiver embeds it; test_server_metrics.py runs the Collector."""
    lines = _text("opentelemetry/collector.yaml").splitlines()
    start = lines.index("    config:") + 1
    length = next(at for at, line in enumerate(lines[start:]) if line and not line.startswith("      "))
    path = tmp_path / "prometheus.yml"
    path.write_text(textwrap.dedent("\n".join(lines[start : start + length])) + "\n", encoding="utf-8")
    command = [program("promtool"), "check", "config", str(path)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_collector_pipeline_names_defined_components() -> None:
    text = _text("opentelemetry/collector.yaml")
    for kind in ("receivers", "processors", "exporters"):
        [section] = re.findall(rf"^{kind}:\n((?:  .*\n)+)", text, re.M)
        there = re.findall(r"^  (\w+):", section, re.M)
        [named] = re.findall(rf"^      {kind}: \[(.+)\]$", text, re.M)
        assert named.split(", ") == there, kind


@pytest.mark.parametrize(
    "name", ["prometheus/prometheus.yml", "opentelemetry/collector.yaml", "pcp/zlens.url"]
)
def test_contrib_files_use_default_port(name: str) -> None:
    assert re.findall(r"127\.0\.0\.1:(8\d+)", _text(name)) == [str(DEFAULT_PORT)]


def test_address_for_pcp_is_one_line() -> None:
    """pmdaopenmetrics reads one address from a file named *.url; test_server_metrics.py runs it."""
    assert _text("pcp/zlens.url") == f"http://127.0.0.1:{DEFAULT_PORT}{METRICS}\n"


def test_systemd_accepts_unit(tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    tools.require("systemd-analyze", present=verify is not None)
    assert verify is not None
    unit = tmp_path / "zlens-live.service"
    zlens = Path(sys.executable).with_name("zlens")
    unit.write_text(
        _text("systemd/zlens-live.service").replace("/usr/bin/zlens", str(zlens)), encoding="utf-8"
    )
    checked = subprocess.run(
        [verify, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    about = [line for line in checked.stderr.splitlines() if unit.name in line]
    assert (about, checked.returncode) == ([], 0), checked.stderr


def test_unit_passes_secrets_of_its_example() -> None:
    """The service's user cannot read files of root, so that options name the copies that systemd makes."""
    text = _text("systemd/zlens-live.service")
    assert "DynamicUser=yes" in text
    comments = [line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")]
    joined = "\n".join(comments).replace("\\\n", "")
    loaded = dict(re.findall(r"^LoadCredential=(.+):(/etc/zlens/.+)$", joined, re.M))
    [command] = re.findall(r"^ExecStart=/usr/bin/zlens (.+)$", text, re.M)
    sources = re.findall(r"^ZLENS_SOURCE=(.+)$", joined, re.M)
    options = re.findall(r"^ZLENS_OPTIONS=(.+)$", joined, re.M)
    passed = set()
    for source, words in zip(sources, options, strict=True):
        started = command.replace("$ZLENS_SOURCE", source).replace("$ZLENS_OPTIONS", words)
        arguments = parser.build().parse_args(shlex.split(started))
        assert (arguments.sources, arguments.lake) == ([source], "/var/lib/zlens/lake")
        passed |= {arguments.key, arguments.forwarder_token} - {None}
    assert passed == {f"/run/credentials/zlens-live.service/{name}" for name in loaded}
    assert len(passed) == 2


def test_container_checks_readiness() -> None:
    """The file is only read, because a container cannot be built everywhere."""
    text = _text("container/Containerfile")
    assert "--require-hashes -r /tmp/requirements.lock" in text
    assert f"http://127.0.0.1:{DEFAULT_PORT}{READY}" in text
    assert f"EXPOSE {DEFAULT_PORT}" in text
    assert "USER zlens" in text
