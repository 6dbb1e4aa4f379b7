"""Request log: time, user, endpoint and status; never values of parameters or responses."""

from __future__ import annotations

import datetime as dt
import json
import logging
import logging.handlers
import os
import sys

from zlens.errors import InputError
from zlens.schema.wording import phrase

#: Stands for standard error as the log.
STDERR = "-"


class RequestLog:
    """A log with a line of JSON per request; reopens a file that another program has moved."""

    def __init__(self, file: str) -> None:
        """Append to a file, or write to standard error if it is `-`. Raises InputError."""
        try:
            self._handler: logging.Handler = (
                logging.StreamHandler(sys.stderr)
                if file == STDERR
                else logging.handlers.WatchedFileHandler(file, encoding="utf-8")
            )
        except OSError as error:
            reason = error.strerror or str(error)
            message = f"the log cannot be written: {reason.lower()}"
            raise InputError(message, file=file, cure=phrase("log")) from None
        # Other users of this machine must not see who sends requests.
        if file != STDERR and os.name == "posix":
            os.chmod(file, 0o600)

    def write(
        self,
        *,
        user: str | None,
        peer: str | None,
        method: str,
        what: str,
        status: int | None,
        seconds: float,
        size: int,
    ) -> None:
        """Write one request.

        what     path of the endpoint; "page" or "unknown" for other paths
        status   HTTP status; None if the client disconnected before the response
        size     bytes of the body sent
        """
        row = {
            "time": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "user": user,
            "peer": peer,
            "method": method if method.isalpha() and len(method) < 10 else "?",
            "what": what,
            "status": status,
            "seconds": round(seconds, 3),
            "bytes": size,
        }
        line = json.dumps({key: value for key, value in row.items() if value is not None})
        self._handler.handle(logging.makeLogRecord({"msg": line}))

    def close(self) -> None:
        self._handler.close()
