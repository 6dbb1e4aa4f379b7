"""Storage and paging of the demo machine's z/OS partition: its records of each quarter of an hour.

Frames in use are those of its address spaces and of common areas. Page data sets move the pages of the
system, to which those of address spaces add up. I/O of an address space is its part of that of its class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zlens.demo import machine, zos
from zlens.demo.zos import ClassWork, Sections, SpaceWork, Values

#: Frames, slots and pages that nothing else in the demo files determines.
_TOTAL_FRAMES = 2_097_152
_NUCLEUS, _SQA, _LPA, _CSA = 5_200, 21_000, 11_400, 82_000
#: Frames of the private areas of an address space at low load, and those of its LSQA.
_REGION = {
    "*MASTER*": 9_000, "WLM": 6_000, "CATALOG": 14_000, "JES2": 22_000, "TCPIP": 26_000, "HIS": 4_000,
    "DB2PMSTR": 70_000, "DB2PDBM1": 820_000, "DB2PIRLM": 60_000, "CICSTOR1": 60_000, "CICSAOR1": 190_000,
    "CICSAOR2": 150_000, "ZLBILL": 40_000, "ZLSORT": 110_000,
}  # fmt: skip
_LSQA = 1_500
#: The part of these frames that is above 2 GB, and slots that hold pages of an address space.
_HIGH = {"DB2PDBM1": 640_000}
_SLOTS = 4_000
#: Page data sets: kind, volume, device, slots, and slots in use without those of address spaces.
_DATA_SETS = (
    ("PLPA", "LPA", "ZLPAG0", "a800", 36_000, 11_000),
    ("COMMON", "COM", "ZLPAG0", "a800", 54_000, 9_500),
    ("LOCAL1", "LOC", "ZLPAG1", "a801", 450_000, 0),
    ("LOCAL2", "LOC", "ZLPAG2", "a802", 450_000, 0),
)
#: Pages per second that address spaces read at full load; and, of each of these, pages written.
_PAGE_INS, _PAGE_OUTS = 60.0, 1.5
#: Pages that an operation moves, and how long it takes.
_PAGES, _OPERATION_S = 6, 0.0015
#: The highest unreferenced interval count there is.
_UIC = 65_535
#: Lengths of sections of address spaces that are not those of the newest level.
LENGTHS = {"storage": 200}
#: Fields of an address space with operations and their times.
_IO_FIELDS = {
    "starts": ("TEP", "TEX", "AIS"),
    "connect": ("TCN", "AIC"),
    "disconnect": ("AID",),
    "pending": ("AIW",),
}


class StorageQuarter:
    """Storage and paging of a quarter of an hour, from the work of classes and the load of the partition."""

    def __init__(self, work: Sequence[ClassWork], load: float, seconds: int) -> None:
        self.seconds = seconds
        spaces = [space for class_work in work for space in class_work.works]
        weights = {space.space.job: float(space.task + space.srb) for space in spaces}
        page_ins = round(_PAGE_INS * load**2 * seconds)
        self.page_ins = zos.split_by_weight(page_ins, weights)
        self.page_outs = zos.split_by_weight(round(page_ins * _PAGE_OUTS), weights)
        self.regions = {job: round(_REGION[job] * (0.9 + 0.1 * load)) for job in weights}
        self.io = {job: io for class_work in work for job, io in _io(class_work).items()}
        self.load = load

    # -- records of the system -----------------------------------------------------------------------------

    def records(self, product: Values, local_us: int) -> Iterator[bytes]:
        """Return the records of the system: its storage, and each page data set."""
        yield zos.encode("image_storage", local_us, {"product": [dict(product)], "paging": [self.paging()]})
        for page_data_set in self.page_data_sets():
            sections = {"product": [dict(product)], "page_data_set": [page_data_set]}
            yield zos.encode("page_data_set", local_us, sections)

    def paging(self) -> Values:
        """Return the section of frames, slots and pages of the system."""
        regions, lsqa = sum(self.regions.values()), _LSQA * len(self.regions)
        available = _TOTAL_FRAMES - _NUCLEUS - _SQA - _LPA - _CSA - lsqa - regions
        slots = sum(each[4] for each in _DATA_SETS if each[1] == "LOC")
        used = _SLOTS * len(self.regions)
        pages_in, pages_out = sum(self.page_ins.values()), sum(self.page_outs.values())
        lpa, common = round(pages_in * 0.02), round(pages_in * 0.05)
        high = sum(_HIGH.values()) // 256
        fixed = _NUCLEUS + round(_SQA * 0.9) + lsqa
        return {
            **_extremes(("MNT", "MXT", "AVT", "LVT"), _TOTAL_FRAMES - _NUCLEUS, 0),
            **_extremes(("MNF", "MXF", "AVF", "LVF"), available, 0.05),
            **_extremes(("MSR", "XSR", "ASR"), _SQA, 0.005),
            **_extremes(("NLP", "XLP", "ALP"), _LPA, 0),
            **_extremes(("MNP", "MXP", "AVP"), _CSA, 0.005),
            **_extremes(("MLR", "XLR", "ALR"), lsqa, 0.005),
            **_extremes(("MNS", "MXS", "AVS", "LVS"), regions, 0.01),
            **_extremes(("MNQ", "MXQ", "AVQ"), round(_SQA * 0.9), 0.005),
            **_extremes(("NLS", "XLS", "ALS"), lsqa, 0.005),
            **_extremes(("MNX", "MXX", "AVX", "LVX"), fixed - _NUCLEUS, 0.005),
            **_extremes(("MNU", "MXU", "AVU", "LVU"), slots - used, 0),
            **_extremes(("MNM", "MXM", "AVM", "LVM"), used, 0),
            **_extremes(("MNA", "MXA", "TSC"), slots, 0),
            **_extremes(("LRM", "LRX", "LRA"), high, 0),
            **_extremes(("L8M", "L8X", "L8A"), high, 0),
            **_extremes(("L1M", "L1X", "L1A"), high + 200, 0),
            **_extremes(("L7M", "L7X", "L7A"), 200, 0),
            "LFA": high + 200,
            "FIN": _NUCLEUS,
            "AFC": available,
            "TFC": _TOTAL_FRAMES,
            "NSC": slots - used,
            "ULC": round(_UIC * (1 - 0.5 * self.load)),
            "UHC": _UIC,
            "UAC": round(_UIC * (1 - 0.2 * self.load)),
            "PIN": pages_in + lpa + common,
            "POT": pages_out,
            "SNI": lpa + common,
            "LNI": lpa,
            "GRN": self.seconds * 900,
            "FBN": self.seconds * 1400,
            "1RN": self.seconds * 1100,
            "NRN": pages_in + lpa + common,
        }

    def page_data_sets(self) -> Iterator[Values]:
        """Return the section of each page data set; the pages of address spaces are in local ones."""
        paging = self.paging()
        local = paging["PIN"] - paging["SNI"] + paging["POT"]
        pages = {"PLPA": paging["LNI"], "COMMON": paging["SNI"] - paging["LNI"]}
        locals_ = {each[0]: each[4] for each in _DATA_SETS if each[1] == "LOC"}
        pages |= zos.split_by_weight(local, locals_)
        used = zos.split_by_weight(_SLOTS * len(self.regions), locals_)
        for name, kind, volume, device, slots, common in _DATA_SETS:
            operations = -(-pages[name] // _PAGES)
            samples = round(operations * _OPERATION_S)
            yield {
                "DSN": f"PAGE.{machine.ZOS_SYSTEM}.{name}",
                "PST": [kind],
                "FL2": ["DNM", "VIO"] if kind == "LOC" else ["DNM"],
                "CHA": device,
                "VOL": volume,
                "DEV": "33909",
                "SLA": slots,
                **_extremes(("MNU", "MXU", "AVU", "LVU"), used.get(name, common), 0),
                "USE": samples,
                "REQ": samples,
                "SIO": operations,
                "PGX": pages[name],
            }

    # -- sections of address spaces ------------------------------------------------------------------------

    def sections(self, work: SpaceWork) -> Sections:
        """Return the sections of I/O and storage of an address space."""
        job = work.space.job
        storage = {"PGI": self.page_ins[job], "PGO": self.page_outs[job], "HVR": _HIGH.get(job, 0)}
        storage |= {"HVA": 0, "MEM": 0}
        return {"io_activity": [self.io[job]], "storage": [storage]}


def _io(work: ClassWork) -> dict[str, dict[str, int]]:
    """Return the I/O of the address spaces of a class, by job."""
    weights = {each.space.job: float(each.task + each.srb) for each in work.works}
    parts = {name: zos.split_by_weight(count, weights) for name, count in work.disk_io().items()}
    return {
        job: {field: parts[name][job] for name, fields in _IO_FIELDS.items() for field in fields}
        for job in weights
    }


def _extremes(names: Sequence[str], average: int, spread: float) -> dict[str, int]:
    """Return least, most and average, which differ by a fraction; the average may have several fields."""
    least, most, *averages = names
    difference = round(average * spread)
    return {least: average - difference, most: average + difference, **dict.fromkeys(averages, average)}
