"""Channel paths and coupling facility of the demo machine's z/OS partition for each quarter of an hour.

Channel paths carry the disk requests of the service classes; their transactions use the structures of the
coupling facility.
"""

from __future__ import annotations

from collections.abc import Iterator

from zlens.demo import zos
from zlens.demo.zos import Sections, Values

#: Channel paths of the disks in hexadecimal; what they can do in a second, and the size of a data unit.
_PATHS = ("50", "51", "52", "53")
_MOST = {"MBC": 2_000_000, "MCU": 8_000, "MWU": 100_000, "MRU": 100_000}
_UNIT = 4096
#: What the path of a disk, and HiperSockets, have in common.
_FICON = {
    "FG3": ["DOC", "VLD", "SHR"], "FG4": ["XCM"], "CPD": 0x1A, "ACR": "FC_S", "CMG": 2, "US": _UNIT,
    "GEN": 8, "SPD": 40,
}  # fmt: skip
_HIPERSOCKETS = {
    "PID": "F0", "FG3": ["VLD", "SHR"], "CPD": 0x24, "ACR": "IQD", "CMG": 3,
    "PDU": 64, "TDU": 64, "PUM": 1, "TUM": 1,
}  # fmt: skip
#: What nothing else in the demo determines: data units and bus cycles of a request, parts of the requests
#: that are reads or zHPF, the part of other partitions, and the operations active when one starts.
_UNITS_A_REQUEST, _CYCLES_A_UNIT = 3, 12
_READS, _ZHPF, _OTHERS, _ACTIVE = 0.72, 0.6, 0.25, 1.4
#: HiperSockets to the z/VM partition: messages of a second, and units of 64 bytes of a message.
_MESSAGES, _MESSAGE_UNITS = 350, 24
#: Types of structures.
_LOCK, _CACHE = 3, 4
#: Structures: type, size in units of 4 KB, requests of a transaction and of a second, microseconds of an
#: execution, their deviation, the part that is asynchronous.
_STRUCTURES = (
    ("ISGLOCK", _LOCK, 8_448, 0.0, 40.0, 7.0, 2.5, 0.0),
    ("DSNZL_LOCK1", _LOCK, 32_768, 9.0, 0.0, 6.5, 2.0, 0.002),
    ("DSNZL_GBP0", _CACHE, 65_536, 5.0, 0.0, 9.5, 4.0, 0.01),
    ("IXCDEFAULT", 1, 16_384, 0.5, 12.0, 14.0, 6.0, 0.4),
)
#: Asynchronous executions take this much longer; this part of them waited for a subchannel, for that long.
_LONGER, _DELAYED, _DELAY_US = 6.0, 0.01, 60
#: Parts of the requests for locks that met contention, real or false.
_CONTENDED, _FALSELY = 0.004, 0.0015
#: Entries and elements of structures, all and in use.
_ENTRIES = {
    "ISGLOCK": {"SLTL": 1_048_576, "SLTM": 2_100},
    "DSNZL_LOCK1": {"SLEL": 150_000, "SLEM": 1_200, "SLTL": 16_777_216, "SLTM": 9_800},
    "DSNZL_GBP0": {"SDEC": 200_000, "SDEL": 40_000},
    "IXCDEFAULT": {"SLEL": 6_000, "SLEM": 40, "SMAE": 9_000, "SCUE": 64},
}
_CACHED = {"CDEC": 150_000, "CDAC": 38_000, "CTCC": 900}
#: Parts of the requests for pages that write them, and of the pages written that are cast out.
_WRITES, _CAST_OUT = 0.3, 0.9
#: Microseconds of a processor of the coupling facility for an execution.
_EXECUTION_US = 4.0
_FACILITY = {"FNAM": "ZLCF1", "FLVL": 16, "FPAM": 2, "FSCG": 14, "FSCU": 14, "FSCL": 14, "FPDN": 1}
_STORAGE = {"GTSD": 524_288, "GTSF": 380_000, "GCSD": 524_288, "GCSF": 380_000}


def sections(requests: int, transactions: int, seconds: int, system: str) -> Iterator[tuple[str, Sections]]:
    """Yield what each record contains besides its interval, with the entity of roles that it describes.

    requests      disk requests of the system
    transactions  transactions that ended
    """
    yield "channel", _channels(requests, seconds)
    yield "coupling_structure", _coupling(transactions, seconds, system)


