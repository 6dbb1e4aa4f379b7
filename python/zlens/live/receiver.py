"""Receiver for `zlens-forward`: listens, and writes received data to growing files.

Each source has a folder in `folder` with the forwarder's name of it. File names sort by time:
`00000001-20261125T021500Z.monreader` is a capture of the device, `00000001-20261125T021500Z-day.mon` has the
bytes of the forwarder's file `day.mon`. A capture ends with a set of data after `rotate_bytes` or `rotate_s`;
a file of another source ends only where the forwarder's file ends. `gaps.jsonl` lists the gaps, and
`state.json` the durable data: `durable.size` bytes of the last file. Later bytes may be truncated after a
crash and sent again; `read` does not return them.

Records are acknowledged after they are durable. A forwarder that connects again receives the number of the
next record, so that no record is lost or duplicated if either program is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from msgspec import Struct

from zlens.errors import ReceiverError, describe_write_error
from zlens.live import protocol
from zlens.live.protocol import Frame, FrameKind
from zlens.live.received_files import ReceivedFiles, is_source_name

PORT = 4739
_LOCK = ".lock"
_KINDS = ("monreader", "file", "stdin")
_READ = 256 * 1024

#: Reports an event and its facts, without data or secrets.
Report = Callable[[str, Mapping[str, object]], None]


class AccessPolicy(Struct, frozen=True):
    """Requirements for connections."""

    #: PEM files of the receiver's certificate chain and of its key, for TLS 1.3.
    certificate: str | None = None
    key: str | None = None
    #: PEM file of the authority that must have signed the certificates of forwarders.
    client_ca: str | None = None
    #: Secret that forwarders must send.
    token: str | None = None


class ReceiverLimits(Struct, frozen=True):
    """Limits of memory, threads and waiting times."""

    #: Connections of forwarders, at most one of each source.
    connections: int = 32
    sources: int = 256
    #: Connections that have not identified themselves: of all addresses, and of one address.
    greetings: int = 64
    address_greetings: int = 8
    #: Timeout of the handshake.
    handshake_s: float = 10.0
    #: Timeout of a frame; an idle forwarder sends one every 10 s.
    idle_s: float = 60.0
    #: Maximum bytes that one flush makes durable, and maximum seconds that it waits for them.
    batch_bytes: int = 8 << 20
    batch_s: float = 0.5
    rotate_bytes: int = 256 << 20
    rotate_s: float = 3600.0


class Receiver:
    """Listens for forwarders between `start` and `stop`. As a context manager it calls both."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        host: str = "127.0.0.1",
        port: int = PORT,
        *,
        access: AccessPolicy | None = None,
        limits: ReceiverLimits | None = None,
        report: Report | None = None,
    ) -> None:
        """`folder` is created if missing; port 0 selects a free port; `report` is called from threads."""
        self.folder = Path(folder)
        self.limits = limits or ReceiverLimits()
        self._access = access or AccessPolicy()
        self._host, self._port = host, port
        self._report: Report = report or (lambda event, facts: None)
        self._sources: dict[str, ReceivedFiles] = {}
        #: Held while connections or sources change.
        self._guard = threading.RLock()
        self._open: dict[_FrameConnection, threading.Thread] = {}
        self._writing: dict[str, _FrameConnection] = {}
        self._listener: socket.socket | None = None
        self._lock_file: BinaryIO | None = None
        self._stopped = threading.Event()
        self._acceptor: threading.Thread | None = None
        self._context: ssl.SSLContext | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the listening socket."""
        if self._listener is None:
            return self._host, self._port
        host, port = self._listener.getsockname()[:2]
        return str(host), int(port)

    def start(self) -> None:
        """Open the folder and listen.

        Raises ReceiverError if the folder is in use, certificates are invalid, the address is not available,
        or other machines could connect without TLS and a token or client certificate.
        """
        self._check_access()
        self._context = _context(self._access)
        self._open_folder()
        try:
            family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
            self._listener = socket.create_server((self._host, self._port), family=family, backlog=16)
        except OSError as error:
            self.stop()
            raise ReceiverError(
                f"cannot listen on {self._host} port {self._port}: {error.strerror or error}",
                cure="choose another port, or an address of this machine",
            ) from None
        self._acceptor = threading.Thread(target=self._accept, name="receiver", daemon=True)
        self._acceptor.start()
        host, port = self.address
        self._report("listening", {"host": host, "port": port, "tls": self._context is not None})

    def stop(self) -> None:
        """End all connections; acknowledged records are durable."""
        self._stopped.set()
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        if self._acceptor is not None:
            self._acceptor.join()
        with self._guard:
            open_connections = list(self._open.items())
        for channel, _ in open_connections:
            channel.shut_down()
        for _, thread in open_connections:
            thread.join()
        for source in self._sources.values():
            source.close()
        if self._lock_file is not None:
            self._lock_file.close()
            self._lock_file = None

    def sources(self) -> list[ReceivedFiles]:
        """Return all sources received so far, in order of their names."""
        with self._guard:
            return [self._sources[name] for name in sorted(self._sources)]

    def __enter__(self) -> Receiver:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _check_access(self) -> None:
        access = self._access
        if bool(access.certificate) != bool(access.key):
            raise ReceiverError("a certificate needs its key, and a key its certificate")
        if access.client_ca and not access.certificate:
            raise ReceiverError("certificates of forwarders need a certificate of the receiver")
        if self._host in {"127.0.0.1", "::1", "localhost"}:
            return
        if not access.certificate or not (access.token or access.client_ca):
            raise ReceiverError(
                f"{self._host} can be reached by others",
                expected="a certificate with its key, and a token or the authority of forwarders",
                cure="specify them, or listen on 127.0.0.1",
            )

    def _open_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock_file = open(self.folder / _LOCK, "ab")  # noqa: SIM115
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in sorted(self.folder.iterdir()):
                if path.is_dir() and is_source_name(path.name):
                    self._sources[path.name] = self._received(path.name)
        except BlockingIOError:
            self.stop()
            raise ReceiverError(
                "another receiver writes to this folder", file=str(self.folder), cure="choose another folder"
            ) from None
        except OSError as error:
            self.stop()
            raise ReceiverError(
                f"cannot be written: {describe_write_error(error)}",
                file=str(error.filename or self.folder),
                cure="check the disk and the permissions of the folder",
            ) from None
        except ReceiverError:
            self.stop()
            raise

    def _received(self, name: str) -> ReceivedFiles:
        limits = self.limits
        return ReceivedFiles(self.folder / name, rotate_bytes=limits.rotate_bytes, rotate_s=limits.rotate_s)

    def _accept(self) -> None:
        assert self._listener is not None
        while not self._stopped.is_set():
            try:
                peer, address = self._listener.accept()
            except OSError:
                # Too many open files, or the peer has disconnected; the event signals the end.
                self._stopped.wait(0.1)
                continue
            try:
                channel = _FrameConnection(peer, str(address[0]), self.limits.handshake_s, self._context)
            except OSError:
                # It has hung up already.
                peer.close()
                continue
            with self._guard:
                if self._stopped.is_set():
                    channel.socket.close()
                    return
                thread = threading.Thread(target=self._serve, args=(channel,), name="connection", daemon=True)
                self._open[channel] = thread
                self._make_room(channel.peer)
                thread.start()

    def _make_room(self, address: str) -> None:
        """End the oldest connection without a greeting, if there are too many of this address or of all.

        A forwarder that greets at once is so served even while others only connect.
        """
        waiting = [channel for channel in self._open if not (channel.is_known or channel.is_turned_away)]
        same_address = [channel for channel in waiting if channel.peer == address]
        for channels, most in (
            (same_address, self.limits.address_greetings),
            (waiting, self.limits.greetings),
        ):
            if len(channels) > most:
                channels[0].is_turned_away = True
                channels[0].shut_down()
                self._report("turned_away", {"peer": channels[0].peer, "connections": len(channels)})
                return

    def _serve(self, channel: _FrameConnection) -> None:
        try:
            channel.secure()
            self._receive(channel)
        except ReceiverError as error:
            written = {} if error.file is None else {"file": error.file}
            self._report("refused", {"peer": channel.peer, "reason": error.message, **written})
            channel.refuse(error.message)
        except TimeoutError:
            self._report("silent", {"peer": channel.peer})
        except (OSError, EOFError) as error:
            reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or "it hung up"
            self._report("disconnected", {"peer": channel.peer, "reason": str(reason)})
        finally:
            with self._guard:
                del self._open[channel]
            with contextlib.suppress(OSError):
                channel.socket.close()

    def _read_hello(self, channel: _FrameConnection) -> dict[str, str]:
        """Read and check the hello of a forwarder; returns its fields."""
        hello = channel.read(protocol.MOST_TEXT)
        if hello.kind is not FrameKind.HELLO:
            raise ReceiverError("a forwarder did not send its name", expected="a greeting")
        fields = hello.fields
        if fields.get("version") != protocol.VERSION:
            raise ReceiverError("another version of the protocol", expected=f"version {protocol.VERSION}")
        token = self._access.token
        if token is not None and not hmac.compare_digest(fields.get("token", "").encode(), token.encode()):
            raise ReceiverError("the token is not the receiver's")
        if not is_source_name(fields.get("name", "")):
            raise ReceiverError("the name of the source is not allowed", expected="letters, digits, . _ -")
        if fields.get("kind") not in _KINDS:
            raise ReceiverError("the kind of the source is unknown", expected=", ".join(_KINDS))
        return fields

    def _source(self, name: str) -> ReceivedFiles:
        with self._guard:
            source = self._sources.get(name)
            if source is None:
                if len(self._sources) >= self.limits.sources:
                    raise ReceiverError(f"there are {self.limits.sources} sources, which is the limit")
                with _storage_error(self.folder / name):
                    source = self._sources[name] = self._received(name)
        return source

    def _receive(self, channel: _FrameConnection) -> None:
        fields = self._read_hello(channel)
        if "check" in fields:
            channel.send(Frame(FrameKind.WELCOME))
            return
        name, stream = fields["name"], fields.get("stream", "")
        with self._guard:
            if name not in self._writing and len(self._writing) >= self.limits.connections:
                raise ReceiverError(f"there are {self.limits.connections} connections, which is the limit")
            source = self._source(name)
            channel.is_known = True
            earlier = self._writing.get(name)
            self._writing[name] = channel
        if earlier is not None:
            # A forwarder connects again only if its old connection failed.
            earlier.shut_down()
        try:
            self._write_stream(channel, source, fields["kind"], stream)
        finally:
            with self._guard:
                if self._writing.get(name) is channel:
                    del self._writing[name]

    def _write_stream(self, channel: _FrameConnection, source: ReceivedFiles, kind: str, stream: str) -> None:
        """Write what a forwarder sends until the source or the connection ends."""
        if not source.lock.acquire(timeout=self.limits.handshake_s):
            raise ReceiverError(f"{source.name} is still being written by an earlier connection")
        try:
            with _storage_error(source.folder, source):
                following = source.begin_stream(kind, stream)
                source.commit()
            self._report("connected", {"peer": channel.peer, "source": source.name, "next": following})
            channel.idle_s = self.limits.idle_s
            channel.send(Frame(FrameKind.WELCOME, following))
            is_finished = False
            while not is_finished:
                is_finished = self._batch(channel, source)
                channel.send(Frame(FrameKind.ACKNOWLEDGED, source.durable.streams.get(stream, 0)))
            self._report("ended", {"peer": channel.peer, "source": source.name})
        finally:
            source.lock.release()

    def _batch(self, channel: _FrameConnection, source: ReceivedFiles) -> bool:
        """Apply a batch of frames and make it durable; returns whether the source ended."""
        received_bytes, is_finished, started = 0, False, None
        try:
            while True:
                frame = channel.read()
                with _storage_error(source.folder, source):
                    if frame.kind in {FrameKind.BEGIN, FrameKind.DATA, FrameKind.GAP}:
                        source.apply_record(frame)
                    elif frame.kind is FrameKind.END:
                        source.end()
                        is_finished = True
                    elif frame.kind is not FrameKind.ALIVE:
                        raise ReceiverError(f"a forwarder does not send {frame.kind.name}")
                if frame.kind is FrameKind.GAP:
                    self._report("gap", {"source": source.name, "reason": frame.fields.get("reason", "")})
                received_bytes += len(frame.payload)
                started = started or time.monotonic()
                is_full = (
                    received_bytes >= self.limits.batch_bytes
                    or time.monotonic() - started >= self.limits.batch_s
                )
                if is_finished or is_full or not channel.has_data():
                    return is_finished
        finally:
            # Commit complete records that precede a disconnect or an invalid frame.
            with _storage_error(source.folder, source):
                source.commit()


@contextlib.contextmanager
def _storage_error(folder: Path, source: ReceivedFiles | None = None) -> Iterator[None]:
    """Convert write errors to ReceiverError, which disconnects the forwarder; it retains its records.

    The error names the file, and without one the folder.
    """
    try:
        yield
    except OSError as error:
        if source is not None:
            with contextlib.suppress(OSError):
                source.roll_back()
        raise ReceiverError(
            f"the receiver cannot write: {describe_write_error(error)}", file=str(error.filename or folder)
        ) from None


class _FrameConnection:
    """A connection with frames, each read within a timeout."""

    def __init__(
        self, connection: socket.socket, peer: str, handshake_s: float, context: ssl.SSLContext | None
    ) -> None:
        """Raises OSError if the peer has already disconnected."""
        connection.settimeout(handshake_s)
        self.socket = connection
        if context is not None:
            self.socket = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        self.peer = peer
        #: Whether it has identified itself, and whether it was ended before it did.
        self.is_known = self.is_turned_away = False
        self.idle_s = handshake_s
        self._buffer = bytearray()
        self._deadline = 0.0

    def secure(self) -> None:
        if isinstance(self.socket, ssl.SSLSocket):
            self.socket.do_handshake()

    def shut_down(self) -> None:
        """End the connection; safe in other threads, unlike the method of an SSL socket."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)

    def read(self, most: int = protocol.MAX_PAYLOAD) -> Frame:
        self._deadline = time.monotonic() + self.idle_s
        return protocol.read_frame(self._take, most)

    def send(self, frame: Frame) -> None:
        self.socket.settimeout(self.idle_s)
        self.socket.sendall(frame.encode())

    def refuse(self, reason: str) -> None:
        with contextlib.suppress(OSError):
            self.send(Frame(FrameKind.REFUSED, payload=protocol.encode_fields({"reason": reason})))

    def has_data(self) -> bool:
        """Return whether more data has arrived."""
        if self._buffer:
            return True
        if isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
            return True
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(0))

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            remaining_s = self._deadline - time.monotonic()
            if remaining_s <= 0:
                raise TimeoutError
            self.socket.settimeout(remaining_s)
            data = self.socket.recv(_READ)
            if not data:
                raise EOFError
            self._buffer += data
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


def _context(access: AccessPolicy) -> ssl.SSLContext | None:
    if not access.certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    for path in (access.certificate, access.key, access.client_ca):
        if path and not os.access(path, os.R_OK):
            raise ReceiverError("cannot be read", file=path, expected="a PEM file")
    try:
        context.load_cert_chain(access.certificate, access.key)
        if access.client_ca:
            context.load_verify_locations(access.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        raise ReceiverError(
            f"this certificate cannot be used: {getattr(error, 'reason', None) or error}",
            file=access.certificate,
            expected="PEM files of a certificate and its key",
        ) from None
    return context
