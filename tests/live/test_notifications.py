"""Tests of commands and webhooks that receive findings."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from zlens.errors import QueryError
from zlens.live.notifications import MOST, CommandHook, Notifier, Webhook

A, B = {"a": {"rule": "A"}}, {"b": {"rule": "B"}}


class Kept:
    """A hook that stores its messages."""

    def __init__(self) -> None:
        self.messages: list[dict[str, list[dict[str, str]]]] = []

    def send(self, message: bytes) -> str | None:
        self.messages.append(json.loads(message))
        return None

    @property
    def rule_changes(self) -> list[tuple[list[str], list[str]]]:
        return [
            ([row["rule"] for row in one["opened"]], [row["rule"] for row in one["cleared"]])
            for one in self.messages
        ]


def test_appearing_and_clearing_is_notified_once() -> None:
    kept = Kept()
    hooks = Notifier([kept], pause_s=0)
    for second, findings in enumerate([A, A, A | B, B, {}, {}]):
        hooks.observe(findings, second)
    hooks.close()
    assert kept.rule_changes == [(["A"], []), (["B"], []), ([], ["A"]), ([], ["B"])]


def test_no_finding_sends_no_notification() -> None:
    kept = Kept()
    hooks = Notifier([kept])
    hooks.observe({}, 0)
    hooks.close()
    assert kept.rule_changes == []


def test_flapping_findings_are_held_back() -> None:
    """Hysteresis: open for 10 s before a notification, absent for 10 s before it is cleared."""
    kept = Kept()
    hooks = Notifier([kept], hold_s=10, pause_s=0)
    # Open for 5 s, then absent: no notification.
    hooks.observe(A, 0)
    hooks.observe(A, 5)
    hooks.observe({}, 6)
    # The finding opens again: the earlier time does not count.
    hooks.observe(A, 8)
    hooks.observe(A, 17)
    assert kept.rule_changes == []
    hooks.observe(A, 18)
    # Absent for less than 10 s.
    hooks.observe({}, 20)
    hooks.observe(A, 25)
    hooks.observe({}, 30)
    hooks.observe({}, 39)
    hooks.observe({}, 40)
    hooks.close()
    assert kept.rule_changes == [(["A"], []), ([], ["A"])]


def test_message_rate_is_limited() -> None:
    kept = Kept()
    hooks = Notifier([kept], pause_s=60)
    hooks.observe(A, 0)
    hooks.observe(A | B, 10)
    # In between, another finding opens and clears.
    hooks.observe(A | B | {"c": {"rule": "C"}}, 20)
    hooks.observe(B, 30)
    hooks.observe(B, 59)
    hooks.observe(B, 60)
    hooks.close()
    assert kept.rule_changes == [(["A"], []), (["B"], ["A"])]


def test_finding_back_before_next_message_is_not_cleared() -> None:
    kept = Kept()
    hooks = Notifier([kept], pause_s=60)
    hooks.observe(A, 0)
    hooks.observe({}, 10)
    hooks.observe(A, 20)
    hooks.observe(A, 60)
    hooks.close()
    assert kept.rule_changes == [(["A"], [])]


def test_close_sends_pending_notifications() -> None:
    kept = Kept()
    hooks = Notifier([kept], pause_s=60)
    hooks.observe(A, 0)
    hooks.observe({}, 1)
    hooks.close()
    assert kept.rule_changes == [(["A"], []), ([], ["A"])]


def test_notification_is_bounded() -> None:
    kept = Kept()
    hooks = Notifier([kept])
    hooks.observe({number: {"rule": str(number)} for number in range(MOST + 7)}, 0)
    hooks.close()
    [message] = kept.messages
    assert len(message["opened"]) == MOST
    assert message["more"] == 7


def test_slow_webhook_does_not_delay_monitor() -> None:
    """Messages beyond its capacity are dropped, reported and counted in the next message."""
    release, kept, said = threading.Event(), Kept(), []

    class Slow:
        def send(self, message: bytes) -> str | None:
            release.wait(30)
            return kept.send(message)

    hooks = Notifier([Slow()], pause_s=0, problem=said.append)
    for number in range(200):
        hooks.observe({number: {"rule": str(number)}}, number)
    assert said
    assert "discarded" in said[0]
    release.set()
    hooks.close(30)
    assert len(kept.messages) < 200


def test_command_gets_json_without_shell(tmp_path: Path) -> None:
    target = tmp_path / "out; touch x.json"
    code = "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"
    command = CommandHook((sys.executable, "-c", code, str(target)))
    assert command.send(b'{"a": 1}') is None
    assert json.loads(target.read_bytes()) == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize(
    ("code", "timeout_s", "said"),
    [("raise SystemExit(3)", 60, "status 3"), ("import time; time.sleep(60)", 0.5, "ended after 0.5 s")],
)
def test_failing_command_hook_is_reported(code: str, timeout_s: float, said: str) -> None:
    found = CommandHook((sys.executable, "-c", code), timeout_s=timeout_s).send(b"{}")
    assert found is not None
    assert said in found


def test_command_hook_needs_program() -> None:
    assert CommandHook.from_line(f"'{sys.executable}' -c pass").send(b"{}") is None
    for text, said in (
        ("no-such-program-here --now", "there is no program 'no-such-program-here'"),
        ("", "there is no program ''"),
        ("'open", '"\'open" is not a command; expected a program and its arguments'),
    ):
        with pytest.raises(QueryError, match=said):
            CommandHook.from_line(text)


@contextmanager
def receiving(*statuses: int) -> Iterator[tuple[str, list[bytes]]]:
    """Run a receiver that answers with these statuses; return its address and the requests."""
    left, got = list(statuses), []

    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["content-length"])))
            status = left.pop(0) if left else 200
            self.send_response(status)
            if status == 302:
                self.send_header("location", "/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", got
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("statuses", "tries", "said"),
    [
        ((200,), 1, None),
        ((500, 503, 204), 3, None),
        ((500, 500, 500, 500), 3, "answered 500"),
        ((429, 200), 2, None),
        # A retry would not help.
        ((404,), 1, "answered 404"),
        # Redirects are not followed.
        ((302,), 1, "answered 302"),
    ],
)
def test_webhook_retries(statuses: tuple[int, ...], tries: int, said: str | None) -> None:
    waited: list[float] = []
    with receiving(*statuses) as (url, got):
        problem = Webhook(url, sleep=waited.append).send(b"{}")
    assert len(got) == tries
    assert waited == [1.0, 2.0][: tries - 1]
    assert problem is None if said is None else said in str(problem)


def test_unreachable_webhook_is_reported() -> None:
    with receiving() as (url, _):
        pass
    problem = Webhook(url, tries=1).send(b"{}")
    assert problem is not None
    assert "cannot be reached" in problem


@pytest.mark.parametrize(
    "url", ["", "file:///etc/passwd", "ftp://host/x", "http://", "http://a:b@host/", "http://[::1"]
)
def test_invalid_webhook_addresses_are_rejected(url: str) -> None:
    with pytest.raises(QueryError, match="not an address"):
        Webhook.from_url(url)


def test_webhook_address() -> None:
    assert Webhook.from_url("https://hooks.example/zlens").url == "https://hooks.example/zlens"
