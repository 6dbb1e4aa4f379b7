"""Tests of fact files as structs: their values, the errors of every kind of key, and their JSON Schema."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from msgspec import Meta, field
from msgspec.structs import fields

from zlens import catalog
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.structs import FactTable, missing_error, one_of
from zlens.schema.validators import DocumentErrors


class Part(FactTable, frozen=True):
    at: Annotated[int, Meta(ge=0, le=0xFFFF, description="its offset")]
    note: str | None = None


class Facts(FactTable, frozen=True):
    """Facts of a test."""

    name: Annotated[str, Meta(pattern="^[a-z]+$", title="a word", description="what it is called")]
    parts: Annotated[tuple[Part, ...], Meta(min_length=1, description="its parts")]
    kind: Literal["one", "two"] = "one"
    scale: Annotated[float, Meta(gt=0)] = 1.0
    lists: bool = False
    pair: tuple[str, int] | None = None
    place: Annotated[int, Meta(ge=0)] | str = 0
    form: re.Pattern[str] | None = None
    by_name: dict[str, Part] = field(default_factory=dict)
    level: int = field(default=1, name="from")
    sign: Annotated[str, one_of(("", ">", "<="), "its sign")] = ""
    named: dict[Annotated[str, Meta(pattern="^[a-z]+$", title="a word")], int] = field(default_factory=dict)


GOOD = 'name = "cpu"\n[[parts]]\nat = 1\n[[parts]]\nat = 2\nnote = "x"\n'


def test_values_are_structs() -> None:
    assert structs.parse(GOOD, "f.toml", Facts) == Facts("cpu", (Part(1), Part(2, "x")))
    more = 'pair = ["a", 1]\nplace = "b"\nscale = 2\nfrom = 3\nby_name.a.at = 4\n'
    assert structs.parse(more + GOOD, "f.toml", Facts) == Facts(
        "cpu", (Part(1), Part(2, "x")), scale=2.0, pair=("a", 1), place="b", level=3, by_name={"a": Part(4)}
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            GOOD + "nite = 1",
            "f.toml:7: parts[2].nite is not known here; expected one of at, note; did you mean note?",
        ),
        (
            GOOD.replace("at = 2", "at = -2"),
            "f.toml:5: parts[2].at is -2; expected an integer from 0 to 65,535; change parts[2].at",
        ),
        (
            GOOD.replace("at = 2\n", ""),
            "f.toml:4: parts[2].at is missing: its offset; expected an integer from 0 to 65,535; add at",
        ),
        (GOOD.replace('"cpu"', '"CPU"'), 'f.toml:1: name is "CPU"; expected a word; change name'),
        (
            GOOD.replace('"x"', "[1]"),
            "f.toml:6: parts[2].note is a list of 1; expected a text; change parts[2].note",
        ),
        (
            'name = "a"\nparts = []',
            "f.toml:2: parts is a list of 0; expected a list, each a table with at, note; change parts",
        ),
        (
            'name = "a"\nparts = [\n1]',
            "f.toml:3: parts[1] is 1; expected a table with at, note; change parts[1]",
        ),
        ('kind = "three"\n' + GOOD, 'f.toml:1: kind is "three"; expected one of "one", "two"; change kind'),
        ("scale = 0\n" + GOOD, "f.toml:1: scale is 0; expected a number above 0; change scale"),
        ("lists = 1\n" + GOOD, "f.toml:1: lists is 1; expected true or false; change lists"),
        (
            'pair = ["a"]\n' + GOOD,
            "f.toml:1: pair is a list of 1; expected a list of a text, an integer; change pair",
        ),
        ('pair = ["a", "b"]\n' + GOOD, 'f.toml:1: pair[2] is "b"; expected an integer; change pair[2]'),
        (
            "place = -1\n" + GOOD,
            "f.toml:1: place is -1; expected an integer from 0 up, or a text; change place",
        ),
        (
            "[by_name]\na.at = 1\nb.at = true",
            "f.toml: name is missing: what it is called; expected a word; add name",
        ),
        (
            "by_name.b.at = true\n" + GOOD,
            "f.toml:1: by_name.b.at is true; expected an integer from 0 to 65,535; change by_name.b.at",
        ),
        ('form = "a("\n' + GOOD, 'f.toml:1: form is "a("; expected a regular expression; change form'),
        ('from = "a"\n' + GOOD, 'f.toml:1: from is "a"; expected an integer; change from'),
        ('sign = "="\n' + GOOD, 'f.toml:1: sign is "="; expected one of "", ">", "<="; change sign'),
        ("named.a = 1\nnamed.B = 1\n" + GOOD, 'f.toml:2: named.B is "B"; expected a word; change named.B'),
        (
            "level = 1\n" + GOOD,
            "f.toml:1: level is not known here; "
            "expected one of by_name, form, from, kind, lists, name, named, pair, parts, place, scale, sign; "
            "leave it out",
        ),
        (
            "name = ",
            "f.toml:1: is not valid TOML: string values must be quoted, expected literal string (at line 1); "
            "correct the line",
        ),
    ],
)
def test_errors_name_line_and_key(text: str, said: str) -> None:
    with pytest.raises(CatalogError) as caught:
        structs.parse(text, "f.toml", Facts)
    assert str(caught.value) == said


def test_schema_has_types_ranges_and_help() -> None:
    schema = structs.json_schema(Facts)["$defs"]
    assert schema["Part"]["properties"]["at"] == {
        "type": "integer", "minimum": 0, "maximum": 65535, "description": "its offset"
    }  # fmt: skip
    assert schema["Facts"]["required"] == ["name", "parts"]
    assert schema["Facts"]["additionalProperties"] is False
    assert "from" in schema["Facts"]["properties"]
    assert {"type": "string", "format": "regex"} in schema["Facts"]["properties"]["form"]["anyOf"]
    assert schema["Facts"]["properties"]["sign"]["enum"] == ["", ">", "<="]


def test_missing_error_names_key_of_some_tables() -> None:
    error = missing_error(Part, "note", "parts[2]", DocumentErrors("f.toml", text=GOOD))
    assert str(error) == "f.toml:6: parts[2].note is missing; expected a text; add note"


CONVERTING = """
import sys
import threading
import types
from typing import Annotated
from msgspec import Meta
from zlens.schema import structs
from zlens.schema.validators import DocumentErrors

