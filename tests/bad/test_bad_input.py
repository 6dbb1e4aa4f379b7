"""Tests of bad input: message with offset, row in `problem`, exit status; readable data is read."""

from __future__ import annotations

import gc
import gzip
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import monwrite_samples
import pyarrow as pa
import pytest

import zlens
from iterations import draws, iterations
from zlens import _native, cli, demo
from zlens.errors import InputError


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return monwrite_samples.write(tmp_path / "good.data")


class Outcome:
    """Output and exit status of the program for files."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *paths: Path | str) -> None:
        self._capsys = capsys
        self._paths = [str(path) for path in paths]
        self.status, out, self.error = self.run("info", "--format", "json", "--strict")
        self.objects: list[dict[str, Any]] = json.loads(out) if out else []
        self.problems: list[dict[str, Any]] = []
        if self.objects:
            _, out, _ = self.run("sql", "-q", "from problem", "--format", "json")
            self.problems = json.loads(out)

    def run(self, command: str, *words: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        status = cli.main([command, *self._paths, *words])
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err
        return status, captured.out, captured.err

    def samples(self) -> int:
        """Return the number of processor samples that were read."""
        status, out, _ = self.run("sql", "-q", "select count(*) as n from d0r2", "--format", "json")
        assert status == 0
        return int(json.loads(out)[0]["n"])

    def kinds(self) -> set[str]:
        return {problem["kind"] for problem in self.problems}

    def problem(self, kind: str) -> dict[str, Any]:
        found = [problem for problem in self.problems if problem["kind"] == kind]
        assert found, f"no {kind} among {self.problems}"
        return found[0]


ALL = monwrite_samples.CPUS * monwrite_samples.INTERVALS


def test_undamaged_file_has_no_problem(capsys: pytest.CaptureFixture[str], good: Path) -> None:
    seen = Outcome(capsys, good)
    assert seen.status == 0
    assert seen.problems == []
    assert seen.samples() == ALL


# Unreadable input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ["empty"]),
        (b"Dear all,\nplease find the file attached.\n" * 50, ["text", "byte 0"]),
        (b"\x00" * 8192, ["byte 0"]),
        (random.Random(1).randbytes(40_000), ["byte 0"]),
        (gzip.compress(b"anything" * 100, mtime=0), ["gzip", "unpack it first"]),
        (":CFF".encode("cp037") + bytes(80), ["VMARC", "unpack it first"]),
        (b"\x89PNG\r\n\x1a\n" + bytes(5000), ["byte 0"]),
        (b"<?xml version='1.0'?><a><b/></a>", ["byte"]),
    ],
)
def test_foreign_data_is_one_line_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data: bytes, words: list[str]
) -> None:
    path = tmp_path / "input"
    path.write_bytes(data)
    for command in (["info"], ["sql", "-q", "select 1"], ["report", "prclog"]):
        name, *rest = command
        status = cli.main(
            [name, *(rest if name == "report" else []), str(path), *(rest if name == "sql" else [])]
        )
        captured = capsys.readouterr()
        assert status == 2
        assert captured.out == ""
        assert captured.err.startswith("zlens: ")
        assert captured.err.count("\n") == 1
        assert str(path) in captured.err
        for word in words:
            assert word in captured.err


def test_text_mode_transfer_is_reported_with_fix(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, good: Path
) -> None:
    # FTP in ASCII mode translates EBCDIC to Latin-1, byte by byte.
    path = tmp_path / "translated"
    path.write_bytes(good.read_bytes().decode("cp037").encode("latin-1"))
    status = cli.main(["info", str(path)])
    error = capsys.readouterr().err
    assert status == 2
    assert "binary" in error
    assert "4096" in error
    # With a good file it is a problem, and the good file is read.
    seen = Outcome(capsys, path, good)
    assert seen.status == 1
    assert seen.problem("transfer")["file"] == str(path)
    assert seen.samples() == ALL


# Damaged MONWRITE files -------------------------------------------------------------------------


def test_cut_in_control_record(capsys: pytest.CaptureFixture[str], good: Path) -> None:
    ends = monwrite_samples.places(good, 1, 11)
    control = (ends[-1] // monwrite_samples.PAGE - 1) * monwrite_samples.PAGE
    os.truncate(good, control + 100)
    seen = Outcome(capsys, good)
    assert seen.status == 1
    assert seen.problem("truncated")["offset"] >= control
    assert seen.samples() == ALL - monwrite_samples.CPUS


@pytest.mark.parametrize("keep", [7, 30])
def test_cut_in_header_or_record(capsys: pytest.CaptureFixture[str], good: Path, keep: int) -> None:
    last = monwrite_samples.places(good, 0, 2)[-1]
    os.truncate(good, last + keep)
    seen = Outcome(capsys, good)
    assert seen.status == 1
    problem = seen.problem("truncated")
    assert problem["offset"] == last
    assert problem["bytes"] == keep
    assert seen.samples() == ALL - 1


def test_unclosed_file_is_read_completely(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = monwrite_samples.write(tmp_path / "open", finish=False)
    seen = Outcome(capsys, path)
    assert seen.samples() == ALL
    assert "not complete" not in seen.error


@pytest.mark.parametrize(
    ("length", "kind"), [(0, "length"), (5, "length"), (0x0FF0, "length"), (0xFFFF, "length")]
)
def test_impossible_record_length(
    capsys: pytest.CaptureFixture[str], good: Path, length: int, kind: str
) -> None:
    place = monwrite_samples.places(good, 0, 2)[monwrite_samples.CPUS * 3 + 1]
    monwrite_samples.patch(good, place, struct.pack(">H", length))
    seen = Outcome(capsys, good)
    assert seen.status == 1
    assert seen.problem(kind)["offset"] == place
    # At most the rest of that interval is lost.
    assert seen.samples() >= ALL - monwrite_samples.CPUS + 1


def test_invalid_domain_is_reported(capsys: pytest.CaptureFixture[str], good: Path) -> None:
    place = monwrite_samples.places(good, 0, 2)[5]
    monwrite_samples.patch(good, place + 4, b"\xee")
    seen = Outcome(capsys, good)
    assert seen.status == 1
    assert any(problem["offset"] == place for problem in seen.problems)
    assert seen.samples() >= ALL - monwrite_samples.CPUS + 1


def test_record_without_layout_is_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    strange = bytearray(monwrite_samples.processor(monwrite_samples.START_US, 1, 0))
    strange[4:8] = struct.pack(">BBH", 3, 0, 777)
    path = monwrite_samples.write(
        tmp_path / "strange",
        [monwrite_samples.sample(0, more=[bytes(strange)] * 3), monwrite_samples.sample(1)],
    )
    seen = Outcome(capsys, path)
    assert seen.status == 1
    assert seen.problem("no_layout")["record"] == "D3R777"
    (one,) = seen.objects
    assert [r["count"] for r in one["records"] if r["name"] == "D3R777"] == [3]
    assert seen.samples() == 2 * monwrite_samples.CPUS


def test_shorter_and_longer_records_are_decoded_up_to_their_end(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    intervals = [monwrite_samples.sample(number, {1: 68, 2: 300}) for number in range(4)]
    path = monwrite_samples.write(tmp_path / "lengths", intervals)
    seen = Outcome(capsys, path)
    assert seen.status == 1
    (one,) = seen.objects
    assert {"short", "long"} <= {problem["kind"] for problem in one["problems"]}
    assert {"short", "long"} <= seen.kinds()
    assert seen.problem("long")["bytes"] > 0
    query = (
        "select sytprp_pfxcpuad as cpu, count(sytprp_pfxutime) as u, count(sytprp_pfxtotwt) as w "
        "from d0r2 group by all order by all"
    )
    _, out, _ = seen.run("sql", "-q", query, "--format", "json")
    rows = {row["cpu"]: (row["u"], row["w"]) for row in json.loads(out)}
    assert rows == {0: (4, 4), 1: (4, 0), 2: (4, 4), 3: (4, 4)}


@pytest.mark.parametrize("address", [(0x5000, 0x1000), (0x0000_1000, 0xFFFF_FFFF)])
def test_invalid_frame_addresses(
    capsys: pytest.CaptureFixture[str], good: Path, address: tuple[int, int]
) -> None:
    # The control record before the fifth interval.
    control = (monwrite_samples.places(good, 1, 11)[5] // monwrite_samples.PAGE - 1) * monwrite_samples.PAGE
    monwrite_samples.patch(good, control + 40 + 4, struct.pack(">II", *address))
    seen = Outcome(capsys, good)
    assert seen.status == 1
    found = [problem for problem in seen.problems if problem["bytes"]]
    assert found, seen.problems
    assert all(isinstance(problem["offset"], int) for problem in found)
    assert seen.samples() >= ALL - monwrite_samples.CPUS


def test_gap_in_file_is_skipped_with_size(capsys: pytest.CaptureFixture[str], good: Path) -> None:
    control = (monwrite_samples.places(good, 1, 11)[5] // monwrite_samples.PAGE - 1) * monwrite_samples.PAGE
    monwrite_samples.patch(good, control, b"\xa5" * 2 * monwrite_samples.PAGE)
    seen = Outcome(capsys, good)
    assert seen.status == 1
    assert sum(problem["bytes"] or 0 for problem in seen.problems) >= monwrite_samples.PAGE
    assert seen.samples() == ALL - monwrite_samples.CPUS


#: Damaged files whose measures one query reads, because planning dominates its time.
TOGETHER = 12


def test_any_damage_gives_rows_and_problems(tmp_path: Path) -> None:
    """Seeded mutations raise only zlens' exceptions and return no more rows than were written."""
    chance = draws(42)
    readable: list[Path] = []
    tried = iterations(120, 12)
    for number in range(tried):
        path = monwrite_samples.write(tmp_path / f"damaged-{number}", system=f"BAD{number}")
        data = bytearray(path.read_bytes())
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(1, 40)] = chance.randbytes(chance.randrange(0, 40))
        path.write_bytes(data)
        try:
            with zlens.open(path) as session:
                assert all(
                    problem.offset is None or problem.offset <= len(data) for problem in session.problems
                )
                if "d0r2" in session._core.engine.raw_tables():
                    assert session.sql("select count(*), sum(sytprp_pfxutime_d) from d0r2").rows
                    readable.append(path)
        except InputError:
            pass
    assert len(readable) > tried / 2
    for first in range(0, len(readable), TOGETHER):
        some = readable[first : first + TOGETHER]
        with zlens.open(some) as session:
            keys = "system, source, interval_end, cpu_id"
            query = f"select count(*), count(distinct ({keys})) from cpu"
            rows, distinct = session.sql(query).rows[0]
            assert rows == distinct, some
            assert (session.sql("select max(online) from load").rows[0][0] or 0) <= monwrite_samples.CPUS, (
                some
            )


