"""Tests of aliases of a measured interval: pool, scenario, and expected compared with observed use.

Publication: z/VM 6.4 Performance Update (IBM, 2016-2018), output of the HPALIAS package.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reports.fake_session import FakeSession
from zlens.cli import main
from zlens.errors import QueryError
from zlens.models import interval_choice
from zlens.models.aliases import measurement as aliases
from zlens.rendering.answer import by_name

END = datetime(2016, 9, 1, 22, 2, 18, tzinfo=UTC)
LATER = END + timedelta(seconds=60)
HEAD = {"system": "VM1", "source": "zvm-monitor", "interval_end": END, "seconds": 60.0}


def use(
    io_type: str, share: float | None, in_use: float | None, queued: float | None, **more: Any
) -> dict[str, Any]:
    """Return one use of a pool of 16 aliases."""
    own = {"ssid": "0600", "pool": 0, "aliases": 16}
    return {**HEAD, **own, "io_type": io_type, "share": share, "in_use": in_use, "queued": queued} | more


#: The first published interval, with a second pool that was busier a minute later.
PUBLISHED = [use("ALL", None, None, None), use("MDISK", 20, 2.37, 27.18), use("PAGING", 140, 13.63, 5.19)]
OTHER = {"ssid": "0700", "pool": 1, "aliases": 12}
BESIDE = [use("MDISK", 100, 0.5, 0, **OTHER), use("PAGING", 100, 1.5, 0, **OTHER)]
NEXT = [
    use("MDISK", 20, 1.0, 0, interval_end=LATER),
    use("PAGING", 140, 2.0, 0, interval_end=LATER),
    use("MDISK", 100, 3.0, 0, interval_end=LATER, **OTHER),
    use("PAGING", 100, 4.0, 0, interval_end=LATER, **OTHER),
]


def session(*rows: dict[str, Any]) -> FakeSession:
    system = {"system": "VM1", "source": "zvm-monitor", "utc_offset_s": 0}
    return FakeSession({"system": [system], "alias_pool": list(rows)})


def test_published_interval() -> None:
    """Requests of both uses waited: each is expected to get its entitlement, 2 and 14 of 16."""
    answer = aliases.compare(session(*PUBLISHED, *BESIDE), "VM1", END)
    rows = by_name(answer.table("uses"))
    assert [rows[name]["gets"] for name in ("MDISK", "PAGING")] == pytest.approx([2, 14])
    assert [rows[name]["observed"] for name in ("MDISK", "PAGING")] == [2.37, 13.63]
    assert [rows[name]["error"] for name in ("MDISK", "PAGING")] == pytest.approx([-0.37, 0.37])
    assert "pool 0 of control unit 0600, the busiest of this interval" in answer.notes[0]
    assert "1 (0700)" in answer.notes[1]
    assert "VM1, pool 0 of control unit 0600, interval that ended 2016-09-01 22:02:18 (UTC)" in answer.title


@pytest.mark.parametrize("pool", ["1", "0700"])
def test_pool_by_number_and_by_control_unit(pool: str) -> None:
    """No request waited in this pool: demand equals use."""
    answer = aliases.compare(session(*PUBLISHED, *BESIDE), "VM1", END, [f"pool={pool}"])
    rows = by_name(answer.table("uses"))
    assert [rows[name]["gets"] for name in ("MDISK", "PAGING")] == pytest.approx([0.5, 1.5])
    assert [rows[name]["entitled"] for name in ("MDISK", "PAGING")] == pytest.approx([6, 6])
    assert "busiest" not in answer.notes[0]
    assert "0 (0600)" in answer.notes[1]


def test_busiest_interval_of_requested_pool() -> None:
    given = session(*PUBLISHED, *BESIDE, *NEXT)
    assert interval_choice.choose_interval(given, "VM1", None, aliases.busy()) == END
    assert interval_choice.choose_interval(given, "VM1", None, aliases.busy(["pool=1"])) == LATER
    assert (
        interval_choice.choose_interval(given, "VM1", None, aliases.busy(["use.MDISK.share=5", "pool=0600"]))
        == END
    )


def test_unknown_alias_pool_is_error() -> None:
    given = session(*PUBLISHED, *BESIDE)
    with pytest.raises(QueryError, match="no pool 9") as caught:
        aliases.compare(given, "VM1", END, ["pool=9"])
    assert caught.value.expected == "0 (0600), 1 (0700)"
    assert interval_choice.choose_interval(given, "VM1", None, aliases.busy(["pool=9"])) == END, (
        "so that it is said so"
    )


def test_setting_changes_aliases_measured_scenario() -> None:
    answer = aliases.compare(session(*PUBLISHED), "VM1", END, ["use.MDISK.share=140"])
    assert by_name(answer.table("uses"))["MDISK"]["gets"] == pytest.approx(8)
    assert "changed: use.MDISK.share=140" in answer.notes
    more = aliases.compare(session(*PUBLISHED), "VM1", END, ["aliases=32"])
    assert by_name(more.table("uses"))["MDISK"]["gets"] == pytest.approx(4)


def test_missing_shares_name_record_page() -> None:
    """A record page from before z/VM 6.4 has only the entire pool."""
    answer = aliases.compare(session(use("ALL", None, None, None)), "VM1", END)
    assert answer.tables == []
    assert "no share of any use" in answer.notes[-1]
    assert "D6R28" in answer.notes[-1]
    one = aliases.compare(session(use("MDISK", 20, 1, 0), use("PAGING", None, 1, 0)), "VM1", END)
    assert one.tables == []
    assert "no share of PAGING" in one.notes[-1]


def test_data_without_number_of_aliases() -> None:
    answer = aliases.compare(session(use("MDISK", 20, 1, 0, aliases=None)), "VM1", END)
    assert answer.tables == []
    assert "the number of aliases" in answer.notes[-1]


def test_waits_with_free_aliases_are_noted() -> None:
    """0.05 requests of PAGING waited, although 13 of 16 aliases were free on average."""
    rows = [use("MDISK", 20, 1.0, 0), use("PAGING", 140, 2.0, 0.05)]
    answer = aliases.compare(session(*rows), "VM1", END)
    assert by_name(answer.table("uses"))["PAGING"]["gets"] == pytest.approx(15)
    assert any("PAGING: 0.05 requests waited" in note and "13.0 aliases" in note for note in answer.notes)
    content = aliases.compare(session(*rows), "VM1", END, ["use.PAGING.queued=0"])
    assert by_name(content.table("uses"))["PAGING"]["gets"] == pytest.approx(2)
    assert not any("waited" in note for note in content.notes), "what the user answered is not asked again"
    full = aliases.compare(session(*PUBLISHED), "VM1", END)
    assert not any("came in bursts" in note for note in full.notes)


def test_uncounted_use_is_noted() -> None:
    answer = aliases.compare(session(use("MDISK", 20, None, None), use("PAGING", 140, 2, 0)), "VM1", END)
    assert by_name(answer.table("uses"))["MDISK"]["gets"] == pytest.approx(14)
    assert any(note.startswith("MDISK: the data does not report") for note in answer.notes)


def test_solve_aliases_from_input(sim_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "aliases", "--from", str(sim_file), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"]["uses"]["rows"]
    assert {row["name"]: row["share"] for row in rows} == {"MDISK": 20, "PAGING": 140}
    assert all(row["error"] == pytest.approx(row["gets"] - row["observed"]) for row in rows)
