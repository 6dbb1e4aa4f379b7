"""Arithmetic of one run of a workload: given and derived values.

Sources: IBM, "z/VM Support for Eighty Logical Processors", tables 4 to 10 (ETR, ITR, busy, T/V, busy per
transaction, CPI and instructions per transaction; every printed row obeys these formulas); IBM, "z/VM SMT
performance", the tables of the application with serialization (client and processor utilization).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct, field

from zlens.models.capacity import scaling
from zlens.models.optional_numbers import difference, product, ratio
from zlens.models.smt import bounds as smt_bounds
from zlens.models.smt import metrics as smt_metrics

#: Two numbers rounded to 0.1% agree within this many points.
BUSY_ROUNDING = 0.06
#: Relative rounding error of sums of printed numbers.
SUM_ROUNDING = 0.001


class WorkloadRun(Struct, frozen=True, dict=True):
    """One run; unknown values are None.

    etr          transactions per second, or relative to some run
    busy_pct     mean busy of all online logical processors, parked ones included, as given
    total_pct    busy summed over all logical processors
    guest_pct, chargeable_pct, nonchargeable_pct  parts of it: guests, CP for guests, CP not charged
    itr_given    ITR, if given
    processors   logical processors (threads under multithreading); cores: cores they run on
    instructions_given  instructions per transaction
    caf          capacity adjustment factor for these cores
    clients, client_vcpus  virtual machines that send transactions, and virtual CPUs of each
    core_busy_pct          mean busy of the cores; maximum_pct: largest capacity factor of two threads
    client_busy_pct        mean busy of such a virtual machine, summed over its virtual CPUs
    also         other numbers of the run, by name
    """

    name: str
    processors: float | None = None
    cores_given: float | None = None
    etr: float | None = None
    itr_given: float | None = None
    busy_pct: float | None = None
    total_pct: float | None = None
    guest_pct: float | None = None
    chargeable_pct: float | None = None
    nonchargeable_pct: float | None = None
    cpi_given: float | None = None
    complexity_cpi: float | None = None
    finite_cpi: float | None = None
    instructions_given: float | None = None
    ghz: float | None = None
    unparked: float | None = None
    response_ms: float | None = None
    caf: float | None = None
    core_busy_pct: float | None = None
    maximum_pct: float | None = None
    clients: float | None = None
    client_vcpus: float = 1.0
    client_busy_pct: float | None = None
    also: Mapping[str, float] = field(default_factory=dict)
    as_published: bool = False

    # Throughput -----------------------------------------------------------------------------------

    @cached_property
    def cores(self) -> float | None:
        """Cores; by default, one per processor."""
        return self.processors if self.cores_given is None else self.cores_given

    @property
    def _stated_total(self) -> float | None:
        if self.total_pct is not None or self.guest_pct is None or self.cp_pct is None:
            return self.total_pct
        return self.guest_pct + self.cp_pct

    @cached_property
    def total(self) -> float | None:
        """Busy summed over all logical processors, percent of one: given, or from its parts or the mean."""
        if self._stated_total is not None or self.busy_pct is None or self.processors is None:
            return self._stated_total
        return self.busy_pct * self.processors

    @cached_property
    def busy(self) -> float | None:
        """Mean busy of the logical processors, percent; from their sum if given."""
        exact = self.busy_pct
        if self._stated_total is not None and self.processors:
            exact = self._stated_total / self.processors
        return round(exact, 1) if exact is not None and self.as_published else exact

    @cached_property
    def itr(self) -> float | None:
        """Internal throughput rate, ETR / busy: the ETR at 100% busy."""
        if self.itr_given is not None:
            return self.itr_given
        return None if self.etr is None or self.busy is None else scaling.itr(self.etr, self.busy)

    @cached_property
    def busy_of_unparked(self) -> float | None:
        """Mean busy of unparked processors, percent."""
        return ratio(self.total, self.unparked)

    # CPU time of a transaction --------------------------------------------------------------

    @cached_property
    def cp_pct(self) -> float | None:
        """CP time, chargeable and not, summed over all processors, percent of one."""
        if self.chargeable_pct is None or self.nonchargeable_pct is None:
            return None
        return self.chargeable_pct + self.nonchargeable_pct

    @cached_property
    def tv(self) -> float | None:
        """System T/V: all CPU time over guest CPU time."""
        return ratio(self.total, self.guest_pct)

    def per_transaction(self, busy_pct: float | None) -> float | None:
        """Return CPU seconds per transaction from busy summed over all processors, percent of one."""
        return ratio(ratio(busy_pct, 100), self.etr)

    @cached_property
    def cpu_s(self) -> float | None:
        """CPU seconds per transaction."""
        return self.per_transaction(self.total)

    @cached_property
    def guest_s(self) -> float | None:
        """CPU seconds per transaction of guests' own instructions."""
        return self.per_transaction(self.guest_pct)

    @cached_property
    def chargeable_s(self) -> float | None:
        """CPU seconds per transaction of CP on behalf of guests."""
        return self.per_transaction(self.chargeable_pct)

    @cached_property
    def nonchargeable_s(self) -> float | None:
        """CPU seconds per transaction of CP not charged to guests."""
        return self.per_transaction(self.nonchargeable_pct)

    @cached_property
    def cp_s(self) -> float | None:
        """CPU seconds per transaction of CP, chargeable and not."""
        return self.per_transaction(self.cp_pct)

    # Cycles ---------------------------------------------------------------------------------------

    @cached_property
    def cpi(self) -> float | None:
        """Cycles per instruction: given, or the sum of its parts."""
        if self.cpi_given is not None or self.complexity_cpi is None or self.finite_cpi is None:
            return self.cpi_given
        return self.complexity_cpi + self.finite_cpi

    @cached_property
    def instructions(self) -> float | None:
        """Instructions per transaction: given, or cycles of its CPU time over CPI."""
        if self.instructions_given is not None or self.cpu_s is None or self.ghz is None:
            return self.instructions_given
        return ratio(self.cpu_s * self.ghz * 1e9, self.cpi)

    @cached_property
    def clock_ghz(self) -> float | None:
        """Clock rate from instructions, CPI and CPU time if all are given, else as given."""
        if self.instructions_given is None or self.cpi is None:
            return self.ghz
        return ratio(self.instructions_given * self.cpi / 1e9, self.cpu_s)

    @cached_property
    def complexity_s(self) -> float | None:
        """CPU seconds per transaction spent on the instructions themselves."""
        return self._part_s(self.complexity_cpi)

    @cached_property
    def finite_s(self) -> float | None:
        """CPU seconds per transaction spent waiting for caches and storage."""
        return self._part_s(self.finite_cpi)

    def _part_s(self, part_cpi: float | None) -> float | None:
        return ratio(product(self.cpu_s, part_cpi), self.cpi)

    # Threads --------------------------------------------------------------------------------------

    @cached_property
    def threads(self) -> smt_metrics.CoreMetrics:
        """Thread density, and metrics derived from it and the largest capacity factor, on a busy system."""
        if not self.core_busy_pct or self.total is None or self.cores is None:
            return smt_metrics.CoreMetrics()
        density = smt_metrics.density_of(self.core_busy_pct * self.cores, [self.total])
        if density is None:
            return smt_metrics.CoreMetrics()
        return smt_metrics.by_density(density, ratio(self.maximum_pct, 100), self.core_busy_pct / 100)

    @cached_property
    def slowdown(self) -> float | None:
        """CPU time relative to one thread per core: threads slow each other."""
        if self.processors == self.cores:
            return 1.0
        if self.threads.density is None or not self.threads.factor:
            return None
        return smt_bounds.slowdown(self.threads.density, self.threads.factor)

    @cached_property
    def alone_s(self) -> float | None:
        """CPU seconds per transaction with one thread per core."""
        return ratio(self.cpu_s, self.slowdown)

    # Clients and servers --------------------------------------------------------------------------

    @cached_property
    def client_s(self) -> float | None:
        """CPU seconds per transaction used by clients (utilization law)."""
        return self.per_transaction(product(self.clients, self.client_busy_pct))

    @cached_property
    def server_s(self) -> float | None:
        """CPU seconds per transaction used by all but the clients."""
        return difference(self.cpu_s, self.client_s)

    @cached_property
    def processor_bound(self) -> float | None:
        """Maximum transactions per second of the logical processors, at the CPU time of this run."""
        return ratio(self.processors, self.cpu_s)

    @cached_property
    def client_bound(self) -> float | None:
        """Maximum transactions per second that the clients' virtual CPUs can send."""
        return ratio(product(self.clients, self.client_vcpus), self.client_s)

    @cached_property
    def bound_by(self) -> str | None:
        """Name of the lower of the two bounds."""
        if self.processor_bound is None or self.client_bound is None:
            return None
        return "processors" if self.processor_bound <= self.client_bound else "client vCPUs"

    @cached_property
    def bound_fraction(self) -> float | None:
        """ETR as a fraction of the lower bound."""
        if self.processor_bound is None or self.client_bound is None or self.etr is None:
            return None
        return ratio(self.etr, min(self.processor_bound, self.client_bound))

    # Inconsistencies ------------------------------------------------------------------------------

    def inconsistencies(self) -> list[str]:
        """Return sentences on inconsistent numbers of the run."""
        sentences = []
        if self.busy_pct is not None and self.total is not None and self.processors:
            mean = self.total / self.processors
            if abs(mean - self.busy_pct) > BUSY_ROUNDING:
                sentences.append(
                    f"{self.name}: busy is set to {self.busy_pct:g}%, but the sum over its processors "
                    f"gives {mean:.2f}%, which is used"
                )
        if self.itr_given and self.etr is not None and self.busy is not None:
            implied = 100 * self.etr / self.itr_given
            if abs(implied - self.busy) > BUSY_ROUNDING:
                sentences.append(
                    f"{self.name}: ETR and the given ITR imply {implied:.2f}% busy, "
                    f"but busy is {self.busy:.2f}%; the given ITR is used"
                )
        if self.total_pct is not None and self.guest_pct is not None and self.cp_pct is not None:
            parts = self.guest_pct + self.cp_pct
            if abs(parts - self.total_pct) > SUM_ROUNDING * max(parts, self.total_pct):
                sentences.append(
                    f"{self.name}: guest and CP time sum to {parts:.4f}%, "
                    f"but the given total is {self.total_pct:.4f}%, which is used"
                )
        if self.cpi_given is not None and self.complexity_cpi is not None and self.finite_cpi is not None:
            parts = self.complexity_cpi + self.finite_cpi
            if abs(parts - self.cpi_given) > SUM_ROUNDING * max(parts, self.cpi_given):
                sentences.append(
                    f"{self.name}: CPI is {self.cpi_given:.3f}, but its parts sum to {parts:.3f}"
                )
        if self.server_s is not None and self.server_s < 0:
            sentences.append(
                f"{self.name}: the clients use more CPU time than all processors do; "
                "check that they are guests of this partition"
            )
        return sentences
