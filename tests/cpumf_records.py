"""Records of D5R13 and D5R20 in synthetic layouts: counters of a processor split over several records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from zlens.catalog import cpumf, layouts

#: Builds a record from a name, a time and values.
Make = Callable[[str, int, Mapping[str, Any]], bytes]

#: Bits of the sets in the mask of active ones.
BITS = {"basic": 2, "problem": 4, "crypto": 8, "extended": 1, "mt_diag": 32}


def counters(
    make: Make,
    time_us: int,
    cpu: int,
    values: Mapping[str, float],
    *,
    generation: str = "z14",
    sets: Sequence[str] = ("basic", "problem", "crypto", "extended"),
    pieces: int = 3,
    area: int | None = None,
    **facts: Any,
) -> list[bytes]:
    """Build the counters of one processor, named as in formulas (B0, E145)."""
    known = cpumf.generation(generation)
    data = b"".join(_set(name, values, generation) for name in sets)
    fixed = {
        "PRCMFC_ZLCPUAD": cpu,
        "PRCMFC_ZLCPUTY": 3,
        "PRCMFC_CCFCMFAC": sum(BITS[name] for name in sets),
        "PRCMFC_ZLCFVN": known.cfvn,
        "PRCMFC_ZLCSVN": known.csvn,
        "PRCMFC_ZLCPSP": 5200,
        **facts,
    }
    at = area or layouts.sim_layouts("D5R13")[0].length
    return [
        make(
            "D5R13",
            time_us + number,
            {
                **fixed,
                "PRCMFC_ZLMORE": more,
                "PRCMFC_ZLCTROF": at,
                "PRCMFC_ZLCTRLN": len(piece),
                "PRCMFC_COUNTERS": piece,
            },
        )
        for number, (more, piece) in enumerate(_cut(data, pieces))
    ]


def of_the_core(
    make: Make,
    time_us: int,
    cpu: int,
    values: Mapping[str, float],
    *,
    core: int,
    thread: int,
    generation: str = "z14",
    pieces: int = 2,
    area: int | None = None,
) -> list[bytes]:
    """Build the counters of a core that one thread records."""
    known = cpumf.generation(generation)
    at = area or layouts.sim_layouts("D5R20")[0].length
    return [
        make(
            "D5R20",
            time_us + number,
            {
                "PRCMFM_ZLCPUAD": cpu,
                "PRCMFM_ZLTHRD": thread,
                "PRCMFM_ZLCORE": core,
                "PRCMFM_CAL_MFMMASK": BITS["mt_diag"],
                "PRCMFM_ZLCFVN": known.cfvn,
                "PRCMFM_ZLCSVN": known.csvn,
                "PRCMFM_ZLMORE": more,
                "PRCMFM_ZLMTDOF": at,
                "PRCMFM_ZLMTDLN": len(piece),
                "PRCMFM_ZLCTRS": piece,
            },
        )
        for number, (more, piece) in enumerate(_cut(_set("mt_diag", values, generation), pieces))
    ]


def _set(name: str, values: Mapping[str, float], generation: str) -> bytes:
    """Encode the counters of a set; unnamed ones are zero."""
    known = cpumf.generation(generation)
    each = cpumf.sets()[name]
    size = cpumf.sizes(known.cfvn, known.csvn)[name] or 0
    given = {cpumf.number_of(counter): round(value) for counter, value in values.items()}
    return b"".join(given.get(number, 0).to_bytes(8) for number in range(each.first, each.first + size))


def _cut(data: bytes, pieces: int) -> Iterator[tuple[int, bytes]]:
    """Split bytes into `pieces` parts, not at counter boundaries, and flag whether another one follows."""
    step = -(-len(data) // pieces) + 3
    for at in range(0, len(data), step):
        yield (0x80 if at + step < len(data) else 0), data[at : at + step]
