"""Tests of notebooks: the shipped ones run, and results are tables."""

from __future__ import annotations

import ast
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

import zlens

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


class Cells(HTMLParser):
    """The cells of an HTML table, by row."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


class Document(HTMLParser):
    """The document in a frame."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.frame = ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        assert tag == "iframe"
        self.frame = dict(attributes)["srcdoc"]
        # Its scripts sort tables and cannot reach the notebook.
        assert dict(attributes)["sandbox"] == "allow-scripts"


def run(source: str, names: dict[str, object]) -> object:
    """Run a cell and return its value, as a notebook does."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None


@pytest.mark.usefixtures("unless_unchanged")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    values = [run("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]
    shown = [value._repr_html_() for value in values if hasattr(value, "_repr_html_")]
    *tables, frame = map(Cells, shown)
    assert [table.rows[0][0] for table in tables] == ["system", "userid", "severity"]
    assert tables[0].rows[1][:2] == ["ZLDEMO", "59"]
    assert frame.rows == []
    assert shown[-1].startswith("<iframe ")
    rows = names["session"].sql("SELECT count(*) FROM cpu").rows[0][0]
    assert values[-2] == (rows, ["interval_end", "cpu_id", "busy_pct"])
    printed = capsys.readouterr().out
    assert "<Finding warn PAG-003 ZLDEMO device 0123 530PG3: " in printed
    assert "FCX304" in printed
    assert "2010-03-09 08:32:00+01:00 0 " in printed
    # The notebook has no stored outputs, which would be outdated.
    assert not any(cell.get("outputs") for cell in cells)
    names["session"].close()


def test_notebook_shows_findings_and_report(demo_files):
    with zlens.open(demo_files[:1]) as session:
        findings = session.findings(only=["PAG-003"])
        rows = Cells(findings._repr_html_()).rows
        assert len(rows) == 1 + len(findings)
        assert rows[1][:2] == ["warn", "PAG-003"]
        assert rows[1][3:6] == ["ZLDEMO", findings.rows[0].subject, "35.7%"]
        assert repr(findings) == f"<FindingsResult: {len(findings)} findings of 1 rule; 0 rules without data>"
        report = session.report("prclog", only=["0"])
        document = Document(report._repr_html_()).frame
        assert document.startswith("<!DOCTYPE html>")
        # The text, and the document of the same rows.
        headings = {cell for row in Cells(document).rows for cell in row}
        assert {"Interval", "Row"} & headings
        assert repr(report) == f"<Report prclog: {len(report.splitlines())} lines>"
        html = session.report("prclog", "html")
        assert Document(html._repr_html_()).frame == html


def test_notebook_result_is_table(demo_files):
    with zlens.open(demo_files[:1], options=zlens.Options(utc=False)) as session:
        answer = session.sql(
            "SELECT '<b>' AS x, 1.5 AS y, NULL AS z, system, max(interval_end) AS t FROM load GROUP BY system"
        )
        [head, row] = Cells(answer._repr_html_()).rows
        assert head == ["x", "y", "z", "system", "t"]
        assert row == ["<b>", "1.5", "NULL", "ZLDEMO", "2010-03-09 09:30:00+01:00"]
        assert "<b>" not in answer._repr_html_()
        many = session.sql("SELECT range FROM range(1000)")._repr_html_()
        assert len(Cells(many).rows) == 61
        assert "60 of 1,000 rows" in many
