"""Tests of every API endpoint on a demo file, compared with `zlens sql`."""

from __future__ import annotations

import datetime as dt
import json

import duckdb
import pytest
from msgspec.structs import replace

import zlens
from zlens import demo, models, reports
from zlens.catalog import measures
from zlens.catalog.aggregation import KNOWN
from zlens.errors import QueryError
from zlens.explain import names as explain
from zlens.findings import FindingsResult
from zlens.inputs.options import Shift
from zlens.server import aggregate, schema
from zlens.server.endpoints import ENDPOINTS
from zlens.server.response_bodies import LINES
from zlens.server.workspace import Workspace


@pytest.fixture
def fresh(demo_files):
    """A new workspace without cached answers."""
    vm, *_ = demo_files
    with zlens.open(vm) as session:
        yield Workspace(session._core, [str(vm)])


def response_data(response):
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize(
    ("query", "position"),
    [
        ("SELECT a\nFROM load WHER x y", 24),
        # Bytes: the accent has two.
        ("SELECT '\u00e9', cpu_sec FROM guest", 13),
        ("SELECT * FROM gest", 14),
        ("SELECT 1, getenv('x') FROM guest", 10),
        ("DROP TABLE guest", None),
    ],
)
def test_error_of_a_query_has_its_position(served, query, position):
    response = served.post("sql", query=query)
    assert response.status_code == 400
    assert response.json()["error"].get("position") == position


def test_export_has_all_rows_of_a_query(served, tmp_path):
    query = "SELECT userid, interval_end, cpu_s FROM guest WHERE cpu_s IS NOT NULL ORDER BY ALL"
    rows = response_data(served.post("sql", query=query, rows=200_000))["rows"]
    csv_file = served.post("export", query=query, form="csv")
    assert csv_file.headers["content-type"] == "application/octet-stream"
    assert csv_file.text.splitlines() == ["userid,interval_end,cpu_s", *(f"{a},{b},{c}" for a, b, c in rows)]
    path = tmp_path / "result.parquet"
    path.write_bytes(served.post("export", query=query, form="parquet").content)
    with duckdb.connect() as database:
        columns = "userid, strftime(interval_end, '%Y-%m-%dT%H:%M:%SZ'), cpu_s"
        found = database.execute(f"SELECT {columns} FROM '{path}' ORDER BY ALL").fetchall()
    assert [list(row) for row in found] == rows
    assert served.post("export", query="SELECT 1 FROM gest", form="csv").status_code == 400


def test_schema_lists_systems_tables_reports_and_models(served):
    found = response_data(served.get("schema"))
    assert [one["system"] for one in found["systems"]] == ["ZLDEMO"]
    assert found["synthetic"] is True
    assert found["systems"][0]["start"] == "2010-03-09T07:30:00Z"
    assert {one["name"] for one in found["tables"] if one["kind"] == "measure"} == set(
        measures.measure_names()
    )
    load = next(one for one in found["tables"] if one["name"] == "load")
    assert load["fills"] is True
    busy = next(one for one in load["columns"] if one["name"] == "busy_pct")
    assert (busy["unit"], busy["type"]) == ("%", "float")
    assert "d0r2" in {one["name"] for one in found["tables"] if one["kind"] == "raw"}
    assert "prclog" in {one["name"] for one in found["reports"]}
    assert [one["name"] for one in found["models"]] == list(models.MODELS)
    assert found["expected"] == list(models.MEASURED)
    assert [one["name"] for one in found["inputs"]] == ["zldemo.monwrite"]


def test_system_fills_follow_its_inputs(demo_folder):
    """A z/OS system opened with a z/VM system has no guests and no guest view."""
    vm, rmf = demo_folder / demo.MONWRITE_NAME, demo_folder / demo.RMF_NAME
    with zlens.open([vm, rmf]) as session:
        found = schema.answer(Workspace(session._core, [str(vm), str(rmf)]), {})
    fills = {one["system"]: set(one["fills"]) for one in found["systems"]}
    assert {"guest", "device", "cpu", "partition"} <= fills["ZLDEMO"]
    assert {"cpu", "partition"} <= fills["ZLZ1"]
    assert not {"guest", "device"} & fills["ZLZ1"]


def test_system_of_two_sources_is_answered_by_one(demo_folder, serve_over):
    """The first source of the schema answers, or the requested one."""
    files = [str(demo_folder / name) for name in (demo.SMF_NAME, demo.RMF_NAME)]
    with zlens.open(files) as session, serve_over(session, files) as served:
        listed = [(one["source"], one["same"]) for one in response_data(served.get("schema"))["systems"]]
        assert listed == [("smf", True), ("rmf-xml", True)]
        question = {"table": "cpu", "columns": ["busy_pct"], "by": ["cpu_id"], "system": "ZLZ1"}
        for requested, source in ((None, "smf"), ("smf", "smf"), ("rmf-xml", "rmf-xml")):
            answer = response_data(served.post("aggregate", **question, source=requested))
            rows = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
            assert sorted((row["cpu_id"], row["source"]) for row in rows) == [
                (cpu, source) for cpu in range(3)
            ]
            plain = response_data(
                served.post("rows", table="load", columns=["source"], system="ZLZ1", source=requested)
            )
            assert plain["rows"] == [[source]] * 4
        answer = served.post("aggregate", **question, source="rmf")
        assert answer.status_code == 400
        assert "rmf-xml, smf" in answer.text
        sides = [{"system": "ZLZ1", "source": name, "name": name} for name in ("smf", "rmf-xml")]
        compared = response_data(served.post("compare", base=sides[0], others=sides[1:]))
        [busy] = [row for row in compared["differences"] if row["metric"] == "load.busy_pct"]
        assert busy["ratio"] == pytest.approx(1, abs=0.01)


