"""The rolling average of MSU over four hours, as WLM keeps it, from the use of intervals."""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct, field

from zlens.models.published_numbers import number

#: Length of the average, in seconds, and of one of WLM's samples, after which it has a new value.
SAMPLE_S = number("wlm_sample_s")
WINDOW_S = number("wlm_samples") * SAMPLE_S
#: Fraction of the window that may be unknown: intervals end some milliseconds apart.
_UNKNOWN = 0.002


class RollingMean(Struct, frozen=True):
    """A rolling average at a time.

    value       mean over the window; None if the use is not known for all of it
    since_ipl   whether the window begins before the IPL: the time before counts as zero
    """

    value: float | None
    since_ipl: bool


class RollingAverage(Struct):
    """Averages the use of intervals over the window before a time. Times are seconds since any epoch.

    Intervals are added in order of time. Where use is unknown for a part of the window, so is the average;
    the time before an IPL counts as zero.
    """

    #: Ends of known intervals, and sums of their use and length up to each.
    _ends: list[float] = field(default_factory=list)
    _sums: list[float] = field(default_factory=list)
    _known: list[float] = field(default_factory=list)
    _rates: list[tuple[float, float]] = field(default_factory=list)
    _ipl: float | None = None

    def restart(self, time: float) -> None:
        """Record an IPL: what was used before counts as zero."""
        self._ipl = time

    def add(self, end: float, seconds: float, rate: float) -> None:
        """Add the use of an interval: `rate` on average over its `seconds`."""
        # Overlapping parts of consecutive intervals count once.
        start = max(end - seconds, self._ends[-1]) if self._ends else end - seconds
        if end <= start:
            return
        self._sums.append((self._sums[-1] if self._sums else 0.0) + rate * (end - start))
        self._known.append((self._known[-1] if self._known else 0.0) + end - start)
        self._rates.append((start, rate))
        self._ends.append(end)

    def mean(self, time: float, window_s: float = WINDOW_S) -> RollingMean:
        """Return the average over the window that ends at a time."""
        start = time - window_s
        ipl = self._ipl if self._ipl is not None and start < self._ipl <= time else None
        first = start if ipl is None else ipl
        used, known = (
            after - before for after, before in zip(self._until(time), self._until(first), strict=True)
        )
        zero = first - start
        if known + zero < (1 - _UNKNOWN) * window_s:
            return RollingMean(None, ipl is not None)
        return RollingMean(used / (known + zero), ipl is not None)

    def _until(self, time: float) -> tuple[float, float]:
        """Return use and known time until a time."""
        index = bisect_right(self._ends, time)
        used, known = (self._sums[index - 1], self._known[index - 1]) if index else (0.0, 0.0)
        if index < len(self._ends):
            start, rate = self._rates[index]
            part = max(0.0, time - start)
            used, known = used + rate * part, known + part
        return used, known
