"""The errors zlens raises: one sentence a person can act on, never a traceback.

Every error says where it is (file, byte offset), what was expected and what to do.
"""

from __future__ import annotations

from collections.abc import Callable


class Wording(str):
    """A text with different wording per interface (facts/wording.toml); as a str, the wording for Python."""

    __slots__ = ("command", "page")

    def __new__(cls, python: str, command: str, page: str) -> Wording:
        text = super().__new__(cls, python)
        text.command, text.page = command, page
        return text

    command: str
    page: str

    @staticmethod
    def for_command_line(text: str) -> str:
        """A text as the program says it."""
        return text.command if isinstance(text, Wording) else text

    @staticmethod
    def for_web_ui(text: str) -> str:
        """A text as the page says it."""
        return text.page if isinstance(text, Wording) else text


class ZlensError(Exception):
    """Base of all errors of zlens.

    message   what is wrong, one sentence without full stop
    file      path of the input concerned, or None
    offset    byte offset in that file, or None
    expected  what should have been there, or None
    cure      what the user can do about it, or None; a Wording where faces differ
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        offset: int | None = None,
        expected: str | None = None,
        cure: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.offset = offset
        self.expected = expected
        self.cure = cure

    def __str__(self) -> str:
        return self.text_for(str)

    def text_for(self, face: Callable[[str], str]) -> str:
        """The whole sentence as a face says it, such as Wording.as_command."""
        where = self.file or ""
        if self.offset is not None:
            where += f" at byte {self.offset:,}"
        parts = [f"{where}: {face(self.message)}" if where else face(self.message)]
        if self.expected:
            parts.append(f"expected {face(self.expected)}")
        if self.cure:
            parts.append(face(self.cure))
        return "; ".join(parts)


class InputError(ZlensError):
    """An input file cannot be read at all, or is not what it should be."""


class LakeError(ZlensError):
    """A lake cannot be written to, or not with what it is given."""


class ReceiverError(ZlensError):
    """A receiver cannot listen, or what a forwarder sends is not what it should be."""


class ScenarioError(ZlensError):
    """A scenario file of the models is wrong."""


class QueryError(ZlensError):
    """A question (SQL, report name, table name, option) is wrong."""


class CatalogError(ZlensError):
    """A catalog file or an imported layout pack is wrong."""


class CanceledError(ZlensError):
    """A question was ended before its answer was there, because it is not wanted any more."""
