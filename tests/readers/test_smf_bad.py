"""Tests of damaged SMF dumps in the entire program: valid records are read, the rest is reported."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from smf113_builder import dump, opened, other, record, rows

import zlens
from iterations import draws, iterations
from zlens.cli import main
from zlens.errors import InputError
from zlens.inputs.problems import KINDS


def records() -> list[bytes]:
    found = [other(2, None)]
    for n in range(1, 7):
        found += [record(2, cpu, 300 * n, [n * 100 + cpu, n]) for cpu in range(3)]
        found += [other(30, 4, 300 * n, 500), record(1, 5, 300 * n, [n], system="SYSB")]
    return [*found, other(3, None)]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return dump(tmp_path / "good.smf", records())


def damaged(good: Path, change: object) -> Path:
    data = bytearray(good.read_bytes())
    assert callable(change)
    change(data)
    path = good.with_name("damaged.smf")
    path.write_bytes(data)
    return path


def place(nth: int) -> int:
    return sum(len(one) for one in records()[:nth])


def test_truncated_dump_is_reported(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def cut(data: bytearray) -> None:
        del data[place(20) + 100 :]

    path = damaged(good, cut)
    source = opened(path)
    (problem,) = source.problems(complete=True)
    assert (problem.kind, problem.offset, problem.bytes) == ("truncated", place(20), 100)
    assert main(["info", str(path), "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {one["system"] for one in shown} == {"SYSA", "SYSB"}
    assert all(one["problems"][0]["first_offset"] == place(20) for one in shown)
    assert main(["info", str(path), "--strict"]) == 1
    with zlens.open(path) as session:
        assert session.sql("select kind, bytes from problem").rows == [("truncated", 100)]
        assert session.sql("select count(*) from smf113").rows == [(15,)]


def test_damaged_segment_chain(good: Path) -> None:
    def breaks(data: bytearray) -> None:
        data[place(7)] ^= 0x10

    source = opened(damaged(good, breaks))
    (problem,) = source.problems(complete=True)
    assert (problem.kind, problem.offset, problem.bytes) == ("resync", place(7), len(records()[7]))
    # The next difference covers two intervals and has a flag.
    lost = next(row for row in rows(source) if row["cpu_id"] == 1 and row["flag"])
    assert (lost["flag"], lost["seconds"], lost["c0_d"]) == ("gap", 600.0, 200)


def test_dump_with_added_carriage_returns(tmp_path: Path) -> None:
    """A record longer than its length is withheld, and the transfer is reported."""
    wanted = records()
    counts = [0x0A0A0A, 7]
    wanted[10] = record(2, 1, 300 * 2, counts)
    data = b"".join(len(one).to_bytes(2) + one[2:] for one in wanted)
    calm = bytes(byte if byte != 0x0A else 0x0B for byte in data[: sum(map(len, wanted[:10]))])
    rest = data[len(calm) :]
    head, tail = rest[: len(wanted[10])], rest[len(wanted[10]) :].replace(b"\n", b"\x0b")
    path = tmp_path / "text.smf"
    path.write_bytes(calm + head.replace(b"\n", b"\r\n") + tail)
    (problem,) = (one for one in opened(path).problems(complete=True) if one.kind == "transfer")
    assert problem.offset == len(calm)
    assert "a transfer in text mode" in problem.detail
    assert "BINARY" in problem.detail


def test_section_outside_its_record(good: Path) -> None:
    def moves(data: bytearray) -> None:
        data[place(7) + 44 : place(7) + 48] = b"\x7f\xff\xff\xff"

    source = opened(damaged(good, moves))
    (problem,) = source.problems(complete=True)
    assert (problem.kind, problem.offset, problem.record) == ("section", place(7), "SMF 113.2")
    assert problem.system is None or problem.system == "SYSA"
    assert len(rows(source)) == 23


def test_foreign_file_is_not_dump(tmp_path: Path) -> None:
    for name, data in (("zeros", bytes(100_000)), ("noise", random.Random(7).randbytes(100_000))):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(InputError, match="zlens cannot read") as caught:
            zlens.open(path)
        assert "SMF dump" in str(caught.value)


def test_repeated_dump_is_reported(good: Path, tmp_path: Path) -> None:
    (tmp_path / "again.smf").write_bytes(good.read_bytes())
    with zlens.open([good, tmp_path / "again.smf"]) as session:
        assert [problem.kind for problem in session._core.all_problems()] == ["duplicate"]
        assert session.sql("select count(*) from smf113").rows == [(24,)]
    # Appended to itself, the file differs, and its records are duplicates.
    (tmp_path / "again.smf").write_bytes(good.read_bytes() * 2)
    with zlens.open(tmp_path / "again.smf") as session:
        assert session.sql("select count(*), sum(c0_d) from smf113").rows == [(24, 1521)]
        kinds = {(p.kind, p.system) for p in session._core.all_problems()}
        assert kinds == {("duplicate", "SYSA"), ("duplicate", "SYSB")}


def test_changed_dump_is_reported(good: Path) -> None:
    source = opened(good)
    data = good.read_bytes()
    good.write_bytes(data + data)
    assert [p.kind for p in source.problems()] == ["changed"]
    good.write_bytes(data[: len(data) // 2])
    assert len(rows(source)) < 24
    assert {p.kind for p in source.problems()} == {"changed"}
    good.unlink()
    assert "vanished" in source.problems()[0].detail


def test_dump_with_unusual_file_name(tmp_path: Path) -> None:
    path = dump(tmp_path / "a 'b\" %s;--\n.smf", records())
    with zlens.open(path) as session:
        assert session.sql("select distinct file from smf113").rows == [(str(path),)]


def test_damaged_dump_gives_rows_and_problems(good: Path) -> None:
    generator = draws(20_260_113)
    whole = good.read_bytes()
    problems, tried = 0, iterations(60, 20)
    for nth in range(tried):
        data = bytearray(whole)
        for _ in range(generator.randrange(1, 8)):
            at = generator.randrange(len(data))
            what = generator.randrange(4)
            if what == 0:
                del data[at : at + generator.randrange(60)]
            elif what == 1:
                data[at:at] = generator.randbytes(generator.randrange(60))
            else:
                data[at] = generator.choice((0, 1, 0x40, 0xFF, generator.randrange(256)))
        path = good.with_name(f"damaged-{nth}.smf")
        path.write_bytes(data)
        try:
            source = opened(path)
        except InputError:
            continue
        assert not source.tables or len(rows(source)) <= 24
        assert not source.tables or rows(source, table="smf113_change") is not None
        found = source.problems(complete=True)
        assert {p.kind for p in found} <= set(KINDS)
        assert all(p.offset is None or 0 <= p.offset <= len(data) for p in found)
        problems += len(found)
    assert problems > tried * 5 / 6


def test_systems_are_limited(tmp_path: Path) -> None:
    records = [record(1, 0, 300.0, system=f"{number:04X}") for number in range(4_097)]
    source = opened(dump(tmp_path / "many.smf", records))
    assert len(source.systems) == 4_096
    assert any("more than 4096 kinds of record" in problem.detail for problem in source.problems())
