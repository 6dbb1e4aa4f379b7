"""Verdicts: the causes of findings in sentences, each clause with the view that proves it.

Causes are events (facts/verdict.toml) and findings of rules that explain others. `compose` makes one verdict
for each system; rules that are checked with `queries` share tables with it.
"""

from __future__ import annotations

from zlens.verdict.compose import compose, queries
from zlens.verdict.sentences import Clause, SystemVerdict

__all__ = ["Clause", "SystemVerdict", "compose", "queries"]
