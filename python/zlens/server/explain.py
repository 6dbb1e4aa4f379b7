"""Texts of `zlens explain`."""

from __future__ import annotations

from typing import Any

from zlens.explain import names as explain
from zlens.server.workspace import Workspace


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    name = request["name"]
    return {"name": name, "text": explain.explain(name)}
