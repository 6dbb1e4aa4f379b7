"""Tests of menus of the classic reports, which are groups of the list."""

from __future__ import annotations

from pathlib import Path

import pytest

import monwrite_builder as monwrite
from zlens import reports
from zlens.catalog.reports import menus
from zlens.cli import main
from zlens.errors import QueryError


def test_every_menu_lists_reports() -> None:
    groups = {reports.load_report(name).group for name in reports.names()}
    for menu in menus.MenuFile.load().menus:
        assert set(menu.groups) <= groups
        assert reports.list_reports(menu=menu)
        assert menu.number.lower() not in {
            reports.load_report(name).number.lower() for name in reports.names()
        }


def test_menu_lists_its_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "fcx324"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("CPU pools (FCX324 CPLMENU)\n  cplact ")
    assert "prclog" not in said
    assert main(["report", "CPLMENU"]) == 0
    assert capsys.readouterr().out == said
    assert main(["report", "menu"]) == 0
    everything = capsys.readouterr().out
    assert main(["report", "--list"]) == 0
    assert capsys.readouterr().out == everything
    assert "\nprocessors (FCX325 CPUMENU)\n" in everything
    assert "\nPCI functions (FCX310)\n" in everything


def test_menu_shows_available_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = monwrite.write(
        tmp_path / "x.mon", [monwrite.configuration(monwrite.START_US), *monwrite.minutes(2)]
    )
    assert main(["report", "fcx310", str(file)]) == 0
    said = capsys.readouterr().out
    assert said == (
        "Without data in this input: pciact, pciconf, pcilog. Each of them names the input that it needs.\n"
    )


def test_menu_is_not_report() -> None:
    with pytest.raises(QueryError, match=r"FCX124 is a menu of reports.*zlens.reports.names"):
        reports.load_report("FCX124")
    assert menus.find("") is None
