"""Questions in the user's own SQL, and scenarios of models, each in a process that can be ended.

A statement may fold a constant for hours, or build a value of gigabytes, where the engine neither looks for
an interrupt nor counts memory. So it runs in another process: with a bound on its memory, and killed if it
does not end when it is canceled. These processes have the opened inputs, but no lock, table or connection in
common with the server. They are forked from one that only waits, made while the server has a single thread.

Of data that change, a process gets a description and then asks the server for what it does not find on disk.
It answers for these data only: when the server closes them, or has newer ones, it is ended.
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
from typing import Any, NoReturn, Protocol

from msgspec import Struct, field

from zlens.engine import cancellation, memory_limits
from zlens.engine.cancellation import CancelToken
from zlens.errors import CanceledError, QueryError, ZlensError
from zlens.server.current_user import USER
from zlens.server.limits import RequestLimits

#: Questions answered at a time; others wait for their turn.
MAX_WORKERS = 3
#: Seconds that a canceled question has to end before its process is killed.
_PATIENCE_S = 0.5
#: How often those who wait look whether they are canceled.
_LOOK_S = 0.05
#: A process is not used again if the tables and values it kept take more than this part of its memory.
_FULL = 0.6
#: Status of an answer that the data of a process are not there any more.
GONE = 0
_LENGTH = struct.Struct(">Q")
#: Messages to a process: to cancel its work, a question, and the answer to what it asked itself.
_CANCEL, _QUESTION, _REPLY = b"C", b"Q", b"R"
#: Message of a process: what it asks.
_ASKED = b"?"
#: The file in a process's folder that describes its data.
_DESCRIPTION = "description"
_LONGEST_NAME = 4096
_GB = 1024**3


class WorkerResponse(Struct, frozen=True):
    """A response that another process has written; `problems`: how many it knows of."""

    status: int
    problems: int
    body: bytes


class Data(Protocol):
    """Data that change, as they are now."""

    def description(self) -> bytes:
        """What a process needs to know of them."""
        ...

    def write(self, request: dict[str, Any], path: str) -> None:
        """Write what a process asks for into a file."""
        ...


class GoneError(QueryError):
    """The data of a question are no longer there; the server may have newer ones."""


#: Answers a request, whatever happens.
Work = Callable[[dict[str, Any], "Server"], WorkerResponse]


class _QueuedQuery(Struct, eq=False):
    """A question that waits for its turn, or has it."""

    user: str | None
    began: threading.Event = field(default_factory=threading.Event)


class SqlWorkers:
    """At most COUNT processes that answer, forked when needed and kept for later questions.

    One user has one of them at a time: their questions take no more memory together than one, and keep
    nobody else waiting.
    """

    def __init__(
        self, work: Work, closing: socket.socket | None = None, limits: RequestLimits | None = None
    ) -> None:
        """`closing`: a socket that these processes must not keep open. All take COUNT times the memory."""
        memory = self._memory = (limits or RequestLimits()).memory
        self._folder = tempfile.mkdtemp(prefix="zlens-")
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
        """End all processes and remove what they spilled."""
        with self._guard:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        shutil.rmtree(self._folder, ignore_errors=True)

    def of(self, data: Data) -> ProcessesOf:
        """The processes that answer for data that change."""
        return ProcessesOf(self, data)

    def run_query(self, request: dict[str, Any], data: Data | None = None) -> WorkerResponse:
        """The answer of one of the processes; a Cancel ends it whatever it does.

        Raises GoneError if the data are not there any more.
        """
        with self._turn():
            process = self._take(data)
            try:
                return process.run_query(request)
            finally:
                if process.reusable:
                    with self._guard:
                        self._idle.append(process)
                else:
                    process.end()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for one of COUNT turns: first come, first served, but one at a time for each user."""
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
        """Give free turns to those who have waited longest and have none."""
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

    def end_idle(self, others: Callable[[Data | None], bool]) -> None:
        """End the processes without work whose data fulfill a condition."""
        with self._guard:
            ended = [process for process in self._idle if others(process.data)]
            self._idle = [process for process in self._idle if process not in ended]
        for process in ended:
            process.end()

    def _take(self, data: Data | None) -> _SqlWorker:
        """The process of these data used last, which has the most tables, or a new one."""
        # Those of other data would not be used again, and their memory counts.
        self.end_idle(lambda other: other is not data)
        while True:
            with self._guard:
                process = self._idle.pop() if self._idle else None
            if process is None:
                return self._fork(data)
            if process.data is data and not process.ended():
                return process
            process.end()

    def _fork(self, data: Data | None) -> _SqlWorker:
        folder = tempfile.mkdtemp(dir=self._folder)
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
                    "the process that answers questions has ended", cure="start the server again"
                ) from None
        return _SqlWorker(near, folder, self._memory, data)


