"""Scenario keys for the simulation: duration, machine and rules of CP.

Every scenario may have these tables; solving ignores them.
"""

from __future__ import annotations

from zlens.catalog import synthetic
from zlens.models.scenario_errors import SimulationSpec
from zlens.schema.validators import (
    Boolean,
    Choice,
    FixedTuple,
    Integer,
    Key,
    ListOf,
    Number,
    SingleLine,
    Text,
    Timestamp,
)

_SECONDS = Number(0, 1e7)
_MS = Number(0, 1e7)
_US = Number(0, 1e7)
_PERCENT = Number(0, 100)
_COUNT = Integer(1, 2**31 - 1)
_CYCLES = Number(0, 1e6)
#: Squared coefficients of variation.
VARIATION = Number(0, 100)
#: Second and factor.
PROFILE = ListOf(FixedTuple((_SECONDS, Number(0, 1000)), "a list of two numbers: second and factor"))

SIMULATION = SimulationSpec(
    (
        Key("seconds", Number(1, 1e7), "length of the recording", "seconds", default=3600.0),
        Key("interval", Number(1, 3600), "monitor sample interval", "seconds", default=60.0),
        Key("high_frequency", Number(0.05, 60), "interval of high-frequency samples", "seconds", default=2.0),
        Key("warmup", _SECONDS, "simulated before the first sample", "seconds", default=60.0),
        Key("start", Timestamp(), "start of the recording", default="2026-03-02T08:00:00Z",
            target="start_tod"),
        Key("zone", Number(-24, 24), "offset of local time from UTC", "hours", default=0.0,
            target="zone_s"),
        Key("seed", Integer(0, 2**63 - 1), "seed of all random numbers", default=1),
        Key("checked", Boolean(), "whether conservation laws are checked while it runs", default=False),
    )
)  # fmt: skip

COUNTERS = SimulationSpec(
    (
        Key("miss_core", _CYCLES, "cost of an L1 miss served by the L2 cache", "cycles",
            constant="sim_miss_core", target="miss_cycles[]"),
        Key("miss_chip", _CYCLES, "the same by the chip's cache", "cycles", constant="sim_miss_chip",
            target="miss_cycles[]"),
        Key("miss_drawer", _CYCLES, "by the drawer's cache", "cycles", constant="sim_miss_drawer",
            target="miss_cycles[]"),
        Key("miss_beyond", _CYCLES, "by another drawer's cache", "cycles", constant="sim_miss_beyond",
            target="miss_cycles[]"),
        Key("miss_memory", _CYCLES, "by memory", "cycles", constant="sim_miss_memory",
            target="miss_cycles[]"),
        Key("kept", _PERCENT, "lines that a virtual CPU uses again after a move", "%", constant="sim_kept"),
        Key("misses_at_once", Number(1, 100), "misses outstanding at once", constant="sim_misses_at_once"),
        Key("instruction_misses", _PERCENT, "part of L1 misses that are of instructions", "%",
            constant="sim_instruction_misses"),
        Key("tlb_reach", Number(0.001, 1e6), "storage that the TLB covers", "MiB",
            constant="sim_tlb_reach"),
        Key("tlb_misses", _PERCENT, "TLB misses relative to L1 misses", "%", constant="sim_tlb_misses"),
        Key("tlb_cycles", _CYCLES, "cost of a TLB miss", "cycles", constant="sim_tlb_cycles"),
        Key("crypto_cycles", _CYCLES, "cycles of a cryptographic function", "cycles",
            constant="sim_crypto_cycles"),
    )
)  # fmt: skip

CHANNELS = SimulationSpec(
    (
        Key("bus_cycles", _COUNT, "bus cycles per second", constant="sim_channel_bus_cycles"),
        Key("work_units", _COUNT, "operations per second", constant="sim_channel_work_units"),
        Key("data_units", _COUNT, "units of data per second, each way", constant="sim_channel_data_units"),
        Key("unit", _COUNT, "a unit of data", "bytes", constant="sim_channel_unit"),
        Key("cycles_per_unit", _COUNT, "bus cycles of a unit of data", constant="sim_channel_cycles"),
    )
)

