"""Where the facts of the catalog are: TOML alone, without code."""

from __future__ import annotations

from pathlib import Path

FACTS = Path(__file__).parents[1] / "facts"