def test_end_with_wrong_time_keeps_samples_of_its_interval(tmp_path: Path) -> None:
    """Samples belong to the end that follows them, whatever time it has: none is in an interval twice."""
    chance = draws(43)
    query = "select count(*), sum(busy_pct) from cpu group by interval_end order by interval_end"
    with zlens.open(monwrite_samples.write(tmp_path / "intact")) as session:
        intact = session.sql(query).rows
    assert intact == [(monwrite_samples.CPUS, 204.0)] * (monwrite_samples.INTERVALS - 1)
    for number in range(iterations(60, 8)):
        path = monwrite_samples.write(tmp_path / f"moved-{number}")
        # The first end only closes configuration records, and the last has no later samples to contradict it.
        ends = monwrite_samples.places(path, 1, 11)[1:-1]
        which = chance.randrange(len(ends))
        moved_us = chance.choice([-1, 1]) * int(10 ** chance.uniform(2.5, 10))
        late = moved_us > 60_000_000 - 100
        end_us = monwrite_samples.START_US + which * 60_000_000
        tod = _native.tod_from_unix_us(end_us + moved_us)
        monwrite_samples.patch(path, ends[which] + 8, tod.to_bytes(8))
        with zlens.open(path) as session:
            rows = session.sql(query).rows
            if which and 30_000_000 <= moved_us <= 60_000_000 - 100:
                # An end in such a gap may be lost, and its samples with it.
                assert rows == intact[1:], (which, moved_us)
                assert {problem.kind for problem in session.problems} == {"gap"}
                continue
            assert rows == intact, (which, moved_us)
            is_reported = [problem for problem in session.problems if problem.offset == ends[which]]
            assert bool(is_reported) == (moved_us < 0 or late), (which, moved_us, session.problems)


