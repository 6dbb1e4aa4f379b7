"""A verdict: sentences of clauses, each with what proves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.schema.plain_text import replace_controls


class Clause(Struct, frozen=True):
    """A part of a sentence.

    kind        cause, effect, meanwhile, added, what-if, or checked
    text        the text
    before      what separates it from the clause before it
    view        the view of the web UI that proves it, with its settings; None: none does
    start, end  the window of that view, UTC; None: the whole recording
    """

    kind: str
    text: str
    before: str = ""
    view: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    start: datetime | None = None
    end: datetime | None = None


class SystemVerdict(Struct, frozen=True):
    """The verdict on a system: sentences, each a list of clauses."""

    system: str
    sentences: Sequence[Sequence[Clause]]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<SystemVerdict {self.system}: {self.text}>"

    @property
    def text(self) -> str:
        texts = [
            [each.before + replace_controls(each.text, "?") for each in clauses] for clauses in self.sentences
        ]
        return " ".join(f"{''.join(parts)}." for parts in texts)


def sentence(clauses: Sequence[Clause]) -> list[Clause]:
    """Return the clauses of a sentence, which begins with a capital letter."""
    first, *rest = clauses
    return [replace(first, text=first.text[:1].upper() + first.text[1:], before=""), *rest]
