"""Simulates a scenario: monitor records in files, with their throughput, and a summary."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from zlens import models, simulation
from zlens._native import simulate as native_simulate
from zlens._native import unix_us_from_tod
from zlens.catalog import writer_plans
from zlens.errors import InputError, ScenarioError
from zlens.inputs.unix_time import from_unix_us
from zlens.models.constants import constant
from zlens.models.scenario import Scenario, check_scenario, set_value
from zlens.models.scenario_keys import key_table
from zlens.rendering.answer import Assumption
from zlens.rendering.atomic_file import atomic_write, is_special_file
from zlens.schema.validators import Key, ListOf, Spec
from zlens.simulation.custom_policy import DecisionCost, PolicyCalls, PolicySource, interruptible
from zlens.simulation.lowering import LoweredScenario, lower_scenario

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

#: Receives simulated seconds, total seconds, and what is simulated.
Progress = Callable[[int, int, str], None]
#: Maximum number of simulations in one command.
MOST_RUNS = 999
#: Seconds between two checks of runs in other processes.
_LOOK_S = 0.1
#: Constants of scenarios that only the solver's answer uses.
_OF_ANSWER = ("crowded_from", "vertical_bands", "soft_limits", "burst_carried", "relocation_changes")


class PreparedScenario(Struct, frozen=True):
    """A checked scenario, ready to run.

    constants  the assumptions it uses, including those that it sets
    policy     decides in place of CP
    """

    model: str
    title: str | None
    lowered: LoweredScenario
    constants: tuple[Assumption, ...]
    policy: PolicySource | None = None


class SimulationRun(Struct, frozen=True):
    """A finished simulation.

    files       path of each recorded system
    throughput  path of the throughput of its transactions, if any
    complete    False if it was interrupted; the files then end with a complete interval
    summary     report of the simulator: events, systems, partitions
    decisions   those of a policy of the user
    """

    seed: int
    files: dict[str, str]
    throughput: str | None
    complete: bool
    summary: dict[str, Any]
    decisions: tuple[DecisionCost, ...] = ()


def prepare(
    values: Mapping[str, Any],
    *,
    file: str | None = None,
    seed: int | None = None,
    hours: float | None = None,
    policy: PolicySource | None = None,
) -> PreparedScenario:
    """Check and lower a scenario parsed from TOML; ScenarioError if it cannot be simulated."""
    name = values.get("model")
    if not isinstance(name, str):
        message, expected = "model is missing: model that the scenario is for", simulation.SIMULATED
        cure = 'add model = "shares"'
        raise ScenarioError(message, file=file, expected=f"one of {', '.join(expected)}", cure=cure)
    overrides = {"seed": seed, "seconds": None if hours is None else 3600 * hours}
    for key, value in overrides.items():
        values = values if value is None else set_value(values, f"simulation.{key}", value)
    models.find(name)
    to_machine = simulation.find(name)
    scenario = models.prepared(name, values, file=file)
    try:
        machine = to_machine(scenario)
        machine_scenario = scenario
        if machine is not scenario.values:
            shared = {key: scenario[key] for key in ("title", "simulation", "machine", "cp")}
            if "cp" in machine:
                # A model's values of CP replace defaults, but not values of the scenario itself.
                shared["cp"] = {**(shared["cp"] or {}), **machine["cp"], **values.get("cp", {})}
            converted = _plain({**machine, **_plain(shared)})
            # Lines of a converted scenario differ from the lines of its text.
            machine_scenario = check_scenario(
                models.find("system").spec, converted, problem=replace(scenario.problem, text=None)
            )
        lowered = lower_scenario(machine_scenario)
    except ScenarioError as error:
        error.file = error.file or file
        raise
    constants = tuple(_constants(name, values, machine_scenario))
    return PreparedScenario(name, machine_scenario.title, lowered, constants, policy)


def prepare_seeds(
    values: Mapping[str, Any],
    runs: int,
    *,
    file: str | None = None,
    seed: int | None = None,
    hours: float | None = None,
    policy: PolicySource | None = None,
) -> list[PreparedScenario]:
    """Prepare the scenario `runs` times, with consecutive seeds."""
    if not 1 <= runs <= MOST_RUNS:
        raise ScenarioError(f"{runs} runs cannot be simulated", expected=f"1 to {MOST_RUNS}")
    first = prepare(values, file=file, seed=seed, hours=hours, policy=policy)
    first_seed = first.lowered.scenario["seed"]
    later = range(first_seed + 1, first_seed + runs)
    return [first, *(prepare(values, file=file, seed=one, hours=hours, policy=policy) for one in later)]


def _plain(value: Any) -> Any:
    """Return plain data without keys that have no value, and with lists for tuples, as in TOML."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


