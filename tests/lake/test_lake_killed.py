"""Tests of killed and concurrent imports, and of readers during removal."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from iterations import iterations, quick_subset
from lake_builder import configuration, differences, recording, samples, tables, write
from zlens import lake
from zlens.inputs.options import Options, parse_time_spec
from zlens.lake import file_names

#: Forks a child for every input line (lake and files); prints its process id, then its exit status.
SERVER = """
import os, sys, traceback
from zlens import lake
from zlens.lake import importer
for line in sys.stdin:
    lake_path, *files = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for file in files:
                lake.add([file], lake_path)
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""

#: Exits with status 9 after moving the first file of an import.
DYING = """
import os, sys
from zlens import lake
move = os.replace
def moved(path, target):
    move(path, target)
    if str(target).endswith(".parquet"):
        os._exit(9)
os.replace = moved
lake.add([sys.argv[1]], sys.argv[2])
"""


class Server:
    """Runs imports in forked processes, without the startup time of a program."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def begin(self, lake_path: Path, *files: str) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join([str(lake_path), *files]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextlib.contextmanager
def served() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.close()


def few(path: Path, numbers: range) -> str:
    """Write a file with one kind of sample."""
    groups = [configuration(numbers[0])]
    for at in numbers:
        records = samples(at, devices=())
        groups.append((True, 0x80, 0, 0x0400, [*records[:-3], records[-1]]))
    return write(path, groups)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("killed")
    return [few(folder / f"{at}.data", range(at * 3, at * 3 + 3)) for at in range(3)]


def seen(inputs: Path | list[str]) -> list[tuple[object, ...]]:
    columns = "tod, sytprp_pfxcpuad, sytprp_pfxutime, sytprp_pfxutime_d, seconds, interval_end"
    with zlens.open(inputs) as session:
        return session.sql(f"SELECT {columns} FROM d0r2 ORDER BY ALL").rows


def test_killed_import_leaves_consistent_lake(tmp_path: Path, files: list[str]) -> None:
    base, lake_path = tmp_path / "base", tmp_path / "lake"
    lake.add([files[1]], base)
    # Valid contents of the lake: one, two or three complete files.
    stages = [seen(some) for some in ([files[1]], files[:2], files)]
    moments = random.Random(29)
    reached, kills = [], iterations(20, 2)
    with served() as server:
        server.begin(tmp_path / "timed", files[1])
        server.end()
        begin = time.monotonic()
        server.begin(tmp_path / "timed", files[0], files[2])
        assert server.end() == 0
        whole = time.monotonic() - begin
        stage = len(stages) - 1
        for _ in range(kills):
            if stage == len(stages) - 1:
                shutil.rmtree(lake_path, ignore_errors=True)
                shutil.copytree(base, lake_path)
                stage = 0
            child = server.begin(lake_path, files[0], files[2])
            time.sleep(moments.uniform(0, whole))
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            server.end()
            # No file is partial, duplicate or lost.
            shown = seen(lake_path)
            assert shown in stages[stage:]
            stage = stages.index(shown)
            reached.append(stage)
            assert {fault.kind for fault in lake.check(lake_path).faults} <= {"orphan"}
            if stage == len(stages) - 1 or len(reached) == kills:
                # The same command imports the missing files and removes leftovers.
                lake.add([files[0], files[2]], lake_path)
                assert seen(lake_path) == stages[-1]
                assert lake.check(lake_path).faults == []
                assert not list((lake_path / file_names.STAGING).iterdir())
    # This many kills hit every stage.
    assert kills < 20 or set(reached) == {0, 1, 2}


KILLED = """
import os, signal, sys
from zlens import lake
from zlens.lake import lake_folder
number, after = {number}, {after}
real, count = os.replace, 0
def replace(source, target):
    global count
    count += 1
    manifest = str(target).endswith("manifest.json")
    mine = manifest if number < 0 else count == number
    if mine and not after:
        os.kill(os.getpid(), signal.SIGKILL)
    real(source, target)
    if mine:
        os.kill(os.getpid(), signal.SIGKILL)
