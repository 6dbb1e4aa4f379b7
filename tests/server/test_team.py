"""Tests of a shared server: behind nginx, with users, a request log and limits per user."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from ports import free_socket

import tools
import zlens
from patience import PATIENCE_S, until
from zlens.server.guard import Guard
from zlens.server.limits import RequestLimits
from zlens.server.proxy import Proxy
from zlens.server.running_requests import RunningRequests

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
#: The configuration of docs/team.md, except ports, folders and the source of the user name.
CONFIGURATION = Path(__file__).parents[2] / "contrib" / "nginx" / "zlens.conf"
SLOW = "SELECT count(*) FROM range(10000000) a, range(10000000) b"


@contextmanager
def running(*arguments: str, ready: str) -> Iterator[subprocess.Popen[str]]:
    """Start `zlens serve` and wait until it has printed its address."""
    command = [sys.executable, "-m", "zlens", "serve", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == ready
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=20)


@contextmanager
def nginx(folder: Path, socket: Path) -> Iterator[str]:
    """Start nginx with the shipped configuration and HTTP basic authentication; return its address."""
    tools.require("nginx", present=NGINX is not None)
    with free_socket() as free:
        port = free.getsockname()[1]
    location = CONFIGURATION.read_text().replace("/run/zlens/zlens.sock", str(socket))
    location = location.replace("/etc/nginx/zlens.users", str(folder / "users"))
    (folder / "users").write_text("MAIER:{PLAIN}secret\nHUBER:{PLAIN}secret\n")
    (folder / "nginx.conf").write_text(
        f"pid {folder}/pid; error_log {folder}/errors; daemon off; worker_processes 1; user root;\n"
        f"events {{}}\nhttp {{ access_log off; client_body_temp_path {folder}/body; "
        f"proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; "
        f"scgi_temp_path {folder}/s;\nserver {{ listen 127.0.0.1:{port}; {location} }} }}\n"
    )
    process = subprocess.Popen([NGINX, "-c", str(folder / "nginx.conf"), "-e", str(folder / "errors")])
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/", timeout=PATIENCE_S)
                break
            except httpx.TransportError:
                assert process.poll() is None, (folder / "errors").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGQUIT)
        process.wait(20)


def test_behind_nginx(demo_files: list[Path], tmp_path: Path):
    socket, log = tmp_path / "socket", tmp_path / "requests.log"
    public = "https://perf.example/zlens"
    with (
        running(
            *(str(demo_files[0]), "--listen", f"unix:{socket}", "--public-url", public),
            *("--user-header", "X-Forwarded-User", "--trust-proxy", "unix", "--log", str(log)),
            ready=f"{public}/",
        ),
        nginx(tmp_path, socket) as address,
    ):
        assert socket.stat().st_mode & 0o777 == 0o660
        with httpx.Client(base_url=f"{address}/zlens", timeout=60, auth=("MAIER", "secret")) as client:
            # The web UI, its files and the API are all below the path.
            page = client.get("/")
            assert page.status_code == 200
            assert re.search(r'"./static/\w+/app.js"', page.text)
            assert client.get("/app.js").status_code == 200
            assert client.get(f"{address}/zlens").headers["location"].endswith("/zlens/")
            question = {"query": "SELECT max(busy_pct) FROM cpu WHERE 'secret of MAIER' IS NOT NULL"}
            answer = client.post("/api/v1/sql", json=question)
            assert answer.status_code == 200
            # The origin of the public address, and that of another site.
            for origin, status in (("https://perf.example", 200), ("https://evil.example", 403)):
                response = client.post("/api/v1/sql", json=question, headers={"origin": origin})
                assert response.status_code == status
            # The proxy sets the header; a header of the client is ignored.
            named = client.get("/api/v1/running", headers={"X-Forwarded-User": "HUBER"})
            assert named.status_code == 200
            client.get("/api/v1/secret-of-MAIER")
        assert httpx.get(f"{address}/zlens/api/v1/schema", timeout=PATIENCE_S).status_code == 401
        assert httpx.get(f"{address}/zlens/healthz", timeout=PATIENCE_S).text == "ok\n"
        # Requests that bypass the proxy have no user name.
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), timeout=PATIENCE_S) as direct:
            unnamed = direct.get("http://localhost/api/v1/schema")
            assert unnamed.json()["error"]["kind"] == "User"
            # This proxy forwards the path unchanged.
            assert direct.get("http://localhost/zlens/healthz").text == "ok\n"
            assert direct.get("http://localhost/zlens").headers["location"] == "/zlens/"
    assert not socket.exists()
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert {row.get("user") for row in rows} == {None, "MAIER"}
    entry = next(row for row in rows if row["what"] == "/api/v1/sql")
    assert (entry["user"], entry["method"], entry["status"]) == ("MAIER", "POST", 200)
    assert entry["bytes"] == len(answer.content)
    assert {row["what"] for row in rows if row["status"] == 404} == {"unknown"}
    assert "secret" not in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_users_see_and_cancel_only_own_requests(demo_files: list[Path], serve_over):
    path = str(demo_files[0])
    guard = Guard(proxy=Proxy.read("X-User", ["127.0.0.1"]))
    limited = RunningRequests(RequestLimits(questions=2))
    with zlens.open(path) as session, serve_over(session, [path], guard, limited) as served:

        def ask(user: str, method: str, name: str, **body: object) -> httpx.Response:
            headers = {"X-User": user}
            return served.client.request(
                method, f"/api/v1/{name}", json=body if method == "POST" else None, headers=headers
            )

        ended: list[httpx.Response] = []
        threads = [
            threading.Thread(target=lambda: ended.append(ask("A", "POST", "sql", query=SLOW, id="slow")))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        until(lambda: len(ask("A", "GET", "running").json()) == 2)
        # A has reached the limit per user; B can send requests and sees none of A's.
        refused = ask("A", "GET", "schema")
        assert (refused.status_code, refused.json()["error"]["kind"]) == (429, "TooMany")
        assert ask("B", "GET", "schema").status_code == 200
        assert ask("B", "GET", "running").json() == []
        assert ask("B", "POST", "cancel", id="slow").json() == {"cancelled": 0}
        assert ask("A", "POST", "cancel", id="slow").json() == {"cancelled": 2}
        for thread in threads:
            thread.join(PATIENCE_S)
        assert [answer.status_code for answer in ended] == [409, 409]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are made on Linux only")
def test_sql_of_one_user_runs_in_one_process(demo_files: list[Path], tmp_path: Path):
    """Three endless queries of A leave two of the three processes to others."""
    with free_socket() as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    options = ("--port", str(port), "--user-header", "X-User", "--trust-proxy", "127.0.0.1")
    with running(str(demo_files[0]), *options, ready=address):

        def sql(user: str, query: str) -> httpx.Response:
            return httpx.post(
                f"{address}api/v1/sql",
                json={"query": query, "id": user},
                headers={"X-User": user},
                timeout=PATIENCE_S,
            )

        threads = [threading.Thread(target=sql, args=("A", SLOW)) for _ in range(3)]
        for thread in threads:
            thread.start()
        user = {"X-User": "A"}
        until(
            lambda: len(httpx.get(f"{address}api/v1/running", headers=user, timeout=PATIENCE_S).json()) >= 3
        )
        assert sql("B", "SELECT 7").json()["rows"] == [[7]]
        httpx.post(f"{address}api/v1/cancel", json={"id": "A"}, headers=user, timeout=PATIENCE_S)
        for thread in threads:
            thread.join(PATIENCE_S)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trust-proxy", "unix"], "--trust-proxy needs --user-header"),
        (["--user-header", "X-User"], "--user-header needs --trust-proxy"),
        (["--user-header", "X User", "--trust-proxy", "unix"], "is not the name of a header"),
        (["--user-header", "X", "--trust-proxy", "perf.example"], "is not the address of a proxy"),
        (["--public-url", "perf.example/zlens"], "is not the address of a page"),
        (["--log", "/"], "the log cannot be written"),
        (["--listen", "unix:/nowhere/at/all"], "cannot listen on /nowhere/at/all"),
        (["--user-requests", "0"], "--user-requests 0 is out of range"),
        (["--query-memory", "0.1"], "--query-memory 0.1 is out of range"),
        (["--request-time", "nan"], "--request-time nan is out of range"),
    ],
)
def test_incompatible_serve_options_are_rejected(options, message, demo_files, capsys):
    from zlens.cli import main

    assert main(["serve", str(demo_files[0]), *options]) == 2
    assert message in capsys.readouterr().err


def test_stale_socket_is_replaced(tmp_path: Path, demo_files, capsys):
    """A socket of a killed server is replaced; a socket in use or a file is not."""
    from zlens.cli import main

    file = tmp_path / "socket"
    file.write_text("a file")
    assert main(["serve", str(demo_files[0]), "--listen", f"unix:{file}"]) == 2
    assert file.read_text() == "a file"
    file.unlink()
    arguments = (str(demo_files[0]), "--listen", f"unix:{file}")
    with running(*arguments, ready=f"unix:{file}") as process:
        assert main(["serve", *arguments]) == 2
        assert "address already in use" in capsys.readouterr().err
        process.kill()
        process.wait(20)
    assert file.exists()
    with (
        running(*arguments, ready=f"unix:{file}"),
        httpx.Client(transport=httpx.HTTPTransport(uds=str(file)), timeout=PATIENCE_S) as client,
    ):
        assert client.get("http://localhost/api/v1/running").json() == []