MACHINE = SimulationSpec(
    (
        Key("type", SingleLine(4), "machine type, of the generations that the catalog has",
            default="8561", target=("machine_type", "megahertz", "counters.table", "counters.caches")),
        Key("model", SingleLine(16), "its model", default="T01"),
        Key("serial", Text(16, 1), "its serial number", default=synthetic.SERIAL),
        Key("name", SingleLine(8), "its name", default="ZLENSCPC"),
        Key("cores_per_chip", Integer(1, 1000), "cores on a chip", constant="sim_cores_per_chip"),
        Key("chips_per_drawer", Integer(1, 1000), "chips in a drawer", constant="sim_chips_per_drawer"),
        Key("move_chip", _US, "cost of a move to another core of the chip", "µs",
            constant="sim_move_chip", target="move_us[]"),
        Key("move_drawer", _US, "the same for another chip of the drawer", "µs",
            constant="sim_move_drawer", target="move_us[]"),
        Key("move_beyond", _US, "the same for another drawer", "µs", constant="sim_move_beyond",
            target="move_us[]"),
        Key("dispatch_overhead", _US, "PR/SM's time for a partition per dispatch of a logical core", "µs",
            constant="sim_prsm_overhead"),
        Key("dispatch_management", _US, "PR/SM's time for itself per dispatch", "µs",
            constant="sim_prsm_management"),
        Key("high_preempts", Boolean(), "whether a ready vertical-high core reclaims its physical core",
            constant="sim_high_preempts"),
        Key("cap_burst", _MS, "largest credit of a capped partition, on one core", "ms",
            constant="sim_cap_burst"),
        Key("lag", _MS, "maximum age of the claim of an idle partition", "ms",
            constant="sim_prsm_lag"),
        Key("caps", Boolean(), "whether caps are enforced", default=True),
        Key("hardware_counters", Boolean(), "whether hardware counters (CPU MF) are simulated, z14 and later",
            default=True, target="counters"),
        Key("counters", COUNTERS, "cost of memory references", default=None, target="counters.costs"),
        Key("capability", Integer(0, 2**32 - 1), "CPU capability (STSI); 0 is not reported", default=0),
        Key("channels", CHANNELS, "capacity of its channel paths", default=None),
    )
)  # fmt: skip

INSTRUCTIONS = SimulationSpec(
    (
        Key("diagnose", _PERCENT, "DIAGNOSE", "%", constant="sim_diagnose"),
        Key("diagnose_44", _PERCENT, "X'44', of these", "%", constant="sim_diagnose_44"),
        Key("diagnose_9c", _PERCENT, "X'9C', of these", "%", constant="sim_diagnose_9c"),
        Key("diagnose_io", _PERCENT, "X'A8', of these", "%", constant="sim_diagnose_io"),
        Key("dispatched", _PERCENT, "X'9C' whose target is dispatched", "%",
            constant="sim_dispatched"),
        Key("sigp", _PERCENT, "SIGP", "%", constant="sim_sigp"),
        Key("lpswe", _PERCENT, "LPSWE", "%", constant="sim_lpswe"),
        Key("fast", _PERCENT, "SIGP and X'44' on the fast path", "%", constant="sim_fast_path"),
    )
)  # fmt: skip

