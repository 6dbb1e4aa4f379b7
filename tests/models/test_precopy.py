"""Tests of relocation passes with closed forms, single writes and a clock of small steps."""

from __future__ import annotations

import itertools
import math

import pytest

from iterations import draws
from zlens.models.relocation import dirtying, precopy
from zlens.models.relocation.precopy import RelocatingGuest, RelocationOutcome, StopRules

ALL_PASSES = StopRules(stop_pages=0.3, live_least=1, passes_most=99, quiesce_passes=0)


def live(one: RelocationOutcome) -> list[float]:
    return [each.pages for each in one.passes if not each.quiesced]


def test_geometric_series() -> None:
    """V(i) = M (D/B)^i, pre-copy in Clark et al., Live Migration of Virtual Machines: 8, then half."""
    (one,) = precopy.relocate(
        [RelocatingGuest("A", 8.0, dirtying.SequentialWrites(99, 0.5))], ALL_PASSES, 1.0
    )
    assert live(one) == pytest.approx([8, 4, 2, 1, 0.5], abs=1e-9)
    assert one.pages == pytest.approx(15.75, abs=1e-9)
    assert one.quiesce == pytest.approx(0.25, abs=1e-9)
    assert one.seconds == pytest.approx(15.75, abs=1e-9)
    assert (one.stopped_by, one.end_code) == ("little left", 0)


def test_pages_changing_faster_than_sent() -> None:
    """Every pass sends the working set again, up to the maximum number of passes."""
    rules = StopRules(stop_pages=0.3, live_least=1, passes_most=8, quiesce_passes=2)
    (one,) = precopy.relocate([RelocatingGuest("A", 8.0, dirtying.SequentialWrites(4, 2.0))], rules, 1.0)
    assert [each.pages for each in one.passes] == pytest.approx([8, 4, 4, 4, 4, 4, 4, 0], abs=1e-9)
    assert (one.pages, one.quiesce, one.seconds) == pytest.approx((32, 4, 32), abs=1e-9)
    assert one.stopped_by == "passes"


def test_immediate() -> None:
    """One pass, then all pages changed since, with the guest quiesced."""
    rules = StopRules(stop_pages=0.3, live_least=2, passes_most=8, quiesce_passes=2)
    (one,) = precopy.relocate(
        [RelocatingGuest("A", 8.0, dirtying.SequentialWrites(4, 2.0), immediate=True)], rules, 1.0
    )
    assert (one.pages, one.quiesce, one.seconds) == pytest.approx((12, 4, 12), abs=1e-9)
    assert (len(one.passes), one.stopped_by) == (3, "IMMEDIATE")


def test_series_of_any_ratio() -> None:
    chance = draws(7)
    for _ in range(300):
        memory, rate = chance.uniform(1, 1e6), chance.uniform(1, 1e5)
        ratio, most = chance.uniform(0.01, 0.99), chance.randint(2, 12)
        rules = StopRules(0.0, 1, most + 1, 1)
        guest = RelocatingGuest("A", memory, dirtying.SequentialWrites(math.inf, ratio * rate))
        (one,) = precopy.relocate([guest], rules, rate)
        total = memory * (1 - ratio ** (most + 1)) / (1 - ratio)
        assert one.pages == pytest.approx(total, rel=1e-9)
        assert one.seconds == pytest.approx(total / rate, rel=1e-9)
        assert one.quiesce == pytest.approx(memory * ratio**most / rate, rel=1e-6)


def test_stalled_passes_end() -> None:
    rules = StopRules(0.0, 1, 50, 1, no_progress=0.9)
    (one,) = precopy.relocate([RelocatingGuest("A", 100.0, dirtying.uniform(60, 80.0))], rules, 50.0)
    sent = live(one)
    assert one.stopped_by == "no progress"
    assert one.passes[-1].pages >= 0.9 * sent[-1]
    assert all(later < 0.9 * earlier for earlier, later in itertools.pairwise(sent))


def test_stop_threshold_holds_after_minimum_passes() -> None:
    rules = StopRules(stop_pages=2.0, live_least=3, passes_most=9, quiesce_passes=1)
    (one,) = precopy.relocate([RelocatingGuest("A", 16.0, dirtying.SequentialWrites(99, 0.5))], rules, 1.0)
    assert live(one) == [16, 8, 4]
    assert one.stopped_by == "little left"
    (one,) = precopy.relocate([RelocatingGuest("A", 2.0, dirtying.SequentialWrites(99, 0.5))], rules, 1.0)
    assert len(live(one)) == 3


