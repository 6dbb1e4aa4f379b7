"""Tests of a lake on object storage: it equals a local lake despite network errors and other writers."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_lake_killed import few, seen

import zlens
from faulty_s3 import BUCKET, ObjectStore
from iterations import iterations, quick_subset
from lake_builder import differences, recording, tables, write
from zlens import lake, stores
from zlens.cli import main
from zlens.errors import InputError, LakeError
from zlens.inputs.options import Options, parse_time_spec
from zlens.lake import object_store, rollup_reader
from zlens.lake.lake_folder import LakeFolder
from zlens.lake.retention import UNMEASURED
from zlens.stores import consolidation

ADD = "import sys; from zlens import lake; lake.add(sys.argv[2:], sys.argv[1])"
COMMIT = "import sys; from zlens import lake; lake.commit(sys.argv[2:], sys.argv[1])"


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    object_store = ObjectStore()
    yield object_store
    object_store.close()


@pytest.fixture(autouse=True)
def environment(store: ObjectStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    away(monkeypatch, tmp_path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("remote")
    return [few(folder / f"{at}.data", range(at * 3, at * 3 + 3)) for at in range(3)]


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"s3://{BUCKET}/{request.node.name.replace('[', '-').replace(']', '')}"


def elsewhere(cache: Path) -> str:
    """Return a cache without copies of lakes that shares the caches of the catalog."""
    (cache / "zlens").mkdir(parents=True)
    for kind in Path(os.environ["XDG_CACHE_HOME"]).glob("zlens/*"):
        if kind.name != "lakes":
            (cache / "zlens" / kind.name).symlink_to(kind.resolve())
    return str(cache)


def away(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Continue as on another machine, without a local copy."""
    monkeypatch.setenv("XDG_CACHE_HOME", elsewhere(folder / f"cache{time.monotonic_ns()}"))
    object_store.open_remote.cache_clear()


def prefix(url: str) -> str:
    return url.removeprefix(f"s3://{BUCKET}/")


def begin(code: str, cache: Path, *words: object) -> subprocess.Popen[bytes]:
    """Start a process as on another machine."""
    environment = {**os.environ, "XDG_CACHE_HOME": elsewhere(cache)}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, words)], env=environment)