def test_sql_response_equals_session(served):
    query = "SELECT system, interval_end, busy_pct, online, flag FROM load ORDER BY interval_end"
    found = response_data(served.post("sql", query=query))
    own = served.session.sql(query)
    assert found["columns"] == own.columns
    assert found["types"] == own.types
    assert found["more"] is False
    assert [row[2] for row in found["rows"]] == [row[2] for row in own.rows]
    assert found["rows"][0][1] == own.rows[0][1].strftime("%Y-%m-%dT%H:%M:%SZ")


def test_sql_response_has_requested_rows(served):
    found = response_data(served.post("sql", query="SELECT * FROM range(100)", rows=7))
    assert (len(found["rows"]), found["more"]) == (7, True)
    found = response_data(served.post("sql", query="SELECT * FROM range(7)", rows=7))
    assert (len(found["rows"]), found["more"]) == (7, False)
    found = response_data(served.post("sql", query="SELECT repeat('x', 50000) AS t"))
    assert len(found["rows"][0][0]) == 10_003


def test_large_integers_are_sent_as_text(served):
    query = "SELECT 9007199254740993 AS large, 5 AS small, 'nan'::DOUBLE AS none, true AS flag"
    assert response_data(served.post("sql", query=query))["rows"] == [["9007199254740993", 5, None, True]]


@pytest.mark.parametrize(
    "query", ["SHOW TABLES", "DESCRIBE load", "SUMMARIZE load", "EXPLAIN SELECT * FROM load", "SELECT 1;"]
)
def test_statements_other_than_select(served, query):
    assert response_data(served.post("sql", query=query))["rows"]


def test_materialized_columns_give_same_numbers(served):
    query = "SELECT userid, sum(cpu_s) FROM {} GROUP BY userid ORDER BY userid"
    kept = response_data(
        served.post("sql", query=query.format("{guest}"), keep={"guest": ["userid", "cpu_s"]})
    )
    assert kept["rows"] == response_data(served.post("sql", query=query.format("guest")))["rows"]
    more = response_data(
        served.post("sql", query="SELECT max(cpu_pct) FROM {guest}", keep={"guest": ["cpu_pct"]})
    )
    assert more["rows"] == response_data(served.post("sql", query="SELECT max(cpu_pct) FROM guest"))["rows"]
    assert served.post("sql", query="SELECT 1", keep={"nosuch": []}).status_code == 400


def test_explain_response_equals_cli(served):
    found = response_data(served.get("explain", name="load.busy_pct"))
    assert (found["name"], found["text"]) == ("load.busy_pct", explain.explain("load.busy_pct"))
    (section,) = found["sections"]
    assert section["title"].startswith("load.busy_pct: ")
    assert section["example"].startswith("SELECT ")
    # The facts are those of the text, without an option of the command line.
    labels = [fact["label"] for fact in section["facts"]]
    assert {"Formula", "Source", "Status", "Combined"} <= set(labels)
    assert all(line.split()[0] in found["text"] for fact in section["facts"] for line in fact["lines"])
    assert served.get("explain", name="../../../etc/passwd").status_code == 400


def test_explained_measure_lists_its_columns(served):
    (measure, role) = response_data(served.get("explain", name="guest"))["sections"]
    assert measure["members"]["cpu_s"].startswith("CPU time of the guest")
    assert role["title"].startswith("role.guest: ")
    (report,) = response_data(served.get("explain", name="fcx304"))["sections"]
    assert report["title"].startswith("PRCLOG FCX304: ")
    assert (report["facts"], report["text"].splitlines()[0][:6]) == ([], "Use of")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_report_response_equals_cli(served, form):
    found = response_data(served.get("report", name="fcx304", format=form))
    assert found["name"] == "prclog"
    assert found["text"] == zlens.Session(served.session).report("prclog", form)


def test_report_tables_equal_json(served):
    table = response_data(served.get("report", name="prclog", format="table"))
    own = json.loads(zlens.Session(served.session).report("prclog", "json"))
    [shown] = table["tables"]
    keys = [column["key"] for column in shown["columns"]]
    assert len(shown["rows"]) == len(own)
    for row, line in zip(shown["rows"], own, strict=True):
        assert {key: value for key, value in zip(keys, row, strict=True) if key in line} == {
            key: line[key] for key in keys if key in line
        }
    assert served.session.sql(shown["sql"]).rows
    assert table["title"]
    assert any("ZLDEMO" in fact for fact in table["facts"])


