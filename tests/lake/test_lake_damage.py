"""Tests of damaged or foreign manifests and documents: one-line errors, no access outside the lake."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zlens
from iterations import draws, iterations
from lake_builder import recording, write
from zlens import lake
from zlens.errors import InputError, ZlensError
from zlens.lake import documents, file_names, manifest
from zlens.lake.lake_folder import LakeFolder
from zlens.lake.location import is_lake


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    files = [write(folder / f"{at}.data", recording(range(at * 3, at * 3 + 3))) for at in range(2)]
    lake.add(files, folder / "lake")
    return folder / "lake"


@pytest.fixture
def lake_copy(whole: Path, tmp_path: Path) -> Path:
    """A lake with hard links to the shared files, but copied JSON files."""
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


def everything(lake_copy: Path) -> None:
    with zlens.open(lake_copy) as session:
        session.sql("SELECT * FROM d0r2")
        session.sql("SELECT * FROM problem")
        session.sql("SELECT * FROM inventory")
        session.sql("SELECT * FROM event")
        session.sql("SELECT * FROM interval")


def test_check_reports_no_orphans_of_running_writer(lake_copy: Path) -> None:
    """A writer that holds the lock has moved a file that its manifest does not list yet."""
    reports: list[lake.IntegrityReport] = []
    checking = threading.Thread(target=lambda: reports.append(lake.check(lake_copy)))
    moved = lake_copy / "table=d0r2" / "new.parquet"
    moved.parent.mkdir(exist_ok=True)
    with LakeFolder(lake_copy).locked():
        moved.write_bytes(b"PAR1")
        checking.start()
        checking.join(1)
        moved.unlink()
    checking.join()
    assert [report.faults for report in reports] == [[]]
    moved.write_bytes(b"PAR1")
    assert [fault.kind for fault in lake.check(lake_copy).faults] == ["orphan"]


@pytest.mark.parametrize("whole_folder", [False, True])
def test_link_in_lake_is_fault(lake_copy: Path, tmp_path: Path, whole_folder: bool) -> None:
    """Queries read nothing outside of the lake, so a link to an equal file is a fault too."""
    file = min((lake_copy / "d0r2").rglob("*.parquet"))
    linked = file.parent if whole_folder else file
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ZlensError), zlens.open(lake_copy) as session:
        session.sql("SELECT * FROM d0r2").rows  # noqa: B018
    faults = lake.check(lake_copy).faults
    assert {(fault.kind, fault.detail) for fault in faults} == {("changed", "it is replaced by a link")}
    assert str(file) in {fault.path for fault in faults}


def test_sound_lake_has_no_faults(lake_copy: Path) -> None:
    everything(lake_copy)
    assert lake.check(lake_copy).faults == []


Change = Callable[[dict[str, Any]], None]


def _at(*path: Any, value: Any) -> Change:
    def change(facts: dict[str, Any]) -> None:
        place: Any = facts
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


MANIFEST: list[tuple[Change, str]] = [
    (_at("inputs", value={}), "inputs is a table; expected a list"),
    (_at("inputs", value=[3]), "inputs[1] is 3; expected a table"),
    (
        _at("inputs", 0, "sha256", value="../../../etc/passwd"),
        'inputs[1].sha256 is "../../../etc/passwd"; expected a SHA-256',
    ),
    (_at("inputs", 0, "sha256", value=7), "inputs[1].sha256 is 7; expected a SHA-256"),
    (_at("inputs", 0, "bytes", value=-1), "inputs[1].bytes is -1; expected an integer from 0 up"),
    (_at("inputs", 0, "bytes", value=True), "inputs[1].bytes is true; expected an integer"),
    (_at("inputs", 0, "path", value=None), "inputs[1].path is missing"),
    (_at("inputs", 0, "documents", value={"../x": "0" * 64}), 'a name in inputs[1].documents is "../x"'),
    (
        _at("inputs", 0, "documents", value={"0" * 16: "x"}),
        'inputs[1].documents.0000000000000000 is "x"; expected a SHA-256',
    ),
    (
        _at("inputs", 0, "documents", value=[]),
        "inputs[1].documents is a list of 0; expected a table of names",
    ),
    (
        _at("inputs", 0, "parts", 0, "document", value="../../etc"),
        'inputs[1].parts[1].document is "../../etc"; expected a key',
    ),
    (
        _at("inputs", 0, "parts", 0, "document", value="f" * 16),
        "inputs[1].parts is wrong; expected every system once, with its document",
    ),
    (
        _at("inputs", 0, "parts", 0, "place", value=10**30),
        "inputs[1].parts[1].place is 1000000000000000000000000000000; expected",
    ),
    (_at("inputs", 0, "parts", 0, "place", value=5), "the manifest and a document disagree on 'LAKETEST'"),
    (
        _at("inputs", 0, "parts", 0, "system", value=["x"]),
        "inputs[1].parts[1].system is a list of 1; expected a text",
    ),
    (
        _at("inputs", 0, "parts", 0, "system", value="../.."),
        "the manifest and a document disagree on '../..'",
    ),
    (
        _at("inputs", 0, "parts", 0, "first_us", value="now"),
        'inputs[1].parts[1].first_us is "now"; expected an integer',
    ),
    (
        _at("inputs", 0, "parts", 0, "open_us", value=[1]),
        "inputs[1].parts[1].open_us is a list of 1; expected the first and the last",
    ),
    (
        _at("inputs", 0, "parts", 0, "seam", value={"key": "/etc/passwd", "sha256": "0" * 64}),
        'inputs[1].parts[1].seam.key is "/etc/passwd"; expected a key',
    ),
    (
        _at("inputs", 0, "parts", 0, "seam", value={"key": "0" * 16, "sha256": "0" * 64}),
        "0.seam.0000000000000000.json: cannot be read: No such file",
    ),
    (
        _at("inputs", 0, "parts", 0, "joined", value="yes"),
        'inputs[1].parts[1].joined is "yes"; expected true or false',
    ),
    (_at("inputs", 0, "forgotten", value=[3]), "inputs[1].forgotten[1] is 3; expected a text"),
    (_at("retired", value=["../outside"]), 'retired is "../outside"; expected names of files of this lake'),
    (
        _at("retired", value=["d0r2/system=X/day=2026-03-02/../../../outside.parquet"]),
        'outside.parquet"; expected names of files of this lake',
    ),
    (_at("retired", value="x"), 'retired is "x"; expected a list'),
    (
        _at("zlens_lake", value=1),
        "this lake has version 1; expected version 2; import its files again into a new one",
    ),
    (_at("zlens_lake", value="1"), 'zlens_lake is "1"; expected an integer from 2 to 2'),
]


@pytest.mark.parametrize(("change", "said"), MANIFEST, ids=range(len(MANIFEST)))
def test_invalid_manifest_value_is_rejected(lake_copy: Path, change: Change, said: str) -> None:
    path = lake_copy / "manifest.json"
    facts = json.loads(path.read_bytes())
    change(facts)
    path.write_text(json.dumps(facts))
    assert is_lake(lake_copy)
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        everything(lake_copy)
    assert "\n" not in str(caught.value)
    named = str(caught.value.file)
    if "disagree" in said or "0.seam." in said:
        assert [(fault.kind, fault.path) for fault in lake.check(lake_copy).faults] == [("changed", named)]
    else:
        with pytest.raises(InputError, match=re.escape(said)):
            lake.check(lake_copy)
    # A boundary document is read only with its rows.
    if "0.seam." in said:
        assert lake.contents(lake_copy).inputs
    else:
        with pytest.raises(InputError, match=re.escape(said)):
            lake.contents(lake_copy)


_EMPTY = '{"zlens_lake": 2, "inputs": [], "retired": [], "measures": [], "gathered": [], "since": {}}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"zlens_lake": 1', "is not JSON"),
        ('{"zlens_lake": ' + "[" * 100_000, "is not JSON"),
        (_EMPTY.replace("2", "1e999"), "zlens_lake is inf; expected an integer from 2 to 2"),
    ],
    ids=["cut", "nested", "infinite"],
)
def test_malformed_manifest_is_rejected(lake_copy: Path, text: str, said: str) -> None:
    (lake_copy / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=f"manifest.json: {said}"):
        zlens.open(lake_copy)
    with pytest.raises(InputError, match="this is a lake; import files into a lake"):
        lake.add([lake_copy / "manifest.json", lake_copy], lake_copy)


def test_foreign_manifest_is_not_lake(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a page"}')
    assert not is_lake(tmp_path)
    with pytest.raises(InputError, match="which zlens cannot read"):
        zlens.open(tmp_path)
    with pytest.raises(InputError, match="this is not a lake"):
        lake.check(tmp_path)


def _file(**cells: Any) -> Change:
    """Return a change of cells of one file row."""
    row = {"table": "d0r2", "day": "2026-03-02", "kind": "main", "rows": 1, "bytes": 1, "sha256": "0" * 64}
    row |= {"first": None, "last": None, "open": 0, "foot": "0" * 16} | cells
    return _at("parts", 0, "files", value=[[*row.values()]])


_ROW = "parts.files[1] is a list of 10; expected table, day, kind"
DOCUMENT: list[tuple[Change, str]] = [
    (_file(table="../../etc"), _ROW),
    (_file(day="../.."), _ROW),
    (_file(kind="main/.."), _ROW),
    (_file(rows=-1), _ROW),
    # The cells are valid, but the table has no schema.
    (_file(table="nosuch"), "parts.schemas lacks nosuch; expected a schema for every table"),
    (_at("parts", 0, "files", value=[[]]), "parts.files[1] is a list of 0; expected table, day, kind"),
    (_at("parts", 0, "files", value=7), "parts.files is 7; expected a list"),
    (_at("parts", 0, "schemas", value={"d0r2": "../x"}), 'parts[1].schemas.d0r2 is "../x"; expected a key'),
    (_at("parts", 0, "nominal_s", value="sixty"), 'parts[1].nominal_s is "sixty"; expected a number'),
    (_at("parts", 0, "source", value=None), "parts[1].source is missing; expected a text"),
    (_at("parts", value=[]), "the manifest and a document disagree on 'LAKETEST'"),
    (_at("side", value={"../x": [1, "0" * 64]}), 'a name in side is "../x"; expected a text'),
    (
        _at("side", value={"inventory.json": [1]}),
        "side.inventory.json is a list of 1; expected size and digest",
    ),
    (_at("side", "inventory.json", value=[1, "0" * 64]), "inventory.json: this is not the file that"),
]


def _redo(lake_copy: Path, change: Change) -> None:
    """Change a document and update its digest in the manifest."""
    path = lake_copy / "manifest.json"
    facts = json.loads(path.read_bytes())
    one = facts["inputs"][0]
    (key,) = one["documents"]
    document_path = lake_copy / file_names.document_folder(one["sha256"], key) / documents.NAME
    contents = json.loads(document_path.read_bytes())
    change(contents)
    data = json.dumps(contents).encode()
    document_path.write_bytes(data)
    one["documents"][key] = hashlib.sha256(data).hexdigest()
    path.write_text(json.dumps(facts))


@pytest.mark.parametrize(("change", "said"), DOCUMENT, ids=range(len(DOCUMENT)))
def test_invalid_document_is_rejected(lake_copy: Path, change: Change, said: str) -> None:
    _redo(lake_copy, change)
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        everything(lake_copy)
    assert "\n" not in str(caught.value)


def test_replaced_document_is_rejected(lake_copy: Path) -> None:
    document_path = next(lake_copy.rglob(documents.NAME))
    document_path.write_bytes(document_path.read_bytes().replace(b"LAKETEST", b"LAKETASTE"))
    with pytest.raises(InputError, match="this is not the file that the manifest lists"):
        everything(lake_copy)
    assert [(fault.kind, fault.path) for fault in lake.check(lake_copy).faults] == [
        ("changed", str(document_path))
    ]


def test_lake_check_finds_file_faults(lake_copy: Path) -> None:
    one, two, three, *_ = sorted(lake_copy.glob("d*/**/*.parquet"))
    data = one.read_bytes()
    one.unlink()
    one.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    data = two.read_bytes()
    two.unlink()
    two.write_bytes(data + b"x")
    three.unlink()
    found = {(fault.kind, fault.path) for fault in lake.check(lake_copy).faults}
    assert found == {("changed", str(one)), ("changed", str(two)), ("missing", str(three))}


def test_missing_or_invalid_parquet_is_error(lake_copy: Path) -> None:
    paths = sorted(lake_copy.glob("d0r2/**/*.parquet"))
    paths[0].unlink()
    with (
        zlens.open(lake_copy) as session,
        pytest.raises(InputError, match="cannot be read: No such file") as caught,
    ):
        _ = session.sql("SELECT count(sytprp_pfxutime) FROM d0r2").rows
    assert caught.value.file == str(paths[0])
    assert "\n" not in str(caught.value)
    paths[0].write_bytes(b"PAR1" + b"\0" * 100 + b"PAR1")
    with zlens.open(lake_copy) as session, pytest.raises(InputError, match="this is not the file"):
        _ = session.sql("SELECT count(sytprp_pfxutime) FROM d0r2").rows


def swap(one: Path, other: Path) -> None:
    """Exchange the contents of two files; the fixture's files stay unchanged."""
    first, second = one.read_bytes(), other.read_bytes()
    for path, data in ((one, second), (other, first)):
        path.unlink()
        path.write_bytes(data)


