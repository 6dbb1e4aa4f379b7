"""Writes docs/rig-results.md from the results.json of `zlens rig run --all`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_HEAD = """\
# Results of the rig

All scenarios that zlens ships, run with the simulator of zlens {version} on {date} (`make rig`). A control is
a deliberate fault; it must fail its verdict. [rig.md](rig.md) describes the columns.

**{passed} of {all} scenarios are as expected.**

| scenario | policy | observed | numbers | largest difference | allowed | result |
|---|---|---|---|---|---|---|
"""


def rows(scenario: dict[str, Any]) -> list[str]:
    lines = []
    for policy in scenario["policies"]:
        name = f"control: {policy['name']}" if policy["control"] else policy["name"]
        for one in policy["observations"]:
            unit = " points" if one["of"] == "points" else " %"
            worst = "" if one["worst"] is None else f"{one['worst']:.2f}{unit}"
            if policy["control"]:
                result = "fails, as it must" if not one["passed"] else "passes"
            else:
                result = "not judged" if not policy["judged"] else "pass" if one["passed"] else "**FAIL**"
            cells = (
                scenario["name"],
                name,
                one["name"],
                str(len(one["numbers"])),
                worst,
                one["allowed"],
                result,
            )
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    scenarios = found["scenarios"]
    passed = sum(one["passed"] for one in scenarios)
    sys.stdout.write(
        _HEAD.format(version=found["version"], date=found["date"], passed=passed, all=len(scenarios))
    )
    sys.stdout.write("\n".join(line for one in scenarios for line in rows(one)) + "\n\n")
    sys.stdout.write("## Sources\n\n")
    for one in scenarios:
        place = f", {one['place']}" if one["place"] else ""
        sys.stdout.write(
            f"- **{one['name']}**: {one['title']}. {one['publication']}{place} ({one['status']}).\n"
        )
        if one["not_reproduced"]:
            sys.stdout.write(f"  Not reproduced: {one['not_reproduced']}\n")


main()
