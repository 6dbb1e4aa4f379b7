"""Tests of live guest relocation scenarios with published measurements."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

from zlens import models
from zlens.catalog.codes import words
from zlens.cli import main
from zlens.errors import ScenarioError
from zlens.models import sweeps
from zlens.models.constants import open_questions
from zlens.models.scenario import example
from zlens.rendering import answer_html, answer_text
from zlens.rendering.answer import Answer, by_name

GIB = 1024


def solved(*guests: dict[str, Any], rate: float = 100.0, **more: Any) -> Answer:
    """Relocate guests without walks of page tables, on a link that carries no more for several of them."""
    named = [{"name": f"G{at}", "memory": 4096, **guest} for at, guest in enumerate(guests or ({},), 1)]
    link = {"rate": rate, "several": 100}
    return models.solve("relocation", {"link": link, "guest": named, "walk": 0, **more})


def row(answer: Answer, name: str = "G1") -> dict[str, Any]:
    return by_name(answer.table("relocations"))[name]


def pages(answer: Answer, name: str = "G1") -> list[Any]:
    return [one[6] for one in answer.table("passes").rows if one[0] == name]


@pytest.mark.parametrize(
    ("workload", "kpages", "mib"),
    [("file system, page cache", 1019, 4076), ("file system, direct I/O", 74, 296), ("OLTP", 721, 2884)],
)
def test_pages_of_first_pass(workload: str, kpages: int, mib: int) -> None:
    """IBM's Linux documentation, amount of pages transferred of a guest of 4096 MiB; k is 1024."""
    assert pages(solved({"touched": mib}))[0] == kpages * 1024, workload


def test_java_guest_redirties_nearly_all_pages() -> None:
    """IBM's Linux documentation: passes after the first move 86% of the 887 k pages of the first."""
    touched = 887 * 1024 / 256
    answer = solved(
        {"touched": touched, "changing": 0.86 * touched, "change_rate": 5000}, rate=300, maxquiesce="NOLIMIT"
    )
    first, *others, last = pages(answer)
    assert len(others) == 6
    assert sum(others) / len(others) / first == pytest.approx(0.86, abs=0.001)
    assert last == 0
    assert any("as fast as they are sent" in note for note in answer.notes)


def test_idle_guest() -> None:
    """z/VM Performance Update 6.2 and 6.3: 0 GB changing, 4 passes, 4.9 GB moved."""
    answer = solved({"memory": 40 * GIB, "touched": 4.9 * GIB})
    assert row(answer)["passes"] == 4
    assert row(answer)["moved"] == pytest.approx(4.9 * GIB)
    assert row(answer)["stopped_by"] == "little left"


def test_guest_dirtying_25_gb() -> None:
    """z/VM Performance Update 6.2 and 6.3: 25 GB changing, 8 passes, 160 GB moved.

    The rate of changes is not published: 2.22 times the rate of the link results in these values.
    """
    guest = {"memory": 40 * GIB, "touched": (25 + 4.9) * GIB, "changing": 25 * GIB, "change_rate": 2.22 * 600}
    answer = solved(guest, rate=600, maxquiesce="NOLIMIT")
    assert row(answer)["passes"] == 8
    assert row(answer)["moved"] / GIB == pytest.approx(160, abs=0.5)


def test_options_of_vmrelocate() -> None:
    """z/VM Performance Update 6.2 and 6.3: best and worst options for each time, by default."""
    guests = [
        {"name": f"LINUX{at}", "memory": 2048, "change_rate": 20, "changing": 400} for at in range(1, 6)
    ]
    answer = models.solve("relocation", {"link": {"rate": 300}, "guest": guests, "at_once": 5})
    ways: dict[Any, dict[str, Any]] = {**by_name(answer.table("options"))}
    serial, serial_at_once = ways["in sequence"], ways["in sequence, IMMEDIATE"]
    together, together_at_once = ways["5 at once"], ways["5 at once, IMMEDIATE"]

    def least(key: str) -> Any:
        return min(ways.values(), key=lambda way: way[key])

    assert least("total") is together_at_once
    assert least("relocation") is serial_at_once
    assert least("quiesce") is serial
    assert max(ways.values(), key=lambda way: way["quiesce"]) is together_at_once
    # In sequence, QT and individual RT improve substantially, total RT elongates only slightly.
    assert together["relocation"] > 2 * serial["relocation"]
    assert together["total"] < serial["total"] < 1.5 * together["total"]


