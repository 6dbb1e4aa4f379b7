"""Cost of answers: CPU time of complete commands on the demo files, as a multiple of B.

B is the cost of a Python that imports duckdb, connects and selects one value, measured in the same run: no
query can cost less. Seconds are user and system time of the process. Every command runs twice, first with an
empty cache directory: bounds apply to the second run, when data that depends only on the catalog is cached;
the first is printed with it. --save writes the table to docs/speed.md.
"""

from __future__ import annotations

import argparse
import compileall
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import bench

import zlens
from zlens import demo, reports

BASE = "import duckdb; duckdb.connect().sql('select 1').fetchall()"
PAGE = bench.ROOT / "docs" / "speed.md"
BEGIN, END = "<!-- answers -->", "<!-- /answers -->"
LISTED, FOLDER = "report --list", "folder"
#: Bounds as multiples of B; SECOND_QUESTION is in seconds.
SQL, REPORT, REPORT_OF_FOLDER, FINDINGS, INFO, HELP, DEMO = 2, 3, 4, 5, 2, 0.5, 15
PROBLEMS, COMPARE, LIST = 3, 5, 3
SECOND_QUESTION = 0.020
#: Commands between two measurements of B, because the speed of a machine varies.
EVERY = 10


@dataclass(frozen=True)
class Question:
    """A command, and its bound as a multiple of B; None if it has no bound."""

    name: str
    on: str
    words: tuple[str, ...]
    bound: float | None = None


@dataclass
class Row:
    """The cost of one command, in seconds of CPU."""

    question: Question
    #: The first run, and later ones.
    first: float = math.nan
    seconds: list[float] = field(default_factory=list)
    #: Error output of a failed run.
    error: str = ""

    @property
    def cost(self) -> float:
        return statistics.median(self.seconds) if self.seconds else math.nan


def cpu(*words: str) -> float:
    """Return CPU seconds of a process and its children; raise OSError with its output if it failed."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise OSError(f"{' '.join(words)}: {said.read().decode(errors='replace').strip()}")
    return usage.ru_utime + usage.ru_stime


def zlens_cpu(*words: str) -> float:
    return cpu(sys.executable, "-m", "zlens", *words)


def base() -> float:
    return cpu(sys.executable, "-c", BASE)


def fullest(files: Sequence[Path]) -> dict[str, Path]:
    """Return for each report the file that has values for most of its columns."""
    best: dict[str, tuple[int, Path]] = {}
    for path in files:
        with zlens.open(path) as session:
            for entry in reports.list_reports(session._core):
                available = entry.available or 0
                if available > best.get(entry.name, (0, path))[0]:
                    best[entry.name] = (available, path)
    return {name: path for name, (_, path) in best.items()}


def questions(folder: Path, files: Sequence[Path], everything: bool) -> Iterator[Question]:
    zvm, rmf, smf, sim = files
    yield Question("--help", "", ("--help",), HELP)
    yield Question("info", "folder", ("info", str(folder)), INFO)
    for path in files:
        yield Question("info", path.name, ("info", str(path)))
    for path, text in (
        (zvm, "SELECT * FROM load"),
        (zvm, "SELECT cpu_id, avg(busy_pct), max(busy_pct) FROM cpu GROUP BY cpu_id"),
        (zvm, "SELECT userid, sum(cpu_s) FROM guest GROUP BY userid ORDER BY 2 DESC LIMIT 5"),
        (zvm, "SELECT * FROM device"),
        (rmf, "SELECT * FROM partition"),
        (smf, "SELECT * FROM cpumf"),
        (sim, "SELECT * FROM core"),
    ):
        yield Question(text, path.name, ("sql", str(path), "-q", text), SQL)
    problems = "SELECT * FROM problem"
    yield Question(problems, smf.name, ("sql", str(smf), "-q", problems), PROBLEMS)
    yield Question("findings", "folder", ("findings", str(folder)), FINDINGS)
    for path in files if everything else ():
        yield Question("findings", path.name, ("findings", str(path)))
    halves = ("compare", str(sim), "--to", "10:00", "--", "--from", "10:00")
    yield Question("compare of two half hours", sim.name, halves, COMPARE)
    yield Question("plan", zvm.name, ("plan", str(zvm)))
    yield Question("plan --set logical_cores=+1", sim.name, ("plan", str(sim), "--set", "logical_cores=+1"))
    yield Question("demo", "", ("demo", str(folder.parent / "another")), DEMO)
    yield Question("report --list", "folder", ("report", "--list", str(folder)), LIST)
    filled = fullest(files)
    for name in reports.names():
        if everything:
            for path in files:
                yield Question(f"report {name}", path.name, ("report", name, str(path)), REPORT)
        elif name in filled:
            path = filled[name]
            yield Question(f"report {name}", path.name, ("report", name, str(path)), REPORT)
        yield Question(f"report {name}", "folder", ("report", name, str(folder)), REPORT_OF_FOLDER)


def second_question(path: Path) -> float:
    """Return CPU seconds of a query on columns that an earlier query of the session has read."""
    text = "SELECT cpu_id, avg(busy_pct) FROM cpu GROUP BY cpu_id"
    seconds = []
    with zlens.open(path) as session:
        _ = session.sql(text).rows
        for _ in range(5):
            begin = time.process_time()
            _ = session.sql(text).rows
            seconds.append(time.process_time() - begin)
    return statistics.median(seconds)


class Page:
    """The table in docs/speed.md: costs in multiples of B, with two lines for all reports."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
        _, _, self.tail = rest.partition(END)

    def save(self, rows: Sequence[tuple[str, str, str, str]], machine: str) -> None:
        """Replace the table."""
        text = [machine, "", "| what | on | cost | to reach |", "|---|---|--:|--:|"]
        reports: dict[bool, list[tuple[str, str, str, str]]] = {True: [], False: []}
        for row in rows:
            if row[0].startswith("report ") and row[0] != LISTED:
                reports[row[1] == FOLDER].append(row)
            else:
                text.append(_line(row))
        text += [_line(_summary(of_kind)) for of_kind in reports.values() if of_kind]
        block = "\n".join(text)
        self.path.write_text(f"{self.head}{BEGIN}\n\n{block}\n\n{END}{self.tail}", encoding="utf-8")


