"""Keys of a scenario of a machine.

Partitions, users and pools have the keys of their own models; only simulations use the rest.
"""

from __future__ import annotations

from zlens.catalog import processor_types, writer_plans
from zlens.models import simulation_spec
from zlens.models.partitions import model as partitions
from zlens.models.relocation import link as relocation_link
from zlens.models.scenario_errors import SimulationSpec
from zlens.models.shares import model as shares
from zlens.models.simulation_spec import PROFILE, VARIATION
from zlens.schema.validators import (
    Boolean,
    Choice,
    EntryName,
    FixedTuple,
    Integer,
    Key,
    ListOf,
    Number,
    NumberOr,
    OneOf,
    SingleLine,
    Spec,
    Timestamp,
)

TYPES = processor_types.modeled_types()
_MS = Number(0, 1e7)
_MIB = Number(0, 1e9)
_RATE = Number(0, 1e9)
_SECONDS = Number(0, 1e7)
_PERCENT = Number(0, 100)
_SPAN = FixedTuple((_SECONDS, _SECONDS), "a list of two numbers: the seconds from and to")
_WRITES = FixedTuple((_MIB, _MIB), "a list of two numbers: MiB of storage, and MiB/s written to it")
_LIMIT = NumberOr(_SECONDS, "NOLIMIT")
_USER = EntryName(table="user")
_NAMES = OneOf(_USER, ListOf(_USER, 1))
_VOLUME = EntryName(table="volume")
_VARIATION = "squared coefficient of variation of that"

LOAD = SimulationSpec(
    (
        Key("burst", Number(0.001, 1e7), "mean CPU time of a burst", "ms", constant="sim_burst"),
        Key("variation", VARIATION, _VARIATION, constant="sim_burst_variation"),
        Key("backlog", _SECONDS, "work that may wait; more is discarded", "seconds", constant="sim_backlog"),
        Key("profile", PROFILE, "height of the demand over time: [[0, 1.0], [1800, 2.0]]", default=[]),
        Key("io_rate", _RATE, "I/O per second of virtual CPU time", "per second", default=0.0),
        Key("volumes", ListOf(_VOLUME), "volumes of its I/O, in turn", default=[]),
        Key("page_rate", _RATE, "page faults per second of virtual CPU time", "per second", default=0.0),
        Key("simulation_rate", _RATE, "instructions that CP simulates, per second of virtual CPU time",
            "per second", default=0.0),
        Key("simulation_cost", Number(0, 1e6), "CP time of one of them", "µs",
            constant="sim_simulation_cost"),
        Key("cached", _PERCENT, "part of its I/O that the minidisk cache avoids", "%", default=0.0),
        Key("quantum", Number(0.001, 1e7, above=True), "time slice of a transaction; if left out, "
            "each runs to its end", "ms", default=None, target="/systems.users.quantum_ms"),
        Key("smt_speedup", Number(50, 400), "work of two threads relative to one; if left out, CP's",
            "%", default=None, target="/systems.users.smt_speedup_pct"),
    )
)  # fmt: skip

PARTITION = Spec(
    (
        *partitions.PARTITION.keys,
        Key("number", Integer(1, 255), "its number; if left out, its index", default=None,
            target="/partitions.number"),
        Key("system", SingleLine(), "name of its z/VM system; if left out, the partition's",
            default=None, target="/systems.name"),
        Key("records", Choice(writer_plans.RELEASES), "release of its system's records; if "
            "left out, zlens' synthetic layouts, with all fields", default=None,
            target="/systems.release"),
        Key("transaction_ends", Boolean(), "record what users used at the end of each transaction (D4R9)",
            default=None, target="/systems.transaction_ends"),
        Key("storage", Number(0, 1e9, above=True), "its storage", "MiB", default=None,
            target="/systems.storage_mib"),
        Key("ipl", Timestamp(), "when its system was IPLed; if left out, a day before the start",
            default=None, target="/systems.ipl_tod"),
        Key("cp", simulation_spec.CP, "CP in this partition, instead of the common [cp]",
            default=None, target="/systems.cp"),
        Key("load", LOAD, "how it uses what it demands, if it has no users", default=None,
            target="/systems.users.loads"),
    )
)  # fmt: skip

