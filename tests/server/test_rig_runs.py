"""Tests of rig runs in the API: results, runs as inputs, and invalid folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rig_samples
import zlens
from zlens.errors import InputError, QueryError
from zlens.server.rig_runs import RigRuns
from zlens.server.workspace import Workspace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rig")
    zlens.run_rig([rig_samples.write(path)], str(path / "runs"))
    return path / "runs"


def test_every_endpoint_supports_runs(folder: Path, demo_folder: Path, serve_over: Any):
    base = str(demo_folder / "zlzos.smf")
    with zlens.open([base]) as session, serve_over(session, [base]) as served:
        served.place.runs = RigRuns(str(folder))
        results = served.get("rig").json()
        [scenario] = results["scenarios"]
        policy, _control = scenario["policies"]
        assert [(run["name"], run["opens"]) for run in policy["runs"]] == [("1", True), ("2", True)]
        assert "files" not in policy["runs"][0]
        systems = served.get("schema", run="equal/2").json()["systems"]
        assert {one["system"] for one in systems} != {one.system for one in session.systems}
        course = policy["observations"][0]["over_time"]
        rows = served.post("sql", query=course, rows=100, run="equal/2").json()["rows"]
        own = [(subject, value) for _, subject, value in rows]
        with zlens.open([str(folder / "equal" / "2.data")]) as run:
            rows = run.sql(
                "SELECT userid, cpu_pct FROM guest WHERE basis = 'sample' ORDER BY interval_end, 1"
            ).rows
        assert own == [(userid, pytest.approx(value)) for userid, value in rows]
        assert len(own) == 4
        stream = served.client.get("/api/v1/findings/stream", params={"run": "equal/1"})
        assert stream.status_code == 200
        gone = served.get("schema", run="equal/9")
        assert gone.status_code == 400
        assert "no run equal/9" in gone.json()["error"]["message"]
        for run in range(1, 3):
            assert served.get("intervals", run=f"equal/{run}", system=systems[0]["system"]).status_code == 200


def test_rig_runs_need_folder(demo_folder: Path, serve_over: Any):
    base = str(demo_folder / "zlzos.smf")
    with zlens.open([base]) as session, serve_over(session, [base]) as served:
        assert served.get("schema").json()["runs"] is False
        assert served.get("rig").status_code == 400
        assert served.get("schema", run="equal/1").status_code == 400


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"scenarios": [{"name": "../x", "policies": []}]}', '{"scenarios": 3}', "[" * 99999],
)
def test_invalid_rig_results_are_rejected(tmp_path: Path, text: str):
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="has no results of the rig"):
        RigRuns(str(tmp_path)).results()


def test_only_files_in_folder_are_read(tmp_path: Path, demo_folder: Path):
    outside = demo_folder / "zlzos.smf"
    run = {"name": "1", "files": [str(outside)], "throughput": None}
    found = {"scenarios": [{"name": "a", "policies": [{"runs": [run]}]}]}
    (tmp_path / "results.json").write_text(json.dumps(found), encoding="utf-8")
    assert RigRuns(str(tmp_path)).names() == []
    with pytest.raises(QueryError, match="not in the folder"):
        RigRuns(str(tmp_path)).files("a/1")


def test_run_stays_open_while_others_are_opened(
    folder: Path, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    base = str(demo_folder / "zlzos.smf")
    with zlens.open([base]) as session:
        place = Workspace(session._core, [base], runs=RigRuns(str(folder)))
        monkeypatch.setattr(place._opened_runs, "_max_open", 1)
        with place.for_run("equal/1") as first:
            with place.for_run("equal/2") as second:
                assert second is not first
            assert first.session.sql("SELECT count(*) FROM guest").rows[0][0] > 0
        place._opened_runs.close()
