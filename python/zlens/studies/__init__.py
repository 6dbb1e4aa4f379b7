"""Studies: runs of a workload beside each other, as they were measured or as a table tells of them.

Each study is a module with SUMMARY, SPEC (what its file may say), EXAMPLE (a file to begin with) and `solve`.
The file is checked as scenarios of models are, and the answer is printed as theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from zlens.errors import QueryError
from zlens.models.answer import Answer
from zlens.models.scenario import Scenario, checked
from zlens.schema.kinds import Spec
from zlens.schema.wording import say

#: In the order of the list that is shown.
STUDIES = ("scaling", "regression")


class Study(Protocol):
    """What a module of a study has."""

    SUMMARY: str
    SPEC: Spec
    EXAMPLE: str

    def solve(self, scenario: Scenario, *, as_published: bool = False) -> Answer: ...


def find(name: str) -> Study:
    """The study of a name; QueryError where there is none."""
    if name not in STUDIES:
        raise QueryError(f"no study is called {name}", expected=", ".join(STUDIES), cure=say("studies"))
    return cast(Study, import_module(f"zlens.studies.{name}"))


def solve(
    name: str, values: Mapping[str, Any], *, file: str | None = None, as_published: bool = False
) -> Answer:
    """The answer of a study to a file as it stands in TOML; ScenarioError where that is wrong.

    as_published: ITR from busy rounded to 0.1 %, as published tables have it.
    """
    study = find(name)
    ready = checked(study.SPEC, values, file=file)
    answer = study.solve(ready, as_published=as_published)
    answer.assumptions = [*ready.assumptions, *answer.assumptions]
    return answer
