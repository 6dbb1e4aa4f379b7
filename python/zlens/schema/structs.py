"""Structs as schemas: a field says the type, the default, the validator and the text of its key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from zlens.schema.validators import REQUIRED, Key, Spec


def spec_of(struct: type[Struct], into: Callable[..., Any] | None = None) -> Spec:
    """Return the keys of a struct: those of its fields that are Annotated[type, validator, text].

    into   what the values become; the struct itself if it is None
    """
    hints = get_type_hints(struct, include_extras=True)
    keys = []
    for field in fields(struct):
        if metadata := getattr(hints[field.name], "__metadata__", None):
            validator, text = metadata
            default = field.default if field.default is not NODEFAULT else REQUIRED
            if field.default_factory is not NODEFAULT:
                default = field.default_factory()
            keys.append(Key(field.name, validator, text, default=default))
    return Spec(tuple(keys), into or struct)