def _constants(name: str, values: Mapping[str, Any], machine_scenario: Scenario) -> Iterator[Assumption]:
    """Yield the constants that a simulation uses: those that the scenario sets, then the others."""
    keys = (*key_table("simulation.scenario").keys, *models.find(name).spec.keys)
    explicit = dict(_set(keys, values))
    for constant_name, value in explicit.items():
        assumption = constant(constant_name).assumed()
        yield replace(assumption, value=value, status="given", source="the scenario")
    assumed = {**machine_scenario.problem.assumed, **machine_scenario.problem.moving}
    yield from (one for one in assumed.values() if one.name not in explicit and one.name not in _OF_ANSWER)


def _set(keys: Iterable[Key], values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names of constants that a scenario sets, with their values; the last of several counts."""
    for key in keys:
        if key.name not in values:
            continue
        value, kind = values[key.name], key.kind
        if key.constant is not None:
            yield key.constant, value
        inner = kind.of if isinstance(kind, ListOf) else kind
        if isinstance(inner, Spec):
            for entry in value if isinstance(kind, ListOf) else (value,):
                yield from _set(inner.keys, entry)


@cache
def layouts(release: str | None = None) -> str:
    """Return the layouts of records that are written: of a release, or the synthetic ones."""
    return json.dumps(writer_plans.writer_plan(release))


def simulate(
    ready: Sequence[PreparedScenario], output: str, *, progress: Progress | None = None
) -> list[SimulationRun]:
    """Simulate each prepared scenario into files of its own; several run in parallel.

    output   the file; FILE-001 and so on for several scenarios, FILE-NAME for several systems

    An interrupt ends them after the current interval, with complete files.
    """
    paths = [outputs(one, output, number, len(ready)) for number, one in enumerate(ready, 1)]

    def report(seconds: float) -> None:
        if progress is not None:
            progress(round(seconds), round(ready[0].lowered.scenario["seconds"]), "simulating")

    with _interruptible() as interrupted:
        if len(ready) == 1:
            return [_run(ready[0], paths[0], report, interrupted)]
        return _run_parallel(ready, paths, progress, interrupted)


def outputs(ready: PreparedScenario, output: str, number: int = 1, of: int = 1) -> dict[str, str]:
    """Return the paths that a simulation writes: of each recorded system, and of its throughput under ""."""
    path = Path(output)
    if of > 1:
        path = path.with_name(f"{path.stem}-{number:03}{path.suffix}")
    systems = ready.lowered.recorded
    names = {
        name: str(path if len(systems) == 1 else path.with_name(f"{path.stem}-{name}{path.suffix}"))
        for name in systems
    }
    if any(system["transactions"] for system in ready.lowered.scenario["systems"]):
        names[""] = f"{path}.throughput.csv"
    return names


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether an interrupt came, which would otherwise end the simulation."""
    signals: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        signals.append(number)

    ignored = signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)
    if ignored or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: bool(signals)
    finally:
        signal.signal(signal.SIGINT, previous)


