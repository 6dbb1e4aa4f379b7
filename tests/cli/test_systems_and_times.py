"""Tests of the choice of system and interval: commands print both and accept the printed form."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest

import zlens
from command_line import run
from iterations import quick_subset
from monwrite_builder import beginning
from zlens import demo
from zlens.errors import QueryError
from zlens.inputs.options import parse_zone

#: Commands on a measured interval, without the input's name.
COMMANDS = (
    ("solve", "shares", "--from"),
    ("solve", "partitions", "--from"),
    ("solve", "smt", "--from"),
    ("plan", "--set", "split=2"),
)
_ENDED = re.compile(r"interval that ended (\S+ \S+) \((UTC\S*)\)")


@pytest.mark.parametrize("command", quick_subset(2, COMMANDS), ids=lambda command: " ".join(command[:2]))
def test_at_accepts_printed_time(
    sim_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    path = tmp_path / "sim.monwrite"
    path.write_bytes(beginning(sim_file, 6))
    with zlens.open([path]) as session:
        # Not the busiest interval, which is the default without --at.
        ((end,),) = session.sql("SELECT interval_end FROM load ORDER BY busy_pct LIMIT 1").rows
        local = session._core.display(end, "ZLSIM")
    status, out, _ = run(capsys, *command, str(path), "--at", f"{local:%Y-%m-%d %H:%M:%S}")
    assert status == 0
    printed = _ENDED.search(out)
    assert printed is not None
    assert printed.groups() == (f"{local:%Y-%m-%d} {local:%H:%M:%S}", "UTC+02:00")
    for taken in (printed[1], f"{printed[1]} ({printed[2]})", printed[1].replace("-", "/")):
        assert run(capsys, *command, str(path), "--at", taken)[1] == out


@pytest.mark.parametrize(
    "command",
    # Cores with threads belong to one system.
    [command for command in COMMANDS if "smt" not in command],
    ids=lambda command: " ".join(command[:2]),
)
def test_several_systems_require_choice(
    demo_folder: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    files = str(demo_folder)
    status, out, err = run(capsys, *command, files)
    assert (status, out) == (2, "")
    assert "several systems" in err
    assert "ZLDEMO" in err
    assert "ZLSIM" in err
    assert "--system" in err
    status, out, _ = run(capsys, *command, files, "--system", "ZLSIM")
    assert (status, "ZLSIM" in out) == (0, True)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_unknown_system_is_one_line_error(
    sim_file: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    sentence = run(capsys, "sql", str(sim_file), "--system", "NOPE", "-q", "SELECT 1")[2]
    assert "there is no system NOPE in the input; expected one of ZLSIM" in sentence
    assert run(capsys, *command, str(sim_file), "--system", "NOPE") == (2, "", sentence)


def test_one_rate_is_one_series(demo_folder: Path) -> None:
    """Paging is one fact in `load` and `storage`: NULL where a processor was varied off or its counters
    reset."""
    with zlens.open([demo_folder / demo.MONWRITE_NAME]) as session:
        rows = session.sql(
            "SELECT l.interval_end, l.page_rate, s.page_read_rate + s.page_write_rate FROM load AS l "
            "JOIN storage AS s USING (system, source, interval_end) WHERE s.zone = 'all'"
        ).rows
        [reset] = session.sql("SELECT DISTINCT interval_end FROM cpu WHERE user_pct IS NULL").rows
        [off] = session.sql(
            "SELECT min(interval_end) FROM load WHERE interval_end > "
            "(SELECT time FROM event WHERE kind = 'vary off processor')"
        ).rows
    assert [end for end, rate, _ in rows if rate is None] == [*off, *reset]
    for _, rate, parts in rows:
        assert (rate is None) is (parts is None)
        assert rate == pytest.approx(parts)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("+02:00", 120), ("-0330", -210), ("+05:59", 359), ("+18:00", 1080), ("-18:00", -1080)],
)
def test_offsets_are_those_of_iso_8601(text: str, minutes: int) -> None:
    assert parse_zone(text).utcoffset(None) == dt.timedelta(minutes=minutes)


@pytest.mark.parametrize("text", ["+18:01", "-19:00", "+23:59", "+99:00", "+01:60", "+02:99"])
def test_invalid_zone_offsets_are_rejected(text: str) -> None:
    """ISO 8601 minutes are below 60; zones are at most 18 hours from UTC (java.time.ZoneOffset)."""
    with pytest.raises(QueryError, match="is not a time zone"):
        parse_zone(text)
