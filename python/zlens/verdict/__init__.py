"""Verdicts: the causes of findings in sentences, each clause with the view that proves it.

Causes are events (facts/verdict.toml) and findings of rules that explain others. `compose` makes one verdict
for each system; `expect` before the rules are checked saves computing tables twice.
"""

from __future__ import annotations

from zlens.verdict.compose import compose, expect
from zlens.verdict.sentences import Clause, SystemVerdict

__all__ = ["Clause", "SystemVerdict", "compose", "expect"]
