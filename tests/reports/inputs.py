"""Inputs that cases name: a function here or in a module of makers writes a file and returns its path.

A call in a case gives all values but the first, the folder to write into. What is no path but answers queries
is asked itself.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import cluster_made
import disks_made
import machine_made
import processors_made
import systems_made
import users_made

#: When files of cases were last written: 2023-11-14 22:14:00 UTC.
FILE_TIME_S = 1_700_000_040
MODULES = (cluster_made, disks_made, machine_made, processors_made, systems_made, users_made)


def make(call: str, folder: Path, **more: Any) -> Any:
    """What a call of a maker returns, such as `locks(shared=0.2)`."""
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call), call
    assert isinstance(node.func, ast.Name), call
    values = {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
    (maker,) = (
        getattr(module, node.func.id)
        for module in MODULES
        if getattr(getattr(module, node.func.id, None), "__module__", None) == module.__name__
    )
    return maker(folder, *map(ast.literal_eval, node.args), **values, **more)
