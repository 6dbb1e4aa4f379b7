"""Tests of `zlens solve` on the command line."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from pathlib import Path

import pytest

import command_line
from zlens import models
from zlens.cli import main

SHARES = """\
[processors]
CP = 2

[[user]]
name = "A"
relative = 100

[[user]]
name = "B"
relative = 300
virtual_cpus = 2
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "shares.toml"
    path.write_text(SHARES, encoding="utf-8")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return command_line.run(capsys, "solve", *words)


def test_solve_text(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "shares", scenario)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert next(line for line in lines if line.startswith("A ")).split()[-1] == "share"
    assert any(line.startswith("CP: idle of the shared processors: 0.0% of 1") for line in lines)
    assert any("entitled" in line and "#" in line for line in lines)


def test_solve_json_equals_csv(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(run(capsys, "shares", scenario, "--format", "json")[1])
    assert list(answer) == ["model", "title", "figures", "tables", "assumptions", "notes"]
    assert answer["model"] == "shares"
    assert answer["figures"]["used_cp"] == {
        "value": 200.0,
        "unit": "% of 1",
        "text": "CP: used of the shared processors",
    }
    assert answer["tables"]["users"]["columns"]["allocation"]["unit"] == "% of 1"
    users = answer["tables"]["users"]["rows"]
    lines = list(csv.DictReader(io.StringIO(run(capsys, "shares", scenario, "--format", "csv")[1])))
    parts = (answer["figures"], answer["assumptions"], answer["notes"])
    rows = sum(len(table["rows"]) for table in answer["tables"].values())
    assert rows + sum(map(len, parts)) == len(lines)
    assert [row["allocation"] for row in users] == pytest.approx([50, 150])
    assert [float(row["allocation"]) for row in lines if row["table"] == "users"] == pytest.approx([50, 150])


def test_solve_html_is_self_contained(scenario: str, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    assert main(["solve", "shares", scenario, "--format", "html", "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_solve_set_and_sweep(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(
        run(capsys, "shares", scenario, "--set", "user.B.virtual_cpus=1", "--format", "json")[1]
    )
    assert [row["allocation"] for row in answer["tables"]["users"]["rows"]] == pytest.approx([100, 100])
    swept = json.loads(
        run(capsys, "shares", scenario, "--sweep", "user.A.relative=100:300:200", "--format", "json")[1]
    )
    assert [row["allocation_A"] for row in swept["tables"]["sweep"]["rows"]] == pytest.approx([50, 100])


@pytest.mark.parametrize("model", models.MODELS)
def test_help_on_model(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Help shows the keys, an example that can be solved, and every field of the answer with its unit."""
    with pytest.raises(SystemExit) as exit:
        main(["solve", model, "--help"])
    assert exit.value.code == 0
    out = capsys.readouterr().out
    found = models.find(model)
    assert found.summary in out
    assert all(f"  {line}".rstrip() in out for line in found.example.splitlines())
    answer = models.solve(model, tomllib.loads(found.example))
    fields = out[out.index("Answer ") :]
    for table in answer.tables:
        assert f"  {table.key}: " in fields
        for column in table.columns:
            line = rf"^    {re.escape(column.key)} .*{re.escape(column.unit)}$"
            assert re.search(line, fields, re.MULTILINE), column.key


def test_solve_lists_models_and_keys(capsys: pytest.CaptureFixture[str]) -> None:
    listed = run(capsys, "--list")[1]
    assert [line.split()[0] for line in listed.splitlines()] == list(models.MODELS)
    assert run(capsys, "shares", "--example")[1].startswith("# ")
    assert "virtual_cpus:" in run(capsys, "shares", "--keys")[1]


def test_settings_alone_are_a_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(
        capsys, "capacity", "--set", "from_machine=z16", "--set", "to_machine=9175", "--format", "csv"
    )
    assert status == 0
    assert "1.098" in out
    assert run(capsys, "aliases", "--set", "devices=3")[0] == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing"], "no model is called nothing"),
        ([], "which model?"),
        (["shares"], "no scenario"),
        (["shares", "/none/x.toml"], "cannot be read"),
    ],
)
def test_invalid_solve_arguments(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
