"""Ways to damage XML, and to see what reading it costs."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable

PIECES = [
    *(b"<", b">", b"&", b"</col>", b"<row>", b"</row>", b"<part>", b"</segment>"),
    *(b"<postprocessor>", b"</postprocessor>", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;"),
    *(b"<![CDATA[", b"]]>", b"<!--", b"-->", b"<?x ?>", b"\0", b"\xff\xfe", b"\xc3", b'encoding="UTF-7"'),
    *(b"-1", b"99999999999999999999", b"nan", b"1e999", b"24.61.00", b"N/A", b"\xe2\x82\xac"),
]


def mutated(seed: bytes, chance: random.Random) -> bytes:
    data = bytearray(seed)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8, 30))):
        if not data:
            break
        at, other = chance.randrange(len(data)), chance.randrange(len(data))
        piece = chance.choice(PIECES)
        match chance.randrange(7):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                del data[at : at + chance.choice((1, 4, 64, 2_000))]
            case 3:
                data[at:at] = piece
            case 4:
                data[at:at] = data[other : other + chance.randrange(1, 400)]
            case 5:
                data[at : at + len(piece)] = piece
            case 6 if chance.random() < 0.2:
                del data[at + 1 :]
    return bytes(data or b"<")


def peak_of(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