@pytest.mark.parametrize(
    ("limit", "code", "seconds", "quiesce", "moved"),
    [
        ({"max_quiesce": 4.5}, 0, 12.5, 4.5, 12.0),
        ({"max_quiesce": 4.25}, 5, 12.25, 4.25, 12.0),
        ({"max_quiesce": 1.0}, 5, 9.0, 1.0, 9.0),
        ({"max_quiesce": 0.0}, 5, 8.0, 0.0, 8.0),
        ({"max_total": 12.5}, 0, 12.5, 4.5, 12.0),
        ({"max_total": 10.0}, 4, 10.0, 2.0, 10.0),
        ({"max_total": 5.0}, 4, 5.0, 0.0, 5.0),
        ({"max_total": 0.5, "setup": 1.0}, 4, 0.5, 0.0, 0.0),
        ({"max_total": 10.0, "max_quiesce": 1.0}, 5, 9.0, 1.0, 9.0),
        ({"max_total": 8.5, "max_quiesce": 1.0}, 4, 8.5, 0.5, 8.5),
    ],
)
def test_limits(limit: dict[str, float], code: int, seconds: float, quiesce: float, moved: float) -> None:
    """A relocation that ends at its limit completes; a canceled one counts the pages sent."""
    rules = StopRules(stop_pages=0.3, live_least=2, passes_most=8, quiesce_passes=2)
    guest = RelocatingGuest("A", 8.0, dirtying.SequentialWrites(4, 2.0), immediate=True, fixed=0.5, **limit)
    (one,) = precopy.relocate([guest], rules, 1.0)
    assert one.end_code == code
    assert (one.seconds, one.quiesce, one.pages) == pytest.approx((seconds, quiesce, moved), abs=1e-6)
    if one.stopped_by:
        assert one.quiesce_needed == pytest.approx(4.5, abs=1e-6)
    else:
        assert one.quiesce_needed is None


def test_limits_met_exactly() -> None:
    """A limit equal to the time of a relocation never cancels it, despite rounding of floats."""
    chance = draws(11)
    for _ in range(300):
        writes = dirtying.uniform(chance.uniform(1, 900), chance.uniform(0.1, 50))
        fixed, setup = chance.choice((0.0, 0.3)), chance.choice((0.0, 0.7))
        rules, rate = StopRules(1.0, 2, 8, 2), chance.uniform(10, 99)
        (free,) = precopy.relocate(
            [RelocatingGuest("A", 1000.0, writes, fixed=fixed, setup=setup)], rules, rate
        )
        for short, code in ((1.0, 0), (0.999, 4)):
            guest = RelocatingGuest(
                "A", 1000.0, writes, fixed=fixed, setup=setup, max_total=free.seconds * short
            )
            assert precopy.relocate([guest], rules, rate)[0].end_code == code
        for short, code in ((1.0, 0), (0.999, 5)):
            guest = RelocatingGuest(
                "A", 1000.0, writes, fixed=fixed, setup=setup, max_quiesce=free.quiesce * short
            )
            (held,) = precopy.relocate([guest], rules, rate)
            assert held.end_code == code
            assert held.quiesce_needed == pytest.approx(free.quiesce, rel=1e-6)


def pages_one_by_one(
    pages: int, weights: list[float], rate: float, sends: float, passes: int, seed: int
) -> list[int]:
    """Simulate single writes to random pages; each written page is sent again in the next pass."""
    chance = draws(seed)
    places = range(len(weights))
    sent = [pages]
    for _ in range(passes):
        seconds = sent[-1] / sends
        writes, at = 0, chance.expovariate(rate)
        while at < seconds:
            writes += 1
            at += chance.expovariate(rate)
        sent.append(len(set(chance.choices(places, weights, k=writes))))
    return sent


