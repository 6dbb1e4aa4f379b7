"""What the server was started with: one session, and narrower ones over the same inputs."""

from __future__ import annotations

import datetime as dt
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import zlens
from zlens.catalog import metrics
from zlens.catalog.expressions import quote
from zlens.engine import cancelling
from zlens.errors import QueryError
from zlens.inputs.options import Moment, Options, parse_moment
from zlens.session.session import Session

#: So many narrower sessions are kept, with the measures they have worked out.
NARROWER = 6
#: Answers that are asked for again and again, such as findings.
ANSWERS = 32
#: Tables that are kept of what questions of windows have in common.
DERIVED = 48
#: After so many tables that hold some columns of a lazy measure, one that holds all.
GROWTHS = 4


@dataclass
class _Open:
    session: Session
    users: int = 0
    dropped: bool = False


@dataclass
class Place:
    """Everything that a question may be asked of.

    inputs   as the user named them: no other file is ever read
    """

    session: Session
    inputs: Sequence[str]
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _narrower: OrderedDict[Any, _Open] = field(default_factory=OrderedDict)
    _answers: OrderedDict[Any, Any] = field(default_factory=OrderedDict)
    _answering: dict[Any, threading.RLock] = field(default_factory=dict)
    _wanted: dict[str, tuple[int, frozenset[str]]] = field(default_factory=dict)
    _lengths: dict[str, int] = field(default_factory=dict)
    _derived: dict[str, str] = field(default_factory=dict)

    def close(self) -> None:
        with self._guard:
            opened, self._narrower = list(self._narrower.values()), OrderedDict()
        for one in opened:
            one.session.close()
        self.session.close()

    @property
    def names(self) -> list[str]:
        """The inputs by names that tell them apart: of files without their folders where that does."""
        short = [Path(name).name or name for name in self.inputs]
        return short if len(set(short)) == len(short) else list(self.inputs)

    @contextmanager
    def narrowed(
        self,
        system: str | None = None,
        start: str | float | None = None,
        end: str | float | None = None,
        input: str | None = None,
    ) -> Iterator[Session]:
        """A session of one system, a stretch of time, or one of the inputs."""
        options = self._options(system, start, end)
        if input is not None and input not in self.names:
            raise QueryError(f"no input is called {input!r}", expected=f"one of {', '.join(self.names)}")
        if len(self.inputs) == 1:
            input = None
        if options == self.session.options and input is None:
            yield self.session
            return
        key = (options, input)
        with self._guard:
            one = self._narrower.get(key)
            if one is None:
                one = self._narrower[key] = _Open(self._session(options, input))
            one.users += 1
            self._narrower.move_to_end(key)
            old = [each for each in self._narrower.values() if each is not one][: -(NARROWER - 1)]
            for name in [name for name, each in self._narrower.items() if each in old]:
                self._narrower.pop(name).dropped = True
            unused = [each for each in old if not each.users]
        for each in unused:
            each.session.close()
        try:
            yield one.session
        finally:
            with self._guard:
                one.users -= 1
                last = one.dropped and not one.users
            if last:
                one.session.close()

    def _session(self, options: Options, input: str | None) -> Session:
        if input is None:
            return self.session.narrowed(options)
        return zlens.open(self.inputs[self.names.index(input)], options=options)

    def _options(self, system: str | None, start: Any, end: Any) -> Options:
        options = self.session.options
        if system is not None and self.known(system) != [system]:
            options = replace(options, systems=(system,))
        if start is not None or end is not None:
            options = replace(
                options,
                start=options.start if start is None else moment(start),
                end=options.end if end is None else moment(end),
            )
        return options

    def known(self, system: str) -> list[str]:
        """The systems there are; QueryError where this is none of them."""
        names = list(dict.fromkeys(info.system for info in self.session.systems))
        if system not in names:
            raise QueryError(f"no system is called {system!r}", expected=f"one of {', '.join(names)}")
        return names

    def once(self, key: Any, work: Callable[[], Any]) -> Any:
        """An answer that stays the same while the server runs; worked out by the first who asks for it."""
        with self._guard:
            answering = self._answering.setdefault(key, threading.RLock())
        with cancelling.held(answering):
            with self._guard:
                if key in self._answers:
                    self._answers.move_to_end(key)
                    return self._answers[key]
            try:
                found = work()
            except BaseException:
                with self._guard:
                    self._answering.pop(key, None)
                raise
            with self._guard:
                self._answers[key] = found
                while len(self._answers) > ANSWERS:
                    self._answering.pop(self._answers.popitem(last=False)[0], None)
            return found

    def kept(self, table: str, columns: Sequence[str]) -> str:
        """A table with columns of a measure: itself, or for a lazy one what was worked out once.

        What was asked for before is asked for again, so a new column comes to those there are; and soon all
        columns are kept, so that there are never many such tables.
        """
        if table not in metrics.tables() or not metrics.table(table).lazy:
            return table
        known = [column.name for column in metrics.table(table).columns]
        with cancelling.held(self._guard):
            count, wanted = self._wanted.get(table, (0, frozenset()))
            if not wanted >= set(columns):
                leading = {"system", "source", "interval_end", "seconds", "flag", *metrics.table(table).key}
                wanted = wanted | {name for name in {*columns, *leading} if name in known}
                count += 1
                if count > GROWTHS:
                    wanted = frozenset(known)
                self._wanted[table] = (count, wanted)
        return self.session.keep(table, wanted)

    def is_long(self, table: str, columns: Sequence[str], rows: int) -> bool:
        """Whether a measure has so many rows; `columns` are some that are worked out anyway."""
        if table not in self._lengths:
            found = self.session.select(f"SELECT count(*) FROM {quote(table)}", {table: columns})
            self._lengths[table] = found.rows[0][0]
        return self._lengths[table] >= rows

    def derived(self, query: str, table: str, columns: Sequence[str]) -> str | None:
        """The table that has the rows of a query over some columns of a measure; None after many of them."""
        with self._guard:
            if query not in self._derived and len(self._derived) >= DERIVED:
                return None
            name = self._derived.setdefault(query, f"derived#{len(self._derived)}")
        self.session.derive(name, query, {table: columns})
        return quote(name)


def moment(value: str | float) -> Moment:
    """A time of a question: seconds since 1970, or as --from takes it."""
    if isinstance(value, str):
        return parse_moment(value)
    try:
        when = dt.datetime.fromtimestamp(value, dt.UTC)
    except (ValueError, OverflowError, OSError):
        raise QueryError(f"{value:g} is no time", expected="seconds since 1970") from None
    return Moment(when.date(), when.time(), dt.UTC)
