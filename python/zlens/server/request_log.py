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

    def write(self, **facts: object) -> None:
        """Write the facts of one request, except those that are None."""
        time = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        known = {name: value for name, value in facts.items() if value is not None}
        self._handler.handle(logging.makeLogRecord({"msg": json.dumps({"time": time, **known})}))

    def close(self) -> None:
        self._handler.close()
