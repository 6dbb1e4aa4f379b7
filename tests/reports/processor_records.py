"""Inputs of processors, cores, locks and partitions, from records with known values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import publications
from fake_session import FakeSession

import monwrite_builder as monwrite
import partition_builder as lpar
import record_encoder
from monwrite_builder import MINUTE_US, S_US, START_US, TOD_S, Way, configuration, interval, record, way_of
from zlens import _native
from zlens.catalog import layouts

#: Seconds of a minute on each of two processors, and counts.
TIMES = {"PFXUTIME": (30, 12), "PFXTMSYS": (6, 3), "PFXTOTWT": (12, 45), "PFXSPINT": (3, 0)}
EMULATION = (24, 9)
COUNTS = {
    "D0R1": {"SYTSYP_PLSPRVIS": (600, 60), "SYTSYP_PLSDIAGT": (120, 0), "SYTSYP_PLSEXTNX": (6, 6)},
    "D0R2": {"SYTPRP_PFXRUNCI": (1200, 600), "SYTPRP_PFXRUNPF": (300, 60), "SYTPRP_ZLDIAG9C": (30, 90)},
    "D5R3": {"PRCPRP_HFCOUNT": (30, 30), "PRCPRP_HFUSERZ": (6, 24), "PRCPRP_HFUSERC": (45, 6)},
    "D5R11": {"PRCINS_PLSPRVLP": (60, 0), "PRCINS_PLSSTFLE": (0, 12)},
    "D5R12": {"PRCDIA_PLSDGX9C": (90, 30), "PRCDIA_PLSDG3FC": (1, 0)},
    "D5R17": {"PRCRCD_HFCOUNT": (30, 30), "PRCRCD_HFUSERZ": (3, 30), "PRCRCD_HFUSERC": (60, 0)}
    | {"PRCRCD_ZLSTEAL": (120, 0)},
}


def known(way: str | Way, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the records of this way have."""
    return {k: v for k, v in values.items() if way != "5.3" or "_ZL" not in k}


def two_processors(
    folder: Path, records: Sequence[str] = ("D0R1", "D0R2", "D5R17"), way: str | Way = "sim", **config: int
) -> Path:
    """Write three samples of two processors; the first is the master."""
    written, own_config = way_of(way)
    begin = START_US - S_US
    status = [
        written("D1R5", begin - 1_200 + cpu, known(way, {"MTRPRP_PFXCPUAD": cpu, "MTRPRP_ZLSTATUS": cpu}))
        for cpu in (0, 1)
    ]
    groups = [configuration(begin, {**own_config, **config}, 60, status)]
    for sample in range(3):
        end = START_US + sample * MINUTE_US
        found = []
        for cpu in (0, 1):
            for name in records:
                values = {key: 10 + sample * count[cpu] for key, count in COUNTS[name].items()}
                prefix = next(iter(values)).split("_")[0]
                if name == "D0R2":
                    values |= {f"SYTPRP_{k}": 10**9 + sample * s[cpu] * TOD_S for k, s in TIMES.items()}
                    values["SYTPRP_PFXPRBTM"] = 2**63 - 1 - sample * EMULATION[cpu] * TOD_S
                    values |= {"SYTPRP_PFXCPUTY": 3, "SYTPRP_ZLCORE": 0, "SYTPRP_ZLTHRD": cpu}
                values[f"{prefix}_PFXCPUAD"] = cpu
                found.append(written(name, end - 100, known(way, values)))
        groups.append(interval(end, found))
    return monwrite.write(folder / "x", groups)


DECISION = {
    "PRCPUP_ZLTYPE": 3,
    "PRCPUP_ZLONLINE": 8,
    "PRCPUP_ZLENTITL": 51_200,
    "PRCPUP_ZLPROJLD": 30_050,
    "PRCPUP_ZLPROJXP": 12_000,
    "PRCPUP_ZLPAD": 100,
    "PRCPUP_ZLEXU": 2,
}


