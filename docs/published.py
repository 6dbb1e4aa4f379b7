"""Writes docs/published/*.md from the chapters beside them: tables of publications, made again by zlens.

A chapter is docs/published/NAME.toml. Of each table it has the command, which is run in docs/published,
where the answer has the rows, and what was printed. Every number stands beside the printed one.
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
from pathlib import Path
from typing import Any

from zlens.catalog import cpumf, generations

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Cell:
    """A number beside the printed one.

    printed  as printed
    within   the largest difference that has the reason
    """

    table: str
    row: str
    column: str
    value: float | str | None
    printed: str
    within: float = 0.0
    reason: str = ""

    @property
    def difference(self) -> float | None:
        """The number less the printed one."""
        return self.value - float(self.printed) if isinstance(self.value, int | float) else None

    @property
    def same(self) -> bool:
        """Whether the number is the printed one: within half a unit of its last digit."""
        if self.difference is None:
            return str(self.value) == self.printed
        return abs(self.difference) <= 0.5 * 10**-self.decimals * (1 + 1e-6)

    @property
    def explained(self) -> bool:
        """Whether the number is the printed one, or differs by no more than its reason says."""
        if self.same:
            return True
        return bool(self.reason) and self.difference is not None and abs(self.difference) <= self.within

    @property
    def decimals(self) -> int:
        return len(self.printed.partition(".")[2])


def filled(command: str) -> str:
    """A command with the formulas that it names: {rni z196} is that of the catalog."""

    def formula(found: re.Match[str]) -> str:
        numbers = generations.facts(found[1]).rni.numbers
        return cpumf.rni_formula(found[1], numbers)

    return re.sub(r"\{rni (\w+)\}", formula, command)


def answer(command: str) -> Any:
    """What a command of a chapter answers, from JSON."""
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
    return json.loads(done.stdout)


def cells(table: dict[str, Any]) -> list[Cell]:
    """The cells of a table of a chapter, row by row."""
    found = answer(table["command"])
    for part in table.get("rows", "").split("."):
        found = found[part] if part else found
    rows = {str(row[table["by"]]): row for row in found}
    scale = table.get("scale", {})
    reasons = {each["column"]: (each["within"], each["reason"]) for each in table.get("differs", ())}
    return [
        Cell(
            table["title"],
            row["name"],
            column,
            _scaled(rows[row["name"]][column], scale.get(column)),
            printed,
            *reasons.get(column, ()),
        )
        for row in table["row"]
        for column, printed in row["printed"].items()
    ]


def _scaled(value: Any, factor: float | None) -> Any:
    return value * factor if factor is not None and value is not None else value


def _shown(cell: Cell) -> tuple[str, str, str]:
    if cell.difference is None:
        return str(cell.value), cell.printed, "" if cell.same else "differs"
    value = f"{cell.value:.{cell.decimals + 1}f}"
    return value, cell.printed, "" if cell.same else f"{cell.difference:+.{cell.decimals + 1}f}"


def page(chapter: dict[str, Any]) -> str:
    """A chapter as Markdown."""
    lines = [f"# {chapter['title']}", "", chapter["text"].strip(), "", f"Source: {chapter['source']}.", ""]
    lines += [
        "zlens computes the first number of each pair; the second one is printed. Where no difference is",
        "shown, the two agree to the last digit printed. `make published` writes this page.",
        "",
    ]
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
    if "without" in chapter:
        lines += ["## What is not made", "", chapter["without"].strip(), ""]
    return "\n".join(lines)


def chapters() -> dict[str, dict[str, Any]]:
    """The chapters by name."""
    return {
        path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml"))
    }


if __name__ == "__main__":
    for name, chapter in chapters().items():
        (FOLDER / f"{name}.md").write_text(page(chapter), encoding="utf-8")
