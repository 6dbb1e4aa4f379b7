"""Relocation of running guests: passes over their pages, and each guest's share of the link.

The first pass sends every page ever touched, each further pass the pages changed in the previous one; then
the guest is quiesced for the last passes. With V pages to send at B pages per second and a model of writes:

    T(i) = w + V(i) / B,   V(i+1) = changed(T(i)),   quiesce = w + V(last) / B + fixed time

w is the time to walk the page tables, in the first pass also that to read what is not in frames. Changes
count from the start of a pass. Concurrent relocations share the link equally, which carries more for several
of them than for one.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct, field

from zlens.models.relocation.dirtying import WriteModel

#: Times with a smaller relative difference count as equal: an event at its limit is in time.
_SAME = 1e-9
COMPLETED, MAXTOTAL, MAXQUIESCE = 0, 4, 5


class StopRules(Struct, frozen=True):
    """Rules for stopping a guest for its last passes.

    stop_pages      stop when no more pages than this are left
    live_least      minimum passes while it runs (one with IMMEDIATE)
    passes_most     maximum passes in total, including the quiesce
    quiesce_passes  passes during the quiesce; the first of them sends what is left
    no_progress     stop when a pass leaves at least this part of its pages; None: never
    """

    stop_pages: float
    live_least: int
    passes_most: int
    quiesce_passes: int
    no_progress: float | None = None


class RelocatingGuest(Struct, frozen=True):
    """A guest to relocate. pages: ever touched. Times in seconds; math.inf is NOLIMIT.

    walk     before each pass; page_in: before the first one, in addition
    """

    name: str
    pages: float
    writes: WriteModel
    immediate: bool = False
    max_total: float = math.inf
    max_quiesce: float = math.inf
    setup: float = 0.0
    fixed: float = 0.0
    walk: float = 0.0
    page_in: float = 0.0


class CopyPass(Struct):
    """One pass. quiesced: the guest is stopped. whole: the pass was complete."""

    quiesced: bool
    begins: float
    seconds: float
    pages: float
    whole: bool = True


class RelocationOutcome(Struct):
    """Result of a relocation. Times are seconds since the first relocation began.

    stopped_by      why the guest was stopped: "little left", "no progress", "passes", "IMMEDIATE"; or ""
    quiesce_needed  length of the quiesce without MAXQUIESCE and MAXTOTAL; None if it never began
    """

    name: str
    begins: float
    ends: float = 0.0
    passes: list[CopyPass] = field(default_factory=list)
    quiesce: float = 0.0
    end_code: int = COMPLETED
    stopped_by: str = ""
    quiesce_needed: float | None = None

    @property
    def seconds(self) -> float:
        return self.ends - self.begins

    @property
    def pages(self) -> float:
        """Pages sent in all passes."""
        return math.fsum(pass_.pages for pass_ in self.passes)


def relocate(
    guests: Sequence[RelocatingGuest],
    rules: StopRules,
    rate: float,
    *,
    at_once: int = 1,
    most_each: float = math.inf,
    several: float = 1.0,
) -> list[RelocationOutcome]:
    """Relocate the guests and return their outcomes.

    rate       pages per second that the link carries, above 0
    at_once    concurrent relocations; 1: in sequence
    most_each  maximum pages per second of one relocation, above 0
    several    what several relocations send together, of `rate`, which is that of one
    """
    states = [_State(guest, RelocationOutcome(guest.name, 0.0)) for guest in guests]
    run = _Run(rules, rate, min(most_each, rate), several, deque(states))
    for _ in range(min(at_once, len(states))):
        run.begin()
    while run.step():
        pass
    return [state.outcome for state in states]


class _State(Struct):
    """A relocation in progress."""

    guest: RelocatingGuest
    outcome: RelocationOutcome
    target: float | None = None
    walked_at: float | None = None
    stopped_at: float | None = None
    left: float = 0.0
    over: bool = False


class _Run(Struct):
    """All relocations on one clock.

    `sent` is the number of pages that one relocation would have sent by always sending: all send at the same
    rate, so a pass of V pages ends when `sent` has advanced by V, regardless of the other relocations.
    """

    rules: StopRules
    rate: float
    most_each: float
    several: float
    waiting: deque[_State]
    now: float = 0.0
    sent: float = 0.0
    senders: int = 0
    turns: int = 0
    targets: list[tuple[float, int, _State]] = field(default_factory=list)
    timers: list[tuple[float, int, float, _State, Callable[[_State], None]]] = field(default_factory=list)

    def _rate_per_relocation(self) -> float:
        """Return current pages per second of each relocation."""
        carried = self.rate * self.several if self.senders > 1 else self.rate
        return min(self.most_each, carried / max(1, self.senders))

    def step(self) -> bool:
        """Advance to the next event; return False if there is none."""
        while self.targets and self.targets[0][2].target != self.targets[0][0]:
            heapq.heappop(self.targets)
        while self.timers and self.timers[0][3].over:
            heapq.heappop(self.timers)
        sent_at = math.inf
        if self.targets:
            sent_at = self.now + max(0.0, self.targets[0][0] - self.sent) / self._rate_per_relocation()
        timer_at = self.timers[0][0] if self.timers else math.inf
        if math.isinf(min(sent_at, timer_at)):
            return False
        if sent_at <= timer_at:
            target, _, state = heapq.heappop(self.targets)
            self.now, self.sent = max(self.now, sent_at), target
            self._pass_ends(state)
        else:
            _, _, due, state, event = heapq.heappop(self.timers)
            self.sent += self._rate_per_relocation() * max(0.0, due - self.now)
            self.now = max(self.now, due)
            event(state)
        return True

    def begin(self) -> None:
        state = self.waiting.popleft()
        state.outcome.begins = self.now
        set_up = partial(self._walk, pages=state.guest.pages, quiesced=False)
        self._schedule(state.guest.setup, state, set_up)
        self._schedule(state.guest.max_total, state, partial(self._end, code=MAXTOTAL), limits=True)

    def _schedule(
        self, seconds: float, state: _State, event: Callable[[_State], None], *, limits: bool = False
    ) -> None:
        # An event at its limit is in time: limits follow all other events of the same time.
        self.turns += 1
        due = self.now + seconds
        if not math.isinf(due):
            late = _SAME * max(1.0, due) if limits else 0.0
            heapq.heappush(self.timers, (due + late, self.turns, due, state, event))

    def _walk(self, state: _State, pages: float, *, quiesced: bool) -> None:
        read = 0.0 if state.outcome.passes else state.guest.page_in
        state.outcome.passes.append(CopyPass(quiesced, self.now, 0.0, pages))
        state.walked_at = self.now + state.guest.walk + read
        self._schedule(state.guest.walk + read, state, self._send)

    def _send(self, state: _State) -> None:
        pages = state.outcome.passes[-1].pages
        state.walked_at = None
        state.target = self.sent + pages
        self.turns += 1
        self.senders += 1
        heapq.heappush(self.targets, (state.target, self.turns, state))

    def _pass_ends(self, state: _State) -> None:
        state.target = None
        self.senders -= 1
        ended = state.outcome.passes[-1]
        ended.seconds = self.now - ended.begins
        if ended.quiesced:
            empty_passes = self.rules.quiesce_passes - sum(pass_.quiesced for pass_ in state.outcome.passes)
            # The guest is stopped, so nothing has changed: these passes have nothing to send.
            state.outcome.passes += [CopyPass(True, self.now, 0.0, 0.0) for _ in range(empty_passes)]
            self._schedule(state.guest.fixed, state, partial(self._end, code=COMPLETED))
            return
        remaining = state.guest.writes.changed(ended.seconds)
        state.outcome.stopped_by = self._stop_reason(state, remaining)
        if state.outcome.stopped_by:
            state.stopped_at = self.now
            ended_by_limit = partial(self._end, code=MAXQUIESCE)
            self._schedule(state.guest.max_quiesce, state, ended_by_limit, limits=True)
        self._walk(state, remaining, quiesced=bool(state.outcome.stopped_by))

    def _stop_reason(self, state: _State, remaining: float) -> str:
        """Return why the guest is stopped; "" if it continues to run."""
        rules, live = self.rules, len(state.outcome.passes)
        if state.guest.immediate:
            return "IMMEDIATE"
        if live >= rules.live_least:
            if remaining <= rules.stop_pages:
                return "little left"
            sent = state.outcome.passes[-1].pages
            if rules.no_progress is not None and remaining >= rules.no_progress * sent:
                return "no progress"
        return "passes" if live >= rules.passes_most - rules.quiesce_passes else ""

    def _end(self, state: _State, code: int) -> None:
        outcome, rate_each = state.outcome, self._rate_per_relocation()
        state.over = True
        outcome.end_code, outcome.ends = code, self.now
        missing = walk_s = 0.0
        if state.target is not None or state.walked_at is not None:
            last_pass = outcome.passes[-1]
            if state.walked_at is not None:
                missing, walk_s = last_pass.pages, state.walked_at - self.now
            elif state.target is not None:
                missing = max(0.0, state.target - self.sent)
                self.senders -= 1
            last_pass.seconds, last_pass.whole = self.now - last_pass.begins, False
            last_pass.pages -= missing
            state.target = None
        if state.stopped_at is not None:
            outcome.quiesce = self.now - state.stopped_at
            remaining_s = walk_s + missing / rate_each + state.guest.fixed
            if code != COMPLETED and outcome.passes[-1].whole:
                # Only the fixed time was left.
                sent_by = max(pass_.begins + pass_.seconds for pass_ in outcome.passes)
                remaining_s = state.guest.fixed - (self.now - sent_by)
            outcome.quiesce_needed = outcome.quiesce + (remaining_s if code != COMPLETED else 0.0)
        if self.waiting:
            self.begin()