@pytest.mark.long
def test_remote_lake_equals_folder(
    store: ObjectStore,
    url: str,
    files: list[str],
    demo_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inputs = [files[0], str(demo_folder / "zlzos.smf")]
    lake.add(inputs, tmp_path / "lake")
    lake.add(inputs, url)
    here = {name: (tmp_path / "lake" / name).read_bytes() for name in LakeFolder(tmp_path / "lake").files()}
    there = store.objects(prefix(url))
    assert {*there} == {*here} - {".lock", ".readers"}
    assert {name for name in there if there[name] != here[name]} == {"manifest.json"}
    away(monkeypatch, tmp_path)
    query = "SELECT * FROM cpu ORDER BY ALL"
    with zlens.open(tmp_path / "lake") as one, zlens.open(url) as other:
        assert one.sql(query).rows == other.sql(query).rows != []
        assert [info.files for info in one.systems] == [info.files for info in other.systems]
    assert lake.check(url).faults == []
    contents = [lake.contents(each) for each in (url, tmp_path / "lake")]
    one, other = ([(each.sha256, each.systems, each.amount) for each in of.inputs] for of in contents)
    assert one == other
    assert len(one) == 2


def test_query_fetches_only_needed_objects(
    store: ObjectStore, url: str, demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.add([demo_folder / "zldemo.monwrite"], url)
    away(monkeypatch, tmp_path)
    store.requests.clear()
    with zlens.open(url, options=Options(systems=("ZLDEMO",))) as session:
        rows = session.sql("SELECT count(*) FROM d0r2").rows
    fetched = {path for method, path in store.requests if method == "GET" and path.endswith(".parquet")}
    assert rows[0][0] > 0
    assert {path.split("/")[3] for path in fetched} == {"d0r2"}
    store.requests.clear()
    with zlens.open(url, options=Options(systems=("ZLDEMO",))) as session:
        assert session.sql("SELECT count(*) FROM d0r2").rows == rows
    # The second time, only the manifest is checked for changes.
    assert {path.rpartition("/")[2] for _, path in store.requests} == {"manifest.json"}


def test_remote_lake_lifecycle(url: str, demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.add([demo_folder / "zlzos.smf"], url)
    assert [rolled.systems for rolled in stores.rollup(url)] == [["ZLZ1"]]
    with zlens.open(url) as session:
        before = session.sql("SELECT * FROM load_day ORDER BY ALL").rows
    gone = lake.forget_raw(url, 86_400, even_if_lost=[UNMEASURED])
    assert len(gone.gone) == 1
    assert gone.waiting > 0
    with zlens.open(url) as session:
        assert session.sql("SELECT * FROM load_day ORDER BY ALL").rows == before
        assert session.sql("SELECT * FROM load").rows == []
    assert lake.check(url).faults == []
    assert lake.check(url).waiting == gone.waiting


@pytest.mark.long
def test_remote_rollups_are_consolidated(
    url: str, tmp_path: Path, few_measures: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (rollup_reader, consolidation):
        monkeypatch.setattr(module, "MIN_CONSOLIDATED_SYSTEMS", 2)
    both = ("FIRST", "SECOND")
    lake.add([write(tmp_path / name, recording(range(3), system=name)) for name in both], url)
    stores.rollup(url)
    question = "SELECT * FROM load_hour ORDER BY ALL"
    with zlens.open(url) as session:
        gathered = session.sql(question).rows
        paths = [path for table in session._core.sources[-1].tables["load_hour"] for path in table.paths]  # type: ignore[attr-defined]
    assert paths
    assert not any("system=" in path for path in paths)
    with monkeypatch.context() as apart, zlens.open(url) as session:
        apart.setattr(rollup_reader, "MIN_CONSOLIDATED_SYSTEMS", 1_000)
        assert session.sql(question).rows == gathered
    assert {row[0] for row in gathered} == {*both}
    assert lake.check(url).faults == []
    lake.forget(url, Options(systems=("SECOND",)))
    with zlens.open(url) as session:
        assert {row[0] for row in session.sql(question).rows} == {"FIRST"}
    assert lake.check(url).faults == []


@pytest.mark.long
@pytest.mark.parametrize("number", range(iterations(20, 1)))
def test_three_writers_at_once(number: int, url: str, files: list[str], tmp_path: Path) -> None:
    # The boundary between them is correct, whatever the order.
    processes = [begin(ADD, tmp_path / f"own{at}", url, file) for at, file in enumerate(files)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert lake.check(url).faults == []
    assert differences(tables(url), tables(files)) == []


@pytest.mark.long
def test_same_inputs_from_two_commits_at_once(url: str, files: list[str], tmp_path: Path) -> None:
    lake.stage(files, tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    processes = [begin(COMMIT, tmp_path / f"own{area}", url, tmp_path / area) for area in ("one", "two")]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    assert len(lake.contents(url).inputs) == 3
    assert lake.check(url).faults == []
    assert differences(tables(url), tables(files)) == []


@pytest.mark.long
@pytest.mark.parametrize("at", quick_subset(1, ["manifest.json", ".parquet"]))
def test_killed_remote_writer_leaves_nothing(
    at: str, store: ObjectStore, url: str, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.add(files[:1], url)
    before = seen(url)
    store.requests.clear()

    def reached() -> bool:
        return any(method == "PUT" and path.endswith(at) for method, path in store.requests)

    store.late_s = 30.0
    with store.fault("late", lambda method, path: method == "PUT" and path.endswith(at), times=100):
        process = begin(ADD, tmp_path / "own", url, files[1])
        while not reached():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    store.late_s = 3.0
    assert seen(url) == before
    assert lake.check(url).faults == []
    left = {*store.objects(prefix(url))}
    assert any(name.startswith(".staging/") for name in left)
    # A day later, the next writer removes only these leftovers.
    monkeypatch.setattr(object_store, "GRACE_S", -5)
    lake.add(files[2:], url)
    assert {name for name in store.objects(prefix(url)) if name.startswith(".staging/")} == set()
    monkeypatch.setattr(object_store, "GRACE_S", 86_400)
    lake.add(files[1:2], url)
    assert lake.check(url).faults == []
    assert differences(tables(url), tables(files)) == []


#: A network error, the requests it affects, and whether an import recovers.
FAULTS = [
    # Written, but the response is lost: the repeated request is refused.
    ("lost", "PUT", "manifest.json", True),
    # As if another writer committed first: the import starts again.
    (412, "PUT", "manifest.json", True),
    (503, "PUT", ".parquet", True),
    ("cut", "GET", "document.json", True),
    (403, "PUT", "manifest.json", False),
    ("late", "PUT", "manifest.json", True),
    (503, "PUT", "manifest.json", True),
    (503, "GET", "manifest.json", True),
    (500, "GET", "document.json", True),
    ("cut", "GET", "manifest.json", True),
    ("late", "PUT", ".parquet", True),
    ("late", "GET", "manifest.json", True),
    ("lost", "PUT", ".parquet", True),
    ("lost", "PUT", ".staging/", True),
    (403, "GET", "manifest.json", False),
]


@pytest.mark.parametrize("fault", quick_subset(1, FAULTS), ids=lambda fault: "-".join(map(str, fault)))
def test_network_errors_are_retried(
    fault: tuple[str | int, str, str, bool],
    store: ObjectStore,
    url: str,
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind, method, name, over = fault
    monkeypatch.setattr(object_store, "TIMEOUT_S", 1.0)
    lake.add(files[:1], url)
    before = seen(url)
    away(monkeypatch, tmp_path)
    own = f"/{BUCKET}/{prefix(url)}"
    with store.fault(kind, lambda verb, path: verb == method and name in path.removeprefix(own)):
        if over:
            lake.add(files[1:2], url)
        else:
            with pytest.raises((InputError, LakeError), match="the store denies access"):
                lake.add(files[1:2], url)
    if not over:
        assert seen(url) == before
    lake.add(files, url)
    away(monkeypatch, tmp_path)
    assert len(lake.contents(url).inputs) == 3
    assert lake.check(url).faults == []
    assert differences(tables(url), tables(files)) == []


def is_list(method: str, path: str) -> bool:
    return method == "GET" and "list-type" in path


@pytest.mark.parametrize("kind", [500, 503, "cut", "short", "lost", "late"])
def test_failed_lists_are_repeated(
    kind: str | int, store: ObjectStore, url: str, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "TIMEOUT_S", 1.0)
    lake.add(files[:1], url)
    path = f"{prefix(url)}/orphan.parquet"
    store.client.put_object(Bucket=BUCKET, Key=path, Body=b"nobody's")
    expected = lake.check(url).faults
    assert len(expected) == 1
    with store.fault(kind, is_list):
        assert lake.check(url).faults == expected
    with store.fault(kind, is_list):
        lake.add(files[1:2], url)
    assert len(lake.contents(url).inputs) == 2


def test_lists_of_many_pages_are_complete(store: ObjectStore, url: str, files: list[str]) -> None:
    store.client.put_object(Bucket=BUCKET, Key=f"{prefix(url)}/.staging/a.json", Body=b"{}")
    store.client.put_object(Bucket=BUCKET, Key=f"{prefix(url)}/zzz", Body=b"mine")
    with store.fault("pages", is_list, times=1000):
        with pytest.raises(LakeError, match="there are other objects, and no lake"):
            lake.add(files[:1], url)
        store.client.delete_object(Bucket=BUCKET, Key=f"{prefix(url)}/zzz")
        lake.add(files[:2], url)
        assert lake.check(url).faults == []
        store.client.put_object(Bucket=BUCKET, Key=f"{prefix(url)}/zzz", Body=b"mine")
        assert len(lake.check(url).faults) == 1


@pytest.mark.parametrize("name", ["manifest.json", "document.json", ".parquet"])
def test_shortened_objects_are_named(
    name: str, store: ObjectStore, url: str, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.add(files[:1], url)
    expected = tables(url)
    away(monkeypatch, tmp_path / "other")

    def which(method: str, path: str) -> bool:
        return method == "GET" and name in path

    with store.fault("short", which, times=1000), pytest.raises(InputError, match=url):
        tables(url)
    # Nothing of it is kept, and one such response is repeated.
    assert differences(tables(url), expected) == []
    away(monkeypatch, tmp_path / "third")
    with store.fault("short", which):
        assert differences(tables(url), expected) == []


def of_the_manifest(method: str, path: str) -> bool:
    return method == "PUT" and path.endswith("manifest.json")


@pytest.mark.long
def test_failing_store_is_error(
    store: ObjectStore, url: str, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.add(files[:1], url)
    before = seen(url)
    refused = pytest.raises(LakeError, match=r"the store fails: .*; the lake is unchanged")
    with store.fault(400, of_the_manifest, times=1000), refused as caught:
        lake.add(files[1:], url)
    assert "Signature" not in str(caught.value)
    assert seen(url) == before
    monkeypatch.setattr(object_store, "_PAUSE_S", 0.0)
    monkeypatch.setattr(object_store, "_TRIES", 4)
    refused = pytest.raises(LakeError, match="other writers changed the lake during each of 4 attempts")
    with store.fault(412, of_the_manifest, times=1000), refused:
        lake.add(files[1:2], url)
    assert seen(url) == before


def test_store_without_conditional_writes_is_rejected(store: ObjectStore, url: str, files: list[str]) -> None:
    refused = pytest.raises(LakeError, match="the store ignores conditional writes")
    with store.fault("deaf", lambda method, path: method == "PUT", times=1000), refused:
        lake.add(files[:1], url)
    assert store.objects(prefix(url)) == {}


def test_url_with_other_objects_is_not_lake(store: ObjectStore, url: str, files: list[str]) -> None:
    store.client.put_object(Bucket=BUCKET, Key=f"{prefix(url)}/notes.txt", Body=b"mine")
    with pytest.raises(LakeError, match="there are other objects, and no lake"):
        lake.add(files[:1], url)
    with pytest.raises(InputError, match="there is no lake at this URL"):
        zlens.open(url)
    assert store.objects(prefix(url)) == {"notes.txt": b"mine"}


@pytest.mark.long
def test_open_reader_keeps_its_version_after_forget(
    store: ObjectStore, url: str, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.add(files, url)
    whole = tables(url)
    away(monkeypatch, tmp_path)
    with zlens.open(url) as session:
        # Its files are not fetched yet.
        away(monkeypatch, tmp_path)
        forgotten = lake.forget(url, Options(start=parse_time_spec("2026-03-02 10:03"), utc=True))
        assert forgotten.gone
        count = session.sql("SELECT count(*) FROM d0r2").rows[0][0]
    assert count == len(whole["d0r2"][2])
    # Unlisted files are removed a day later, with the next change.
    monkeypatch.setattr(object_store, "GRACE_S", -5)
    lake.add(files[2:], url)
    assert lake.check(url).waiting == 0
    assert lake.check(url).faults == []


def test_damaged_local_copy_is_replaced(store: ObjectStore, url: str, files: list[str]) -> None:
    lake.add(files[:1], url)
    whole = tables(url)
    copies = [*Path(os.environ["XDG_CACHE_HOME"]).rglob("*.parquet")]
    for path in copies:
        path.write_bytes(b"damaged")
    assert differences(tables(url), whole) == []
    name = next(name for name in store.objects(prefix(url)) if name.endswith(".parquet"))
    store.client.put_object(Bucket=BUCKET, Key=f"{prefix(url)}/{name}", Body=b"damaged")
    faults = lake.check(url).faults
    assert [(fault.kind, name in fault.path) for fault in faults] == [("changed", True)]
    store.client.delete_object(Bucket=BUCKET, Key=f"{prefix(url)}/{name}")
    store.client.put_object(Bucket=BUCKET, Key=f"{prefix(url)}/cpu/extra.parquet", Body=b"x")
    faults = lake.check(url).faults
    assert [(fault.kind, name in fault.path) for fault in faults][:1] == [("missing", True)]


@pytest.mark.long
def test_copies_are_bounded(url: str, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lake.add(files, url)
    copies = Path(os.environ["XDG_CACHE_HOME"]) / "zlens" / "lakes"
    parquet = [*copies.rglob("*.parquet")]
    assert parquet
    monkeypatch.setattr(object_store, "KEPT", 0)
    with zlens.open(url):
        # A reader is active.
        object_store._evict_objects(copies)
        assert [*copies.rglob("*.parquet")] == parquet
    gc.collect()
    object_store._evict_objects(copies)
    assert [*copies.rglob("*.parquet")] == []
    assert differences(tables(url), tables(files)) == []


def test_missing_obstore_is_error(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(
        InputError, match=r"lakes on object storage need obstore; in a checkout: pip install '\.\[objects\]'"
    ):
        zlens.open(url)


@pytest.mark.parametrize("name", ["az://container/lake", "s3://"])
def test_incomplete_urls_are_rejected(name: str) -> None:
    with pytest.raises(
        InputError, match=r"this is not the URL of a lake: .*; set the credentials of the store"
    ):
        zlens.open(name)


@pytest.mark.long
@pytest.mark.parametrize("moment", ["before", "after"])
def test_object_under_removal_is_not_listed(
    moment: str,
    store: ObjectStore,
    url: str,
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake.add(files, url)
    lake.forget(url, Options(start=parse_time_spec("2026-03-02 10:06"), utc=True))
    monkeypatch.setattr(object_store, "GRACE_S", -5)
    monkeypatch.setattr(object_store, "_TRIES", 2)
    removing = object_store.Remote._delete
    caught: list[LakeError] = []

    def another(self: object_store.Remote, listed: list[str]) -> bool:
        """Import on another machine what this one is about to remove, or has just removed."""
        monkeypatch.setattr(object_store.Remote, "_delete", removing)
        done = moment == "before" or removing(self, listed)
        monkeypatch.setattr(object_store, "GRACE_S", 86_400)
        away(monkeypatch, tmp_path)
        try:
            lake.add(files[2:], url)
        except LakeError as error:
            caught.append(error)
        return removing(self, listed) if moment == "before" else done

    monkeypatch.setattr(object_store.Remote, "_delete", another)
    late = few(tmp_path / "late.data", range(9, 12))
    lake.add([late], url)
    # Objects that may have been removed are in no manifest.
    assert ["other writers changed the lake" in str(error) for error in caught] == [True] * (
        moment == "before"
    )
    away(monkeypatch, tmp_path)
    lake.add(files, url)
    assert lake.check(url).faults == []
    assert differences(tables(url), tables([*files, late])) == []


def test_commands(url: str, demo_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(demo_folder / "zlzos.smf"), "--lake", url]) == 0
    assert main(["sql", url, "-q", "SELECT count(*) AS n FROM cpumf"]) == 0
    assert main(["lake", "show", url]) == 0
    assert main(["lake", "check", url]) == 0
    assert main(["lake", "forget", url, "--system", "ZLZ1"]) == 0
    assert main(["info", url]) == 2
    assert main(["live", str(demo_folder / "zldemo.monwrite"), "--lake", url, "--no-serve"]) == 2
    out, err = capsys.readouterr()
    assert "(for a day, as they may be being read)" in out
    assert "the lake is empty" in err
    assert "zlens live does not write to object storage" in err
