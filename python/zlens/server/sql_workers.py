"""Worker processes for the user's SQL and for scenarios of models, which can be killed.

A statement may fold a constant for hours, or build a value of gigabytes, while the engine neither checks for
interrupts nor counts memory. So it runs in another process with a memory limit, which is killed if it does
not end after a cancel. Workers share the open inputs with the server, but no locks, tables or connections.
They are forked from a fork server, which is created while the server has a single thread.

For live data, a worker receives a description and requests from the server what is not on disk. It serves
these data only, and is killed when the server closes or replaces them.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct, field

from zlens.engine import cancellation, memory_limits
from zlens.engine.cancellation import CancelToken
from zlens.errors import CanceledError, QueryError, ZlensError
from zlens.schema.temporary_folder import TemporaryFolder
from zlens.server.limits import RequestLimits
from zlens.server.running_requests import USER

if TYPE_CHECKING:
    from zlens.live.session_transfer import Published

#: Queries that run at a time; others wait.
MAX_WORKERS = 3
#: Seconds that a canceled query has to end before its worker is killed.
_PATIENCE_S = 0.5
#: Seconds between two checks for cancellation while waiting.
_LOOK_S = 0.05
#: A worker is not reused if its tables and values exceed this share of its memory.
_FULL = 0.6
#: Status of a response if the data of a worker no longer exist.
GONE = 0
_LENGTH = struct.Struct(">Q")
#: Messages to a worker: cancel, a query, and the reply to its own request.
_CANCEL, _QUESTION, _REPLY = b"C", b"Q", b"R"
#: Message of a worker: its own request.
_ASKED = b"?"
#: File in a worker's folder that describes its data.
_DESCRIPTION = "description"
_LONGEST_NAME = 4096
_GB = 1024**3


class WorkerResponse(Struct, frozen=True):
    """A response of a worker; `problems` is the number of problems it has found."""

    status: int
    problems: int
    body: bytes


class GoneError(QueryError):
    """The data of a query no longer exist; the server may have newer ones."""


#: Answers a request; errors become responses.
Work = Callable[[dict[str, Any], "Server"], WorkerResponse]


class _QueuedQuery(Struct, eq=False):
    """A query that waits for a worker or has one."""

    user: str | None
    began: threading.Event = field(default_factory=threading.Event)


class SqlWorkers:
    """Up to MAX_WORKERS worker processes, forked when needed and reused for later queries.

    A user has one worker at a time, which limits their memory and leaves workers for other users.
    """

    def __init__(
        self, work: Work, closing: socket.socket | None = None, limits: RequestLimits | None = None
    ) -> None:
        """Start the fork server; workers close the socket `closing`. The memory limit is per worker."""
        memory = self._memory = (limits or RequestLimits()).memory
        self._temporary = TemporaryFolder()
        self._guard = threading.Lock()
        self._idle: list[_SqlWorker] = []
        self._free = MAX_WORKERS
        self._waiting: list[_QueuedQuery] = []
        self._served: set[str | None] = set()
        self._control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._pid = os.fork()
        if self._pid == 0:
            self._control.close()
            if closing is not None:
                closing.close()
            _fork_server(far, work, memory)
        far.close()

    def close(self) -> None:
        """Kill all workers and remove their spill files."""
        with self._guard:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        self._temporary.remove()

    def run_query(self, request: dict[str, Any], data: Published | None = None) -> WorkerResponse:
        """Return the response of a worker; a cancel ends it whatever it does.

        Raises GoneError if the data no longer exist.
        """
        with self._turn():
            worker = self._take(data)
            try:
                return worker.run_query(request)
            finally:
                if worker.reusable:
                    with self._guard:
                        self._idle.append(worker)
                else:
                    worker.end()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for one of MAX_WORKERS turns: first come, first served, one at a time per user."""
        turn = _QueuedQuery(USER.get())
        with self._guard:
            self._waiting.append(turn)
            self._assign_turns()
        try:
            while not turn.began.wait(_LOOK_S):
                cancellation.check_canceled()
            yield
        finally:
            with self._guard:
                if turn.began.is_set():
                    self._free += 1
                    self._served.discard(turn.user)
                    self._assign_turns()
                else:
                    self._waiting.remove(turn)

    def _assign_turns(self) -> None:
        """Assign free turns to the queries that have waited longest, of users without a turn."""
        for turn in list(self._waiting):
            if not self._free:
                return
            if turn.user in self._served:
                continue
            if turn.user is not None:
                self._served.add(turn.user)
            self._free -= 1
            self._waiting.remove(turn)
            turn.began.set()

    def end_idle(self, matches: Callable[[Published | None], bool]) -> None:
        """Kill the idle workers whose data match a condition."""
        with self._guard:
            workers = [worker for worker in self._idle if matches(worker.data)]
            self._idle = [worker for worker in self._idle if worker not in workers]
        for worker in workers:
            worker.end()

    def _take(self, data: Published | None) -> _SqlWorker:
        """Return the worker of these data that was used last, which has the most tables, or a new one."""
        # Workers of other data would not be reused, but use memory.
        self.end_idle(lambda other: other is not data)
        while True:
            with self._guard:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                return self._fork(data)
            if worker.data is data and not worker.ended():
                return worker
            worker.end()

    def _fork(self, data: Published | None) -> _SqlWorker:
        folder = tempfile.mkdtemp(dir=self._temporary.path)
        if data is not None:
            Path(folder, _DESCRIPTION).write_bytes(data.description())
        near, far = socket.socketpair()
        with far:
            try:
                with self._guard:
                    socket.send_fds(self._control, [os.fsencode(folder)], [far.fileno()])
            except OSError:
                near.close()
                raise QueryError(
                    "the process that starts SQL workers has ended", cure="start the server again"
                ) from None
        return _SqlWorker(near, folder, self._memory, data)


