"""Tests that no statement, known or generated, shows data outside the selected input."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import zlens
from iterations import iterations, quick_subset
from zlens import demo
from zlens.cli import main
from zlens.engine.connection import connect
from zlens.engine.error_translation import query_error
from zlens.errors import QueryError
from zlens.inputs.options import Options

CANARY = "CANARY-4711"
#: Text in no row of the selected system: another system, contents of other files, folders of the engine.
OUTSIDE = re.compile(rf"ZLDEMO|{CANARY}|/zlens-\w{{8}}\b|allowed_directories")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, demo_folder: Path) -> Path:
    lake_path = tmp_path_factory.mktemp("admission") / "lake"
    files = [str(demo_folder / demo.MONWRITE_NAME), str(demo_folder / "sim.monwrite")]
    assert main(["import", *files, "--lake", str(lake_path)]) in (0, 1)
    for folder in (lake_path, lake_path / "d0r2"):
        (folder / "beside.csv").write_text(f"a\n{CANARY}\n")
        (folder / "beside.json").write_text(f'{{"a": "{CANARY}"}}')
        duckdb.execute(f"COPY (SELECT '{CANARY}' AS a) TO '{folder / 'beside.parquet'}'")
    return lake_path


@pytest.fixture(scope="module")
def lake_session(lake: Path) -> Iterator[zlens.Session]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZLENS_CANARY", CANARY)
        with zlens.open(lake, options=Options(systems=("ZLSIM",))) as session:
            yield session


def paths(lake: Path) -> list[str]:
    other = next(path for path in lake.rglob("*.parquet") if "ZLDEMO" in str(path) and "d0r2" in str(path))
    return [
        f"{lake}/d0r2/*/*/*.parquet",
        f"{lake}/**/*.parquet",
        f"{lake}/d0r2/beside.parquet",
        f"{lake}/d0r2/beside.csv",
        f"{lake}/d0r2/beside.json",
        f"{lake}/beside.parquet",
        f"file://{lake}/d0r2/beside.parquet",
        str(other),
        "/proc/self/environ",
        "s3://bucket/a.parquet",
        "https://localhost/a.csv",
        "beside.csv",
    ]


FORMS = (
    "SELECT system, count(*) FROM '{path}' GROUP BY 1",
    "SELECT count(*) FROM '{path}'",
    "SELECT system FROM '{path}'",
    "SELECT * FROM '{path}'",
    "SELECT system FROM d0r2 UNION ALL SELECT system FROM '{path}'",
    "SELECT (SELECT max(system) FROM '{path}')",
    "SELECT 1 WHERE EXISTS (FROM '{path}')",
    "SELECT * FROM d0r2 SEMI JOIN '{path}' USING (system)",
    "WITH t AS (SELECT system FROM '{path}') SELECT * FROM t",
    'WITH "{path}" AS (SELECT 1) SELECT (WITH u AS (SELECT 2) FROM u), (SELECT max(a) FROM "/{path}")',
    'SELECT * FROM (WITH "{path}" AS (SELECT 1) FROM "{path}"), "{path}"',
    'WITH t AS (SELECT a FROM "{path}"), "{path}" AS (SELECT 1) FROM t',
    'WITH """{path}""" AS (SELECT 1) SELECT * FROM "{path}"',
    'WITH "{path}" AS (SELECT 1) SELECT * FROM memory.main."{path}"',
    'SELECT * FROM main."{path}"',
    "SELECT * FROM (PIVOT '{path}' ON a IN ('x') USING count(*))",
    "UNPIVOT '{path}' ON system",
    "DESCRIBE '{path}'",
    "DESCRIBE SELECT * FROM '{path}'",
    "SUMMARIZE '{path}'",
    "SHOW '{path}'",
    "EXPLAIN SELECT system FROM '{path}'",
    "EXPLAIN ANALYZE SELECT system FROM '{path}'",
    "FROM summary((SELECT system FROM '{path}'))",
    "SELECT list_transform([1], lambda x: (SELECT max(system) FROM '{path}'))",
    "SELECT 1 ORDER BY (SELECT max(system) FROM '{path}')",
    "SELECT 1 LIMIT (SELECT count(*) FROM '{path}')",
    "SELECT sum(x) FILTER (WHERE (SELECT true FROM '{path}' LIMIT 1)) FROM range(2) AS r(x)",
    "FROM read_parquet('{path}')",
    "FROM read_csv('{path}')",
    "FROM read_text('{path}')",
    "FROM glob('{path}')",
    "FROM query('FROM ''{path}''')",
    "FROM query_table('{path}')",
    "FROM query_table(['{path}'])",
    "FROM parquet_metadata('{path}')",
)
SETTINGS = (
    *(
        f"{verb} {name}"
        for verb in ("SHOW", "DESCRIBE", "SUMMARIZE", "FROM")
        for name in ("allowed_directories", "temp_directory", "secret_directory", "memory_limit", "threads")
    ),
    "FROM (SHOW allowed_directories)",
    "SELECT (FROM (SHOW temp_directory))",
    "SHOW DATABASES",
    "SHOW TABLES FROM main",
    "SELECT current_setting('allowed_directories')",
    "SELECT getenv('ZLENS_CANARY')",
    "SELECT current_query()",
    "SELECT max(nextval('s')) OVER ()",
    "SELECT current_setting('temp_directory') OVER ()",
    "SELECT * FROM d0r2 AT (VERSION => 1)",
    "SELECT ?",
    "SELECT $name",
    "SELECT 1::load",
    "SELECT system FROM temp.d0r2",
    "FROM which_secret('s3://a', 's3')",
)


@pytest.mark.parametrize("form", FORMS)
def test_path_is_not_a_table(lake_session: zlens.Session, lake: Path, form: str) -> None:
    for path in paths(lake):
        with pytest.raises(QueryError) as refused:
            lake_session.sql(form.replace("{path}", path)).rows  # noqa: B018
        assert CANARY not in str(refused.value)


@pytest.mark.parametrize("query", SETTINGS)
def test_settings_are_not_shown(lake_session: zlens.Session, query: str) -> None:
    with pytest.raises(QueryError):
        lake_session.sql(query).rows  # noqa: B018


def test_query_database_reads_no_file(lake_session: zlens.Session, lake: Path) -> None:
    """Even if the allow list admits such a query."""
    assert {row[0] for row in lake_session.sql("SELECT DISTINCT system FROM d0r2").rows} == {"ZLSIM"}
    engine = lake_session._core.engine
    assert engine._isolated is not None
    cursor = engine._isolated.cursor()
    select = "SELECT current_setting('allowed_directories'), current_setting('allowed_paths')"
    ((folders, files),) = cursor.execute(select).fetchall()
    assert [Path(folder).name for folder in folders] == ["queries"], "where the engine spills to"
    assert files == []
    for path in paths(lake):
        with pytest.raises(duckdb.Error):
            cursor.execute(f"SELECT count(*) FROM '{path}'")


def test_views_and_plans_name_no_file_of_lake(lake_session: zlens.Session, lake: Path) -> None:
    for query in (
        "SELECT v.sql FROM duckdb_views() AS v, (SELECT * FROM d0r2 LIMIT 1)",
        "SELECT v.view_definition FROM information_schema.views AS v, (SELECT * FROM d0r2 LIMIT 1)",
        "EXPLAIN ANALYZE SELECT * FROM d0r2",
        "EXPLAIN (FORMAT json) SELECT system, count(*) FROM role.processor GROUP BY 1",
    ):
        assert str(lake) not in str(lake_session.sql(query).rows)


def test_lake_results_equal_file_results(lake_session: zlens.Session, demo_folder: Path) -> None:
    with zlens.open(demo_folder / "sim.monwrite") as files:
        for query in (
            "SELECT system, count(*), sum(sytprp_pfxutime_d), min(interval_end) FROM d0r2 GROUP BY ALL",
            "SELECT * EXCLUDE (file) FROM d0r2 WHERE seconds > 1 AND NOT (seconds IN (2, 3)) ORDER BY ALL",
            "SELECT count(*) FROM d0r2 AS d WHERE d.interval_end BETWEEN TIMESTAMPTZ '2000-01-01 00:00Z' "
            "AND TIMESTAMPTZ '2100-01-01' AND system = 'ZLSIM' AND (flag IS NULL OR 1 > seconds)",
            "SELECT a.cpu_id, count(*), count(DISTINCT a) FROM cpu a JOIN cpu b USING (cpu_id) GROUP BY ALL",
            "SELECT * FROM load ORDER BY ALL",
            "SELECT count(*) FROM role.processor WHERE system <> 'ZLSIM'",
            "SELECT count(*) FROM guest, (SELECT count(*) FROM cpu WHERE busy_pct >= 50)",
            "SELECT typeof(hash(system)), busy_pct::INTEGER FROM load ORDER BY ALL",
        ):
            assert lake_session.sql(query).rows == files.sql(query).rows


def test_refusal_names_function_and_alternative(lake_session: zlens.Session) -> None:
    with pytest.raises(QueryError, match=r"function uper; .*did you mean upper"):
        lake_session.sql("SELECT uper('a')")
    with pytest.raises(QueryError, match=r"table function read_parquet .files.*SHOW TABLES"):
        lake_session.sql("FROM read_parquet('x')")
    with pytest.raises(QueryError, match=r"the file x\.parquet"):
        lake_session.sql("FROM 'x.parquet'")
    with pytest.raises(QueryError, match="Table with name laod does not exist; did you mean load"):
        lake_session.sql("FROM laod")


class Grammar:
    """Random statements with tables and functions of every kind."""

    def __init__(self, seed: int, lake: Path, functions: list[str], table_functions: list[str]) -> None:
        self.random = random.Random(seed)
        self.functions = functions
        self.table_functions = table_functions
        self.paths = paths(lake)
        self.own = ["load", "cpu", "d0r2", "system", "problem", "role.processor", "main.load", "d0r1"]
        self.engine = [
            *("duckdb_tables", "duckdb_settings", "duckdb_views()", "duckdb_secrets()", "duckdb_variables()"),
            *("information_schema.tables", "information_schema.views", "pg_catalog.pg_settings"),
            *("pragma_database_list", "sqlite_master", "memory.main.load"),
        ]
        self.columns = [
            *("system", "busy_pct", "seconds", "interval_end", "a", "content", "filename", "rowid"),
            *("current_user", "allowed_directories", "value", "sql"),
        ]

    def pick(self, choices: list[str]) -> str:
        return self.random.choice(choices)

    def statement(self) -> str:
        query = self.query(3, [])
        form = self.random.randrange(14)
        if form == 0:
            return f"{self.pick(['DESCRIBE', 'SUMMARIZE', 'SHOW'])} {self.table(0, [])}"
        if form == 1:
            names = [
                "allowed_directories",
                "temp_directory",
                "TABLES",
                "ALL TABLES",
                "DATABASES",
                "VARIABLES",
            ]
            return f"SHOW {self.pick(names)}"
        if form == 2:
            return f"{self.pick(['DESCRIBE', 'SUMMARIZE'])} {query}"
        if form == 3:
            return f"EXPLAIN {self.pick(['', 'ANALYZE', '(FORMAT json)'])} {query}"
        return query

    def query(self, depth: int, names: list[str]) -> str:
        form = self.random.randrange(8) if depth else 0
        if form == 1:
            kind = self.pick(["UNION ALL", "UNION", "EXCEPT", "INTERSECT", "UNION ALL BY NAME"])
            return f"({self.query(depth - 1, names)}) {kind} ({self.query(depth - 1, names)})"
        if form == 2:
            name = self.pick(["t", "u", f'"{self.pick(self.paths)}"', "load"])
            start = f"WITH {self.pick(['', 'RECURSIVE'])} {name} AS ({self.query(depth - 1, names)})"
            return f"{start} {self.query(depth - 1, [*names, name])}"
        items = ", ".join(self.expression(2, names) for _ in range(self.random.randint(1, 3)))
        text = f"SELECT {self.pick(['', 'DISTINCT '])}{self.pick(['*', items, items])}"
        text += f" FROM {self.table(depth, names)}"
        if self.random.random() < 0.3:
            kind = self.pick(["JOIN", "LEFT JOIN", "CROSS JOIN", "POSITIONAL JOIN", "ASOF JOIN", "SEMI JOIN"])
            using = "" if kind.startswith(("CROSS", "POS")) else " USING (system)"
            text += f" AS x {kind} {self.table(depth, names)} AS y{using}"
        if self.random.random() < 0.3:
            text += f" WHERE {self.expression(1, names)}"
        if self.random.random() < 0.2:
            text += " GROUP BY ALL"
        return f"{text} LIMIT {self.random.choice([1, 5, 20])}"

    def table(self, depth: int, names: list[str]) -> str:
        form = self.random.randrange(10)
        if form < 3:
            return self.pick(self.own)
        if form < 5:
            path = self.pick(self.paths)
            return self.pick([f"'{path}'", f'"{path}"', f'main."{path}"', f'memory.main."{path}"'])
        if form == 5 and names:
            return self.pick(names)
        if form == 6:
            return self.pick(self.engine)
        if form == 7:
            argument = self.pick([f"'{self.pick(self.paths)}'", "3", "'load'", "'SELECT 1'", ""])
            return f'"{self.pick(self.table_functions)}"({argument})'
        if form == 8 and depth:
            return f"({self.query(depth - 1, names)})"
        return self.pick(["range(3)", "(VALUES (1, 'a')) AS v(a, system)", "unnest([1, 2])", "d0r2"])

    def expression(self, depth: int, names: list[str]) -> str:
        form = self.random.randrange(9) if depth else self.random.randrange(3)
        if form == 0:
            return self.pick(self.columns)
        if form == 1:
            return self.pick(
                ["1", "2.5", "'x'", "'memory_limit'", "'ZLENS_CANARY'", "[1, 2]", "NULL", "true"]
            )
        if form == 2:
            return self.pick(["count(*)", "max(system)", "#1", "COLUMNS(*)", "current_date"])
        if form == 3:
            return f"({self.query(0, names)})"
        if form == 4:
            sides = self.expression(depth - 1, names), self.expression(depth - 1, names)
            return f"{sides[0]} {self.pick(['+', '=', '<', '||', 'IS DISTINCT FROM', 'LIKE'])} {sides[1]}"
        if form == 5:
            return (
                f"CAST({self.expression(depth - 1, names)} AS {self.pick(['text', 'int', 'json', 'load'])})"
            )
        arguments = [self.expression(depth - 1, names) for _ in range(self.random.randint(0, 2))]
        over = self.pick(["", "", "", " OVER ()"])
        return f'"{self.pick(self.functions)}"({", ".join(arguments)}){over}'


@pytest.mark.parametrize("part", quick_subset(4, range(10)))
def test_generated_statements_read_no_outside_data(
    lake_session: zlens.Session, lake: Path, part: int
) -> None:
    engine = connect(None, threads=1)
    listed = engine.execute("SELECT DISTINCT function_name, function_type FROM duckdb_functions()").fetchall()
    functions = sorted(name for name, kind in listed if kind not in ("table", "pragma", "table_macro"))
    of_tables = sorted(name for name, kind in listed if kind in ("table", "table_macro"))
    answered = 0
    count = iterations(1000, 40)
    for number in range(count):
        query = Grammar(1000 * part + number, lake, functions, of_tables).statement()
        try:
            answer = lake_session.sql(query)
            shown = [answer.columns, answer.first(100)[0]]
            answered += 1
        except QueryError as error:
            # An error repeats names of the statement, including paths.
            shown = [name for name in (CANARY,) if name in str(error)]
        assert not OUTSIDE.search(str(shown)), query
    assert answered >= count // 20


def test_errors_of_streams_are_those_of_engine() -> None:
    for start in ("exporting a stream from the object", "reading the stream"):
        message = (
            f"Invalid Input Error: {start} registered as 'd0r2#1' failed: Error: don't know what type: x"
        )
        assert query_error(ValueError(message)).message == "a file of the lake is damaged"
