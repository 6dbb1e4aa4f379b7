"""Manifests and documents that zlens did not write: a sentence, never a crash, no file outside the lake."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zlens
from lake_made import piece, write
from rounds import rounds
from zlens import lake
from zlens.errors import InputError, ZlensError
from zlens.lake import document, manifest, names
from zlens.lake.names import is_lake


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    files = [write(folder / f"{at}.data", piece(range(at * 3, at * 3 + 3))) for at in range(2)]
    lake.add(files, folder / "lake")
    return folder / "lake"


@pytest.fixture
def made(whole: Path, tmp_path: Path) -> Path:
    """A lake whose files are links to the whole one, but for the manifest."""
    for path in whole.rglob("*"):
        target = tmp_path / "lake" / path.relative_to(whole)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        elif path.name == "manifest.json" or path.suffix == ".json":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(path)
    return tmp_path / "lake"


def everything(made: Path) -> None:
    with zlens.open(made) as session:
        session.sql("SELECT * FROM d0r2")
        session.sql("SELECT * FROM problem")
        session.sql("SELECT * FROM inventory")
        session.sql("SELECT * FROM event")
        session.sql("SELECT * FROM interval")


def test_the_whole_lake_is_good(made: Path) -> None:
    everything(made)
    assert lake.check(made).faults == []


Change = Callable[[dict[str, Any]], None]


def _at(*path: Any, value: Any) -> Change:
    def change(facts: dict[str, Any]) -> None:
        place: Any = facts
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


MANIFEST = [
    _at("inputs", value={}),
    _at("inputs", value=[3]),
    _at("inputs", 0, "sha256", value="../../../etc/passwd"),
    _at("inputs", 0, "sha256", value=7),
    _at("inputs", 0, "bytes", value=-1),
    _at("inputs", 0, "bytes", value=True),
    _at("inputs", 0, "path", value=None),
    _at("inputs", 0, "documents", value={"../x": "0" * 64}),
    _at("inputs", 0, "documents", value={"0" * 16: "x"}),
    _at("inputs", 0, "documents", value=[]),
    _at("inputs", 0, "parts", 0, "document", value="../../etc"),
    _at("inputs", 0, "parts", 0, "document", value="f" * 16),
    _at("inputs", 0, "parts", 0, "place", value=10**30),
    _at("inputs", 0, "parts", 0, "place", value=5),
    _at("inputs", 0, "parts", 0, "system", value=["x"]),
    _at("inputs", 0, "parts", 0, "system", value="../.."),
    _at("inputs", 0, "parts", 0, "first_us", value="now"),
    _at("inputs", 0, "parts", 0, "open_us", value=[1]),
    _at("inputs", 0, "parts", 0, "seam", value={"key": "/etc/passwd", "sha256": "0" * 64}),
    _at("inputs", 0, "parts", 0, "seam", value={"key": "0" * 16, "sha256": "0" * 64}),
    _at("inputs", 0, "parts", 0, "joined", value="yes"),
    _at("inputs", 0, "forgotten", value=[3]),
    _at("retired", value=["../outside"]),
    _at("retired", value=["d0r2/system=X/day=2026-03-02/../../../outside.parquet"]),
    _at("retired", value="x"),
    _at("zlens_lake", value=99),
    _at("zlens_lake", value="1"),
]


@pytest.mark.parametrize("change", MANIFEST, ids=range(len(MANIFEST)))
def test_a_manifest_that_is_wrong(made: Path, change: Change) -> None:
    path = made / "manifest.json"
    facts = json.loads(path.read_bytes())
    change(facts)
    path.write_text(json.dumps(facts))
    assert is_lake(made)
    with pytest.raises(InputError) as caught:
        everything(made)
    assert "\n" not in str(caught.value)
    assert caught.value.file is not None
    with contextlib.suppress(ZlensError):
        lake.contents(made)
    with contextlib.suppress(ZlensError):
        lake.check(made)


@pytest.mark.parametrize(
    "text", ['{"zlens_lake": 1', '{"zlens_lake": ' + "[" * 100_000, '{"zlens_lake": 1e999}']
)
def test_a_manifest_that_is_cut_or_odd(made: Path, text: str) -> None:
    (made / "manifest.json").write_text(text)
    with pytest.raises(InputError):
        zlens.open(made)
    with pytest.raises(InputError):
        lake.add([made / "manifest.json", made], made)


def test_a_manifest_of_something_else_makes_no_lake(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a page"}')
    assert not is_lake(tmp_path)
    with pytest.raises(InputError, match="which no reader of zlens knows"):
        zlens.open(tmp_path)
    with pytest.raises(InputError, match="this is not a lake"):
        lake.check(tmp_path)


DOCUMENT = [
    _at("parts", 0, "files", value=[["../../etc", "2026-03-02", "main", 1, 1, "0" * 64, None, None, 0]]),
    _at("parts", 0, "files", value=[["d0r2", "../..", "main", 1, 1, "0" * 64, None, None, 0]]),
    _at("parts", 0, "files", value=[["d0r2", "2026-03-02", "main/..", 1, 1, "0" * 64, None, None, 0]]),
    _at("parts", 0, "files", value=[["d0r2", "2026-03-02", "main", -1, 1, "0" * 64, None, None, 0]]),
    _at("parts", 0, "files", value=[["nosuch", "2026-03-02", "main", 1, 1, "0" * 64, None, None, 0]]),
    _at("parts", 0, "files", value=[[]]),
    _at("parts", 0, "files", value=7),
    _at("parts", 0, "schemas", value={"d0r2": "../x"}),
    _at("parts", 0, "nominal_s", value="sixty"),
    _at("parts", 0, "source", value=None),
    _at("parts", value=[]),
    _at("side", value={"../x": [1, "0" * 64]}),
    _at("side", value={"inventory.json": [1]}),
    _at("side", "inventory.json", value=[1, "0" * 64]),
]


def _redo(made: Path, change: Change) -> None:
    """Change a document and let the manifest list what came of it."""
    path = made / "manifest.json"
    facts = json.loads(path.read_bytes())
    one = facts["inputs"][0]
    (key,) = one["documents"]
    told = made / names.document(one["sha256"], key) / document.NAME
    contents = json.loads(told.read_bytes())
    change(contents)
    data = json.dumps(contents).encode()
    told.write_bytes(data)
    one["documents"][key] = hashlib.sha256(data).hexdigest()
    path.write_text(json.dumps(facts))


@pytest.mark.parametrize("change", DOCUMENT, ids=range(len(DOCUMENT)))
def test_a_document_that_is_wrong(made: Path, change: Change) -> None:
    _redo(made, change)
    with pytest.raises(InputError) as caught:
        everything(made)
    assert "\n" not in str(caught.value)


def test_a_document_that_is_another_one(made: Path) -> None:
    told = next(made.rglob(document.NAME))
    told.write_bytes(told.read_bytes().replace(b"LAKETEST", b"LAKETASTE"))
    with pytest.raises(InputError, match="this is not the file that the manifest lists"):
        everything(made)
    assert [(fault.kind, fault.path) for fault in lake.check(made).faults] == [("changed", str(told))]


def test_what_check_finds(made: Path) -> None:
    one, two, three, *_ = sorted(made.glob("d*/**/*.parquet"))
    data = one.read_bytes()
    one.unlink()
    one.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    data = two.read_bytes()
    two.unlink()
    two.write_bytes(data + b"x")
    three.unlink()
    found = {(fault.kind, fault.path) for fault in lake.check(made).faults}
    assert found == {("changed", str(one)), ("changed", str(two)), ("missing", str(three))}


def test_files_that_are_gone_or_no_parquet_are_a_sentence(made: Path) -> None:
    paths = sorted(made.glob("d0r2/**/*.parquet"))
    paths[0].unlink()
    with zlens.open(made) as session, pytest.raises(ZlensError) as caught:
        _ = session.sql("SELECT count(sytprp_pfxutime) FROM d0r2").rows
    assert "\n" not in str(caught.value)
    paths[0].write_bytes(b"PAR1" + b"\0" * 100 + b"PAR1")
    with zlens.open(made) as session, pytest.raises(ZlensError):
        _ = session.sql("SELECT count(sytprp_pfxutime) FROM d0r2").rows


def swap(one: Path, other: Path) -> None:
    """Exchange the contents of two files; the links of the fixture stay as they are."""
    first, second = one.read_bytes(), other.read_bytes()
    for path, data in ((one, second), (other, first)):
        path.unlink()
        path.write_bytes(data)


@pytest.mark.parametrize("how", ["swapped", "another size", "the same size"])
def test_a_file_that_is_not_the_one_listed_is_named(made: Path, how: str) -> None:
    """Valid Parquet with the rows of another input, or of nobody: no number of it is shown."""
    one, other = sorted(made.glob("d0r2/**/*.parquet"))[:2]
    if how == "swapped":
        swap(one, other)
    elif how == "another size":
        one.unlink()
        one.write_bytes(min(made.glob("d1r4/**/*.parquet")).read_bytes())
    else:
        data = bytearray(one.read_bytes())
        at = data.rindex(b"sytprp")
        data[at : at + 6] = b"sytprq"
        one.unlink()
        one.write_bytes(data)
    with zlens.open(made) as session, pytest.raises(InputError) as caught:
        _ = session.sql("SELECT sum(busy_pct) FROM cpu").rows
    assert caught.value.file in (str(one), str(other))
    assert "not the file that the manifest lists" in caught.value.message
    assert "lake.check" in (caught.value.cure or "")
    # What does not need the file is answered.
    with zlens.open(made) as session:
        assert session.sql("SELECT count(*) FROM interval").rows != [(0,)]
    assert lake.check(made).faults != []


def test_an_import_beside_a_file_that_is_not_the_one_listed_is_refused(made: Path, tmp_path: Path) -> None:
    swap(*[path for path in sorted(made.glob("d0r2/**/*.parquet")) if "edge" not in path.name])
    before = (made / "manifest.json").read_bytes()
    more = write(tmp_path / "more.data", piece(range(2, 9)))
    with pytest.raises(InputError, match="not the file that the manifest lists"):
        lake.add([more], made)
    assert (made / "manifest.json").read_bytes() == before


def test_any_change_of_a_byte_is_read_or_refused(made: Path) -> None:
    """Bytes changed by chance: a manifest or an InputError, nothing else."""
    data = (made / "manifest.json").read_bytes()
    chance = random.Random(5)
    for _ in range(rounds(300, 60)):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(len(changed))] = chance.choice(b'0"{}[]:,.-xe\\')
        try:
            found = manifest.load(bytes(changed), "m")
        except InputError:
            continue
        for one in found.inputs.values():
            assert names.SHA256.fullmatch(one.sha256)
            assert all(names.KEY.fullmatch(part.document) for part in one.parts.values())
        assert all(names.is_own(path) for path in found.retired)
