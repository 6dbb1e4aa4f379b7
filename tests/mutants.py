"""Share of small faults in the program that the tests detect.

    python tests/mutants.py draw    the list of mutants
    python tests/mutants.py reach   one run of all tests: which of them reach each mutant
    python tests/mutants.py run     each mutant against the tests that reach it, and a table of the results

All three by default. The list is drawn only if it does not exist, so that other tests are tried with the same
mutants. All mutants are compiled into one copy of the checkout, in target/mutants; MUTANT in the environment
enables one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from mutant_draw import DRAWN, Mutant, possible, ranked

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "target" / "mutants"
TREE = HOME / "tree"
PYTHON = TREE / ".venv" / "bin" / "python"
WORKERS = 2
#: CPU seconds of one mutant, and recorded ones of the tests that are chosen for it.
LIMIT_S, CHOSEN_S = 60.0, 50.0
#: Elapsed time limit of a test, as a multiple of its CPU time limit.
WAITED = 10
#: Limits a fault that allocates all memory; a process that runs all tests needs more than one with few tests.
MAX_BYTES = 12 << 30
#: Built by other targets of the Makefile; tests use the existing ones.
SHARED = ("target/pcp", "target/collector", "target/prometheus", "target/trino", "ui/node_modules")

PYTHON_SWITCH = """
import json, os
ON, seen = int(os.environ.get("MUTANT", 0)), set()
def on(number):
    if ON == -1:
        key = (number, os.environ.get("MUTANT_TEST", ""))
        if key not in seen:
            seen.add(key)
            with open(os.environ["MUTANT_LOG"], "a", encoding="utf-8") as log:
                log.write(json.dumps(["reach", *key]) + "\\n")
    return number == ON
