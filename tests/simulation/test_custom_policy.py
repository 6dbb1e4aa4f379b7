"""Tests of policies of the user, which decide in place of CP."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tomli_w

import zlens
from patience import until
from zlens.errors import InputError, QueryError
from zlens.models.scenario import example
from zlens.simulation.custom_policy import FrameGroup, ParkableCores, VirtualCpu

_PAGE = Path(__file__).parents[2] / "docs" / "simulator.md"
SHARES = {
    "model": "shares",
    "processors": {"CP": 1},
    "user": [{"name": "ONE", "relative": 100}, {"name": "TWO", "relative": 100}],
    "simulation": {"seconds": 20, "interval": 10, "warmup": 2},
}


def shares(tmp_path: Path, policy: Any, **options: Any) -> dict[str, float]:
    """Return seconds of CPU time by user."""
    [done] = zlens.simulate(SHARES, tmp_path / "shares.data", policy=policy, **options)
    return {name: user["cpu_s"] for name, user in done.summary["systems"]["ZVM"]["users"].items()}


def write(tmp_path: Path, text: str) -> str:
    file = tmp_path / "policy.py"
    file.write_text(textwrap.dedent(text))
    return f"{file}:Policy"


def lottery(tmp_path: Path) -> str:
    """Return the policy of the documentation."""
    found = re.search(r"<<'END'\n(.*?)END\n", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    (tmp_path / "lottery.py").write_text(found[1])
    return f"{tmp_path / 'lottery.py'}:Lottery"


class FirstUser:
    """Always runs the first user."""

    def __init__(self, random: Random) -> None:
        pass

    def schedule(self, ready: Sequence[VirtualCpu], processor: int, now: float) -> VirtualCpu:
        return min(ready, key=lambda virtual_cpu: virtual_cpu.user)


def test_custom_scheduler_decides(tmp_path: Path) -> None:
    assert shares(tmp_path, FirstUser) == {"ONE": pytest.approx(20, rel=0.01), "TWO": 0}
    used = shares(tmp_path, None)
    assert used["ONE"] == pytest.approx(used["TWO"], rel=0.01)


def test_seed_determines_custom_policy(tmp_path: Path) -> None:
    policy = lottery(tmp_path)
    found = []
    for seed in (1, 1, 2):
        shares(tmp_path, policy, seed=seed)
        found.append((tmp_path / "shares.data").read_bytes())
    assert found[0] == found[1] != found[2]


def test_decisions_of_policy_are_counted(tmp_path: Path) -> None:
    [done] = zlens.simulate(SHARES, tmp_path / "m.data", policy=lottery(tmp_path))
    [cost] = done.decisions
    assert (cost.system, cost.method) == ("ZVM", "schedule")
    dispatches = sum(user["dispatches"] for user in done.summary["systems"]["ZVM"]["users"].values())
    # Those of the warm-up, too; both users always wait for the processor.
    assert cost.decisions == pytest.approx(dispatches * 22 / 20, rel=0.01)
    assert cost.seconds > 0


def test_lottery_fails_share_scenarios(tmp_path: Path) -> None:
    names = ["equal-shares", "unequal-shares"]
    results = zlens.run_rig(names, tmp_path / "rig", policy=lottery(tmp_path), jobs=1, seeds=1)
    assert not any(result.errors for result in results)
    for result in results:
        judged = [one for one in result.outcomes if one.judged and not hasattr(one.variant, "solver")]
        assert not any(one.passed for one in judged), result.rig.name


@pytest.mark.parametrize("runs", ["1", "2"])
def test_interrupt_ends_policy_in_endless_loop(tmp_path: Path, runs: str) -> None:
    policy = write(
        tmp_path,
        f"""
        class Policy:
            def __init__(self, random): pass

            def schedule(self, ready, processor, now):
                open({str(tmp_path / "deciding")!r}, "w").close()
                while True:
                    pass
        """,
    )
    (tmp_path / "shares.toml").write_text(tomli_w.dumps(SHARES))
    words = ["simulate", "shares.toml", "-o", "shares.data", "--policy", policy, "--runs", runs]
    with subprocess.Popen(
        [sys.executable, "-m", "zlens", *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        until(lambda: (tmp_path / "deciding").exists())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert {file.name for file in tmp_path.iterdir()} == {"deciding", "policy.py", "shares.toml"}


def test_custom_dispatcher_decides(tmp_path: Path) -> None:
    values = SHARES | {"processors": {"CP": 3}, "user": [{"name": "ONE", "relative": 100, "demand": 20}]}

    class Last(FirstUser):
        schedule = None  # type: ignore[assignment]

        def dispatch(self, virtual_cpu: VirtualCpu, idle: Sequence[int], now: float) -> int:
            return max(idle)

    [done] = zlens.simulate(values, tmp_path / "m.data", policy=Last)
    [cost] = done.decisions
    assert cost.method == "dispatch"
    with zlens.open(done.files["ZVM"]) as session:
        rows = session.sql("SELECT cpu, avg(busy_pct) FROM cpu GROUP BY ALL ORDER BY 1").rows
    busy = [row[1] for row in rows]
    assert busy[2] == pytest.approx(20, abs=5)
    assert busy[:2] == pytest.approx([0, 0], abs=0.5)


def test_custom_unparking_decides(tmp_path: Path) -> None:
    values = tomllib.loads(example("unparking")) | {"simulation": SHARES["simulation"]}
    seen: list[ParkableCores] = []

    class Two:
        def __init__(self, random: Random) -> None:
            pass

        def unpark(self, cores: ParkableCores, now: float) -> int:
            seen.append(cores)
            return 2

    [done] = zlens.simulate(values, tmp_path / "m.data", policy=Two)
    assert seen
    [file] = done.files.values()
    with zlens.open(file) as session:
        [*_, (unparked,)] = session.sql("SELECT unparked FROM load ORDER BY interval_end").rows
    assert unparked == pytest.approx(2)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ValueError('no ticket')", "line 6, in schedule: ValueError: no ticket"),
        ("return None", "Policy.schedule returned None"),
        ("raise SystemExit", "line 6, in schedule: SystemExit"),
    ],
)
def test_errors_of_policy_name_file_and_line(tmp_path: Path, code: str, message: str) -> None:
    policy = write(
        tmp_path,
        f"""\
        class Policy:
            def __init__(self, random):
                self.random = random

            def schedule(self, ready, processor, now):
                {code}
        """,
    )
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        shares(tmp_path, policy)
    assert raised.value.file == policy.rpartition(":")[0]
    assert not (tmp_path / "shares.data").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class Policy:\n    def __init__(self, random): pass\n", "Policy decides nothing"),
        ("class Other: pass\n", "there is no class Policy; expected one of Other"),
        ("class Policy(\n", "line 1: '\\(' was never closed"),
        ("import nowhere_at_all\n", "line 1, in <module>: ModuleNotFoundError"),
        ("class Policy: pass\n", "TypeError: Policy\\(\\) takes no arguments"),
    ],
)
def test_policy_without_decisions_is_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        shares(tmp_path, write(tmp_path, text))


def test_policy_needs_file_and_class(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"expected FILE.py:CLASS"):
        shares(tmp_path, "lottery")
    with pytest.raises(InputError, match="cannot be read"):
        shares(tmp_path, str(tmp_path / "none.py:Policy"))
    with pytest.raises(QueryError, match="the runner files:x has no policy"):
        zlens.run_rig("equal-shares", tmp_path, runner="files:x", policy=FirstUser)


def test_custom_page_selection_decides(tmp_path: Path) -> None:
    user = {"type": "IFL", "virtual_cpus": 1, "relative": 100, "storage": 900, "working_set": 800}
    values = {
        "model": "system",
        "processors": {"IFL": 2},
        "partition": [
            {"name": "ZVM1", "type": "IFL", "cores": 2, "dedicated": True, "zvm": "7.4", "storage": 1400}
        ],
        "user": [user | {"name": "ONE"}, user | {"name": "TWO"}],
        "control_unit": [{"name": "CU1", "aliases": 8}],
        "volume": [{"name": "PAGE01", "control_unit": "CU1", "paging": True, "slots": 1_048_576}],
        "simulation": {"seconds": 60, "interval": 30, "warmup": 30},
    }

    class OfOne(FirstUser):
        schedule = None  # type: ignore[assignment]

        def select(self, groups: Sequence[FrameGroup], wanted: float, now: float) -> Sequence[FrameGroup]:
            return [group for group in groups if group.space == "ONE"]

    read: dict[str, list[float]] = {}
    for policy in (None, OfOne):
        [done] = zlens.simulate(values, tmp_path / "m.data", policy=policy)
        with zlens.open(done.files["ZVM1"]) as session:
            query = (
                "SELECT userid, avg(page_read_rate) FROM guest WHERE basis = 'sample' GROUP BY 1 ORDER BY 1"
            )
            read[str(policy)] = [row[1] for row in session.sql(query).rows]
    one, two = read["None"]
    assert one == pytest.approx(two, rel=0.2)
    one, two = read[str(OfOne)]
    assert one > 100 * two