# Threads change often, so that both are at it.
sys.setswitchinterval(1e-6)
for round in range(30):
    spaces = {"FactTable": structs.FactTable, "Annotated": Annotated, "Meta": Meta, "__name__": "made"}
    text = "from __future__ import annotations\\n"
    for number in range(12):
        inner = f"tuple[T{number - 1}, ...]" if number else "int"
        fields = "".join(f"    f{n}: Annotated[str, Meta(min_length=0)] = ''\\n" for n in range(20))
        text += f"class T{number}(FactTable, frozen=True):\\n    inner: {inner}\\n{fields}"
    module = types.ModuleType("made")
    sys.modules["made"] = module
    module.__dict__.update(spaces)
    exec(text, module.__dict__)
    value = 1
    for _ in range(12):
        value = {"inner": value if isinstance(value, int) else [value]}
    start = threading.Barrier(4)

    def convert():
        start.wait()
        structs.convert(value, module.T11, DocumentErrors("file"))

    threads = [threading.Thread(target=convert) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_convert_new_structs_at_once() -> None:
    """Runs in its own process, because an error crashes the interpreter."""
    run = subprocess.run([sys.executable, "-c", CONVERTING], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def inner_types(kind: Any) -> Iterator[Any]:
    yield kind
    for inner in get_args(kind):
        yield from inner_types(inner)


def test_no_key_is_a_pattern_or_a_list() -> None:
    """msgspec 0.22 crashes when it converts such a union outside of a struct, as errors do."""
    for module in pkgutil.iter_modules(catalog.__path__, "zlens.catalog."):
        importlib.import_module(module.name)
    tables = [FactTable]
    for table in tables:
        tables += table.__subclasses__()
        for key in fields(table) if table.__module__.startswith("zlens.") else ():
            for kind in inner_types(key.type):
                if get_origin(kind) in (Union, UnionType):
                    parts = [part for each in get_args(kind) for part in inner_types(each)]
                    has_pattern = any(isinstance(part, Meta) and part.pattern for part in parts)
                    assert not (has_pattern and {tuple, list, frozenset} & {*map(get_origin, parts)}), (
                        table,
                        key.name,
                    )
