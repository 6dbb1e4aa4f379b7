"""Writes docs/rig-results.md from results.json of `zlens rig run --all` and JSON answers of `--uncertain`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_HEAD = """\
# Results of the rig

All scenarios that zlens ships, run with the simulator of zlens {version} on {date} (`make rig`). A control is
a deliberate fault; it must fail its verdict. `zlens rig run --all --numbers` prints every number.

**{passed} of {all} scenarios are as expected.**

| scenario | policy | largest difference (allowed) | result |
|---|---|---|---|
"""


_WORLDS = """
## In many worlds

In each of N worlds, `zlens rig run SCENARIO --uncertain N` draws every assumed constant from its range, and
every `[[uncertain]]` of a scenario. A conclusion holds in a world if it is as expected there, and a control
breaks it. So these numbers are bands, not a fit.

| scenario | conclusion | holds | undetected | worlds | depends on |
|---|---|---|---|---|---|
"""
_BANDS = """
| scenario | case | observed | published | lowest | median | highest |
|---|---|---|---|---|---|---|
"""


def difference(one: dict[str, Any]) -> str:
    """Return the largest difference of an observation; none if only an order or ends of bands are judged."""
    if one["allowed"] == "order" or (one["allowed"] == "band" and one["worst"] is None):
        return f"{one['name']} ({one['allowed']})"
    unit = " points" if one["of"] == "points" else "%"
    worst = "unknown" if one["worst"] is None else f"{one['worst']:.2f}{unit}"
    return f"{one['name']} {worst} ({one['allowed']})"


def rows(scenario: dict[str, Any]) -> list[str]:
    """Return a row for each policy and control."""
    lines = []
    for policy in scenario["policies"]:
        name = f"control: {policy['name']}" if policy["control"] else policy["name"]
        if policy["control"]:
            result = "failed as expected" if policy["passed"] else "**passed**"
        else:
            result = "not judged" if not policy["judged"] else "passed" if policy["passed"] else "**failed**"
        differences = "; ".join(map(difference, policy["observations"]))
        lines.append(f"| {scenario['name']} | {name} | {differences} | {result} |")
    return lines


def worlds(answers: list[dict[str, Any]]) -> str:
    """Return the section on scenarios in many worlds."""

    def table_rows(name: str) -> list[dict[str, Any]]:
        return [row for answer in answers for row in answer["tables"][name]["rows"]]

    text = _WORLDS
    for one in table_rows("conclusions"):
        name = ": ".join(part for part in (one["policy"], one["observes"]) if part)
        cause = one["depends_on"]
        cause = "" if cause is None else f"{cause} ({one['correlation']:.2f})"
        cells = (one["scenario"], name, one["holds"], one["undetected"], one["worlds"], cause)
        text += f"| {' | '.join(map(str, cells))} |\n"
    text += _BANDS
    for one in table_rows("bands"):
        observed = " ".join(part for part in (one["observes"], one["subject"]) if part)
        numbers = " | ".join(
            "" if one[end] is None else f"{one[end]:.3f}"
            for end in ("expected", "lowest", "median", "highest")
        )
        text += f"| {one['scenario']} | {one['case']} | {observed} | {numbers} |\n"
    return text


def main() -> None:
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    scenarios = found["scenarios"]
    passed = sum(one["passed"] for one in scenarios)
    sys.stdout.write(
        _HEAD.format(version=found["version"], date=found["date"], passed=passed, all=len(scenarios))
    )
    sys.stdout.write("\n".join(line for one in scenarios for line in rows(one)) + "\n")
    answers = [json.loads(Path(file).read_text(encoding="utf-8")) for file in sys.argv[2:]]
    sys.stdout.write(worlds(answers) + "\n")
    sys.stdout.write("## Sources\n\n")
    for one in scenarios:
        place = f", {one['place']}" if one["place"] else ""
        sys.stdout.write(
            f"- **{one['name']}**: {one['title']}. {one['publication']}{place} ({one['status']}).\n"
        )
        if one["not_reproduced"]:
            sys.stdout.write(f"  Not reproduced: {one['not_reproduced']}\n")


main()
