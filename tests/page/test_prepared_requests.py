"""Tests that `zlens lake prepare` answers the requests that views send first."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Request

import expected
from chromium import ready, watched
from zlens.catalog import measures

#: Views of long measures, by system.
VIEWS = (("ZLSIM", "overview"), ("ZLSIM", "guests"), ("ZLSIM", "io"))
#: Keys that every request has in some form.
_SELECTION = ("id", "limit", "system", "source", "from", "to")


@pytest.mark.long
def test_prepared_requests_are_those_of_views(browser: Browser, address: str) -> None:
    sent: set[str] = set()

    def record(request: Request) -> None:
        if request.url.endswith("/aggregate"):
            body = json.loads(request.post_data or "{}")
            # Requests for chosen subjects follow from the answers to others.
            chosen = {*body.get("by", ())} & {*body.get("where", ())}
            if measures.load_measure(body["table"]).lazy and body.get("from") is None and not chosen:
                sent.add(json.dumps({key: body[key] for key in sorted(body) if key not in _SELECTION}))

    for system, view in VIEWS:
        with watched(browser, address) as page:
            page.on("request", record)
            page.goto(f"{address}/#/{view}?system={system}")
            # Further requests, such as those for findings, are not for long measures.
            ready(page, view)
    text = "[\n" + ",\n".join(sorted(sent)) + "\n]\n"
    expected.check(Path(str(resources.files("zlens.server"))) / "view_requests.json", text)
