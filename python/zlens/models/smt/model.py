"""Multithreading: metrics of cores, the three CPU times, what is left, and bounds on throughput.

Arithmetic and its sources: smt_metrics.py and smt_bounds.py; runs and what is predicted of them:
smt_throughput.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zlens.catalog import processor_types
from zlens.models.answer import Answer, Column, Figure, Table, Value
from zlens.models.scenario import Scenario
from zlens.models.smt import metrics as smt_metrics
from zlens.models.smt import throughput as smt_throughput
from zlens.models.smt.metrics import Counted, Metrics, Times
from zlens.present.charts import Chart, Series
from zlens.schema.kinds import Choice, Key, Line, Many, Number, Spec
from zlens.schema.wording import say

SUMMARY = "multithreading: core metrics, CPU times, capacity left, bounds on throughput"

TYPES = processor_types.modeled()
_SECONDS = Number(0, 1e12)
_COUNT = Number(0, 1e24)
_FACTOR = Number(50, 400)
#: Rounding of printed percentages can lead this far beyond 1 or 2 threads.
_ROUNDING = 0.02
#: A core less busy than this is nearly idle: 1 %.
_NEARLY_IDLE = 0.01
#: Capacity left beyond what core busy lets one expect, in cores, that deserves a word.
_SURPRISING = 0.1

_CORE = Spec(
    (
        Key("name", Line(), "name of the core"),
        Key("type", Choice(TYPES), "its type", default="IFL"),
        Key("share", Number(0, 100), "what it is entitled to", "% of a core", default=100.0),
        Key(
            "samples",
            Many(Many(Number(0, 1e18), 1), 1),
            "work of each thread in each sample, 0 where it was idle",
            default=None,
        ),
        Key("sample", Number(0, 1e9, above=True), "length of a sample", "s", default=1.0),
        Key("cycles_one", _COUNT, "core cycles with one thread active", default=None),
        Key("instructions_one", _COUNT, "instructions in them", default=None),
        Key("cycles_two", _COUNT, "core cycles with two threads active", default=None),
        Key("instructions_two", _COUNT, "instructions in them, of both threads", default=None),
        Key("seconds", Number(0, 1e9, above=True), "length of the interval", "s", default=None),
        Key("ghz", Number(0, 1000, above=True), "cycles of a second", "10^9/s", default=None),
        Key("core_busy", Number(0, 100), "core busy (LPAR busy of the core)", "%", default=None),
        Key(
            "threads_busy",
            Many(Number(0, 100), 1),
            "busy of each of its threads (MVS busy)",
            "%",
            default=None,
        ),
        Key("thread_density", Number(1, 2), "threads active while the core was busy", default=None),
        Key(
            "productivity",
            Number(0, 100),
            "work against two threads always active while it was busy",
            "%",
            default=None,
        ),
        Key("max_capacity_factor", _FACTOR, "largest capacity factor", "%", default=None),
    )
)

_TIME = Spec(
    (
        Key("name", Line(), "whose time it is"),
        Key("alone", _SECONDS, "raw time while the core's other thread was idle", "s", default=None),
        Key("beside", _SECONDS, "raw time while the other thread was active", "s", default=None),
        Key("mt1", _SECONDS, "MT-1 equivalent time, where it is known instead", "s", default=None),
        Key("interval", Number(0, 1e9, above=True), "length of the interval, for APPL %", "s", default=None),
        Key("max_capacity_factor", _FACTOR, "largest capacity factor", "%", default=None),
    )
)

_HYPTOP = Spec(
    (
        Key("name", Line(), "name of the partition (system)"),
        Key("cores", Number(0, 1000), "its cores (#core)", default=None),
        Key("core", Number(0, 1e6), "core dispatch time (core)", "% of 1"),
        Key("thread", Number(0, 1e6), "thread time (the)", "% of 1"),
        Key("management", Number(0, 1e6), "management time (mgm)", "% of 1", default=0.0),
        Key("max_capacity_factor", _FACTOR, "largest capacity factor", "%", constant="smt_speedup"),
    )
)

SPEC = Spec(
    (
        Key("core", Many(_CORE), "a core, from samples, counters, busy times or thread density", default=[]),
        Key("time", Many(_TIME), "CPU time of a guest or of a service class", default=[]),
        Key("hyptop", Many(_HYPTOP), "a partition as hyptop of Linux shows it", default=[]),
        Key("run", Many(smt_throughput.RUN), "a run of a workload, measured or to be predicted", default=[]),
        Key("base", Line(), "run that others are held against; the first measured one", default=None),
    )
)

EXAMPLE = """\
# How full is a core, and what would SMT-2 do to the throughput of clients and servers?
model = "smt"
title = "A core with two threads, and one workload with and without SMT-2"

