"""Files of a lake that contain long lists of rows: msgspec decodes and checks them.

Validators check rejected files again, for the error message.
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
    """Lists of a file by name, each with the validator of its rows; `into` is called with the lists."""

    rows: Mapping[str, FixedTuple]
    into: Callable[..., Any] = dict

    def load(self, data: bytes, file: str) -> Any:
        """Parse a file. Raises InputError if zlens cannot have written it."""
        # msgspec accepts a NUL in a text, but the validators do not.
        if b"\\u0000" not in data:
            try:
                lists: Any = self._decoder.decode(data)
            except (ValueError, RecursionError):
                lists = None
            if lists is not None and all(_fit(getattr(lists, name), row) for name, row in self.rows.items()):
                lists_by_name = {
                    name: [row.into(*values) for values in getattr(lists, name)]
                    for name, row in self.rows.items()
                }
                return self.into(**lists_by_name)
        return validators.load_checked(data, file, self._spec)

    @cached_property
    def _spec(self) -> Spec:
        return Spec(tuple(Key(name, validators.list_of(row)) for name, row in self.rows.items()), self.into)

    @cached_property
    def _decoder(self) -> Any:
        """Decoder of the file."""
        lists = [(name, list[tuple[tuple(map(_type, row.of))]]) for name, row in self.rows.items()]  # type: ignore[misc]
        return msgspec.json.Decoder(msgspec.defstruct("Lists", lists, forbid_unknown_fields=True))


def _type(kind: Validator) -> Any:
    """Return the type of a validator's values."""
    if isinstance(kind, Nullable):
        return _type(kind.of) | None
    if isinstance(kind, Integer):
        return Annotated[int, msgspec.Meta(ge=kind.low, le=kind.high)]
    if isinstance(kind, Number):
        return Annotated[float, msgspec.Meta(ge=max(kind.low, -LARGEST), le=min(kind.high, LARGEST))]
    if isinstance(kind, Text) and kind.form is None:
        return Annotated[str, msgspec.Meta(min_length=kind.least, max_length=kind.longest)]
    raise TypeError(f"rows cannot store {kind}")


def _fit(rows: list[tuple[Any, ...]], row: FixedTuple) -> bool:
    """Return whether all numbers of rows are 0 or at least `SMALLEST` in size."""
    numbers = [
        index for index, kind in enumerate(row.of) if Number in (type(kind), type(getattr(kind, "of", None)))
    ]
    return not any(values[index] and abs(values[index]) < SMALLEST for index in numbers for values in rows)
