"""Machine information from Linux on Z: /proc/sysinfo and the CPUs in sysfs.

An input is a folder with `proc/sysinfo` (and `proc/cpuinfo`, `sys/devices/system/cpu`), a tar of such
folders, the live machine, whose folder is `/`, or one text: /proc/sysinfo, or /proc/cpuinfo or the output of
lscpu, which state less. It is a snapshot with the date of the file, not an interval. CPU containers are
identified by the siblings that the kernel lists, as in lscpu, because the meaning of IDs depends on the
kernel, and older kernels have none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from msgspec import Struct, field

from zlens.catalog.raw_tables import load_tables
from zlens.catalog.sysinfo import SysinfoFacts
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, Progress, SystemInfo
from zlens.readers import tar_archive
from zlens.readers.files import TextSource, compare_repeat, file_problem, unknown_system
from zlens.readers.linux import sysinfo_text as texts
from zlens.readers.linux import sysinfo_tree
from zlens.readers.linux.sysinfo_tree import CPUINFO, CPUS, LSCPU, SYSINFO, Tree
from zlens.readers.recognition import FOLDER_SOURCE
from zlens.readers.row_tables import Row, RowTable, leading

NAME = FOLDER_SOURCE

_EXPECTED = (
    "a folder with proc/sysinfo and sys/devices/system/cpu of a Linux on Z, a tar of one, "
    "or a /proc/cpuinfo or the output of lscpu"
)
_COPY = (
    "copy the texts before packing them, because tar cannot determine their length: mkdir -p S/proc; "
    "cp /proc/sysinfo /proc/cpuinfo S/proc; cp -r --parents /sys/devices/system/cpu S"
)

_POLARITY = {"horizontal": "Hor", "vertical:high": "Vh", "vertical:medium": "Vm", "vertical:low": "Vl"}
_DISPATCHING = {0: "horizontal", 1: "vertical"}
#: Containers by the file with the siblings in them: threads share a core.
_CONTAINERS = {"thread": "core", "core": "socket", "book": "book", "drawer": "drawer"}
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether a file is a text of a system or a tar."""
    return _text_name(first_bytes) is not None or tar_archive.is_tar(first_bytes)


def _text_name(first_bytes: bytes) -> str | None:
    """Return the name of a text by its first bytes."""
    if texts.is_sysinfo(first_bytes):
        return SYSINFO
    if texts.is_cpuinfo(first_bytes):
        return CPUINFO
    return LSCPU if texts.is_lscpu(first_bytes) else None


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> SysinfoSource:
    """Read the texts of all systems. Raises InputError if there are none."""
    return SysinfoSource().read_files(paths, progress)


class SysinfoSnapshot(Struct):
    """A snapshot of a system."""

    tree: Tree
    sysinfo: texts.Sysinfo
    cpuinfo: texts.Cpuinfo
    #: Columns of the machine stated by lscpu or a /proc/cpuinfo without /proc/sysinfo.
    stated: Row = field(default_factory=dict)
    system: str = ""
    cpus: list[Row] = field(default_factory=list)

    @property
    def time_us(self) -> int:
        return self.tree.time_us or 0

    def place(self, text: str) -> str:
        """Return the file that contains a text."""
        return self.tree.places.get(text, self.tree.path)

    @property
    def own_name(self) -> str:
        """Host name, otherwise the name of the innermost virtual machine, the partition or the file."""
        machine, vms = self.sysinfo.machine, self.sysinfo.vms
        vm = vms[min(vms)] if vms else {}
        return (
            self.tree.text("proc/sys/kernel/hostname")
            or vm.get("extended_name")
            or vm.get("name")
            or machine.get("lpar_name")
            or unknown_system(self.tree.path)
        )

    @property
    def identity(self) -> tuple[Any, ...]:
        """Values that distinguish systems of the same name."""
        machine = self.sysinfo.machine
        return (machine.get("machine_type"), machine.get("serial"), machine.get("lpar_number"))