def test_smt_increases_dirty_rate() -> None:
    """z/VM and simultaneous multithreading, 2020: 51% more pages in the quiesce, which takes 26% longer.

    Both hold if the fixed time is 49% of the quiesce.
    """
    rate, left = 100.0, 100.0
    fixed = left / rate * 0.49 / 0.51
    guest = {"change_rate": left * 100, "pattern": "sweep", "fixed_quiesce": fixed, "touched": 2000}
    alone = solved({**guest, "changing": left}, rate=rate)
    smt = solved({**guest, "changing": left * 1.51}, rate=rate)
    assert row(smt)["quiesce_pages"] / row(alone)["quiesce_pages"] == pytest.approx(1.51)
    assert row(smt)["quiesce"] / row(alone)["quiesce"] == pytest.approx(1.26, abs=0.005)


def test_four_chpids_with_fast_one_in_middle() -> None:
    """z/VM Performance Update 6.2 and 6.3: 1-2Gb, 2-4Gb, 1-8Gb with four CTC devices each."""
    chpids = [{"name": str(at), "speed": speed, "ctcs": 4} for at, speed in enumerate((2, 4, 8, 4))]
    link = {"from": "ATLANTA", "to": "BOSTON", "chpid": chpids}
    answer = models.solve("relocation", {"link": link, "guest": [{"name": "A", "memory": 1}]})
    assert answer.figure("capacity_factor") == 18
    assert answer.figure("ctcs") == 16
    assert answer.table("chpids").column("written") == [4, 4, 4, 2]
    assert answer.table("chpids").column("rate") == pytest.approx([171, 342, 684, 342])
    assert answer.figure("link") == pytest.approx(18 * 85.5e6 / 2**20)


def test_device_numbers_are_split_between_sides() -> None:
    """A chpid with only the last device number carries no writes of the first system."""
    link: dict[str, Any] = {
        "from": "ATLANTA",
        "to": "BOSTON",
        "chpid": [
            {"name": "50", "speed": 4, "rdevs": ["D000", "D001", "D002", "D003"]},
            {"name": "51", "speed": 16, "rdevs": ["d010"]},
        ],
    }
    scenario = {"link": link, "guest": [{"name": "A", "memory": 1}]}
    answer = models.solve("relocation", scenario)
    assert answer.table("chpids").column("rate") == pytest.approx([342, 0])
    assert answer.table("devices").rows[-1] == ("D010", "51", None, 1)
    assert any("no device of chpid 51" in note for note in answer.notes)
    assert any("chpid 51 has fewer CTC devices than the 4" in note for note in answer.notes)
    back = models.solve("relocation", {**scenario, "link": {**link, "from": "BOSTON", "to": "ATLANTA"}})
    assert back.table("chpids").column("rate") == pytest.approx([342, 1368])
    assert back.table("chpids").column("written") == [3, 1]
    assert back.figure("link") == pytest.approx(1710 / 1.048576)


def test_device_starts_limit_link() -> None:
    """Measured: 45 starts per second of each of 10 devices are 342 MB/s."""
    chpid = {"name": "50", "speed": 8, "ctcs": 12}
    link = {"from": "LPAR1", "to": "LPAR2", "chpid": [chpid], "ssch_per_device": 45}
    answer = models.solve("relocation", {"link": link, "guest": [{"name": "A", "memory": 1}]})
    assert answer.figure("link") == pytest.approx(342e6 / 2**20)
    assert answer.table("chpids").column("starts") == pytest.approx([450])
    answer = models.solve("relocation", {"link": {**link, "rate": 50}, "guest": [{"name": "A", "memory": 1}]})
    assert answer.figure("link") == 50


def test_unnamed_link_sides() -> None:
    link = {"chpid": [{"name": "50", "speed": 8, "ctcs": 2}], "to": "B"}
    answer = models.solve("relocation", {"link": link, "guest": [{"name": "A", "memory": 1}]})
    assert any(note.startswith("without link.from and link.to") for note in answer.notes)
    link |= {"from": "VMA", "to": "VM1"}
    answer = models.solve("relocation", {"link": link, "guest": [{"name": "A", "memory": 1}]})
    assert answer.table("devices").column("own") == [1, None]
    assert any("EBCDIC" in note for note in answer.notes)


def test_end_codes_of_monitor_record() -> None:
    """Notes of MRUSERLE (D4R12), z/VM 7.3."""
    codes = words("relocation_end")
    assert sorted(map(int, codes)) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]
    assert [codes[str(code)] for code in (0, 4, 5)] == [
        "completed",
        "MAXTOTAL exceeded",
        "MAXQUIESCE exceeded",
    ]


BUSY = {"change_rate": 500, "changing": 2000, "pattern": "sweep"}


