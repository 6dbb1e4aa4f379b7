"""Writes build/man/zlens.1, the manual page, from the parser of the command line."""

from __future__ import annotations

import re
from pathlib import Path

from argparse_manpage.manpage import Manpage

from zlens.cli.parser import build
from zlens.version import VERSION

FOLDER = Path("build/man")


def page() -> str:
    """The manual page as roff."""
    parser = build(configured=True)
    data = {
        "project_name": "zlens",
        "description": "a performance laboratory for IBM Z",
        "version": VERSION,
        "manual_title": "zlens",
    }
    # The date of the build would make every build another one.
    return re.sub(r'^(\.TH \S+ "?1"?) "[^"]*"', r'\1 ""', str(Manpage(parser, data)), flags=re.MULTILINE)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "zlens.1").write_text(page(), encoding="utf-8")
    print(FOLDER / "zlens.1")
