"""Policies of the user: a Python class that decides in place of CP.

A class has at least one of the methods of `CustomPolicy`; CP decides the rest. Loading it runs its file.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import perf_counter
from types import ModuleType
from typing import Any, Protocol

from msgspec import Struct

from zlens.errors import InputError, QueryError


class VirtualCpu(Struct, frozen=True):
    """A virtual CPU that is ready to run.

    part       processors that its share entitles it to
    waiting    seconds since it is ready
    used       seconds of CPU time since its logon
    deadline   seconds to its deadline, negative if it is over
    processor  the processor that it ran on last
    """

    user: str
    number: int
    part: float
    waiting: float
    used: float
    deadline: float
    processor: int


class ParkableCores(Struct, frozen=True):
    """Online cores of one type, which run in the order high, medium, low. Power is in percent of a core.

    weight, entitlement, used   of the partition; used: in the last two seconds
    cap                         None without one
    others                      weight, entitlement and use of each other partition
    """

    type: str
    highs: int
    mediums: int
    lows: int
    weight: float
    entitlement: float
    used: float
    cap: float | None
    others: tuple[tuple[float, float, float], ...]


class FrameGroup(Struct, frozen=True):
    """Pages in frames of one address space that were referenced last at the same time.

    space    the user, VDISK or saved segment
    age      seconds since the reference
    changed  those of the pages that must be written before their frames are available
    """

    space: str
    age: float
    pages: float
    changed: float


class CustomPolicy(Protocol):
    """A policy; it is created as CLASS(random) for each z/VM system.

    random is a random.Random of the scenario's seed: with no other source of chance, a seed has one history.
    now: seconds since the start of what is recorded.
    """

    def schedule(self, ready: Sequence[VirtualCpu], processor: int, now: float) -> VirtualCpu:
        """Scheduler: return which of `ready` a processor runs next. No virtual CPU is preempted."""

    def dispatch(self, virtual_cpu: VirtualCpu, idle: Sequence[int], now: float) -> int:
        """Dispatcher: return which of the idle processors a virtual CPU goes to."""

    def unpark(self, cores: ParkableCores, now: float) -> int:
        """Unparking: return the number of cores that run; called every two seconds."""

    def select(self, groups: Sequence[FrameGroup], wanted: float, now: float) -> Sequence[FrameGroup]:
        """Page selection: return groups in the order in which CP takes their pages."""


#: Methods of a policy in the order of the simulator's kinds of decisions, and what each decides.
METHODS = ("schedule", "dispatch", "unpark", "select")
_FIX = "correct the policy"
#: Seconds that a decision may take when an interrupt has come, and between two looks at it.
_PATIENCE_S = 1.0
_LOOK_S = 0.1


class DecisionCost(Struct, frozen=True):
    """Decisions of one method in a simulation, and the seconds they took."""

    system: str
    method: str
    decisions: int
    seconds: float


class PolicySource(Struct, frozen=True):
    """A policy to be loaded: a class in the text of a file, or an object of the calling program."""

    file: str
    name: str
    text: str
    factory: Callable[[Random], Any] | None = None

    @property
    def digest(self) -> str:
        """Everything that the policy depends on, as far as it is in its file."""
        return f"{self.name}\0{self.text}"

    def create(self, seed: int, system: str) -> Any:
        """Return the policy of a system; InputError with file and line if its code fails."""
        with _policy_errors(self.file):
            factory = self._load() if self.factory is None else self.factory
            policy = factory(Random(f"{seed}/{system}/policy"))
        if not any(callable(getattr(policy, method, None)) for method in METHODS):
            raise InputError(f"{self.name} decides nothing", file=self.file,
                             expected=f"a method {', '.join(METHODS[:-1])} or {METHODS[-1]}")  # fmt: skip
        return policy

    def _load(self) -> Callable[[Random], Any]:
        # Classes of a module that is not registered have no dataclasses.
        module = ModuleType(f"zlens_policy_{Path(self.file).stem}")
        module.__file__ = self.file
        sys.modules[module.__name__] = module
        exec(compile(self.text, self.file, "exec"), module.__dict__)
        found: Callable[[Random], Any] | None = getattr(module, self.name, None)
        if found is None or not callable(found):
            classes = [name for name, value in vars(module).items() if isinstance(value, type)]
            raise InputError(
                f"there is no class {self.name}", file=self.file,
                expected=f"one of {', '.join(classes)}" if classes else None,
            )  # fmt: skip
        return found


def find(policy: str | Callable[[Random], Any] | None) -> PolicySource | None:
    """Return a policy by FILE.py:CLASS, or a class or function of the calling program; None for None."""
    if policy is None:
        return None
    if callable(policy):
        code = getattr(policy, "__init__", policy)
        file = getattr(getattr(code, "__code__", None), "co_filename", "")
        text = Path(file).read_text(encoding="utf-8") if os.path.isfile(file) else ""
        return PolicySource(file, getattr(policy, "__name__", str(policy)), text, policy)
    file, _, name = policy.rpartition(":")
    if not file or not name.isidentifier():
        raise QueryError(f"the policy is {policy!r}", expected="FILE.py:CLASS")
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the policy cannot be read: {error}", file=file, cure="name its file") from None
    return PolicySource(os.fspath(file), name, text)


@contextmanager
def _policy_errors(file: str) -> Iterator[None]:
    """Turn what a policy raises into an InputError with its file and line."""
    try:
        yield
    except InputError:
        raise
    except SyntaxError as error:
        message = f"line {error.lineno}: {error.msg}"
        raise InputError(message, file=error.filename or file, cure=_FIX) from None
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        *_, frame = [frame for frame in frames if frame.filename == file] or frames
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        message = f"line {frame.lineno}, in {frame.name}: {what}"
        raise InputError(message, file=frame.filename, cure=_FIX) from None


class PolicyCalls:
    """Calls the methods of a policy for the simulator, with the names of a system's subjects.

    A decision that is not one of those offered is an InputError.
    """

    def __init__(
        self, source: PolicySource, seed: int, system: Mapping[str, Any], types: Sequence[str]
    ) -> None:
        self._source, self._types = source, types
        self._policy = source.create(seed, system["name"])
        self._users = [user["name"] for user in system["users"]]
        self._spaces = [*self._users, *(space["name"] for space in system["spaces"])]
        self._system = system["name"]
        self.decides = [callable(getattr(self._policy, method, None)) for method in METHODS]
        self._costs = {method: [0, 0.0] for method, own in zip(METHODS, self.decides, strict=True) if own}
        #: Start of the decision that is being taken.
        self.started: float | None = None

    @property
    def costs(self) -> tuple[DecisionCost, ...]:
        """Return the decisions and their time by method."""
        return tuple(
            DecisionCost(self._system, method, int(count), seconds)
            for method, (count, seconds) in self._costs.items()
        )

    def choose(self, now: float, processor: int, rows: Sequence[tuple[Any, ...]]) -> int:
        ready = [self._virtual_cpu(row) for row in rows]
        decided = self._ask("schedule", ready, processor, now)
        return self._index("schedule", ready, decided)

    def place(self, now: float, row: tuple[Any, ...], idle: list[int]) -> int:
        decided = self._ask("dispatch", self._virtual_cpu(row), list(idle), now)
        return self._index("dispatch", idle, decided)

    def unpark(self, now: float, row: tuple[Any, ...], others: Sequence[tuple[float, float, float]]) -> int:
        kind, *amounts = row
        cores = ParkableCores(*(self._types[kind], *amounts, tuple(others)))
        count = self._ask("unpark", cores, now)
        online = cores.highs + cores.mediums + cores.lows
        if not isinstance(count, int) or not min(1, online) <= count <= online:
            raise self._refused("unpark", count, f"a number of cores, {min(1, online)} to {online}")
        return count

    def select(self, now: float, wanted: float, rows: Sequence[tuple[int, float, float, float]]) -> list[int]:
        groups = [FrameGroup(self._spaces[space], *amounts) for space, *amounts in rows]
        index = {id(group): at for at, group in enumerate(groups)}
        order = self._ask("select", list(groups), wanted, now)
        try:
            return [index[id(group)] for group in order]
        except (TypeError, KeyError):
            raise self._refused("select", order, "a list of the groups") from None

    def _virtual_cpu(self, row: tuple[Any, ...]) -> VirtualCpu:
        return VirtualCpu(self._users[row[0]], *row[1:])

    def _ask(self, method: str, *arguments: Any) -> Any:
        started = self.started = perf_counter()
        try:
            with _policy_errors(self._source.file):
                decided = getattr(self._policy, method)(*arguments)
        finally:
            self.started = None
        cost = self._costs[method]
        cost[0] += 1
        cost[1] += perf_counter() - started
        return decided

    def _index(self, method: str, offered: Sequence[Any], decided: Any) -> int:
        for at, one in enumerate(offered):
            if one is decided or one == decided:
                return at
        raise self._refused(method, decided, "one of those offered")

    def _refused(self, method: str, decided: Any, expected: str) -> InputError:
        text = str(decided)
        text = text if len(text) <= 60 else f"{text[:60]}..."
        message = f"{self._source.name}.{method} returned {text}"
        return InputError(message, file=self._source.file, expected=expected, cure=_FIX)


@contextmanager
def interruptible(policies: Sequence[PolicyCalls], interrupted: Callable[[], bool]) -> Iterator[None]:
    """Break off a decision of this thread with KeyboardInterrupt if it does not end after an interrupt.

    An interrupt ends a simulation after an interval, which never comes if a policy is in an endless loop.
    """
    deciding, over = threading.get_ident(), threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_S):
            latest = perf_counter() - _PATIENCE_S
            if interrupted() and any(one.started is not None and one.started < latest for one in policies):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(deciding), ctypes.py_object(KeyboardInterrupt)
                )

    watcher = threading.Thread(target=watch, daemon=True)
    if policies:
        watcher.start()
    try:
        yield
    finally:
        over.set()
        if policies:
            watcher.join()