class ProcessesOf:
    """The processes that answer for some data; the data are open as long as it is."""

    def __init__(self, processes: SqlWorkers, data: Data) -> None:
        self._processes, self._data = processes, data

    def run_query(self, request: dict[str, Any]) -> WorkerResponse:
        return self._processes.run_query(request, self._data)

    def close(self) -> None:
        self._processes.end_idle(lambda data: data is self._data)


class _SqlWorker:
    """One process, seen from the server.

    reusable   whether it may be asked again
    data       what it answers for, if that changes
    """

    def __init__(self, channel: socket.socket, folder: str, memory: int, data: Data | None) -> None:
        self.data = data
        self._channel = channel
        self._folder = folder
        self._memory = memory
        self._written = 0
        self.reusable = False
        number = self._received(None)
        self._pid = int(number) if number is not None else None

    def ended(self) -> bool:
        try:
            return self._channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def end(self) -> None:
        # Its number is its own as long as its channel is open.
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
        head, _, body = answer.partition(b"\n")
        status, problems, reusable = map(int, head.split())
        if status == GONE:
            raise GoneError(
                "the data changed while the query began", expected="newer data", cure="send the query again"
            )
        self.reusable = bool(reusable)
        return WorkerResponse(status, problems, body)

    def _reply(self, asked: dict[str, Any]) -> bytes:
        """Write what the process asks for: the file, or why there is none."""
        assert self.data is not None
        self._written += 1
        path = os.path.join(self._folder, f"{self._written}.parquet")
        try:
            self.data.write(asked, path)
        except CanceledError:
            raise
        except (ZlensError, OSError) as error:
            return json.dumps({"error": str(error)}).encode()
        return json.dumps({"path": path}).encode()

    def _cancel(self) -> None:
        """Give the process a moment to end its work, so that its tables remain for the next question."""
        try:
            _send(self._channel, _CANCEL)
            self._channel.settimeout(_PATIENCE_S)
            # What it asks for now, it no longer waits for.
            while (answer := _receive(self._channel)) is not None and answer.startswith(_ASKED):
                continue
            self.reusable = answer is not None
        except OSError:
            self.reusable = False
        finally:
            self._channel.settimeout(None)

    def _received(self, look: Callable[[], None] | None) -> bytes | None:
        """The next message; None if the process has ended."""
        if look is not None:
            # Not `select`, which takes no descriptors above 1,023: many clients may follow.
            arrived = select.poll()
            arrived.register(self._channel, select.POLLIN)
            while not arrived.poll(_LOOK_S * 1000):
                look()
        try:
            return _receive(self._channel)
        except OSError:
            return None


def _send(channel: socket.socket, message: bytes) -> None:
    channel.sendall(_LENGTH.pack(len(message)) + message)


def _receive(channel: socket.socket) -> bytes | None:
    """The next message; None at the end."""
    length = _read_exactly(channel, _LENGTH.size)
    return _read_exactly(channel, _LENGTH.unpack(length)[0]) if length is not None else None


def _read_exactly(channel: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        part = channel.recv(min(size - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return bytes(data)


# In the other processes ----------------------------------------------------------------------------


def _fork_server(control: socket.socket, work: Work, memory: int) -> NoReturn:
    """Main loop of the fork server: fork a worker for every channel it receives."""
    # Ctrl-C reaches all processes of a terminal; the server says when to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Nobody waits for those that have ended.
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
    """What a process that answers does, until the server closes its channel."""
    try:
        tempfile.tempdir = folder
        os.nice(5)
        # Where the system has too little memory for all, it ends this process before the server.
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
        # Without the end of the interpreter: a thread may still work.
        sys.stderr.flush()
        os._exit(0)


class Server:
    """The server, seen from a process that answers.

    folder    for files of the process
    replies   to what the current question asked
    """

    def __init__(self, channel: socket.socket, folder: str) -> None:
        self.folder = folder
        self.replies: SimpleQueue[dict[str, str]] = SimpleQueue()
        self._channel = channel
        self._sending = threading.Lock()
        self._asking = threading.Lock()

    def description(self) -> bytes:
        """What the server says of the data."""
        return Path(self.folder, _DESCRIPTION).read_bytes()

    def fetch(self, request: dict[str, Any]) -> str:
        """Ask for something that the server writes into a file, whose name is returned."""
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
            ready = work(request, server)
        reusable = memory_limits.memory_used() < _FULL * memory
        server.send(b"%d %d %d\n" % (ready.status, ready.problems, reusable) + ready.body)
    except BaseException:
        # Out of memory even for the answer: the server learns it from the end of this process.
        os._exit(1)
