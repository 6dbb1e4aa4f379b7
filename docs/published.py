"""Writes docs/published/*.md from the chapters beside them: tables of publications, made again by zlens.

A chapter is docs/published/NAME.toml, a publication. Of each table it has the command, which is run in
docs/published, where the answer has the rows, and what was printed. Every number stands beside the printed
one.

A table names the tables and listings that it reproduces in `reproduces`, if its title does not; the other
ones of the publication are in `not_reproduced`, each with the reason.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from zlens.catalog import cpumf, generations

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Cell:
    """A number beside the printed one.

    printed  as printed
    within   the largest difference of numbers that has the reason
    formula  whether value and printed are formulas, which are the same if their results are
    """

    table: str
    row: str
    column: str
    value: float | str | None
    printed: str
    within: float = 0.0
    reason: str = ""
    formula: bool = False

    @property
    def difference(self) -> float | None:
        """The number less the printed one."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            return None
        return self.value - float(self.printed)

    @property
    def same(self) -> bool:
        """Whether the number is the printed one: within half a unit of its last digit."""
        if self.formula:
            return _is_same_formula(str(self.value), self.printed)
        if self.difference is None:
            return self.text.casefold() == self.printed.casefold()
        return abs(self.difference) <= 0.5 * 10**-self.decimals * (1 + 1e-6)

    @property
    def explained(self) -> bool:
        """Whether the number is the printed one, or differs by no more than its reason says."""
        if self.same:
            return True
        if self.difference is None:
            return bool(self.reason) and not self.within and self.value is not None
        return bool(self.reason) and abs(self.difference) <= self.within

    @property
    def text(self) -> str:
        """The value as text; a missing one as the dots that are printed for it."""
        return "." * len(self.printed) if self.value is None else str(self.value)

    @property
    def decimals(self) -> int:
        return len(self.printed.partition(".")[2])


def _is_same_formula(one: str, other: str) -> bool:
    """Whether two formulas over counters and metrics have the same results for some numbers."""
    random = Random(1)
    names = sorted({*re.findall(r"[A-Za-z]\w*", f"{one} {other}".lower())})
    for _ in range(5):
        numbers = {name: random.uniform(1, 9) for name in names}
        left, right = (eval(formula.lower(), {"__builtins__": {}}, numbers) for formula in (one, other))
        if abs(left - right) > 1e-9 * abs(left):
            return False
    return True


def filled(command: str) -> str:
    """A command with the formulas that it names: {rni z196} is that of the catalog."""

    def formula(found: re.Match[str]) -> str:
        numbers = generations.facts(found[1]).rni.numbers
        return cpumf.rni_formula(found[1], numbers)

    return re.sub(r"\{rni (\w+)\}", formula, command)


@cache
def output(command: str) -> str:
    """What a command of a chapter prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        shlex.split(filled(command)),
        cwd=FOLDER,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )
    if done.returncode != 0:
        raise SystemExit(f"{command}\n{done.stderr}")
    return done.stdout


def _rows(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of the answer by name: of JSON, or what a pattern finds in a text."""
    text = output(table["command"])
    if "pattern" in table:
        found: Any = [
            {key: " ".join(value.split()) for key, value in match.groupdict().items()}
            for match in re.finditer(table["pattern"], text, re.MULTILINE | re.DOTALL)
        ]
    else:
        found = json.loads(text)
        for part in table.get("rows", "").split("."):
            found = found[part] if part else found
    if isinstance(found, dict):
        found = [{"name": key, **row} for key, row in found.items()]
    by = [table["by"]] if isinstance(table["by"], str) else table["by"]
    # A report may have rows of other tables.
    found = [row for row in found if all(name in row for name in by)]
    names = [", ".join(str(row[name]) for name in by if row[name] is not None) for row in found]
    return dict(zip(reversed(names), reversed(found), strict=True))


def cells(table: dict[str, Any]) -> list[Cell]:
    """The cells of a table of a chapter, row by row."""
    rows = _rows(table)
    scale = table.get("scale", {})
    # Texts differ in the rows that a reason names, numbers in any row.
    reasons = {
        (each["column"], row["name"]): (each.get("within", 0.0), each["reason"])
        for each in table.get("differs", ())
        for row in table["row"]
        if row["name"] in each.get("rows", (row["name"],) if "within" in each else ())
    }
    return [
        Cell(
            table["title"],
            row["name"],
            column,
            _scaled(rows[row["name"]][column], scale.get(column)),
            printed,
            *reasons.get((column, row["name"]), (0.0, "")),
            formula=table.get("formula", False),
        )
        for row in table["row"]
        for column, printed in row["printed"].items()
    ]


def _scaled(value: Any, factor: float | None) -> Any:
    return value * factor if factor is not None and value is not None else value


def _shown(cell: Cell) -> tuple[str, str, str]:
    if cell.formula:
        return f"`{cell.text}`", f"`{cell.printed}`", "" if cell.same else "differs"
    if cell.difference is None:
        return cell.text, cell.printed, "" if cell.same else "differs"
    value = f"{cell.value:.{cell.decimals + 1}f}"
    return value, cell.printed, "" if cell.same else f"{cell.difference:+.{cell.decimals + 1}f}"


def reproduced(chapter: dict[str, Any]) -> list[str]:
    """The tables and listings of the publication that the chapter reproduces."""
    names = (name for table in chapter["table"] for name in table.get("reproduces", [table["title"]]))
    return [*dict.fromkeys(names)]


def page(chapter: dict[str, Any]) -> str:
    """A chapter as Markdown."""
    lines = [f"# {chapter['title']}", "", chapter["text"].strip(), "", f"Source: {chapter['source']}.", ""]
    lines += [
        "zlens computes or reads the first value of each pair; the second one is printed. Where no",
        "difference is shown, numbers agree to the last digit printed, and formulas in their results.",
        "`make published` writes this page.",
        "",
    ]
    names, others = reproduced(chapter), chapter.get("not_reproduced", [])
    lines += [f"It reproduces {len(names)} of {len(names) + len(others)} tables and listings.", ""]
    for table in chapter["table"]:
        lines += [f"## {table['title']}", ""]
        if "text" in table:
            lines += [table["text"].strip(), ""]
        lines += ["```sh", filled(table["command"]).replace(" --format json", ""), "```", ""]
        found = cells(table)
        columns = list(dict.fromkeys(cell.column for cell in found))
        heads = [table["columns"][column] for column in columns]
        lines.append(
            f"| {table['name']} | " + " | ".join(f"{head} | printed | difference" for head in heads) + " |"
        )
        lines.append("|---|" + "---:|---:|---:|" * len(heads))
        for row in dict.fromkeys(cell.row for cell in found):
            own = {cell.column: _shown(cell) for cell in found if cell.row == row}
            parts = [" | ".join(own.get(column, ("", "", ""))) for column in columns]
            lines.append(f"| {row} | " + " | ".join(parts) + " |")
        lines.append("")
        reasons = {(cell.column, cell.reason): None for cell in found if cell.reason and not cell.same}
        lines += [f"- {table['columns'][column]}: {reason}" for column, reason in reasons]
        lines += [""] * bool(reasons)
    if others:
        lines += ["## Not reproduced", ""]
        lines += [f"- {other['name']}: {other['why']}" for other in others]
        lines.append("")
    return "\n".join(lines)


def chapters() -> dict[str, dict[str, Any]]:
    """The chapters by name."""
    return {
        path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml"))
    }


if __name__ == "__main__":
    for name, chapter in chapters().items():
        (FOLDER / f"{name}.md").write_text(page(chapter), encoding="utf-8")