def decisions(folder: Path, way: str | Way = "sim") -> Path:
    """Write two decisions to unpark, 8 and 6 cores, and the topology before and after."""
    written, config = way_of(way)

    def entries(name: str, time: int, section: str, given: list[dict[str, Any]]) -> bytes:
        prefix = {"D5R16": "PRCPUP_ZLTYP", "D1R26": "MTRTOP_ZLCOR", "D5R14": "PRCTOP_ZLCOR"}[name]
        size, fixed = {"D5R16": 32, "D1R26": 16, "D5R14": 16}[name], 28
        if written is not monwrite.sim_record:
            layout = written.__self__.layouts[name]  # type: ignore[attr-defined]
            size, fixed = layout.section(section).length, layout.length
        head = {f"{prefix}OFF": fixed, f"{prefix}LEN": size, f"{prefix}CNT": len(given)}
        return written(name, time, head, {section: given})

    def cores(prefix: str, drawer: int) -> list[dict[str, Any]]:
        places = {"ZLNEST3": drawer, "ZLNEST2": 1}
        return [
            {
                f"{prefix}_{name}": value
                for name, value in (
                    places | {"ZLCORE": core, "ZLTYPE": 3, "ZLPOLAR": 3 - core, "ZLNEST1": core + 1}
                ).items()
            }
            for core in (0, 1)
        ]

    first = entries("D1R26", START_US - S_US - 1_300, "CORES", cores("MTRTOP", 1))
    groups = [configuration(START_US - S_US, config, 60, [first])]
    groups.append(interval(START_US, [record("D0R8", START_US - 9)]))
    for at, unparked in ((2, 8), (4, 6)):
        mask = ((1 << unparked) - 1 << 64 - unparked).to_bytes(8, "big")
        stanza = {**DECISION, "PRCPUP_ZLUNPARK": unparked, "PRCPUP_ZLMASK": mask}
        groups.append((False, [entries("D5R16", START_US + at * S_US, "TYPES", [stanza])]))
    groups.append((False, [entries("D5R14", START_US + 30 * S_US, "CORES", cores("PRCTOP", 2))]))
    groups.append(interval(START_US + MINUTE_US, [record("D0R8", START_US + MINUTE_US - 9)]))
    return monwrite.write(folder / "x", groups)


