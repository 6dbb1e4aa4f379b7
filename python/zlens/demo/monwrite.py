"""The demo machine's hour as z/VM monitor records in a MONWRITE file.

Every value goes through the catalog's layouts of z/VM 5.3, so the file is read with the same facts that
wrote it. Fields that the story does not need stay zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from zlens.catalog import layouts, plans
from zlens.demo import machine
from zlens.demo.machine import Device, Event, Guest, Hour, Minute

# First bytes of the domain masks in a control record entry: system, monitor, scheduler, storage, user,
# processor, I/O.
SYSTEM, MONITOR, SCHEDULER, STORAGE, USER, PROCESSOR, IO = 0x80, 0x40, 0x20, 0x10, 0x08, 0x04, 0x02

#: A timer that counts down starts here.
TIMER_START = 0x7FFF_FFFF_FFFF_FFFF
#: A TOD clock and a CPU timer advance by this much per microsecond.
TICK = 4096
#: The place of the sample area's first record in its page; monitor data begins anywhere in a frame.
SAMPLE_START = 0x0400
EVENT_START = 0x0C38

#: A device's subchannel is its number plus this.
SUBCHANNEL = 0x0001_0000
_STORAGE_MB = 16_384
#: Scheduler settings: the defaults of z/VM before 6.2.
SETTINGS = {
    "SRMBIASI": 90,
    "SRMBIASD": 2,
    "SRMTSLIC": 5_000 * TICK,
    "SRMLDGUS": 5,
    "SRMP1LDG": 100,
    "SRMP2LDG": 75,
    "SRMP3LDG": 60,
    "SRMP1WSS": 125,
    "SRMP2WSS": 105,
    "SRMP3WSS": 95,
    "SRML1DSP": 32767,
    "SRML2DSP": 32767,
    "SRML3DSP": 32767,
    "SRMXPCTG": 100,
}

Subject = TypeVar("Subject")


class File:
    """Writes the hour: configuration, then events and a sample for each minute."""

    def __init__(self, path: str) -> None:
        from zlens import _native

        self._native = _native
        self.writer = _native.MonwriteWriter(path)
        self._layouts: dict[str, layouts.Layout] = {}

    def write(self, hour: Hour, on_minute: Callable[[Minute], None] = lambda minute: None) -> None:
        """Run the hour and write it; `on_minute` is called with every minute."""
        for minute in hour.minutes():
            on_minute(minute)
            if minute.number == 0:
                self._put(True, MONITOR, self.configuration(hour, minute.end_us))
            if minute.events:
                self._put(False, MONITOR | USER | PROCESSOR | IO, self.events(minute.events))
            self._put(True, SYSTEM | STORAGE | PROCESSOR | IO, self.sample(hour, minute))
        self.writer.finish()

    def _put(self, sample: bool, mask: int, records: list[bytes]) -> None:
        self.writer.write([(sample, mask, 0, SAMPLE_START if sample else EVENT_START, records)])

    def record(
        self, name: str, time_us: int, values: dict[str, Any], entries: list[dict[str, Any]] | None = None
    ) -> bytes:
        layout = self._layouts.get(name)
        if layout is None:
            builtin = [layout for layout in layouts.layouts(name) if layout.pack == layouts.BUILTIN]
            layout = next(candidate for candidate in builtin if candidate.release == "5.3")
            self._layouts[name] = layout
        # Names of fields without their common prefix keep the tables below readable.
        prefix = layout.dsect.removeprefix("MR") + "_"
        full_values = {prefix + key: value for key, value in values.items()}
        tod = self._native.tod_from_unix_us(time_us)
        sections = {}
        if entries is not None:
            rows = [{prefix + key: value for key, value in entry.items()} for entry in entries]
            sections[layout.sections[0].name] = rows
        return plans.encode(layout, full_values, tod=tod, entries=sections)

    # Configuration --------------------------------------------------------------------------------

    def configuration(self, hour: Hour, time_us: int) -> list[bytes]:
        """The records a system writes when sampling starts, closed by an interval end."""
        clock = _Clock(time_us - 2 * machine.SECOND)
        tod = self._native.tod_from_unix_us
        records = [
            self.record(
                "D1R4",
                clock(),
                {
                    "HCPCPEID": "5.3.0",
                    "SYSTODST": tod(machine.IPL_US),
                    "SYSTERM": tod(machine.IPL_US - 400 * machine.SECOND),
                    "SYSDATE": "03/09/10",
                    "SYSZONE": machine.ZONE_S,
                    "SYSTMID": machine.SYSTEM,
                    "SYSCKVOL": "530RES",
                    "SYSWMVOL": "530RES",
                    "SYSMTYPE": machine.MACHINE_TYPE,
                    "SYSMMODL": machine.MODEL,
                    "SYSMSEQC": machine.SERIAL,
                    "SYSMPOM": "ZL",
                    "LPNUMBER": 1,
                    "CPUCHAR": 0x40,
                    "CPUCOUNT": 4,
                    "CPUCFGCT": 4,
                    "LPARNAME": machine.SYSTEM,
                    "LPARCAF": 571,
                    "CPUSHARD": 4,
                    "CPUCAPAB": 1_089,
                },
            ),
            self.record("D1R9", clock(), {"INTERVAL": 60, "HFRATE": 200, "SDOMAINS": 0xDE, "CONFIG": 241}),
        ]
        records += [self.record("D1R5", clock(), _cpu(processor.address)) for processor in hour.processors]
        records += [
            self.record("D1R6", clock(), _disk(device, bytes.fromhex("3990"))) for device in hour.devices
        ]
        frames = _STORAGE_MB * 256
        records.append(
            self.record(
                "D1R7",
                clock(),
                {"RSAPGABL": frames - 61_000, "RSANONPG": 61_000, "RSAGSTOR": _STORAGE_MB * 1024 * 1024},
            )
        )
        records += [
            self.record(
                "D1R15", clock(), {**self._identity(guest), "VMDCPUCT": guest.vcpus, "CALIFLCT": guest.vcpus}
            )
            for guest in hour.guests
            if guest.logged_on
        ]
        records.append(self.record("D1R16", clock(), SETTINGS))
        records.append(self.record("D1R11", clock(), {}))
        return records

    def _identity(self, guest: Guest) -> dict[str, Any]:
        return {
            "VMDUSER": guest.name,
            "VMDCPUAD": 0,
            "CALMODE": 0x44,
            "VMDRELSH": 100,
            "VMDSSIZE": guest.storage_mb * 1024 * 1024 if guest.storage_mb < 2048 else 0x7FF0_0000,
            "VMDACTNO": guest.account,
            "CALTODON": self._native.tod_from_unix_us(guest.logon_us),
            "ASCDEFSZ": guest.storage_mb * 1024 * 1024,
        }

    # Events ---------------------------------------------------------------------------------------

    def events(self, events: list[Event]) -> list[bytes]:
        makers: dict[str, Callable[[Event], bytes]] = {
            "vary_off": self._vary_off,
            "vary_on": self._vary_on,
            "logon": self._logon,
            "logoff": self._logoff,
            "device_off": self._device_off,
            "device_on": self._device_on,
            "transaction": self._transaction,
        }
        return [makers[event.kind](event) for event in events]

    def _vary_off(self, event: Event) -> bytes:
        return self.record("D5R2", event.time_us, {"PFXCPUAD": event.cpu})

    def _vary_on(self, event: Event) -> bytes:
        return self.record("D5R1", event.time_us, _cpu(_of(event.cpu)))

    def _logon(self, event: Event) -> bytes:
        return self.record("D4R1", event.time_us, self._identity(_of(event.guest)))

    def _logoff(self, event: Event) -> bytes:
        return self.record("D4R2", event.time_us, {**self._use(event), "VMDPUTYP": machine.IFL})

    def _transaction(self, event: Event) -> bytes:
        return self.record("D4R9", event.time_us, {**self._use(event), "VMDPUTYP": machine.IFL})

    def _use(self, event: Event) -> dict[str, Any]:
        guest = _of(event.guest)
        pages = guest.storage_mb * 256
        return {
            **self._identity(guest),
            "VMDTTIME": event.total_us * TICK,
            "VMDVTIME": event.virtual_us * TICK,
            "VMDTTMP": event.total_us * TICK,
            "VMDVTMP": event.virtual_us * TICK,
            "VMDCTPVG": pages * 7 // 10,
            "VMDWSSPR": pages * 8 // 10,
            "VMDVDSCT": guest.ios % 2**32,
            "CALCPPGR": guest.page_reads % 2**32,
            "CALCPPGW": guest.page_writes % 2**32,
        }

    def _device_off(self, event: Event) -> bytes:
        number = _of(event.device).number
        return self.record("D6R2", event.time_us, {"RDEVSID": SUBCHANNEL + number, "RDEVDEV": number})

    def _device_on(self, event: Event) -> bytes:
        return self.record("D6R1", event.time_us, _disk(_of(event.device), 0x3990))

    # Samples --------------------------------------------------------------------------------------

    def sample(self, hour: Hour, minute: Minute) -> list[bytes]:
        """All sample records of one interval, closed by its end."""
        # CP needs a moment to gather them; the interval ends after that.
        clock = _Clock(minute.end_us - 2_000)
        records: list[bytes] = []
        for processor in hour.processors:
            if processor.online:
                records += self._processor(processor.address, hour, clock)
        users = sum(guest.logged_on for guest in hour.guests)
        batch = hour.guest(machine.BATCH).logged_on
        frames = _STORAGE_MB * 256
        free = 9_000 if batch else 96_000 - 400 * minute.number
        records += [
            self.record(
                "D0R3",
                clock(),
                {"RSAPGABL": frames - 61_000, "RSANONPG": 61_000, "RSAAVAIL": free // 8, "RSA2GAVL": free},
            ),
            self.record("D0R8", clock(), {"SYSUSRS": users, "SRMCDORM": 5, "SYSDIALD": 1}),
            self.record("D0R10", clock(), {"SRMCDISP": users - 5, "SRMC3DSP": users - 5, "SRMTOTST": frames}),
            self.record(
                "D0R12",
                clock(),
                {"CALQDISP": hour.dispatch_samples, "CALCPURN": 60 * (minute.number + 1)},
            ),
            self.record(
                "D0R15",
                clock(),
                {
                    "LCUTNPAR": 3,
                    "LCUTPCCT": 7,
                    "LPNUMBER": 1,
                    "CPUCHAR": 0x40,
                    "CPUCOUNT": 4,
                    "CPUCFGCT": sum(processor.online for processor in hour.processors),
                    "CPUSTNBY": sum(not processor.online for processor in hour.processors),
                    "LPARNAME": machine.SYSTEM,
                    "LPARCAF": 571,
                    "CPUSHARD": sum(processor.online for processor in hour.processors),
                },
            ),
            *self._partitions(hour, clock),
            self.record(
                "D0R19",
                clock(),
                {
                    "XCTMSACT": minute.end_us // 1000 - machine.IPL_US // 1000,
                    "CPUCAPAB": 1_089,
                    "CPUCOUNT": 4,
                    "CPUCFGCT": sum(processor.online for processor in hour.processors),
                    "CPUSTNBY": sum(not processor.online for processor in hour.processors),
                },
            ),
            self._locks(hour, clock()),
            self.record("D3R1", clock(), {"RSAAVLLT": 20, "RSAAVLHT": 7_588, "RSACPLOK": 5_100}),
        ]
        records += [self._device(device, clock()) for device in hour.devices if device.online]
        records.append(self.record("D1R11", minute.end_us, {}))
        return records

    def _processor(self, address: int, hour: Hour, clock: _Clock) -> list[bytes]:
        processor = hour.processors[address]
        count = {name: value % 2**32 for name, value in processor.counts.items()}
        identity = {"PFXCPUAD": address, "PFXCPUTY": machine.IFL}
        get = count.get
        return [
            self.record(
                "D0R1",
                clock(),
                {
                    **identity,
                    "PLSPRVIS": get("simulated", 0),
                    "PLSDIAGT": get("diagnose", 0),
                    "PLSEXTNX": get("external", 0),
                    "PLSCTSS": get("ssch", 0),
                    "PLSCTSI": get("interrupts", 0),
                    "PLSPIOPR": get("page_reads", 0),
                    "PLSPIOPW": get("page_writes", 0),
                },
            ),
            self.record(
                "D0R2",
                clock(),
                {
                    **identity,
                    "PFXPRBTM": TIMER_START - processor.emulation_us * TICK,
                    "PFXUTIME": processor.user_us * TICK,
                    "PFXTMSYS": processor.system_us * TICK,
                    "PFXTOTWT": processor.wait_us * TICK,
                    "PFXRUNCI": get("dispatches", 0),
                    "PFXRUNPF": get("fast_path", 0),
                    "PFXRUNCP": get("cp_path", 0),
                    "CALFSTPH": get("fast_path", 0),
                    "PFXSPINT": processor.spin_us * TICK,
                    "PFXSPINC": get("spins", 0),
                },
            ),
            self.record("D0R11", clock(), {**identity, "PLSISEVM": get("external", 0) // 9}),
            self.record("D0R13", clock(), {**identity, "PLSDSPCN": get("dispatches", 0)}),
            self.record(
                "D3R2",
                clock(),
                {**identity, "PLSPREAD": get("page_reads", 0), "PLSALNCT": get("page_reads", 0) * 3 % 2**32},
            ),
            self.record("D5R3", clock(), {**identity, "HFCOUNT": get("samples", 0), "PFXTYPE": machine.IFL}),
        ]

    def _partitions(self, hour: Hour, clock: _Clock) -> list[bytes]:
        records = []
        own_cpus = [
            (700, processor.dispatched_us, processor.management_us, "IFL") for processor in hour.processors
        ]
        rows = [(machine.SYSTEM, 1, own_cpus)]
        for other in hour.others:
            cpus = [
                (other.weight, busy, management, other.kind)
                for busy, management in zip(other.dispatched_us, other.management_us, strict=True)
            ]
            rows.append((other.name, other.number, cpus))
        for name, number, cpus in rows:
            time_us = clock()
            records.append(
                self.record(
                    "D0R16",
                    time_us,
                    {
                        "LCUPNAME": name,
                        "LCUPPNUM": number,
                        "LCUPCPCT": len(cpus),
                        "LCUTCTOD": self._native.tod_from_unix_us(time_us),
                        "LCXPUPID": number,
                    },
                    [
                        {
                            "LCUCPUID": cpu,
                            "LCUCWGHT": weight,
                            "LCUCACTM": busy + management,
                            "LCUCLPTM": busy,
                            "LCXCPTYP": kind,
                        }
                        for cpu, (weight, busy, management, kind) in enumerate(cpus)
                    ],
                )
            )
        time_us = clock()
        records.append(
            self.record(
                "D0R17",
                time_us,
                {"LCUPCPCT": len(hour.physical_us), "LCUTCTOD": self._native.tod_from_unix_us(time_us)},
                [
                    {"LCUMCPU": cpu, "LCUMGTM": us, "LCUPTYPE": "IFL" if cpu < 4 else "CP"}
                    for cpu, us in enumerate(hour.physical_us)
                ],
            )
        )
        return records

    def _locks(self, hour: Hour, time_us: int) -> bytes:
        parts = {"SRMSLOCK": 0.62, "HCPTRQLK": 0.21, "SRMALOCK": 0.10, "RSAAVLLK": 0.07}
        return self.record(
            "D0R23",
            time_us,
            {"CALNMLKS": len(parts)},
            [
                {
                    "CALLCKID": name,
                    "CALXSCNT": int(hour.lock_spins * part) % 2**32,
                    "CALXTIME": int(hour.lock_us * part) * TICK,
                }
                for name, part in parts.items()
            ],
        )

    def _device(self, device: Device, time_us: int) -> bytes:
        return self.record(
            "D6R3",
            time_us,
            {
                "RDEVLPM": 0xF0,
                "RDEVSID": SUBCHANNEL + device.number,
                "RDEVSER": device.volume,
                "RDEVDEV": device.number,
                "RDEVLCNT": 6 if device.use == "data" else 0,
                "SCMSSCH": device.starts % 2**16,
                "SCMCOUNT": device.starts % 2**16,
                "SCMCNTIM": device.connect_units % 2**32,
                "SCMFPTIM": device.pending_units % 2**32,
                "SCMDDTIM": device.disconnect_units % 2**32,
                "HFRDEVCT": device.queue_samples % 2**32,
                "HFCTIO": device.queued % 2**32,
                "SCGSSCH": device.starts % 2**32,
                "SCGCOUNT": device.starts % 2**32,
            },
        )


class _Clock:
    """Gives every record of a sample its own time stamp, a few microseconds apart, always the same way."""

    def __init__(self, begin_us: int) -> None:
        self.time_us = begin_us

    def __call__(self) -> int:
        self.time_us += 3
        return self.time_us


def _cpu(address: int) -> dict[str, Any]:
    return {"PFXCPUAD": address, "PFXIDVER": 0xFF, "PFXCPUTY": machine.IFL}


def _disk(device: Device, control_unit: int | bytes) -> dict[str, Any]:
    """A 3390 in the form of device configuration and VARY ON."""
    return {
        "RDEVCLAS": 0x04,
        "RDEVDVID": 0x3390,
        "CALMODLN": 9,
        "RDEVLPM": 0xF0,
        "RDEVDEV": device.number,
        "RDEVSID": SUBCHANNEL + device.number,
        "RDEVCUID": control_unit,
        "RDEVSER": device.volume,
    }


def _of(value: Subject | None) -> Subject:
    if value is None:
        raise ValueError("the event names no subject")
    return value