[[core]]                     # from samples: work of each thread, 0 where it was idle
name = "0"
samples = [[0, 0, 7, 9, 0], [9, 9, 7, 0, 0]]

[[core]]                     # from busy times, as RMF and SMTMET print them
name = "1"
core_busy = 78.23
threads_busy = [67.24, 58.40]
max_capacity_factor = 147.3

[[time]]                     # a guest's raw CPU time
name = "LINUX1"
alone = 100                  # seconds while the other thread was idle
beside = 300                 # seconds beside another active thread
max_capacity_factor = 150
interval = 600

[[run]]                      # measured without SMT
name = "SMT-0"
cores = 3
etr = 100                    # transactions per second
processor_busy = 95.8        # percent, mean of all logical processors
[[run.part]]
name = "clients"
guests = 3                   # of one virtual CPU each
busy = 70.5                  # percent of one processor, each guest
[[run.part]]
name = "servers"             # without busy: has what is left
guests = 12

[[run]]                      # measured with SMT-2: gives path factors
name = "SMT-2"
cores = 3
threads = 2
etr = 64.9
processor_busy = 61.1
core_busy = 95.5
max_capacity_factor = 115
[[run.part]]
name = "clients"
guests = 3
busy = 95.4
[[run.part]]
name = "servers"
guests = 12

