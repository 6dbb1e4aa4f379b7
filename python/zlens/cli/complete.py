"""Print a script that lets your shell complete commands, options and files of zlens.

Examples:
  zlens complete bash > ~/.local/share/bash-completion/completions/zlens
  zlens complete zsh > ~/.zfunc/_zlens
"""

from __future__ import annotations

import argparse

OPTIONS = "SHELL {bash,zsh,tcsh}    bash, zsh or tcsh"


def run(arguments: argparse.Namespace) -> int:
    import shtab

    from zlens.cli import output
    from zlens.cli.parser import build

    output.write(shtab.complete(build(configured=True), arguments.shell) + "\n")
    return 0