MEMORY = SimulationSpec(
    (
        Key("instructions_per_cycle", Number(0.001, 100), "without misses", constant="sim_ipc"),
        Key("footprint", _MIB, "size of its working set", "MiB", constant="sim_footprint"),
        Key("shared", _PERCENT, "part of it that other virtual CPUs write", "%",
            constant="sim_footprint_shared"),
        Key("l1_misses", Number(0, 100), "L1 misses per 100 instructions", constant="sim_l1_misses"),
        Key("crypto_rate", _RATE, "cryptographic functions per second of CPU time", "per second",
            default=0.0),
        Key("problem_state", _PERCENT, "part of virtual CPU time in problem state", "%",
            constant="sim_problem_state"),
    )
)  # fmt: skip

USER = Spec(
    (
        *(key for key in shares.USER.keys if key.name != "demand"),
        Key("demand", Number(0, 1_000_000),
            "demand, spread evenly over its virtual CPUs; if left out, unlimited, "
            "or the work of its transactions", "% of one processor", default=None,
            target="loads.demand_pct"),
        Key("partition", SingleLine(), "its partition, if there are several", default=None,
            target="/systems.partition"),
        Key("account", SingleLine(8), "account number", default=None),
        Key("quick_dispatch", Boolean(), "QUICKDSP", default=False),
        Key("logged_on", Boolean(), "logged on from the beginning, or by a [[command]]", default=True),
        Key("storage", Number(0, 1e9, above=True), "its storage", "MiB", default=None),
        Key("working_set", _MIB, "part of it in use; if left out, a constant's part", "MiB", default=None),
        Key("application_data", Boolean(), "a Linux system that hands data about itself to CP (appldata)",
            default=False),
        Key("load", LOAD, "how it uses what it demands", default=None, target="loads"),
        Key("memory", MEMORY, "character of its memory references", default=None),
    )
)  # fmt: skip

POOL = Spec(
    (
        *shares.POOL.keys,
        Key("partition", SingleLine(), "its partition, if there are several", default=None,
            target="/systems.partition"),
    )
)  # fmt: skip

STEP = SimulationSpec(
    (
        Key("cpu", _MS, "mean CPU time on a virtual CPU of user", "ms", default=None, target="cpu.cpu_ms"),
        Key("io", Integer(1, 1_000_000), "number of consecutive operations to volumes",
            default=None, target="io.count"),
        Key("delay", _MS, "mean wait for something outside", "ms", default=None, target="delay.delay_ms"),
        Key("variation", VARIATION, _VARIATION, default=1.0, target=("cpu.variation", "delay.variation")),
        Key("user", _NAMES, "the user, or users that customers use in turn", default=None,
            target=("cpu.users", "io.users")),
        Key("volumes", ListOf(_VOLUME, 1), "the volumes, in turn", default=None, target="io.volumes"),
        Key("lock", EntryName(table="lock"),
            "name of a lock that is held for this time; one virtual CPU at a time", default=None,
            target=("cpu.lock", "/systems.locks")),
    )
)  # fmt: skip

TRANSACTION = SimulationSpec(
    (
        Key("name", SingleLine(), "name of the class of transactions"),
        Key("partition", SingleLine(), "partition of its users, if there are several", default=None,
            target="/systems.partition"),
        Key("customers", Integer(1, 1_000_000), "customers of a closed class", default=None),
        Key("rate", Number(0, 1e9, above=True), "arrivals of an open class", "per second", default=None),
        Key("rate_variation", VARIATION, "squared coefficient of variation of times between arrivals",
            default=1.0),
        Key("most", Integer(1, 1_000_000), "open: maximum transactions in the system; more are refused",
            default=10_000),
        Key("think", _SECONDS, "closed: mean time between a transaction and the next", "seconds",
            default=0.0),
        Key("think_variation", VARIATION, _VARIATION, default=1.0),
        Key("profile", PROFILE, "height of the load over time: [[0, 1.0], [1800, 2.0]]", default=[]),
        Key("step", ListOf(STEP, 1), "steps of a transaction, in order: cpu, io or delay", target="steps"),
    )
)  # fmt: skip