class SysinfoSource(TextSource):
    """All Linux systems of an input."""

    name = NAME

    def __init__(self) -> None:
        super().__init__()
        self.moments: list[SysinfoSnapshot] = []

    # -- reading -------------------------------------------------------------------------------------

    def no_data(self, path: str) -> InputError:
        return InputError("it contains no system", file=path, expected=_EXPECTED)

    def read(self, path: str, step: Callable[[int], None]) -> None:
        damage: list[tuple[str, int, str]] = []
        if os.path.isdir(path):
            trees = [sysinfo_tree.read_folder(path)]
        else:
            with open(path, "rb") as file:
                first_bytes = file.read(4096)
            if tar_archive.is_tar(first_bytes):
                trees, damage = sysinfo_tree.read_tar(path)
            else:
                trees = [sysinfo_tree.read_file(path, _text_name(first_bytes) or SYSINFO)]
        is_added = [self._add_snapshot(tree) for tree in trees]
        for kind, offset, detail in damage:
            self.add_problem(path, offset, kind, detail)
        if not any(is_added):
            if any(SYSINFO in tree.files for tree in trees):
                raise InputError(f"its {SYSINFO} is empty", file=path, expected=_EXPECTED, cure=_COPY)
            message = f"this is a tar archive without {SYSINFO}"
            first: int | None = None
            if damage:
                _, first, message = damage[0]
            cure = "unpack an archive of other data first, with tar -x"
            raise InputError(message, file=path, offset=first, expected=_EXPECTED, cure=cure)

    def _add_snapshot(self, tree: Tree) -> bool:
        sysinfo = texts.parse(tree.files.get(SYSINFO, b""))
        cpuinfo = texts.parse_cpuinfo(tree.files.get(CPUINFO, b""))
        stated = texts.parse_lscpu(tree.files.get(LSCPU, b""))
        if tree.only == CPUINFO:
            # Not what is left of a system.
            stated = _stated_by(cpuinfo)
        if not sysinfo.machine and not sysinfo.vms and not stated:
            path = tree.places.get(SYSINFO, tree.path)
            if tree.files:
                detail = f"{tree.path}: {SYSINFO} is missing or empty; {_COPY}"
                self._problems.append(Problem(None, NAME, path, 0, SYSINFO, "truncated", detail, 0))
            return False
        if stated.get("machine_type"):
            sysinfo.machine["machine_type"] = stated["machine_type"]
        self.moments.append(SysinfoSnapshot(tree, sysinfo, cpuinfo, stated))
        return True

    def refuse(self, path: str, error: InputError) -> None:
        self._problems.append(file_problem(error, NAME, "header"))

    def finish(self) -> None:
        """Name the systems and build the tables."""
        self._assign_systems()
        for snapshot in self.moments:
            self._add_notes(snapshot)
            snapshot.cpus = list(_cpus(snapshot, self._problems))
        row_builders: dict[str, Callable[[SysinfoSnapshot], list[Row]]] = {
            "linux_sysinfo": lambda snapshot: [_machine(snapshot)],
            "linux_vm": _vms,
            "linux_caf": _adjustments,
            "linux_cpu": lambda snapshot: snapshot.cpus,
            "linux_cache": _caches,
        }
        fact_columns = {"linux_sysinfo": SysinfoFacts.load().machine, "linux_vm": SysinfoFacts.load().vm}
        for name, build_rows in row_builders.items():
            columns = load_tables("linux/sysinfo_tables").columns(
                name, (column.raw for column in chain(*fact_columns.get(name, {}).values()))
            )
            text = {"linux_cpu": CPUS, "linux_cache": CPUINFO}.get(name, SYSINFO)
            rows = [
                leading(snapshot.system, NAME, snapshot.place(text), 0, snapshot.time_us) | row
                for snapshot in self.moments
                for row in build_rows(snapshot)
            ]
            self.tables[name] = [RowTable(name, columns, rows)]

    def _assign_systems(self) -> None:
        by_identity: dict[tuple[Any, ...], SystemInfo] = {}
        names: set[str] = set()
        digests: dict[tuple[str, int], str] = {}
        distinct: list[SysinfoSnapshot] = []
        for snapshot in sorted(self.moments, key=lambda m: (m.time_us, m.tree.path)):
            identity = (snapshot.own_name, *snapshot.identity)
            info = by_identity.get(identity)
            if info is None:
                name = snapshot.own_name
                while name in names:
                    name += "'"
                names.add(name)
                info = by_identity[identity] = SystemInfo(name, NAME)
            snapshot.system = info.system
            digest, key = snapshot.tree.digest(), (info.system, snapshot.time_us)
            if key in digests:
                kind, difference = compare_repeat(digest == digests[key])
                difference = difference.replace("values", "texts")
                detail = f"system {info.system} was already read for the same time{difference}; not read"
                path = snapshot.tree.path
                self._problems.append(Problem(info.system, NAME, path, None, SYSINFO, kind, detail, 0))
                continue
            digests[key] = digest
            distinct.append(snapshot)
            _describe(info, snapshot)
        self.moments = distinct
        self.systems = sorted(by_identity.values(), key=lambda info: info.system)

    def _add_notes(self, snapshot: SysinfoSnapshot) -> None:
        path = snapshot.place(SYSINFO)
        for note in snapshot.sysinfo.notes:
            self._problems.append(
                Problem(snapshot.system, NAME, path, note.offset, SYSINFO, note.kind, note.detail, note.lost)
            )
        for kind, file, offset, detail, lost in snapshot.tree.notes:
            self._problems.append(Problem(snapshot.system, NAME, file, offset, None, kind, detail, lost))

    # -- the source interface ------------------------------------------------------------------------

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return one row per system and kind of text."""
        rows: list[InventoryRow] = []
        for snapshot in self.moments:
            kinds: dict[str, list[int]] = {}
            for name, data in snapshot.tree.files.items():
                kinds.setdefault(CPUS if name.startswith(CPUS) else name, []).append(len(data))
            for kind, sizes in sorted(kinds.items()):
                rows.append(
                    InventoryRow(
                        snapshot.system, NAME, snapshot.tree.path, None, None, kind,
                        _TITLES.get(kind, "text of the kernel"),
                        "section", len(sizes), sum(sizes), snapshot.time_us, snapshot.time_us, min(sizes),
                        max(sizes), "linux",
                    )
                )  # fmt: skip
        return rows

    def info(self) -> list[dict[str, Any]]:
        """Return one object per system and snapshot."""
        return [
            {
                "format": "Linux on Z, /proc/sysinfo and sysfs CPU tree",
                "path": snapshot.tree.path,
                "bytes": sum(map(len, snapshot.tree.files.values())),
                "system": snapshot.system,
                "times": "the time is the date of the file",
                "runs_on": " in ".join(_levels(snapshot)) or None,
                "cpus_online": sum(bool(cpu["online"]) for cpu in snapshot.cpus)
                or snapshot.stated.get("online_cpus"),
            }
            for snapshot in self.moments
        ]


_TITLES = {
    SYSINFO: "machine, partition and hypervisors",
    CPUINFO: "processors and caches",
    LSCPU: "machine and CPUs, as lscpu prints them",
    CPUS: "CPUs and their topology",
}


def _levels(snapshot: SysinfoSnapshot) -> Iterator[str]:
    """Yield the partition and virtual machines that the system runs in, innermost first."""
    machine = snapshot.sysinfo.machine
    for number in sorted(snapshot.sysinfo.vms):
        vm = snapshot.sysinfo.vms[number]
        yield f"{_collapse_spaces(vm.get('control_program'))} as {vm.get('name')}"
    if machine.get("lpar_name"):
        yield f"partition {machine['lpar_name']}"


def _describe(info: SystemInfo, snapshot: SysinfoSnapshot) -> None:
    machine = snapshot.sysinfo.machine
    info.machine_type = machine.get("machine_type")
    info.model = machine.get("model")
    info.serial = machine.get("serial")
    info.release = snapshot.tree.text("proc/sys/kernel/osrelease")
    info.lpar = machine.get("lpar_name")
    info.lpar_number = machine.get("lpar_number")
    info.first_us = min(snapshot.time_us, info.first_us if info.first_us is not None else snapshot.time_us)
    info.last_us = snapshot.time_us
    info.files.append(snapshot.tree.path)
    info.intervals.append(Interval(snapshot.time_us, None))


def _collapse_spaces(text: str | None) -> str | None:
    return " ".join(text.split()) if text else None


def _machine(snapshot: SysinfoSnapshot) -> Row:
    tree, machine, vms = snapshot.tree, snapshot.sysinfo.machine, snapshot.sysinfo.vms
    kinds = (machine.get("lpar_characteristics") or "").split()
    innermost = _collapse_spaces(vms[min(vms)].get("control_program")) if vms else None
    flag = texts.number(tree.text(f"{CPUS}/dispatching") or "")
    online = [cpu for cpu in snapshot.cpus if cpu["online"]]
    configured = [cpu["configured"] for cpu in snapshot.cpus if cpu["configured"] is not None]
    return {
        **machine,
        **_containers(machine.get("topology_sw"), online),
        "dedicated": "Dedicated" in kinds if kinds else None,
        "shared": "Shared" in kinds if kinds else None,
        "limited": "Limited" in kinds if kinds else None,
        "hypervisor": innermost or ("PR/SM" if "lpar_number" in machine else None),
        "vm_levels": len(vms),
        "host_name": tree.text("proc/sys/kernel/hostname"),
        "kernel": tree.text("proc/sys/kernel/osrelease"),
        "dispatching": _DISPATCHING.get(flag) if flag is not None else None,
        **{
            f"{name}_list": tree.text(f"{CPUS}/{name}")
            for name in ("online", "offline", "present", "possible")
        },
        "online_cpus": len(online) or None,
        "configured_cpus": sum(configured) if configured else None,
        "standby_cpus": len(configured) - sum(configured) if configured else None,
        "bogomips": snapshot.cpuinfo.bogomips,
        "features": snapshot.cpuinfo.features,
        **snapshot.stated,
    }


def _stated_by(cpuinfo: texts.Cpuinfo) -> Row:
    """Return what a /proc/cpuinfo states of the machine and its online CPUs; nothing if it has no CPU."""
    processors = [cpu for cpu in cpuinfo.processors.values() if "machine" in cpu]
    if not processors:
        return {}
    return {"machine_type": processors[0]["machine"], "online_cpus": len(processors)}


def _containers(topology: str | None, online: list[Row]) -> Row:
    """Return the number of containers per level as stated by the machine, otherwise from the online CPUs."""
    counts = {
        level: len({cpu[level] for cpu in online} - {None}) or None
        for level in ("drawer", "book", "socket", "core")
    }
    cores = counts["core"]
    row: Row = {"threads": -(-len(online) // cores) if cores else None}
    stated = [texts.number(word) for word in (topology or "").split()]
    if len(stated) == 6 and None not in stated:
        # Levels 6 to 2, and the cores in a container of the innermost one.
        drawers, books, sockets, per_socket = stated[2:]
        row |= {"drawers": drawers or None, "books": books or None}
        return row | {"sockets": sockets or None, "cores": per_socket or None}

    def per(inner: str, outer: str) -> int | None:
        inner_count, outer_count = counts[inner], counts[outer]
        return -(-inner_count // outer_count) if inner_count and outer_count else inner_count

    row |= {"drawers": counts["drawer"], "books": per("book", "drawer")}
    return row | {"sockets": per("socket", "book"), "cores": per("core", "socket")}


def _vms(snapshot: SysinfoSnapshot) -> list[Row]:
    return [
        {"level": level, **vm, "control_program": _collapse_spaces(vm.get("control_program"))}
        for level, vm in sorted(snapshot.sysinfo.vms.items())
    ]


def _adjustments(snapshot: SysinfoSnapshot) -> list[Row]:
    return [
        {"cpus": cpus, "adjustment": primary, "alternate": alternate}
        for cpus, (primary, alternate) in sorted(snapshot.sysinfo.adjustments.items())
    ]


def _caches(snapshot: SysinfoSnapshot) -> list[Row]:
    rows: list[Row] = []
    for number, cache in enumerate(snapshot.cpuinfo.caches):
        size = cache.get("size", "")
        units = _UNITS.get(size[-1:])
        count = texts.number(size[:-1] if units else size)
        rows.append(
            {
                "number": number,
                "level": texts.number(cache.get("level", "")),
                "type": cache.get("type"),
                "scope": cache.get("scope"),
                "bytes": count * (units or 1) if count is not None and abs(count) < 2**32 else None,
                "line_bytes": texts.number(cache.get("line_size", "")),
                "ways": texts.number(cache.get("associativity", "")),
            }
        )
    return rows


def _cpus(snapshot: SysinfoSnapshot, problems: list[Problem]) -> Iterator[Row]:
    tree = snapshot.tree
    online_list = texts.cpu_list(tree.text(f"{CPUS}/online") or "")
    numbers: dict[str, dict[frozenset[int], int]] = {level: {} for level in _CONTAINERS}
    machine, vms = snapshot.sysinfo.machine, snapshot.sysinfo.vms
    shift = max(machine.get("lpar_ps_mtid") or 0, 0).bit_length() if machine and not vms else None
    for cpu in tree.cpus():

        def text(name: str, cpu: int = cpu) -> str | None:
            return tree.text(f"{CPUS}/cpu{cpu}/{name}")

        def count(name: str) -> int | None:
            return texts.number(text(name) or "")

        def identity(name: str) -> int | None:
            value = count(f"topology/{name}_id")
            return value if value is not None and value >= 0 else None

        online = count("online")
        if online is None and online_list:
            # A CPU that cannot be taken offline has no such file.
            online = int(cpu in online_list)
        siblings: dict[str, frozenset[int] | None] = {}
        for level in numbers:
            listed, mask = text(f"topology/{level}_siblings_list"), text(f"topology/{level}_siblings")
            cpu_set = texts.cpu_list(listed) if listed else texts.cpu_mask(mask) if mask else None
            if cpu_set is None and (listed or mask):
                path = snapshot.place(f"{CPUS}/cpu{cpu}/topology/{level}_siblings_list")
                detail = f"the siblings of CPU {cpu} are not a list of CPUs: {str(listed or mask)[:40]!r}"
                problems.append(Problem(snapshot.system, NAME, path, 0, None, "header", detail, 0))
            siblings[level] = cpu_set
        polarization = text("polarization")
        processor = snapshot.cpuinfo.processors.get(cpu, {})
        location: Row = {}
        if online:
            location = {
                _CONTAINERS[level]: numbers[level].setdefault(cpu_set, len(numbers[level]))
                for level, cpu_set in siblings.items()
                if cpu_set
            }
        threads = siblings["thread"]
        yield {
            "cpu": cpu,
            "address": (address := count("address")),
            "core_address": address >> shift if address is not None and shift is not None else None,
            "online": _truth(online),
            "configured": _truth(count("configure")),
            "polarization": polarization,
            "polarity": _POLARITY.get(polarization or ""),
            "dedicated": _truth(count("dedicated")),
            "thread": sorted(threads).index(cpu) if online and threads and cpu in threads else None,
            **{level: location.get(level) for level in ("core", "socket", "book", "drawer")},
            "core_id": identity("core"),
            "socket_id": identity("physical_package"),
            "book_id": identity("book"),
            "drawer_id": identity("drawer"),
            "mhz_dynamic": _float(processor.get("mhz_dynamic")),
            "mhz_static": _float(processor.get("mhz_static")),
            "identification": processor.get("identification"),
        }


def _truth(value: int | None) -> bool | None:
    return bool(value) if value in (0, 1) else None


def _float(value: int | None) -> float | None:
    return float(value) if value is not None else None
