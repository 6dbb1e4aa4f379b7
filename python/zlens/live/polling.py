"""Polled text: scrapes of an HMC exporter or of RMF at an address or in a file.

A thread polls each target, so that an unresponsive address delays no other. A poll without a scrape is a gap.
Credentials go only into a header of the request, never into names or messages.
"""

from __future__ import annotations

import base64
import http.client
import os
import socket
import ssl
import stat
import threading
import time
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from zlens.catalog.openmetrics import EXPORTERS
from zlens.errors import InputError, QueryError
from zlens.live.feeds import Feed, FeedChunk, ThreadHandover
from zlens.readers.openmetrics.source import detect
from zlens.readers.openmetrics.streaming import add_timestamps, has_known_samples, interval_s
from zlens.version import VERSION

#: Seconds between two polls, unless the user or the text defines them.
DEFAULT_INTERVAL_S = 60.0
#: Maximum bytes of a text; an exporter of a hundred machines sends some megabytes.
MOST = 16 * 1024**2
#: Maximum number of queued polls.
_WAITING = 16
#: Its program may have stopped after this many times the usual number of polls without a new text.
_STOPPED = 5
#: Attempts per poll.
_TRIES = 3
_READ = 256 * 1024
#: HTTP statuses after which a retry may succeed.
_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
_SCHEMES = ("http", "https")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
#: The formats of the reader, then any: some servers name other types for such texts.
_ACCEPT = "text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.5, */*;q=0.1"


class PollError(Exception):
    """A failed poll. `why` contains no data and no secrets; `again`: whether a retry may succeed."""

    def __init__(self, why: str, *, again: bool = False) -> None:
        super().__init__(why)
        self.why, self.again = why, again


class Login(Struct, frozen=True):
    """User and password for HTTP Basic authentication."""

    user: str
    password: str

    def __repr__(self) -> str:
        # Neither may appear in messages or logs.
        return "Login()"

    @classmethod
    def read_file(cls, text: str, path: str) -> Login:
        """Parse a file of one line, USER:PASSWORD. Raises InputError if it has another format."""
        lines = text.splitlines()
        user, colon, password = lines[0].strip().partition(":") if len(lines) == 1 else ("", "", "")
        if not (user and colon and password):
            raise InputError("contains no login", file=path, expected="one line, USER:PASSWORD")
        return cls(user, password)

    def header(self) -> str:
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


class PolledAddress(Struct):
    """An HTTP or HTTPS address. Redirects are not followed, so that logins go only to the user's address.

    timeout_s  seconds until the complete response has arrived
    """

    url: SplitResult
    login: Login | None = None
    context: ssl.SSLContext | None = None
    timeout_s: float = 50.0

    @classmethod
    def parse(cls, text: str, login: Login | None = None, ca: str | None = None) -> PolledAddress:
        """Parse an address. Raises QueryError if it is not one, InputError if `ca` cannot be used."""
        try:
            url = urlsplit(text)
            known = url.scheme in _SCHEMES and url.hostname and "@" not in url.netloc and url.port != 0
            known = known and text.isascii() and text.isprintable() and " " not in text
        except ValueError:
            known = None
        if not known:
            # The error omits the text, which may contain a password.
            raise QueryError(
                "a source is not an address that can be polled",
                expected="http://HOST:PORT/PATH or https://..., without user and password",
                cure="name them in a file for logins",
            )
        if login is not None and url.scheme == "http" and url.hostname not in _LOOPBACK:
            raise QueryError(
                f"a login would go to {url.hostname} unencrypted",
                cure="use https://, or a tunnel to this machine",
            )
        return cls(url, login, _context(ca) if url.scheme == "https" else None)

    @property
    def name(self) -> str:
        """Address without its query, which may be a secret."""
        return f"{self.url.scheme}://{self.url.netloc}{self.url.path}"

    def fetch(self) -> tuple[bytes, int]:
        """Return the text and its time in milliseconds since 1970. Raises PollError."""
        host, port = self.url.hostname or "", self.url.port
        connection = (
            http.client.HTTPConnection(host, port, timeout=self.timeout_s)
            if self.context is None
            else http.client.HTTPSConnection(host, port, timeout=self.timeout_s, context=self.context)
        )
        # The timeout of a socket applies to each read, so a slow response could last forever.
        timed_out = threading.Event()
        timer: threading.Timer | None = None
        try:
            connection.connect()
            # Passed now, because the connection may drop its socket with the response.
            timer = threading.Timer(self.timeout_s, _end, (connection.sock, timed_out))
            timer.daemon = True
            timer.start()
            data = self._ask(connection)
        except PollError:
            raise
        except (OSError, http.client.HTTPException, ValueError) as error:
            if timed_out.is_set() or isinstance(error, TimeoutError):
                raise PollError(f"no complete response within {self.timeout_s:g} s", again=True) from None
            raise PollError(f"it cannot be reached: {_reason(error)}", again=True) from None
        finally:
            if timer is not None:
                timer.cancel()
            connection.close()
        if timed_out.is_set():
            raise PollError(f"no complete response within {self.timeout_s:g} s", again=True)
        return data, round(time.time() * 1000)

    def _ask(self, connection: http.client.HTTPConnection) -> bytes:
        headers = {"accept": _ACCEPT, "user-agent": f"zlens/{VERSION}", "connection": "close"}
        if self.login is not None:
            headers["authorization"] = self.login.header()
        target = (self.url.path or "/") + (f"?{self.url.query}" if self.url.query else "")
        connection.request("GET", target, headers=headers)
        with connection.getresponse() as response:
            if response.status != 200:
                raise PollError(f"it answered {response.status}", again=response.status in _LATER)
            data = response.read(MOST + 1)
            if len(data) > MOST:
                raise PollError(f"its text is longer than {MOST:,} bytes")
            if response.length:
                raise PollError("its response was truncated", again=True)
            return data


