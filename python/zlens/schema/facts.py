"""Folder of the catalog's facts: only TOML, no code."""

from __future__ import annotations

from pathlib import Path

FACTS = Path(__file__).parents[1] / "facts"
