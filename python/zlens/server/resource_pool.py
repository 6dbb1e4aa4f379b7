"""LRU pool of open resources that requests share, such as sessions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from msgspec import Struct


class Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=Closable)


class _PoolEntry(Struct, Generic[T]):
    value: T
    users: int = 0
    dropped: bool = False


class ResourcePool(Generic[T]):
    """At most `most` values by their keys, opened when first used; one in use is closed by its last user."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._open: OrderedDict[Hashable, _PoolEntry[T]] = OrderedDict()

    @contextmanager
    def use(self, key: Hashable, opened: Callable[[], T]) -> Iterator[T]:
        """The value of a key; `opened` opens it if it is not open."""
        with self._guard:
            entry = self._open.get(key)
            if entry is None:
                entry = self._open[key] = _PoolEntry(opened())
            entry.users += 1
            self._open.move_to_end(key)
            unused = []
            while len(self._open) > self._most:
                other = self._open.popitem(last=False)[1]
                other.dropped = True
                if not other.users:
                    unused.append(other)
        for other in unused:
            other.value.close()
        try:
            yield entry.value
        finally:
            with self._guard:
                entry.users -= 1
                last = entry.dropped and not entry.users
            if last:
                entry.value.close()

    def close(self) -> None:
        with self._guard:
            opened, self._open = list(self._open.values()), OrderedDict()
        for entry in opened:
            entry.value.close()
