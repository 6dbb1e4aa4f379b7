"""The user of the current request, as named by a trusted proxy."""

from __future__ import annotations

from contextvars import ContextVar

#: None if no proxy names users.
USER: ContextVar[str | None] = ContextVar("zlens_user", default=None)