def _line(row: tuple[str, str, str, str]) -> str:
    name, on, value, bound = row
    name = name.replace("|", "\\|")
    if value.endswith(" B") and bound and float(value.split()[0]) > float(bound.split()[0]):
        value += ", **missed**"
    return f"| {name} | {on} | {value} | {bound} |"


def _summary(rows: Sequence[tuple[str, str, str, str]]) -> tuple[str, str, str, str]:
    """Summarize reports by their median, and list those above their bound."""
    costs = [(float(value.split()[0]), name, bound) for name, _, value, bound in rows if value.endswith(" B")]
    missed = [
        f"{name.removeprefix('report ')} {cost:.2f} B"
        for cost, name, bound in costs
        if cost > float(bound.split()[0])
    ]
    failed = [name for name, _, value, _ in rows if not value.endswith(" B")]
    what = f"{len(rows)} reports, median"
    for word, names in (("missed", missed), ("failed", failed)):
        if names:
            what += f"; {word}: {', '.join(names)}"
    on = FOLDER if rows[0][1] == FOLDER else "the file that fills it best"
    median = f"{statistics.median(cost for cost, _, _ in costs):.2f} B" if costs else "failed"
    return what, on, median, rows[0][3]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--megabytes", type=int, default=1000, help="not used: the demo files are what they are"
    )
    parser.add_argument("--runs", type=int, default=1, help="runs after the first, the median counts (1)")
    parser.add_argument("--jobs", type=int, default=2, help="commands, and runs of B, side by side (2)")
    parser.add_argument("--all", action="store_true", help="every report on every file, findings too")
    parser.add_argument("--only", metavar="WORD", help="only questions with this word in the command")
    parser.add_argument("--save", action="store_true", help="replace the table in docs/speed.md")
    arguments = parser.parse_args()
    if arguments.save and arguments.only:
        parser.error("--save keeps the whole table: leave --only out")
    # pip compiles what it installs; a checkout is compiled when it runs, if its folders are writable.
    compileall.compile_dir(Path(zlens.__file__).parent, quiet=2)
    print(f"machine: {bench.machine()}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "demo"
        files = demo.write(folder)
        selected = [
            question
            for question in questions(folder, files, arguments.all)
            if not arguments.only or arguments.only in " ".join(question.words)
        ]
        os.environ["XDG_CACHE_HOME"] = str(Path(name) / "cache")
        rows, bases = measured(selected, arguments.runs, arguments.jobs)
        second = second_question(files[0])
    unit = statistics.median(bases)
    print(f"B: {unit:.3f} s, {min(bases):.3f} to {max(bases):.3f} in {len(bases)} runs\n")
    lines, missed = [], 0
    for row in rows:
        multiple, bound = row.cost / unit, row.question.bound
        reached = bound is None or multiple <= bound
        missed += not reached
        mark = "FAILED" if row.error else "MISSED" if not reached else "ok" if bound else ""
        wanted = "" if bound is None else f"{bound:g} B"
        lines.append(
            (row.question.name, row.question.on, "failed" if row.error else f"{multiple:.2f} B", wanted)
        )
        print(
            f"{mark:<6}  {shown(row.question):<64} {row.cost:8.3f} s {multiple:7.2f} B  {wanted:<5}  "
            f"first {row.first / unit:6.2f} B  {row.error}"
        )
    late, what = second > SECOND_QUESTION, "a second question, columns made"
    missed += late
    lines.append((what, files[0].name, f"{second * 1000:.1f} ms", "20 ms"))
    print(f"{'MISSED' if late else 'ok':<6}  {what:<64} {second * 1000:8.1f} ms {'':9} 20 ms")
    bounded = 1 + sum(row.question.bound is not None for row in rows)
    print(f"\n{missed} of {bounded} missed" if missed else f"\nall {bounded} reached")
    if arguments.save:
        Page(PAGE).save(lines, f"B {unit:.3f} s; {bench.machine()}")
    return 0


def measured(questions: Sequence[Question], runs: int, jobs: int) -> tuple[list[Row], list[float]]:
    """Return the cost of each command, and the values of B measured in between."""
    rows, bases = [Row(question) for question in questions], [base()]

    def ask(number: int) -> None:
        row = rows[number]
        if number % EVERY == 0:
            bases.append(base())
        if sys.stderr.isatty():
            print(f"{number + 1} of {len(rows)}", end="\r", file=sys.stderr, flush=True)
        try:
            row.first = zlens_cpu(*row.question.words)
            row.seconds += [zlens_cpu(*row.question.words) for _ in range(runs)]
        except OSError as error:
            row.error = str(error)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(ask, range(len(rows))))
    return rows, bases


def shown(question: Question) -> str:
    name = f"{question.name}, {question.on}" if question.on else question.name
    return name if len(name) <= 64 else f"{name[:61]}..."


if __name__ == "__main__":
    sys.exit(main())
