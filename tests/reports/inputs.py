"""Inputs that cases name: a function in a module of makers writes a file and returns its path.

A call in a case has all arguments but the first, the folder to write to. A maker may also return a session,
which runs the queries itself.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import cluster_records
import coupling_records
import disk_records
import machine_records
import processor_records
import system_records
import user_records

#: Modification time of files of cases: 2023-11-14 22:14:00 UTC.
FILE_TIME_S = 1_700_000_040
MODULES = (
    cluster_records,
    coupling_records,
    disk_records,
    machine_records,
    processor_records,
    system_records,
    user_records,
)


def make(call: str, folder: Path, **more: Any) -> Any:
    """Call a maker, such as `locks(shared=0.2)`, and return its result."""
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
