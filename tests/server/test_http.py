"""Tests of HTTP: security headers, and responses to malformed requests."""

from __future__ import annotations

import contextlib
import gzip
import os
import socket
import subprocess
import sys
import threading

import httpx
import pytest

import zlens
from iterations import draws
from patience import until
from zlens.server import static_files
from zlens.server.limits import RequestLimits
from zlens.server.response_bodies import LINES
from zlens.server.running_requests import RunningRequests

SLOW = "SELECT count(*) FROM range(100000000) AS a, range(1000000) AS b WHERE a.range + b.range = 7"


def wrong(response, status, kind):
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["kind"] == kind
    # `position` is where in a query the error is, if it is known.
    assert set(error) - {"position"} == {"message", "expected", "cure", "kind"}
    assert "Traceback" not in response.text
    return error


def raw(served, text: bytes) -> bytes:
    """Send raw bytes and return the response."""
    host, port = served.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(text)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_security_headers_are_set(served):
    for path in ("/", "/nosuch", "/api/v1/schema", "/api/v1/nosuch", "/api/v1/explain?name=nosuch"):
        headers = served.client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe-eval" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


@pytest.mark.parametrize("path", ["/app.js", "/metrics", "/api/v1/schema", "/api/v1/openapi.json"])
def test_responses_are_compressed(served, path):
    def get(accepted):
        with served.client.stream("GET", path, headers={"accept-encoding": accepted}) as response:
            return response.headers, b"".join(response.iter_raw())

    plain_headers, plain = get("identity")
    headers, compressed = get("gzip")
    assert "content-encoding" not in plain_headers
    assert headers["content-encoding"] == "gzip"
    assert headers["vary"] == "Accept-Encoding"
    assert headers["content-type"] == plain_headers["content-type"]
    assert gzip.decompress(compressed) == plain
    assert len(compressed) < len(plain) / 2


def test_page_is_compressed_without_thread(served, monkeypatch):
    """The first thread takes longer to start than the files of the web UI to compress."""

    async def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr("anyio.to_thread.run_sync", refuse)
    response = served.client.get("/app.js", headers={"accept-encoding": "gzip"})
    assert response.status_code == 200
    assert response.headers["content-encoding"] == "gzip"


def test_streams_are_not_compressed(served):
    """The lines of each stage arrive when it is computed; a compressor would hold them back."""
    response = served.client.get("/api/v1/findings/stream", headers={"accept-encoding": "gzip"})
    assert response.headers["content-type"] == LINES
    assert "content-encoding" not in response.headers
    assert len(response.content) > 10_000


def test_get_requests_change_nothing(served):
    client = served.client

    def ask(query):
        return client.post("/api/v1/sql", json={"query": query})

    before = ask("SELECT sum(busy_pct) FROM load").json()["rows"]
    for query in (
        "WITH t AS (UPDATE load SET busy_pct = 1.5 RETURNING 1) SELECT count(*) FROM t",
        "EXPLAIN ANALYZE DROP TABLE load",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO 'x.csv'",
        "SELECT * FROM duckdb_settings()",
    ):
        wrong(ask(query), 400, "QueryError")
    assert ask("SELECT sum(busy_pct) FROM load").json()["rows"] == before