def _channels(requests: int, seconds: int) -> Sections:
    channels: list[Values] = []
    extended: list[Values] = []
    of_path = zos.split_by_weight(requests, dict.fromkeys(_PATHS, 1.0))
    ticks = round(seconds * 1e6 / 1024)
    valid = {"FG2": ["STA"], "FG5": ["WD1", "WD2", "WD3", "WD4", "WD5"], "PTI": ticks}
    for number, path in enumerate(_PATHS, 1):
        own = of_path[path]
        total = round(own / (1 - _OTHERS))
        reads, all_reads = round(own * _READS), round(total * _READS)
        words = {
            "TUC": total,
            "PUC": own,
            "TRU": all_reads * _UNITS_A_REQUEST,
            "PRU": reads * _UNITS_A_REQUEST,
            "TWU": (total - all_reads) * _UNITS_A_REQUEST,
            "PWU": (own - reads) * _UNITS_A_REQUEST,
            "TBC": total * _UNITS_A_REQUEST * _CYCLES_A_UNIT,
        }
        channels.append({**valid, **_FICON, **_MOST, **words, "PID": path, "EIX": number})
        fast = round(total * _ZHPF)
        operations = {"EOC": total - fast, "EOS": round((total - fast) * _ACTIVE)}
        extended.append({"ECP": path, **operations, "ETC": fast, "ETS": round(fast * _ACTIVE)})
    sent = _MESSAGES * seconds
    messages = {"PMS": sent, "TMS": 2 * sent}
    units = {"PDS": sent * _MESSAGE_UNITS, "TDS": 2 * sent * _MESSAGE_UNITS}
    channels.append({**valid, **_HIPERSOCKETS, **messages, **units})
    control = {"CFL": ["CMF", "REP"], "SFL": ["MCS", "ECM"], "CMI": 2, "CSS": 1}
    return {"control": [control], "channel": channels, "extended": extended}


def _coupling(transactions: int, seconds: int, system: str) -> Sections:
    structures: list[Values] = []
    found: list[Values] = []
    caches: list[Values] = []
    executions = 0
    for number, (name, type, size, each, rate, mean, deviation, part) in enumerate(_STRUCTURES, 1):
        count = round(transactions * each + seconds * rate)
        asynchronous = round(count * part)
        synchronous = count - asynchronous
        delayed = round(asynchronous * _DELAYED)
        executions += count
        version = f"{number:016x}"
        is_lock = type == _LOCK
        if type == _CACHE:
            writes = round(count * _WRITES)
            cast_out = round(writes * _CAST_OUT)
            caches.append({**_CACHED, "CRHC": count - writes, "CWH1": writes, "CCOC": cast_out})
        found.append(
            {
                "SNAM": name,
                "SVER": version,
                "STYP": type,
                "SFLG": ["SCEI"],
                "SSIZ": size,
                "STRC": count,
                "SSRC": synchronous,
                **_times("SST", "SSSQ", synchronous, mean, deviation),
                "SARC": asynchronous,
                **_times("SAT", "SASQ", asynchronous, mean * _LONGER, deviation * _LONGER),
                "SSTA": delayed,
                "SQRC": delayed,
                **_times("SQT", "SQSQ", delayed, _DELAY_US, _DELAY_US / 2),
                "SCN": round(count * _CONTENDED) if is_lock else 0,
                "SFCN": round(count * _FALSELY) if is_lock else 0,
                "SETM": count * _EXECUTION_US,
                **_ENTRIES[name],
                "CDSI": len(caches),
                "CDNE": int(type == _CACHE),
            }
        )
        structures.append({"QSTR": name, "QVER": version, "QSIZ": size, "QFLG": ["QACT"]})
    busy = round(executions * _EXECUTION_US)
    facility = {**_FACILITY, "FSYS": system, "FFLG": ["FCEI"], "FTOR": executions}
    processor = {"PBSY": busy, "PWAI": seconds * 1_000_000 - busy, "PTYP": ["PTDE"]}
    used: Sections = {"structure": structures, "request": found, "cache": caches, "processor": [processor]}
    return {"local_facility": [facility], "connectivity": [{"XSYS": system}], "storage": [_STORAGE], **used}


def _times(time: str, squares: str, count: int, mean: float, deviation: float) -> dict[str, int]:
    """Return the sum of times in microseconds and of their squares, by the names of their fields."""
    return {
        f"{time}M": round(count * mean),
        squares: round(count * mean**2 + max(0, count - 1) * deviation**2),
    }
