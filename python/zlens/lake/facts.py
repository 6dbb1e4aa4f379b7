"""Reads the JSON files of a lake without trusting them: the type of every value is checked."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from zlens.errors import InputError

#: Times and counts beyond this are invalid.
_LIMIT = 2**63 - 1
_LONG = 100_000


class Facts:
    """One JSON object. Every method raises InputError if the value is invalid."""

    def __init__(self, value: Any, file: str) -> None:
        self.file = file
        if not isinstance(value, dict):
            self.wrong("an object")
        self._values: dict[str, Any] = value

    @classmethod
    def parse(cls, data: bytes, file: str) -> Facts:
        try:
            return cls(json.loads(data), file)
        except (ValueError, RecursionError):
            raise InputError(
                "this is not JSON", file=file, expected="what zlens wrote", cure=REPAIR
            ) from None

    def wrong(self, expected: str, name: str | None = None) -> NoReturn:
        problem = f"the value of {name!r} is wrong" if name else "the contents are wrong"
        raise InputError(problem, file=self.file, expected=expected, cure=REPAIR)

    def text(self, name: str, form: re.Pattern[str] | None = None) -> str:
        value = self._values.get(name)
        if not isinstance(value, str) or len(value) > _LONG or (form and not form.fullmatch(value)):
            self.wrong("a text" if form is None else f"a text of the form {form.pattern}", name)
        return str(value)

    def maybe_text(self, name: str, form: re.Pattern[str] | None = None) -> str | None:
        return None if self._values.get(name) is None else self.text(name, form)

    def integer(self, name: str, least: int = -_LIMIT) -> int:
        value = self._values.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LIMIT:
            self.wrong("a whole number", name)
        return int(self._values[name])

    def maybe_integer(self, name: str) -> int | None:
        return None if self._values.get(name) is None else self.integer(name)

    def maybe_number(self, name: str) -> float | None:
        value = self._values.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            self.wrong("a number", name)
        return None if value is None else float(value)

    def truth(self, name: str) -> bool:
        if not isinstance(self._values.get(name), bool):
            self.wrong("true or false", name)
        return bool(self._values[name])

    def listed(self, name: str) -> list[Any]:
        value = self._values.get(name)
        if not isinstance(value, list):
            self.wrong("a list", name)
        return list(self._values[name])

    def object(self, name: str) -> Facts:
        return Facts(self._values.get(name), self.file)

    def objects(self, name: str) -> list[Facts]:
        return [Facts(value, self.file) for value in self.listed(name)]

    def names(self) -> list[str]:
        return list(self._values)

    def has(self, name: str) -> bool:
        return self._values.get(name) is not None

    def plain(self, name: str) -> Any:
        return self._values.get(name)


REPAIR = "import the data into a new lake, or put the file back from a copy"
