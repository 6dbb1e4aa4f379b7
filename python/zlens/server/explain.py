"""Where a number comes from, as `zlens explain` tells it."""

from __future__ import annotations

from typing import Any

from zlens.explain import names as explain
from zlens.server.place import Place


def answer(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    name = asked["name"]
    return {"name": name, "text": explain.explain(name)}
