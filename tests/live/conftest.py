"""Fixture that limits live computation to a few measures, except with --all."""

from __future__ import annotations

import pytest
from replay import compared_measures

from zlens.live.watcher import Watcher


@pytest.fixture(autouse=True)
def few_measures_of_live(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Watcher._names
    chosen = {*compared_measures(), "event"}
    monkeypatch.setattr(
        Watcher, "_names", staticmethod(lambda session: [name for name in names(session) if name in chosen])
    )