lake_folder.os.replace = replace
lake.add([{file!r}], {lake_path!r})
"""


@pytest.mark.parametrize(
    ("number", "after"),
    quick_subset(1, [(-1, False), (7, True), (-1, True), (1, False)], several=True),
)
def test_import_killed_during_commit(tmp_path: Path, files: list[str], number: int, after: bool) -> None:
    lake_path = tmp_path / "lake"
    lake.add([files[0]], lake_path)
    code = KILLED.format(number=number, after=after, file=files[1], lake_path=str(lake_path))
    done = subprocess.run([sys.executable, "-c", code], timeout=60)
    assert done.returncode == -signal.SIGKILL
    there = number < 0 and after
    assert seen(lake_path) == seen(files[: 1 + there])
    faults = lake.check(lake_path).faults
    assert {fault.kind for fault in faults} == (set() if there or number == 1 else {"orphan"})
    # Every import cleans up, also one that adds nothing.
    lake.add([files[0]], lake_path)
    assert lake.check(lake_path).faults == []
    assert not list((lake_path / file_names.STAGING).iterdir())
    lake.add([files[1]], lake_path)
    assert seen(lake_path) == seen(files[:2])


def test_killed_first_import_leaves_lake(tmp_path: Path, files: list[str]) -> None:
    lake_path = tmp_path / "lake"
    dying = subprocess.run([sys.executable, "-c", DYING, files[0], str(lake_path)], check=False)
    assert dying.returncode == 9
    assert [path for path in lake_path.rglob("*.parquet") if file_names.STAGING not in path.parts]
    lake.add([files[0]], lake_path)
    assert seen(lake_path) == seen([files[0]])
    assert lake.check(lake_path).faults == []


@pytest.mark.long
def test_concurrent_imports(tmp_path: Path) -> None:
    files = [few(tmp_path / f"{at}.data", range(at * 2, at * 2 + 2)) for at in range(5)]
    lake_path = tmp_path / "lake"
    with served() as one, served() as two, served() as three:
        one.begin(lake_path, *files[:3])
        two.begin(lake_path, *reversed(files[2:]))
        three.begin(lake_path, files[3], files[2], files[1])
        assert [server.end() for server in (one, two, three)] == [0, 0, 0]
    assert len(lake.contents(lake_path).inputs) == 5
    assert lake.check(lake_path).faults == []
    assert seen(lake_path) == seen(files)


def test_staging_of_live_process_is_preserved(tmp_path: Path, files: list[str]) -> None:
    """Staging is removed only after its owner has died."""
    from zlens.lake.lake_folder import LakeFolder

    lake_path = tmp_path / "lake"
    lake.add([files[0]], lake_path)
    dead = lake_path / file_names.STAGING / "1-dead"
    dead.mkdir()
    (dead / "something").write_bytes(b"x")
    with LakeFolder(lake_path).staging() as staged:
        (staged.path / "mine").write_bytes(b"x")
        lake.add([files[1]], lake_path)
        assert (staged.path / "mine").exists()
        assert not dead.exists()


def test_open_session_survives_removal(tmp_path: Path, files: list[str]) -> None:
    lake_path = tmp_path / "lake"
    lake.add(files, lake_path)
    expected = seen(lake_path)
    session = zlens.open(lake_path)
    removal = lake.forget(
        lake_path, Options(systems=("LAKETEST",), start=parse_time_spec("2026-03-02 10:03Z"))
    )
    assert [path for _, path in removal.gone] == files[1:]
    assert removal.waiting > 0
    rows = session.sql("SELECT tod, sytprp_pfxcpuad, sytprp_pfxutime_d FROM d0r2 ORDER BY ALL").rows
    assert rows == [(row[0], row[1], row[3]) for row in expected]
    assert seen(lake_path) == seen(files[0:1])
    assert lake.contents(lake_path).waiting == removal.waiting
    assert lake.check(lake_path).faults == []
    session.close()
    del session
    gc.collect()
    lake.add([files[0]], lake_path)
    assert lake.contents(lake_path).waiting == 0
    assert lake.check(lake_path).faults == []
    assert differences(tables(lake_path), tables(files[0:1])) == []


def test_read_only_lake_is_read(tmp_path: Path, files: list[str]) -> None:
    lake_path = tmp_path / "lake"
    lake.add([files[0]], lake_path)
    for name in (file_names.LOCK, file_names.READERS):
        (lake_path / name).unlink(missing_ok=True)
    lake_path.chmod(0o555)
    try:
        assert seen(lake_path) == seen(files[0:1])
        assert not (lake_path / file_names.READERS).exists()
    finally:
        lake_path.chmod(0o755)


def test_removed_days_can_be_imported_again(tmp_path: Path) -> None:
    """Days are removed input by input; inputs partly within them are reported and stay."""
    files = [
        write(tmp_path / f"{system}.data", recording(range(0, 4), system=system)) for system in ("ONE", "TWO")
    ]
    lake_path = tmp_path / "lake"
    lake.add(files, lake_path)
    removal = lake.forget(lake_path, Options(start=parse_time_spec("2026-03-02 10:02Z")))
    assert (removal.gone, sorted(removal.kept)) == ([], [("ONE", files[0]), ("TWO", files[1])])
    dry = lake.forget(lake_path, Options(systems=("TWO",)), dry_run=True)
    assert dry.gone == [("TWO", files[1])]
    assert [one.system for one in lake.contents(lake_path).systems] == ["ONE", "TWO"]
    assert lake.forget(lake_path, Options(systems=("TWO",))).gone == dry.gone
    assert [one.system for one in lake.contents(lake_path).systems] == ["ONE"]
    lake.add(files, lake_path)
    assert differences(tables(lake_path), tables(files)) == []
