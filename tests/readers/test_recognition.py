"""Tests that a file gets the reader that recognizes it, whatever other readers report."""

from __future__ import annotations

import gzip
import io
import runpy
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import smf_formats
from hypothesis import given, settings
from hypothesis import strategies as st
from smf113_builder import other, record
from test_monreader import capture

import monwrite_builder
import zlens
from iterations import draws, iterations
from zlens.errors import InputError
from zlens.live.feeds import growing_file
from zlens.live.watcher import Watcher
from zlens.readers import recognition
from zlens.readers.recognition import DETECTION_BYTES, READERS, recognized

ROOT = Path(__file__).parents[2]
#: Readers by the names of the inputs in fuzz/texts.py.
TEXTS = {
    "linux_counters": "linux.counters",
    "linux_power": "linux.zpwr",
    "linux_hypervisor": "linux.hyptop",
    "linux_memory": "linux.zmemtopo",
    "sysinfo": "linux.sysinfo",
    "hmc": "openmetrics.hmc",
    "dds": "openmetrics.dds",
    "rmf_xml": "rmf.postprocessor",
    "rmf_monitor3": "rmf.monitor3",
    "rmf_printed": "rmf.listing",
    "zos_text": "zos.text",
    "zvm_console": "zvm.console",
    "listing": "listing.source",
}