CONTROL_UNIT = SimulationSpec(
    (
        Key("name", SingleLine(), "name of the control unit (LCU)", target="/systems.volumes.control_unit"),
        Key("partition", SingleLine(), "partition that it is attached to, if there are several",
            default=None, target="/systems.partition"),
        Key("ssid", Integer(1, 0xFFFF), "its subsystem ID; if left out, its index", default=None),
        Key("aliases", Integer(0, 4096), "HyperPAV aliases", default=0),
        Key("minidisk_share", Integer(0, 1_000_000), "share of minidisk I/O (SET CU)", default=None,
            target="shares"),
        Key("paging_share", Integer(0, 1_000_000), "share of paging I/O", default=None, target="shares"),
        Key("chpids", ListOf(Integer(0, 255), 0, 8), "its channel paths", default=[]),
        Key("others", Number(0, 99), "part of the work of these paths that is of other partitions", "%",
            constant="sim_channel_others"),
    )
)  # fmt: skip

VOLUME = SimulationSpec(
    (
        Key("name", SingleLine(), "volume serial"),
        Key("device", Integer(1, 0xFFFF), "device number: 0x0200; if left out, counted from 0x1000",
            default=None),
        Key("control_unit", EntryName(table="control_unit"), "name of its control unit"),
        Key("paging", Boolean(), "whether CP pages to it", default=False),
        Key("slots", Integer(1, 2**40), "slots of a paging volume", "pages", constant="sim_slots"),
        Key("pending", _MS, "mean pending time of an operation", "ms", constant="sim_pending"),
        Key("connect", _MS, "mean connect time", "ms", constant="sim_connect"),
        Key("miss", _MS, "mean disconnect time of an operation that misses the cache", "ms",
            constant="sim_miss"),
        Key("read_hit", _PERCENT, "reads that the cache has", "%", constant="sim_read_hit"),
        Key("read", _PERCENT, "operations that read", "%", constant="sim_read"),
        Key("variation", VARIATION, "squared coefficient of variation of times",
            constant="sim_io_variation"),
        Key("transport", Number(0, 1000), "transport mode (zHPF) with this part of the connect time", "%",
            default=None),
        Key("operation", Number(0, 1e6), "data of an operation, if it is not paging", "KiB",
            constant="sim_operation"),
        Key("spool_slots", Integer(0, 2**40), "slots of its spool area", "pages", default=0),
        Key("spool_used", _PERCENT, "part of them in use", "%", constant="sim_spool_used"),
        Key("links", Integer(0, 65_535), "links of guests to it", default=0),
        Key("seek_cylinders", Integer(1, 2**31 - 1), "its cylinders; seeks are recorded if set",
            default=None),
        Key("offline", ListOf(_SPAN), "when it is offline: [[0, 1500]]; not used then", default=[]),
    )
)  # fmt: skip

PORT = SimulationSpec(
    (
        Key("user", _USER, "the user"),
        Key("device", Integer(1, 0xFFFF), "virtual device number", default=0x0600),
        Key("out", _MIB, "data it sends by the uplink, per second of virtual CPU time", "MiB/s", default=0.0),
        Key("in", _MIB, "data it receives by the uplink", "MiB/s", default=0.0),
        Key("next", _MIB, "data it sends to the next port", "MiB/s", default=0.0),
    )
)

SWITCH = SimulationSpec(
    (
        Key("name", SingleLine(8), "name of the virtual switch"),
        Key("partition", SingleLine(), "its partition, if there are several", default=None,
            target="/systems.partition"),
        Key("owner", SingleLine(8), "its owner", default="SYSTEM"),
        Key("global", Boolean(), "whether the members of an SSI cluster share it", default=False),
        Key("controller", SingleLine(8), "the guest that controls its uplink", default="DTCVSW1"),
        Key("device", Integer(1, 0xFFFD), "device number of the uplink"),
        Key("packet", Number(1, 65_536), "size of a packet", "bytes", constant="sim_packet"),
        Key("discarded", Number(0, 1e6), "of a million packets received, those discarded",
            constant="sim_discarded"),
        Key("port", ListOf(PORT, 1), "a user coupled to it", target="ports"),
    )
)  # fmt: skip

