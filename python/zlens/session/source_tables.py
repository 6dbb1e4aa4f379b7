"""The raw tables of several sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from zlens.inputs.source import RawTable, Source


class SourceTables(Mapping[str, list[RawTable]]):
    """The raw tables of several sources as one mapping. A source may find its tables only on request."""

    def __init__(self, computed: dict[str, list[RawTable]], sources: list[Source]) -> None:
        self._computed = computed
        self._sources = sources

    def __contains__(self, name: object) -> bool:
        return name in self._computed or any(name in source.tables for source in self._sources)

    def __getitem__(self, name: str) -> list[RawTable]:
        if name in self._computed:
            return self._computed[name]
        parts = [part for source in self._sources if name in source.tables for part in source.tables[name]]
        if not parts:
            raise KeyError(name)
        return parts

    def __iter__(self) -> Iterator[str]:
        names = dict.fromkeys(self._computed)
        for source in self._sources:
            names.update(dict.fromkeys(source.tables))
        return iter(names)

    def __len__(self) -> int:
        return sum(1 for _ in self)