CHANGING, RATE = 2000, 3000.0
PATTERNS: dict[str, tuple[dirtying.WriteModel, list[float]]] = {
    "uniform": (dirtying.uniform(CHANGING, RATE), [1.0] * CHANGING),
    "hot set": (dirtying.hot_set(CHANGING, RATE, 0.1, 0.75), [0.75 / 200] * 200 + [0.25 / 1800] * 1800),
    "zipf": (dirtying.zipf(CHANGING, RATE, 1.0), [1 / rank for rank in range(1, CHANGING + 1)]),
    "zipf, steep": (dirtying.zipf(CHANGING, RATE, 1.7), [rank**-1.7 for rank in range(1, CHANGING + 1)]),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pages_one_by_one(pattern: str) -> None:
    """Pages of the model are within four standard errors of the mean of 12 simulated runs."""
    pages, sends = 4000, 2500.0
    writes, weights = PATTERNS[pattern]
    (one,) = precopy.relocate([RelocatingGuest("A", pages, writes)], StopRules(0.0, 1, 6, 1), sends)
    runs = [pages_one_by_one(pages, weights, RATE, sends, 5, seed) for seed in range(12)]
    for at, each in enumerate(one.passes):
        seen = [run[at] for run in runs]
        mean = sum(seen) / len(seen)
        spread = math.sqrt(sum((value - mean) ** 2 for value in seen) / (len(seen) - 1) / len(seen))
        assert each.pages == pytest.approx(mean, abs=4 * spread + 0.01 * mean + 1e-9)


def walked(pages: int, rate: float, sends: float, passes: int, seed: int) -> int:
    """Return the pages sent by a walk that sends each marked page and clears its mark then."""
    chance = draws(seed)
    marked = [True] * pages
    moved, now, written_at = 0, 0.0, chance.expovariate(rate)
    for _ in range(passes):
        for page in range(pages):
            if not marked[page]:
                continue
            marked[page] = False
            moved, now = moved + 1, now + 1 / sends
            while written_at < now:
                marked[chance.randrange(pages)] = True
                written_at += chance.expovariate(rate)
    return moved + sum(marked)


def test_changes_since_start_are_upper_bound() -> None:
    """A walk that counts changes of a page from the time it was sent moves fewer pages."""
    for share in (0.2, 0.5, 1.5):
        rules = StopRules(0.0, 1, 6, 1)
        (one,) = precopy.relocate(
            [RelocatingGuest("A", 2000.0, dirtying.uniform(2000, share * 1000))], rules, 1000.0
        )
        moved = sum(walked(2000, share * 1000, 1000.0, 5, seed) for seed in range(5)) / 5
        assert 0.5 * one.pages < moved < one.pages


def in_small_steps(
    guests: list[RelocatingGuest], rules: StopRules, rate: float, at_once: int, step: float
) -> list[tuple[float, float]]:
    """Return relocation and quiesce times by a clock with equal steps, without limits."""
    waiting = list(range(len(guests)))
    running: list[int] = []
    state: dict[int, list[float]] = {}
    found = [(0.0, 0.0)] * len(guests)
    now = 0.0
    while waiting or running:
        while waiting and len(running) < at_once:
            at = waiting.pop(0)
            running.append(at)
            # start, start of the pass, pages left, pages sent before, passes, quiesce start
            state[at] = [now, now, guests[at].pages, guests[at].pages, 1, -1.0]
        each = rate / len(running)
        now += step
        for at in list(running):
            one = state[at]
            one[2] -= each * step
            if one[2] > 1e-9:
                continue
            if one[5] >= 0:
                found[at] = (now - one[0], now - one[5])
                running.remove(at)
                continue
            changed = guests[at].writes.changed(now - one[1])
            if (one[4] >= rules.live_least and changed <= rules.stop_pages) or one[
                4
            ] >= rules.passes_most - 1:
                one[5] = now
            one[1], one[2], one[4] = now, changed, one[4] + 1
    return found


def test_several_at_once_against_small_steps() -> None:
    chance = draws(3)
    for _ in range(12):
        guests = [
            RelocatingGuest(
                f"G{at}",
                chance.uniform(500, 3000),
                dirtying.uniform(chance.uniform(100, 400), chance.uniform(5, 60)),
            )
            for at in range(chance.randint(2, 5))
        ]
        rules = StopRules(0.0, 1, chance.randint(2, 5), 1)
        at_once = chance.randint(1, 4)
        found = precopy.relocate(guests, rules, 400.0, at_once=at_once)
        for one, (seconds, quiesce) in zip(
            found, in_small_steps(guests, rules, 400.0, at_once, 0.002), strict=True
        ):
            assert one.seconds == pytest.approx(seconds, abs=0.15)
            assert one.quiesce == pytest.approx(quiesce, abs=0.08)


def test_equal_guests_share_link_equally() -> None:
    """Each of four concurrent relocations takes as long as one alone on a quarter of the link."""
    rules = StopRules(5.0, 2, 8, 2)
    guests = [RelocatingGuest(f"G{at}", 1000.0, dirtying.uniform(300, 20.0), fixed=0.1) for at in range(4)]
    (alone,) = precopy.relocate(guests[:1], rules, 25.0)
    for one in precopy.relocate(guests, rules, 100.0, at_once=4):
        assert one.seconds == pytest.approx(alone.seconds, rel=1e-9)
        assert one.quiesce == pytest.approx(alone.quiesce, rel=1e-9)
        assert one.pages == pytest.approx(alone.pages, rel=1e-9)


def test_sequential_relocations_are_independent() -> None:
    rules = StopRules(5.0, 2, 8, 2)
    guests = [
        RelocatingGuest(f"G{at}", 1000.0 * (at + 1), dirtying.uniform(300, 20.0), setup=0.5)
        for at in range(4)
    ]
    together = precopy.relocate(guests, rules, 100.0)
    begins = 0.0
    for guest, one in zip(guests, together, strict=True):
        (alone,) = precopy.relocate([guest], rules, 100.0)
        assert one.begins == pytest.approx(begins, rel=1e-9)
        assert (one.seconds, one.quiesce) == pytest.approx((alone.seconds, alone.quiesce), rel=1e-6)
        begins += alone.seconds


def test_rate_per_relocation_is_limited() -> None:
    rules = StopRules(5.0, 2, 8, 2)
    guests = [RelocatingGuest(f"G{at}", 1000.0, dirtying.uniform(300, 20.0)) for at in range(3)]
    (slow,) = precopy.relocate(guests[:1], rules, 100.0, most_each=30.0)
    assert slow.seconds == pytest.approx(precopy.relocate(guests[:1], rules, 30.0)[0].seconds)
    for one in precopy.relocate(guests, rules, 100.0, at_once=3, most_each=30.0):
        assert one.seconds == pytest.approx(slow.seconds)


def test_next_relocation_starts_after_cancel() -> None:
    rules = StopRules(0.0, 1, 4, 2)
    guests = [
        RelocatingGuest("A", 100.0, dirtying.SequentialWrites(50, 99.0), max_total=3.0),
        RelocatingGuest("B", 10.0, dirtying.SequentialWrites(0, 0.0)),
    ]
    first, second = precopy.relocate(guests, rules, 10.0)
    assert (first.end_code, second.end_code) == (4, 0)
    assert (first.ends, first.pages) == pytest.approx((3, 30))
    assert (second.begins, second.seconds) == pytest.approx((3, 1))


def test_link_is_never_idle_while_sending() -> None:
    """The link is busy until the last relocation ends, also if some start, end or are canceled."""
    chance = draws(5)
    for _ in range(200):
        guests = [
            RelocatingGuest(
                f"G{at}",
                chance.uniform(0, 3000),
                dirtying.uniform(chance.uniform(1, 400), chance.uniform(0, 600)),
                chance.random() < 0.3,
                chance.choice((math.inf, chance.uniform(0, 30))),
                chance.choice((math.inf, chance.uniform(0, 3))),
            )
            for at in range(chance.randint(1, 6))
        ]
        found = precopy.relocate(guests, StopRules(3.0, 2, 8, 2), 100.0, at_once=chance.randint(1, 6))
        sent = math.fsum(one.pages for one in found)
        assert sent == pytest.approx(100.0 * max(one.ends for one in found), rel=1e-6, abs=1e-6)
        for one, guest in zip(found, guests, strict=True):
            assert one.seconds <= guest.max_total * (1 + 1e-6)
            assert one.quiesce <= guest.max_quiesce * (1 + 1e-6) + 1e-9
            assert one.end_code in (0, 4, 5)
            assert all(each.whole for each in one.passes[:-1])


@pytest.mark.parametrize("at_once", [1, 3])
def test_relocations_of_no_pages(at_once: int) -> None:
    rules = StopRules(0.0, 2, 8, 2)
    assert precopy.relocate([], rules, 1.0, at_once=at_once) == []
    idle = [RelocatingGuest(f"G{at}", 0.0, dirtying.uniform(0, 0)) for at in range(3)]
    for one in precopy.relocate(idle, rules, 1.0, at_once=at_once):
        assert (one.seconds, one.pages, one.end_code, len(one.passes)) == (0, 0, 0, 4)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.5, 3.0])
