"""Files of a lake that are lists of rows, one for every minute of weeks: msgspec decodes and checks them.

What it rejects is checked again by kind, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from zlens.lake import validators
from zlens.schema.validators import (
    LARGEST,
    SMALLEST,
    FixedTuple,
    Integer,
    Key,
    Nullable,
    Number,
    Spec,
    Text,
    Validator,
)


class RowLists(Struct, frozen=True, dict=True):
    """The lists of a file by name, each with the kind of its rows; `into`: what they become."""

    rows: Mapping[str, FixedTuple]
    into: Callable[..., Any] = dict

    def load(self, data: bytes, file: str) -> Any:
        """The contents of a file; InputError if zlens cannot have written it."""
        # A NUL in a text is accepted by msgspec and not by the kinds.
        if b"\\u0000" not in data:
            try:
                lists: Any = msgspec.json.decode(data, type=self._form)
            except (ValueError, RecursionError):
                lists = None
            if lists is not None and all(_fit(getattr(lists, name), row) for name, row in self.rows.items()):
                made = {
                    name: [row.into(*one) for one in getattr(lists, name)] for name, row in self.rows.items()
                }
                return self.into(**made)
        return validators.load_checked(data, file, self._spec)

    @cached_property
    def _spec(self) -> Spec:
        return Spec(tuple(Key(name, validators.list_of(row)) for name, row in self.rows.items()), self.into)

    @cached_property
    def _form(self) -> type:
        """The type of the file."""
        lists = [(name, list[tuple[tuple(map(_type, row.of))]]) for name, row in self.rows.items()]  # type: ignore[misc]
        return msgspec.defstruct("Lists", lists, forbid_unknown_fields=True)


def _type(kind: Validator) -> Any:
    """The type of values of a kind."""
    if isinstance(kind, Nullable):
        return _type(kind.of) | None
    if isinstance(kind, Integer):
        return Annotated[int, msgspec.Meta(ge=kind.low, le=kind.high)]
    if isinstance(kind, Number):
        return Annotated[float, msgspec.Meta(ge=max(kind.low, -LARGEST), le=min(kind.high, LARGEST))]
    if isinstance(kind, Text) and kind.form is None:
        return Annotated[str, msgspec.Meta(min_length=kind.least, max_length=kind.longest)]
    raise TypeError(f"rows have no place for {kind}")


def _fit(rows: list[tuple[Any, ...]], row: FixedTuple) -> bool:
    """Whether the numbers of rows are 0 or large enough."""
    numbers = [
        place for place, kind in enumerate(row.of) if Number in (type(kind), type(getattr(kind, "of", None)))
    ]
    return not any(one[place] and abs(one[place]) < SMALLEST for place in numbers for one in rows)
