"""Tests of GET /fleet with all demo systems."""

from __future__ import annotations

import pytest

import zlens
from zlens import studies
from zlens.server.laboratory import as_data
from zlens.studies import fleet


def data(response):
    assert response.status_code == 200, response.text
    return response.json()


def test_system_series_share_one_axis(served):
    answer = data(served.get("fleet"))
    assert (answer["unit"], answer["limit"]) == ("%", 90.0)
    assert answer["t"] == sorted(answer["t"])
    members = {member.system: member for member in fleet.members(served.session, (None, None))}
    rows = {row["system"]: row for row in answer["systems"]}
    assert rows.keys() == members.keys()
    for system, row in rows.items():
        series = dict(zip(answer["t"], row["series"], strict=True))
        known = {t: value for t, value in series.items() if value is not None}
        assert known == {end.timestamp(): pytest.approx(value) for end, value in members[system].hours}
        assert row["mean"] == pytest.approx(members[system].mean)
    infos = {info.system: info for info in served.session.systems}
    for system, row in rows.items():
        assert (row["machine"], row["sysplex"], row["release"]) == (
            infos[system].machine,
            infos[system].sysplex,
            infos[system].release,
        )


def test_time_range_and_previous_one(served):
    whole = data(served.get("fleet"))
    [zldemo] = [row for row in whole["systems"] if row["system"] == "ZLDEMO"]
    ends = [t for t, value in zip(whole["t"], zldemo["series"], strict=True) if value is not None]
    request = {"from": ends[0], "to": ends[1], "base_from": ends[0] - 3600, "base_to": ends[0]}
    [row] = [row for row in data(served.get("fleet", **request))["systems"] if row["system"] == "ZLDEMO"]
    first, second = [value for value in zldemo["series"] if value is not None]
    assert row["mean"] == pytest.approx(second)
    assert row["before"] == pytest.approx(first)
    assert row["change"] == pytest.approx(second - first)


def test_cluster_is_requested_by_name(serve_over, demo_folder):
    path = str(demo_folder / "sim.monwrite")
    with zlens.open(path) as session, serve_over(session, [path]) as served:
        answer = data(served.get("cluster", name="ZLSSI"))
        none = data(served.get("cluster", name="ZLSSI", to="2001-01-01T00:00Z"))
        response = served.get("cluster", name="NONE")
    assert answer["members"] == ["ZLSIM"]
    assert (answer["volumes"]["unit"], answer["guests"]["explain"]) == ("%", "guest.cpu_pct")
    [linux1] = [row for row in answer["guests"]["rows"] if row[0] == "LINUX01"]
    assert linux1[1:3] == [pytest.approx(191.6, abs=0.1), 1]
    assert linux1[3] == linux1[1]
    assert none["guests"]["rows"] == []
    assert response.status_code == 400
    assert response.json()["error"]["expected"] == "a cluster of this input: ZLSSI"


def test_machine_has_its_partitions_by_hour(served):
    answer = data(served.get("machine", name="2097-D3E01"))
    assert (answer["unit"], answer["explain"]) == ("%", "partition.phys_total_pct")
    partitions = {
        (one.cpu_type, one.name): one for one in fleet.partitions(served.session, "2097-D3E01", (None, None))
    }
    assert len(answer["partitions"]) == len(partitions) > 1
    for row in answer["partitions"]:
        partition = partitions[row["cpu_type"], row["partition"]]
        series = dict(zip(answer["t"], row["series"], strict=True))
        known = {t: value for t, value in series.items() if value is not None}
        assert known == {end.timestamp(): pytest.approx(value) for end, value in partition.hours}
        assert row["mean"] == pytest.approx(partition.mean)
    ends = answer["t"]
    assert data(served.get("machine", name="2097-D3E01", **{"from": ends[0]}))["t"] == ends[1:]
    refused = served.get("machine", name="none")
    assert refused.status_code == 400
    assert "2097-D3E01" in refused.json()["error"]["expected"]


def test_trends_are_those_of_study(served, demo_folder, tmp_path):
    answer = data(served.get("trend", shifts="early = 08:00-09:00; late=09:00-10:00"))["answer"]
    (tmp_path / "data").symlink_to(demo_folder / "zldemo.monwrite")
    shift = {"early": "08:00-09:00", "late": "09:00-10:00"}
    study = studies.solve("trend", {"data": ["data"], "shift": shift}, file=str(tmp_path / "trend.toml"))
    assert answer == as_data(study)
    assert [table["key"] for table in answer["tables"]] == ["growth", "months"]
    assert {row[1] for row in answer["tables"][0]["rows"]} == {"early", "late"}
    whole = data(served.get("trend"))["answer"]["tables"][0]["rows"]
    assert [row[:2] for row in whole] == [["ZLDEMO", "all"]]


@pytest.mark.parametrize("shifts", ["prime", "=08:00-09:00", "prime=noon", "prime="])
def test_invalid_shift_is_rejected(served, shifts):
    response = served.get("trend", shifts=shifts)
    assert response.status_code == 400
    assert "Mon-Fri 08:00-17:00" in response.json()["error"]["expected"]


def test_invalid_time_is_rejected(served):
    response = served.get("fleet", **{"from": "noon"})
    assert response.status_code == 400
    assert "noon" in response.json()["error"]["message"]