def _run(
    ready: PreparedScenario,
    paths: dict[str, str],
    report: Callable[[float], None],
    interrupted: Callable[[], bool],
) -> SimulationRun:
    """Simulate one scenario; its files appear when they are complete."""

    def goes_on(seconds: float) -> bool:
        report(seconds)
        return not interrupted()

    scenario = ready.lowered.scenario
    for path in paths.values():
        if is_special_file(path):
            raise InputError("this is not a regular file", file=path, cure="name a file to write to")
    with ExitStack() as stack:
        written = {name: stack.enter_context(atomic_write(path)) for name, path in paths.items()}
        recorded = ready.lowered.recorded
        systems = {name: (path, layouts(recorded[name])) for name, path in written.items() if name}
        policies = {}
        if ready.policy is not None:
            types = scenario["machine"]["types"]
            policies = {
                system["name"]: PolicyCalls(ready.policy, scenario["seed"], system, types)
                for system in scenario["systems"]
                if system["name"] in systems
            }
        try:
            with interruptible(list(policies.values()), interrupted):
                text = native_simulate(json.dumps(scenario), systems, goes_on, policies)
        except ValueError as error:
            raise ScenarioError(f"the scenario cannot be simulated: {error}") from None
        summary = json.loads(text)
        if "" in written:
            _write_throughput(written[""], scenario, summary)
    return SimulationRun(
        scenario["seed"],
        {name: path for name, path in paths.items() if name},
        paths.get(""),
        # To the microsecond, because the simulator counts in units of the TOD clock.
        summary["seconds"] >= scenario["seconds"] - 1e-6,
        summary,
        tuple(cost for calls in policies.values() for cost in calls.costs),
    )


def _write_throughput(path: str, scenario: dict[str, Any], summary: dict[str, Any]) -> None:
    """Write the transactions of each class by interval, in the format of throughput files."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["start", "end", "transactions", "response (s)", "system", "workload"])
        for system, system_summary in summary["systems"].items():
            for name, transactions in system_summary["transactions"].items():
                start = scenario["start_tod"]
                for end, count, response in transactions["throughput"]:
                    mean = f"{response / count:.9g}" if count else ""
                    rows.writerow([_utc(start), _utc(end), count, mean, system, name])
                    start = end


def _utc(tod: int) -> str:
    time = from_unix_us(unix_us_from_tod(tod))
    return time.isoformat(timespec="microseconds")


# Parallel runs -------------------------------------------------------------------------------------


_stop: Event
_done: Any


def _begin(stop: Event, done: Any) -> None:
    """Initialize a worker process."""
    global _stop, _done
    _stop, _done = stop, done


def _run_in_process(number: int, ready: PreparedScenario, paths: dict[str, str]) -> SimulationRun:
    def report(seconds: float) -> None:
        _done[number] = seconds

    return _run(ready, paths, report, _stop.is_set)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Block interrupts, for good in processes that are started meanwhile: their parent ends them.

    A process that ignores interrupts only once it runs prints a traceback if one comes before.
    """
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _run_parallel(
    ready: Sequence[PreparedScenario],
    paths: Sequence[dict[str, str]],
    progress: Progress | None,
    interrupted: Callable[[], bool],
) -> list[SimulationRun]:
    # A fork of a process with threads may hang.
    context = multiprocessing.get_context("spawn")
    stop, done = context.Event(), context.Array("d", len(ready), lock=False)
    total = sum(one.lowered.scenario["seconds"] for one in ready)
    workers = min(len(ready), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, context, _begin, (stop, done)) as pool:
        with without_interrupts():
            futures: list[Future[SimulationRun]] = [
                pool.submit(_run_in_process, number, one, of_it)
                for number, (one, of_it) in enumerate(zip(ready, paths, strict=True))
            ]
        waiting: set[Future[SimulationRun]] = set(futures)
        while waiting:
            ended, waiting = wait(waiting, _LOOK_S, FIRST_COMPLETED)
            failed = any(future.exception() for future in ended if not future.cancelled())
            if interrupted() or failed:
                stop.set()
                for future in waiting:
                    future.cancel()
                waiting = {future for future in waiting if not future.cancelled()}
            if progress is not None:
                progress(round(sum(done)), round(total), f"simulating {len(ready)} runs")
    return [future.result() for future in futures if not future.cancelled()]
