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
    """At most `max_open` resources by key, opened on first use; one in use is closed by its last user."""

    def __init__(self, max_open: int) -> None:
        self._max_open = max_open
        self._guard = threading.Lock()
        self._open: OrderedDict[Hashable, _PoolEntry[T]] = OrderedDict()

    @contextmanager
    def use(self, key: Hashable, open_resource: Callable[[], T]) -> Iterator[T]:
        """Yield the resource of a key, opened by `open_resource` unless it is open."""
        with self._guard:
            entry = self._open.get(key)
            if entry is None:
                entry = self._open[key] = _PoolEntry(open_resource())
            entry.users += 1
            self._open.move_to_end(key)
            unused = []
            while len(self._open) > self._max_open:
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
                is_last_user = entry.dropped and not entry.users
            if is_last_user:
                entry.value.close()

    def close(self) -> None:
        with self._guard:
            entries, self._open = list(self._open.values()), OrderedDict()
        for entry in entries:
            entry.value.close()
