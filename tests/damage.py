"""Ways to damage files, and checks of what is read from them and at which cost."""

from __future__ import annotations

import os
import random
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from iterations import iterations
from zlens.errors import InputError
from zlens.inputs.problems import KINDS
from zlens.inputs.source import Source

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


def scrambled(
    whole: bytes,
    chance: random.Random,
    pieces: Sequence[bytes],
    values: Sequence[int],
    lines: Sequence[bytes] = (),
) -> bytes:
    """Delete, change or insert a few bytes of a text: `pieces`, bytes of `values`, or `lines`."""
    data = bytearray(whole)
    for _ in range(chance.randrange(1, 7)):
        at = chance.randrange(len(data))
        match chance.randrange(5):
            case 0:
                del data[at : at + chance.randrange(60)]
            case 1:
                data[at:at] = chance.randbytes(chance.randrange(20))
            case 2:
                data[at:at] = chance.choice(pieces)
            case 3 if lines:
                data[at:at] = chance.choice(lines)
            case _:
                data[at] = chance.choice((*values, chance.randrange(256)))
    return bytes(data)


def survives(read: Callable[[str], Source], path: Path, damaged: Callable[[], bytes], tried: int) -> None:
    """Check that damaged texts give rows and problems, or an InputError; at least a quarter is readable."""
    readable = 0
    for nth in range(tried):
        data = damaged()
        file = path / f"damaged-{nth}"
        file.write_bytes(data)
        try:
            source = read(str(file))
        except InputError:
            continue
        readable += 1
        for table in (table for tables in source.tables.values() for table in tables):
            table.stream([column.name for column in table.columns]).__arrow_c_stream__()
        problems = source.problems(complete=True)
        assert {problem.kind for problem in problems} <= set(KINDS)
        assert all(problem.offset is None or 0 <= problem.offset <= len(data) for problem in problems)
        assert source.inventory()
        assert source.info()
    assert readable >= tried / 4


def xml_survives(
    seed: bytes,
    path: Path,
    detect: Callable[[bytes, int], bool],
    read: Callable[[str], Source],
    check: Callable[[Any], None],
    chance: random.Random,
) -> None:
    """Check that damaged copies of an XML report result in a source or an InputError; most are readable."""
    # Truncating a file thousands of times is slow on some file systems; overwriting it is not.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    readable = refused = unseen = 0
    tried = iterations(2_500, 250)
    for _ in range(tried):
        data = mutated(seed, chance)
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))
        if not detect(data[:65536], len(data)):
            unseen += 1
            continue
        try:
            source = read(str(path))
        except InputError as error:
            refused += error.file == str(path)
            continue
        readable += 1
        assert all(problem.kind in KINDS and problem.detail for problem in source.problems())
        if readable % 32 == 0:
            check(source)
    os.close(descriptor)
    assert readable > tried * 0.8
    assert refused > tried / 125
    assert unseen < tried / 12.5


def peak_of(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