def _end(connected: socket.socket, timed_out: threading.Event) -> None:
    timed_out.set()
    with suppress(OSError):
        # The shutdown method of an SSL socket is not safe in another thread.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _reason(error: Exception) -> str:
    """Return the reason of a failure without data of the peer."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({error.verify_message})"
    if isinstance(error, OSError):
        return str(getattr(error, "reason", None) or error.strerror or type(error).__name__)
    return "it does not speak HTTP"


def _context(ca: str | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as error:
        why = getattr(error, "reason", None) or error.strerror or "it is not a certificate"
        raise InputError(f"cannot be used: {why}", file=ca, expected="certificates, PEM") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class PolledFile(Struct):
    """A file that a program rewrites or replaces. Its time is the time of its last change."""

    path: str
    _seen: tuple[int, int, int] | None = None

    @property
    def name(self) -> str:
        return self.path

    def fetch(self) -> tuple[bytes, int] | None:
        """Return the text and its time in milliseconds since 1970; None if unchanged. Raises PollError."""
        try:
            # Non-blocking, because opening a pipe would block.
            handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(handle, "rb") as file:
                status = os.fstat(handle)
                if not stat.S_ISREG(status.st_mode):
                    raise PollError("it is not a regular file")
                mark = (status.st_ino, status.st_mtime_ns, status.st_size)
                if mark == self._seen:
                    return None
                data = file.read(MOST + 1)
                after = os.fstat(handle)
        except OSError as error:
            raise PollError(f"it cannot be read: {error.strerror}", again=True) from None
        if len(data) > MOST:
            raise PollError(f"its text is longer than {MOST:,} bytes")
        if mark != (after.st_ino, after.st_mtime_ns, after.st_size) or not data.endswith(b"\n"):
            raise PollError("it is being written", again=True)
        self._seen = mark
        return data, status.st_mtime_ns // 1_000_000


def is_text(path: str) -> bool:
    """Return whether a file is a scrape. Such files are rewritten completely, so they are polled."""
    try:
        with open(path, "rb") as file:
            first_bytes = file.read(_READ)
    except OSError:
        return False
    return any(detect(name, first_bytes, len(first_bytes)) for name in EXPORTERS)


class PollingFeed(Feed):
    """A polled target. Its scrapes have timestamps.

    every_s   seconds between two polls; None: the interval of the text, else DEFAULT_INTERVAL_S
    pause_s   seconds before the second attempt, doubled before each further one
    """

    def __init__(
        self,
        place: PolledAddress | PolledFile,
        every_s: float | None = None,
        *,
        pause_s: float = 1.0,
    ) -> None:
        self.name = place.name
        self._place, self._pause_s = place, pause_s
        self._every_s, self._adapts = (DEFAULT_INTERVAL_S, True) if every_s is None else (every_s, False)
        self._handover = ThreadHandover(_WAITING, "polls")
        self._stop = threading.Event()
        #: Failed polls, and polls with an unchanged text, since the last scrape.
        self._missed = self._same = 0
        #: Maximum number of polls with an unchanged text between two scrapes.
        self._usual = 1
        self._thread = threading.Thread(target=self._run, name="zlens-polling", daemon=True)
        self._thread.start()

    def read(self) -> FeedChunk | None:
        passed = self._handover.receive()
        if passed is None:
            return None
        data, note = passed
        return FeedChunk(data, {}, (note,) if note else ())

    def close(self) -> None:
        self._stop.set()
        self._thread.join(self._pause_s)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            self._poll()
            due += self._every_s
            remaining_s = due - time.monotonic()
            if remaining_s < 0:
                # Missed polls are skipped.
                due = time.monotonic()
            elif self._stop.wait(remaining_s):
                return

    def _poll(self) -> None:
        try:
            scrape = self._poll_once()
        except PollError as missed:
            self._missed += 1
            if self._missed == 1:
                # Reported once; the note at the end of the gap has the count.
                self._handover.send_or_drop(b"", f"a poll failed: {missed.why}")
            return
        if scrape is None:
            self._same += 1
            if self._same == _STOPPED * self._usual:
                repeated = f"{self._same:,} polls found the same text; its program may have stopped"
                self._handover.send_or_drop(b"", repeated)
            return
        text, ms = scrape
        note = ""
        if self._missed > 1:
            note = f"{self._missed:,} polls before this one returned no data"
        elif self._same >= _STOPPED * self._usual:
            note = f"{self._same:,} polls found the same text before this one"
        else:
            # A program may write less often than it is polled.
            self._usual = max(self._usual, self._same)
        self._missed = self._same = 0
        if self._adapts:
            self._every_s = interval_s(text) or DEFAULT_INTERVAL_S
        self._handover.send_or_drop(add_timestamps(text, ms), note)

    def _poll_once(self) -> tuple[bytes, int] | None:
        for number in range(_TRIES):
            try:
                scrape = self._place.fetch()
            except PollError as missed:
                last = number + 1 == _TRIES
                if last or not missed.again or self._stop.wait(self._pause_s * 2**number):
                    raise
                continue
            if scrape is not None and not has_known_samples(scrape[0]):
                raise PollError("it returned no sample of an HMC exporter or of RMF")
            return scrape
        return None