@pytest.fixture(scope="module")
def valid(demo_files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    """Complete inputs of every reader."""
    texts = runpy.run_path(str(ROOT / "fuzz" / "texts.py"))["seeds"]()
    found = {reader: texts[name][1] for name, reader in TEXTS.items()}
    records = [record(1, 3, 300, [1, 2, 3]), *(other(30, 4, 300 * n, 100 + n) for n in range(1, 5))]
    dumps = [form(records) for form in (smf_formats.stream, smf_formats.blocked, smf_formats.spanned)]
    found["smf.dump"] = [*dumps, smf_formats.segments(records, 70), gzip.compress(dumps[0])]
    monwrite = tmp_path_factory.mktemp("valid") / "monwrite"
    monwrite.write_bytes(demo_files[0].read_bytes()[: 64 * 4096])
    small = monwrite_builder.write(
        monwrite.with_name("small"),
        [monwrite_builder.configuration(monwrite_builder.START_US), *monwrite_builder.minutes(3)],
    )
    found["zvm.monwrite"] = [path.read_bytes() for path in (monwrite, capture(small), small)]
    assert found.keys() == {*READERS}
    return found


def test_file_is_recognized_despite_other_readers(
    valid: dict[str, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every reader that does not recognize a file reports damaged data."""

    def suspicious(detect: Callable[[bytes, int], bool]) -> Callable[[bytes, int], bool]:
        def detect_or_raise(head: bytes, size: int) -> bool:
            if not detect(head, size):
                raise InputError("damaged")
            return True

        return detect_or_raise

    recognized_before = {
        name: [recognized(data[:DETECTION_BYTES], len(data)) for data in inputs]
        for name, inputs in valid.items()
    }
    for name in READERS:
        module = recognition.reader_module(name)
        monkeypatch.setattr(module, "detect", suspicious(module.detect))
    for name, inputs in valid.items():
        assert recognized_before[name] == [name] * len(inputs)
        assert [recognized(data[:DETECTION_BYTES], len(data)) for data in inputs] == [name] * len(inputs)


def test_damage_is_reported_if_unrecognized(demo_files: list[Path]) -> None:
    data = demo_files[0].read_bytes()[: 16 * 4096].replace(b"\n", b"\r\n")
    with pytest.raises(InputError, match="transfer"):
        recognized(data[:DETECTION_BYTES], len(data))


def detection_error(head: bytes, size: int) -> str | None:
    """Return the reader of a file, or the error message."""
    try:
        return recognized(head, size)
    except InputError as error:
        return error.message


def readers_called(head: bytes, size: int) -> set[str | None]:
    """Return the possible results: the first reader that recognizes a file, or else the first message."""
    alone = [recognition.reader_module(name).detect for name in READERS]
    answers: list[bool | str] = []
    for detect in alone:
        try:
            answers.append(detect(head, size))
        except InputError as error:
            answers.append(error.message)
    if True in answers:
        return {[*READERS][answers.index(True)]}
    # Only the zeros of UTF-16 look like damaged data of another format.
    damage = next((answer for answer in answers if answer), None)
    return {damage, None} if damage and b"\0" in head[:4] else {damage}


@pytest.mark.parametrize("name", READERS)
def test_any_bytes_are_recognized_or_rejected(valid: dict[str, list[bytes]], name: str) -> None:
    """The inputs are first bytes of files, with some bytes changed."""
    numbers = draws(name)
    for _ in range(iterations(400, 40)):
        data = bytearray(numbers.choice(valid[name]))
        del data[numbers.choice((numbers.randrange(64), numbers.randrange(len(data)) + 1)) :]
        for _ in range(numbers.choice((0, 1, 8)) if data else 0):
            data[numbers.randrange(len(data))] = numbers.randrange(256)
        size = max(len(data) + numbers.choice((-1, 0, 1, 4096)), 0)
        assert detection_error(bytes(data[:DETECTION_BYTES]), size) in readers_called(
            bytes(data[:DETECTION_BYTES]), size
        )


@given(st.binary(max_size=300), st.integers(0, 2**40))
@settings(max_examples=iterations(1000, 50), deadline=None)
def test_random_bytes_are_recognized_or_rejected(data: bytes, size: int) -> None:
    assert detection_error(data, size) in readers_called(data, size)


def in_tar(path: Path, data: bytes, original: bool) -> bytes:
    """Return a tar of a file, in the POSIX format or the original one, which has no magic."""
    path.write_bytes(data)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        tar.add(path, path.name)
    header = bytearray(archive.getvalue()[:512])
    if original:
        header[257:] = bytes(512 - 257)
        header[148:156] = b"%06o\0 " % (sum(header) - sum(header[148:156]) + 8 * ord(" "))
    return bytes(header) + archive.getvalue()[512:]


@pytest.mark.parametrize("original", [False, True], ids=["posix", "original"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("reader", ["zvm.monwrite", "smf.dump"])
def test_tar_of_dump_is_refused(
    valid: dict[str, list[bytes]], tmp_path: Path, reader: str, packed: bool, original: bool
) -> None:
    data = in_tar(tmp_path / "dump", valid[reader][0], original)
    path = tmp_path / "dump.tar"
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(InputError, match=r"this is a tar archive without proc/sysinfo; .* unpack") as caught:
        zlens.open(path)
    assert caught.value.file == str(path)
    # Streams of these formats are not archives.
    head = path.read_bytes()[:DETECTION_BYTES]
    assert recognized(head, path.stat().st_size, [reader]) is None


def test_stream_is_recognized(tmp_path: Path) -> None:
    """The dump has an S at the offset where monitor data translated to ASCII has one."""
    first = other(30, 4, 300, 100)
    data = bytearray(smf_formats.stream([first, *(other(30, 4, 300 * n, 100) for n in range(2, 400))]))
    data[40:41] = b"S"
    with pytest.raises(InputError, match="the file was translated to ASCII in transfer"):
        recognition.reader_module("zvm.monwrite").detect(bytes(data), len(data))
    path = tmp_path / "dump"
    path.write_bytes(data)
    live = Watcher([growing_file(str(path))])
    try:
        for _ in range(2):
            step = live.step()
            assert step is None or not step.errors
        assert live.streams[0].spool.state.reader == "smf.dump"
    finally:
        live.close()


#: read_values -s of SUSE's s390-tools (read_values.c, print_scc).
READ_VALUES = """Type: 2964
Sequence Code: 00000000000AB1C8
CPUs Total: 10
CPUs IFL: 10
LPAR Number: 7
LPAR Name: LNXPROD
LPAR Characteristics: Shared
LPAR CPUs Total: 4
LPAR CPUs IFL: 4
"""
#: perf stat --metric-only in its formats (stat-display.c: print_metric_headers, print_metric_only).
METRIC_ONLY = {
    "text": """
 Performance counter stats for 'system wide':

                 GHz  insn per cycle branch-misses of all branches
                 0.0            0.77                     2.3

       1.001234567 seconds time elapsed

""",
    "text -I": """#           time                  cpi             prbstate
     1.000100000                 2.01                 45.0
     2.000100000                 2.22                 44.1
""",
    "text -A": """
 Performance counter stats for 'system wide':

                    cpi             l1mp
CPU0               2.01              3.1
CPU1               2.22              3.3
""",
    "-x": "insn per cycle,branch-misses of all branches,\n0.77,2.30,\n",
    "-x -I": "time,cpi,l1mp,\n     1.000100000,2.01,3.10,\n     2.000100000,2.22,3.30,\n",
    "-x -A": "cpu,cpi,l1mp,\nCPU0,2.01,3.10,\nCPU1,2.22,3.30,\n",
    "-j, earlier": '{"unit" : "sec"}{"unit" : "GHz"}\n{"interval" : 1.000100000}{"metric-value" : "0.770"}\n',
    "-j": '{"interval" : 1.000100000, "GHz" : "0.770", "insn per cycle" : "0.77"}\n',
}


def refused(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        zlens.open(path)
    return str(caught.value)


@pytest.mark.parametrize("name", METRIC_ONLY)
def test_perf_metrics_without_counts_are_rejected(tmp_path: Path, name: str) -> None:
    assert refused(tmp_path / "metrics", METRIC_ONLY[name]) == (
        f"{tmp_path / 'metrics'} at byte 0: this is output of perf stat --metric-only, which has metrics and "
        "no counts; run perf stat without --metric-only: metrics are computed from the counts"
    )


def test_perf_read_values_output_is_rejected(tmp_path: Path) -> None:
    assert refused(tmp_path / "values", READ_VALUES) == (
        f"{tmp_path / 'values'} at byte 0: this is output of read_values, which has some lines of "
        "/proc/sysinfo under other names; copy /proc/sysinfo itself"
    )


def test_unknown_text_error_does_not_mention_transfer(tmp_path: Path) -> None:
    error = refused(tmp_path / "note", "dear diary\n")
    assert "this is text, which zlens cannot read" in error
    assert error.endswith("check the file name, and that the file has its first lines")
    assert "binary" not in error
    path = tmp_path / "data"
    path.write_bytes(bytes(range(1, 255)) * 20)
    with pytest.raises(InputError, match="transfer it again in binary: monitor data with record format F"):
        zlens.open(path)
