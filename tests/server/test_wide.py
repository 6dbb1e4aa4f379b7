"""Tests of inputs with many systems: a request for one reads only its data; schema and fleet read little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import zlens
from conftest import Serve
from lake_builder import recording, write
from zlens import lake, stores
from zlens.inputs import data_quality
from zlens.inputs.options import Options
from zlens.inputs.source import SystemInfo
from zlens.server import findings, problems, schema, workspace
from zlens.server.workspace import Workspace

SYSTEMS = ("FIRST", "SECOND", "THIRD")
#: Parameters of a request for all findings.
ALL = {"classes": None, "from": None, "to": None, "input": None, "system": None, "few": False}
ROWS = {"table": "cpu", "columns": ["system", "interval_end", "cpu_id", "busy_pct"]}


@pytest.fixture(scope="module")
def lake_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide")
    lake.add(
        [write(folder / f"{name}.data", recording(range(80), system=name)) for name in SYSTEMS],
        folder / "lake",
    )
    stores.rollup(folder / "lake")
    return folder / "lake"


@pytest.fixture(scope="module")
def found(lake_path: Path) -> dict[str, Any]:
    """All findings of all systems, computed as for few systems."""
    with zlens.open(lake_path) as session:
        own = Workspace(session._core, [str(lake_path)])
        answer = findings.answer(own, ALL)
        own.close()
    return answer


@pytest.fixture
def two_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MANY_SYSTEMS", 2)


def test_answers_for_system_are_same(
    lake_path: Path, serve_over: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers() -> list[object]:
        with zlens.open(lake_path) as session, serve_over(session, [str(lake_path)]) as served:
            responses = [
                served.post("rows", **ROWS, system="SECOND"),
                served.post("rows", **ROWS),
                served.get("intervals", system="SECOND"),
                served.get("findings", system="THIRD"),
                served.get("report", name="cpu", system="SECOND"),
                served.post("rows", **ROWS, system="NONE"),
                served.get("fleet"),
            ]
            found = [response.json() for response in responses]
            # Without the line with the time of the run.
            found[4]["text"] = found[4]["text"].split("\n", 1)[1]
            return found

    whole = answers()
    monkeypatch.setattr(workspace, "MANY_SYSTEMS", 2)
    assert answers() == whole


def test_request_opens_only_its_system(lake_path: Path, two_are_many: None) -> None:
    with zlens.open(lake_path) as session:
        whole = Workspace(session._core, [str(lake_path)])
        with whole.for_systems({"system": "SECOND"}) as own:
            assert [info.system for info in own.session.systems] == ["SECOND"]
            with whole.for_systems({"system": "SECOND"}) as again:
                assert again is own
        for request in ({}, {"system": None}, {"system": "NONE"}, {"where": {"cpu_id": [1]}}):
            with whole.for_systems(request) as own:
                assert own is whole
        [machine] = {info.machine for info in session.systems}
        with whole.for_systems({"where": {"machine": [machine]}}) as own:
            assert {info.system for info in own.session.systems} == {*SYSTEMS}
        whole.live = True
        with whole.for_systems({"system": "SECOND"}) as own:
            assert own is whole
        whole.live = False
        whole.close()


def test_narrow_window_opens_only_its_files(lake_path: Path, two_are_many: None) -> None:
    with zlens.open(lake_path) as session:
        whole = Workspace(session._core, [str(lake_path)])
        with whole.open_narrow("SECOND", None, None) as own:
            assert [info.system for source in own.sources for info in source.systems] == ["SECOND"]
        whole.close()


def test_schema_and_fleet_read_no_intervals(
    lake_path: Path, two_are_many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zlens.open(lake_path) as session:
        known = {info.system: schema.system(session._core, info, ()) for info in session.systems}
    with zlens.open(lake_path) as session:
        own = Workspace(session._core, [str(lake_path)])

        def read(info: SystemInfo) -> None:
            raise AssertionError(f"the intervals of {info.system} were read")

        monkeypatch.setattr(SystemInfo, "intervals", property(read))
        answer = schema.answer(own, {})
        for system in answer["systems"]:
            expected = known[system["system"]]
            assert system["intervals"] is None
            assert system["end"] == expected["end"]
            # The length of the first interval is not in the lake document; the usual length is assumed.
            assert (system["start"], expected["start"]) == ("2026-03-02T10:00:00Z", "2026-03-02T10:01:00Z")
        from zlens.server import fleet

        found = fleet.answer(own, dict.fromkeys(("from", "to", "base_from", "base_to")))
        assert [one["system"] for one in found["systems"]] == [*SYSTEMS]
        assert all(one["mean"] is not None for one in found["systems"])
        own.close()


@pytest.mark.long
def test_new_hours_are_computed(lake_path: Path, tmp_path: Path) -> None:
    """The rollup of the last hour is incomplete after an import."""
    import shutil

    from zlens.studies import fleet

    mine = tmp_path / "lake"
    shutil.copytree(lake_path, mine)
    more = write(tmp_path / "more.data", recording(range(80, 90), system="SECOND"))
    lake.add([more], mine)
    with zlens.open(mine) as session:
        found = {member.system: member for member in fleet.members(session._core, (None, None))}
    stores.rollup(mine)
    with zlens.open(mine) as session:
        rolled = {member.system: member for member in fleet.members(session._core, (None, None))}
    with zlens.open(lake_path) as session:
        before = {member.system: member for member in fleet.members(session._core, (None, None))}
    assert found["SECOND"].mean == pytest.approx(rolled["SECOND"].mean)
    assert found["FIRST"] == before["FIRST"] == rolled["FIRST"]
    assert found["SECOND"].hours != before["SECOND"].hours


def test_wide_problems_equal_read_problems(
    lake_path: Path, two_are_many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*_: object) -> None:
        raise AssertionError("measures of all systems were computed")

    with zlens.open(lake_path) as session:
        own = Workspace(session._core, [str(lake_path)])
        assert schema.answer(own, {})["wide"] is True
        monkeypatch.setattr(data_quality, "find_quality_problems", computed)
        assert problems.answer(own, {})["count"] == len(session._core.reading_problems())
        own.live = True
        with pytest.raises(AssertionError, match="were computed"):
            problems.answer(own, {})
        own.close()


@pytest.mark.long
def test_wide_findings_are_computed_per_machine(
    lake_path: Path, found: dict[str, Any], two_are_many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(answer: dict[str, Any]) -> list[Any]:
        return sorted(json.dumps(row, default=str) for row in answer["rows"])

    assert {row["system"] for row in found["rows"]} == {*SYSTEMS}
    with zlens.open(lake_path) as session:
        own = Workspace(session._core, [str(lake_path)])
        machines = {"FIRST": "8561-1", "SECOND": None, "THIRD": "8561-1"}
        monkeypatch.setattr(SystemInfo, "machine", property(lambda info: machines[info.system]))
        assert own.machines() == [("FIRST", "THIRD"), ("SECOND",)]
        stream = findings.stream(own, ALL)
        first = next(stream)
        assert {row["system"] for row in first["rows"]} == {"FIRST", "THIRD"}
        # The client disconnects; the next request continues from the cached results.
        stream.close()
        # The web UI sends this before it knows the number of systems.
        assert [*findings.stream(own, ALL | {"few": True})] == []
        answer = findings.answer(own, ALL)
        assert rows(answer) == rows(found)
        assert (answer["asked"], len(answer["missing"])) == (found["asked"], len(found["missing"]))
        own.close()


@pytest.mark.long
def test_rule_is_checked_for_each_machine(
    lake_path: Path, found: dict[str, Any], two_are_many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = findings.find_in_stages
    calls = []

    def lacking(*given: Any, **how: Any) -> Any:
        calls.append(given)
        for part in stages(*given, **how):
            if len(calls) == 1:
                part.missing += [(rule, ("load.busy_pct",)) for rule in part.asked]
                part.asked, part.rows = [], []
            yield part

    monkeypatch.setattr(findings, "find_in_stages", lacking)
    with zlens.open(lake_path) as session:
        own = Workspace(session._core, [str(lake_path)])
        answer = findings.answer(own, ALL)
        own.close()
    assert len(calls) == len(SYSTEMS)
    assert (answer["asked"], answer["missing"]) == (found["asked"], found["missing"])


def test_wide_server_warms_schema_and_fleet(lake_path: Path, two_are_many: None) -> None:
    from zlens.server import warmup

    with zlens.open(lake_path) as session:
        own = Workspace(session._core, [str(lake_path)])
        warmup.warm(own)
        assert [*own._answers] == ["schema", ("fleet", None, None, None, None)]
        own.close()


def test_throughput_of_one_system_leaves_others_queryable(
    lake_path: Path, tmp_path: Path, two_are_many: None
) -> None:
    path = tmp_path / "throughput.csv"
    begun, ended = "2026-03-02T10:10:00Z", "2026-03-02T10:20:00Z"
    path.write_text(f"start,end,system,transactions\n{begun},{ended},SECOND,120\n")
    options = Options(throughput=str(path))
    question = "SELECT count(*) FROM throughput"
    with zlens.open(lake_path, options=options) as session:
        whole = Workspace(session._core, [str(lake_path)])
        rows = session.sql(question).rows
        assert rows[0][0] > 0
        for system, expected in (("FIRST", [(0,)]), ("SECOND", rows)):
            with whole.for_systems({"system": system}) as own:
                assert own.session.sql("SELECT count(*) FROM cpu").rows[0][0] > 0
                assert own.session.sql(question).rows == expected
        whole.close()
