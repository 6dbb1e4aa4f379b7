"""Tests of access control."""

from __future__ import annotations

import pytest

import zlens
from zlens.errors import QueryError
from zlens.server.guard import BODY, LOGIN, Guard, Request
from zlens.server.proxy import Proxy, PublicUrl

TOKEN = "correct-horse-battery-staple"


def request(path="/api/v1/schema", method="GET", peer="127.0.0.1", **headers):
    named = {name.replace("_", "-"): [value] for name, value in headers.items()}
    return Request(method, path, {"host": ["127.0.0.1:8017"]} | named, peer)


@pytest.mark.parametrize("host", ["127.0.0.1:8017", "localhost", "LOCALHOST:9000", "[::1]:8017"])
def test_local_hosts_are_allowed(host):
    assert Guard().check_request(request(host=host)) is None


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
def test_other_hosts_are_refused(host):
    assert Guard().check_request(request(host=host)).kind == "Host"


def test_request_names_one_host():
    assert Guard().check_request(Request("GET", "/", {})).kind == "Host"
    assert Guard().check_request(Request("GET", "/", {"host": ["localhost", "localhost"]})).kind == "Host"


def test_ip_host_requires_token():
    guard = Guard(frozenset({"lab.example"}), TOKEN)
    shown = {"authorization": f"Bearer {TOKEN}"}
    assert guard.check_request(request(host="192.168.1.1:8017", **shown)) is None
    assert guard.check_request(request(host="lab.example:8017", **shown)) is None
    assert guard.check_request(request(host="evil.example:8017", **shown)).kind == "Host"


def test_origin_is_host():
    assert Guard().check_request(request(origin="http://127.0.0.1:8017")) is None
    for other in ("http://127.0.0.1:8018", "http://evil.example", "null", "http://127.0.0.1", "", "file://"):
        assert Guard().check_request(request(origin=other)).kind == "Origin"


def test_cross_site_requests_are_refused():
    assert Guard().check_request(request(sec_fetch_site="cross-site")).kind == "Origin"
    assert Guard().check_request(request(sec_fetch_site="same-site")).kind == "Origin"
    assert Guard().check_request(request(sec_fetch_site="same-origin")) is None
    assert Guard().check_request(request(sec_fetch_site="none")) is None
    for sites in (["same-origin", "cross-site"], ["none", "none"], [""]):
        headers = {"host": ["localhost"], "sec-fetch-site": sites}
        assert Guard().check_request(Request("GET", "/api/v1/schema", headers)).kind == "Origin"
    # Links from other sites may open the web UI, which then sends its own requests.
    assert Guard().check_request(request("/", sec_fetch_site="cross-site")) is None


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_post_requires_json(kind):
    headers = {} if kind is None else {"content_type": kind}
    assert Guard().check_request(request(method="POST", **headers)).status == 415
    assert (
        Guard().check_request(request(method="POST", content_type="application/json; charset=utf-8")) is None
    )


def test_long_request_is_refused_unread():
    for length in (str(BODY + 1), "9" * 30, "-1", "x"):
        long_request = request(method="POST", content_type="application/json", content_length=length)
        assert Guard().check_request(long_request).status == 413


def test_token_is_read_from_header_or_cookie():
    guard = Guard(frozenset(), TOKEN)
    assert guard.check_request(request()).status == 401
    assert guard.check_request(request(authorization="Bearer wrong")).status == 401
    assert guard.check_request(request(authorization=f"Basic {TOKEN}")).status == 401
    assert guard.check_request(request(authorization=f"Bearer {TOKEN}")) is None
    # The page at / contains no data and needs no token.
    assert guard.check_request(request("/")) is None
    cookie = guard.session_cookie(TOKEN)
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert guard.check_request(request(cookie=cookie.partition(";")[0])) is None
    assert guard.check_request(request(cookie="zlens=x")).status == 401
    assert guard.check_request(request(cookie="zlens=" + "é;" * 10)).status == 401


def test_wrong_token_sets_no_cookie():
    guard = Guard(frozenset(), TOKEN)
    for token in ("", "wrong", TOKEN + "x", TOKEN[:-1], "é" * 20):
        assert guard.session_cookie(token) is None
    assert Guard().session_cookie("") is None


def test_browser_logs_in_with_token(demo_files, serve_over):
    path = str(demo_files[1])
    with zlens.open(path) as session, serve_over(session, [path], Guard(frozenset(), TOKEN)) as served:
        assert served.get("schema").status_code == 401
        assert served.get("schema").headers["www-authenticate"] == "Bearer"
        # A token in the URL is ignored: URLs are displayed, stored and shared.
        assert served.client.get("/", params={"token": TOKEN}).status_code == 200
        assert served.get("schema", token=TOKEN).status_code == 401
        wrong = served.post("login", token="wrong")
        assert (wrong.status_code, wrong.json()["error"]["message"]) == (401, "this is not the token")
        assert "set-cookie" not in wrong.headers
        assert served.post("login", token=TOKEN).json() == {"entered": True}
        assert served.get("schema").status_code == 200


