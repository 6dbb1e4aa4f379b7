"""Systems, stretches of time or inputs held against each other."""

from __future__ import annotations

from typing import Any

from zlens.compare import Choice, Side, as_html, as_text, compare, measure
from zlens.compare.as_data import objects
from zlens.engine import cancelling
from zlens.errors import QueryError
from zlens.server import values
from zlens.server.place import Place

_WINDOW = ("system", "from", "to", "input")


def answer(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    windows = [asked["base"], *asked["others"]]
    names = [
        window["name"] or ("base" if not at else "other" if at == 1 else f"other{at}")
        for at, window in enumerate(windows)
    ]
    if len(set(names)) < len(names):
        raise QueryError("two sides have one name", cure="tell them apart")
    sides = []
    for at, (name, window) in enumerate(zip(names, windows, strict=True)):
        cancelling.tell(at, len(windows) + 1, f"measuring {name}")
        key = tuple(window[part] for part in _WINDOW)

        def work(key: tuple[Any, ...] = key, name: str = name) -> Any:
            with place.narrowed(*key) as session:
                return measure(session, name)

        sides.append(Side(name, [place.once(("run", key), work)]))
    choice = Choice(
        against=asked["against"], form=asked["form"], burg=asked["burg"], across=asked["across_generations"]
    )
    cancelling.tell(len(windows), len(windows) + 1, "testing differences")
    comparison = compare(sides, choice)
    if asked["format"] == "html":
        return {"html": as_html.render(comparison)}
    found: dict[str, list[Any]] = {"difference": [], "part": [], "warning": [], "note": []}
    for one in objects(comparison):
        found[one["kind"]].append(values.plain(one))
    return {
        "sides": [
            {"name": side.name, "systems": side.systems, **values.plain(_span(side))} for side in sides
        ],
        "differences": found["difference"],
        "waterfall": found["part"],
        "warnings": found["warning"],
        "notes": found["note"],
        "criterion": [
            line for system in comparison.systems for line in as_text.criterion_lines(system, names)
        ],
    }


def _span(side: Side) -> dict[str, Any]:
    runs = [run for one in side.runs for run in one.systems.values()]
    return {
        "from": min((run.first for run in runs if run.first), default=None),
        "to": max((run.last for run in runs if run.last), default=None),
        "intervals": sum(run.intervals for run in runs),
    }