def test_maxquiesce_is_ten_seconds_unless_immediate() -> None:
    answer = solved(BUSY)
    assert (row(answer)["end_code"], row(answer)["end"]) == (5, "MAXQUIESCE exceeded")
    assert row(answer)["quiesce"] == pytest.approx(10)
    assert row(answer)["needed"] == pytest.approx(20)
    assert answer.figure("cancelled") == 1
    assert "relocation_maxquiesce" in [one.name for one in answer.assumptions]
    answer = solved(BUSY, immediate=True)
    assert (row(answer)["end_code"], row(answer)["quiesce"]) == (0, pytest.approx(20))
    assert "relocation_maxquiesce" not in [one.name for one in answer.assumptions]
    assert "relocation_passes_most" not in [one.name for one in answer.assumptions]
    assert row(solved(BUSY, immediate=True, maxquiesce=19.9))["end_code"] == 5
    assert row(solved(BUSY, maxquiesce="NOLIMIT"))["end_code"] == 0


def test_maxtotal() -> None:
    answer = solved(BUSY, maxtotal=30, maxquiesce="NOLIMIT")
    assert (row(answer)["end_code"], row(answer)["end"]) == (4, "MAXTOTAL exceeded")
    assert (row(answer)["relocation"], row(answer)["needed"]) == (pytest.approx(30), None)
    assert answer.table("passes").column("whole") == [False]
    assert answer.notes == ["G1 is canceled and continues to run on the source system: MAXTOTAL is too short"]


def test_guest_options_override_defaults() -> None:
    answer = solved(
        BUSY, {**BUSY, "immediate": True}, {**BUSY, "maxquiesce": "NOLIMIT"}, {**BUSY, "maxtotal": 1}
    )
    assert answer.table("relocations").column("end_code") == [5, 0, 0, 4]
    assert [row(answer, f"G{at}")["passes"] for at in (1, 2, 3)] == [7, 3, 8]
    assert answer.figure("cancelled") == 2
    assert answer.figure("total") == pytest.approx(sum(answer.table("relocations").column("relocation")))  # type: ignore[arg-type]


def test_immediate_relocation_notes_quiesce() -> None:
    answer = solved({**BUSY, "touched": 2100, "changing": 2100, "fixed_quiesce": 1}, immediate=True)
    assert any("is quiesced for most" in note for note in answer.notes)


def test_concurrent_relocations_share_link() -> None:
    one_by_one, together = solved({}, {}, {}), solved({}, {}, {}, at_once=3)
    assert one_by_one.table("relocations").column("begins") == pytest.approx([0, 40.96, 81.92])
    assert together.table("relocations").column("begins") == [0, 0, 0]
    assert together.table("relocations").column("relocation") == pytest.approx([122.88] * 3)
    held = solved({}, {}, at_once=2)
    assert held.figure("total") == pytest.approx(81.92)
    guests = [{"name": name, "memory": 4096} for name in "AB"]
    link = {"rate": 100, "most_per_guest": 20}
    slow = models.solve("relocation", {"link": link, "guest": guests, "at_once": 2, "walk": 0})
    assert slow.figure("total") == pytest.approx(204.8)


def test_patterns_of_writes() -> None:
    """Writes to fewer pages cause fewer pages to be sent again."""
    guest = {"change_rate": 30, "touched": 3000, "changing": 1500}
    moved = [
        solved({**guest, **pattern}).figure("moved")
        for pattern in (
            {"pattern": "sweep"},
            {},
            {"pattern": "hot set", "hot_pages": 20, "hot_writes": 80},
            {"pattern": "zipf", "exponent": 1.0},
        )
    ]
    assert moved == sorted(moved, key=lambda value: -(value or 0))
    assert len(set(moved)) == 4


def test_hot_set_in_numbers() -> None:
    """10% of 1,000 MiB receive 80% of 50 MiB/s during the 10 seconds of the first pass."""
    hot = {"pattern": "hot set", "hot_pages": 10, "hot_writes": 80}
    answer = solved({"memory": 1000, "change_rate": 50, **hot}, rate=100)
    expected = 100 * (1 - math.exp(-40 * 10 / 100)) + 900 * (1 - math.exp(-10 * 10 / 900))
    assert pages(answer)[1] / 256 == pytest.approx(expected)


def test_no_progress_in_percent() -> None:
    answer = solved({"change_rate": 150, "changing": 1000}, no_progress=95, maxquiesce="NOLIMIT")
    assert row(answer)["stopped_by"] == "no progress"
    *_, sent, left, last = pages(answer)
    assert left >= 0.95 * sent
    assert last == 0