def test_errors_are_json(served):
    client = served.client
    wrong(client.get("/api/v1/nosuch"), 404, "NotFound")
    wrong(client.get("/api/v2/schema"), 404, "NotFound")
    wrong(client.get("/nosuch.js"), 404, "NotFound")
    wrong(client.get("/api/v1/sql"), 405, "Method")
    assert client.get("/api/v1/sql").headers["allow"] == "POST"
    wrong(client.delete("/api/v1/schema"), 405, "Method")
    wrong(client.request("OPTIONS", "/api/v1/sql"), 405, "Method")
    wrong(client.put("/"), 405, "Method")
    wrong(client.get("/", headers={"host": "evil.example"}), 403, "Host")
    wrong(client.get("/api/v1/schema", headers={"origin": "http://evil.example"}), 403, "Origin")
    wrong(client.post("/api/v1/sql", content=b"{}"), 415, "ContentType")
    wrong(served.post("sql", query="SELECT 1; SELECT 2"), 400, "QueryError")
    wrong(served.post("sql", query="COPY load TO '/tmp/x'"), 400, "QueryError")
    wrong(served.post("sql", query="SELECT * FROM read_text('/etc/passwd')"), 400, "QueryError")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b'"query"',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"query": "SELECT 1", "rows": NaN}',
        b'{"query": "SELECT 1", "rows": 1e999}',
        b'{"query": "SELECT 1", "rows": ' + b"9" * 5000 + b"}",
        b'{"query": "SELECT \\ud800"}',
        b'{"query": "SELECT 1\\u0000"}',
        b'{"query": ["SELECT 1"]}',
        b'{"query": "SELECT 1", "nosuch": 1}',
        b'{"query": null}',
        b'{"query": "SELECT 1", "keep": {"guest": [1]}}',
    ],
)
def test_invalid_request_bodies_are_rejected(served, body):
    headers = {"content-type": "application/json"}
    wrong(served.client.post("/api/v1/sql", content=body, headers=headers), 400, "QueryError")


def test_oversized_request_is_rejected(served):
    headers = {"content-type": "application/json"}
    body = b'{"query": "' + b"x" * 1_100_000 + b'"}'
    assert served.client.post("/api/v1/sql", content=body, headers=headers).status_code == 413
    # A body without a Content-Length header.
    parts = (b"x" * 100_000 for _ in range(12))
    wrong(served.client.post("/api/v1/sql", content=parts, headers=headers), 413, "TooLarge")


@pytest.mark.parametrize(
    "text",
    [
        b"\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_invalid_http_is_survived(served, text):
    assert b"Traceback" not in raw(served, text + b"\r\n\r\n")
    assert served.get("running").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../etc/passwd",
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/static/%2e%2e%2fapp.py",
        "/static/..%5c..%5capp.py",
        "/static//etc/passwd",
        "//etc/passwd",
        "/app.py",
        "/static/",
        "/%00",
        "/api/v1/../../app.py",
    ],
)
def test_path_traversal_is_rejected(served, path):
    text = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    found = raw(served, text)
    assert found.split(b" ")[1] in (b"404", b"400")
    assert b"root:" not in found
    assert b"import" not in found