def test_report_of_window_and_of_some_subjects(served):
    window = {"from": "2010-03-09T07:40:00Z", "to": "2010-03-09T07:45:00Z", "only": "0"}
    rows = response_data(served.get("report", name="prclog", format="table", **window))["tables"][0]["rows"]
    assert {row[1] for row in rows if row[0] == "interval"} == {
        f"2010-03-09T07:{minute}:00Z" for minute in range(41, 46)
    }
    assert len(rows) < 10


def test_report_by_time_sorted_and_limited(served):
    """The options of a report over HTTP are those of Python."""
    options = {"by_time": "0,1,2", "sort": "busy_pct", "top": "2"}
    text = response_data(served.get("report", name="cpu", format="csv", **options))["text"]
    own = zlens.Session(served.session).report("cpu", "csv", by_time=["0", "1", "2"], sort="busy_pct", top=2)
    assert text == own
    assert text.count(",interval,") > 100
    answer = served.get("report", name="cpu", format="table", **options)
    rows = response_data(answer)["tables"][0]["rows"]
    assert [row[0] for row in rows[:2]] == ["mean", "mean"]
    assert sum(row[0] == "interval" for row in rows) == 120
    assert served.get("report", name="uconf", by_time="X").status_code == 400
    assert served.get("report", name="cpu", sort="speed").status_code == 400


def test_report_of_longer_intervals(served):
    """`every` over HTTP is --every: rows of 15 minutes in place of those of a minute."""
    text = response_data(served.get("report", name="prclog", format="csv", every="15m"))["text"]
    longer = served.session.narrow(replace(served.session.options, every_s=900))
    assert text == reports.render("prclog", longer, "csv")
    assert 0 < text.count("\ninterval,") < 60
    assert served.get("report", name="prclog", every="soon").status_code == 400


def test_report_of_shift_and_of_peak(served):
    """`shift` and `peak` over HTTP are those of the command line."""
    own = served.session.options
    whole = reports.render("prclog", served.session, "csv").count("\ninterval,")
    for values, options in (
        ({"shift": "08:00-09:00"}, {"shift": Shift(frozenset(range(7)), dt.time(8), dt.time(9))}),
        ({"peak": "20m"}, {"peak_minutes": 20}),
        ({"peak": "20m", "every": "5m"}, {"peak_minutes": 20, "every_s": 300}),
    ):
        text = response_data(served.get("report", name="prclog", format="csv", **values))["text"]
        assert text == reports.render("prclog", served.session.narrow(replace(own, **options)), "csv")
        assert 0 < text.count("\ninterval,") < whole
    assert served.get("report", name="prclog", shift="always").status_code == 400
    assert served.get("report", name="prclog", peak="90s").status_code == 400


def test_report_of_groups_from_lines(served, tmp_path):
    """`group` over HTTP has the lines of the file of --group."""
    lines = '[guest]\n"LNX*" = "linux"\n'
    (tmp_path / "groups.toml").write_text(lines)
    grouped = served.session.narrow(replace(served.session.options, group=str(tmp_path / "groups.toml")))
    text = response_data(served.get("report", name="user", format="csv", group=lines))["text"]
    assert text == reports.render("user", grouped, "csv")
    assert "linux" in text
    assert "LNX" not in text
    answer = served.get("report", name="user", group='[guest]\n"LNX*" = 5')
    assert answer.status_code == 400
    assert "[guest] 'LNX*' is 5" in answer.text


def lines_of(response):
    assert response.headers["content-type"] == LINES
    return [json.loads(line) for line in response.text.splitlines()]


def test_finding_stages_equal_all_findings(serve_over, demo_files):
    paths = [str(path) for path in demo_files[:2]]
    with zlens.open(paths) as session, serve_over(session, paths) as over:
        parts = lines_of(over.get("findings/stream"))
        found = response_data(over.get("findings"))
        again = lines_of(over.get("findings/stream"))
        own = lines_of(over.get("findings/stream", system="ZLDEMO"))
    assert len(parts) > 5
    assert parts == again

    def order(row):
        return row["rule"], row["system"], row["subject"] or ""

    assert sorted((row for part in parts for row in part["rows"]), key=order) == sorted(
        found["rows"], key=order
    )
    rules = [rule["rule"] for part in parts for rule in part["asked"]]
    assert len(rules) == len(set(rules)) == found["asked"]
    missing = {rule["rule"] for part in parts for rule in part["missing"]}
    assert missing == {rule["rule"] for rule in found["missing"]}
    assert not missing & set(rules)
    # Rules that need no measure come before rules that need the costliest ones.
    at = {rule["rule"]: index for index, part in enumerate(parts) for rule in part["asked"]}
    assert at["DQ-001"] < min(at[rule] for rule in rules if rule.startswith("BAL-"))
    assert {row["system"] for part in own for row in part["rows"]} == {"ZLDEMO"}


