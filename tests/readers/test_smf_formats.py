"""Tests of physical formats of dumps, compressed or not: equal rows, and their description by `info`."""

from __future__ import annotations

import gzip
import io
import json
import random
import resource
import zipfile
from pathlib import Path
from typing import Any

import pytest
import smf_formats
from hypothesis import example, given, settings
from hypothesis import strategies as st
from smf113_builder import opened, other, record, rows

import zlens
from iterations import draws, iterations
from samples import needs, sample
from zlens.cli import main
from zlens.errors import InputError
from zlens.readers.recognition import recognize
from zlens.readers.smf.dump import SmfSource, detect

SAMPLE = sample("smf/synth_rdw.smf")


def records() -> list[bytes]:
    found = [other(2, None)]
    for n in range(1, 7):
        found += [record(1, cpu, 300 * n, [n * 100 + cpu, n]) for cpu in range(3)]
        found += [other(30, 4, 300 * n, 500 + 1500 * n), record(1, 5, 300 * n, [n], system="SYSB")]
    return [*found, other(3, None)]


def sample_records() -> list[bytes]:
    data, found, at = SAMPLE.read_bytes(), [], 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 2])
        found.append(data[at : at + length])
        at += length
    return found


def written(path: Path, data: bytes) -> SmfSource:
    path.write_bytes(data)
    assert recognize([str(path)]).files == {"smf.dump": [str(path)]}
    return opened(path)


def tables(source: SmfSource) -> dict[str, list[dict[str, Any]]]:
    """Return all rows of all tables without file and offset."""
    return {
        name: [
            {key: value for key, value in row.items() if key not in ("file", "offset")}
            for row in rows(source, table=name)
        ]
        for name in source.tables
    }


def counted(source: SmfSource) -> list[tuple[Any, ...]]:
    return [
        (
            row.system,
            row.name,
            row.count,
            row.bytes,
            row.first_us,
            row.last_us,
            row.min_length,
            row.max_length,
        )
        for row in source.inventory()
    ]


class TestForms:
    @pytest.mark.parametrize("form", smf_formats.FORMS)
    def test_dump_formats_have_same_rows(self, tmp_path: Path, form: str) -> None:
        plain = written(tmp_path / "plain.smf", smf_formats.stream(records()))
        data = smf_formats.FORMS[form](records())
        source = written(tmp_path / "formed.smf", data)
        assert tables(source) == tables(plain)
        assert len(rows(source)) == 24
        assert counted(source) == counted(plain)
        assert source.problems(complete=True) == []
        for row in rows(source, ["offset", "cpu_id"]):
            # The offset of the descriptor word of the record or of its first segment.
            assert data[row["offset"] + 2] in (0, 1)
            assert data[row["offset"] + 4 : row["offset"] + 6] == records()[1][4:6]

    @pytest.mark.parametrize("packing", smf_formats.PACKINGS)
    @pytest.mark.parametrize("form", ["blocks", "spanned", "one behind the other"])
    def test_compressed_dumps(self, tmp_path: Path, form: str, packing: str) -> None:
        plain = written(tmp_path / "plain.smf", smf_formats.stream(records()))
        data = smf_formats.FORMS[form](records())
        source = written(tmp_path / "packed", smf_formats.PACKINGS[packing](data))
        assert tables(source) == tables(plain)
        assert [p.detail for p in source.problems(complete=True) if "README" not in p.detail] == []
        (facts,) = source.info()
        assert facts["bytes"] == (tmp_path / "packed").stat().st_size
        assert f"{len(data):,} bytes, in which offsets count" in facts["packed"]
        offsets = {row["offset"] for row in rows(source, ["offset"])}
        assert all(data[offset + 4 : offset + 6] == records()[1][4:6] for offset in offsets)

    @needs(SAMPLE)
    @pytest.mark.parametrize("form", smf_formats.FORMS)
    def test_formed_sample_has_same_tables(self, tmp_path: Path, form: str) -> None:
        plain = opened(SAMPLE)
        data = smf_formats.FORMS[form](sample_records())
        source = written(tmp_path / "formed.smf.gz", gzip.compress(data))
        assert tables(source) == tables(plain)
        assert len(source.tables) > 5
        assert counted(source) == counted(plain)

    @given(
        lengths=st.lists(st.integers(24, 3000), min_size=1, max_size=30),
        size=st.sampled_from((70, 333, 4000, 32_760)),
        seed=st.integers(0, 2**32),
    )
    # In blocks these have an S where monitor data translated to ASCII has one.
    @example(lengths=[40, 24, 24], size=70, seed=26)
    @settings(max_examples=iterations(40, 12), deadline=None)
    def test_any_records_in_any_format(
        self, tmp_path_factory: pytest.TempPathFactory, lengths: list[int], size: int, seed: int
    ) -> None:
        generator = draws(seed)
        found = []
        for nth, length in enumerate(lengths):
            one = other(generator.choice((30, 70, 72, 110)), generator.randrange(4), nth)
            found.append(one[:24] + generator.randbytes(length - 24))
        found.insert(generator.randrange(len(found)), record(1, 3, 300, [1, 2, 3]))
        folder = tmp_path_factory.mktemp("forms")
        plain = written(folder / "plain", smf_formats.stream(found))
        for nth, form in enumerate((smf_formats.blocked, smf_formats.spanned, smf_formats.segments)):
            cut = max(size, 40_000) if form is smf_formats.blocked else size
            source = written(folder / str(nth), form(found, cut))
            assert counted(source) == counted(plain)
            assert rows(source, ["tod", "cpu_id", "c2_d"]) == rows(plain, ["tod", "cpu_id", "c2_d"])


