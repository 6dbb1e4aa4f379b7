"""Exceptions of zlens: one sentence each, with file, byte offset, expectation and fix where known."""

from __future__ import annotations

import errno
from collections.abc import Callable

#: Maximum length of a text in an answer or an error.
LONGEST = 10_000


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
        """Return the wording for the command line."""
        return text.command if isinstance(text, Wording) else text

    @staticmethod
    def for_web_ui(text: str) -> str:
        """Return the wording for the web UI."""
        return text.page if isinstance(text, Wording) else text


def is_disk_full(error: OSError) -> bool:
    """Return whether a write failed for lack of space, or at a quota or limit of file sizes."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def describe_write_error(error: OSError) -> str:
    """Return what the system says of a failed write; a full disk is named as such."""
    reason = error.strerror or str(error)
    return f"no space left ({reason})" if is_disk_full(error) else reason


def truncate(text: str) -> str:
    """Return a text of at most LONGEST characters, which ends in dots if it was longer."""
    if isinstance(text, Wording):
        return Wording(truncate(str(text)), truncate(text.command), truncate(text.page))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


class ZlensError(Exception):
    """Base of all errors of zlens.

    message   description, one sentence without full stop
    file      path of the affected input, or None
    offset    offset in that file in bytes, or None
    expected  what was expected instead, or None
    cure      fix for the user, or None; a Wording if interfaces differ
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
        # A query can put any text into its error.
        self.message = truncate(message)
        super().__init__(self.message)
        self.file = file
        self.offset = offset
        self.expected = None if expected is None else truncate(expected)
        self.cure = None if cure is None else truncate(cure)

    def __str__(self) -> str:
        return self.text_for(str)

    def text_for(self, wording: Callable[[str], str]) -> str:
        """Return the complete sentence in a wording, such as Wording.for_command_line."""
        location = self.file or ""
        if self.offset is not None:
            location += f" at byte {self.offset:,}"
        parts = [f"{location}: {wording(self.message)}" if location else wording(self.message)]
        if self.expected:
            parts.append(f"expected {wording(self.expected)}")
        if self.cure:
            parts.append(wording(self.cure))
        return "; ".join(parts)


class InputError(ZlensError):
    """An input cannot be read or is invalid."""


class LakeError(ZlensError):
    """A lake cannot be read or written, or does not accept an input."""


class ReceiverError(ZlensError):
    """A receiver cannot listen, or a forwarder violates the protocol."""


class ScenarioError(ZlensError):
    """A scenario of a model is invalid."""

    @classmethod
    def of(cls, error: ZlensError) -> ScenarioError:
        """Return the error of a scenario that names the input of another error."""
        return cls(
            error.message, file=error.file, offset=error.offset, expected=error.expected, cure=error.cure
        )


class QueryError(ZlensError):
    """A query, name or option is invalid.

    position   byte offset of the error in the UTF-8 text of the query, or None
    """

    position: int | None = None


class CatalogError(ZlensError):
    """A catalog file or an imported layout pack is invalid."""


class CanceledError(ZlensError):
    """A query or request was canceled."""
