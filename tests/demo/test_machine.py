"""The machine of the demo files: its balances hold exactly, and its story is in it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest

from zlens.demo import machine
from zlens.demo.machine import MINUTE, Hour


@dataclass(frozen=True)
class State:
    """The counters that must agree, at the end of one minute."""

    user: tuple[int, ...]
    system: tuple[int, ...]
    wait: tuple[int, ...]
    emulation: tuple[int, ...]
    dispatched: tuple[int, ...]
    online: tuple[bool, ...]
    guests: int
    virtual: int
    other_ifl: int
    physical_ifl: int
    elapsed: dict[int, int]
    busy: dict[int, float]


def states(seed: int = 530) -> list[State]:
    hour = Hour(seed)
    found = []
    for minute in hour.minutes():
        cpus = hour.processors
        found.append(
            State(
                tuple(cpu.user_us for cpu in cpus),
                tuple(cpu.system_us for cpu in cpus),
                tuple(cpu.wait_us for cpu in cpus),
                tuple(cpu.emulation_us for cpu in cpus),
                tuple(cpu.dispatched_us for cpu in cpus),
                tuple(cpu.online for cpu in cpus),
                sum(guest.total_us for guest in hour.guests),
                sum(guest.virtual_us for guest in hour.guests),
                sum(
                    busy + own
                    for other in hour.others
                    if other.kind == "IFL"
                    for busy, own in zip(other.dispatched_us, other.management_us, strict=True)
                ),
                sum(hour.physical_us[:4]),
                minute.elapsed_us,
                minute.busy_pct,
            )
        )
    return found


@pytest.fixture(scope="module")
def hour() -> list[State]:
    return states()


def steps(hour: list[State]) -> list[tuple[State, State]]:
    return list(pairwise(hour))


def test_an_hour_of_minutes(hour: list[State]) -> None:
    assert len(hour) == 61


def test_user_system_and_wait_stay_within_the_elapsed_time(hour: list[State]) -> None:
    for before, after in steps(hour):
        for cpu in range(4):
            if before.online[cpu] and after.online[cpu] and after.elapsed[cpu] == MINUTE:
                used = [
                    getattr(after, what)[cpu] - getattr(before, what)[cpu]
                    for what in ("user", "system", "wait")
                ]
                assert all(part >= 0 for part in used)
                assert 0.85 * MINUTE < sum(used) <= MINUTE


def test_emulation_is_part_of_user_time(hour: list[State]) -> None:
    for state in hour:
        assert all(e <= u for e, u in zip(state.emulation, state.user, strict=True))


def test_guests_add_up_to_user_time(hour: list[State]) -> None:
    for before, after in steps(hour):
        if after.elapsed[3] == MINUTE and before.online[3]:
            assert after.guests - before.guests == sum(after.user) - sum(before.user)
            assert after.virtual - before.virtual == sum(after.emulation) - sum(before.emulation)


def test_busy_processors_are_dispatched_ones(hour: list[State]) -> None:
    for before, after in steps(hour):
        for cpu in range(3):
            busy = after.user[cpu] + after.system[cpu] - before.user[cpu] - before.system[cpu]
            assert busy == after.dispatched[cpu] - before.dispatched[cpu]


def test_partitions_fit_into_the_machine(hour: list[State]) -> None:
    for before, after in steps(hour):
        taken = (
            sum(after.dispatched)
            - sum(before.dispatched)
            + after.other_ifl
            - before.other_ifl
            + after.physical_ifl
            - before.physical_ifl
        )
        assert taken <= 4 * MINUTE


def test_the_story(hour: list[State]) -> None:
    busy = [max(state.busy.values(), default=0.0) for state in hour]
    off = machine.VARY_OFF_S // 60 + 1
    on = machine.VARY_ON_S // 60 + 1
    assert max(busy[1:20]) < 60
    assert all(b > 95 for b in busy[off : on + 1])
    assert max(range(61), key=busy.__getitem__) in range(off, on + 1)
    assert max(busy[on + 3 :]) < 90
    assert not hour[off].online[3]
    assert hour[on].online[3]


def test_seeds() -> None:
    assert states(1)[5] == states(1)[5]
    assert states(1)[5] != states(2)[5]