class TestInfo:
    def dump(self, tmp_path: Path) -> Path:
        """Write records every five minutes with two gaps; the second hour is before and after the first."""

        def hour(nth: int) -> list[bytes]:
            times = [3600 * nth + 300 * n for n in range(1, 13) if (nth, n) not in ((0, 4), (0, 5), (1, 9))]
            return [other(30, 4, second, 100 + n * 10) for second in times for n in range(2)]

        path = tmp_path / "day.smf"
        path.write_bytes(smf_formats.blocked([*hour(1), *hour(0), *hour(1), other(3, None)], 2000))
        return path

    def test_json(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["info", str(self.dump(tmp_path)), "--format", "json"]) == 0
        (shown,) = json.loads(capsys.readouterr().out)
        by_name = {one["name"]: one for one in shown["records"]}
        of_30 = by_name["SMF 30.4"]
        # 11 + 10 + 11 timestamps of two records, of 100 and 110 bytes.
        assert (of_30["count"], of_30["bytes"]) == (64, 32 * 210)
        assert (of_30["min_length"], of_30["mean_length"], of_30["max_length"]) == (100, 105.0, 110)
        assert (of_30["duplicates"], of_30["out_of_order"]) == (22, 1)
        assert (of_30["gaps"], of_30["interval_s"]) == (2, 300.0)
        assert of_30["first"] < of_30["last"]
        of_3 = by_name["SMF 3"]
        assert (of_3["gaps"], of_3["interval_s"], of_3["duplicates"]) == (None, None, 0)

    def test_text_and_table(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = self.dump(tmp_path)
        assert main(["info", str(path)]) == 0
        shown = capsys.readouterr().out
        assert "4 blocks with BDW), " in shown
        assert "100 to 110 bytes, mean 105; every 300 s, 2 gaps; 22 duplicates; 1 run out of order" in shown
        with zlens.open(path) as session:
            found = session.sql(
                "select mean_length, duplicates, out_of_order, gaps, interval_s from inventory "
                "where domain = 30"
            )
            assert found.rows == [(105.0, 22, 1, 2, 300.0)]

    @needs(SAMPLE)
    def test_info_counts_sample_records(self, capsys: pytest.CaptureFixture[str]) -> None:
        # From its README: types 2 and 3 once, 32 of both subtypes of 113, 4 of 70-1, 40 of 72-3; 4 intervals.
        assert main(["info", str(SAMPLE), "--all"]) == 0
        shown = capsys.readouterr().out
        assert "110 of 6 types" in shown
        for name, count in (("113.1", 32), ("113.2", 32), ("70.1", 4), ("72.3", 40), ("2 ", 1), ("3 ", 1)):
            assert any(f"SMF {name}" in line and f" {count} " in line for line in shown.splitlines()), name
        assert shown.count("every 900 s, no gap") == 4
        assert "duplicate" not in shown
        assert "out of order" not in shown

    def test_types_beyond_255(self, tmp_path: Path) -> None:
        head = bytearray(other(126, 3))[:24]
        head[4] |= 0x60
        one = bytes(head) + (32).to_bytes(2) + (1).to_bytes(2) + bytes(24) + (1154).to_bytes(2) + bytes(30)
        source = written(tmp_path / "new.smf", smf_formats.blocked([*records(), one]))
        (row,) = [row for row in source.inventory() if row.domain == 1154]
        assert (row.name, row.count, row.min_length) == ("SMF 1154.3", 1, 84)
        assert source.problems(complete=True) == []


class TestPacked:
    def test_truncated_gzip_dump_is_reported(self, tmp_path: Path) -> None:
        noise = [other(30, 4, n)[:24] + random.Random(n).randbytes(900) for n in range(100)]
        data = gzip.compress(smf_formats.blocked([*records(), *noise]))
        source = written(tmp_path / "cut.gz", data[: len(data) // 2])
        found = [(p.kind, p.detail) for p in source.problems()]
        assert any(k == "truncated" and "the gzip data is" in d for k, d in found)
        assert len(rows(source)) == 24

    def test_decompression_bomb_stops_at_limit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "bomb.gz"
        path.write_bytes(gzip.compress(smf_formats.stream(records()) + bytes(5_000_000)))
        monkeypatch.setenv("ZLENS_UNPACK_LIMIT", "100000")
        source = written(path, path.read_bytes())
        kinds = [(p.kind, p.detail) for p in source.problems()]
        assert any(
            k == "length" and "stopped at 100000 bytes" in d and "ZLENS_UNPACK_LIMIT" in d for k, d in kinds
        )
        assert len(rows(source)) == 24
        monkeypatch.setenv("ZLENS_UNPACK_LIMIT", "plenty")
        with pytest.raises(InputError, match="'plenty'; expected a number of bytes"):
            opened(path)

    def test_zip_members_other_than_dumps(self, tmp_path: Path) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
            archive.writestr("one.smf", smf_formats.stream(records()), zipfile.ZIP_STORED)
            archive.writestr("two.smf", smf_formats.stream(records()))
            archive.writestr("photo.jpg", random.Random(1).randbytes(90_000), zipfile.ZIP_DEFLATED)
        source = written(tmp_path / "some.zip", out.getvalue())
        details = sorted(p.detail for p in source.problems())
        assert [detail.partition(" of the ZIP archive is not read: ")[::2] for detail in details] == [
            ("member photo.jpg", "it is not an SMF dump"),
            ("member two.smf", "compression method 12 is not supported; unpack it with unzip first"),
        ]
        assert len(rows(source)) == 24

    def test_no_temporary_file_remains(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        spool = tmp_path / "spool"
        spool.mkdir()
        monkeypatch.setenv("TMPDIR", str(spool))
        source = written(tmp_path / "day.gz", gzip.compress(smf_formats.stream(records())))
        assert list(spool.iterdir()) == []
        assert len(rows(source)) == 24
        monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
        with pytest.raises(InputError, match=r"cannot be written to .*missing.* TMPDIR"):
            opened(tmp_path / "day.gz")

    def test_many_compressed_files_use_few_descriptors(self, tmp_path: Path) -> None:
        for n in range(150):
            data = smf_formats.blocked([other(2, None), record(1, n, 300, [n, 7]), other(3, None)])
            (tmp_path / f"{n:03}.gz").write_bytes(gzip.compress(data))
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        open_now = len(list(Path("/proc/self/fd").iterdir()))
        # The first hundred compressed files stay open; their unpacked data is one file.
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 120, before[1]))
        try:
            source = opened(*sorted(tmp_path.iterdir()))
            assert source.problems() == []
            found = rows(source, ["cpu_id", "c0_d"])
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert sorted(row["cpu_id"] for row in found) == list(range(150))
        assert all(row["c0_d"] == row["cpu_id"] for row in found)

    def test_other_compressed_files_are_not_recognized(self, tmp_path: Path) -> None:
        for name, data in (
            ("text.gz", gzip.compress(b"a text" * 1000)),
            ("zip", smf_formats.zipped(b"a text")),
        ):
            path = tmp_path / name
            path.write_bytes(data)
            with pytest.raises(InputError, match=r"this file is compressed .*; unpack it first"):
                zlens.open(path)

    def test_compressed_dump_without_descriptor_words(self, tmp_path: Path) -> None:
        path = tmp_path / "lost.gz"
        path.write_bytes(gzip.compress(b"".join(one[4:] for one in records())))
        with pytest.raises(
            InputError, match="a gzip file with SMF records without their record desc"
        ) as caught:
            zlens.open(path)
        assert "QUOTE SITE RDW" in str(caught.value)

    def test_compressed_dump_into_lake(self, tmp_path: Path) -> None:
        path = tmp_path / "day.smf.gz"
        path.write_bytes(gzip.compress(smf_formats.spanned(records(), 700)))
        lake = tmp_path / "lake"
        assert main(["import", str(path), "--lake", str(lake)]) == 0
        question = "select cpu_id, tod, c0_d from smf113 order by all"
        with zlens.open(path) as files, zlens.open(lake) as held:
            assert held.sql(question).rows == files.sql(question).rows
            assert len(held.sql(question).rows) == 24

    @pytest.mark.parametrize(
        ("head", "words"),
        [
            (b"\x50\xe0" + "INMR01".encode("cp037"), r"TSO TRANSMIT \(XMIT\).* with RECEIVE INDATASET"),
            (b"\x05\x01\x7f\xf8\x80\x00\x6d\x5e\x00\x00\x7f\xf8", "TERSE.*AMATERSE with PARM=UNPACK"),
            (b"\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x04\x00", "TERSE.*AMATERSE with PARM=UNPACK"),
            (b"\x01\x89\x69\xa5\x04\x00", "TERSE file.*AMATERSE with PARM=UNPACK"),
            (":CFF".encode("cp037"), "VMARC archive.*VMARC UNPACK"),
            (b"\x8f\x07", r"COPYFILE \(PACK on CMS.*COPYFILE fn ft fm \(UNPACK"),
        ],
        ids=["xmit", "spack", "pack", "native terse", "vmarc", "cms pack"],
    )
    def test_dump_compressed_on_zos(self, tmp_path: Path, head: bytes, words: str) -> None:
        path = tmp_path / "packed"
        path.write_bytes(head + random.Random(3).randbytes(4096 - len(head)))
        with pytest.raises(InputError, match=words):
            zlens.open(path)


def test_damaged_compressed_or_blocked_dump(tmp_path: Path) -> None:
    generator = draws(20_261_122)
    blocked = smf_formats.spanned(records(), 700)
    wholes = [blocked, *(pack(blocked) for pack in smf_formats.PACKINGS.values())]
    problems, tried = 0, iterations(100, 30)
    for nth in range(tried):
        data = bytearray(wholes[nth % len(wholes)])
        for _ in range(generator.randrange(1, 5)):
            at = generator.randrange(6, len(data))
            if generator.randrange(4) == 0:
                del data[at : at + generator.randrange(60)]
            else:
                data[at] = generator.choice((0, 1, 0x40, 0xFF, generator.randrange(256)))
        path = tmp_path / str(nth)
        path.write_bytes(data)
        try:
            if not detect(bytes(data[:65536]), len(data)):
                continue
            source = opened(path)
        except InputError:
            continue
        assert not source.tables or len(rows(source)) <= 24
        problems += len(source.problems(complete=True))
    assert problems > tried * 0.6
