"""Who asks: the user that a trusted proxy names."""

from __future__ import annotations

from contextvars import ContextVar

#: The user of the request that is being answered; None where no proxy names users.
USER: ContextVar[str | None] = ContextVar("zlens_user", default=None)
