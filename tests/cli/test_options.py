"""Tests of the arguments of commands, declared as text."""

from __future__ import annotations

import argparse

import pytest

from zlens.cli.options import add_arguments

TEXT = """
NAME?                     the name
INPUT* -> inputs          files
--all                     everything
-o --output FILE          write to FILE,
                          not to standard output
--only VALUE...           only this
--from INPUT+ -> given    inputs
--top N:int [3]           the first N
--form {a/b,b/a} [a/b]    the form
--runner KIND {x,y}       the runner
which data:
--to TIME -> end          up to TIME
options:
--query SQL!              the query
"""


def parsed(*words: str) -> dict[str, object]:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_arguments(parser, TEXT)
    return vars(parser.parse_args([*words, "--query", "q"]))


def test_arguments_of_a_text_have_their_defaults() -> None:
    assert parsed() == {
        **dict.fromkeys(("name", "output", "given", "runner", "end")),
        **{"inputs": [], "all": False, "only": [], "top": 3, "form": "a/b", "query": "q"},
    }


def test_arguments_of_a_text_get_their_values() -> None:
    words = "n i --all -o f --only 1 --only 2 --from a b --top 4 --form b/a --runner x --to t"
    assert parsed(*words.split()) == {
        **{"name": "n", "inputs": ["i"], "all": True, "output": "f", "only": ["1", "2"], "given": ["a", "b"]},
        **{"top": 4, "form": "b/a", "runner": "x", "end": "t", "query": "q"},
    }


@pytest.mark.parametrize("words", [("--top", "x"), ("--form", "c"), ("--runner", "z")])
def test_arguments_of_a_text_reject_other_values(words: tuple[str, ...]) -> None:
    with pytest.raises(argparse.ArgumentError):
        parsed(*words)


def test_arguments_of_a_text_may_be_required() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser, TEXT)
    with pytest.raises(SystemExit):
        parser.parse_args([])


def test_arguments_of_a_text_are_shown_in_the_help() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser, TEXT)
    shown = " ".join(parser.format_help().split())
    assert "--output FILE write to FILE, not to standard output --only VALUE only this" in shown
    assert shown.endswith("--query SQL the query which data: --to TIME up to TIME")
