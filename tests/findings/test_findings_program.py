"""Tests of `zlens findings` over files, `zlens explain` of rules, and known recording errors in reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reference_pages import rules as reference_rules

import guest_builder as guests
import monwrite_builder as monwrite
import zlens
from command_line import run
from fakes import TOD_PER_S, FakeSource, intervals, processors
from fakes import session as session_over
from fakes import system as fake_system
from smf113_rows import opened, row
from zlens.catalog import caveats, rules
from zlens.catalog.caveats import Caveat
from zlens.catalog.reports.definition import load_report
from zlens.errors import QueryError
from zlens.explain.names import explain
from zlens.reports import header
from zlens.reports.rows import Block

MINUTES = 6
TOD_MINUTE = round(60 * TOD_PER_S)


@pytest.fixture(autouse=True)
def no_data_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path / "data"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("findings")
    for name, busy in (("busy", 0.97), ("quiet", 0.2)):
        groups = [
            monwrite.configuration(monwrite.START_US - monwrite.MINUTE_US),
            *monwrite.minutes(MINUTES, busy),
        ]
        monwrite.write(place / f"{name}.monwrite", groups)
    lost = [
        monwrite.configuration(monwrite.START_US - monwrite.MINUTE_US),
        *monwrite.minutes(2),
        monwrite.bare_event("D1R12", monwrite.START_US + monwrite.MINUTE_US + 1),
        *monwrite.minutes(2, first=2),
    ]
    monwrite.write(place / "lost.monwrite", lost)
    return place


def ids(text: str) -> set[str]:
    return {each["rule"] for each in json.loads(text)}


# The command


def test_option_class_selects_rules(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("findings", str(folder / "busy.monwrite"), "--format", "json")
    everything = json.loads(run(capsys, *words)[1])
    assert everything
    for name in {"heuristic", *(finding["class"] for finding in everything)}:
        status, out, _ = run(capsys, *words, "--class", name)
        assert status == 0
        assert json.loads(out) == [finding for finding in everything if finding["class"] == name]
    status, _, error = run(capsys, *words, "--class", "ours")
    assert status == 2
    assert "heuristic" in error


def test_busy_system(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "findings", str(folder / "busy.monwrite"))
    assert status == 0
    assert "CPU-002  Processors as busy as in IBM's scaling tests" in out
    assert "97% (threshold >= 90%)" in out
    # The first interval has no sample before it.
    assert f"in {MINUTES - 1} of {MINUTES - 1} intervals" in out


def test_text_begins_with_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    busy = str(folder / "busy.monwrite")
    _, out, _ = run(capsys, "findings", busy)
    verdict, _, rest = out.partition("CPU-002")
    assert "VERDICT" in verdict
    assert "No cause found for this: the processors (" in " ".join(verdict.split())
    assert "VERDICT" not in rest
    # Chosen rules leave out causes, and data formats have one row per finding.
    for words in (("--rule", "CPU-002"), ("--format", "csv")):
        assert "VERDICT" not in run(capsys, "findings", busy, *words)[1]


def test_quiet_system(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "findings", str(folder / "quiet.monwrite"), "--format", "json", "--all")
    assert status == 0
    assert ids(out) == {"MF-003"}


def test_findings_accept_input_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    busy = str(folder / "busy.monwrite")
    _, out, _ = run(capsys, "findings", busy, "--from", "09:02", "--to", "09:04", "--rule", "CPU-002")
    assert "in 2 of 2 intervals" in out
    _, out, _ = run(capsys, "findings", busy, "--rule", "cpu-002", "--every", "2m", "--format", "json")
    assert [each["tested"] for each in json.loads(out)] == [3]
    status, _, err = run(capsys, "findings", busy, "--rule", "CPU-2")
    assert status == 2
    assert "there is no rule CPU-2" in err


def test_findings_with_baseline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    busy, quiet = str(folder / "busy.monwrite"), str(folder / "quiet.monwrite")
    _, out, _ = run(capsys, "findings", busy, "--baseline", quiet, "--rule", "CPU-002", "--format", "json")
    (each,) = json.loads(out)
    assert each["baseline"] == pytest.approx(20.0, abs=0.1)
    # The same machine has no differences.
    _, out, _ = run(capsys, "findings", busy, "--baseline", quiet, "--rule", "CMP-005", "--format", "json")
    assert out == "[]\n"


def test_lost_records_are_critical(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "findings", str(folder / "lost.monwrite"), "--rule", "DQ-002")
    assert "CRITICAL  DQ-002  Monitor records were lost" in out


def test_findings_are_written_to_file(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "found.html"
    words = ["--rule", "CPU-002", "--format", "html", "-o", str(target)]
    status, out, _ = run(capsys, "findings", str(folder / "busy.monwrite"), *words)
    assert (status, out) == (0, "")
    assert "CPU-002" in target.read_text(encoding="utf-8")


def test_invalid_user_rule_is_one_line_error(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "own.toml").write_text('id = "OWN-1"\ntitel = "x"\n', encoding="utf-8")
    status, _, err = run(capsys, "findings", str(folder / "busy.monwrite"), "--rules", str(tmp_path))
    assert status == 2
    assert f"{tmp_path / 'own.toml'}:2: titel is not known here" in err
    assert err.count("\n") == 1


def test_findings_in_python(folder: Path) -> None:
    with zlens.open(folder / "busy.monwrite") as session:
        found = session.findings(only=["CPU-002", "PAG-002"])
    assert [(each.system, each.rule.threshold_class) for each in found] == [("MADETEST", "ibm")]
    assert len(found) == 1
    assert [rule.id for rule, _ in found.missing] == ["PAG-002"]


# Explain


def test_rule_is_explained() -> None:
    text = explain("PAG-002")
    assert text.startswith("PAG-002: Page space is too full")
    for words in (
        "> 75%",
        "vendor: published by another vendor",
        "PAG-009",
        "paging.slots: ",
        "facts/rules/paging/pag-002.toml",
    ):
        assert words in text
    assert explain("pag-002") == text


def test_rule_of_user_is_explained(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "rules"
    folder.mkdir(parents=True)
    skeleton = (rules.FOLDER / "_skeleton.toml").read_text(encoding="utf-8")
    (folder / "mine.toml").write_text(skeleton, encoding="utf-8")
    text = explain("OWN-001")
    assert str(folder / "mine.toml") in "".join(text.split())
    assert "OWN-001" in explain("findings")


def test_note_is_explained_with_its_reason() -> None:
    text = explain("NET-001")
    assert "note: a fact that the data cannot confirm" in text
    assert "no measure shows the layer" in text


def test_all_rules_are_listed() -> None:
    text = explain("findings")
    assert text.startswith("findings: 86 rules, and 39 notes")
    assert "CPU-001" in text
    assert "unverified" in text
    assert "option rules" in text


def test_misspelled_rule_has_suggestion() -> None:
    with pytest.raises(QueryError, match=r"did you mean PAG-00\d"):
        explain("PAG-02")


# Known recording errors


def test_caveats_agree_with_catalog() -> None:
    assert caveats.check() == []
    assert len(caveats.caveats()) >= 10


@pytest.mark.parametrize(
    ("release", "holds"), [("6.2.0", False), ("6.3.0", True), ("6.3", True), ("6.4.0", False), (None, False)]
)
def test_zvm_levels_of_caveat(release: str | None, holds: bool) -> None:
    (queue,) = [each for each in caveats.caveats() if each.id == "paging-queue-63"]
    assert queue.applies_to(release) == holds
    assert queue.levels == "z/VM 6.3 and later, before 6.4"


def test_open_levels() -> None:
    every = {each.id: each for each in caveats.caveats()}
    assert every["relative-share-63"].applies_to("5.3.0")
    assert every["locks-from-64"].applies_to("7.4.0")
    assert every["first-wait-reason"].applies_to("7.4.0")
    assert every["expanded-storage-64"].levels == "z/VM 6.4 and later"


def footnotes(report: str, **system: str) -> list[str]:
    block = Block("SYSA", [{"system": "SYSA", **system}], None, None, [])
    return header.known_faults(load_report(report), block)


def test_caveat_is_footnote_only_at_its_level() -> None:
    at_63 = footnotes("device", source="zvm-monitor", release="6.3.0")
    assert any("Paging I/O queues are not counted" in note for note in at_63)
    assert footnotes("device", source="zvm-monitor", release="7.3.0") == []
    assert footnotes("device", source="rmf-xml", release="6.3") == []
    (aliases,) = footnotes("hpalias", source="zvm-monitor", release="6.4.0")
    assert "VM66026" in aliases


def test_zos_caveats_do_not_apply_to_zvm() -> None:
    notes = footnotes("cpumf", source="smf", release="1.10")
    assert any("OA27623" in note for note in notes)
    assert footnotes("cpumf", source="zvm-monitor", release="1.10") == []


@pytest.mark.parametrize("name", ["device.queued", "device", "D6R3"])
def test_caveats_are_explained(name: str) -> None:
    text = " ".join(explain(name).split())
    assert "z/VM 6.3 and later, before 6.4: Paging I/O queues are not counted" in text


def test_footnote_in_report(folder: Path) -> None:
    level = dict(monwrite.CONFIG, MTRSYS_HCPCPEID="6.4.0")
    groups = [monwrite.configuration(monwrite.START_US - monwrite.MINUTE_US, level), *monwrite.minutes(3)]
    path = monwrite.write(folder / "level64.monwrite", groups)
    with zlens.open(path) as session:
        assert session.systems[0].release == "6.4"
        text = " ".join(session.report("locklog").split())
    assert "IBM prints LOCKLOG (FCX265) only for data from before z/VM 6.4" in text


def test_caveats_are_listed() -> None:
    text = " ".join(explain("caveats").split())
    assert all(" ".join(each.text.split()) in text for each in caveats.caveats())


def test_reference_page_has_every_rule_and_caveat() -> None:
    text = reference_rules.rules_page()
    for rule in rules.builtin().values():
        assert f"### {rule.id}\n\n{rule.title}\n" in text
    for each in caveats.caveats():
        assert each.text in text


def test_caveats_are_sentences() -> None:
    for each in caveats.caveats():
        assert isinstance(each, Caveat)
        assert each.text[0].isupper() or each.text.startswith("z/")
        assert not each.text.endswith(".")


# Guests, whose rows are computed once for all rules


def guests_of(path: Path, charged_s: float) -> Path:
    """Write a guest that uses 54 s a minute and waits for pages, on a processor with this charged time."""
    intervals = []
    for n in range(5):
        end = guests.end_of(n)
        records = [guests.processor(end, charged_s * n, 40.0 * n)]
        records.append(
            guests.activity(end, "LNX1", 1000 + 54 * n, VMDTTIME_MT1=guests.seconds(1000 + 54 * n))
        )
        records.append(guests.states(end, "LNX1", {"CPURN": 24 * n, "WTPAG": 6 * n}))
        intervals.append(records)
    return guests.write(path, intervals)


def test_guest_rules_share_computed_columns(tmp_path: Path) -> None:
    with zlens.open(guests_of(tmp_path / "guests", 54.2)) as session:
        found, again = (
            {each.rule.id: each for each in session.findings(only=["BAL-001", "CPU-001", "USR-002"])}
            for _ in range(2)
        )
        # Computed once for all rules, with the columns that they name.
        assert session._core.engine.store.has_columns("guest", ["userid", "cpu_pct", "page_wait_pct"])
        assert [row[0] for row in session.sql("SELECT DISTINCT userid FROM guest").rows] == ["LNX1"]
    assert found["CPU-001"].value == pytest.approx(90.0)
    assert (found["CPU-001"].subject, found["CPU-001"].held) == ("guest LNX1", 4)
    assert found["USR-002"].value == pytest.approx(20.0)
    assert "BAL-001" not in found
    assert again == found


def test_unaccounted_guest_time_is_found(tmp_path: Path) -> None:
    with zlens.open(guests_of(tmp_path / "guests", 57.0)) as session:
        (missing,) = session.findings(only=["BAL-001"]).rows
    assert missing.value == pytest.approx(100 * 54 / 57)
    assert missing.limit == "< 98%"


# Balances over rows of a reader


def test_contradicting_counters_are_found() -> None:
    good = {"B0": 4e9, "B1": 2e9, "P32": 1e9, "P33": 5e8}
    with opened(
        [row(good, generation="z13"), row({**good, "P33": 3e9}, generation="z13", minute=1)]
    ) as session:
        (found,) = session.findings(only=["BAL-005"]).rows
    assert found.severity == "crit"
    assert "3000000000 against 2000000000, 1 time" in found.detail
    with opened([row(good, generation="z13")]) as session:
        assert session.findings(only=["BAL-005"]).rows == []


def test_processor_time_above_interval_is_found() -> None:
    # Half of each minute for users, and nine tenths of it idle or in the system.
    table = processors("SYSA", [[0.5], [0.5], [1.0]])
    table.rows = [(*each[:-1], each[-1] + TOD_MINUTE // 2) for each in table.rows]
    source = FakeSource([fake_system(known=intervals(3))], [table])
    with session_over([source]) as session:
        (found,) = session.findings(only=["BAL-003"]).rows
    assert found.subject == "CPU 00"
    assert found.value == pytest.approx(100 * (0.5 + 0.05 + 0.4 + 0.5))


def test_rule_is_missing_if_its_column_has_no_value(demo_folder: Path) -> None:
    with zlens.open(demo_folder / "zldemo.monwrite") as session:
        [(rows, values)] = session.sql("SELECT count(*) > 0, count(mt1_s) FROM guest").rows
        assert (rows, values) == (True, 0)
        found = session.findings(only=["CHG-001"])
    assert [(rule.id, names) for rule, names in found.missing] == [("CHG-001", ("guest.mt1_s",))]
    assert not found.asked
