"""Tests of bad Linux on Z and HMC input: message with location, row in `problem`; readable data is read."""

from __future__ import annotations

import json
import os
import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import sysinfo_builder
import zlens
from iterations import iterations, quick_subset
from readers import test_hyptop, test_lspai, test_zmemtopo, test_zpwr
from readers.test_dds import MADE as DDS
from readers.test_hmc import MADE
from readers.test_linux_counters import LSHWC, PERF_CSV, PERF_EACH, SERVICE, lshwc_json, perf_json
from readers.test_linux_lshwc import PAIRS
from zlens import cli
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.readers.linux import counters as linux_counters
from zlens.readers.linux import hyptop, sysinfo, zmemtopo, zpwr
from zlens.readers.openmetrics import dds, hmc

LSCPU = """\
Architecture:        s390x
Vendor ID:           IBM/S390
Machine type:        3931
Thread(s) per core:  2
On-line CPU(s) list: 0-7
BogoMIPS:            26315.00
Hypervisor:          PR/SM
"""
CPUINFO = """\
vendor_id       : IBM/S390
# processors    : 2
bogomips per cpu: 26315.00
cache0          : level=1 type=Data scope=Private size=128K line_size=256 associativity=8
processor 0: version = 00,  identification = 0133E8,  machine = 3931
processor 1: version = 00,  identification = 0133E8,  machine = 3931
"""
TEXTS = {
    "perf": PERF_EACH,
    "perf-x": PERF_CSV,
    "perf-j": perf_json(),
    "lshwc": LSHWC,
    "lshwc-json": json.dumps(lshwc_json(), indent=1),
    "lshwc-pairs": PAIRS,
    "lspai": test_lspai.csv(),
    "lspai-json": test_lspai.as_json(),
    "zpwr-json": test_zpwr.as_json(),
    "zpwr-csv": test_zpwr.as_csv(),
    "hyptop": test_hyptop.as_json(),
    "hyptop-lines": test_hyptop.as_lines(),
    "zmemtopo": test_zmemtopo.as_json(),
    "lscpu": LSCPU,
    "cpuinfo": CPUINFO,
    "service_levels": SERVICE,
    "hmc": MADE,
    "dds": DDS,
    "sysinfo": sysinfo_builder.SYSINFO,
}
FORMS: dict[str, bytes] = {
    **{name: text.encode() for name, text in TEXTS.items()},
    "tar": sysinfo_builder.tar(sysinfo_builder.texts()),
    "tgz": sysinfo_builder.tar(sysinfo_builder.texts(), packed=True),
}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Said:
    """Output of the program for files."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def info(self, *paths: Path) -> tuple[int, list[dict[str, Any]]]:
        status, out, _ = self.run("info", *paths, "--format", "json", "--strict")
        return status, json.loads(out) if out else []

    def problems(self, *paths: Path) -> list[Problem]:
        with zlens.open(list(paths)) as session:
            return session.problems

    def run(self, command: str, *words: object) -> tuple[int, str, str]:
        self._capsys.readouterr()
        status = cli.main([command, *map(str, words)])
        captured = self._capsys.readouterr()
        assert "bug in zlens" not in captured.err
        return status, captured.out, captured.err

    def refused(self, path: Path) -> str:
        status, out, error = self.run("info", path)
        assert (status, out, error.count("\n")) == (2, "", 1)
        assert str(path) in error
        return error


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    return Said(capsys)


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_undamaged_linux_inputs_have_no_read_problem(said: Said, tmp_path: Path, form: str) -> None:
    path = written(tmp_path / form, FORMS[form])
    _, found = said.info(path)
    assert found[0]["system"]
    # perf and lshwc's CSV have no zone and no machine; uncounted values are reported.
    assert {problem.kind for problem in said.problems(path)} <= {"time", "zone", "section", "no_layout"}


@pytest.mark.parametrize(
    ("encoding", "words"),
    [("utf-16", "text in UTF-16"), ("utf-16-be", "UTF-16"), ("cp037", "text in EBCDIC")],
)
@pytest.mark.parametrize("form", TEXTS)
def test_foreign_text_encoding_is_reported(
    said: Said, tmp_path: Path, form: str, encoding: str, words: str
) -> None:
    text = TEXTS[form].encode("ascii", "replace").decode()
    error = said.refused(written(tmp_path / form, text.encode(encoding)))
    assert words in error
    assert "UTF-8" in error


def test_linux_input_is_read_up_to_truncation(said: Said, tmp_path: Path, form: str) -> None:
    data = FORMS[form]
    for twelfth in range(12):
        path = written(tmp_path / f"{form}-{twelfth}", data[: len(data) * twelfth // 12])
        status, _, error = said.run("info", path)
        assert (status == 2) == error.startswith("zlens: ")
    # The last truncation leaves most of the file.
    assert status == 0


def test_repeated_linux_input_is_read_once(said: Said, tmp_path: Path, form: str) -> None:
    first = written(tmp_path / form, FORMS[form])
    shutil.copy2(first, tmp_path / "copy")
    alone = said.info(first)[1]
    status, found = said.info(tmp_path)
    assert status == 1
    assert len([one for one in found if one["records"]]) == len(alone)
    assert "duplicate" in {problem.kind for problem in said.problems(tmp_path)}


@pytest.mark.parametrize("name", ["a b", "ü-日本", "x'y\"z", "-q", "new\nline", "\x1b[31mred", "*?[x]"])
def test_linux_names_with_unusual_characters(said: Said, tmp_path: Path, form: str, name: str) -> None:
    path = written(tmp_path / name, FORMS[form])
    _, found = said.info(path)
    # An archive is named with its folder, here without one.
    assert found[0]["file"] == str(path)
    assert "\x1b" not in said.run("info", path)[1]


def test_among_thousands_of_files(said: Said, tmp_path: Path) -> None:
    notes = iterations(1000, 150)
    for number in range(notes):
        (tmp_path / f"note-{number:04}").write_text(f"nothing {number}\n")
    for form, data in FORMS.items():
        written(tmp_path / "data" / form / form, data)
    status, found = said.info(tmp_path)
    assert status == 1
    assert {"BOX", "lnx1", "made"} <= {one["system"] for one in found}
    query = "select count(*) as n from problem where detail like '%zlens cannot read%'"
    assert json.loads(said.run("sql", tmp_path, "-q", query, "--format", "json")[1]) == [{"n": notes}]


OPENERS = {
    **{"hmc": hmc, "dds": dds, "zpwr-json": zpwr, "zpwr-csv": zpwr},
    **{"hyptop": hyptop, "hyptop-lines": hyptop, "zmemtopo": zmemtopo},
    **dict.fromkeys(("sysinfo", "cpuinfo", "lscpu", "tar", "tgz"), sysinfo),
}


def test_file_removed_or_truncated_after_detection(
    said: Said, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = OPENERS.get(form, linux_counters)
    whole = reader.open_files
    path = tmp_path / form

    def vanished(*arguments: Any) -> Any:
        path.unlink()
        return whole(*arguments)

    def emptied(*arguments: Any) -> Any:
        os.truncate(path, 0)
        return whole(*arguments)

    for change in (vanished, emptied):
        written(path, FORMS[form])
        monkeypatch.setattr(reader, "open_files", change)
        said.refused(path)


@pytest.mark.parametrize("form", [*(name for name in FORMS if OPENERS.get(name) is not sysinfo)])
def test_growing_file_is_read(said: Said, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes of the first look are read, and the growth is reported."""
    path = written(tmp_path / form, FORMS[form])
    true = os.fstat
    seen: list[int] = []

    def grown(number: int) -> os.stat_result:
        status = true(number)
        if os.path.samestat(status, os.stat(path)):
            seen.append(number)
            # Between the first and the last check of its size.
            if len(seen) == 1:
                with path.open("ab") as more:
                    more.write(b"\n")
        return status

    reader = OPENERS.get(form, linux_counters)
    monkeypatch.setattr(os, "fstat", grown)
    source = reader.open_files([str(path)], Options())
    assert [problem.detail for problem in source.problems() if problem.kind == "changed"] == [
        "the file changed while it was read"
    ]


