"""Session of the file with synthetic layouts, which most tests here read."""

from __future__ import annotations

import pytest

from zlens.api import Session


@pytest.fixture(scope="session")
def session(sim_session: Session) -> Session:
    return sim_session