def test_interrupted_finding_stream_is_continued(serve_over, demo_files):
    path = str(demo_files[0])
    with zlens.open(path) as session, serve_over(session, [path]) as over:
        with over.client.stream("GET", "/api/v1/findings/stream") as response:
            next(response.iter_lines())
        parts = lines_of(over.get("findings/stream"))
        found = response_data(over.get("findings"))
    rules = [rule["rule"] for part in parts for rule in part["asked"]]
    assert len(rules) == len(set(rules)) == found["asked"]


def test_refused_stream_has_error_status(served):
    refused = served.get("findings/stream", system="NOBODY")
    assert refused.status_code == 400
    assert "NOBODY" in refused.json()["error"]["message"]


def test_failing_stage_is_last_line(serve_over, demo_files, monkeypatch):
    def failing(session, **_):
        yield FindingsResult(session)
        raise QueryError("the second stage fails", cure="nothing")

    monkeypatch.setattr("zlens.server.findings.find_in_stages", failing)
    path = str(demo_files[0])
    with zlens.open(path) as session, serve_over(session, [path]) as over:
        *parts, last = lines_of(over.get("findings/stream"))
    assert [part["rows"] for part in parts] == [[]]
    assert last["error"]["message"] == "the second stage fails"


def test_findings_are_those_of_session(served):
    found = response_data(served.get("findings"))
    own = zlens.Session(served.session).findings()
    assert [one["rule"] for one in found["rows"]] == [one.rule.id for one in own.rows]
    assert [one["value"] for one in found["rows"]] == [one.to_row()["value"] for one in own.rows]
    assert found["asked"] == len(own.asked)
    assert {one["rule"] for one in found["missing"]} == {rule.id for rule, _ in own.missing}
    worst = found["rows"][0]
    shown = response_data(
        served.get("evidence", rule=worst["rule"], system=worst["system"], subject=worst["subject"] or "")
    )
    assert len(shown["t"]) == len(shown["value"]) == len(shown["held"]) > 0


def test_two_windows_compared(served):
    half = "2010-03-09T08:00:00Z"
    found = response_data(served.post("compare", base={"to": half}, others=[{"from": half, "name": "later"}]))
    assert [side["name"] for side in found["sides"]] == ["base", "later"]
    assert [side["intervals"] for side in found["sides"]] == [30, 30]
    assert "fewer than 1.5 independent samples, as when the load drifts" in found["not_tested"]
    results = ["beyond" if row["beyond_noise"] else row["p"] is not None for row in found["differences"]]
    # Beyond the noise, then not tested, then within the noise and untested without a difference.
    assert results[: results.count("beyond")] == ["beyond"] * results.count("beyond")
    assert 0 < results.count("beyond") < results.index(True)
    busy = next(one for one in found["differences"] if one["metric"] == "load.busy_pct")
    for sign, name in (("<=", "base_value"), (">", "other_value")):
        # Processors have equal weight; one that was varied on or off counts for its online time.
        query = (
            "SELECT sum(busy_pct * online * seconds) / sum(online * seconds) FROM load "
            f"WHERE flag IS NULL AND interval_end {sign} TIMESTAMPTZ '{half}'"
        )
        assert busy[name] == pytest.approx(served.session.sql(query).rows[0][0], rel=1e-9)


def test_comparison_in_published_form(served):
    """The options of `zlens compare` over HTTP: `delta` adds the tables of its published form."""
    half = "2010-03-09T08:00:00Z"
    sides = {"base": {"to": half}, "others": [{"from": half}], "format": "html"}
    assert "%Delta" not in response_data(served.post("compare", **sides))["html"]
    assert "%Delta" in response_data(served.post("compare", **sides, delta=True))["html"]
    assert served.post("compare", **sides, seed="one").status_code == 400


@pytest.mark.parametrize("name", models.MODELS)
def test_every_model_answers_its_example(served, name):
    example = models.find(name).example
    answer = response_data(served.post("solve", model=name, scenario=example))["answer"]
    assert answer["model"] == name
    assert answer["figures"] or answer["tables"]
    assert response_data(served.post("solve", model=name, scenario=example, check=True))["answer"] is None
    assert response_data(served.get("model", model=name))["example"] == example


def test_sweep_and_setting(served):
    example = models.find("shares").example
    request = {"model": "shares", "scenario": example}
    user = models.find("shares").example.partition('name = "')[2].partition('"')[0]
    swept = response_data(served.post("solve", sweep=f"user.{user}.relative=100:300:100", **request))[
        "answer"
    ]
    assert [row[0] for row in swept["tables"][0]["rows"]] == [100, 200, 300]
    assert served.post("solve", set=["nosuch=1"], **request).json()["error"]["kind"] == "ScenarioError"


def test_expected_response_has_observed_values(served):
    found = response_data(served.post("expected", model="partitions", at="2010-03-09T07:45:00Z"))
    assert found["system"] == "ZLDEMO"
    assert found["answer"]["tables"]


def test_unknown_request_id_cancels_nothing(served):
    assert response_data(served.get("running")) == []
    assert response_data(served.post("cancel", id="nobody")) == {"cancelled": 0}


def aggregated(served, **parameters):
    """Return the rows of /aggregate by column name, and the response."""
    found = response_data(served.post("aggregate", **parameters))
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]], found