[[run]]                      # to be predicted
name = "SMT-2, 4 cores"
cores = 4
threads = 2
calibrated_by = "SMT-2"      # left out: bounds only
[[run.part]]
name = "clients"
guests = 4
[[run.part]]
name = "servers"
guests = 12
"""

_CORES = (
    Column("name", "Core"),
    Column("type", "Type"),
    Column("core_busy_pct", "Core busy", "%", "of elapsed time", 2),
    Column("thread_density", "Density", "", "threads active while the core was busy", 2),
    Column("productivity_pct", "Prod", "%", "work against two threads always active while it was busy"),
    Column("capacity_factor_pct", "CF", "%", "work rate against that with one thread"),
    Column("max_capacity_factor_pct", "Max CF", "%", "the same with two threads always active"),
    Column("mt_utilization_pct", "MT util", "%", "core busy x productivity", 2),
    Column("share_pct", "Share", "%", "what it is entitled to"),
    Column("available_pct", "Left", "%", "share - MT util", 2),
)
_OF_TYPES = (
    Column("type", "Type"),
    Column("cores", "Cores"),
    Column("core_busy_pct", "Core busy", "%", "mean of its cores", 2),
    Column("thread_density", "Density", "", "weighted by core-busy time", 3),
    Column("productivity_pct", "Prod", "%", "used / core busy"),
    Column("capacity_factor_pct", "CF", "%", "weighted by core-busy time"),
    Column("max_capacity_factor_pct", "Max CF", "%"),
    Column("used_pct", "Used", "% of 1", "MT util of its cores, added", 2),
    Column("share_pct", "Share", "% of 1", "shares of its cores, added"),
    Column("available_pct", "Left", "% of 1", "share - used", 2),
)
_TIMES = (
    Column("name", "Time of"),
    Column("raw", "Raw", "s", "on a thread", 3),
    Column("mt1", "MT-1 equiv", "s", "as if alone on a core", 3),
    Column("prorated", "Prorated", "s", "half of it beside another thread", 3),
    Column("scale", "Prorated/raw", "", "the factor of Linux's scaled CPU time", 3),
    Column("appl_pct", "APPL", "%", "MT-1 equivalent of the interval at the largest capacity factor", 2),
)
_PARTITIONS = (
    Column("name", "Partition"),
    Column("core_pct", "Core", "% of 1", "core dispatch time", 2),
    Column("thread_pct", "Thread", "% of 1", "thread time", 2),
    Column("thread_density", "Density", "", "threads active while a core was dispatched", 3),
    Column("used_pct", "Used", "% of 1", "of the capacity of cores, both threads counted", 2),
    Column("available_pct", "Left", "% of 1", "cores - used", 2),
)


def solve(scenario: Scenario) -> Answer:
    """Each kind of table that the scenario says something of."""
    kinds = ("core", "time", "hyptop", "run")
    if not any(scenario[kind] for kind in kinds):
        raise scenario.problem.wrong("the scenario has no core, time, hyptop or run", say("scenario_example"))
    answer = Answer("smt", scenario.title or "Multithreading", [])
    found = [_metrics(scenario, says) for says in scenario["core"]]
    cores, of_threads = _cores(scenario, answer, found)
    times = [*of_threads, *(_time(scenario, says) for says in scenario["time"])]
    if any(row[1] != row[3] and row[2] is not None for row in times):
        scenario.assume("smt_mt1_rule")
    if cores:
        answer.tables.append(Table("cores", "Cores", _CORES, cores))
        _types(scenario, answer, found)
        series = (
            Series("core busy", [_percent(one.busy) for one in found]),
            Series("MT utilization", [_percent(one.utilization) for one in found]),
        )
        answer.charts.append(Chart("Cores", "bars", [str(row[0]) for row in cores], series, "%"))
    if times:
        answer.tables.append(Table("times", "CPU time", _TIMES, times))
    if scenario["hyptop"]:
        rows = [_partition(scenario, says) for says in scenario["hyptop"]]
        answer.tables.append(Table("partitions", "Partitions by hyptop", _PARTITIONS, rows))
    if scenario["run"]:
        smt_throughput.extend(answer, scenario)
        answer.follow = ("runs", "bound") if len(scenario["run"]) > len(answer.figures) else None
    return answer


def _cores(
    scenario: Scenario, answer: Answer, metrics: Sequence[Metrics]
) -> tuple[list[tuple[Value, ...]], list[tuple[Value, ...]]]:
    """A row for each core, and one for the time of each thread whose samples there are."""
    rows: list[tuple[Value, ...]] = []
    times: list[tuple[Value, ...]] = []
    unseen, idle = [], []
    for says, found in zip(scenario["core"], metrics, strict=True):
        given = _part(says["max_capacity_factor"])
        if says["samples"] is not None:
            threads = smt_metrics.of_threads(says["samples"], found.maximum, says["sample"])
            times += [
                _times(f"core {says['name']} thread {at}", one, None, None) for at, one in enumerate(threads)
            ]
        if found.density is not None and found.maximum is None:
            unseen.append(says["name"])
        elif given and found.busy is not None and 0 < found.busy < _NEARLY_IDLE and says["samples"] is None:
            idle.append(says["name"])
        used = _percent(found.utilization)
        rows.append(
            (says["name"], says["type"], *_of(found), used, says["share"], _left(says["share"], used))
        )
    if unseen:
        answer.notes.append(
            f"core {', '.join(unseen[:5])}: no largest capacity factor, without which not all is computed; "
            "give max_capacity_factor, or samples or counters of times with one and with two threads active"
        )
    if idle:
        answer.notes.append(
            f"core {', '.join(idle[:5])}: nearly idle; printed capacity factors of such systems depart from "
            "those computed from thread density (IBM's idle system: 103 % printed, 112 % computed)"
        )
    return rows, times


def _metrics(scenario: Scenario, says: Mapping[str, Any]) -> Metrics:
    """From the one kind of numbers that a core gives."""
    wrong, here = scenario.problem.wrong, f"core.{says['name']}"
    counters = ("cycles_one", "instructions_one", "cycles_two", "instructions_two")
    counts = [says[key] for key in counters]
    kinds = [
        says["samples"] is not None,
        any(count is not None for count in counts),
        says["threads_busy"] is not None,
        says["thread_density"] is not None,
        says["productivity"] is not None,
    ]
    if sum(kinds) != 1:
        raise wrong(
            f"{here} has {sum(kinds)} kinds of numbers",
            "give one of them",
            "samples; counters; threads_busy or productivity, with core_busy; or thread_density",
        )
    maximum = _part(says["max_capacity_factor"])
    busy = _part(says["core_busy"])
    if says["samples"] is not None:
        _rectangle(scenario, says)
        return smt_metrics.measured(smt_metrics.counted(says["samples"], says["sample"]), maximum)
    if kinds[1]:
        if None in counts:
            raise wrong(f"{here} lacks {counters[counts.index(None)]}", "give all four counters")
        known = says["seconds"] is not None and says["ghz"] is not None
        wall = says["seconds"] * says["ghz"] * 1e9 if known else None
        if wall is not None and counts[0] + counts[2] > wall * (1.0 + _ROUNDING):
            raise wrong(
                f"{here}: more core cycles than {says['seconds']:g} s at {says['ghz']:g} GHz have",
                "cycles are of the core: add no two threads",
            )
        return smt_metrics.measured(Counted(counts[0], counts[2], counts[1], counts[3], wall), maximum)
    if kinds[2]:
        if busy is None or len(says["threads_busy"]) > 2:
            raise wrong(f"{here}.threads_busy needs core_busy and one or two threads", "add core_busy")
        density = smt_metrics.density_of(says["core_busy"], says["threads_busy"])
        if density is None:
            return Metrics(busy=0.0, maximum=maximum, utilization=0.0)
        if not 1.0 - _ROUNDING <= density <= 2.0 + _ROUNDING:
            raise wrong(
                f"{here}: its threads sum to {density:.2f} of core_busy",
                "threads_busy and core_busy must be of one interval",
                "1 to 2",
            )
        return smt_metrics.by_density(min(2.0, max(1.0, density)), maximum, busy)
    if kinds[3]:
        return smt_metrics.by_density(says["thread_density"], maximum, busy)
    if busy is None:
        raise wrong(f"{here}.productivity needs core_busy", "add core_busy")
    return smt_metrics.by_productivity(says["productivity"] / 100.0, maximum, busy)


def _rectangle(scenario: Scenario, says: Mapping[str, Any]) -> None:
    samples = says["samples"]
    if len(samples) > 2 or len({len(thread) for thread in samples}) > 1:
        raise scenario.problem.wrong(
            f"core.{says['name']}.samples has {len(samples)} threads of "
            f"{', '.join(str(len(thread)) for thread in samples[:3])} samples",
            "give one list for each thread, all of one length",
            "one or two lists",
        )


def _of(found: Metrics) -> tuple[float | None, ...]:
    """Metrics as the columns have them, without utilization."""
    return (
        _percent(found.busy),
        found.density,
        _percent(found.productivity),
        _percent(found.factor),
        _percent(found.maximum),
    )


def _types(scenario: Scenario, answer: Answer, metrics: Sequence[Metrics]) -> None:
    """A row and figures for each type of core."""
    of_types: list[tuple[Value, ...]] = []
    for kind in TYPES:
        cores = [
            (found, says["share"] / 100.0)
            for says, found in zip(scenario["core"], metrics, strict=True)
            if says["type"] == kind
        ]
        if not cores:
            continue
        whole, used, left = smt_metrics.together(cores)
        share = sum(share for _, share in cores)
        of_types.append((kind, len(cores), *_of(whole), _percent(used), 100.0 * share, _percent(left)))
        texts = {
            "used": f"{kind}: used of its cores, both threads counted",
            "left": f"{kind}: left of their shares",
        }
        for key, value in (("used", used), ("left", left)):
            answer.figures.append(Figure(f"{key}_{kind.lower()}", _percent(value), "% of 1", texts[key]))
        if (
            whole.busy is not None
            and left is not None
            and left - len(cores) * (1.0 - whole.busy) > _SURPRISING
        ):
            answer.notes.append(
                f"{kind}: {100.0 * left:.0f} % of one core is left of {len(cores)} though they "
                f"were {100.0 * whole.busy:.0f} % busy: second threads were idle, and only more virtual "
                "processors at once can use them"
            )
    answer.tables.append(Table("types", "Types of cores", _OF_TYPES, of_types))


def _time(scenario: Scenario, says: Mapping[str, Any]) -> tuple[Value, ...]:
    parts = says["alone"] is not None or says["beside"] is not None
    if parts == (says["mt1"] is not None):
        raise scenario.problem.wrong(
            f"time.{says['name']} has {'both raw and MT-1 equivalent time' if parts else 'no time'}",
            "give alone and beside, or mt1",
        )
    maximum = _part(says["max_capacity_factor"])
    if says["interval"] is not None and maximum is None:
        raise scenario.problem.wrong(
            f"time.{says['name']} has an interval without max_capacity_factor",
            "add it; 100 where one thread is active on each core",
        )
    if parts:
        found = smt_metrics.times(says["alone"] or 0.0, says["beside"] or 0.0, maximum)
        return _times(says["name"], found, says["interval"], maximum)
    appl = (
        _percent(smt_metrics.appl(says["mt1"], says["interval"], maximum))
        if says["interval"] and maximum
        else None
    )
    return (says["name"], None, says["mt1"], None, None, appl)  # fmt: skip


def _times(name: str, found: Times, interval: float | None, maximum: float | None) -> tuple[Value, ...]:
    appl = (
        smt_metrics.appl(found.mt1, interval, maximum)
        if found.mt1 is not None and interval and maximum
        else None
    )
    return (name, found.raw, found.mt1, found.prorated, found.scale, _percent(appl))


def _partition(scenario: Scenario, says: Mapping[str, Any]) -> tuple[Value, ...]:
    core, thread = says["core"], says["thread"]
    density = smt_metrics.density_of(core, [thread])
    if thread > 2.0 * core * (1.0 + _ROUNDING) or thread < core * (1.0 - _ROUNDING):
        raise scenario.problem.wrong(
            f"hyptop.{says['name']}: thread time is not between once and twice core time",
            "copy both from the same line of hyptop",
        )
    used = smt_metrics.real_use(core, thread, says["management"], says["max_capacity_factor"] / 100.0)
    left = None if says["cores"] is None else 100.0 * says["cores"] - used
    return (says["name"], core, thread, density, used, left)


def _left(share: float, used: float | None) -> float | None:
    return None if used is None else share - used


def _part(percent: float | None) -> float | None:
    return None if percent is None else percent / 100.0


def _percent(part: float | None) -> float | None:
    return None if part is None else 100.0 * part
