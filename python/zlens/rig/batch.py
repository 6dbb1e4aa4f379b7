"""Runs many scenarios in parallel. Completed runs are stored, so an interrupted batch can resume."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from zlens import _native
from zlens.compiler import compile_cache
from zlens.errors import CanceledError, InputError, ZlensError
from zlens.rendering.atomic_file import atomic_write
from zlens.rig import observed_values
from zlens.rig.definition import Observation, RigDefinition
from zlens.rig.jobs import Job
from zlens.rig.runners import RunData, Runner
from zlens.simulation.run import without_interrupts
from zlens.version import VERSION

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

#: Receives the number of completed runs, the total, and the last run.
Progress = Callable[[int, int, str], None]
_LOOK_S = 0.2
_stop: Event


class CompletedRun(Struct, frozen=True):
    """A run with its data and its observed values; error: why it failed."""

    job: Job
    data: RunData
    values: observed_values.Values
    seconds: float
    error: str | None = None


class BatchInterrupted(KeyboardInterrupt):
    """An interrupt, with the runs completed before."""

    def __init__(self, done: dict[tuple[str, str], CompletedRun]) -> None:
        super().__init__()
        self.done = done


def run(
    jobs_by_rig: Sequence[tuple[RigDefinition, Sequence[Job]]],
    runner: Runner,
    folder: str,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[tuple[str, str], CompletedRun]:
    """Return all runs, by file and name. folder: folder of data and results.

    Raises BatchInterrupted after an interrupt; incomplete runs leave no data.
    """
    all_jobs = [(rig, job) for rig, rig_jobs in jobs_by_rig for job in rig_jobs]
    for rig, _ in jobs_by_rig:
        own = Path(folder) / rig.name
        try:
            own.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot be written: {error.strerror}"
            raise InputError(message, file=str(own), cure="name another folder") from None
    done: dict[tuple[str, str], CompletedRun] = {}
    # A fork of a process with threads may hang.
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    workers = max(1, min(jobs or os.cpu_count() or 1, len(all_jobs)))
    with ProcessPoolExecutor(workers, context, _begin, (stop,)) as pool:
        waiting: set[Future[CompletedRun]] = set()
        try:
            with without_interrupts():
                waiting = {
                    pool.submit(_run_one, job, runner, rig.observations, str(Path(folder) / rig.name))
                    for rig, job in all_jobs
                }
            while waiting:
                ended, waiting = wait(waiting, _LOOK_S, FIRST_COMPLETED)
                for future in ended:
                    result = future.result()
                    done[result.job.rig, result.job.name] = result
                    if progress is not None:
                        progress(len(done), len(all_jobs), f"{result.job.rig}: {result.job.name}")
        except BaseException as error:
            stop.set()
            for future in waiting:
                future.cancel()
            if isinstance(error, KeyboardInterrupt):
                raise BatchInterrupted(done) from None
            raise
    return done


def _begin(stop: Event) -> None:
    """Initialize a worker process."""
    global _stop
    _stop = stop


def _run_one(job: Job, runner: Runner, observations: Sequence[Observation], folder: str) -> CompletedRun:
    """Run and observe, or reuse stored data and values; an error becomes the result of this run only."""
    started = time.monotonic()
    output = str(Path(folder) / f"{job.name}.data")
    try:
        digest = runner.digest(job)
        earlier = _completed_run(output, digest)
        data = earlier[0] if earlier else runner.run(job, output, _stop.is_set)
        reads = _observation_key(observations)
        if earlier and earlier[1] == reads:
            return CompletedRun(job, data, earlier[2], 0.0)
        values = observed_values.observed_values(data.files, data.throughput, observations)
    except CanceledError:
        return CompletedRun(job, RunData(()), {}, 0.0, "interrupted")
    except ZlensError as error:
        return CompletedRun(job, RunData(()), {}, time.monotonic() - started, str(error))
    _keep(output, digest, data, reads, values)
    return CompletedRun(job, data, values, time.monotonic() - started)


def _observation_key(observations: Iterable[Observation]) -> str:
    """Return everything besides the data that the observed values depend on."""
    native = os.stat(_native.__file__ or "")
    catalog = [compile_cache.catalog_digest(str(root)) for root in compile_cache.ROOTS]
    own = [asdict(observation) for observation in observations]
    return json.dumps([VERSION, native.st_size, native.st_mtime_ns, catalog, own])


def _completed_run(output: str, digest: str) -> tuple[RunData, str, observed_values.Values] | None:
    """Return data and values of an earlier run with this digest, if all its files exist.

    Raises InputError for a file that was changed since.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        stored: dict[str, Any] = json.loads(Path(f"{output}.json").read_text(encoding="utf-8"))
        folder = Path(output).parent
        files = tuple(str(folder / name) for name in stored["files"])
        throughput = stored["throughput"] and str(folder / stored["throughput"])
        files_exist = all(os.path.isfile(path) for path in (*files, *filter(None, [throughput])))
        if stored["digest"] == digest and files and files_exist:
            for path, written in stored["written"].items():
                if _content_digest(folder / path) != written:
                    cure = "delete it, and the run is repeated"
                    raise InputError(
                        "changed since the run that wrote it", file=str(folder / path), cure=cure
                    )
            return RunData(files, throughput), stored["reads"], stored["values"]
    return None


def _content_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _keep(output: str, digest: str, data: RunData, reads: str, values: observed_values.Values) -> None:
    folder = Path(output).parent
    own = [Path(path) for path in (*data.files, data.throughput) if path and Path(path).parent == folder]
    stored = {
        "digest": digest,
        "files": [os.path.relpath(path, folder) for path in data.files],
        "throughput": data.throughput and os.path.relpath(data.throughput, folder),
        "written": {path.name: _content_digest(path) for path in own},
        "reads": reads,
        "values": values,
    }
    with atomic_write(f"{output}.json") as path:
        Path(path).write_text(json.dumps(stored), encoding="utf-8")
