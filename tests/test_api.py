"""Tests of `import zlens`: names, types, times as text, conversions of results, and how objects are shown."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens.session.session import empty_session

EXAMPLE = Path(__file__).parents[1] / "examples" / "busiest_guests.py"
ENDS = "SELECT interval_end FROM load ORDER BY interval_end"


def test_session_has_few_public_names() -> None:
    assert [name for name in dir(zlens.Session) if not name.startswith("_")] == [
        "close", "findings", "options", "problems", "report", "sql", "systems", "verdict",
    ]  # fmt: skip


def test_every_public_name_exists() -> None:
    assert {*zlens.__all__} < {*dir(zlens)}
    assert all(hasattr(zlens, name) for name in zlens.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Opened'"):
        _ = zlens.Opened


def test_example_program_has_strict_types(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    """Mypy uses the types of an installed package only if it has py.typed."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import zlens\nlines: int = zlens.open('a').sql('b').columns\nzlens.opened\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-pretty"]
    command += [f"--cache-dir={pytestconfig.cache.mkdir('mypy')}"] if pytestconfig.cache else []
    done = subprocess.run(
        [*command, os.fspath(EXAMPLE), os.fspath(wrong)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.fspath(Path(zlens.__file__).parents[1])},
    )
    *errors, total = done.stdout.splitlines()
    assert total == "Found 2 errors in 1 file (checked 2 source files)", done.stdout + done.stderr
    assert ['has type "list[str]"' in errors[0], '"opened"' in errors[1]] == [True, True], errors


def test_example_program_runs(demo_files: list[Path]) -> None:
    def output(*words: str) -> tuple[int, str]:
        command = [sys.executable, os.fspath(EXAMPLE), os.fspath(demo_files[0]), *words]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout or done.stderr

    status, text = output("2010-03-09 09:00")
    assert status == 0
    assert text.splitlines()[0] == "3 guests of ZLDEMO"
    assert text.splitlines()[-1].startswith("<Report user: ")
    assert output("25:00")[0] == 2
    assert output("25:00")[1].startswith("'25:00' is not a time")


def test_times_are_given_as_text(demo_files: list[Path]) -> None:
    """Local times of the demo are one hour ahead of UTC."""
    utc = dt.UTC
    with zlens.open(demo_files[0], start="2010-03-09 09:00", end="2010-03-09T08:10:00Z") as session:
        ends = [end for (end,) in session.sql(ENDS)]
        assert (ends[0], ends[-1]) == (
            dt.datetime(2010, 3, 9, 8, 1, tzinfo=utc),
            dt.datetime(2010, 3, 9, 8, 10, tzinfo=utc),
        )
    with zlens.open(demo_files[0], start=dt.datetime(2010, 3, 9, 9, 0), end=ends[-1]) as session:
        assert [end for (end,) in session.sql(ENDS)] == ends
    with zlens.open(demo_files[0], shift="Tue 09:00-09:10") as session:
        assert [end for (end,) in session.sql(ENDS)] == ends
    with zlens.open(demo_files[0], options=zlens.Options(every_s=300), start="09:00", end="09:10") as session:
        assert len(session.sql(ENDS)) == 2


@pytest.mark.parametrize("name", ["start", "end", "shift", "tz"])
def test_invalid_time_text_is_error(demo_files: list[Path], name: str) -> None:
    times: dict[str, Any] = {name: "noon"}
    with pytest.raises(zlens.QueryError, match="'noon' is not a"):
        zlens.open(demo_files[0], **times)


@pytest.mark.parametrize("zone", ["+01:00", dt.timezone(dt.timedelta(hours=1))])
def test_zone_of_local_times_is_given(demo_files: list[Path], zone: str | dt.tzinfo) -> None:
    """An RMF report has only local times."""
    [report] = [path for path in demo_files if path.suffix == ".xml"]
    with zlens.open(report) as local, zlens.open(report, tz=zone) as session:
        [(first,)] = session.sql(f"{ENDS} LIMIT 1")
        [(first_local,)] = local.sql(f"{ENDS} LIMIT 1")
        assert first_local - first == dt.timedelta(hours=1)


def test_result_is_sequence_of_rows(demo_files: list[Path]) -> None:
    with zlens.open(demo_files[0]) as session:
        result = session.sql("SELECT cpu_id, count(*) AS n FROM cpu GROUP BY cpu_id ORDER BY cpu_id")
        assert repr(result) == "<QueryResult: cpu_id int, n int>"
        assert len(result) == 4
        assert [*result] == result.rows
        assert repr(result) == "<QueryResult: cpu_id int, n int; 4 rows>"
        empty = session.sql("SELECT cpu_id FROM cpu WHERE cpu_id < 0")
        assert (len(empty), [*empty]) == (0, [])


ROW = "SELECT 'A' AS system, 1 AS i, 0.5 AS f, TIMESTAMPTZ '2010-03-09 08:00:00Z' AS t, true AS b"


def test_result_converts_to_arrow() -> None:
    pytest.importorskip("pyarrow")
    table = zlens.Session(empty_session()).sql(ROW).to_arrow()
    time = dt.datetime(2010, 3, 9, 8, tzinfo=dt.UTC)
    assert table.to_pylist() == [{"system": "A", "i": 1, "f": 0.5, "t": time, "b": True}]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_result_converts_to_data_frame(package: str) -> None:
    pytest.importorskip(package)
    frame = getattr(zlens.Session(empty_session()).sql(ROW), f"to_{package}")()
    assert type(frame).__module__.split(".")[0] == package
    assert [*frame.columns] == ["system", "i", "f", "t", "b"]
    assert frame["t"][0] == dt.datetime(2010, 3, 9, 8, tzinfo=dt.UTC)
    assert (frame["system"][0], frame["i"][0], frame["f"][0], frame["b"][0]) == ("A", 1, 0.5, True)


@pytest.mark.parametrize(
    ("method", "package"), [("to_arrow", "pyarrow"), ("to_pandas", "pandas"), ("to_polars", "polars")]
)
def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, method: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    result = zlens.Session(empty_session()).sql(ROW)
    with pytest.raises(zlens.QueryError, match=f"{package} is not installed") as error:
        getattr(result, method)()
    assert error.value.cure == f"install it: pip install {package}"
