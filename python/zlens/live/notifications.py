"""Notifications of findings that appear or clear: by command or webhook.

Flapping findings are not reported each time: a finding is reported once it has held for a while, and cleared
once
it has been away for as long. What happens within the pause after a message goes into the next one. A thread
of its own sends, so that a slow receiver delays nothing; what it cannot take is dropped, and counted in the
next message.
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

#: Findings in one message; of further ones it has the number.
MOST = 500
#: Messages that wait to be sent.
_WAITING = 100
#: Statuses of a receiver that may take the message later.
_LATER = frozenset({408, 429})

Key = Hashable
Row = Mapping[str, Any]
Message = dict[str, Any]


class MessageReceiver(Protocol):
    """Something that takes messages."""

    def send(self, message: bytes) -> str | None:
        """Hand over a message, JSON; what went wrong, in words without data, or None."""


class CommandHook(Struct, frozen=True):
    """A program that is run for each message, which it reads from its standard input. No shell is involved.

    words      the program and its arguments
    timeout_s  after which it is ended
    """

    words: Sequence[str]
    timeout_s: float = 30.0

    @classmethod
    def from_line(cls, text: str) -> CommandHook:
        """The command of a line such as `notify --to ops`; QueryError if there is no such program."""
        try:
            words = shlex.split(text)
        except ValueError:
            expected = "a program and its arguments"
            raise QueryError(
                f"{text!r} is no command", expected=expected, cure="close the quotation"
            ) from None
        if not words or shutil.which(words[0]) is None:
            name = words[0] if words else text
            raise QueryError(f"there is no program {name!r}", cure="name one that can be run, with its path")
        return cls(words)

    def send(self, message: bytes) -> str | None:
        try:
            ended = subprocess.run(
                self.words,
                input=message,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=self.timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"the command was ended after {self.timeout_s:g} s"
        except OSError as error:
            return f"the command cannot be run: {error.strerror}"
        return f"the command ended with status {ended.returncode}" if ended.returncode else None


class Webhook(Struct, frozen=True):
    """An address that gets each message by POST.

    timeout_s  of one try
    tries      of a message; between them it waits for 1, 2, 4 ... times pause_s
    """

    url: str
    timeout_s: float = 10.0
    tries: int = 3
    pause_s: float = 1.0
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def from_url(cls, url: str) -> Webhook:
        """The webhook of an address; QueryError if it is none."""
        try:
            parts = urlsplit(url)
            known = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
        except ValueError:
            known = None
        if not known:
            raise QueryError(f"{url!r} is not an address", expected="https://HOST/PATH, without a password")
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
        """What went wrong, and whether another try may help."""
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
    """Follows no redirect: the findings go where the user said, and nowhere else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


class _KnownFinding(Struct):
    """A finding that is open, or that receivers know of."""

    row: Row
    #: Since when it is there, or since when it is not.
    since_s: float
    there: bool = True
    told: bool = False


class Notifier(Struct):
    """Sends findings to receivers when they appear and clear.

    receivers  what gets the messages
    hold_s     a finding is told once it has held for so long, and cleared once it has been away for so long
    pause_s    seconds between two messages, at least
    problem    is told what went wrong with a receiver, in words without data
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
        """Take note of all findings that are open now; `now_s` is any clock that goes on.

        Returns at once; messages are sent by a thread.
        """
        for key, row in findings.items():
            seen = self._seen.get(key)
            if seen is None:
                seen = self._seen[key] = _KnownFinding(row, now_s)
            elif not seen.there:
                seen.there, seen.since_s = True, now_s
            seen.row = row
            if not seen.told and now_s - seen.since_s >= self.hold_s:
                seen.told = True
                # Cleared and open again between two messages: nothing has changed.
                if self._cleared.pop(key, None) is None:
                    self._opened[key] = row
        for key, seen in [*self._seen.items()]:
            if key in findings:
                continue
            if seen.there:
                seen.there, seen.since_s = False, now_s
            if not seen.told:
                # Nobody knows of it.
                del self._seen[key]
            elif now_s - seen.since_s >= self.hold_s:
                del self._seen[key]
                # Opened and cleared between two messages: whoever reads the next one need not know.
                if self._opened.pop(key, None) is None:
                    self._cleared[key] = seen.row
        self._send(now_s)

    def close(self, wait_s: float = 5.0) -> None:
        """Send what is left, and wait for it for a while."""
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
            self.problem("a message about findings was dropped: the receivers are too slow")
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
                if (said := receiver.send(message)) is not None:
                    self.problem(said)
