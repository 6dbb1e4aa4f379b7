"""Problems of the inputs, counted after everything is decoded."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from zlens.inputs.problems import DAMAGE, Problem
from zlens.server.workspace import Workspace


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return all problems by kind; the first request decodes the inputs completely."""
    session = workspace.session
    kinds: dict[str, list[Problem]] = defaultdict(list)
    # Problems found by measures need the measures of all systems.
    for problem in session.reading_problems() if workspace.has_many_systems else session.all_problems():
        kinds[problem.kind].append(problem)
    rows = [
        {
            "kind": kind,
            "damage": kind in DAMAGE,
            "count": len(problems),
            "bytes": sum(problem.bytes or 0 for problem in problems),
            "first": problems[0].detail,
        }
        for kind, problems in sorted(kinds.items())
    ]
    return {
        "count": sum(row["count"] for row in rows),
        "damaged": any(row["damage"] for row in rows),
        "rows": rows,
    }