FUNCTION = SimulationSpec(
    (
        Key("id", Integer(1, 2**32 - 1), "ID of the PCI function"),
        Key("partition", SingleLine(), "its partition, if there are several", default=None,
            target="/systems.partition"),
        Key("user", _USER, "the user that has it"),
        Key("type", Integer(0, 255), "its type, in the code of CLP", target="kind"),
        Key("format", Choice(("DMA", "packets", "work units", "bytes sent")), "its measurement format"),
        Key("attach", _SECONDS, "second at which it is attached, if that is recorded", "seconds",
            default=None),
        Key("loads", _RATE, "load operations per second of virtual CPU time", "per second", default=0.0),
        Key("stores", _RATE, "store operations", "per second", default=0.0),
        Key("refreshes", _RATE, "refreshes of translations", "per second", default=0.0),
        Key("in", _MIB, "data it receives, or reads by DMA", "MiB/s", default=0.0),
        Key("out", _MIB, "data it sends, or writes by DMA", "MiB/s", default=0.0),
        Key("packet", Number(1, 65_536), "size of a packet", "bytes", constant="sim_packet"),
    )
)  # fmt: skip

RELOCATION = SimulationSpec(
    (
        Key("user", _USER, "user to relocate"),
        Key("partition", SingleLine(), "its partition, if there are several", default=None,
            target="/systems.partition"),
        Key("to", SingleLine(), "destination member"),
        Key("at", _SECONDS, "second of the command, from the first sample", "seconds", default=0.0),
        Key("immediate", Boolean(), "IMMEDIATE", default=False),
        Key("maxquiesce", _LIMIT, "MAXQUIESCE; if left out, the default of VMRELOCATE", "seconds",
            default=None),
        Key("maxtotal", _LIMIT, "MAXTOTAL", "seconds", default="NOLIMIT"),
        Key("touched", _MIB, "storage ever touched; if left out, all", "MiB", default=None),
        Key("change_rate", _MIB, "writes per second of virtual CPU time", "MiB/s", default=0.0,
            target="writes"),
        Key("changing", _MIB, "storage that they go to; if left out, all touched", "MiB",
            default=None, target="writes"),
        Key("writes", ListOf(_WRITES), "instead of both, for each kind of storage: [[100, 90], [900, 10]]",
            default=[]),
        Key("setup", _SECONDS, "before the first pass", "seconds", default=0.0),
        Key("fixed_quiesce", _SECONDS, "part of the quiesce that is not for pages", "seconds", default=0.0),
        Key("stop_below", _MIB, "stop the guest when no more than this is left", "MiB",
            constant="relocation_stop_below"),
        Key("live_passes", Integer(1, 1000), "least passes while the guest runs",
            constant="relocation_live_passes"),
        Key("passes_most", Integer(1, 1000), "most passes in total", constant="relocation_passes_most"),
        Key("quiesce_passes", Integer(0, 100), "passes in the quiesce", constant="relocation_quiesce_passes"),
        Key("no_progress", Number(0, 1e6), "stop the guest if a pass leaves this part of its data", "%",
            default=None),
    )
)  # fmt: skip

LINK = SimulationSpec(
    (
        *relocation_link.SPEC.keys,
        Key("at_once", Integer(1, 10_000), "relocations at the same time; 1 is SYNC", default=1),
        Key("cpu", _MS, "CP time to send one MiB", "ms", constant="sim_relocation_cpu"),
        Key(
            "throttle_at",
            Number(0, 1e7),
            "page faults of the system beyond which sending is throttled; if left out, never",
            "per second",
            default=None,
        ),
        Key(
            "throttle_to",
            Number(1, 100),
            "part of the throughput that is left then",
            "%",
            constant="sim_relocation_throttle",
        ),
        Key("cluster", SingleLine(8), "name of the members' SSI cluster", default="CLUSTER"),
    )
)

