"""Tables and charts of a scaling study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

from msgspec import Struct

from zlens.models.capacity import scaling, usl
from zlens.models.optional_numbers import product, ratio
from zlens.rendering.answer import AnswerColumn, AnswerTable, Value
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import Chart, ChartSeries
from zlens.studies.measurement import MeasuredRun
from zlens.studies.run_tables import other_numbers, window
from zlens.studies.runs import WorkloadRun


class ScaledRun(Struct, frozen=True):
    """A run, its scaling, the factor of its cores, and its measured data, if any."""

    run: WorkloadRun
    scaled: scaling.Scaled
    factor: scaling.Factor | None
    measured: MeasuredRun | None

    @property
    def caf(self) -> float | None:
        """Capacity adjustment factor of its cores."""
        return self.factor.value if self.factor else None

    @property
    def capability(self) -> float | None:
        """Cores x factor, in single cores."""
        return product(self.scaled.run.processors, self.caf)


class RunColumn(Struct, frozen=True):
    """A column of runs. path: attribute path of its value in ScaledRun.

    kind  "": unchanged; "time": seconds of CPU time per transaction; "rate": per second;
          "part": shown in percent; "ratio": divided by the value of the first run
    """

    key: str
    heading: str
    path: str
    text: str
    decimals: int = 3
    kind: str = ""
    unit: str = ""


_NAME = RunColumn("run", "Run", "run.name", "name of the run")

_SCALING = (
    RunColumn("processors", "Processors", "run.processors", "logical processors online", 0),
    RunColumn("cores", "Cores", "run.cores_given", "cores they run on", 0),
    RunColumn("busy_pct", "Busy", "run.busy", "mean of the logical processors", 1, unit="%"),
    RunColumn("etr", "ETR", "run.etr", "external throughput rate", 2, "rate"),
    RunColumn("itr", "ITR", "scaled.itr", "internal throughput rate: ETR / busy", 1, "rate"),
    RunColumn("etrr", "ETR ratio", "scaled.etrr", "to the smallest run"),
    RunColumn("itrr", "ITR ratio", "scaled.itrr", "to the smallest run"),
    RunColumn("caf", "CAF", "caf", "capacity adjustment factor for these cores"),
    RunColumn("capability", "Capability", "capability", "cores x CAF", 2),
    RunColumn("expected", "Expected", "scaled.ratio", "ratio of capability; without factors, of cores"),
    RunColumn("efficiency", "Efficiency", "scaled.efficiency", "ITR ratio / expected ratio"),
    RunColumn(
        "gain", "Gain", "scaled.gain", "gain in ITR ratio since the previous run over expected gain", 2
    ),
)
_CPU = (
    RunColumn("total_pct", "All", "run.total", "total busy of all logical processors", 2, unit="%"),
    RunColumn("guest_pct", "Guests", "run.guest_pct", "part of guests", 2, unit="%"),
    RunColumn("chargeable_pct", "CP charged", "run.chargeable_pct", "CP on behalf of guests", 2, unit="%"),
    RunColumn(
        "nonchargeable_pct", "CP system", "run.nonchargeable_pct", "CP not charged to guests", 2, unit="%"
    ),
    RunColumn("tv", "System T/V", "run.tv", "all / guests"),
    RunColumn("cpu_tx", "CPU/tx", "run.cpu_s", "CPU time per transaction", 4, "time"),
    RunColumn("guest_tx", "Guest/tx", "run.guest_s", "guest part", 4, "time"),
    RunColumn("chargeable_tx", "CP charged/tx", "run.chargeable_s", "part of CP for guests", 4, "time"),
    RunColumn("nonchargeable_tx", "CP system/tx", "run.nonchargeable_s", "part of CP not charged", 4, "time"),
    RunColumn("cp_tx", "CP/tx", "run.cp_s", "both parts of CP", 4, "time"),
    RunColumn("cpu_ratio", "CPU/tx ratio", "run.cpu_s", "to the smallest run", kind="ratio"),
)
_CYCLES = (
    RunColumn("cpi", "CPI", "run.cpi", "cycles per instruction"),
    RunColumn("complexity_cpi", "EICPI", "run.complexity_cpi", "part for the instructions themselves"),
    RunColumn("finite_cpi", "EFCPI", "run.finite_cpi", "part of waiting for caches and storage"),
    RunColumn("cpi_ratio", "CPI ratio", "run.cpi", "to the smallest run", kind="ratio"),
    RunColumn("instructions", "Inst/tx", "run.instructions", "instructions per transaction", 0),
    RunColumn("instructions_ratio", "Inst/tx ratio", "run.instructions", "to the smallest run", kind="ratio"),
    RunColumn("clock_ghz", "Clock", "run.clock_ghz", "given, or from Inst/tx, CPI and CPU/tx", unit="GHz"),
    RunColumn("complexity_tx", "EICPI time/tx", "run.complexity_s", "CPU/tx for EICPI", 4, "time"),
    RunColumn("finite_tx", "EFCPI time/tx", "run.finite_s", "CPU/tx for EFCPI", 4, "time"),
)
_THREADS = (
    RunColumn("core_busy_pct", "Core busy", "run.core_busy_pct", "mean of the cores", 1, unit="%"),
    RunColumn("density", "Thread density", "run.threads.density", "threads active while a core is busy", 2),
    RunColumn(
        "factor_pct", "Capacity factor", "run.threads.factor", "from density and the largest one", 1, "part"
    ),
    RunColumn("maximum_pct", "Largest", "run.threads.maximum", "with two threads always active", 1, "part"),
    RunColumn("productivity_pct", "Productivity", "run.threads.productivity", "factor / largest", 1, "part"),
    RunColumn(
        "utilization_pct", "MT utilization", "run.threads.utilization", "core busy x productivity", 1, "part"
    ),
    RunColumn("slowing", "Slower threads", "run.slowdown", "their part of CPU/tx: density / factor"),
    RunColumn(
        "path",
        "Other growth",
        "run.alone_s",
        "rest of the CPU/tx ratio: spinning, colder caches",
        kind="ratio",
    ),
)
_CLIENTS = (
    RunColumn("client_tx", "Client/tx", "run.client_s", "CPU time per transaction in clients", 3, "time"),
    RunColumn("server_tx", "Other/tx", "run.server_s", "CPU time per transaction elsewhere", 3, "time"),
    RunColumn("processor_bound", "Processors allow", "run.processor_bound", "at this CPU/tx", 3, "rate"),
    RunColumn("client_bound", "Client vCPUs allow", "run.client_bound", "at this client/tx", 3, "rate"),
    RunColumn("bound_by", "Limited by", "run.bound_by", "the lower of the two"),
    RunColumn("of_bound_pct", "Reached", "run.bound_fraction", "ETR over the lower bound", 1, "part"),
)
_BESIDE = (
    RunColumn("unparked", "Unparked", "run.unparked", "processors not parked, on average", 1),
    RunColumn("busy_of_unparked_pct", "Busy of unparked", "run.busy_of_unparked", "their mean", 1, unit="%"),
    RunColumn("response_ms", "Response", "run.response_ms", "mean response time", 5, unit="ms"),
    RunColumn("response_ratio", "Response ratio", "run.response_ms", "to the smallest run", kind="ratio"),
)


def tables(rows: Sequence[ScaledRun], fit: usl.UslFit | None, *, relative: bool) -> list[AnswerTable]:
    """Return the tables that have values."""
    unit = "unit of ETR" if relative else "transaction"
    candidates = [
        _table("scaling", "", rows, _SCALING, relative),
        _table("cpu", f"CPU time, of all processors in total and per {unit}", rows, _CPU, relative),
        _table("cycles", "Cycles and instructions", rows, _CYCLES, relative),
        _table("threads", "Threads", rows, _THREADS, relative)
        if any(row.run.core_busy_pct is not None for row in rows)
        else None,
        _table("clients", "Clients and servers", rows, _CLIENTS, relative)
        if any(row.run.client_s is not None for row in rows)
        else None,
        _table("beside", "Other measures", rows, _BESIDE, relative),
        other_numbers([row.run for row in rows]),
        window([(row.run.name, row.measured) for row in rows if row.measured is not None]),
        _law(fit, relative),
    ]
    return [table for table in candidates if table is not None]


def _table(
    key: str, title: str, rows: Sequence[ScaledRun], columns: Sequence[RunColumn], relative: bool
) -> AnswerTable | None:
    """Return a table without its empty columns; None if all are empty."""
    all_cells = [(column, _cells(column, rows, relative)) for column in columns]
    used = [(column, cells) for column, cells in all_cells if any(cell is not None for cell in cells)]
    if not used:
        return None
    used.insert(0, (_NAME, [row.run.name for row in rows]))
    answer_columns = tuple(_head(column, relative) for column, _ in used)
    return AnswerTable(
        key, title, answer_columns, [tuple(cells[index] for _, cells in used) for index in range(len(rows))]
    )


def _head(column: RunColumn, relative: bool) -> AnswerColumn:
    unit = {"time": "CPUs" if relative else "ms", "rate": "" if relative else "/s", "part": "%"}
    decimals = 3 if relative and column.kind == "rate" else column.decimals
    return AnswerColumn(
        column.key, column.heading, unit.get(column.kind, column.unit), column.text, decimals=decimals
    )


def _cells(column: RunColumn, rows: Sequence[ScaledRun], relative: bool) -> list[Value]:
    values = [attrgetter(column.path)(row) for row in rows]
    if column.kind == "ratio":
        return [ratio(value, values[0]) for value in values]
    by = {"time": 1.0 if relative else 1000.0, "part": 100.0}.get(column.kind)
    return values if by is None else [product(value, by) for value in values]


def _law(fit: usl.UslFit | None, relative: bool) -> AnswerTable | None:
    if fit is None:
        return None
    words = {
        "gamma": "throughput of one core" + ("" if relative else " (/s)"),
        "alpha": "contention: part of the work that waits for others",
        "beta": "coherency: cost of keeping consistent",
    }
    rows: list[tuple[Value, ...]] = [
        (words[parameter.name], parameter.value, parameter.low, parameter.high, parameter.how)
        for parameter in fit.parameters
    ]
    rows.append(("cores at peak throughput", fit.peak, None, None, None))
    rows.append(("largest error of a run (%)", 100 * fit.largest_error, None, None, None))
    return answer_table("studies", "usl", "", rows)


# Charts -------------------------------------------------------------------------------------------


def charts(rows: Sequence[ScaledRun], fit: usl.UslFit | None, *, relative: bool) -> Iterator[Chart]:
    sizes = [float(row.scaled.run.processors) for row in rows]
    names = [row.run.name for row in rows]
    ratios = (
        ChartSeries("ITR", [row.scaled.itrr for row in rows]),
        ChartSeries("ETR", [row.scaled.etrr for row in rows]),
    )
    if len(rows) > 1 and all(previous < current for previous, current in pairwise(sizes)):
        lines = [*ratios, ChartSeries("expected", [row.scaled.ratio for row in rows])]
        if fit is not None and len(fit.values) == len(rows):
            base = rows[0].scaled.itr
            lines.append(ChartSeries("USL", [ratio(value, base) for value in fit.values]))
        yield Chart("Ratios to the smallest run", "lines", sizes, tuple(lines), "", "cores")
        efficiency = ChartSeries("efficiency", [product(100, row.scaled.efficiency) for row in rows])
        labels = [f"{row.scaled.run.processors} cores" for row in rows]
        yield Chart("Efficiency: ITR ratio / expected ratio", "bars", labels, (efficiency,), "%")
    elif len(rows) > 1:
        percent = tuple(
            ChartSeries(ratio.name, [product(100, value) for value in ratio.values]) for ratio in ratios
        )
        yield Chart("In percent of the first run", "bars", names, percent, "%")
    costs = [
        ChartSeries(column.heading, _cells(column, rows, relative))  # type: ignore[arg-type]
        for column in _CPU
        if column.key in ("guest_tx", "chargeable_tx", "nonchargeable_tx")
    ]
    used = [cost for cost in costs if any(value is not None for value in cost.values)]
    if used:
        unit = "CPUs" if relative else "ms"
        yield Chart("CPU time per transaction", "bars", names, tuple(used), unit)
