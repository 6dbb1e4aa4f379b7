"""Tests of answers as text, for values of any size."""

from __future__ import annotations

import pytest

from zlens.rendering import answer_text
from zlens.rendering.answer import Answer, AnswerColumn, AnswerTable
from zlens.rendering.charts import Chart, ChartSeries


@pytest.mark.parametrize(
    ("values", "printed"),
    [
        ((0.026, 0.013), ("0.0260", "0.0130")),
        ((0.4, 0.2), ("0.400", "0.200")),
        ((192.0, 54.87), ("192.0", "54.9")),
        ((1_536_000.0, 207_288.1), ("1,536,000", "207,288")),
        ((0.0, 0.0), ("0.00", "0.00")),
        ((1e-12, 0.0), ("0.00000000000100", "0.00000000000000")),
    ],
)
def test_bars_print_three_digits_of_longest(values: tuple[float, float], printed: tuple[str, str]) -> None:
    chart = Chart("Quiesce", "bars", ("A", "B"), (ChartSeries("gets", values),), "s")
    lines = answer_text.render(Answer("shares", "Bars", [], charts=[chart])).splitlines()
    assert tuple(text.split()[-1] for text in lines if "gets" in text) == printed


def test_texts_are_printed_below_their_row() -> None:
    columns = (
        AnswerColumn("name", "Name"),
        AnswerColumn("text", "Is"),
        AnswerColumn("value", "Value", "ms", 1),
    )
    table = AnswerTable("constants", "", columns, [("slice", "how long " * 20, 5.0), ("lag", "short", 2.5)])
    lines = answer_text.render(Answer("shares", "Constants", [table])).splitlines()[2:]
    assert lines[:4] == ["Name   Value", "        (ms)", "-----  -----", "slice    5.0"]
    assert lines[4].startswith("    Is: how long how long")
    assert lines[5].startswith("      ")
    assert lines[-2:] == ["lag      2.5", "    Is: short"]
    assert max(map(len, lines)) <= 110