def test_ratios_are_those_of_sums(served):
    [row], found = aggregated(served, table="load", columns=["busy_pct", "tv", "online"])
    busy, tv, online = served.session.sql(
        "SELECT sum(busy_pct * online * seconds) / sum(online * seconds), "
        "sum(tv * guest_pct * online * seconds) / sum(guest_pct * online * seconds), "
        "sum(online * seconds) / sum(seconds) FILTER (online IS NOT NULL) FROM load WHERE flag IS NULL"
    ).rows[0]
    assert row["busy_pct_mean"] == pytest.approx(busy)
    assert row["tv_mean"] == pytest.approx(tv)
    assert row["online_mean"] == pytest.approx(online)
    assert (found["bucket_s"], found["units"]["busy_pct"], found["more"]) == (0, "%", False)
    again = served.session.sql(found["sql"])
    assert again.columns == found["columns"]


def test_subjects_are_aggregated_per_interval(served):
    rows, _ = aggregated(served, table="guest", columns=["cpu_s", "cpu_pct"], statistics=["total", "max"])
    assert [(row["system"], row["source"]) for row in rows] == [("ZLDEMO", "zvm-monitor")]
    total, largest = served.session.sql(
        "SELECT sum(used), max(pct) FILTER (WHERE NOT stub) FROM (SELECT sum(cpu_s) AS used, "
        "sum(cpu_pct * seconds) FILTER (WHERE cpu_s IS NOT NULL) / 60 AS pct, count(flag) = count(*) AS stub "
        "FROM guest GROUP BY interval_end)"
    ).rows[0]
    assert rows[0]["cpu_s_total"] == pytest.approx(total)
    assert rows[0]["cpu_pct_max"] == pytest.approx(largest)


def test_largest_guests_are_first(served):
    request = {"table": "guest", "columns": ["cpu_s"], "by": ["userid"], "order": "cpu_s_total"}
    rows, found = aggregated(served, **request, limit=3)
    own = served.session.sql(
        "SELECT userid, sum(cpu_s) FROM guest GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 LIMIT 3"
    ).rows
    assert [row["userid"] for row in rows] == [row[0] for row in own]
    assert [row["cpu_s_total"] for row in rows] == pytest.approx([row[1] for row in own])
    assert found["more"]
    least, _ = aggregated(served, **request, descending=False, limit=1)
    assert least[0]["cpu_s_total"] <= rows[-1]["cpu_s_total"]


def test_buckets_add_up_to_window(served):
    request = {"table": "cpu", "columns": ["busy_pct"], "where": {"cpu_id": 0}, "by": ["cpu_id"]}
    rows, found = aggregated(served, **request, buckets=5)
    assert 1 < len(rows) <= 6
    assert found["bucket_s"] % served.session.systems[0].nominal_s == 0
    one, _ = aggregated(served, **request, buckets=10_000, statistics=["mean", "last"])
    every = served.session.sql(
        "SELECT epoch(interval_end), busy_pct FROM cpu WHERE cpu_id = 0 ORDER BY 1"
    ).rows
    assert [(row["t"], row["busy_pct_last"]) for row in one] == every
    assert [row["t"] for row in rows] == sorted(row["t"] for row in rows)


def test_shares_are_of_busy_processors(served):
    columns = {"cpu_pct": ["mean", "p95"], "cpu_s": ["total", "share"], "account": ["last"]}
    rows, found = aggregated(served, table="guest", columns=columns, by=["userid"])
    named = [f"{name}_{what}" for name, statistics in columns.items() for what in statistics]
    assert found["columns"] == ["system", "source", "userid", *named]
    # Guests that this input has no records of count, too.
    [(whole,)] = served.session.sql("SELECT sum(busy_s) FROM load").rows
    assert whole > 2 * sum(row["cpu_s_total"] for row in rows)
    assert [row["cpu_s_share"] for row in rows] == pytest.approx(
        [100 * row["cpu_s_total"] / whole for row in rows]
    )
    # A share of the returned rows alone would be larger.
    first, _ = aggregated(served, table="guest", columns=columns, by=["userid"], limit=1)
    assert first[0]["cpu_s_share"] == pytest.approx(rows[0]["cpu_s_share"])
    again = served.session.sql(found["sql"])
    assert again.columns == found["columns"]


def test_shares_of_buckets_are_of_bucket(served):
    request = {"table": "guest", "columns": {"cpu_s": ["share"]}, "by": ["userid"]}
    rows, _ = aggregated(served, **request, buckets=3)
    whole = {"table": "load", "columns": {"busy_s": ["total"]}, "by": []}
    busy = {row["t"]: row["busy_s_total"] for row in aggregated(served, **whole, buckets=3)[0]}
    assert len(busy) > 1
    totals, _ = aggregated(served, **request | {"columns": {"cpu_s": ["total"]}}, buckets=3)
    for row, total in zip(rows, totals, strict=True):
        assert (row["t"], row["userid"]) == (total["t"], total["userid"])
        used = total["cpu_s_total"]
        assert row["cpu_s_share"] == (None if used is None else pytest.approx(100 * used / busy[row["t"]]))


