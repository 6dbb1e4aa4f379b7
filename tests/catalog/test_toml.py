"""The cache of parsed TOML: never stale, never needed, never another's."""

import itertools
import json
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zlens.schema import cache, document, facts, toml

TEXT = 'name = "cpu"\nwords = ["a", "b"]\n[part]\nlimit = 1.5\nleast = 3\nholds = true\n'
FACTS = {"name": "cpu", "words": ["a", "b"], "part": {"limit": 1.5, "least": 3, "holds": True}}
CATALOG = facts.FACTS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, which is not there yet."""
    monkeypatch.setattr(cache, "_root", lambda *_: tmp_path / "cache")
    return tmp_path / "cache" / "toml"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are parsed."""
    texts: list[str] = []
    real = toml.parse

    def parse(text: str) -> dict[str, Any]:
        texts.append(text)
        return real(text)

    monkeypatch.setattr(toml, "parse", parse)
    return texts


def only(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def sealed(path: Path, content: object) -> None:
    """Put other content under the name of a kept file, with a digest that fits."""
    body = json.dumps(content).encode()
    path.write_bytes(cache.entry_digest(bytes.fromhex(path.name), body) + body)


def test_a_text_is_parsed_once(folder: Path, parsed: list[str]) -> None:
    assert toml.loads(TEXT) == FACTS
    assert toml.loads(TEXT) == FACTS
    assert parsed == [TEXT]
    assert isinstance(toml.loads(TEXT)["part"]["least"], int)
    assert list(toml.loads(TEXT)) == list(FACTS), "the order of the file"


def test_callers_may_change_what_they_get(folder: Path) -> None:
    for _ in range(3):
        facts = toml.loads(TEXT)
        assert facts == FACTS
        facts.clear()


def test_one_byte_changed_is_another_text(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "facts.toml"
    path.write_text(TEXT)
    assert document.load_unchecked(path) == FACTS
    before = path.stat()
    path.write_text(TEXT.replace("1.5", "1.6"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert document.load_unchecked(path)["part"]["limit"] == 1.6


def test_every_file_of_the_catalog_comes_back_as_it_was_parsed(folder: Path, parsed: list[str]) -> None:
    files = sorted(CATALOG.rglob("*.toml"))
    first = [document.load_unchecked(path) for path in files]
    count = len(parsed)
    again = [document.load_unchecked(path) for path in files]
    assert len(parsed) == count, "nothing of the catalog is outside the cache"
    assert again == first == [tomllib.loads(path.read_text(encoding="utf-8")) for path in files]


def test_a_catalog_file_that_changes_gives_other_facts(folder: Path, tmp_path: Path) -> None:
    from zlens.catalog import measures

    text = (measures.measures_folder() / "event.toml").read_text(encoding="utf-8")
    (before,) = measures.parse(text, "event.toml")
    assert before.column("detail") is not None
    changed = text.replace("detail = {", "details = {")
    assert changed != text
    (after,) = measures.parse(changed, "event.toml")
    assert after.column("detail") is None
    assert after.column("details") is not None


@pytest.mark.parametrize("text", ["a = ", "a = 1\na = 2", 'a = "\x00"'])
def test_errors_are_those_of_tomllib_and_are_not_kept(folder: Path, text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError) as wanted:
        tomllib.loads(text)
    for _ in range(2):
        with pytest.raises(toml.TOMLDecodeError) as error:
            toml.loads(text)
        assert str(error.value) == str(wanted.value)
    assert not folder.exists()


@pytest.mark.parametrize(
    "text", ["at = 2024-05-14T09:30:00Z", "big = 0x7fffffffffffffff", "deep = " + "[" * 40 + "]" * 40]
)
def test_what_json_has_not_is_the_same_every_time(folder: Path, text: str) -> None:
    assert toml.loads(text) == toml.loads(text) == tomllib.loads(text)


def test_numbers_that_are_none_come_back(folder: Path, parsed: list[str]) -> None:
    for _ in range(2):
        facts = toml.loads("a = inf\nb = -inf\nc = nan\nd = -0.0")
        assert repr(facts) == "{'a': inf, 'b': -inf, 'c': nan, 'd': -0.0}"


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b"cpu")] ^= 1
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def of_another_text(path: Path) -> None:
    toml.loads("other = 1")
    other = next(each for each in path.parent.iterdir() if each != path)
    path.write_bytes(other.read_bytes())
    other.unlink()


def a_list(path: Path) -> None:
    sealed(path, [1, 2])


def not_json(path: Path) -> None:
    body = b"{"
    path.write_bytes(cache.entry_digest(bytes.fromhex(path.name), body) + body)


def nested(path: Path) -> None:
    body = b"[" * 100_000
    path.write_bytes(cache.entry_digest(bytes.fromhex(path.name), body) + body)


def a_link(path: Path) -> None:
    target = path.parent.parent / "elsewhere"
    path.rename(target)
    path.symlink_to(target)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def writable_by_others(path: Path) -> None:
    sealed(path, {"name": "forged"})
    path.chmod(0o666)


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "damage",
    [
        truncated,
        bit,
        empty,
        of_another_text,
        a_list,
        not_json,
        nested,
        a_link,
        a_folder,
        writable_by_others,
        a_pipe,
    ],
    ids=lambda damage: damage.__name__,
)
def test_what_is_not_as_it_was_written_is_parsed(
    folder: Path, parsed: list[str], damage: Callable[[Path], None]
) -> None:
    toml.loads(TEXT)
    damage(only(folder))
    parsed.clear()
    assert toml.loads(TEXT) == FACTS
    assert parsed == [TEXT]


def test_a_file_of_another_user_is_parsed(
    folder: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    toml.loads(TEXT)
    sealed(only(folder), {"name": "forged"})
    assert toml.loads(TEXT) == {"name": "forged"}, "what this user wrote counts"
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    parsed.clear()
    assert toml.loads(TEXT) == FACTS
    assert parsed == [TEXT]


def test_without_a_folder_it_is_parsed_each_time(
    tmp_path: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache, "_root", lambda *_: tmp_path / "file")
    assert toml.loads(TEXT) == toml.loads(TEXT) == FACTS
    assert parsed == [TEXT, TEXT]


def test_what_is_kept_is_private_and_nothing_else_stays(folder: Path) -> None:
    toml.loads(TEXT)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(only(folder).stat().st_mode) == 0o600


def test_a_failed_write_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert toml.loads(TEXT) == FACTS
    assert list(folder.iterdir()) == []


def test_the_oldest_make_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_FILES", 10)
    monkeypatch.setattr(toml._KEPT, "_written", itertools.count(1))
    for number in range(12):
        toml.loads(f"a = {number}")
        path = max(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.utime(path, (number, number))
    monkeypatch.setattr(toml._KEPT, "_written", itertools.count())
    toml.loads("b = 1")
    assert len(list(folder.iterdir())) == 6, "half of what may be, and the new one"
    assert {int(path.stat().st_mtime) for path in folder.iterdir()} >= {7, 8, 9, 10, 11}


def test_a_process_that_writes_much_makes_room_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_FILES", 10)
    monkeypatch.setattr(cache, "_LOOKED_AT", 5)
    monkeypatch.setattr(toml._KEPT, "_written", itertools.count())
    for number in range(40):
        toml.loads(f"a = {number}")
        assert len(list(folder.iterdir())) <= 15


def test_a_large_text_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toml, "LARGEST", 100)
    text = f'a = "{"x" * 100}"'
    assert toml.loads(text) == {"a": "x" * 100}
    assert not folder.exists()


def test_the_cache_lies_where_the_user_says(tmp_path: Path) -> None:
    program = "from zlens.catalog import measures; print(len(measures.load_measure('load').columns))"
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    answers = set()
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        answers.add(done.stdout)
    kept = list(tmp_path.rglob("toml/*"))
    assert len(answers) == 1
    assert kept
    for path in kept:
        path.write_bytes(b"damaged")
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert {done.stdout} == answers