def test_other_links_have_no_isfc_limits() -> None:
    free = solved(BUSY, BUSY, maxquiesce="NOLIMIT").table("options").rows
    assert solved(BUSY, BUSY, maxtotal=1, maxquiesce=1).table("options").rows == free
    assert [one[0] for one in solved(BUSY).table("options").rows] == [
        "in sequence",
        "in sequence, IMMEDIATE",
    ]
    for at_once, way in ((1, "3 at once"), (2, "2 at once"), (9, "3 at once, IMMEDIATE")):
        options = solved({}, {}, {}, at_once=at_once).table("options")
        assert way in options.column("way")


def test_sweeps_of_dirty_rate_and_bandwidth() -> None:
    scenario = {
        "walk": 0,
        "link": {"rate": 200},
        "guest": [{"name": "A", "memory": 4096, "change_rate": 10, "changing": 1000}],
    }
    answer = sweeps.solve("relocation", scenario, "guest.A.change_rate=0:200:50")
    quiesce = answer.table("sweep").column("quiesce_A")
    assert quiesce[0] == 0
    assert quiesce == sorted(quiesce)  # type: ignore[type-var]
    answer = sweeps.solve("relocation", scenario, "link.rate=100:1000:300")
    total = answer.table("sweep").column("total")
    assert total == sorted(total, reverse=True)  # type: ignore[type-var]
    assert answer.table("sweep").column("link") == [100, 400, 700, 1000]
    assert {chart.kind for chart in answer.charts} == {"lines"}


def test_chart_has_pages_per_pass() -> None:
    answer = solved({"change_rate": 20, "changing": 500}, {})
    chart = answer.charts[0]
    assert (chart.title, chart.kind, chart.unit) == ("Pages by pass", "bars", "pages")
    assert list(chart.series[0].values) == pages(answer)
    assert chart.series[1].values[-1] is None or len(pages(answer)) == len(pages(answer, "G2"))
    many = solved(*({} for _ in range(9)))
    assert many.charts[0].title == "Pages by pass, the first 7 of 9 guests"
    assert answer_html.render(many).count("<svg") == 2


def test_relocation_lists_assumptions() -> None:
    names = [one.name for one in solved().assumptions]
    assert "relocation_changes" in names
    assert "relocation_stop_below" in names
    assert "isfc_rate_per_gb" not in names
    given = {"stop_below": 1, "live_passes": 1, "passes_most": 5, "quiesce_passes": 1, "maxquiesce": 3}
    assert [one.name for one in solved(**given).assumptions] == ["relocation_changes"]
    questions = {one.name: one for one in open_questions() if one.model == "relocation"}
    assert {"relocation_maxquiesce", "relocation_stop_below", "relocation_passes_most"} <= set(questions)
    assert all(one.closes for one in questions.values())


def test_quiesce_passes_are_not_counted() -> None:
    answer = solved(
        {"memory": 8, "change_rate": 0.5, "pattern": "sweep"}, rate=1, stop_below=0.3, quiesce_passes=0
    )
    assert row(answer)["passes"] == 5
    assert row(answer)["moved"] == pytest.approx(15.75)
    assert row(answer)["quiesce"] == pytest.approx(0.25)
    assert answer.table("passes").rows[-1][1:3] == (None, "quiesced")


@pytest.mark.parametrize("pattern", ["uniform", "sweep", "hot set", "zipf"])
@pytest.mark.parametrize("at_once", [1, 2])
def test_guest_without_touched_pages_takes_no_time(pattern: str, at_once: int) -> None:
    more = {"hot set": {"hot_pages": 0, "hot_writes": 0}, "zipf": {"exponent": 2}}.get(pattern, {})
    guest = {"touched": 0, "change_rate": 9, "pattern": pattern, **more}
    answer = solved(guest, guest, at_once=at_once)
    assert answer.figure("total") == 0
    assert answer.figure("cancelled") == 0
    assert "completed" in answer_text.render(answer)


def test_relocation_example_is_valid() -> None:
    answer = models.solve("relocation", tomllib.loads(example("relocation")))
    assert answer.figure("capacity_factor") == 8
    assert answer.table("relocations").column("end") == ["completed", "completed"]
    assert answer.table("chpids").column("written") == [4, 3]
    assert answer.figure("quiesce") == pytest.approx(0.4, abs=0.1)
    text = answer_text.render(answer)
    assert "Pages by pass (pages)" in text
    assert "isfc_rate_per_gb = 85.5 MB/s for each Gb/s (derived)" in text