CP = SimulationSpec(
    (
        Key("scheduler", Choice(("deadline", "memoryless")),
            "whether deadlines carry the debt of earlier slices", constant="sim_scheduler"),
        Key("dispatch", Choice(("vectors", "global")), "a dispatch vector for each core, or one list",
            constant="sim_dispatch"),
        Key("slice", Number(0.01, 1000), "minor time slice", "ms", constant="sim_slice"),
        Key("slice_smt", Number(0.01, 1000), "the same with multithreading", "ms", constant="sim_slice_smt"),
        Key("lag", _MS, "maximum age of the deadline of a virtual CPU that waited may lie", "ms",
            constant="sim_lag"),
        Key("steal_lag", _MS, "a virtual CPU of another vector goes first if its deadline is earlier by this",
            "ms", constant="sim_steal_lag"),
        Key("dspwdmethod", Choice(("RESHUFFLE", "REBALANCE")), "SET SRM DSPWDMETHOD",
            constant="sim_dspwdmethod", target="rebalance"),
        Key("reshuffle", Number(0, 3600), "time between redistributions; 0 is never", "seconds",
            constant="sim_reshuffle"),
        Key("dispatch_user", _US, "CP time per dispatch charged to the user", "µs",
            constant="sim_dispatch_user"),
        Key("dispatch_system", _US, "CP time per dispatch not charged to users", "µs",
            constant="sim_dispatch_system"),
        Key("preempts", Boolean(), "whether a virtual CPU preempts one whose deadline is later "
            "by a slice; never under multithreading", constant="sim_preempts"),
        Key("lock_hold", _US, "time per dispatch that the scheduler lock is held", "µs",
            constant="sim_lock_hold"),
        Key("lock_shared", _PERCENT, "part of these holds that are shared", "%", constant="sim_lock_shared"),
        Key("limit_burst", _MS, "largest credit of a limited user or pool", "ms",
            constant="sim_limit_burst"),
        Key("limits", Boolean(), "whether limits are enforced", default=True),
        Key("smt_speedup", Number(50, 400), "work of two threads relative to one", "%",
            constant="smt_speedup"),
        Key("idle_cores_first", Boolean(), "whether virtual CPUs go to idle cores before idle threads",
            constant="sim_idle_cores_first"),
        Key("parking", Boolean(), "whether cores of vertical partitions are parked", default=True,
            target="unparking.active"),
        Key("unparking", Choice(("LARGE", "MEDIUM", "SMALL")), "SET SRM UNPARKING",
            constant="unparking_model", target="unparking.model"),
        Key("excessuse", Choice(("HIGH", "MEDIUM", "LOW", "NONE")), "SET SRM EXCESSUSE",
            constant="excessuse_setting", target="unparking.excess_pct"),
        Key("excessuse_high", _PERCENT, "part of the excess that HIGH uses", "%",
            constant="excessuse_high", target="unparking.excess_pct"),
        Key("excessuse_medium", _PERCENT, "part that MEDIUM uses", "%", constant="excessuse_medium",
            target="unparking.excess_pct"),
        Key("excessuse_low", _PERCENT, "part that LOW uses", "%", constant="excessuse_low",
            target="unparking.excess_pct"),
        Key("global_performance_data", Boolean(), "whether it sees other partitions", default=True,
            target="unparking.global_performance_data"),
        Key("cpupad", Number(0, 8000), "SET SRM CPUPAD, applies without that data", "% of one core",
            default=100.0, target="unparking.pad_pct"),
        Key("projection_factor", Number(0, 10), "expected use for each percent used",
            constant="unpark_projection_factor", target="unparking.projection_factor"),
        Key("projection_base", Number(0, 1e6), "added to that", "% of one core",
            constant="unpark_projection_base", target="unparking.projection_base_pct"),
        Key("low_powered", _PERCENT, "least power of a vertical-low that counts", "% of one core",
            constant="unpark_low_powered", target="unparking.low_powered_pct"),
        Key("block_pages", Integer(1, 1024), "pages of one block of paging I/O",
            constant="sim_block_pages"),
        Key("storbuf", Number(0, 1000), "SET SRM STORBUF for class 3", "% of storage",
            constant="sim_storbuf"),
        Key("eligible_slice", Number(0.01, 3600), "longest stay in the dispatch list while others wait",
            "seconds", constant="sim_eligible_slice"),
        Key("test_idle", _MS, "time that an idle user stays in the dispatch list", "ms",
            constant="sim_test_idle"),
        Key("storbuf_2", Integer(0, 1000), "for classes 2 and 3, recorded only", "% of storage",
            constant="sim_storbuf_2"),
        Key("storbuf_1", Integer(0, 1000), "for all classes, recorded only", "% of storage",
            constant="sim_storbuf_1"),
        Key("nonpageable", _PERCENT, "storage that CP does not page", "%", constant="sim_nonpageable"),
        Key("available_low", _PERCENT, "available frames below which CP looks for more", "%",
            constant="sim_available_low", target="available_pct[]"),
        Key("available_high", _PERCENT, "available frames up to which it does", "%",
            constant="sim_available_high", target="available_pct[]"),
        Key("steal", Number(0.001, 3600), "time between two searches for frames", "seconds",
            constant="sim_steal"),
        Key("instructions", INSTRUCTIONS, "the instructions that it simulates", default=None),
    )
)  # fmt: skip

#: Keys that every scenario may have besides the keys of its model.
KEYS = (
    Key("simulation", SIMULATION, "how zlens simulate runs it", default=None, target="/"),
    Key("machine", MACHINE, "the machine that zlens simulate runs it on", default=None),
    Key("cp", CP, "CP as zlens simulate runs it", default=None, target="/systems.cp"),
)