def test_rows_have_time_series(served):
    request = {"table": "guest", "columns": ["cpu_s"], "by": ["userid"]}
    series = {"column": "cpu_pct", "buckets": 5}
    rows, found = aggregated(served, **request, series=series)
    alone, _ = aggregated(
        served, table="guest", columns=["cpu_pct"], statistics=["max"], by=["userid"], buckets=5
    )
    points = {(row["userid"], row["t"]): row["cpu_pct_max"] for row in alone}
    assert 1 < len(found["series_t"]) <= 6
    assert found["series_t"] == sorted({t for _, t in points})
    for row, values in zip(rows, found["series"], strict=True):
        assert values == [points.get((row["userid"], t)) for t in found["series_t"]]
    # The largest rows come first, as without a series.
    largest, _ = aggregated(served, **request, series=series, order="cpu_s_total", limit=2)
    plain, _ = aggregated(served, **request, order="cpu_s_total", limit=2)
    assert [row["userid"] for row in largest] == [row["userid"] for row in plain]
    assert served.session.sql(found["sql"]).columns[-2:] == ["series_t", "series"]


def test_condition_on_unselected_column(served):
    every, _ = aggregated(served, table="guest", columns={"account": ["last"]}, by=["userid"])
    accounts = sorted({row["account_last"] for row in every})[:2]
    where = {"account": accounts, "share_kind": ["relative", "absolute", None]}
    rows, _ = aggregated(served, table="guest", columns=["cpu_s"], by=["userid"], where=where)
    own = served.session.sql(f"SELECT DISTINCT userid FROM guest WHERE account IN {tuple(accounts)!r}").rows
    assert {row["userid"] for row in rows} == {name for (name,) in own}


def test_missing_mean_has_reason(served):
    [row], found = aggregated(served, table="guest", columns=["transaction_rate"])
    assert row["transaction_rate_mean"] is None
    assert "not 0" in found["unweighted"]["transaction_rate"]


def test_few_intervals_are_not_combined(served):
    """Values of several intervals stay unchanged, too: the last value."""
    request = {"table": "guest", "columns": {"cpu_pct": ["last", "max"]}, "by": ["userid"]}
    rows, found = aggregated(served, **request, system="ZLDEMO", buckets=600)
    own = served.session.sql(
        "SELECT userid, epoch(interval_end), cpu_pct, seconds FROM guest ORDER BY userid, interval_end"
    ).rows
    assert found["bucket_s"] == 0
    assert any(seconds > 90 and value is not None for *_, value, seconds in own)
    assert [(row["userid"], row["t"], row["cpu_pct_last"]) for row in rows] == [row[:3] for row in own]
    assert [row["cpu_pct_max"] for row in rows] == [value for *_, value, _ in own]


def test_intervals_have_statistics_of_their_own(served):
    request = {"table": "guest", "columns": {"cpu_pct": ["min", "max"]}, "by": ["userid"]}
    request |= {"system": "ZLDEMO", "interval_statistics": ["last"]}
    combined, found = aggregated(served, **request, buckets=5)
    assert found["bucket_s"] > 0
    assert {"cpu_pct_min", "cpu_pct_max"} <= combined[0].keys()
    assert "cpu_pct_last" not in combined[0]
    single, found = aggregated(served, **request, buckets=600)
    assert found["bucket_s"] == 0
    assert single[0].keys() == {"system", "source", "userid", "t", "cpu_pct_last"}
    named = {**request, "columns": {"cpu_pct": ["last"]}, "interval_statistics": None}
    assert single == aggregated(served, **named, buckets=600)[0]


def test_buckets_agree_with_sql(served):
    request = {"table": "cpu", "columns": ["busy_pct"], "statistics": ["max"], "by": ["cpu_id"]}
    rows, found = aggregated(served, **request, buckets=10)
    nominal = served.session.systems[0].nominal_s
    assert found["bucket_s"] % nominal == 0
    assert found["bucket_s"] > nominal
    again = served.session.sql(found["sql"])
    assert [dict(zip(again.columns, row, strict=True)) for row in again.rows] == rows
    # No rows are lost between buckets; the maximum of the buckets is the overall maximum.
    largest = served.session.sql("SELECT max(busy_pct) FROM cpu WHERE flag IS NULL").rows[0][0]
    assert max(row["busy_pct_max"] for row in rows if row["busy_pct_max"] is not None) == largest


def test_single_bucket_equals_sql(served):
    statistics = ["min", "max", "p50", "p95"]
    rows, found = aggregated(served, table="load", columns=["busy_pct"], statistics=statistics, buckets=10)
    one, width = rows[2], found["bucket_s"]
    row = served.session.sql(
        "SELECT min(busy_pct), max(busy_pct), quantile_cont(busy_pct, 0.5), quantile_cont(busy_pct, 0.95) "
        f"FROM load WHERE flag IS NULL AND epoch(interval_end) > {one['t'] - width + 1} "
        f"AND epoch(interval_end) <= {one['t'] + 1}"
    ).rows[0]
    assert [one[f"busy_pct_{what}"] for what in statistics] == pytest.approx(list(row))


