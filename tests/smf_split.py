"""Splits SMF records of sections into the parts that RMF writes instead of a record that is too long."""

from __future__ import annotations

from zlens.catalog.smf_sections import SmfLayout


def split(layout: SmfLayout, record: bytes, most: int) -> list[bytes]:
    """Return the parts of a record, of up to `most` bytes each.

    One section is in every part. After it, a part says which sections of each kind it has, numbered from 1.
    """
    assert layout.broken is not None
    leading = layout.section(layout.broken.section)
    triplets = {section.name: section.triplet for section in layout.sections if section.triplet is not None}
    triplets = dict(sorted(triplets.items(), key=lambda item: item[1]))
    header = record[: max(triplets.values()) + 8]
    sections = {}
    for name, at in triplets.items():
        offset, length, count = (
            int.from_bytes(record[at + start : at + end]) for start, end in ((0, 4), (4, 6), (6, 8))
        )
        sections[name] = [record[offset + i * length :][:length] for i in range(count)]
    area_offset, area_length = len(sections[leading.name][0]), 16 + 4 * len(triplets)
    locator = bytearray(sections[leading.name][0])
    for role, value in (("offset", area_offset), ("length", 16), ("number", 1)):
        field = leading.field(layout.broken.at[role])
        locator[field.offset : field.offset + field.length] = value.to_bytes(field.length)

    # First section and number of sections of each kind, by part.
    parts: list[dict[str, tuple[int, int]]] = []
    remaining = 0
    for name in [name for name in triplets if name != leading.name]:
        for number, section in enumerate(sections[name]):
            if len(section) > remaining:
                parts.append(dict.fromkeys(triplets, (0, 0)) | {leading.name: (0, 1)})
                remaining = most - len(header) - area_offset - area_length
            first, count = parts[-1][name]
            parts[-1][name] = (first if count else number, count + 1)
            remaining -= len(section)

    records = []
    for part_number, part in enumerate(parts, 1):
        area = b"".join(
            value.to_bytes(size)
            for value, size in (
                (len(parts), 2), (part_number, 2), (area_offset + 16, 4), (4, 2), (len(triplets), 2), (0, 4)
            )
        )  # fmt: skip
        for name, (first, count) in part.items():
            area += len(sections[name]).to_bytes(2) + (first + 1 if count else 0).to_bytes(2)
        written = bytearray(header)
        for name, (first, count) in part.items():
            contents = [bytes(locator)] if name == leading.name else sections[name][first : first + count]
            at = triplets[name]
            written[at : at + 8] = bytes(8)
            if contents:
                length = len(contents[0])
                written[at : at + 8] = (
                    len(written).to_bytes(4) + length.to_bytes(2) + len(contents).to_bytes(2)
                )
            written += b"".join(contents) + (area if name == leading.name else b"")
        records.append(bytes(written))
    return records