"""
# Functions are called a million times in a test, so the current test is read only now and then.
RUST_SWITCH = """
#[allow(dead_code)]
pub(crate) mod mutant {
    use std::{collections::HashSet, env::var, io::Write, sync::{LazyLock, Mutex}, time::Instant};
    static ON: LazyLock<i64> = LazyLock::new(|| var("MUTANT").map_or(0, |text| text.parse().unwrap()));
    static LAST: Mutex<Option<(i64, Instant)>> = Mutex::new(None);
    static SEEN: LazyLock<Mutex<HashSet<(i64, String)>>> = LazyLock::new(Default::default);
    pub(crate) fn on(number: i64) -> bool {
        if *ON == -1 { reach(number); }
        *ON == number
    }
    #[cold]
    fn reach(number: i64) {
        let mut last = LAST.lock().unwrap();
        if last.is_some_and(|(n, at)| n == number && at.elapsed().as_micros() < 200) { return; }
        *last = Some((number, Instant::now()));
        let test = var("MUTANT_TEST").unwrap_or_default();
        if SEEN.lock().unwrap().insert((number, test.clone())) {
            let log = std::fs::OpenOptions::new().append(true).open(var("MUTANT_LOG").unwrap());
            log.unwrap().write_all(format!("[\\"reach\\", {number}, {test:?}]\\n").as_bytes()).unwrap();
        }
    }
}
"""


def instrument(mutants: dict[int, Mutant]) -> dict[str, list[tuple[int, int, int]]]:
    """Update the copy of the checkout and return the lines of each mutant in it, by file."""
    listed = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
    files = subprocess.check_output(listed, cwd=ROOT, text=True).split("\0")
    places: dict[str, list[tuple[int, int, int]]] = {}
    contents = {"python/zlens_mutants.py": PYTHON_SWITCH.encode()}
    for name in filter(lambda name: (ROOT / name).is_file(), files):
        code = (ROOT / name).read_bytes()
        here = sorted((m.start, number, m) for number, m in mutants.items() if m.file == name)
        for _, number, mutant in reversed(here):
            start, end = mutant.body if any(mutant.body) else (mutant.start, mutant.end)
            changed = code[start : mutant.start] + mutant.text.encode() + code[mutant.end : end]
            # Parenthesized: an assignment expression is valid where it is, but not as an operand.
            form = b"((%s) if __import__('zlens_mutants').on(%d) else (%s))"
            new = form % (changed, number, code[start:end])
            if any(mutant.body):
                new = b"{ if crate::mutant::on(%d) %s else %s }" % (number, changed, code[start:end])
            code = code[:start] + new + code[end:]
        for _, number, mutant in here:
            line = code.count(b"\n", 0, code.index(b"on(%d) " % number)) + 1
            lines = (ROOT / name).read_bytes()[slice(*mutant.body)].count(b"\n")
            places.setdefault(name, []).append((number, line, line + 2 * lines))
        if name.startswith("crates/") and name.endswith(("src/lib.rs", "src/main.rs")):
            code += RUST_SWITCH.encode()
        contents[name] = code
    if (TREE / ".git").exists():
        for stale in {*subprocess.check_output(listed, cwd=TREE, text=True).split("\0")} - {"", *contents}:
            (TREE / stale).unlink(missing_ok=True)
    for name, code in contents.items():
        path = TREE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != code:
            path.write_bytes(code)
            path.chmod((ROOT / name).stat().st_mode if (ROOT / name).exists() else 0o644)
    return places


def environment() -> None:
    """Create the private environment of the copy: the packages of this one, and the copy's own zlens."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", TREE / ".venv"], check=True)
        own, packages = (next(Path(p).glob("lib/*/site-packages")) for p in (sys.prefix, TREE / ".venv"))
        (packages / "zlens.pth").write_text(f"{TREE / 'python'}\n{TREE / 'tests'}\n{own}\n", encoding="utf-8")
        script = (Path(sys.prefix) / "bin" / "zlens").read_text(encoding="utf-8")
        PYTHON.with_name("zlens").write_text(
            script.replace(sys.prefix, str(TREE / ".venv")), encoding="utf-8"
        )
        PYTHON.with_name("zlens").chmod(0o755)
        subprocess.run(["git", "init", "-q"], cwd=TREE, check=True)
    # Tests list the files of the checkout with git.
    subprocess.run(["git", "add", "-A"], cwd=TREE, check=True)
    for name in SHARED:
        if (ROOT / name).exists() and not (TREE / name).exists():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            (TREE / name).symlink_to(ROOT / name)


