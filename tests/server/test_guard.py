"""Who may ask, and how."""

from __future__ import annotations

import pytest

import zlens
from zlens.server.guard import BODY, Guard, Request

TOKEN = "correct-horse-battery-staple"


def request(path="/api/v1/schema", method="GET", query="", **headers):
    named = {name.replace("_", "-"): [value] for name, value in headers.items()}
    return Request(method, path, query, {"host": ["127.0.0.1:8017"]} | named)


@pytest.mark.parametrize("host", ["127.0.0.1:8017", "localhost", "LOCALHOST:9000", "[::1]:8017"])
def test_hosts_that_are_this_machine(host):
    assert Guard().refuse(request(host=host)) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8017",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "user@127.0.0.1",
        "127.0.0.1/x",
        "192.168.1.1",
        "",
        "[::1",
        "localhost:99999",
    ],
)
def test_hosts_that_are_not(host):
    assert Guard().refuse(request(host=host)).kind == "Host"


def test_a_request_names_one_host():
    assert Guard().refuse(Request("GET", "/", "", {})).kind == "Host"
    assert Guard().refuse(Request("GET", "/", "", {"host": ["localhost", "localhost"]})).kind == "Host"


def test_an_address_is_a_host_only_where_a_token_is_asked_for():
    guard = Guard(frozenset({"lab.example"}), TOKEN)
    shown = {"authorization": f"Bearer {TOKEN}"}
    assert guard.refuse(request(host="192.168.1.1:8017", **shown)) is None
    assert guard.refuse(request(host="lab.example:8017", **shown)) is None
    assert guard.refuse(request(host="evil.example:8017", **shown)).kind == "Host"


def test_origin_is_the_host():
    assert Guard().refuse(request(origin="http://127.0.0.1:8017")) is None
    for other in ("http://127.0.0.1:8018", "http://evil.example", "null", "http://127.0.0.1", "", "file://"):
        assert Guard().refuse(request(origin=other)).kind == "Origin"


def test_requests_of_other_sites_are_refused():
    assert Guard().refuse(request(sec_fetch_site="cross-site")).kind == "Origin"
    assert Guard().refuse(request(sec_fetch_site="same-site")).kind == "Origin"
    assert Guard().refuse(request(sec_fetch_site="same-origin")) is None
    # A link from elsewhere leads to the page; the page itself then asks.
    assert Guard().refuse(request("/", sec_fetch_site="cross-site")) is None


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_what_is_posted_is_json(kind):
    headers = {} if kind is None else {"content_type": kind}
    assert Guard().refuse(request(method="POST", **headers)).status == 415
    assert Guard().refuse(request(method="POST", content_type="application/json; charset=utf-8")) is None


def test_a_long_question_is_refused_before_it_is_read():
    for length in (str(BODY + 1), "9" * 30, "-1", "x"):
        asked = request(method="POST", content_type="application/json", content_length=length)
        assert Guard().refuse(asked).status == 413


def test_the_token_is_asked_for_and_taken_by_header_or_cookie():
    guard = Guard(frozenset(), TOKEN)
    assert guard.refuse(request()).status == 401
    assert guard.refuse(request(authorization="Bearer wrong")).status == 401
    assert guard.refuse(request(authorization=f"Basic {TOKEN}")).status == 401
    assert guard.refuse(request(authorization=f"Bearer {TOKEN}")) is None
    # The page itself tells nothing, and is there for whoever comes by a link.
    assert guard.refuse(request("/")) is None
    cookie = guard.entry(request("/", query=f"token={TOKEN}"))
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert guard.refuse(request(cookie=cookie.partition(";")[0])) is None
    assert guard.refuse(request(cookie="zlens=x")).status == 401
    assert guard.refuse(request(cookie="zlens=" + "é;" * 10)).status == 401


def test_a_wrong_token_sets_no_cookie():
    guard = Guard(frozenset(), TOKEN)
    for query in ("", "token=wrong", f"token={TOKEN}&token={TOKEN}", "token=" + "x" * 5000):
        assert guard.entry(request("/", query=query)) is None
    assert guard.entry(request("/api/v1/schema", query=f"token={TOKEN}")) is None
    assert Guard().entry(request("/", query="token=")) is None


def test_a_browser_comes_in_with_the_token_once(demo_files, serve_over):
    path = str(demo_files[1])
    with zlens.open(path) as session, serve_over(session, [path], Guard(frozenset(), TOKEN)) as served:
        assert served.get("schema").status_code == 401
        assert served.get("schema").headers["www-authenticate"] == "Bearer"
        entered = served.client.get("/", params={"token": TOKEN})
        assert entered.status_code == 303
        assert entered.headers["location"] == "/"
        assert served.get("schema").status_code == 200
