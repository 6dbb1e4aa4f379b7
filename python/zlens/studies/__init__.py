"""Studies: comparisons of runs of a workload, measured or from a table.

Each study is a module with SUMMARY, SPEC (the keys of its file) and `solve`; facts/examples has a file to
start from. Files are checked like scenarios of models, and answers are printed like theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from zlens.errors import QueryError
from zlens.models import Model
from zlens.models.scenario import check_scenario, example
from zlens.rendering.answer import Answer
from zlens.schema.wording import phrase

#: In the order in which they are listed.
STUDIES = ("scaling", "regression", "trend")


def find(name: str) -> Model:
    """Return the study with this name; raise QueryError if there is none."""
    if name not in STUDIES:
        raise QueryError(f"no study is called {name}", expected=", ".join(STUDIES), cure=phrase("studies"))
    module = import_module(f"zlens.studies.{name}")
    return Model(module.SUMMARY, module.SPEC, example(name), module.solve)


def solve(
    name: str, values: Mapping[str, Any], *, file: str | None = None, as_published: bool = False
) -> Answer:
    """Return the answer of a study to a file parsed from TOML; raise ScenarioError if it is invalid.

    as_published: compute ITR from busy rounded to 0.1%, as in published tables.
    """
    study = find(name)
    ready = check_scenario(study.spec, values, file=file)
    answer = study.solve(ready, as_published=as_published)
    answer.assumptions = [*ready.assumptions, *answer.assumptions]
    return answer