def test_static_files_have_etag(served, tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("<!doctype html>")
    (tmp_path / "app.js").write_text("1")
    monkeypatch.setattr(static_files, "FOLDER", tmp_path)
    page = served.client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert served.client.get("/app.js").headers["content-type"].startswith("text/javascript")
    assert served.client.get("/static/app.js").text == "1"
    again = served.client.get("/", headers={"if-none-match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_static_files_with_digest_are_immutable(served, tmp_path, monkeypatch):
    for release in ("1", "22"):
        (tmp_path / release).mkdir()
        (tmp_path / release / "index.html").write_text('<script src="./app.js">')
        (tmp_path / release / "app.js").write_text(release)
    monkeypatch.setattr(static_files, "FOLDER", tmp_path / "1")

    def caching(path):
        response = served.client.get(path)
        assert response.text == (static_files.FOLDER / "app.js").read_text()
        return response.headers["cache-control"]

    index = served.client.get("/")
    assert index.headers["cache-control"] == "no-cache"
    path = index.text.split('"')[1].removeprefix(".")
    assert caching(path) == "public, max-age=31536000, immutable"
    assert caching("/app.js") == "no-cache"
    # A page that another release wrote still loads its files, but they must not be kept by that name.
    monkeypatch.setattr(static_files, "FOLDER", tmp_path / "22")
    assert caching(path) == "no-cache"
    assert path not in served.client.get("/").text


def test_static_files_are_read_once(served, tmp_path, monkeypatch):
    """While other threads compute, each access to a file may delay the response."""
    (tmp_path / "app.js").write_text("1")
    monkeypatch.setattr(static_files, "FOLDER", tmp_path)
    served.client.get("/app.js")
    (tmp_path / "app.js").unlink()
    assert served.client.get("/app.js").text == "1"


def test_unchanged_schema_is_not_sent_again(served):
    first = served.get("schema", parts="systems")
    assert first.headers["cache-control"] == "private, no-cache"
    headers = {"if-none-match": f"W/{first.headers['etag']}"}
    again = served.client.get("/api/v1/schema?parts=systems", headers=headers)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["zlens-problems"] == first.headers["zlens-problems"]
    other = served.client.get("/api/v1/schema?parts=models", headers=headers)
    assert other.status_code == 200
    # Data are never kept.
    assert served.get("running").headers["cache-control"] == "no-store"


def test_missing_bundle_names_build_command(served, tmp_path, monkeypatch):
    monkeypatch.setattr(static_files, "FOLDER", tmp_path)
    assert "npm" in wrong(served.client.get("/"), 404, "NotFound")["cure"]


def slowly(served, answers, **more):
    def ask():
        with httpx.Client(base_url=served.address, timeout=60) as client:
            answers.append(client.post("/api/v1/sql", json={"query": SLOW, **more}))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_request_is_canceled_by_id(served):
    answers = []
    thread = slowly(served, answers, id="slow one")
    until(lambda: [one for one in served.get("running").json() if one["id"] == "slow one"])
    # Other requests are answered in the meantime.
    assert served.post("sql", query="SELECT 1").json()["rows"] == [[1]]
    assert served.post("cancel", id="slow one").json() == {"cancelled": 1}
    thread.join(30)
    wrong(answers[0], 409, "Cancelled")
    until(lambda: not served.running.rows())


def test_request_ends_on_disconnect(served):
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{served.address}/api/v1/sql", json={"query": SLOW}, timeout=httpx.Timeout(60, read=0.5))
    until(lambda: not served.running.rows())


def test_request_ends_at_time_limit(demo_files, serve_over):
    path = str(demo_files[1])
    with (
        zlens.open(path) as session,
        serve_over(session, [path], running=RunningRequests(RequestLimits(seconds=2), most=1)) as served,
    ):
        answers = []
        thread = slowly(served, answers)
        until(lambda: served.running.rows())
        wrong(served.post("sql", query="SELECT 1"), 503, "Busy")
        thread.join(30)
        wrong(answers[0], 409, "Cancelled")
        assert served.post("sql", query="SELECT 1").status_code == 200


def test_canceled_materialization_is_repeated(demo_files, serve_over):
    path = str(demo_files[0])
    with zlens.open(path) as session, serve_over(session, [path]) as served:
        for wait in (0.01, 0.05, 0.2):
            with contextlib.suppress(httpx.TimeoutException):
                httpx.post(f"{served.address}/api/v1/sql", json={"query": "FROM guest_cpu"}, timeout=wait)
        assert served.post("sql", query="FROM guest_cpu", rows=1).status_code == 200
        assert served.post("sql", query="FROM load", rows=1).status_code == 200


def test_huge_result_is_truncated_and_not_buffered(served):
    found = served.post("sql", query="SELECT range, repeat('x', 9000) FROM range(100000000)", rows=200_000)
    assert found.status_code == 200
    assert found.json()["more"] is True
    assert len(found.content) < 100_000_000


def test_two_clients_at_once(served):
    queries = [f"SELECT {n}, count(*) FROM {t}" for n in range(4) for t in ("cpu", "load", "guest")]
    found: dict[str, list[object]] = {}

    def ask(query):
        with httpx.Client(base_url=served.address, timeout=60) as client:
            found[query] = client.post("/api/v1/sql", json={"query": query}).json()["rows"]

    threads = [threading.Thread(target=ask, args=(query,)) for query in queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {query: [list(row) for row in served.session.sql(query).rows] for query in queries}


def test_truncated_file_is_reported_in_response(demo_files, serve_over, tmp_path):
    """The rest of the file is read; every response has the current problem count."""
    path = tmp_path / "short.monwrite"
    path.write_bytes(demo_files[0].read_bytes())
    with zlens.open([path]) as session, serve_over(session, [str(path)]) as served:
        whole = served.post("sql", query="SELECT count(*) FROM d4r9")
        assert whole.headers["zlens-problems"] == "0"
        os.truncate(path, 500_000)
        left = served.post("sql", query="SELECT count(*) FROM d6r3")
        assert left.status_code == 200
        assert int(left.headers["zlens-problems"]) > 0
        kinds = served.post("sql", query="SELECT DISTINCT kind FROM problem").json()["rows"]
        assert ["changed"] in kinds


def test_problems_are_counted_once_and_completely(sim_file, serve_over, tmp_path):
    """The count equals the rows of the table `problem`, whatever queries ran before; damage is marked."""
    data = bytearray(sim_file.read_bytes())
    chance = draws(7)
    for _ in range(400):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path = tmp_path / "damaged.monwrite"
    path.write_bytes(data)
    with zlens.open([path]) as session, serve_over(session, [str(path)]) as served:
        served.post("sql", query="SELECT count(*) FROM d4r3")
        problems = served.get("problems").json()
        (row,) = served.post("sql", query="SELECT count(*) FROM problem").json()["rows"]
        assert problems["count"] == row[0] == sum(kind["count"] for kind in problems["rows"])
        assert problems["damaged"]
        damage = {kind["kind"]: kind["damage"] for kind in problems["rows"]}
        assert damage["impossible"]
        assert not damage["no_layout"]
    with zlens.open([sim_file]) as session, serve_over(session, [str(sim_file)]) as served:
        assert served.get("problems").json() == {"count": 0, "damaged": False, "rows": []}


def test_removed_input_is_reported(demo_files, serve_over, tmp_path):
    path = tmp_path / "gone.monwrite"
    path.write_bytes(demo_files[0].read_bytes())
    with zlens.open(path) as session, serve_over(session, [str(path)]) as served:
        assert served.get("schema").status_code == 200
        path.unlink()
        gone = served.post("sql", query="SELECT * FROM d4r3")
        assert gone.status_code in (200, 400, 410)
        assert "Traceback" not in gone.text
        assert str(tmp_path) not in gone.text
        assert served.post("sql", query="SELECT 1").status_code == 200


def test_web_scenario_cannot_name_files(served, tmp_path):
    (tmp_path / "x").write_text("secret")
    for parameters in (
        {"scenario": f'processors = 2\ndata = "{tmp_path}/x"'},
        {"scenario": "processors = 2", "set": [f"data={tmp_path}/x"]},
        {"scenario": "", "set": ["processors=2", f"data={tmp_path}/x"]},
    ):
        error = wrong(served.post("solve", model="capacity", **parameters), 400, "ScenarioError")
        assert "names a file" in error["message"]
    parameters = {"model": "capacity", "set": [f"data={tmp_path}/x"]}
    assert "names a file" in wrong(served.post("expected", **parameters), 400, "ScenarioError")["message"]


def test_compare_rejects_other_inputs(served):
    error = wrong(served.post("compare", base={"input": "/etc/passwd"}, others=[{}]), 400, "QueryError")
    assert error["expected"] == "one of zldemo.monwrite"


def test_internal_error_is_one_line(served, monkeypatch):
    def fails(place, parameters):
        raise RuntimeError("of /secret/place")

    monkeypatch.setattr("zlens.server.explain.answer", fails)
    error = wrong(served.get("explain", name="load"), 500, "Unexpected")
    assert "secret" not in str(error)


def test_other_commands_do_not_import_server():
    code = (
        "import sys; from importlib import import_module; from keyword import iskeyword\n"
        "from zlens.cli.parser import COMMANDS\n"
        "for name in COMMANDS: import_module(f'zlens.cli.{name}' + '_' * iskeyword(name))\n"
        "assert not {'starlette', 'uvicorn', 'asyncio'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_local_times_are_problem_but_not_damage(demo_files, serve_over):
    path = next(str(file) for file in demo_files if file.suffix == ".xml")
    with zlens.open(path) as session, serve_over(session, [path]) as served:
        problems = served.get("problems").json()
    assert [(row["kind"], row["damage"]) for row in problems["rows"]] == [("zone", False)]
    assert problems["count"] == 1
    assert not problems["damaged"]
