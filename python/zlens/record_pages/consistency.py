"""Consistency checks of a record page: table, cross reference and record length."""

from __future__ import annotations

from zlens.record_pages.table import Bit, FieldRow, RecordPage, Reference, Structure


def inconsistencies(page: RecordPage) -> list[str]:
    """Return the inconsistencies of a record page, one sentence each, in table order."""
    problems = list(page.findings)
    if page.null:
        return problems
    if not page.ended:
        problems.append("the page ends inside the table of fields; the record may have more of them")
    for structure in page.structures:
        problems += _structure(structure, page)
    if not page.references:
        problems.append("the page has no cross reference; the table was not checked against it")
        return problems
    names = {structure.name for structure in page.structures}
    for structure in page.structures:
        for row in structure.rows:
            names.add(row.name)
            names.update(bit.name for bit in row.bits)
    missing = sorted(set(page.references) - names)
    problems += [f"{name} is in the cross reference but not in the table" for name in missing]
    return problems


def confirmed(page: RecordPage, row: FieldRow) -> bool:
    """Return whether the cross reference confirms the offset and length of this field."""
    return any(_same(row, ref) for ref in page.references.get(row.name, ()))


def _structure(structure: Structure, page: RecordPage) -> list[str]:
    problems = []
    refs = page.references.get(structure.name)
    if refs and all(ref.length != structure.length for ref in refs):
        lengths = ", ".join(str(ref.length) for ref in refs)
        says = f"the table says {structure.length} bytes, the cross reference {lengths}"
        problems.append(f"{structure.name}: {says}")
    seen: set[str] = set()
    for row in structure.rows:
        if row.name == "*":
            continue
        if row.name in seen:
            problems.append(f"{row.name} (line {row.line}) appears twice in the table; the first one is used")
            continue
        seen.add(row.name)
        if page.references:
            problems += _row(row, page)
    end = max((row.end for row in structure.rows), default=0)
    if end > structure.length:
        detail = f"{structure.name}: the last field ends at {end}, but its length is {structure.length}"
        problems.append(detail)
    elif end < structure.length and not structure.variable:
        missing = f"{structure.length - end} of its {structure.length} bytes are not described"
        problems.append(f"{structure.name}: the last field ends at {end}, so {missing}")
    return problems


def _row(row: FieldRow, page: RecordPage) -> list[str]:
    refs = page.references.get(row.name)
    if refs is None:
        return [f"{row.name} (line {row.line}) is not in the cross reference"]
    problems = []
    if not confirmed(page, row):
        ref = refs[0]
        problems.append(
            f"{row.name} (line {row.line}): the table says offset {row.offset} length {row.length}, "
            f"the cross reference offset {ref.offset} length {ref.length}"
        )
    problems += [
        f"{bit.name} (a bit of {row.name}): value {bit.value:02X} differs from the cross reference"
        for bit in row.bits
        if bit.name != "*" and not any(_same_bit(row, bit, ref) for ref in page.references.get(bit.name, ()))
    ]
    return problems


def _same(row: FieldRow, ref: Reference) -> bool:
    # Some tables state the length of one element of an array, others that of the array.
    return ref.offset == row.offset and ref.length in (row.length, row.length * row.count)


def _same_bit(row: FieldRow, bit: Bit, ref: Reference) -> bool:
    return ref.value == bit.value and row.offset <= ref.offset <= row.offset + max(row.length - 1, 0)