def test_zipf_against_sum_over_pages(exponent: float) -> None:
    for pages in (1, 2, 199, 200, 201, 257, 5000):
        model = dirtying.zipf(pages, 1000.0, exponent)
        weights = [rank**-exponent for rank in range(1, pages + 1)]
        whole = math.fsum(weights)
        assert math.fsum(many for many, _ in model.kinds) == pytest.approx(pages)
        assert math.fsum(many * rate for many, rate in model.kinds) == pytest.approx(1000)
        for seconds in (1e-3, 1.0, 100.0, 1e4):
            exact = math.fsum(-math.expm1(-1000.0 * seconds * weight / whole) for weight in weights)
            assert model.changed(seconds) == pytest.approx(exact, rel=2e-6)


def test_equivalent_write_models_agree() -> None:
    for seconds in (0.0, 0.1, 1.0, 10.0):
        even = dirtying.uniform(500, 100).changed(seconds)
        assert dirtying.zipf(500, 100, 0.0).changed(seconds) == pytest.approx(even)
        assert dirtying.hot_set(500, 100, 0.3, 0.3).changed(seconds) == pytest.approx(even)
        assert dirtying.hot_set(500, 100, 1.0, 1.0).changed(seconds) == pytest.approx(even)
        assert even <= dirtying.SequentialWrites(500, 100).changed(seconds)
        assert dirtying.hot_set(500, 100, 0.1, 0.9).changed(seconds) <= even
