"""Fixtures and hooks of all tests."""

from __future__ import annotations

import fcntl
import functools
import gc
import hashlib
import os
import random
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import expected
import iterations
import long_tests
import outcomes
import tools
import zlens
from zlens import demo
from zlens.api import Session
from zlens.stores import bucket_sql

# In the background of a script, a program and its children ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Other tests slow an example down, so there is no deadline.
# In CI the examples are the same in each run, elsewhere new; a failure prints how to repeat its example.
settings.register_profile("zlens", deadline=None, max_examples=25, print_blob=True)
settings.register_profile("zlens-ci", settings.get_profile("zlens"), derandomize=True)
settings.register_profile("zlens-all", settings.get_profile("zlens"), max_examples=100)

# Lakes and spools sync their files thousands of times in a run, which takes no time in memory.
_MEMORY = "/dev/shm"
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free >= 8 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)

# Without bytecode, this process and the programs it starts would compile all modules again, which takes
# longer than most tests run.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / "target" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

_CPU_CLOCK = long_tests.CpuClock()

#: A test of a minute: started last, it would run while the other processors are idle.
LONGEST = "test_guide.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all",
        action="store_true",
        help="tests marked long too, many rounds of the others, and new random numbers",
    )
    parser.addoption("--seed", type=int, help="random numbers of an earlier run with --all, or new ones")
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="modules, and tests in them, in random order"
    )
    parser.addoption("--update", action="store_true", help="write expected texts; review the diff")
    parser.addoption(
        "--record-long",
        action="store_true",
        help="renew the list of tests that take long, for those that ran",
    )


def pytest_configure(config: pytest.Config) -> None:
    # The cache persists between runs but is private to this checkout: others would evict its entries.
    cache = getattr(config, "cache", None)
    os.environ["XDG_CACHE_HOME"] = str(cache.mkdir("zlens")) if cache else ""
    if config.getoption("--update"):
        expected.update()
    everything = config.getoption("--all")
    settings.load_profile("zlens-all" if everything else "zlens-ci" if os.environ.get("CI") else "zlens")
    if everything and config.option.seed is None:
        config.option.seed = getattr(config, "workerinput", {}).get("seed", random.randrange(10**6))
    if config.option.seed is not None:
        iterations.set_seed(config.option.seed)
    if everything:
        iterations.run_all()
    elif not config.option.markexpr:
        config.option.markexpr = "not long"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the seed to all workers; the process that starts them prints it."""
    node.workerinput["seed"] = node.config.option.seed


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark long tests before some are selected; start the longest first if tests run in parallel."""
    long_tests.mark(items)
    if config.option.shuffle is None:
        items.sort(key=lambda item: item.path.name != LONGEST)
    else:
        # Tests of a module stay together, so that its fixtures are created once.
        draw = random.Random(config.option.shuffle)
        places = {path: draw.random() for path in dict.fromkeys(item.path for item in items)}
        draw.shuffle(items)
        items.sort(key=lambda item: places[item.path])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without garbage collection, a quarter of the time: nearly all objects stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exclude objects that live until the end from garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report tools used and CPU time to the process that prints the summary: tests may run in a worker."""
    report = yield
    report.user_properties += [("tool", name) for name in sorted(tools.used)]
    report.user_properties += [("cpu", _CPU_CLOCK.lap())]
    tools.used.clear()
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print skipped tests by reason, and how to repeat the numbers and the order of a failed run."""
    if hasattr(config, "workerinput"):
        # A worker reports its tests to the process that prints the summary.
        return
    outcomes.summarize(terminalreporter, config.option)
    if config.getoption("--record-long"):
        long_tests.record(report for stat in terminalreporter.stats.values() for report in stat)


@functools.cache
def _program() -> str:
    """Return a digest of the program, its pages, and the tests that run them."""
    root = Path(__file__).parents[1]
    folders = (root / "python" / "zlens", root / "docs", root / "examples")
    found = [
        path for folder in folders for path in sorted(folder.rglob("*")) if "__pycache__" not in path.parts
    ]
    pages = [*sorted(root.glob("*.md")), *sorted(Path(__file__).parent.glob("*.py"))]
    total = hashlib.sha256()
    for path in filter(Path.is_file, [*found, *pages]):
        total.update(f"{path.relative_to(root)}\n{path.stat().st_size}\n".encode() + path.read_bytes())
    return total.hexdigest()


@pytest.fixture
def unless_unchanged(request: pytest.FixtureRequest) -> Iterator[None]:
    """Skip the test of a page and its commands if nothing has changed since it passed."""
    cache, key = request.config.cache, f"zlens/passed/{request.node.name}"
    if cache is None or request.config.getoption("--all"):
        yield
        return
    if cache.get(key, "") == _program():
        pytest.skip("as it was when it passed")
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed == failed:
        cache.set(key, _program())


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo files, written once for all workers; read-only."""
    # A worker's folder is below one that all workers share.
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "demo"
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = folder.with_suffix(".new")
            demo.write(unfinished)
            unfinished.rename(folder)
    return folder


@pytest.fixture(scope="session")
def demo_files(demo_folder: Path) -> list[Path]:
    """The files as `demo.write` lists them."""
    names = (demo.MONWRITE_NAME, demo.RMF_NAME, demo.SMF_NAME, demo.SIM_NAME)
    return [demo_folder / name for name in names]


@pytest.fixture(scope="session")
def sim_file(demo_folder: Path) -> Path:
    """The demo's second z/VM: partitions, cores of two threads, guests."""
    return demo_folder / demo.SIM_NAME


@pytest.fixture(scope="session")
def sim_session(sim_file: Path) -> Iterator[Session]:
    """Shared read-only session of `sim_file`."""
    with zlens.open([sim_file]) as opened:
        yield opened


@pytest.fixture(scope="session")
def dump_session(demo_folder: Path) -> Iterator[Session]:
    """Shared read-only session of the demo's SMF dump."""
    with zlens.open([demo_folder / demo.SMF_NAME]) as opened:
        yield opened


@pytest.fixture
def few_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit rollups of a lake to three measures, for tests of when they are computed."""
    monkeypatch.setattr(bucket_sql, "measures", lambda: ["cpu", "guest", "load"])
