"""Tests of streams of systems with the same name: their data stays separate, also after a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from replay import Pieces, play, split_points

from iterations import quick_subset
from readers.test_monwrite_machines import MACHINES, recorded
from readers.test_smf_streams import dump, of_70
from zlens.live.watcher import RetentionLimits, Watcher
from zlens.readers import streaming
from zlens.session.session import CoreSession

LIMITS = RetentionLimits(raw=3600.0, part=1800.0, grace=1.0)
Rows = list[tuple[object, ...]]


def loads(session: CoreSession) -> Rows:
    return session.sql(
        "SELECT system, interval_end, round(busy_pct, 6) FROM load WHERE busy_pct IS NOT NULL ORDER BY ALL"
    ).rows


def smf_feeds(folder: Path) -> list[tuple[Path, list[int]]]:
    """Write two dumps; the second one is of another machine."""
    form = streaming.stream_format("smf.dump")
    assert form is not None
    feeds = []
    for file, busy, control in (("a.smf", 0.25, {}), ("b.smf", 0.75, {"CSC": "9ABCD"})):
        path = Path(dump(folder / file, [of_70(number, busy, control=control) for number in range(1, 9)]))
        feeds.append((path, [end for _, end in form.write_times(str(path))]))
    return feeds


def two_writers(folder: Path) -> list[tuple[Path, list[int]]]:
    """Write one dump of two programs; one of them lags behind."""
    form = streaming.stream_format("smf.dump")
    assert form is not None
    records = [of_70(1, 0.25)]
    for number in range(1, 8):
        records += [of_70(number, 0.75, product={"PRD": "CMF"}), of_70(number + 1, 0.25)]
    path = Path(dump(folder / "both.smf", records))
    return [(path, [end for _, end in form.write_times(str(path))])]


def monitor_feeds(folder: Path) -> list[tuple[Path, list[int]]]:
    paths = [
        recorded(folder / f"{number}.data", machine, number, busy)
        for number, (machine, busy) in enumerate(zip(MACHINES, (0.25, 0.5), strict=True))
    ]
    return [(path, split_points(path, 1)) for path in paths]


@pytest.mark.parametrize("given", quick_subset(2, [smf_feeds, two_writers, monitor_feeds]))
@pytest.mark.parametrize("restarted", quick_subset(1, [True, False]))
def test_live_systems_of_same_name_are_separate(
    given: Callable[[Path], list[tuple[Path, list[int]]]], restarted: bool, tmp_path: Path
) -> None:
    feeds = given(tmp_path)
    with CoreSession([str(path) for path, _ in feeds]) as together:
        expected = loads(together)
    assert len({row[0] for row in expected}) == 2
    into = str(tmp_path / "lake")
    if restarted:
        begun = Watcher(
            [Pieces(path, ends[: len(ends) // 2]) for path, ends in feeds],
            lake=into,
            limits=LIMITS,
            findings=False,
        )
        for _ in range(len(feeds[0][1]) // 2):
            begun.step()
        begun._collect_imports(wait=True)
        assert begun._lock is not None
        begun._lock.close()
    live = Watcher([Pieces(path, ends) for path, ends in feeds], lake=into, limits=LIMITS, findings=False)
    play(live)
    live.finish()
    with live.session() as shown:
        assert loads(shown) == expected
        # The retained records have the same system names as the measures.
        assert {info.system for info in shown.systems} == {row[0] for row in expected}
    assert not [problem for problem in live.problems if problem.kind in ("duplicate", "conflict")]
    live.close()
    with CoreSession([into]) as stored:
        assert loads(stored) == expected
    if restarted:
        begun.close()
