"""Programs that only some tests run: how each is installed, and which of them a test used or missed."""

from __future__ import annotations

import os

import pytest

#: How each is installed, which is also the reason for skipping a test without it.
TOOLS = {
    "cargo": "https://rustup.rs",
    "chromium": "make packages",
    "collector": "make collector",
    "emulated forwarder": "make forward-s390x",
    "nginx": "make packages",
    "node modules": "make page",
    "openssl": "apt-get install openssl",
    "pcp": "make pcp",
    "prometheus": "make prometheus",
    "systemd-analyze": "apt-get install systemd",
    "trino": "make trino",
    "zensical": "make docs",
}
#: CI requires the tests of these.
_IN_CI = frozenset({"chromium", "nginx", "node modules"})

#: Tools that tests of this process used; conftest.py reports them.
used: set[str] = set()


def reason(name: str) -> str:
    """Return why a test without a tool is skipped."""
    return f"no {name}: {TOOLS[name]}"


def require(name: str, *, present: bool) -> None:
    """Note the use of a tool, or skip the test without it; CI fails without some of them."""
    if present:
        used.add(name)
    elif name in _IN_CI and os.environ.get("CI"):
        pytest.fail(reason(name))
    else:
        pytest.skip(reason(name))
