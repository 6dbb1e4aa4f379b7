"""Tests of shell completion and of the manual page."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from zlens.cli import main
from zlens.cli.parser import COMMANDS, build


def completed(script: str, *words: str) -> list[str]:
    """Return bash's completions of the last word."""
    command = (
        f"{script}\nCOMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}\n"
        "_shtab_zlens; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout.split()


def test_bash_completes_commands_and_options(capsys):
    assert main(["complete", "bash"]) == 0
    text = capsys.readouterr().out
    assert completed(text, "zlens", "rep") == ["report"]
    assert completed(text, "zlens", "report", "--ev") == ["--every"]
    assert "parquet" in completed(text, "zlens", "sql", "--format", "p")


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells(shell, capsys):
    assert main(["complete", shell]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)


def test_unknown_shell_is_rejected(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["complete", "ksh"])
    assert ended.value.code == 2
    assert "'ksh'" in capsys.readouterr().err


def test_manual_page_has_every_command_and_option():
    spec = importlib.util.spec_from_file_location("man", Path(__file__).parents[2] / "docs" / "man.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.page()
    assert page.startswith('.TH ZLENS "1" "" "zlens ')
    plain = re.sub(r"\\(f[BIR]|[,/])", "", page.replace("\\-", "-"))
    commands = build(configured=True)._subparsers._group_actions[0].choices
    assert set(commands) == set(COMMANDS)
    for name, command in commands.items():
        assert f"COMMAND 'zlens {name}'".upper() in plain.upper()
        for action in command._actions:
            for option in set(action.option_strings) - {"--help"}:
                assert option in plain, (name, option)
    assert page == module.page()