class _SqlWorker:
    """A worker process, seen from the server.

    reusable   whether it may run another query
    data       the live data that it serves, if any
    """

    def __init__(self, channel: socket.socket, folder: str, memory: int, data: Published | None) -> None:
        self.data = data
        self._channel = channel
        self._folder = folder
        self._memory = memory
        self._written = 0
        self.reusable = False
        pid = self._received(None)
        self._pid = int(pid) if pid is not None else None

    def ended(self) -> bool:
        try:
            return self._channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def end(self) -> None:
        # The process id is not reused while its channel is open.
        if self._pid is not None and not self.ended():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        self._channel.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run_query(self, request: dict[str, Any]) -> WorkerResponse:
        self.reusable = False
        try:
            _send(self._channel, _QUESTION + json.dumps(request).encode())
            while (answer := self._received(cancellation.check_canceled)) is not None and answer.startswith(
                _ASKED
            ):
                _send(self._channel, _REPLY + self._reply(json.loads(answer.removeprefix(_ASKED))))
        except OSError:
            answer = None
        except CanceledError:
            self._cancel()
            raise
        if answer is None:
            raise QueryError(
                f"the query needs more than its {self._memory / _GB:.3g} GB of memory, or broke the engine",
                cure="select fewer rows and columns, or build shorter texts and lists",
            )
        header, _, body = answer.partition(b"\n")
        status, problems, reusable = map(int, header.split())
        if status == GONE:
            raise GoneError(
                "the data changed when the query started", expected="newer data", cure="send the query again"
            )
        self.reusable = bool(reusable)
        return WorkerResponse(status, problems, body)

    def _reply(self, request: dict[str, Any]) -> bytes:
        """Write the requested rows and return the path of their file, or the error, as JSON."""
        assert self.data is not None
        self._written += 1
        path = os.path.join(self._folder, f"{self._written}.parquet")
        try:
            self.data.write(request, path)
        except CanceledError:
            raise
        except (ZlensError, OSError) as error:
            return json.dumps({"error": str(error)}).encode()
        return json.dumps({"path": path}).encode()

    def _cancel(self) -> None:
        """Let the worker end its query within _PATIENCE_S, so that its tables remain for the next query."""
        try:
            _send(self._channel, _CANCEL)
            self._channel.settimeout(_PATIENCE_S)
            # Its own requests need no reply now.
            while (answer := _receive(self._channel)) is not None and answer.startswith(_ASKED):
                continue
            self.reusable = answer is not None
        except OSError:
            self.reusable = False
        finally:
            self._channel.settimeout(None)

    def _received(self, check: Callable[[], None] | None) -> bytes | None:
        """Return the next message; None if the worker has ended."""
        if check is not None:
            # Not `select`, which accepts no descriptors above 1,023: many clients may be connected.
            poll = select.poll()
            poll.register(self._channel, select.POLLIN)
            while not poll.poll(_LOOK_S * 1000):
                check()
        try:
            return _receive(self._channel)
        except OSError:
            return None


