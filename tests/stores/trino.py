"""Trino server from `make trino` over exported tables."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

import tools

SERVER = Path(__file__).parents[2] / "target" / "trino"
#: Minimum Java version of Trino.
_JAVA = 24
_PATIENCE_S = 180.0
_CONFIG = """coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port={port}
discovery.uri=http://127.0.0.1:{port}
catalog.management=static
"""
_JVM = """-server
-Xmx1G
-Djdk.attach.allowAttachSelf=true
"""
_CATALOGS = {
    "delta": "connector.name=delta_lake\nhive.metastore=file\ndelta.register-table-procedure.enabled=true\n",
    "iceberg": "connector.name=iceberg\niceberg.catalog.type=TESTING_FILE_METASTORE\n"
    "iceberg.register-table-procedure.enabled=true\n",
}


class Trino:
    """Running Trino server."""

    def __init__(self, address: str) -> None:
        self._client = httpx.Client(base_url=address, headers={"x-trino-user": "test"}, timeout=60)

    def rows(self, sql: str) -> list[list[Any]]:
        """Return the rows of a statement."""
        answer = self._client.post("/v1/statement", content=sql).raise_for_status().json()
        rows: list[list[Any]] = []
        while True:
            assert "error" not in answer, answer["error"]["message"]
            rows += answer.get("data", [])
            if "nextUri" not in answer:
                return rows
            answer = self._client.get(answer["nextUri"]).raise_for_status().json()

    def register(self, catalog: str, table: str, folder: Path) -> None:
        """Register an existing table in a catalog, as DBAs do once."""
        self.rows(
            f"CALL {catalog}.system.register_table(schema_name => 'zlens', table_name => '{table}', "
            f"table_location => 'file://{folder}')"
        )


@contextmanager
def started(folder: Path) -> Iterator[Trino]:
    """Start Trino with the catalogs `delta` and `iceberg`; skip the test if Trino is not installed."""
    launcher = next(SERVER.glob("trino-server-*/bin/launcher"), None)
    home = _java()
    tools.require("trino", present=launcher is not None and home is not None)
    assert launcher is not None
    assert home is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    etc = folder / "etc"
    (etc / "catalog").mkdir(parents=True)
    (etc / "config.properties").write_text(_CONFIG.format(port=port))
    (etc / "jvm.config").write_text(_JVM)
    (etc / "node.properties").write_text(f"node.environment=test\nnode.data-dir={folder / 'data'}\n")
    for name, text in _CATALOGS.items():
        place = f"hive.metastore.catalog.dir=file://{folder / name}\nfs.hadoop.enabled=true\n"
        (etc / "catalog" / f"{name}.properties").write_text(text + place)
    environment = os.environ | {"JAVA_HOME": home, "PATH": f"{home}/bin:{os.environ['PATH']}"}
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [launcher, "run", "--etc-dir", etc], env=environment, stdout=output, stderr=output
        )
    try:
        address = f"http://127.0.0.1:{port}"
        end = time.monotonic() + _PATIENCE_S
        while "SERVER STARTED" not in log.read_text(errors="replace"):
            assert process.poll() is None, log.read_text(errors="replace")[-2000:]
            assert time.monotonic() < end, "it does not start"
            time.sleep(0.5)
        trino = Trino(address)
        for name in _CATALOGS:
            trino.rows(f"CREATE SCHEMA {name}.zlens WITH (location = 'file://{folder / name / 'zlens'}')")
        yield trino
    finally:
        process.terminate()
        process.wait(60)


def _java() -> str | None:
    """Return the home of a Java that is recent enough."""
    homes = [os.environ.get("JAVA_HOME"), *map(str, sorted(Path("/usr/lib/jvm").glob("*"), reverse=True))]
    for home in homes:
        java = Path(home or "") / "bin" / "java"
        if home and java.exists():
            output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
            version = re.search(r'version "(\d+)', output)
            if version and int(version[1]) >= _JAVA:
                return home
    return None