def test_negative_length_of_intervals_is_ignored(tmp_path: Path) -> None:
    path = monwrite_samples.write(tmp_path / "negative")
    with zlens.open(path) as session:
        intact = session.sql("select * from load").rows
    [profile] = monwrite_samples.places(path, 1, 9)
    monwrite_samples.patch(path, profile + 20, (-1_797_850_912).to_bytes(4, signed=True))
    with zlens.open(path) as session:
        assert session.systems[0].nominal_s == 60
        [(count,)] = session.sql("select count(*) from d0r2").rows
        assert count == monwrite_samples.CPUS * monwrite_samples.INTERVALS
        assert session.sql("select * from load").rows == intact


#: Numbers that a damaged field may have.
EXTREMES = (b"\0" * 4, b"\xff" * 4, b"\x80\0\0\0", b"\x7f\xff\xff\xff", b"\xff" * 8, b"\x7f" + b"\xff" * 7)


def test_extreme_number_in_any_field_is_read(good: Path) -> None:
    """A number of the configuration, of an interval end or of a sample raises only zlens' exceptions."""
    intact = good.read_bytes()
    cases = []
    for domain, number in ((1, 4), (1, 9), (1, 11), (5, 2), (0, 2)):
        start = monwrite_samples.places(good, domain, number)[-1]
        length = int.from_bytes(intact[start : start + 2])
        cases += [(start + at, extreme) for at in range(2, length, 2) for extreme in EXTREMES]
    for at, extreme in draws(43).sample(cases, iterations(len(cases), 30)):
        good.write_bytes(intact[:at] + extreme + intact[at + len(extreme) :])
        try:
            with zlens.open(good) as session:
                core = session._core
                for source in core.sources:
                    assert source.info()
                    for part in source.tables.get("d0r2") or []:
                        assert pa.table(part.stream(["interval_end", "seconds", "flag"])).num_rows
                assert all(
                    problem.offset is None or problem.offset <= len(intact) for problem in core.problems
                )
        except InputError:
            pass


