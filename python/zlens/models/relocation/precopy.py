"""Guests that are relocated while they run: passes over their pages, and what share of the link each has.

The first pass sends every page that was ever touched, each further one what changed meanwhile; then the guest
stands still for the last passes. With V pages to send, a rate of B pages a second and a model of writes:

    T(i) = V(i) / B,   V(i+1) = changed(T(i)),   quiesce = V(last) / B + fixed time

Changes count from the beginning of a pass. Relocations at the same time have equal parts of the link.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from zlens.models.relocation.dirtying import Dirtying

#: Two moments this close together, in parts of the time itself, are one: what is ready in time is in time.
_SAME = 1e-9
COMPLETED, MAXTOTAL, MAXQUIESCE = 0, 4, 5


@dataclass(frozen=True, slots=True)
class Rules:
    """When a guest is stopped for its last passes.

    stop_pages      it is when so few pages are left
    live_least      passes while it runs that there are in any case (one with IMMEDIATE)
    passes_most     passes in all, those of the quiesce included
    quiesce_passes  passes while it stands still; the first of them sends what is left
    no_progress     it is when a pass leaves at least this part of what it sent; None: that is no reason
    """

    stop_pages: float
    live_least: int
    passes_most: int
    quiesce_passes: int
    no_progress: float | None = None


@dataclass(frozen=True, slots=True)
class Guest:
    """A relocation that is wanted. pages: ever touched. Times in seconds; math.inf is NOLIMIT."""

    name: str
    pages: float
    writes: Dirtying
    immediate: bool = False
    max_total: float = math.inf
    max_quiesce: float = math.inf
    setup: float = 0.0
    fixed: float = 0.0


@dataclass(slots=True)
class Pass:
    """One pass. quiesced: the guest stands still. whole: it was not cut short."""

    quiesced: bool
    begins: float
    seconds: float
    pages: float
    whole: bool = True


@dataclass(slots=True)
class Outcome:
    """What becomes of a relocation. Seconds since the first of all began.

    stopped_by      why the guest was stopped: "little left", "no progress", "passes", "IMMEDIATE"; or ""
    quiesce_needed  what the quiesce would take without MAXQUIESCE and MAXTOTAL; None where it never began
    """

    name: str
    begins: float
    ends: float = 0.0
    passes: list[Pass] = field(default_factory=list)
    quiesce: float = 0.0
    end_code: int = COMPLETED
    stopped_by: str = ""
    quiesce_needed: float | None = None

    @property
    def seconds(self) -> float:
        return self.ends - self.begins

    @property
    def pages(self) -> float:
        """Sent in all passes."""
        return math.fsum(one.pages for one in self.passes)


def relocate(
    guests: Sequence[Guest], rules: Rules, rate: float, *, at_once: int = 1, most_each: float = math.inf
) -> list[Outcome]:
    """What becomes of each guest.

    rate       pages a second that the link carries, above 0
    at_once    relocations at the same time: 1 is one after the other
    most_each  pages a second that one relocation sends at most, above 0
    """
    return _Run(guests, rules, rate, at_once, most_each).outcomes()


@dataclass(slots=True)
class _State:
    """A relocation that goes on."""

    guest: Guest
    outcome: Outcome
    target: float | None = None
    stopped_at: float | None = None
    left: float = 0.0
    over: bool = False


class _Run:
    """All relocations on one clock.

    `sent` is what a relocation would have sent that had sent all the time: all of them send alike, so a pass
    of V pages ends when `sent` is V further on, however many others come and go meanwhile.
    """

    def __init__(
        self, guests: Sequence[Guest], rules: Rules, rate: float, at_once: int, most_each: float
    ) -> None:
        self.rules, self.rate, self.most_each = rules, rate, most_each
        self.waiting = deque(_State(guest, Outcome(guest.name, 0.0)) for guest in guests)
        self.all = list(self.waiting)
        self.now = self.sent = 0.0
        self.senders = 0
        self.targets: list[tuple[float, int, _State]] = []
        self.timers: list[tuple[float, int, float, _State, str]] = []
        self.turns = 0
        for _ in range(min(at_once, len(self.waiting))):
            self._begin()

    def outcomes(self) -> list[Outcome]:
        while self._step():
            pass
        return [state.outcome for state in self.all]

    def _each(self) -> float:
        """Pages a second that each sends now."""
        return min(self.most_each, self.rate / max(1, self.senders))

    def _step(self) -> bool:
        """To the next thing that happens; False where nothing more does."""
        while self.targets and self.targets[0][2].target != self.targets[0][0]:
            heapq.heappop(self.targets)
        while self.timers and self.timers[0][3].over:
            heapq.heappop(self.timers)
        sent_at = math.inf
        if self.targets:
            sent_at = self.now + max(0.0, self.targets[0][0] - self.sent) / self._each()
        timer_at = self.timers[0][0] if self.timers else math.inf
        if math.isinf(min(sent_at, timer_at)):
            return False
        if sent_at <= timer_at:
            target, _, state = heapq.heappop(self.targets)
            self.now, self.sent = max(self.now, sent_at), target
            self._pass_ends(state)
        else:
            _, _, at, state, what = heapq.heappop(self.timers)
            self.sent += self._each() * max(0.0, at - self.now)
            self.now = max(self.now, at)
            self._timer(state, what)
        return True

    def _begin(self) -> None:
        state = self.waiting.popleft()
        state.outcome.begins = self.now
        self._after(state.guest.setup, state, "set up")
        self._after(state.guest.max_total, state, "maxtotal")

    def _after(self, seconds: float, state: _State, what: str) -> None:
        # What is ready in time is in time: limits come behind everything else of their moment.
        self.turns += 1
        at = self.now + seconds
        if not math.isinf(at):
            late = _SAME * max(1.0, at) if what.startswith("max") else 0.0
            heapq.heappush(self.timers, (at + late, self.turns, at, state, what))

    def _timer(self, state: _State, what: str) -> None:
        if what == "set up":
            self._send(state, state.guest.pages, quiesced=False)
        elif what == "fixed":
            self._end(state, COMPLETED)
        else:
            self._end(state, MAXTOTAL if what == "maxtotal" else MAXQUIESCE)

    def _send(self, state: _State, pages: float, *, quiesced: bool) -> None:
        state.outcome.passes.append(Pass(quiesced, self.now, 0.0, pages))
        state.target = self.sent + pages
        self.turns += 1
        self.senders += 1
        heapq.heappush(self.targets, (state.target, self.turns, state))

    def _pass_ends(self, state: _State) -> None:
        state.target = None
        self.senders -= 1
        done = state.outcome.passes[-1]
        done.seconds = self.now - done.begins
        if done.quiesced:
            more = self.rules.quiesce_passes - sum(one.quiesced for one in state.outcome.passes)
            # Nothing runs, so nothing has changed: these passes find nothing to send.
            state.outcome.passes += [Pass(True, self.now, 0.0, 0.0) for _ in range(more)]
            self._after(state.guest.fixed, state, "fixed")
            return
        left = state.guest.writes.changed(done.seconds)
        state.outcome.stopped_by = self._reason(state, left)
        if state.outcome.stopped_by:
            state.stopped_at = self.now
            self._after(state.guest.max_quiesce, state, "maxquiesce")
        self._send(state, left, quiesced=bool(state.outcome.stopped_by))

    def _reason(self, state: _State, left: float) -> str:
        """Why the guest is stopped now; "" where it runs on."""
        rules, live = self.rules, len(state.outcome.passes)
        if state.guest.immediate:
            return "IMMEDIATE"
        if live >= rules.live_least:
            if left <= rules.stop_pages:
                return "little left"
            if rules.no_progress is not None and left >= rules.no_progress * state.outcome.passes[-1].pages:
                return "no progress"
        return "passes" if live >= rules.passes_most - rules.quiesce_passes else ""

    def _end(self, state: _State, code: int) -> None:
        outcome, each = state.outcome, self._each()
        state.over = True
        outcome.end_code, outcome.ends = code, self.now
        missing = 0.0
        if state.target is not None:
            cut = outcome.passes[-1]
            missing = max(0.0, state.target - self.sent)
            cut.seconds, cut.pages, cut.whole = self.now - cut.begins, cut.pages - missing, False
            state.target = None
            self.senders -= 1
        if state.stopped_at is not None:
            outcome.quiesce = self.now - state.stopped_at
            rest = missing / each + state.guest.fixed
            if code != COMPLETED and outcome.passes[-1].whole:
                # Only the fixed time was left.
                sent_by = max(one.begins + one.seconds for one in outcome.passes)
                rest = state.guest.fixed - (self.now - sent_by)
            outcome.quiesce_needed = outcome.quiesce + (rest if code != COMPLETED else 0.0)
        if self.waiting:
            self._begin()