def cargo(words: str) -> list[dict[str, Any]]:
    """Run a cargo command and return its messages."""
    command = f"cargo {words} --locked --message-format=json".split()
    variables = os.environ | {"CARGO_TARGET_DIR": str(TREE / "target"), "PYO3_PYTHON": sys.executable}
    done = subprocess.run(command, cwd=TREE, env=variables, stdout=-1, stderr=subprocess.DEVNULL)
    if done.returncode and not words.startswith("check"):
        raise SystemExit(f"{' '.join(command)} fails in {TREE}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def build() -> dict[str, tuple[Path, Path]]:
    """Build the copy and return the programs of the Rust tests with their working folders."""
    cargo("build --profile develop --package zlens-native --features pyo3/extension-module")
    shutil.copy(TREE / "target/develop/lib_native.so", TREE / "python/zlens/_native.abi3.so")
    programs = {}
    for one in cargo("test --profile develop --workspace --no-run"):
        if one.get("executable") and one["profile"]["test"]:
            folder = Path(one["manifest_path"]).parent
            programs[f"{folder.name}::{one['target']['name']}"] = (Path(one["executable"]), folder)
    return programs


def draw() -> list[Mutant]:
    """Return the mutants with the lowest ranks; Rust mutants that do not compile are excluded."""
    candidates = dict(enumerate(ranked(ROOT, "crates")[: 2 * DRAWN["crates"]]))
    errors = bad = {(-1, "")}
    while errors:
        places = instrument(candidates)
        messages = [one["message"] for one in cargo("check --workspace --keep-going") if "message" in one]
        spans = [span for one in messages if one["level"] == "error" for span in one["spans"]]
        errors = {(span["line_start"], span["file_name"]) for span in spans}
        bad = {n for line, file in errors for n, start, end in places[file] if start <= line <= end}
        candidates = {number: one for number, one in candidates.items() if number not in bad}
        print(f"{len(bad)} mutants of Rust do not compile", flush=True)
        if errors and not bad:
            raise SystemExit(f"no mutant is where errors are: {errors}")
    drawn = [*ranked(ROOT, "python")[: DRAWN["python"]], *list(candidates.values())[: DRAWN["crates"]]]
    return sorted(drawn, key=lambda one: (one.file.startswith("crates"), one.file, one.start))


def spent_s(session: int) -> float:
    """Return the CPU seconds of a program and its children."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            values = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            ticks += sum(map(int, values[11:15])) if int(values[3]) == session else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def start(words: list[Any], log: Path, limit_s: float, **more: Any) -> tuple[int | None, str, float]:
    """Run a program, then kill its children; return its code (None at the time limit), output and seconds."""
    path = f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}"
    folder = more.pop("folder", TREE)
    variables = os.environ | {"PATH": path, "MUTANT_LOG": str(log)} | {name: str(more[name]) for name in more}
    with open(f"{log}.out", "w+", encoding="utf-8", errors="replace") as out:
        options: dict[str, Any] = {"stdout": out, "stderr": out, "stdin": subprocess.DEVNULL}
        process = subprocess.Popen(words, cwd=folder, env=variables, start_new_session=True, **options)
        seconds, end = 0.0, time.monotonic() + WAITED * limit_s
        while process.poll() is None and seconds < limit_s and time.monotonic() < end:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
            seconds = max(seconds, spent_s(process.pid))
        code = process.poll()
        # Servers that a test did not stop have this log in their environment.
        for found in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if f"MUTANT_LOG={log}\0".encode() in found.read_bytes():
                    os.kill(int(found.parent.name), signal.SIGKILL)
        process.kill()
        process.wait()
        out.seek(0)
        return code, out.read(), seconds


def pytest(words: list[str], log: Path, limit_s: float, **more: Any) -> tuple[int | None, str, float]:
    """Run pytest with an empty cache."""
    memory = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else HOME
    cache, temporary = Path(f"{log}.cache"), memory / f"zlens-mutants-{os.getpid()}-{log.stem}"
    command = [PYTHON, "-m", "pytest", "-p", "mutant_plugin", "-o", f"cache_dir={cache}"]
    ended = start([*command, f"--basetemp={temporary}", "--tb=short", *words], log, limit_s, **more)
    for folder in (cache, temporary):
        shutil.rmtree(folder, ignore_errors=True)
    return ended


def read(log: Path) -> list[Any]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def reach(path: Path) -> None:
    """Run all tests once and write which mutants they reach."""
    log = HOME / "reach.new"
    log.write_text("", encoding="utf-8")
    for name, (program, folder) in build().items():
        code, _, seconds = start([program], log, math.inf, folder=folder, MUTANT=-1, MUTANT_TEST=name)
        entry = ["end", name, "failed" if code else "passed", seconds]
        with open(log, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
    _, said, _ = pytest([f"--numprocesses={WORKERS}", "--dist=worksteal"], log, math.inf, MUTANT=-1)
    print(*said.splitlines()[-20:], sep="\n", flush=True)
    log.rename(path)


class Run:
    """Mutants run against the tests that reach them, as recorded in one run of all tests."""

    def __init__(self, recorded: Path, mutants: dict[int, Mutant]) -> None:
        self.mutants = mutants
        self.programs = build()
        #: Tests, fixtures, imports of files and Rust programs that reached each mutant.
        self.reached: dict[int, set[str]] = defaultdict(set)
        self.fixtures: dict[str, set[str]] = {}
        #: Seconds of tests that passed, and of fixtures that several tests use.
        self.seconds: dict[str, float] = {}
        self.setup: dict[str, float] = defaultdict(float)
        #: Seconds of tests that run alone without a mutant; 0 if they fail then too.
        self._alone: dict[str, float] = {}
        entries = read(recorded)
        failed = {name for kind, name, *more in entries if kind == "end" and more[0] != "passed"}
        for kind, name, *more in entries:
            if kind == "reach":
                self.reached[name].add(more[0])
            elif kind == "uses":
                self.fixtures[name] = {*more[0]}
            elif kind == "setup":
                self.setup[name] = max(self.setup[name], more[0])
            elif name not in failed:
                self.seconds[name] = more[1]

    def tests(self, number: int) -> list[str]:
        """Return the Python tests to try: those that reach a mutant, then others of their files."""
        reached = self.reached[number]
        tests = [test for test in self.seconds if "/" in test]
        files = {name.removeprefix("import ") for name in reached}
        own = {
            test
            for test in tests
            if test in reached or self.fixtures.get(test, set()) & reached or test.split("::")[0] in files
        }
        files = {test.split("::")[0] for test in own}
        room = self.mutants[number].file.split("/")[2].removesuffix(".py")
        cases: Counter[str] = Counter()
        costs: dict[str, tuple[bool, float]] = {}
        for test in tests:
            if test.split("::")[0] in files:
                # The first cases of many tests detect more than all cases of one, most in the same package.
                cases[test.split("[")[0]] += 1
                weight = cases[test.split("[")[0]] / (3 if test.split("/")[1] == room else 1)
                seconds = self.seconds[test] + sum(self.setup[name] for name in self.fixtures.get(test, ()))
                costs[test] = (test not in own, (seconds + 0.01) * weight)
        chosen, left, set_up = [], CHOSEN_S, set[str]()
        for test in sorted(costs, key=costs.__getitem__):
            more = self.fixtures.get(test, set()) - set_up
            seconds = self.seconds[test] + sum(self.setup[fixture] for fixture in more)
            if seconds <= left:
                left -= seconds
                set_up |= more
                chosen.append(test)
        return chosen

    def verdict(self, number: int) -> tuple[str, str, float]:
        """Return the result for a mutant, the test that detected it, and the seconds used."""
        if number not in self.mutants:
            return "gone", "", 0.0
        rust = sorted(self.reached[number] & {*self.programs} & {*self.seconds}, key=self.seconds.__getitem__)
        tests, passed = self.tests(number), len(rust)
        if not rust and not tests:
            return "not reached", "", 0.0
        log, spent, up = HOME / "run" / f"{number}.log", 0.0, ""
        while (rust or tests) and spent < LIMIT_S - 5:
            now = [rust.pop(0)] if rust else tests
            test, late, seconds = self._try(now, number, log, LIMIT_S - spent)
            spent += seconds
            alone_s = self._alone_s(test) if test else 0.0
            if late and alone_s:
                # At the time limit: does the running test end in twice its normal time?
                again = self._try([test], number, log.with_stem(f"{number}-again"), 2 * alone_s + 10)
                alone_s *= bool(again[0])
            if alone_s:
                return "killed", test + " (never ends)" * (late and again[1]), spent
            up = ", time is up" if late else ""
            if now is tests:
                # A test that fails without the mutant too is excluded, and the others are tried again.
                tests = [one for one in tests if test and not late and one != test]
        passed += len({entry[1] for entry in read(log) if entry[0] == "end"})
        return f"survived{up}", f"{passed} pass", spent

    def _try(self, tests: list[str], number: int, log: Path, limit_s: float) -> tuple[str, bool, float]:
        """Return the first failing or unfinished test, whether the time limit was reached, and seconds."""
        log.write_text("", encoding="utf-8")
        if tests[0] in self.programs:
            program, folder = self.programs[tests[0]]
            code, _, seconds = start([program], log, limit_s, folder=folder, MUTANT=number)
            return tests[0] if code != 0 else "", code is None, seconds
        chosen = log.with_suffix(".json")
        chosen.write_text(json.dumps(tests), encoding="utf-8")
        code, said, seconds = pytest(["-x"], log, limit_s, MUTANT=number, MUTANT_TESTS=chosen)
        entries = read(log)
        failed = [entry[1] for entry in entries if entry[0] == "end" and entry[2] == "failed"]
        if failed or code == 0:
            return failed[0] if failed else "", False, seconds
        if code is None:
            return (
                next((name for kind, name, *_ in reversed(entries) if kind == "start"), tests[0]),
                True,
                seconds,
            )
        if not number:
            raise SystemExit(f"{tests} cannot be collected:\n{said}")
        return tests[0], False, seconds

    def _alone_s(self, test: str) -> float:
        if test not in self._alone:
            log = HOME / "run" / f"without-{threading.get_ident()}.log"
            failed, _, seconds = self._try([test], 0, log, 4 * LIMIT_S)
            self._alone[test] = 0.0 if failed else max(seconds, 0.1)
        return self._alone[test]


def table(entries: list[Any], lines: dict[int, int], verdicts: dict[int, tuple[str, str, float]]) -> str:
    rows = ["| | place | function | mutant | result | test | s |", "|---|---|---|---|---|---|---|"]
    totals: dict[str, Counter[str]] = {folder: Counter() for folder in DRAWN}
    for entry in entries:
        number, (file, function, _, change, _) = entry["number"], entry["key"]
        verdict, test, seconds = verdicts[number]
        place = f"{file}:{lines.get(number, entry['line'])}"
        cells = [str(number), place, function, f"`{change}`", verdict, test, f"{seconds:.0f}"]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        totals[file.split("/")[0]][verdict.split(",")[0]] += 1
    for folder, counts in totals.items():
        numbers = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        rows += ["", f"{folder}: {numbers}"]
    return "\n".join(rows) + "\n"


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("steps", nargs="*", metavar="draw, reach, run", default=["draw", "reach", "run"])
    parser.add_argument("--list", type=Path, default=HOME / "list.json", help="the mutants")
    parser.add_argument("--reached", type=Path, default=HOME / "reach.jsonl", help="what reaches them")
    parser.add_argument("--report", type=Path, default=HOME / "report.md", help="the table")
    parser.add_argument("--only", type=int, nargs="+", help="run these mutants alone", metavar="NUMBER")
    options = parser.parse_args()
    (HOME / "run").mkdir(parents=True, exist_ok=True)
    if not options.list.exists():
        entries = [{"number": n, "key": one.key, "line": one.line} for n, one in enumerate(draw(), start=1)]
        options.list.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    entries = json.loads(options.list.read_text(encoding="utf-8"))
    numbers = {tuple(entry["key"]): entry["number"] for entry in entries}
    everything = (one for folder in DRAWN for one in possible(ROOT, folder))
    mutants = {numbers[one.key]: one for one in everything if one.key in numbers}
    instrument(mutants)
    environment()
    if "reach" in options.steps:
        reach(options.reached)
    if "run" in options.steps:
        began = time.monotonic()
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))
        run = Run(options.reached, mutants)
        entries = [entry for entry in entries if entry["number"] in (options.only or numbers.values())]
        with ThreadPoolExecutor(WORKERS) as pool:
            results = pool.map(run.verdict, [entry["number"] for entry in entries])
            verdicts = {}
            for entry, result in zip(entries, results, strict=True):
                verdicts[entry["number"]] = result
                print(entry["number"], *result, flush=True)
        text = table(entries, {number: one.line for number, one in mutants.items()}, verdicts)
        text += f"\n{(time.monotonic() - began) / 60:.0f} minutes\n"
        options.report.write_text(text, encoding="utf-8")
        print(*text.splitlines()[-5:], sep="\n")


if __name__ == "__main__":
    main()