# Damaged XML ------------------------------------------------------------------------------------


@pytest.fixture
def xml(tmp_path: Path, demo_folder: Path) -> Path:
    return Path(shutil.copy(demo_folder / demo.RMF_NAME, tmp_path))


def test_truncated_xml_is_reported(capsys: pytest.CaptureFixture[str], xml: Path) -> None:
    data = xml.read_bytes()
    xml.write_bytes(data[: len(data) * 5 // 8])
    seen = Outcome(capsys, xml)
    assert seen.status == 1
    assert seen.problem("truncated")["offset"] <= len(data)
    _, out, _ = seen.run(
        "sql", "-q", "select count(distinct interval_end) as n from partition", "--format", "json"
    )
    assert json.loads(out)[0]["n"] >= 2


def test_unknown_xml_section_is_reported(capsys: pytest.CaptureFixture[str], xml: Path) -> None:
    text = xml.read_text(encoding="utf-8")
    text = text.replace(
        "<name>Number of Physical Processors</name>", "<name>Number of Rubber Ducks</name>", 1
    )
    xml.write_text(text, encoding="utf-8")
    seen = Outcome(capsys, xml)
    assert seen.status == 1
    assert "Rubber Ducks" in seen.problem("section")["detail"]


def test_entities_are_not_expanded(capsys: pytest.CaptureFixture[str], xml: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("TOPSECRET", encoding="utf-8")
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    head = f'<!DOCTYPE ddsml [<!ENTITY l0 "lol">{laughs}<!ENTITY s SYSTEM "{secret.as_uri()}">]>'
    text = xml.read_text(encoding="utf-8")
    text = text.replace("<ddsml>", head + "<ddsml>", 1)
    text = text.replace("<value>2097</value>", "<value>&l11;&s;</value>", 1)
    xml.write_text(text, encoding="utf-8")
    begin = time.process_time()
    status = cli.main(["sql", str(xml), "-q", "from system", "--format", "json"])
    captured = capsys.readouterr()
    assert time.process_time() - begin < 10
    assert status in (0, 2)
    assert "TOPSECRET" not in captured.out + captured.err
    assert "lollol" not in captured.out + captured.err


# Files and folders ------------------------------------------------------------------------------


def test_repeated_input_is_read_once(capsys: pytest.CaptureFixture[str], tmp_path: Path, good: Path) -> None:
    copy = tmp_path / "copy.data"
    shutil.copy(good, copy)
    os.symlink(good, tmp_path / "link.data")
    seen = Outcome(capsys, good, copy, tmp_path / "link.data", good)
    assert seen.status == 1
    assert len([p for p in seen.problems if p["kind"] == "duplicate"]) == 3
    assert seen.samples() == ALL


def test_folder_of_thousands_of_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, good: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    notes = iterations(3000, 300)
    for number in range(notes):
        (folder / f"note-{number:04}.txt").write_text(f"nothing {number}\n", encoding="utf-8")
    shutil.move(good, folder / "zz.data")
    begin = time.process_time()
    seen = Outcome(capsys, folder)
    assert time.process_time() - begin < 30
    assert seen.status == 1
    assert len(seen.problems) == notes
    assert seen.samples() == ALL


def test_more_files_than_descriptors(tmp_path: Path) -> None:
    for number in range(300):
        monwrite_samples.write(tmp_path / f"{number:03}", [monwrite_samples.sample(number)])
    few = 'ulimit -n 200; exec "$@"'
    query = "select count(*) as n, count(sytprp_pfxutime_d) as d from d0r2"
    command = [sys.executable, "-m", "zlens", "sql", str(tmp_path), "-q", query, "--format", "json"]
    done = subprocess.run(["sh", "-c", few, "sh", *command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [{"n": 300 * monwrite_samples.CPUS, "d": 299 * monwrite_samples.CPUS}]


@pytest.mark.parametrize(
    "name", ["a b.data", "ü-日本.data", "x'y\"z.data", "-q.data", "new\nline", "\x1b[31mred", "*?[x]"]
)
def test_input_names_with_unusual_characters(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, good: Path, name: str
) -> None:
    path = tmp_path / name
    good.rename(path)
    seen = Outcome(capsys, path)
    assert seen.status == 0
    assert seen.objects[0]["file"] == str(path)
    assert seen.samples() == ALL
    _, out, _ = seen.run("info")
    assert "\x1b" not in out


def test_undecodable_file_name_is_read(tmp_path: Path, good: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\xfe.data"
    os.rename(good, path)
    done = subprocess.run([sys.executable, "-m", "zlens", "info", path], capture_output=True)
    assert done.returncode == 0
    assert b"BADTEST" in done.stdout
    done = subprocess.run(
        [sys.executable, "-m", "zlens", "info", tmp_path, "--format", "json"], capture_output=True
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)[0]["system"] == "BADTEST"


def test_irregular_files_are_rejected(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("pipe", "empty", "dangling", "absent"):
        assert cli.main(["info", str(tmp_path / name)]) == 2
        assert capsys.readouterr().err.startswith("zlens: ")


# Files that change while they are read ----------------------------------------------------------


def grow(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(bytes(monwrite_samples.PAGE))


def shrink(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def vanish(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [grow, shrink, vanish])
def test_changed_input_is_reported(good: Path, change: Any) -> None:
    # Files of sessions that other tests left open count among the hundred open files.
    gc.collect()
    with zlens.open(good) as session:
        change(good)
        rows = session.sql("select count(*) from d0r2").rows[0][0]
        assert 0 <= rows <= ALL
        if change is not shrink:
            assert rows == ALL
        kinds = {problem.kind for problem in session.problems}
        assert "changed" in kinds


# Size -------------------------------------------------------------------------------------------


#: Starts a program and prints its exit status, CPU seconds and peak memory, which includes its parent's peak.
_SMALL = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def peak_mib(*words: str) -> tuple[int, float, float]:
    """Return exit status, CPU seconds and peak memory of the program."""
    command = [sys.executable, "-c", _SMALL, sys.executable, "-m", "zlens", *words]
    status, seconds, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(status), float(seconds), int(peak) / 1024


def test_gigabytes_of_zeros(tmp_path: Path) -> None:
    """Zeros at the start and after good data; the file is sparse, reading it is not."""
    # More than the memory limit.
    size = iterations(4 * 2**30, 3 * 2**29)
    zeros = tmp_path / "zeros"
    with open(zeros, "wb") as file:
        file.truncate(size)
    status, seconds, memory = peak_mib("info", str(zeros))
    assert status == 2
    assert seconds < 30
    assert memory < 1024
    good = monwrite_samples.write(tmp_path / "open", finish=False)
    with open(good, "r+b") as file:
        file.truncate(size)
    status, seconds, memory = peak_mib("info", str(good), "--strict")
    assert status == 1
    assert seconds < 60
    assert memory < 1024


def test_random_bytes(tmp_path: Path) -> None:
    # The file was not closed, so the following bytes may be data and are all examined.
    good = monwrite_samples.write(tmp_path / "open", finish=False)
    block = random.Random(7).randbytes(8 * 2**20)
    path = tmp_path / "random"
    with open(path, "wb") as file:
        file.write(good.read_bytes())
        for _ in range(24):
            file.write(block)
    status, seconds, memory = peak_mib("sql", str(path), "-q", "select count(*) from d0r2")
    assert status == 0
    assert seconds < 60
    assert memory < 1024
