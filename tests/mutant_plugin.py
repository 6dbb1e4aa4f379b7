"""Pytest plugin of `mutants.py`: records what reaches a mutant, or selects tests.

MUTANT_TEST in the environment is the current test, shared fixture or import of a test file. Programs that
tests start inherit it. Caches are cleared before the first test of a file, so that its own tests reach what
it needs.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

LOG = os.environ["MUTANT_LOG"]
REACH = os.environ["MUTANT"] == "-1"
#: Names of tests, without duplicates.
CHOSEN = {} if REACH else dict.fromkeys(json.loads(Path(os.environ["MUTANT_TESTS"]).read_text("utf-8")))
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
_seconds: dict[str, float] = {}
_file = None


def write(*entry: Any) -> None:
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(json.dumps(entry) + "\n")


@contextmanager
def running(name: str) -> Iterator[None]:
    before = os.environ.get("MUTANT_TEST", "")
    os.environ["MUTANT_TEST"] = name.replace("\0", "")
    try:
        yield
    finally:
        os.environ["MUTANT_TEST"] = before


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Collect only files of chosen tests, with their usual conftest.py."""
    wanted = [Path(one.split("::")[0]) for one in CHOSEN]
    ignored = (
        not REACH
        and collection_path.suffix == ".py"
        and collection_path.relative_to(Path.cwd()) not in wanted
    )
    return ignored or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Select the chosen tests, file by file in the order of choice."""
    if not REACH:
        files = list(dict.fromkeys(one.split("::")[0] for one in CHOSEN))
        items[:] = [item for item in items if item.nodeid in CHOSEN]
        items.sort(key=lambda item: files.index(item.nodeid.split("::")[0]))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    with running(f"import {collector.nodeid}"):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    global _file
    if REACH:
        if item.path != _file:
            _file = item.path
            os.environ["XDG_CACHE_HOME"] = f"{LOG}.cache/{WORKER}{item.path.stem}"
            for one in gc.get_objects():
                if isinstance(one, functools._lru_cache_wrapper) and _is_ours(one):
                    one.cache_clear()
        fixtures = item._fixtureinfo.name2fixturedefs.values()  # type: ignore[attr-defined]
        write("uses", item.nodeid, [_name(last[-1]) for last in fixtures if last[-1].scope != "function"])
    with running(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[None]:
    if fixturedef.scope == "function":
        return (yield)
    began = time.monotonic()
    with running(_name(fixturedef)):
        result = yield
    if REACH:
        write("setup", _name(fixturedef), round(time.monotonic() - began, 3))
    return result


def pytest_runtest_logstart(nodeid: str) -> None:
    if not REACH:
        write("start", nodeid, time.monotonic())


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not WORKER:
        _seconds[report.nodeid] = _seconds.get(report.nodeid, 0) + report.duration
        if report.failed or report.when == "teardown" or report.skipped:
            write("end", report.nodeid, report.outcome, round(_seconds[report.nodeid], 3))


def _name(fixture: Any) -> str:
    return f"fixture {fixture.baseid} {fixture.argname}"


def _is_ours(function: Any) -> bool:
    code = getattr(getattr(function, "__wrapped__", None), "__code__", None)
    return bool(code) and ("/python/zlens/" in code.co_filename or "/tests/" in code.co_filename)
