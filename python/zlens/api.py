"""zlens as a library: sessions over files, with reports and findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zlens.inputs.options import Options
from zlens.inputs.source import Progress
from zlens.session import session

if TYPE_CHECKING:
    from zlens.findings.evaluate import Findings


class Session(session.Session):
    """Inputs opened together. A context manager; `close` gives back memory and the spill folder."""

    def report(
        self, name: str, format: str = "text", *, width: int | None = None, only: Sequence[str] = ()
    ) -> str:
        """A classic report by its short name or FCX number, as text, csv, json or html.

        `only` keeps the subjects of these names or patterns: a device, some guests.
        """
        from zlens import reports

        return reports.render(name, self, format, width=width, only=only)

    def findings(
        self,
        *,
        classes: Iterable[str] | None = None,
        only: Iterable[str] | None = None,
        rules: Iterable[str | os.PathLike[str]] = (),
        baseline: Session | None = None,
    ) -> Findings:
        """What stands out, worst first: the rules of the catalog, the user's and those of more folders.

        Rules of thumb of our own (class `ours`) are held only when `classes` names that class, `only` names
        the rule, or where a baseline was better.
        """
        from zlens.findings.evaluate import find

        return find(self, classes=classes, only=only, folders=rules, baseline=baseline)


def open(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Session:
    """Open files, folders or patterns. Raises InputError when nothing in them can be read.

    >>> import zlens
    >>> with zlens.open("monwrite.data") as session:
    ...     session.sql("SELECT interval_end, busy_pct FROM load").rows
    """
    names = [paths] if isinstance(paths, str | Path | os.PathLike) else list(paths)
    return Session(names, options, progress)
