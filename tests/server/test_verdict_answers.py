"""Tests of /verdict: the sentences of the library, and causes outside the window."""

from __future__ import annotations

from datetime import UTC, datetime


def test_verdict_equals_that_of_session(served):
    response = served.get("verdict", system="ZLDEMO")
    assert response.status_code == 200, response.text
    answer = response.json()
    assert answer["text"].startswith(
        "CPU 3 was offline from 09:07:20 to 09:13:40: the processors (3 online) were"
    )
    texts = ["".join(clause["before"] + clause["text"] for clause in part) for part in answer["sentences"]]
    assert answer["text"] == " ".join(f"{text}." for text in texts)
    first = answer["sentences"][0][0]
    assert (first["view"], first["settings"]) == ("processors", {"cpu": "3"})
    assert first["from"] == datetime(2010, 3, 9, 8, 2, 20, tzinfo=UTC).timestamp()


def test_cause_before_window_is_found(served):
    """The window has the busy minutes only: the processor was varied off before it."""
    window = {"from": "2010-03-09T08:09:00Z", "to": "2010-03-09T08:12:00Z"}
    text = served.get("verdict", system="ZLDEMO", **window).json()["text"]
    assert text.startswith("CPU 3 was offline from 09:07:20 to 09:13:40: the processors (3 online) were")
    quiet = {"from": "2010-03-09T07:40:00Z", "to": "2010-03-09T07:50:00Z"}
    text = served.get("verdict", system="ZLDEMO", **quiet).json()["text"]
    assert text.startswith("No finding needs a cause: of ")
    # What happened outside the window is not stated.
    assert "CPU 3" not in text
    assert served.get("verdict", system="NONE").status_code == 400