def _send(channel: socket.socket, message: bytes) -> None:
    channel.sendall(_LENGTH.pack(len(message)) + message)


def _receive(channel: socket.socket) -> bytes | None:
    """Return the next message; None at the end of the stream."""
    length = _read_exactly(channel, _LENGTH.size)
    return _read_exactly(channel, _LENGTH.unpack(length)[0]) if length is not None else None


def _read_exactly(channel: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        chunk = channel.recv(min(size - len(data), 1 << 20))
        if not chunk:
            return None
        data += chunk
    return bytes(data)


# In the workers -------------------------------------------------------------------------------------


def _fork_server(control: socket.socket, work: Work, memory: int) -> NoReturn:
    """Run the fork server: fork a worker for every channel that it receives."""
    # Ctrl-C reaches all processes of a terminal; the server decides when workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # The system reaps workers that have ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        while True:
            folder, channels, _, _ = socket.recv_fds(control, _LONGEST_NAME, 1)
            if not channels:
                break
            channel = socket.socket(fileno=channels[0])
            if os.fork() == 0:
                control.close()
                _answer(channel, os.fsdecode(folder), work, memory)
            channel.close()
    finally:
        os._exit(0)


def _answer(channel: socket.socket, folder: str, work: Work, memory: int) -> NoReturn:
    """Run a worker: answer requests until the server closes the channel."""
    try:
        tempfile.tempdir = folder
        os.nice(5)
        # If memory runs out, the system kills this process before the server.
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")
        memory_limits.limit_memory(memory)
        _send(channel, str(os.getpid()).encode())
        server = Server(channel, folder)
        cancel = CancelToken()
        while (message := _receive(channel)) is not None:
            kind, content = message[:1], message[1:]
            if kind == _CANCEL:
                cancel.cancel("the request was canceled")
            elif kind == _REPLY:
                server.replies.put(json.loads(content))
            else:
                cancel = CancelToken()
                server.replies = SimpleQueue()
                threading.Thread(
                    target=_work, args=(server, json.loads(content), work, cancel, memory), daemon=True
                ).start()
    finally:
        # Without finalizing the interpreter, because a thread may still run.
        sys.stderr.flush()
        os._exit(0)


class Server:
    """The server, seen from a worker.

    folder    folder for the files of the worker
    replies   replies to requests of the current query
    """

    def __init__(self, channel: socket.socket, folder: str) -> None:
        self.folder = folder
        self.replies: SimpleQueue[dict[str, str]] = SimpleQueue()
        self._channel = channel
        self._sending = threading.Lock()
        self._asking = threading.Lock()

    def description(self) -> bytes:
        """Return the server's description of the data."""
        return Path(self.folder, _DESCRIPTION).read_bytes()

    def fetch(self, request: dict[str, Any]) -> str:
        """Request rows from the server; returns the path of the file that it writes."""
        with cancellation.hold_lock(self._asking):
            self.send(_ASKED + json.dumps(request).encode())
            while True:
                cancellation.check_canceled()
                try:
                    reply = self.replies.get(timeout=_LOOK_S)
                except Empty:
                    continue
                if "error" in reply:
                    raise QueryError(f"rows of {request['name']} cannot be read: {reply['error']}")
                return reply["path"]

    def send(self, message: bytes) -> None:
        with self._sending:
            _send(self._channel, message)


def _work(server: Server, request: dict[str, Any], work: Work, cancel: CancelToken, memory: int) -> None:
    try:
        with cancel.current():
            response = work(request, server)
        reusable = memory_limits.memory_used() < _FULL * memory
        server.send(b"%d %d %d\n" % (response.status, response.problems, reusable) + response.body)
    except BaseException:
        # No memory even for the response: the server detects the end of this process.
        os._exit(1)