def test_login_requires_own_origin():
    guard = Guard(frozenset(), TOKEN)
    kind = {"content_type": "application/json"}
    assert guard.check_request(request(LOGIN, "POST", **kind)) is None
    assert guard.check_request(request(LOGIN, "POST", **kind, origin="http://evil.example")).kind == "Origin"
    assert guard.check_request(request(LOGIN, "POST", **kind, sec_fetch_site="same-site")).kind == "Origin"
    assert guard.check_request(request(LOGIN, "POST", content_type="text/plain")).status == 415


PUBLIC = PublicUrl.read("https://Perf.example:443/zlens/")


def test_public_address():
    assert (PUBLIC.origin, PUBLIC.path, str(PUBLIC)) == (
        "https://perf.example",
        "/zlens",
        "https://perf.example/zlens/",
    )
    assert str(PublicUrl.read("http://[::1]:8080")) == "http://[::1]:8080/"
    guard = Guard(public=PUBLIC)
    assert guard.check_request(request(host="perf.example")) is None
    # Proxies forward the host of the request or send the host of their target.
    assert guard.check_request(request(host="perf.example", origin="https://perf.example")) is None
    assert guard.check_request(request(origin="https://perf.example")) is None
    assert guard.check_request(request(origin="http://perf.example")).kind == "Origin"
    for origin in ("http://perf.example", "http://perf.example:443", "https://perf.example:8443"):
        for host in ("perf.example", origin.partition("//")[2]):
            assert guard.check_request(request(host=host, origin=origin)).kind == "Origin"
    assert guard.check_request(request(host="other.example")).kind == "Host"
    cookie = Guard(frozenset(), TOKEN, public=PUBLIC).session_cookie(TOKEN)
    assert cookie.endswith("; Path=/zlens/; Secure")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "perf.example",
        "ftp://perf.example",
        "https://",
        "https://perf.example:x",
        "https://me@perf.example",
        "https://perf.example/?a",
        "https://perf.example/a b",
        "https://perf.example/../x%2f",
    ],
)
def test_invalid_public_address_is_rejected(text):
    with pytest.raises(QueryError, match="is not the address of a page"):
        PublicUrl.read(text)


def test_proxy_names_user():
    proxy = Proxy.read("X-Forwarded-User", ["10.1.2.0/24", "::1"])
    guard = Guard(public=PUBLIC, proxy=proxy)
    named = {"x_forwarded_user": "MAIER", "host": "perf.example"}
    for peer in ("10.1.2.3", "::ffff:10.1.2.3", "::1"):
        assert guard.check_request(request(peer=peer, **named)) is None
        assert guard.user(request(peer=peer, **named)) == "MAIER"
    # Other peers could set any user name.
    for peer in ("10.1.3.3", "127.0.0.1", None, "nonsense"):
        assert guard.check_request(request(peer=peer, **named)).kind == "Proxy"
        assert guard.user(request(peer=peer, **named)) is None
    for user in ("", "   ", "a\x00b", "x" * 201):
        refusal = guard.check_request(request(peer="10.1.2.3", host="perf.example", x_forwarded_user=user))
        assert (refusal.status, refusal.kind) == (401, "User")
    twice = Request("GET", "/api/v1/schema", {"host": ["localhost"], "x-forwarded-user": ["A", "B"]}, "::1")
    assert guard.check_request(twice).kind == "User"


def test_direct_requests_need_token():
    guard = Guard(frozenset(), TOKEN, proxy=Proxy.read("X-User", ["unix"]))
    assert guard.check_request(request(peer=None, x_user="MAIER")) is None
    assert guard.check_request(request(x_user="MAIER")).kind == "Token"
    assert guard.check_request(request(x_user="MAIER", authorization=f"Bearer {TOKEN}")) is None
    assert guard.user(request(x_user="MAIER", authorization=f"Bearer {TOKEN}")) is None


@pytest.mark.parametrize(
    ("header", "address", "said"),
    [
        ("X User", "::1", "'X User' is not the name of a header"),
        ("", "::1", "'' is not the name of a header"),
        ("X", "host", "'host' is not the address of a proxy"),
        ("X", "1.2", "'1.2' is not the address of a proxy"),
    ],
)
def test_invalid_proxy_is_rejected(header, address, said):
    with pytest.raises(QueryError, match=said):
        Proxy.read(header, [address])