def test_info_reports_damage_of_archive_and_folder(said: Said, tmp_path: Path) -> None:
    path = written(tmp_path / "s.tar", FORMS["tar"] + b"what is this? " * 100)
    out = said.run("info", path)[1]
    assert "Not read" not in out
    assert "not a tar header" in out
    folder = sysinfo_builder.folder(
        tmp_path / "s",
        sysinfo_builder.texts() | {f"{sysinfo_builder.CPUS}/cpu0/topology/core_siblings_list": "0-99999999"},
    )
    out = said.run("info", folder)[1]
    assert "Not read" not in out
    assert "siblings of CPU 0" in out


@pytest.mark.parametrize("form", quick_subset(3, ["nothing", *FORMS]))
def test_four_gigabytes_of_trailing_zeros(said: Said, tmp_path: Path, form: str) -> None:
    """A sparse file needs no disk space. The data before the hole is read, and the zeros are not stored."""
    path = written(tmp_path / "hole", FORMS.get(form, b""))
    os.truncate(path, 4 << 30)
    tracemalloc.start()
    status, _, error = said.run("info", path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Of these, up to 64 MiB are read at once.
    assert most < (
        300 << 20 if form.startswith(("lshwc-", "lspai-", "zpwr-", "hyptop", "zmemtopo")) else 32 << 20
    )
    assert status == (2 if form == "nothing" else 0), error