def dedicated_threads(folder: Path) -> Path:
    """Write eight threads of four dedicated cores, as in IBM's PRCLOG listing with two threads per core."""
    groups = [configuration(START_US - S_US, {**monwrite.SIM_CONFIG, "MTRSYS_ZLMTIFL": 2})]
    for sample in range(3):
        end = START_US + sample * MINUTE_US
        found = []
        for cpu in range(8):
            values = {
                "PFXCPUAD": cpu,
                "PFXCPUTY": 3,
                "PFXUTIME": 10**9 + sample * 45 * TOD_S,
                "PFXTMSYS": 10**9,
                "PFXTOTWT": 10**9 + sample * 15 * TOD_S,
                "ZLCORE": cpu // 2,
                "ZLTHRD": cpu % 2,
                "ZLPOLAR": 3,
                "ZLDED": 1,
                "ZLENTITL": 10_000,
                "ZLDVID": (cpu // 2).to_bytes(2, "big"),
            }
            found.append(
                monwrite.sim_record("D0R2", end - 100, {f"SYTPRP_{k}": v for k, v in values.items()})
            )
        groups.append(interval(end, found))
    return monwrite.write(folder / "x", groups)


# The columns of the published PRCLOG rows, from entitlement on.
PRCLOG_KEYS = (
    "entitlement_pct", "dvid", "parked_pct", "busy_pct", "user_pct", "system_pct", "emulation_pct",
    "inst_sim_rate", "diag_rate", "sigp_rate", "ssch_rate", "pages_below_2g_rate", "pgin_rate",
    "fast_path_pct", "page_read_rate", "msgs_rate", "diag9c_rate",
)  # fmt: skip
#: Published totals are of unrounded means. These corrections within rounding lead from the sum of the printed
#: means to the printed total, and change no printed mean.
PRCLOG_HIDDEN = {
    "prclog-plain": {"user_pct": -0.02, "system_pct": 0.02, "emulation_pct": -0.02},
    "prclog-threads": {
        "system_pct": -0.01, "emulation_pct": -0.01, "sigp_rate": -0.1, "ssch_rate": -0.01,
        "page_read_rate": -0.03, "msgs_rate": 0.014,
    },
}  # fmt: skip
PRCLOG_START = {
    "prclog-plain": datetime(2015, 2, 14, 16, 4, 29, tzinfo=UTC),
    "prclog-threads": datetime(2015, 2, 14, 16, 31, 32, tzinfo=UTC),
}


def prclog_rows(folder: Path, listing: str) -> FakeSession:
    """Return 21 intervals of 30 s around the published means, and two flagged ones outside all means."""
    head = {"system": "SYSTEMID", "source": "zvm-monitor"}
    ends = [PRCLOG_START[listing] + timedelta(seconds=30 * (i + 1)) for i in range(21)]
    hidden = PRCLOG_HIDDEN[listing]
    cpu: list[dict[str, object]] = []
    for number, kind, _, *fields, place in publications.rows(listing):
        core, thread = map(int, place.split("/"))
        means: dict[str, object] = {}
        for key, text in zip(PRCLOG_KEYS, fields, strict=True):
            if key == "dvid":
                means[key] = text
            elif not text.startswith(".."):
                means[key] = max(float(text) + hidden.get(key, 0.0), 0.0)
        own = {**head, "cpu_id": int(number), "cpu_type": kind, "core_id": core, "thread_id": thread}
        for i, end in enumerate(ends):
            # Symmetric around the middle of 21 intervals, so that the mean is unchanged.
            sway = 1 + (i - 10) / 100
            values = {k: v * sway if isinstance(v, float) else v for k, v in means.items()}
            row = {**own, "interval_end": end, "seconds": 30.0, "polarity": "Vh", "dedicated": True, **values}
            cpu.append(row | {"entitlement_pct": 100.0})
        for flag, seconds in (("gap", 95.0), ("short", 4.0)):
            end = ends[-1] + timedelta(seconds=seconds)
            row = {**own, "interval_end": end, "seconds": seconds, "flag": flag, "polarity": "Vl"}
            cpu.append(row | {"dedicated": False, "busy_pct": 3.0, "inst_sim_rate": 9e9})
    intervals = [
        {**head, "interval_end": end, "interval_start": end - timedelta(seconds=30), "seconds": 30.0}
        for end in ends
    ]
    system = {**head, "machine_type": "2964", "model": "704", "serial": "12F17", "release": "6.3.0"}
    return FakeSession({"system": [system], "interval": intervals, "cpu": cpu})


#: Busy is user plus system time; if these print as more than it, both are reduced.
LESS = {("84.5", "84.4", ".2"): {"user_pct": -0.04, "system_pct": -0.03}}
#: Columns that are shares of time, and their timers; the timer of a guest's own time counts down.
TIMERS = {"user_pct": "UTIME", "system_pct": "TMSYS", "emulation_pct": "PRBTM"}
#: Columns that are rates, and their records and counters.
RATES = {
    "inst_sim_rate": ("D0R1", "SYTSYP_PLSPRVIS"),
    "diag_rate": ("D0R1", "SYTSYP_PLSDIAGT"),
    "ssch_rate": ("D0R1", "SYTSYP_PLSCTSS"),
    "page_read_rate": ("D0R1", "SYTSYP_PLSPIOPR"),
    "sigp_rate": ("D0R11", "SYTCOM_ZLSIGP"),
    "msgs_rate": ("D0R11", "SYTCOM_ZLMSGS"),
    "pages_below_2g_rate": ("D3R2", "STORSP_ZLBLW2G"),
    "pgin_rate": ("D3R2", "STORSP_ZLPGIN"),
    "diag9c_rate": ("D0R2", "SYTPRP_ZLDIAG9C"),
}
COUNTDOWN = 0x7FFF_FFFF_0000_0000


def prclog_records(folder: Path, listing: str = "prclog-threads", way: str | Way = "sim") -> Path:
    """Write 21 half minutes of processors at their published means."""
    build, config = way_of(way)
    begin = round(PRCLOG_START["prclog-plain"].timestamp()) * S_US
    groups = [configuration(begin, config, interval_s=30)]
    for number in range(22):
        end = begin + number * 30 * S_US
        rows = publications.rows(listing)
        samples = [one for row in rows for one in _processor(build, row, PRCLOG_HIDDEN[listing], number, end)]
        groups.append(interval(end, samples))
    return monwrite.write(folder / "a.mon", groups)


def _processor(
    build: Callable[..., bytes], row: Sequence[str], hidden: Mapping[str, float], number: int, end: int
) -> list[bytes]:
    """Return the four records of a processor after this number of half minutes."""
    address, _, _, *printed, place = row
    core, thread = place.split("/")
    shown = dict(zip(PRCLOG_KEYS, printed, strict=True))
    hidden = {**hidden, **LESS.get((shown["busy_pct"], shown["user_pct"], shown["system_pct"]), {})}

    def total(key: str) -> float:
        return max(float(shown[key]) + hidden.get(key, 0), 0) * 30 * number

    values: dict[str, dict[str, Any]] = {
        "D0R1": {"SYTSYP_PFXCPUAD": int(address)},
        "D0R2": {
            "SYTPRP_PFXCPUAD": int(address),
            "SYTPRP_PFXCPUTY": 3,
            "SYTPRP_PFXPRBTM": COUNTDOWN,
            "SYTPRP_ZLCORE": int(core),
            "SYTPRP_ZLTHRD": int(thread),
            "SYTPRP_ZLPOLAR": 3,
            "SYTPRP_ZLDED": 1,
            "SYTPRP_ZLDVID": bytes.fromhex(shown["dvid"]),
            "SYTPRP_ZLENTITL": 100 * int(shown["entitlement_pct"]),
        },
        "D0R11": {"SYTCOM_PFXCPUAD": int(address)},
        "D3R2": {"STORSP_PFXCPUAD": int(address)},
    }
    for key, timer in TIMERS.items():
        ran = round(total(key) / 100 * TOD_S)
        values["D0R2"][f"SYTPRP_PFX{timer}"] = COUNTDOWN - ran if timer == "PRBTM" else ran
    for key, (name, counter) in RATES.items():
        values[name][counter] = round(total(key))
    return [build(name, end - 100, one) for name, one in values.items()]


@dataclass
class Core:
    """A core in an interval; a productivity of None is one that z/VM could not compute."""

    busy_pct: float
    density: float
    productivity_pct: float | None
    factor_pct: float = 0.0
    maximum_pct: float = 0.0
    sampled_s: float = 30.0


Interval = Mapping[int, Core]
DOTS = "." * 10


def numerator(percent: float | None) -> int:
    """Return the numerator over 1024 that is nearest to the printed tenth."""
    return 0 if percent is None else round(percent * 1024 / 100)


def threads(folder: Path, first_end: str, intervals: Sequence[Interval], way: str | Way, **more: int) -> Path:
    """Write monitor data of two threads per core whose differences are these intervals."""
    written, config = way_of(way)
    cores = sorted({core for each in intervals for core in each})
    sampled, busy, both = (dict.fromkeys(cores, 0) for _ in range(3))
    end = round(datetime.fromisoformat(f"2015-02-14 {first_end}").replace(tzinfo=UTC).timestamp()) * S_US
    end -= 30 * S_US
    groups = [configuration(end - S_US, {**config, **more}, 30)]
    for each in ({}, *intervals):
        records = []
        for core in cores:
            now = each.get(core)
            ratios = {}
            if now is not None:
                sampled[core] += round(now.sampled_s * TOD_S)
                busy[core] += (ran := round(now.sampled_s * TOD_S * now.busy_pct / 100))
                both[core] += round(ran * now.density)
                ratios = {
                    "SYTPRP_ZLCPRODN": numerator(now.productivity_pct),
                    "SYTPRP_ZLTCAPFN": numerator(now.factor_pct),
                    "SYTPRP_ZLTMAXFN": numerator(now.maximum_pct),
                }
            for thread in (0, 1):
                values = {
                    "SYTPRP_PFXCPUAD": 2 * core + thread,
                    "SYTPRP_PFXCPUTY": 3,
                    "SYTPRP_ZLCORE": core,
                    "SYTPRP_ZLTHRD": thread,
                    "SYTPRP_ZLCSAMPT": sampled[core],
                    "SYTPRP_ZLCBUSYT": busy[core],
                    "SYTPRP_ZLCTHRDT": both[core],
                    **ratios,
                }
                records.append(written("D0R2", end - 100, values))
        groups.append(interval(end, records))
        end += 30 * S_US
    return monwrite.write(folder / "x", groups)


def type_interval(row: Sequence[str], busy_pct: float | None = None) -> Interval:
    """Return the cores of a row, all equal; busy follows from utilization where this is precise enough."""
    seconds, cores, productivity, factor, maximum, utilization, density = map(float, row[2:])
    count = round(cores)
    busy = busy_pct or 100 * utilization / (100 * numerator(productivity) / 1024)
    one = Core(busy, density, productivity, factor, maximum, seconds / count)
    return dict.fromkeys(range(count), one)


def core_types_loaded(folder: Path, extended: bool = True, way: str | Way = "sim") -> Path:
    """Write the listing under load, extended by eight intervals that lead to the printed means."""
    means, *shown = publications.rows("smtmet-types-loaded")
    intervals = [type_interval(row) for row in shown]
    if extended:
        total = len(shown) + 8
        wanted = [
            (float(mean) * total - sum(float(row[i]) for row in shown)) / 8
            for i, mean in enumerate(means[2:], 2)
        ]
        intervals += [type_interval(["", "", *map(str, wanted)])] * 8
    # Without the record page of D1R4, the values of cores show that multithreading is enabled.
    enabled = {"MTRSYS_ZLMTSTAT": 3} if way_of(way) is monwrite.OWN else {}
    return threads(folder, "21:32:02", intervals, way, **enabled)


def core_types_idle(folder: Path) -> Path:
    """Write the complete listing: its mean is the plain mean of its rows, whatever their core-seconds."""
    intervals = []
    for i, row in enumerate(publications.rows("smtmet-types-idle")[1:]):
        busy = 6 / float(row[4]) if i >= 6 else 0.02 if row[7] == "0.0" else 0.08
        intervals.append(type_interval(row, busy))
    return threads(folder, "13:51:42", intervals, "sim")


def core_of(row: Sequence[str], hidden: float = 0.0) -> Core:
    seconds, productivity, _, density, busy = row[3:]
    known = None if productivity == DOTS else float(productivity)
    # `hidden` corrects the printed hundredth of busy, so that utilization has its printed tenth.
    return Core(float(busy) + hidden, float(density), known, sampled_s=float(seconds))


def cores_loaded(folder: Path) -> Path:
    """Write two printed intervals of four cores, and 18 that lead to the printed means."""
    rows = publications.rows("smtmet-cores-loaded")
    count = 18
    intervals: list[Interval] = [{n: core_of(rows[4 + 4 * k + n], 0.004) for n in range(4)} for k in range(2)]
    others: list[dict[int, Core]] = [{} for _ in range(count)]
    for n in range(4):
        shown = [each[n] for each in intervals]
        wanted = core_of(rows[n])
        busy, density, productivity = (
            (getattr(wanted, key) * (count + 2) - sum(getattr(one, key) for one in shown)) / count
            for key in ("busy_pct", "density", "productivity_pct")
        )
        printed = float(rows[n][5]) * (count + 2)
        utilization = (printed - sum(float(rows[4 + 4 * k + n][5]) for k in range(2))) / count
        # Busier when less productive: mean utilization is below the product of the means.
        sway = (productivity * busy - 100 * utilization) / 2
        for k, other in enumerate(others):
            sign = 1 if k % 2 else -1
            other[n] = Core(busy - sway * sign, density, productivity + 2 * sign)
    return threads(folder, "21:32:02", [*intervals, *others], "sim")


def cores_idle(folder: Path) -> Path:
    """Write two printed intervals, and eight with two productivities of core 00, none of 02 and 03."""
    rows = publications.rows("smtmet-cores-idle")
    intervals: list[Interval] = [{n: core_of(rows[4 + 4 * k + n]) for n in range(4)} for k in range(2)]
    for k in range(8):
        first = Core(0.17, 1.189, 71.7) if k < 2 else Core(0.02, 1.189, None)
        idle = {2: Core(0.01, 1.376, None), 3: Core(0.01, 1.40, None)}
        intervals.append({0: first, 1: Core(0.1075, 1.35, 78.36), **idle})
    return threads(folder, "13:52:42", intervals, "sim")


LOCKS = (
    "RCCSFQL", "RSANOQLK", "NSUNLSLK", "HCPPGDML", "NSUIMGLK", "FSDVMLK", "DCTLLOK", "SYSDATLK", "RSACALLK",
    "RSAAVLLK", "HCPPGDAL", "HCPPGDTL",
)  # fmt: skip


def locks(folder: Path, shared: float = 0, way: str | Way = "sim") -> Path:
    """Write RSACALLK with a collision in 10 s, .249 us each, and RSAAVLLK `shared` a second, 1 us each."""
    build, config = way_of(way)
    groups = [configuration(START_US, config, interval_s=30)]
    for number in range(5):
        end = START_US + number * 30 * S_US
        entries = []
        for name in LOCKS:
            own = 3 * number if name == "RSACALLK" else 0
            others = round(30 * shared * number) if name == "RSAAVLLK" else 0
            values = {
                "CALLCKID": name,
                "CALXSCNT": own,
                "CALXTIME": 10**9 + round(own * 0.249 * 4096),
                "CALSSCNT": others,
                "CALSTIME": 10**9 + others * 4096,
            }
            if way != "5.3":
                values |= {"ZLXCADS": own, "ZLSCADS": 2 * others}
            entries.append({f"SYTLCK_{key}": value for key, value in values.items()})
        head = {"SYTLCK_CALNMLKS": len(entries)}
        if way == "5.3":
            layout = next(one for one in layouts.layouts("D0R23") if one.release == "5.3")
            tod = _native.tod_from_unix_us(end - 100)
            sample = record_encoder.encode(layout, head, tod=tod, entries={"CALLKDATA": entries})
        else:
            sample = build("D0R23", end - 100, head, {"CALLKDATA": entries})
        groups.append(interval(end, [sample]))
    return monwrite.write(folder / "a.mon", groups)


def three_partitions(
    folder: Path,
    states: bool = False,
    way: str | Way | None = None,
    second: bool = False,
) -> Path | list[Path]:
    """Write LPAR1's two IFLs half dispatched, 3 s of it for PR/SM; LPAR2's two a quarter, LPAR3's CP always.

    `second` adds data of LPAR2, two seconds later: idle for 40 s of each interval, suspended for 5 of 60.
    """
    build, config = (lpar.encoded, monwrite.CONFIG) if way is None else way_of(way)
    if second:
        machine = {"MTRSYS_SYSMTYPE": "2097", "MTRSYS_SYSMMODL": "703", "MTRSYS_SYSMSEQC": f"{0xD3E01:016X}"}
        config = {**config, **machine}
    own = lpar.Partition("LPAR1", 1, 600, [lpar.Logical(0), lpar.Logical(1)])
    other = lpar.Partition("LPAR2", 2, 200, [lpar.Logical(0), lpar.Logical(1)])
    alone = lpar.Partition("LPAR3", 3, lpar.DEDICATED, [lpar.Logical(0, kind="CP")])
    states = states or way is not None
    capped = {"LPAR1": (0, 1), "LPAR2": (1, 0)} if states else {}
    more = {n: {"SYTCUP_ZLWAITC": wait, "SYTCUP_ZLCAPPED": cap} for n, (wait, cap) in capped.items()}
    groups = [configuration(START_US, {**config, "MTRSYS_LPARNAME": "LPAR1"})]
    for number in range(4):
        end = START_US + number * MINUTE_US
        if number:
            for one in own.processors:
                one.run(27, 3)
            for one in other.processors:
                one.run(15)
            alone.processors[0].run(60)
        times = {"PFXUTIME": 10**12 + number * 24 * TOD_S, "PFXTMSYS": 10**12 + number * 6 * TOD_S}
        times["PFXTOTWT"] = 10**12 + number * 24 * TOD_S
        records = [lpar.own(end - 400, "LPAR1", 1, cpuchar=0x60, lcutnpar=3, lcutpcct=5)]
        records += [lpar.partition(end - 300, one, build, more.get(one.name)) for one in (own, other, alone)]
        records.append(lpar.physical(end - 200, [("IFL", 10**9)] * 4 + [("CP", 10**9)]))
        for cpu in (0, 1):
            values = {"PFXCPUAD": cpu, "PFXCPUTY": 3, **times}
            values |= {"ZLCORE": cpu, "ZLPOLAR": 3 - cpu} if states else {}
            records.append(build("D0R2", end - 100, {f"SYTPRP_{k}": v for k, v in values.items()}, {}))
        groups.append(interval(end, records))
    path = monwrite.write(folder / "a.mon", groups)
    if not second:
        return path
    config = {**config, "MTRSYS_SYSTMID": "SECOND", "MTRSYS_LPARNAME": "LPAR2"}
    groups = [configuration(START_US, config)]
    for number in range(4):
        end = START_US + number * MINUTE_US + 2 * S_US
        values = {"SYTPRP_PFXUTIME": number * 15 * TOD_S, "SYTPRP_PFXTOTWT": number * 40 * TOD_S}
        groups.append(interval(end, monwrite.processors(end, {0: values, 1: values})))
    return [path, monwrite.write(folder / "second.mon", groups)]


def physical_processors(folder: Path) -> Path:
    """Write times of the two printed rows of PHYSLOG on 86 IFLs; 34 equal intervals lead to its means."""
    mean, *printed = ([float(word) for word in row[-10:]] for row in publications.rows("physlog"))
    # Logical processors, %LgclC, %Ovrhd, %LPmgt of each minute.
    minutes = [(int(row[2]), row[4], row[5], row[7]) for row in printed]
    # Printed totals are of unrounded values; a hundredth more is within rounding.
    wanted = (mean[4], mean[5], mean[7] + 0.02)
    others = [(36 * one - sum(row[i + 1] for row in minutes)) / 34 for i, one in enumerate(wanted)]
    # Processors are only removed, so that each has a previous sample: 27 intervals of 94 and 7 of 93.
    minutes += [(94 if i < 27 else 93, others[0], others[1], others[2]) for i in range(34)]
    begin = 1_498_471_800 * S_US  # 2017-06-26 10:10:00 UTC
    partitions = [
        lpar.Partition(f"ZVM{n}", n, weight, [lpar.Logical(i) for i in range(count)])
        for n, (weight, count) in enumerate(((500, 60), (300, 40), (200, 16)), 1)
    ]
    management = [10**12 + i for i in range(86)]
    groups = [configuration(begin, {**monwrite.CONFIG, "MTRSYS_SYSTMID": "PHYSTEST"})]

    def sample(end: int) -> None:
        records = [lpar.partition(end - 300, one) for one in partitions]
        records.append(lpar.physical(end - 200, [("IFL", time) for time in management]))
        groups.append(interval(end, records))

    sample(begin)
    for number, (count, logical, overhead, none) in enumerate(minutes, 1):
        while sum(len(one.processors) for one in partitions) > count:
            max(partitions, key=lambda one: len(one.processors)).processors.pop()
        for one in partitions:
            for processor in one.processors:
                processor.run(0.6 * logical / count, 0.6 * overhead / count)
        management = [time + round(0.6 * none / 86 * lpar.US) for time in management]
        sample(begin + number * MINUTE_US)
    return monwrite.write(folder / "a.mon", groups)