@pytest.mark.parametrize("how", ["swapped", "another size", "the same size"])
def test_replaced_parquet_file_is_named(lake_copy: Path, how: str) -> None:
    """Valid Parquet with rows of another input, or of none: no number of it is shown."""
    one, other = sorted(lake_copy.glob("d0r2/**/*.parquet"))[:2]
    if how == "swapped":
        swap(one, other)
    elif how == "another size":
        one.unlink()
        one.write_bytes(min(lake_copy.glob("d1r4/**/*.parquet")).read_bytes())
    else:
        data = bytearray(one.read_bytes())
        at = data.rindex(b"sytprp")
        data[at : at + 6] = b"sytprq"
        one.unlink()
        one.write_bytes(data)
    with zlens.open(lake_copy) as session, pytest.raises(InputError) as caught:
        _ = session.sql("SELECT sum(busy_pct) FROM cpu").rows
    assert caught.value.file in (str(one), str(other))
    assert "not the file that the manifest lists" in caught.value.message
    assert "lake.check" in (caught.value.cure or "")
    # Queries that do not need the file still run.
    with zlens.open(lake_copy) as session:
        assert session.sql("SELECT count(*) FROM interval").rows != [(0,)]
    assert lake.check(lake_copy).faults != []


def test_import_refuses_lake_with_replaced_file(lake_copy: Path, tmp_path: Path) -> None:
    swap(*[path for path in sorted(lake_copy.glob("d0r2/**/*.parquet")) if "edge" not in path.name])
    before = (lake_copy / "manifest.json").read_bytes()
    more = write(tmp_path / "more.data", recording(range(2, 9)))
    with pytest.raises(InputError, match="not the file that the manifest lists"):
        lake.add([more], lake_copy)
    assert (lake_copy / "manifest.json").read_bytes() == before


def test_changed_byte_is_read_or_rejected(lake_copy: Path) -> None:
    """Random byte changes yield a manifest or an InputError."""
    data = (lake_copy / "manifest.json").read_bytes()
    chance = draws(5)
    for _ in range(iterations(300, 60)):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(len(changed))] = chance.choice(b'0"{}[]:,.-xe\\')
        try:
            found = manifest.load(bytes(changed), "m")
        except InputError:
            continue
        for one in found.inputs.values():
            assert file_names.SHA256.fullmatch(one.sha256)
            assert all(file_names.KEY.fullmatch(part.document) for part in one.parts.values())
        assert all(file_names.is_own(path) for path in found.retired)
