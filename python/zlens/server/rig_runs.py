"""Runs of the rig in a folder written by `zlens rig run`: results and monitor data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from zlens.errors import InputError, QueryError
from zlens.rig.folder import RESULTS

#: Maximum bytes of a file of results; the file of all built-in scenarios has 400 KB.
_LONGEST = 256 * 1024**2
_CURE = "zlens rig run writes it"


class RigRuns(Struct, frozen=True):
    """A folder of results, read again for each request because the rig may add to it."""

    folder: str

    def results(self) -> dict[str, Any]:
        """Return the results; raises InputError if they are missing or invalid."""
        path = Path(self.folder) / RESULTS
        try:
            if path.stat().st_size > _LONGEST:
                raise InputError("is too long for results of the rig", file=str(path), cure=_CURE)
            results = json.loads(path.read_text(encoding="utf-8"))
            for scenario in results["scenarios"]:
                _part(scenario["name"])
            for _, run in runs_of(results):
                _part(run["name"])
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(path), cure=_CURE) from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError("has no results of the rig", file=str(path), cure=_CURE) from None
        if not isinstance(results, dict):
            raise InputError("has no results of the rig", file=str(path), cure=_CURE)
        return results

    def names(self) -> list[str]:
        """Return SCENARIO/RUN of all runs with monitor data in the folder."""
        return [
            f"{scenario}/{run['name']}"
            for scenario, run in runs_of(self.results())
            if self._files(scenario, run)[0]
        ]

    def files(self, run: str) -> tuple[list[str], str | None]:
        """Return the monitor data and the throughput file of a run; raises QueryError if data is missing."""
        for scenario, entry in runs_of(self.results()):
            if f"{scenario}/{entry['name']}" == run:
                files, throughput = self._files(scenario, entry)
                if not files:
                    raise QueryError(
                        f"the monitor data of {run} are not in the folder of the rig",
                        cure="open their file itself",
                    )
                return files, throughput
        raise QueryError(f"the rig has no run {run}", expected="SCENARIO/RUN")

    def _files(self, scenario: str, run: dict[str, Any]) -> tuple[list[str], str | None]:
        """Return the files of a run that are in the folder; no others are read."""

        def inside(file: object) -> str | None:
            name = os.path.basename(file) if isinstance(file, str) else ""
            path = Path(self.folder) / scenario / name
            return str(path) if name and path.is_file() else None

        listed = run.get("files")
        files = [inside(file) for file in listed] if isinstance(listed, list) else []
        existing = [file for file in files if file is not None]
        return existing if len(existing) == len(files) else [], inside(run.get("throughput"))


def runs_of(results: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all runs of the results, with their scenario."""
    for scenario in results["scenarios"]:
        for policy in scenario["policies"]:
            yield from ((scenario["name"], run) for run in policy["runs"])


def _part(name: object) -> None:
    """Raise ValueError unless `name` is a single component of a path."""
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or os.sep in name or "\0" in name:
        raise ValueError(name)
