"""Event records that are evidence of counter resets."""

from typing import Annotated, ClassVar

from zlens.catalog import layouts
from zlens.schema.structs import FactFile, SourcedTable, doc

#: Subject kind of evidence that affects every counter of the system.
ALL = "all"
#: Kind of the events of resets.
KIND = "counters were reset"


class ResetRule(SourcedTable, frozen=True):
    """A record that reports a reset.

    The values of `fields` name the subject in the order of the subject's columns; fewer values mean every
    subject that begins with them, none every subject of that kind.
    """

    record: Annotated[str, doc("its name, such as D1R4")]
    kind: Annotated[str, doc("what happened")]
    subject_kind: Annotated[str, doc("the kind of subject whose counters were reset")]
    fields: Annotated[tuple[str, ...], doc("fields that name the subject")]
    time: Annotated[str | None, doc("the field with the time, if not the record's own")] = None
    note: Annotated[str | None, doc("a remark")] = None


class ResetFile(FactFile, frozen=True):
    """All evidence."""

    path: ClassVar = "zvm/resets.toml"
    subjects: Annotated[dict[str, tuple[str, ...]], doc("texts of the values of subjects")]
    evidence: tuple[ResetRule, ...]


def reset_rules_for(subject_kind: str | None) -> list[ResetRule]:
    """Return the evidence of resets of that kind of subject, including evidence that affects all counters."""
    return [item for item in ResetFile.load().evidence if item.subject_kind in (ALL, subject_kind)]


def subject_kind(table: str) -> str | None:
    """Return the subject kind of a raw table: "" if its layout does not state it, None without a layout."""
    record, _, section = table.upper().partition("_")
    if record not in layouts.records():
        return None
    kinds: dict[str, str | None] = {}
    for layout in layouts.layouts(record):
        kinds.setdefault("", layout.subject_kind)
        for part in layout.sections:
            kinds.setdefault(part.name.upper(), part.subject_kind)
    return kinds.get(section) or kinds.get("") or ""


def subject_name(kind: str | None, subject: str) -> str:
    """Return a readable subject from its kind and its values joined by `/`: `device 0301` for `769`."""
    if kind is None:
        return subject
    if not subject:
        return kind
    values = subject.split("/")
    texts = ResetFile.load().subjects.get(kind, ())
    words = [_word(text, value) for text, value in zip(texts, values, strict=False)]
    remaining = "/".join(values[len(words) :])
    return (
        ", ".join([*words, *([remaining] if remaining else [])]) if words else f"{kind} {remaining}".strip()
    )


def _word(text: str, value: str) -> str:
    if value.isdecimal():
        return text.format(int(value))
    return value if ":" in text else text.format(value)