COMMAND = SimulationSpec(
    (
        Key("at", _SECONDS, "second, from the first sample", "seconds"),
        Key("do", Choice(("logon", "logoff", "vary on", "vary off", "set share", "set multithread",
            "set pool", "set pool limit")), "the command", target="action"),
        Key("partition", SingleLine(), "partition whose system it is for, if there are several",
            default=None, target="/systems.partition"),
        Key("user", _USER, "logon, logoff, set share, set pool: the user", default=None,
            target=("action.logon.user", "action.logoff.user", "action.set_share.user",
            "action.set_pool.user")),
        Key("core", Integer(0, 1000), "vary: index of the core in the partition",
            default=None, target=("action.vary_on.core", "action.vary_off.core")),
        Key("pool", EntryName(table="pool"), "set pool, set pool limit: the CPU pool", default=None,
            target=("action.set_pool.pool", "action.set_pool_limit.pool")),
        Key("limit", Number(0, 1000, above=True), "set pool limit: LIMITHARD in percent, or CAPACITY",
            default=None, target="action.set_pool_limit.limit"),
        Key("relative", Integer(1, 10_000), "set share: relative share", default=None,
            target="action.set_share.share"),
        Key("absolute", Number(0.1, 100), "set share: absolute share", "%", default=None,
            target="action.set_share.share"),
        Key("type", Choice(TYPES), "set multithread: type of core", default=None,
            target="action.set_multithread.kind"),
        Key("threads", Integer(1, 2), "set multithread: threads per core", default=None,
            target="action.set_multithread.threads"),
    )
)  # fmt: skip

SPEC = Spec(
    (
        *(key for key in partitions.SPEC.keys if key.name != "partition"),
        next(key for key in shares.SPEC.keys if key.name == "absolute_shares_at_most"),
        Key("partition", ListOf(PARTITION, least=1), "a partition's cores of one type",
            target="partitions.shares"),
        Key("user", ListOf(USER), "a user of z/VM", default=[], target="systems.users"),
        Key("pool", ListOf(POOL), "a CPU pool of z/VM", default=[], target="systems.pools"),
        Key("transaction", ListOf(TRANSACTION), "a class of transactions", default=[],
            target="systems.transactions"),
        Key("control_unit", ListOf(CONTROL_UNIT), "a control unit", default=[],
            target="systems.control_units"),
        Key("volume", ListOf(VOLUME), "a volume", default=[], target="systems.volumes"),
        Key("switch", ListOf(SWITCH), "a virtual switch", default=[], target="systems.switches"),
        Key("function", ListOf(FUNCTION), "a PCI function of a user", default=[], target="systems.functions"),
        Key("link", LINK, "ISFC logical link of the relocations: rate or chpids", default=None,
            target="systems.link"),
        Key("relocation", ListOf(RELOCATION), "a relocation to another member, in order", default=[],
            target="systems.relocations"),
        Key("command", ListOf(COMMAND), "a command of an operator", default=[], target="systems.commands"),
        *simulation_spec.KEYS,
    )
)  # fmt: skip

EXAMPLE = """\
# A machine of eight IFLs, two partitions, and a z/VM system with servers, transactions and paging.
model = "system"
title = "Two partitions of eight IFLs"

[processors]
IFL = 8

[[partition]]
name = "ZVM1"
type = "IFL"
cores = 6
weight = 600
zvm = "7.4"

[[partition]]                # not z/VM: only uses CPU time
name = "LINUX"
type = "IFL"
cores = 4
weight = 400
demand = 2.5                 # cores

[[user]]
name = "WEB1"
type = "IFL"
relative = 200
virtual_cpus = 2

[[user]]
name = "DB1"
type = "IFL"
relative = 400
virtual_cpus = 4
storage = 16384              # MiB

[[user]]
name = "BATCH"
type = "IFL"
relative = 100
demand = 80                  # percent of one processor
[user.load]
page_rate = 50               # per second of virtual CPU time
profile = [[0, 1.0], [1800, 1.0], [1801, 2.0]]

[[transaction]]
name = "ORDERS"
customers = 40
think = 1.0                  # seconds
[[transaction.step]]
cpu = 8                      # milliseconds
user = "WEB1"
[[transaction.step]]
cpu = 20
user = "DB1"
[[transaction.step]]
io = 3                       # operations
user = "DB1"
volumes = ["DATA01", "DATA02"]

[[control_unit]]
name = "CU1"
ssid = 0x5100
aliases = 8
minidisk_share = 100
paging_share = 100

[[volume]]
name = "DATA01"
device = 0x0200
control_unit = "CU1"

[[volume]]
name = "DATA02"
device = 0x0201
control_unit = "CU1"

[[volume]]
name = "PAGE01"
device = 0x0300
control_unit = "CU1"
paging = true

[[command]]
at = 900                     # seconds from the first sample
do = "set share"
user = "BATCH"
relative = 50

[simulation]
seconds = 3600
interval = 60
seed = 1
"""
