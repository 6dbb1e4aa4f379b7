"""Tests of what-ifs on guests of a measured interval: shares and cores of the machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reports.fake_session import FakeSession
from zlens.errors import QueryError, ScenarioError, Wording
from zlens.models.shares import measurement as shares
from zlens.plan import planning
from zlens.rendering.answer import Answer, Value, by_name

END = datetime(2024, 5, 14, 9, 0, tzinfo=UTC)
HEAD = {"system": "VM1", "source": "zvm-monitor", "interval_end": END, "seconds": 60.0}


def virtual(userid: str, used: float, waited: float) -> dict[str, Any]:
    """Return a virtual CPU that waited for a processor in this percent of its samples."""
    states = {"dormant_pct": 0.0, "test_idle_pct": 0.0, "cpu_wait_pct": waited, "limit_wait_pct": 0.0}
    return {
        **HEAD,
        "userid": userid,
        "vcpu": 0,
        "basis": "sample",
        "cpu_type": "IFL",
        "cpu_pct": used,
    } | states


def session(
    virtuals: list[dict[str, Any]],
    *,
    processors: int = 3,
    cores: int | None = None,
    weight: int = 500,
    threads: int | None = None,
    used: float = 3.0,
) -> FakeSession:
    """Return guests of a system; its partition has `cores` of ten, another partition weight 500."""
    users = dict.fromkeys(row["userid"] for row in virtuals)
    partition = {**HEAD, "cpu_type": "IFL", "dedicated": False, "capped": False}
    machine: dict[str, list[dict[str, Any]]] = {}
    if cores is not None:
        machine = {
            "partition": [
                {
                    **partition,
                    "partition": "A",
                    "weight": weight,
                    "logical_cpus": cores,
                    "total_s": 60 * used,
                },
                {**partition, "partition": "B", "weight": 500, "logical_cpus": 2, "total_s": 120.0},
            ],
            "cec": [
                {**HEAD, "cpu_type": "IFL", "physical": 10, "dedicated": 0.0, "lpmgt_pct": 0.0},
            ],
        }
    if threads is not None:
        machine["core"] = [{**HEAD, "core_id": n, "cpu_type": "IFL", "threads": threads} for n in range(3)]
    return FakeSession(
        {
            "system": [{"system": "VM1", "source": "zvm-monitor", "utc_offset_s": 0, "lpar": "A"}],
            "load": [{**HEAD, "busy_pct": 90.0}],
            "cpu": [
                {**HEAD, "cpu_id": n, "cpu_type": "IFL", "parked_pct": 0.0, "busy_pct": 90.0}
                for n in range(processors)
            ],
            "guest": [
                {**HEAD, "userid": one, "basis": "sample", "share_kind": "relative", "share": 100.0}
                for one in users
            ],
            "guest_cpu": virtuals,
            **machine,
        }
    )


#: Four equal guests that waited often on three processors: 75% of one each.
HUNGRY = [virtual(name, 75.0, 25.0) for name in "WXYZ"]


def values(answer: Answer, table: str, key: str) -> dict[Value, Value]:
    return {name: row[key] for name, row in by_name(answer.table(table)).items()}


def test_another_relative_share() -> None:
    """W with 600 of 900 is entitled to two processors, but has one virtual CPU: 100; three share 200."""
    answer = planning.plan(session(HUNGRY), ["user.W.relative=600"])
    rows = by_name(answer.table("guests"))
    assert (rows["W"]["before"], rows["W"]["after"], rows["W"]["difference"]) == pytest.approx((75, 100, 25))
    assert rows["X"]["after"] == pytest.approx(200 / 3)
    assert (rows["W"]["used"], rows["W"]["waited"]) == (75, 25)
    assert (rows["W"]["held_before"], rows["W"]["held_after"]) == ("share", "demand")
    share = by_name(answer.table("shares"))["W"]
    assert (share["share_before"], share["share_after"]) == ("REL 100", "REL 600")
    assert (share["before"], share["after"]) == pytest.approx((75, 200))
    assert answer.figure("guests") == pytest.approx(0)
    assert answer.table("changes").rows == [
        ("user.W.relative=600", "relative share of W", None, 100, 600, 500)
    ]


def test_share_covers_all_types_of_guest() -> None:
    """Like SET SHARE without a type: W also has CPs, and its relative share is set for both."""
    given = session([*HUNGRY, {**virtual("W", 40.0, 60.0), "vcpu": 1, "cpu_type": "CP"}], processors=4)
    given.connection.execute("UPDATE cpu SET cpu_type = 'CP' WHERE cpu_id = 3")
    answer = planning.plan(given, ["user.W.relative=600"])
    shares_by_type = {row[:2]: row[2:4] for row in answer.table("shares").rows}
    assert shares_by_type["W", "IFL"] == shares_by_type["W", "CP"] == ("REL 100", "REL 600")
    assert shares_by_type["X", "IFL"] == ("REL 100", "REL 100")
    assert {row[:2]: row[3] for row in answer.table("guests").rows}["W", "CP"] == 40


def test_absolute_share_replaces_relative_share() -> None:
    """30% of three processors is 90; the others share 210: 70 each."""
    answer = planning.plan(session(HUNGRY), ["user.W.absolute=30"])
    after = values(answer, "guests", "after")
    assert [after[name] for name in "WXYZ"] == pytest.approx([90, 70, 70, 70])
    assert by_name(answer.table("shares"))["W"]["share_after"] == "ABS 30%"
    assert [row[1] for row in answer.table("changes").rows] == ["relative share of W", "absolute share of W"]


def test_maximum_share_with_limit() -> None:
    """10% of three processors is 30; the others get 90 each. A soft limit is equal if all want more."""
    for limit in ("hard", "soft"):
        answer = planning.plan(session(HUNGRY), ["user.W.maximum_absolute=10", f"user.W.limit={limit}"])
        after = values(answer, "guests", "after")
        assert [after[name] for name in "WXYZ"] == pytest.approx([30, 90, 90, 90])
        assert by_name(answer.table("shares"))["W"]["share_after"] == f"REL 100, ABS 10% LIMIT{limit.upper()}"
    relative = planning.plan(session(HUNGRY), ["user.W.limit=hard", "user.W.maximum_relative=50"])
    assert values(relative, "guests", "after")["W"] == pytest.approx(300 * 50 / 350)


def test_share_limit_needs_maximum() -> None:
    for setting, cure in (("maximum_absolute=10", "limit=hard"), ("limit=soft", "maximum_absolute=25")):
        with pytest.raises(ScenarioError, match=rf"add user\.W\.{cure}"):
            planning.plan(session(HUNGRY), [f"user.W.{setting}"])
    nothing = planning.plan(session(HUNGRY), ["user.W.limit=none"])
    assert values(nothing, "guests", "difference")["W"] == pytest.approx(0)


def test_short_waits_limit_extra_demand() -> None:
    """More share does not help a guest with short waits, as a note reports."""
    rows = [virtual("W", 40.0, 5.0), virtual("X", 50.0, 5.0)]
    answer = planning.plan(session(rows), ["user.W.relative=10000"])
    assert values(answer, "guests", "after") == pytest.approx({"W": 45, "X": 55})
    assert any("its use plus its wait" in note for note in answer.notes)
    assert any("equals Used for 0 of 2 guests" in note for note in answer.notes)
    assert [one.name for one in answer.assumptions] == []


def test_additional_core_adds_guest_processor() -> None:
    """A has 3 logical cores of its 5: a fourth adds a processor, and each guest gets one."""
    answer = planning.plan(session(HUNGRY, cores=3), ["logical_cores=+1"])
    row = by_name(answer.table("processors"))["IFL"]
    assert (row["before"], row["after"], row["difference"]) == pytest.approx((3, 4, 1))
    assert values(answer, "guests", "after") == pytest.approx(dict.fromkeys("WXYZ", 100))
    assert answer.figure("guests") == pytest.approx(100)
    assert any(one.name == "processors_for_guests" for one in answer.assumptions)
    assert any("Guests of A that waited would use more than it used" in note for note in answer.notes)


def test_core_with_two_threads_is_two_processors() -> None:
    given = session(HUNGRY, processors=2, cores=3, threads=2)
    row = by_name(planning.plan(given, ["logical_cores=+1"]).table("processors"))["IFL"]
    assert (row["before"], row["after"]) == pytest.approx((2, 4))


def test_unusable_physical_core_changes_nothing() -> None:
    answer = planning.plan(session(HUNGRY, cores=3), ["physical_cores=+1"])
    assert by_name(answer.table("processors"))["IFL"]["difference"] == pytest.approx(0)
    assert set(values(answer, "guests", "difference").values()) == {0.0}


def test_guest_processors_are_limited_to_online() -> None:
    """B uses 2 of ten cores, so A could get 8 of 9; an eleventh adds the ninth, which guests had."""
    given = session(HUNGRY, processors=9, cores=9)
    more = planning.plan(given, ["physical_cores=+1"])
    assert more.figure("could_ifl") == pytest.approx(1)
    row = by_name(more.table("processors"))["IFL"]
    assert (row["before"], row["after"]) == pytest.approx((9, 9))
    fewer = planning.plan(given, ["logical_cores=-2"])
    assert fewer.figure("could_ifl") == pytest.approx(-1)
    assert by_name(fewer.table("processors"))["IFL"]["after"] == pytest.approx(7)
    assert any("though it could get only 8.00 of them" in note for note in fewer.notes)
    full = planning.plan(session(HUNGRY, cores=3), ["logical_cores=+1"])
    assert not any("though it could get only" in note for note in full.notes)


def test_lower_weight_reduces_guest_processors() -> None:
    """B wants 9 of ten cores: A could get 5 with half of the weights, 3.33 with a third."""
    given = session(HUNGRY, processors=7, cores=7)
    given.connection.execute("UPDATE partition SET logical_cpus = 9, total_s = 540 WHERE partition = 'B'")
    answer = planning.plan(given, ["weight=250"])
    row = by_name(answer.table("could"))["A"]
    assert (row["before"], row["after"]) == pytest.approx((5, 10 / 3))
    assert by_name(answer.table("processors"))["IFL"]["after"] == pytest.approx(7 - 5 + 10 / 3)


def test_core_and_share_settings_combine() -> None:
    """Two processors: W gets 100% of one, the others share the second."""
    both = planning.plan(session(HUNGRY, cores=3), ["logical_cores=-1", "user.W.relative=300"])
    after = values(both, "guests", "after")
    assert [after[name] for name in "WXYZ"] == pytest.approx([100, 100 / 3, 100 / 3, 100 / 3])


def test_guest_plan_base_equals_solve() -> None:
    given = [virtual("W", 95.0, 30.0), virtual("X", 60.0, 30.0), virtual("Y", 45.0, 2.0)]
    expected = by_name(shares.compare(session(given, processors=2), "VM1", END).table("compared"))
    answer = planning.plan(session(given, processors=2), ["user.W.relative=300"])
    for name in "WXY":
        assert values(answer, "guests", "before")[name] == expected[name]["expected"]
        assert values(answer, "guests", "used")[name] == expected[name]["observed"]


def test_guests_of_split_partition_are_not_solved() -> None:
    answer = planning.plan(session(HUNGRY, cores=4), ["split=2"])
    assert not any(table.key == "guests" for table in answer.tables)
    assert any("the part of A that each guest goes to is unknown" in note for note in answer.notes)
    other = planning.plan(session(HUNGRY, cores=4), ["partition.B.split=2"])
    assert any(table.key == "guests" for table in other.tables)
    with pytest.raises(ScenarioError, match="shares and a split cannot be combined"):
        planning.plan(session(HUNGRY, cores=4), ["split=2", "user.W.relative=5"])


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("user.V.relative=5", "the data reports no guest V with a share; expected W, X, Y, Z"),
        ("user.W.relative=0", "user.W.relative is 0; expected an integer from 1 to 10,000"),
        ("user.W.absolute=101", "user.W.absolute is 101.0; expected a number from 0.1 to 100"),
        ("user.W.absolute=much", 'user.W.absolute is "much"'),
        ("user.W.limit=firm", 'expected one of "hard", "soft", "none"'),
        ("user.W.share=5", "no what-if is called user.W.share"),
        ("relative=5", "did you mean user.NAME.relative?"),
    ],
)
def test_guest_plan_errors(setting: str, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        planning.plan(session(HUNGRY), [setting])
    assert words in str(caught.value)


def test_share_is_relative_or_absolute() -> None:
    with pytest.raises(ScenarioError, match="relative or absolute, not both"):
        planning.plan(session(HUNGRY), ["user.W.relative=5", "user.w.absolute=5"])


def test_no_guests_names_records() -> None:
    silent = FakeSession({"load": [{**HEAD, "busy_pct": 50.0}]})
    with pytest.raises(QueryError, match=r"no data for table guest; expected .*D4R3"):
        planning.plan(silent, ["user.W.relative=5"])
    shareless = session(HUNGRY)
    shareless.connection.execute("UPDATE guest SET share_kind = 'absolute', share = NULL")
    with pytest.raises(
        ScenarioError, match="has no guests with a share: the data reports no guest with a relative share"
    ):
        planning.plan(shareless, ["user.W.relative=5"])


def test_interval_is_busiest_or_selected() -> None:
    given = session(HUNGRY)
    later = (END + timedelta(seconds=60)).replace(tzinfo=None).isoformat(" ")
    for table, columns in (("load", "busy_pct = 50"), ("cpu", "busy_pct = 50"), ("guest", "share = 200")):
        given.connection.execute(
            f"CREATE TEMP TABLE x AS SELECT * REPLACE (TIMESTAMP '{later}' AS interval_end, "
            f"CAST({columns.split(' = ')[1]} AS DOUBLE) AS {columns.split(' = ')[0]}) FROM {table}; "
            f"INSERT INTO {table} SELECT * FROM x; DROP TABLE x"
        )
    given.connection.execute(
        f"INSERT INTO guest_cpu SELECT * REPLACE (TIMESTAMP '{later}' AS interval_end) FROM guest_cpu"
    )
    busiest = planning.plan(given, ["user.W.relative=300"])
    assert busiest.table("changes").rows[0][3] == 100
    assert "ended 2024-05-14 09:00:00 (UTC)" in busiest.title
    assert planning.plan(given, ["user.W.relative=300"], at="09:00:30").table("changes").rows[0][3] == 200
    rows = by_name(planning.list_settings(given, at="09:00:30").table("whatifs"))
    assert rows["user.W.relative"]["now"] == "200"


def test_every_guest_example_has_answer() -> None:
    given = session(HUNGRY, cores=3)
    rows = by_name(planning.list_settings(given).table("whatifs"))
    example = Wording.for_command_line(rows["user.W.limit"]["example"])
    assert example == "--set user.W.limit=hard --set user.W.maximum_absolute=25"
    for row in rows.values():
        settings = [word for word in str(row["example"]).split() if word != "--set"]
        if settings != ["smt=on"]:
            assert planning.plan(given, settings).tables, settings