def test_top_selects_largest_by_mean_and_maximum(served):
    request = {"table": "guest", "columns": ["cpu_pct"], "by": ["userid"], "statistics": ["mean", "max"]}
    rows, _ = aggregated(served, **request)
    mean = sorted(rows, key=lambda row: (-(row["cpu_pct_mean"] or 0), row["userid"]))
    once = sorted(rows, key=lambda row: (-(row["cpu_pct_max"] or 0), row["userid"]))
    places = {row["userid"]: (min(at, once.index(row)), at) for at, row in enumerate(mean)}
    largest = sorted(places, key=places.__getitem__)[:4]
    some, found = aggregated(served, **request, top=4, buckets=10)
    assert found["top"] == largest
    assert {row["userid"] for row in some} == set(largest)
    assert {row[2] for row in served.session.sql(found["sql"]).rows} == set(largest)


def test_statistics_of_single_columns(served):
    columns = {"busy_pct": ["p95", "count"], "cpu_type": ["mode"]}
    rows, found = aggregated(served, table="cpu", columns=columns, by=["cpu_id"])
    assert found["columns"][3:] == ["busy_pct_p95", "busy_pct_count", "cpu_type_mode"]
    own = served.session.sql(
        "SELECT cpu_id, count(busy_pct), mode(cpu_type) FROM cpu WHERE flag IS NULL GROUP BY 1 ORDER BY 1"
    ).rows
    assert [(row["cpu_id"], row["busy_pct_count"], row["cpu_type_mode"]) for row in rows] == own


def test_announced_columns_are_materialized_together(fresh):
    request = {"table": "device", "columns": ["volume"], "by": ["device"], "keep": ["rate", "resp_s"]}
    checked = next(one for one in ENDPOINTS if one.name == "aggregate").check(request)
    aggregate.answer(fresh, checked)
    count, wanted = fresh._wanted["device"]
    assert {"volume", "rate", "resp_s"} <= wanted
    # Columns that only show whether a row has differences are not materialized.
    assert KNOWN in wanted
    assert "avoided_rate" not in wanted
    later = {**checked, "columns": {"rate": ["mean"], "resp_s": ["max"]}, "by": [], "keep": []}
    [_] = json.loads(aggregate.answer(fresh, later)["rows"].text)
    assert fresh._wanted["device"] == (count, wanted)


def test_single_source_is_not_grouped(served):
    """Grouping millions of rows by a constant column takes as long as adding them."""
    request = {"table": "cpu", "columns": ["busy_pct", "user_pct"], "by": ["cpu_id"]}
    every, plain = aggregated(served, **request)
    one, fixed = aggregated(served, **request, system="ZLDEMO")
    assert one == [row for row in every if row["system"] == "ZLDEMO"] != []
    assert "GROUP BY 1, 2, 3" in plain["sql"]
    assert "GROUP BY 3" in fixed["sql"]
    # Without groups, an empty window has no row either.
    request = {"table": "cpu", "columns": ["busy_pct"], "system": "ZLDEMO"}
    assert aggregated(served, **request, **{"from": 4e9, "to": 4.1e9})[0] == []
    assert len(aggregated(served, **request)[0]) == 1


def test_aggregate_with_window_and_condition(served):
    rows = served.session.sql("SELECT DISTINCT epoch(interval_end) FROM cpu ORDER BY 1").rows
    first, last = rows[5][0], rows[15][0]
    request = {"table": "cpu", "columns": ["busy_pct"], "from": first, "to": last, "where": {"cpu_id": [0]}}
    found, _ = aggregated(served, **request, buckets=600)
    assert [row["t"] for row in found] == [row[0] for row in rows[6:16]]


def test_text_values_stay_text(served):
    where = {"userid": "x') OR 1=1 --"}
    assert aggregated(served, table="guest", columns=["cpu_pct"], where=where, by=["userid"])[0] == []
    assert response_data(served.post("rows", table="guest", columns=["cpu_pct"], where=where))["rows"] == []


