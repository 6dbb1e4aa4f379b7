"""Reference pages of the interfaces: the command line, Python, HTTP, SQL, and the glossary."""

from __future__ import annotations

import argparse
import inspect
import os
import typing
from collections.abc import Iterable, Iterator


def interface_pages() -> dict[str, str]:
    """Text of every page by its name in the reference."""
    return {
        "command-line.md": _command_line(),
        "python.md": _python(),
        "http.md": _http(),
        "sql.md": _sql(),
        "glossary.md": _glossary(),
    }


def _command_line() -> str:
    """The help of every command, as `--help` prints it in 100 columns."""
    from zlens.cli.parser import build

    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "102"
    try:
        lines = ["# Command line", "", *_block(build(configured=True).format_help())]
        for name, parser in _commands(build(configured=True)):
            lines += ["", f"## {name}", "", *_block(parser.format_help())]
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return "\n".join(lines) + "\n"


def _commands(
    parser: argparse.ArgumentParser, prefix: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield f"{prefix}{name}", command
                yield from _commands(command, f"{prefix}{name} ")


def _python() -> str:
    """The functions and classes of `import zlens` with their signatures and docstrings."""
    import zlens
    from zlens import lake, stores

    lines = ["# Python", "", "```text", inspect.cleandoc(zlens.__doc__ or ""), "```"]
    for module in (zlens, lake, stores):
        for name in sorted(module.__all__, key=str.lower):
            lines += _member(f"{module.__name__}.{name}", getattr(module, name), "##")
    return "\n".join(lines) + "\n"


def _member(name: str, value: typing.Any, heading: str) -> list[str]:
    lines = ["", f"{heading} {name}", ""]
    # Only options are created by programs; functions return or raise all other classes.
    if inspect.isroutine(value) or name == "zlens.Options":
        lines += ["```python", f"{name.rpartition('.')[2]}{_signature(value)}", "```", ""]
    # The docstring of a constant is that of its type.
    text = inspect.cleandoc(value.__doc__ or "") if callable(value) else ", ".join(map(str, value))
    lines += ["```text", text, "```"]
    if inspect.isclass(value) and not issubclass(value, Exception):
        for own, member in inspect.getmembers(
            value, lambda one: inspect.isfunction(one) or isinstance(one, property)
        ):
            if not own.startswith("_") and member.__doc__:
                lines += _member(
                    f"{name}.{own}", member.fget if isinstance(member, property) else member, "###"
                )
    return lines


def _signature(value: typing.Any) -> str:
    return str(inspect.signature(value)).replace("'", "")


def _http() -> str:
    """Every endpoint with its parameters and what the response has."""
    from reference_pages.markdown_format import format_table

    from zlens.server.endpoints import ENDPOINTS

    lines = [
        "# HTTP",
        "",
        "`zlens serve` answers these requests; `/api/v1/openapi.json` is the same as an OpenAPI document.",
        "Errors are JSON with `message`, `expected`, `cure` and `kind`.",
    ]
    for endpoint in sorted(ENDPOINTS, key=lambda one: (one.path, one.method)):
        lines += ["", f"## {endpoint.method} {endpoint.path}", "", _sentence(endpoint.summary)]
        if endpoint.record.keys:
            parameters = (
                (f"`{key.name}`", "yes" if key.is_required else "", f"{key.text}; {key.kind.describe()}")
                for key in endpoint.record.keys
            )
            lines += ["", *format_table(("parameter", "required", "meaning"), parameters)]
        if endpoint.gives:
            keys = ((f"`{name}`", text) for name, text in endpoint.gives.items())
            lines += ["", *format_table(("in the response", "meaning"), keys)]
        elif endpoint.lists or endpoint.lines:
            lines += ["", _sentence(endpoint.lists or endpoint.lines or "")]
    return "\n".join(lines) + "\n"


def _sql() -> str:
    """What a query may consist of."""
    from zlens.catalog.admitted import AllowList

    allowed = AllowList.load()
    lines = [
        "# SQL",
        "",
        "`zlens sql`, `Session.sql`, `/api/v1/sql` and the web UI run one SELECT of DuckDB's dialect over",
        "the tables of an input: [measures](measures.md), roles and raw tables",
        "([z/VM](records.md), [SMF](smf.md)).",
        "",
        "`SHOW TABLES` lists them, `DESCRIBE cpu` the columns of one. Nothing but these tables can be read.",
        "",
        "```sql",
        "SELECT cpu_id, avg(busy_pct) AS busy FROM cpu GROUP BY cpu_id ORDER BY busy DESC",
        "```",
    ]
    lines += ["", "## Types", "", _words(allowed.expressions.types), "", "## Functions"]
    for kind, words in allowed.function_groups.items():
        lines += ["", f"{kind}: {_words(words)}"]
    return "\n".join(lines) + "\n"


def _glossary() -> str:
    from reference_pages.markdown_format import format_table

    from zlens.catalog.glossary import terms

    rows = ((term.name, term.text, term.status) for term in sorted(terms(), key=lambda one: one.name.lower()))
    return "\n".join(["# Glossary", "", *format_table(("term", "meaning", "status"), rows)]) + "\n"


def _words(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _block(text: str) -> list[str]:
    return ["```text", *text.rstrip("\n").split("\n"), "```"]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
