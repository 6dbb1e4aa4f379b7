"""Tests of the precedence of requests over work in the background."""

from __future__ import annotations

import threading

import pytest

from zlens.engine.cancellation import CancelToken
from zlens.errors import CanceledError
from zlens.server import precedence
from zlens.server.endpoints import ENDPOINTS
from zlens.server.precedence import Precedence

PATIENCE_S = 60


def test_background_work_pauses_for_requests(monkeypatch):
    monkeypatch.setattr(precedence, "QUIET_S", 0.01)
    requests, done = Precedence(), threading.Event()

    def work():
        requests.pause()
        done.set()

    with requests.request(), requests.request():
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        assert not done.wait(0.2)
    assert done.wait(PATIENCE_S)
    thread.join(PATIENCE_S)


def test_pause_ends_in_spite_of_endless_requests(monkeypatch):
    monkeypatch.setattr(precedence, "MAX_PAUSE_S", 0.05)
    requests = Precedence()
    with requests.request():
        requests.pause()


def test_paused_work_can_be_canceled():
    requests, token = Precedence(), CancelToken()
    token.cancel("the server is ending")
    with requests.request(), token.current(), pytest.raises(CanceledError):
        requests.pause()


def test_urgent_requests_do_not_wait_for_findings():
    """The stages of findings pause for them: one that waits for a stage would wait for itself."""
    urgent = {endpoint.work.partition(":")[0] for endpoint in ENDPOINTS if endpoint.urgent}
    assert urgent == {"aggregate", "intervals", "peaks", "rows", "schema"}
    for endpoint in ENDPOINTS:
        assert not (endpoint.urgent and endpoint.lines), endpoint.name
