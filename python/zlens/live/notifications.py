"""Notifications of findings that appear or clear: by command or webhook.

Flapping findings are not reported each time: a finding is reported once it has held for a while, and cleared
once it has been absent for as long. Changes within the pause after a message go into the next one. A separate
thread sends messages, so that a slow receiver delays nothing; excess messages are dropped and counted in the
next one.
"""

from __future__ import annotations

import json
import queue
import shlex
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import urlsplit

from msgspec import Struct, field

from zlens.errors import QueryError
from zlens.version import VERSION

#: Maximum number of findings in one message, which has the number of further ones.
MOST = 500
#: Maximum number of queued messages.
_WAITING = 100
#: HTTP statuses after which a retry may succeed.
_LATER = frozenset({408, 429})

Key = Hashable
Row = Mapping[str, Any]
Message = dict[str, Any]


class MessageReceiver(Protocol):
    """Receiver of messages."""

    def send(self, message: bytes) -> str | None:
        """Send a JSON message; returns the error as a text without data, or None."""


class CommandHook(Struct, frozen=True):
    """A program that runs for each message and reads it from its standard input, without a shell.

    words      the program and its arguments
    timeout_s  seconds after which it is killed
    umask      the umask that it starts with; -1: that of this process
    """

    words: Sequence[str]
    timeout_s: float = 30.0
    umask: int = -1

    @classmethod
    def from_line(cls, text: str, umask: int = -1) -> CommandHook:
        """Parse a command line such as `notify --to ops`. Raises QueryError if the program does not exist."""
        try:
            words = shlex.split(text)
        except ValueError:
            expected = "a program and its arguments"
            raise QueryError(
                f"{text!r} is not a command", expected=expected, cure="close the quotation"
            ) from None
        if not words or shutil.which(words[0]) is None:
            name = words[0] if words else text
            raise QueryError(f"there is no program {name!r}", cure="name one that can be run, with its path")
        return cls(words, umask=umask)

    def send(self, message: bytes) -> str | None:
        try:
            completed = subprocess.run(
                self.words,
                input=message,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=self.timeout_s,
                umask=self.umask,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"the command was ended after {self.timeout_s:g} s"
        except OSError as error:
            return f"the command cannot be run: {error.strerror}"
        return f"the command ended with status {completed.returncode}" if completed.returncode else None


class Webhook(Struct, frozen=True):
    """An address that receives each message by POST.

    timeout_s  seconds per attempt
    tries      attempts per message; the pauses between them are 1, 2, 4 ... times pause_s
    """

    url: str
    timeout_s: float = 10.0
    tries: int = 3
    pause_s: float = 1.0
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def from_url(cls, url: str, origin: str | None = None) -> Webhook:
        """Parse an address. Raises QueryError if it is not valid, which names `origin` instead, if given."""
        try:
            parts = urlsplit(url)
            known = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
            # The library would quote it in an error.
            known = known and url.isascii() and url.isprintable() and " " not in url
        except ValueError:
            known = None
        if not known:
            raise QueryError(
                f"{origin or url!r} is not an address", expected="https://HOST/PATH, without a password"
            )
        return cls(url)

    def send(self, message: bytes) -> str | None:
        problem = None
        for number in range(self.tries):
            if number:
                self.sleep(self.pause_s * 2 ** (number - 1))
            problem, again = self._try(message)
            if not again:
                break
        return problem

    def _try(self, message: bytes) -> tuple[str | None, bool]:
        """Send a message once; returns the error, or None, and whether a retry may succeed."""
        headers = {"content-type": "application/json", "user-agent": f"zlens/{VERSION}"}
        request = urllib.request.Request(self.url, message, headers, method="POST")
        try:
            with _OPENER.open(request, timeout=self.timeout_s):
                return None, False
        except urllib.error.HTTPError as error:
            error.close()
            again = error.code >= 500 or error.code in _LATER
            return f"the webhook answered {error.code}", again
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            return f"the webhook cannot be reached: {reason}", True


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Rejects redirects, so that findings are sent only to the user's address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


class _KnownFinding(Struct):
    """A finding that is open or was reported."""

    row: Row
    #: Start of its current state, open or absent.
    since_s: float
    there: bool = True
    notified: bool = False


class Notifier(Struct):
    """Sends findings to receivers when they appear and clear.

    receivers  receivers of the messages
    hold_s     seconds that a finding must hold to be reported, and be absent to be cleared
    pause_s    minimum seconds between two messages
    problem    called with errors of receivers, as texts without data
    """

    receivers: Sequence[MessageReceiver]
    hold_s: float = 0.0
    pause_s: float = 60.0
    problem: Callable[[str], None] = lambda _: None
    _seen: dict[Key, _KnownFinding] = field(default_factory=dict)
    _opened: dict[Key, Row] = field(default_factory=dict)
    _cleared: dict[Key, Row] = field(default_factory=dict)
    _sent_s: float | None = None
    _dropped: int = 0
    _queue: queue.Queue[bytes | None] = field(default_factory=lambda: queue.Queue(_WAITING))
    _thread: threading.Thread | None = None

    def observe(self, findings: Mapping[Key, Row], now_s: float) -> None:
        """Record all findings that are open now; `now_s` is the time of any monotonic clock.

        Returns immediately; a thread sends the messages.
        """
        for key, row in findings.items():
            seen = self._seen.get(key)
            if seen is None:
                seen = self._seen[key] = _KnownFinding(row, now_s)
            elif not seen.there:
                seen.there, seen.since_s = True, now_s
            seen.row = row
            if not seen.notified and now_s - seen.since_s >= self.hold_s:
                seen.notified = True
                # Cleared and opened between two messages is not a change.
                if self._cleared.pop(key, None) is None:
                    self._opened[key] = row
        for key, seen in [*self._seen.items()]:
            if key in findings:
                continue
            if seen.there:
                seen.there, seen.since_s = False, now_s
            if not seen.notified:
                # It was not reported.
                del self._seen[key]
            elif now_s - seen.since_s >= self.hold_s:
                del self._seen[key]
                # Opened and cleared between two messages is not reported.
                if self._opened.pop(key, None) is None:
                    self._cleared[key] = seen.row
        self._send(now_s)

    def close(self, wait_s: float = 5.0) -> None:
        """Send pending messages; waits up to `wait_s` seconds."""
        self._send(None)
        if self._thread is not None:
            with suppress(queue.Full):
                self._queue.put(None, timeout=wait_s)
            self._thread.join(wait_s)

    def _send(self, now_s: float | None) -> None:
        if not (self._opened or self._cleared):
            return
        if now_s is not None and self._sent_s is not None and now_s - self._sent_s < self.pause_s:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="hooks", daemon=True)
            self._thread.start()
        try:
            self._queue.put_nowait(self._message())
        except queue.Full:
            self._dropped += 1
            self.problem("a notification of findings was discarded: the receivers are too slow")
        else:
            self._dropped = 0
        self._sent_s = now_s
        self._opened.clear()
        self._cleared.clear()

    def _message(self) -> bytes:
        opened, cleared = [*self._opened.values()], [*self._cleared.values()]
        message: Message = {
            "zlens": VERSION,
            "opened": opened[:MOST],
            "cleared": cleared[:MOST],
            "more": max(len(opened) - MOST, 0) + max(len(cleared) - MOST, 0),
            "dropped": self._dropped,
        }
        return json.dumps(message, ensure_ascii=False, default=str).encode()

    def _work(self) -> None:
        while (message := self._queue.get()) is not None:
            for receiver in self.receivers:
                if (error := receiver.send(message)) is not None:
                    self.problem(error)
