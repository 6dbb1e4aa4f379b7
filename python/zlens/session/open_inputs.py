"""Opens the inputs that a user names: files by their readers, and lakes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import ModuleType

from zlens.catalog.synthetic import is_synthetic
from zlens.errors import InputError
from zlens.inputs.options import ALL, Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import CompanionSource, Progress, Source, SystemInfo, shared_us
from zlens.lake.file_names import is_url
from zlens.lake.location import is_lake
from zlens.readers import trailing_data
from zlens.readers.files import file_problem
from zlens.readers.recognition import READERS, InputFiles, digest, reader_module, recognize
from zlens.schema.wording import phrase


def open_inputs(
    inputs: Iterable[str], options: Options, progress: Progress | None = None
) -> tuple[list[Source], list[Problem]]:
    """Open all named inputs: one Source per format, and one per format of each lake."""
    names = list(inputs)
    lakes = [name for name in dict.fromkeys(names) if is_lake(name)]
    file_names = [name for name in names if name not in lakes]
    opened: list[Source] = [source for name in lakes for source in _lake_reader().open_lake(name, options)]
    for name in file_names:
        if is_url(name):
            raise InputError("there is no lake at this URL", file=name, cure=phrase("lake_make"))
    input_files = recognize(file_names, is_lake) if file_names or not lakes else InputFiles({}, [])
    sources: list[Source] = list(opened)
    problems = list(input_files.problems)
    errors: list[InputError] = []
    for name in READERS:
        paths = input_files.files.get(name, [])
        for path in [path for path in paths if opened and not os.path.isdir(path)]:
            twin = _lake_reader().find_duplicate_input(opened, path, lambda path: digest(path).hex())
            if twin is not None:
                paths.remove(path)
                detail = f"the same data as {twin} in the lake; read once"
                problems.append(Problem(None, "", path, 0, None, "duplicate", detail, 0))
        if not paths:
            continue
        try:
            source = reader_module(name).open_files(paths, options, progress)
        except InputError as error:
            errors.append(error)
            continue
        sources.append(source)
        if name in trailing_data.RECORD_READERS:
            problems += trailing_data.find_trailing_data(name, source.problems(), paths)
    for source in sources:
        # A source that does not describe its machine may take it from another one.
        if isinstance(source, CompanionSource):
            companions = [companion.systems for companion in sources if companion.name == source.beside]
            source.take_identity_from([info for systems in companions for info in systems])
    for source in sources:
        for info in source.systems:
            info.synthetic = info.synthetic or is_synthetic(info.system, info.serial)
    if not sources and errors:
        raise errors[0]
    if opened:
        selected = options.systems
        _check_apart(
            info for source in sources for info in source.systems if not selected or info.system in selected
        )
    problems += [file_problem(error, "", "header") for error in errors]
    if options.systems:
        systems = {info.system for source in sources for info in source.systems}
        missing = [name for name in options.systems if name not in systems]
        if missing and not systems & set(options.systems):
            raise InputError(
                f"there is no system {', '.join(missing)} in the input",
                expected=f"one of {', '.join(sorted(systems)[:20])}",
            )
    if options.source not in (None, ALL):
        names_of_sources = sorted({info.source for source in sources for info in source.systems})
        if options.source not in names_of_sources:
            raise InputError(
                f"there is no source {options.source} in the input",
                expected=f"one of {', '.join([*names_of_sources, ALL])}",
            )
    return sources, problems


def _check_apart(infos: Iterable[SystemInfo]) -> None:
    """Raise InputError if a lake and another input have the same system and source at the same time.

    Only inputs of one reader, and those of one lake, are compared record by record.
    """
    seen: dict[tuple[str, str], list[SystemInfo]] = {}
    for info in infos:
        others = seen.setdefault((info.system, info.source), [])
        for other in others:
            common = shared_us(info, other)
            if common > 0:
                raise InputError(
                    f"{info.system} is in two inputs at the same time, for {common / 60e6:,.0f} minutes",
                    file=", ".join([*other.files[:1], *info.files[:1]]),
                    cure=phrase("one_lake"),
                )
        others.append(info)


def _lake_reader() -> ModuleType:
    # Imported only for lakes.
    from zlens.lake import reader

    return reader