def test_rows_are_those_of_measure(served):
    request = {"table": "event", "columns": ["time", "kind", "subject"], "system": "ZLDEMO"}
    found = response_data(served.post("rows", **request))
    own = served.session.sql("SELECT time, kind, subject FROM event ORDER BY time").rows
    assert [row[1:] for row in found["rows"]] == [list(row[1:]) for row in own]
    assert found["types"] == ["time", "text", "text"]
    assert served.session.sql(found["sql"]).columns == found["columns"]
    # A window of timestamps, not of intervals.
    middle = found["rows"][len(own) // 2][0]
    later = response_data(served.post("rows", **request, **{"from": middle}))["rows"]
    assert later == [row for row in found["rows"] if row[0] > middle]
    some = response_data(served.post("rows", **request, order="kind", descending=True, limit=2))
    assert (len(some["rows"]), some["more"]) == (2, True)
    assert [row[1] for row in some["rows"]] == sorted((row[1] for row in own), reverse=True)[:2]
    assert response_data(served.post("rows", table="problem"))["columns"][0] == "system"


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"table": "nosuch"}, "there is no measure"),
        ({"table": "event; DROP TABLE event"}, "there is no measure"),
        ({"table": "event", "columns": ["nosuch"]}, "no column"),
        ({"table": "event", "order": "1"}, "order is"),
        ({"table": "event", "where": {"no'such": 1}}, "no column"),
        ({"table": "problem", "from": 0}, "has no times"),
        ({"table": "event", "limit": 0}, "limit"),
    ],
)
def test_wrong_rows(served, parameters, said):
    response = served.post("rows", **parameters)
    assert response.status_code == 400
    assert said in response.text


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"table": "nosuch", "columns": ["a"]}, "there is no measure"),
        ({"table": "system", "columns": ["files"]}, "has no intervals"),
        ({"table": "load", "columns": ["nosuch"]}, "no column"),
        ({"table": "load", "columns": ["busy_pct"], "by": ["nosuch"]}, "no column"),
        ({"table": "load", "columns": ["busy_pct"], "by": ["tv"]}, "not a column to group by"),
        ({"table": "load", "columns": ["busy_pct"], "by": ["interval_end"]}, "not a column to group by"),
        ({"table": "load", "columns": ["busy_pct"], "statistics": ["total"]}, "has no total"),
        ({"table": "load", "columns": ["busy_pct"], "statistics": ["sum"]}, "statistics"),
        ({"table": "load", "columns": ["busy_pct"], "order": "1; DROP TABLE load"}, "order is"),
        ({"table": "load", "columns": ["busy_pct"], "where": {'no"such': 1}}, "no column"),
        ({"table": "load", "columns": ["busy_pct"], "buckets": 0}, "buckets"),
        ({"table": "load", "columns": ["busy_pct"], "limit": 1_000_000}, "limit"),
        ({"table": "load", "columns": {"busy_pct": ["share"]}}, "has no share"),
        ({"table": "load", "columns": {"nosuch": ["mean"]}}, "no column"),
        ({"table": "load", "columns": {"busy_pct": []}}, "columns"),
        ({"table": "load", "columns": ["tv"], "series": {"column": "nosuch", "buckets": 3}}, "no column"),
        ({"table": "load", "columns": ["tv"], "series": {"column": "tv"}}, "series.buckets"),
        (
            {
                "table": "load",
                "columns": ["tv"],
                "series": {"column": "tv", "statistic": "share", "buckets": 3},
            },
            "has no share",
        ),
        (
            {"table": "load", "columns": ["tv"], "series": {"column": "tv", "buckets": 3}, "buckets": 3},
            "series and buckets",
        ),
        ({"table": "load", "columns": {"busy_pct": ["mean", "total"]}}, "has no total"),
        ({"table": "load", "columns": ["busy_pct"], "from": "nonsense"}, "nonsense"),
        ({"table": "load; DROP TABLE load", "columns": ["busy_pct"]}, "there is no measure"),
        ({"table": "cpu", "columns": ["busy_pct"], "where": {"cpu_id": "no number"}}, "no number"),
        ({"table": "load", "columns": ["busy_pct"], "top": 3}, "top without by"),
        ({"table": "storage", "columns": ["available"]}, "different zone are never merged"),
    ],
)
def test_wrong_aggregates(served, parameters, said):
    response = served.post("aggregate", **parameters)
    assert response.status_code == 400
    assert said in response.text


def test_applicable_rules_are_counted_per_system(demo_files, serve_over):
    """Counters of one system do not make rules apply to another."""
    paths = [str(demo_files[0]), str(demo_files[-1])]
    with zlens.open(paths) as session, serve_over(session, paths) as served:
        found = {name: response_data(served.get("findings", system=name)) for name in ("ZLDEMO", "ZLSIM")}
        everywhere = response_data(served.get("findings"))["asked"]
    assert 0 < found["ZLDEMO"]["asked"] < found["ZLSIM"]["asked"] <= everywhere
    for answer in found.values():
        assert {row["rule"] for row in answer["rows"]}.isdisjoint(one["rule"] for one in answer["missing"])


def test_origin_has_the_bytes_of_the_peak(served):
    """The bytes of two samples of four processors give the busiest minute of the overview."""
    peak = response_data(served.get("peak", system="ZLDEMO"))["busiest"]
    question = {"column": peak["explain"], "system": "ZLDEMO"}
    found = response_data(served.post("origin", **question, at=peak["to"]))
    assert (found["value"], found["end"]) == (peak["value"], peak["to"])
    # Left out, the time is that of the largest value in the window.
    assert response_data(served.post("origin", **question)) == found
    early = response_data(served.post("origin", **question, to=peak["from"]))
    assert early["end"] <= peak["from"]
    used = online = 0
    for record in found["records"]:
        sign = -1 if record["before"] else 1
        online += 0 if record["before"] else record["roles"]["online_time"]
        for field in record["fields"]:
            place = 2 * field["offset"]
            used += sign * int(record["hex"][place : place + 2 * field["length"]], 16)
    assert found["value"] == pytest.approx(100 * used / 4096e6 / online)
    error = served.post("origin", column="cpu.user_pct", at=peak["to"])
    assert error.status_code == 400
    assert "rows of cpu match" in error.text
