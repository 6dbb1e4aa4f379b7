"""What most tests here ask: the file written with zlens' own pack."""

from __future__ import annotations

import pytest

from zlens.api import Session


@pytest.fixture(scope="session")
def session(sim_session: Session) -> Session:
    return sim_session