def test_vmrelocate_command_syntax(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "move.toml"
    assert main(["solve", "relocation", "--example", "-o", str(path)]) == 0
    assert main(["solve", "relocation", str(path), "--set", "maxquiesce=0.1", "--set", "at_once=2"]) == 0
    said = capsys.readouterr()
    assert said.out.count("MAXQUIESCE exceeded") == 2
    assert said.err == ""
    page = tmp_path / "sweep.html"
    sweep = ["--sweep", "link.rate=200:1000:200", "--format", "html", "-o", str(page)]
    assert main(["solve", "relocation", str(path), *sweep]) == 0
    assert "By link.rate" in page.read_text(encoding="utf-8")
    assert main(["solve", "relocation", str(path), "--set", "maxtotal=soon"]) == 2
    assert capsys.readouterr().err.count("NOLIMIT") == 1


def guest(**keys: Any) -> dict[str, Any]:
    return {"guest": [{"name": "A", "memory": 100, **keys}]}


def chpids(*given: dict[str, Any]) -> dict[str, Any]:
    return {"link": {"chpid": [{"name": str(at), "speed": 4, **one} for at, one in enumerate(given)]}}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"link": {}}, "link has neither rate nor chpid"),
        ({"link": {"rate": 0}}, "link.rate is 0; expected a number above 0"),
        ({"link": {"rate": 1, "from": "A", "to": "a"}}, "link.from and link.to are both A"),
        (chpids({}), "link.chpid.0 needs either ctcs or rdevs"),
        (chpids({"ctcs": 1, "rdevs": ["D000"]}), "link.chpid.0 needs either ctcs or rdevs"),
        (chpids({"ctcs": 1}, {"rdevs": ["D000"]}), "link.chpid.1 needs either ctcs or rdevs"),
        (chpids({"rdevs": ["D000"]}, {"rdevs": ["d000"]}), "the same device number twice"),
        (chpids({"rdevs": ["XYZ"]}), "link.chpid.0.rdevs has XYZ"),
        (chpids({"rdevs": ["10000"]}), "link.chpid.0.rdevs has 10000"),
        (chpids({"ctcs": 8}, {"ctcs": 9}), "the link has 17 CTC devices; expected at most 16"),
        ({"maxquiesce": "NONE"}, 'maxquiesce is "NONE"; expected a number from 0 to 1e+07, or "NOLIMIT"'),
        ({"maxtotal": -1}, "maxtotal is -1"),
        ({"passes_most": 3}, "passes_most is 3; expected at least 4"),
        ({"at_once": 0}, "at_once is 0"),
        (guest(touched=101), "guest.A.touched is 101; expected at most its memory, 100"),
        (guest(touched=50, changing=51), "guest.A.changing is 51; expected at most what was touched, 50"),
        (guest(pattern="hot set"), "guest.A.hot_pages is missing"),
        (guest(pattern="zipf"), "guest.A.exponent is missing"),
        (guest(exponent=1), 'guest.A.exponent is given, but its pattern is "uniform"'),
        (guest(pattern="hot set", hot_pages=0, hot_writes=1), "guest.A.hot_pages is 0"),
        (guest(pattern="hot set", hot_pages=100, hot_writes=1), "guest.A.hot_pages is 100"),
        (guest(pattern="hot"), "guest[1].pattern is"),
        ({"guest": [{"name": "A", "memory": 1}] * 2}, "two guests have the same name"),
        ({"guest": []}, "guest is a list of 0"),
        ({"guests": []}, "guests is not known here"),
    ],
)
def test_invalid_scenario_is_rejected_with_fix(change: dict[str, Any], says: str) -> None:
    scenario = {"link": {"rate": 1}, **guest(), **change}
    with pytest.raises(ScenarioError) as caught:
        models.solve("relocation", scenario, file="r.toml")
    assert says in str(caught.value)
    assert str(caught.value).startswith("r.toml: ")
    assert caught.value.cure


def _notes(speeds: tuple[int, ...]) -> str:
    chpids = [{"name": str(at), "speed": speed, "ctcs": 4} for at, speed in enumerate(speeds)]
    scenario = {
        "link": {"from": "ATLANTA", "to": "BOSTON", "chpid": chpids},
        "guest": [{"name": "G1", "memory": 64}],
    }
    return " / ".join(models.solve("relocation", scenario).notes)


def test_best_practices_of_isfc_links_are_checked() -> None:
    """z/VM Performance Update 6.2 and 6.3: one speed, up to four chpids, fast ones in the middle."""
    assert "recommends" not in _notes((8, 8))
    assert "several speeds (2, 8 Gb/s)" in _notes((2, 8))
    last = _notes((2, 4, 8))
    assert "fast chpid 2 is at an end of the device numbers" in last
    assert "at an end" not in _notes((2, 8, 4))
