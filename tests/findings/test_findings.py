"""Tests of findings: order, texts, formats, baselines, rules that disagree, rules of the user."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import datetime
from pathlib import Path

import pytest
from measure_rows import MINUTE, START, Made, minutes, several, system
from rule_cases import DISK, GUEST, LOAD, PAGE

from zlens.catalog import rules
from zlens.errors import CatalogError, QueryError
from zlens.findings import FORMATS, entries, evaluate, render
from zlens.findings.evaluate import find
from zlens.findings.finding import format_amount

NUMBERS = [f"0A{n:02X}" for n in range(12)]
FULL = {
    "system": system(release="7.3.0"),
    "load": minutes(**{**LOAD, "busy_pct": [95.0, 97.0, 50.0, 92.0]}, capture_pct=99.0),
    "paging": several(
        {**PAGE, "device": number, "volume": number, "slots_used": [700_000, 812_000, 790_000, 600_000]}
        for number in NUMBERS
    ),
    "guest": minutes(**GUEST, storage_bytes=300_000 * 12 * 4096),
    "device": several(
        {**DISK, "device": number, "busy_pct": 21.0 + 2 * n} for n, number in enumerate(NUMBERS)
    ),
}
USER = """
id = "OWN-001"
area = "cpu"
severity = "info"
class = "heuristic"
title = "Not idle"
condition = "busy above a tenth"
needs = ["load.busy_pct"]
query = '''
SELECT system, source, interval_end, seconds, '' AS subject, busy_pct AS value
FROM load
WHERE flag IS NULL
'''
compare = ">"
threshold = { T = 10 }
unit = "%"
meaning = "Somebody works."
action = "Nothing."
source = "our house"
status = "derived"
"""


@pytest.fixture(autouse=True)
def no_rules_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path / "data"))


def write(folder: Path, text: str, name: str = "own-001.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# Order and value


def test_worst_finding_is_first() -> None:
    found = find(Made(FULL))
    severities = [rules.SEVERITIES.index(each.severity) for each in found.rows]
    assert severities == sorted(severities)
    assert found.rows[0].rule.id == "PAG-002"
    busy = [each for each in found.rows if each.rule.id == "PAG-003"]
    assert [each.value for each in busy] == sorted((each.value or 0 for each in busy), reverse=True)


def test_finding_has_time_range() -> None:
    (page,) = [each for each in find(Made(FULL)).rows if each.rule.id == "PAG-002"]
    row = page.to_row()
    assert row["value"] == pytest.approx(81.2)
    assert (row["threshold"], row["limit"], row["unit"]) == (75, "> 75%", "%")
    assert (row["from"], row["to"]) == ("2026-03-02T09:01:00Z", "2026-03-02T09:03:00Z")
    assert row["worst"] == "2026-03-02T09:02:00Z"
    assert (row["intervals"], row["tested"]) == (2, 4)


def test_critical_threshold_raises_severity() -> None:
    hot = {"paging": minutes(**PAGE), "device": minutes(**DISK, busy_pct=63.0)}
    found = find(Made(hot), only=["PAG-003"])
    assert [each.severity for each in found.rows] == ["crit"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (81.2345, "%", "81.23%"),
        (0.000257, "s", "0.000257 s"),
        (0.2, "/s", "0.2/s"),
        (60.0, "", "60"),
        (1234567.0, "bytes", "1,234,567 bytes"),
        (1.5, "ratio", "1.5"),
        (None, "%", ""),
        (float("nan"), "%", ""),
    ],
)
def test_amount_formats_value_with_unit(value: float | None, unit: str, text: str) -> None:
    assert format_amount(value, unit) == text


# Selection of rules


def test_heuristic_rules_are_off_by_default() -> None:
    waiting = {"guest": minutes(**GUEST, cpu_wait_pct=60.0)}
    usual = find(Made(waiting))
    assert "USR-001" not in {each.rule.id for each in usual.rows}
    assert "USR-001" in {rule.id for rule in usual.off}
    assert not any(rule.kind == "balance" for rule in usual.off)
    heuristic = find(Made(waiting), classes=["heuristic"])
    assert {each.rule.id for each in heuristic.rows} == {"USR-001"}
    assert {each.rule.id for each in find(Made(waiting), only=["usr-001"]).rows} == {"USR-001"}


def test_heuristic_rules_compare_with_baseline() -> None:
    now = {"guest": minutes(**GUEST, page_wait_pct=9.0)}
    for before, expected in ((2.0, ["USR-002"]), (8.9, []), (30.0, [])):
        baseline = Made({"guest": minutes(**GUEST, page_wait_pct=before)})
        found = find(Made(now), baseline=baseline)
        assert [each.rule.id for each in found.rows] == expected
        assert all(each.baseline == before for each in found.rows)


def test_baseline_may_have_other_system_name() -> None:
    other = [{**row, "system": "TESTLPAR"} for row in minutes(**LOAD, etr=10.0, page_rate=100.0)]
    now = {"load": minutes(**LOAD, etr=10.0, page_rate=150.0)}
    found = find(Made(now), baseline=Made({"load": other}))
    (page,) = [each for each in found.rows if each.rule.id == "PAG-010"]
    assert (page.value, page.baseline) == (15.0, 10.0)
    assert page.limit == "more than 20% above the baseline's 10"


def test_text_shows_differences_from_baseline() -> None:
    now = {"system": system(machine_type="8561", model="704", release="7.3.0"), "load": minutes(**LOAD)}
    before = {**now, "system": system(machine_type="8561", model="703", release="7.3.0")}
    text = render(find(Made(now), baseline=Made(before)))
    assert "against SYSA  zvm-monitor  2026/03/02 09:00:00 to 09:04:00, 4 intervals" in text
    assert "machine: 8561-704 against 8561-703 in the baseline" in text
    assert "level:" not in text


def test_rules_without_inputs_are_named() -> None:
    found = find(Made({"load": minutes(**LOAD)}))
    missing = {rule.id: names for rule, names in found.missing}
    assert missing["PAG-002"] == ("paging.slots", "paging.slots_used")
    assert missing["CPU-004"] == ("a baseline",)
    assert "CPU-002" not in missing


class _Disks(Made):
    """A session whose only measure is `device`."""

    def has_data(self, name: str) -> bool:
        return name == "device"


def test_rule_without_table_runs_no_query() -> None:
    """PAG-007 needs the cache of devices, which is costly, and paging volumes, which are missing."""
    session = _Disks({"device": minutes(**DISK)})
    missing = {rule.id: names for rule, names in find(session).missing}
    assert missing["PAG-007"] == ("paging.device",)
    assert not any("read_hit_pct" in question for question in session.questions)


def test_text_of_several_rows_shows_worst() -> None:
    waits = [0.004, 0.009, 0.003, 0.007]
    found = find(Made({"device": minutes(**{**DISK, "resp_s": waits, "queued": [1.0, 4.0, 2.0, 3.0]})}))
    (queue,) = [each for each in found.rows if each.rule.id == "IO-001"]
    assert queue.detail == "9.00 ms, queue 4.00"
    assert (queue.worst, queue.held, queue.tested) == (START + 2 * MINUTE, 3, 4)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"only": ["CPU-00"]}, "there is no rule CPU-00"),
        ({"only": ["MF-001"]}, "MF-001 is a note"),
        ({"classes": ["mine"]}, "there is no class mine"),
    ],
)
def test_invalid_finding_options(options: dict[str, list[str]], sentence: str) -> None:
    with pytest.raises(QueryError, match=sentence):
        find(Made({}), **options)


# Rules that disagree


def test_both_views_of_page_space_are_shown() -> None:
    (page,) = [each for each in find(Made(FULL)).rows if each.rule.id == "PAG-002"]
    (other,) = page.others
    assert other.startswith("PAG-009 (ibm)")
    assert "does not hold, 30.3% on average (threshold 100% of the page slots)" in other
    # With a guest larger than the page space IBM's formula holds too, and each rule names the other.
    large = {**FULL, "guest": minutes(**GUEST, storage_bytes=2_000_000 * 12 * 4096)}
    both = {each.rule.id: each for each in find(Made(large)).rows if each.rule.disagrees}
    assert set(both) == {"PAG-002", "PAG-009"}
    assert "holds too" in both["PAG-002"].others[0]
    assert both["PAG-009"].others[0].startswith("PAG-002 (vendor)")


def test_page_space_without_second_view() -> None:
    without = {name: rows for name, rows in FULL.items() if name != "guest"}
    (page,) = [each for each in find(Made(without)).rows if each.rule.id == "PAG-002"]
    assert "not computable here, without guest.storage_bytes" in page.others[0]


# Formats


def test_text_has_block_for_each_rule() -> None:
    answer = entries.build_answer(find(Made(FULL)), most=entries.SHOWN, now=datetime(2026, 3, 3, 8, 0))
    text = answer.render("text")
    lines = text.split("\n")
    assert lines[0].startswith("FINDINGS  Run 2026/03/03 08:00:00")
    assert lines[1] == "SYSA  zvm-monitor  2026/03/02 09:00:00 to 09:04:00, 4 intervals"
    assert re.match(r"1 critical, 1 warning, 1 for information; \d+ rules checked", lines[2])
    first = next(i for i, line in enumerate(lines) if line.startswith("CRITICAL"))
    assert " ".join(lines[first].split()) == "CRITICAL PAG-002 Page space is too full [class vendor]"
    assert lines[first + 1] == "On        SYSA"
    block = " ".join(" ".join(lines[first : lines.index("", first)]).split())
    assert (
        "81.2% (threshold > 75%); 2026/03/02 09:01:00 to 09:03:00, in 2 of 4 intervals, worst at 09:02:00"
        in block
    )
    for head in (
        "Means Blocks of pages",
        "Action Add paging volumes.",
        "But PAG-009 (ibm)",
        "Source Velocity",
    ):
        assert head in block
    assert max(map(len, lines)) <= entries.WIDTH
    # Twelve volumes are too many to list.
    assert "and 4 more (--format csv lists all)" in text
    assert "Not computable here" in text
    assert text.endswith("them.\n")


def test_text_lists_missing_inputs() -> None:
    text = render(find(Made({"load": minutes(**LOAD)})), missing=True)
    assert re.search(r"^  PAG-002   Page space is too full: without paging.slots", text, re.MULTILINE)


def test_text_without_findings() -> None:
    quiet = find(Made({"load": minutes(**LOAD)}))
    assert quiet.rows == []
    assert "Nothing found" in render(quiet)
    assert render(quiet, "json") == "[]\n"
    assert "Nothing found" in render(quiet, "html")
    assert len(render(quiet, "csv").splitlines()) == 1


def test_finding_csv_equals_json() -> None:
    found = find(Made(FULL))
    rows = list(csv.DictReader(io.StringIO(render(found, "csv"))))
    objects = json.loads(render(found, "json"))
    assert len(rows) == len(objects) == len(found) == 14
    assert list(rows[0]) == list(objects[0])
    for row, each in zip(rows, objects, strict=True):
        assert row["rule"] == each["rule"]
        assert (float(row["value"]) if row["value"] else None) == each["value"]
        assert each["class"] in rules.CLASSES
        assert each["meaning"]
        assert each["action"]
        assert each["source"]


@pytest.mark.parametrize("format", FORMATS)
def test_input_names_are_escaped(format: str) -> None:
    wild = {**FULL, "guest": minutes(**{**GUEST, "userid": "<b>\x1b[2J", "cpu_pct": 199.0})}
    text = render(find(Made(wild)), format)
    assert "CPU-001" in text
    if format == "html":
        assert "<b>" not in text
    if format in ("text", "json"):
        assert "\x1b" not in text


# The user's rules


def test_rules_of_user(tmp_path: Path) -> None:
    write(tmp_path / "data" / "rules", USER)
    write(tmp_path / "more", USER.replace("OWN-001", "OWN-002").replace("T = 10", "T = 99"), "mine.toml")
    session = Made({"load": minutes(**LOAD)})
    assert {each.rule.id for each in find(session, classes=["heuristic"]).rows} == {"OWN-001"}
    found = find(session, only=["OWN-001", "OWN-002"], folders=[tmp_path / "more"])
    assert {rule.id for rule in found.asked} == {"OWN-001", "OWN-002"}
    assert {each.rule.id for each in found.rows} == {"OWN-001"}


@pytest.mark.parametrize("control", ["\\u001b", "\\U0000009b", "\\x1b", "\\e", "\\b", "\\f", "\x9b"])
def test_control_characters_in_rule_are_rejected(tmp_path: Path, control: str) -> None:
    path = write(tmp_path, USER.replace('area = "cpu"', f'area = "{control}[31mcpu"'))
    with pytest.raises(CatalogError, match=r"own-001\.toml:\d+: area .*without control characters"):
        rules.read(path)


def test_user_rule_replaces_built_in_rule(tmp_path: Path) -> None:
    write(tmp_path, USER.replace("OWN-001", "CPU-002").replace("T = 10", "T = 45"))
    found = find(Made({"load": minutes(**LOAD)}), only=["CPU-002"], folders=[tmp_path])
    assert [(each.rule.title, each.threshold) for each in found.rows] == [("Not idle", 45)]


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("area =", "area = = ", 3, "is not valid TOML"),
        ("unit =", "units =", 16, "units is not known here"),
        ('"info"', '"bad"', 4, 'severity is "bad"'),
        ('compare = ">"', 'compare = "=>"', 14, 'compare is "=>"'),
        ("T = 10", "U = 10", 14, "no threshold T"),
        ("T = 10", 'T = "ten"', 15, 'threshold.T is "ten"; expected a number'),
        ('["load.busy_pct"]', "7", 8, "needs is 7; expected a list"),
        ("load.busy_pct", "load.bussy_pct", 8, "load.bussy_pct is neither a column"),
        ("busy_pct AS value", "bussy_pct AS value", 9, "the query of OWN-001 is wrong"),
        ("busy_pct AS value", "busy_pct AS amount", 9, "the query of OWN-001 is wrong"),
        ("WHERE flag", "WHERE ) flag", 9, "the query of OWN-001 is wrong"),
        ("busy_pct AS value", "busy_pct + {B} AS value", 9, "{B} is not a threshold"),
        ("busy_pct AS value", "busy_pct AS value, 'x' AS detail", 9, 'add gives = ["detail"], or rename'),
        ('compare = ">"', 'gives = ["detail"]\ncompare = ">"', 9, "no column detail; return system, source"),
        (
            'compare = ">"',
            'gives = ["text"]\ncompare = ">"',
            14,
            'gives[1] is "text"; expected',
        ),
        ("T = 10", "U = 10", 14, 'or gives = ["threshold"] and a column threshold'),
        ('compare = ">"', 'compare = "holds"', 14, 'expected gives = ["holds"] and a column holds'),
        ('id = "OWN-001"', 'id = "own 1"', 2, 'id is "own 1"; expected an id such as CPU-001'),
        ('meaning = "Somebody works."', "", None, "meaning is missing"),
    ],
)
def test_errors_name_file_and_line(
    tmp_path: Path, old: str, new: str, line: int | None, sentence: str
) -> None:
    assert old in USER
    path = write(tmp_path, USER.replace(old, new))
    with pytest.raises(CatalogError) as caught:
        find(Made({"load": minutes(**LOAD)}), classes=["heuristic"], folders=[tmp_path])
    assert sentence in str(caught.value)
    assert caught.value.file == (str(path) if line is None else f"{path}:{line}")


def test_two_files_of_one_rule(tmp_path: Path) -> None:
    write(tmp_path, USER)
    write(tmp_path, USER, "again.toml")
    with pytest.raises(CatalogError, match="the rule OWN-001 is also in again"):
        rules.load(tmp_path)


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="no such folder"):
        rules.load(tmp_path / "nowhere")


def test_rule_skeleton_is_valid() -> None:
    rule = rules.read(rules.FOLDER / "_skeleton.toml")
    found = evaluate(
        Made({"load": minutes(**{**LOAD, "busy_pct": 97.0})}), {rule.id: rule}, classes=["heuristic"]
    )
    assert [each.rule.id for each in found.rows] == ["OWN-001"]


def test_rule_is_named_after_its_file(tmp_path: Path) -> None:
    lines = (rules.FOLDER / "_skeleton.toml").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith(("id = ", "area = ")))
    for name in ("own-007", "seven"):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    rule = rules.read(tmp_path / "own-007.toml")
    assert (rule.id, rule.area) == ("OWN-007", tmp_path.name)
    with pytest.raises(CatalogError, match='id is "SEVEN"; expected an id such as CPU-001'):
        rules.read(tmp_path / "seven.toml")


PAGE_OF_DOCS = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")


def test_documented_rule_example_is_valid(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE_OF_DOCS, re.DOTALL)
    rule = rules.read(write(tmp_path, text))
    waiting = Made({"guest": minutes(**{**GUEST, "userid": "DB2"}, page_wait_pct=3.0)})
    assert [each.subject for each in find(waiting, only=[rule.id], folders=[tmp_path])] == ["guest DB2"]


def test_page_on_findings_names_every_class() -> None:
    assert set(re.findall(r"^\| ([a-z-]+) \| [^-]", PAGE_OF_DOCS, re.MULTILINE)) - {"class"} == set(
        rules.CLASSES
    )


def test_critical_finding_has_critical_threshold() -> None:
    """The limit of a rule with a second threshold states from which value on a finding is critical."""
    from zlens.catalog.rules import load
    from zlens.findings.evaluate import _limit_of

    rule = next(rule for rule in load().values() if rule.critical is not None and rule.compare == ">")
    assert rule.critical is not None
    below, above = rule.threshold["T"], rule.critical + 1
    assert "critical" not in _limit_of(rule, below, rule.threshold["T"])
    assert f"critical from {rule.critical:g}" in _limit_of(rule, above, rule.threshold["T"])
