"""Tests of the forwarder as a program: kills do not change the data that arrives."""

from __future__ import annotations

import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_forwarder import eventually

import tools
from iterations import draws, iterations
from zlens.live.receiver import AccessPolicy, Receiver

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason=tools.reason("cargo"))


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder of the programs; `make test` has already built them for the crate tests."""
    command = ["make", "--silent", "programs"]
    subprocess.run(command, cwd=ROOT, check=True)
    return ROOT / "target" / "develop"


class Programs:
    """Started programs, which are killed at the end of the test."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[str]] = []

    def start(self, *command: object, **options: object) -> subprocess.Popen[str]:
        options = {"stderr": subprocess.PIPE, "text": True, "stdin": subprocess.DEVNULL} | options
        program: subprocess.Popen[str] = subprocess.Popen([str(part) for part in command], **options)  # type: ignore[call-overload]
        self.running.append(program)
        return program


@pytest.fixture
def programs() -> Iterator[Programs]:
    programs = Programs()
    yield programs
    for program in programs.running:
        program.kill()
        program.wait()
        if program.stderr is not None:
            program.stderr.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def received(folder: Path) -> bytes:
    """Return the data received from the only source."""
    files = sorted(folder.glob("*/0*"))
    return b"".join(path.read_bytes() for path in files)


def kill_them(
    starts: dict[str, Callable[[], subprocess.Popen[str]]], kills: int, chance: random.Random
) -> dict[str, subprocess.Popen[str]]:
    """Start programs, then kill one or both at random times, this many times."""
    running = {name: start() for name, start in starts.items()}
    for _ in range(kills):
        time.sleep(chance.choice([0.02, 0.1, 0.4, 0.8]) * chance.random())
        for name in chance.choice([[*starts], *([name] for name in starts)]):
            running[name].kill()
            running[name].wait()
            running[name] = starts[name]()
    return running


def test_killed_forwarder_delivers_file_unchanged(built: Path, programs: Programs, tmp_path: Path) -> None:
    chance = random.Random(19)
    port, path, folder = free_port(), tmp_path / "day.smf", tmp_path / "in"
    path.touch()
    done = threading.Event()

    def write() -> None:
        with open(path, "ab", buffering=0) as file:
            while not done.wait(0.005):
                file.write(chance.randbytes(chance.choice([1, 100, 30_000])))

    quiet = {"stderr": subprocess.DEVNULL}
    command = (built / "zlens-forward", "--to", f"127.0.0.1:{port}", "--spool", tmp_path / "spool")
    starts = {
        "receiver": lambda: programs.start(
            sys.executable, HERE / "receiver_process.py", folder, port, **quiet
        ),
        "forwarder": lambda: programs.start(*command, "--spool-size", "1M", path, **quiet),
    }
    writer = threading.Thread(target=write)
    writer.start()
    try:
        kill_them(starts, iterations(100, 5), random.Random(20))
    finally:
        done.set()
        writer.join()
    sent = path.read_bytes()
    eventually(lambda: len(received(folder)) >= len(sent))
    time.sleep(0.3)
    assert received(folder) == sent
    [source] = [one for one in folder.iterdir() if one.is_dir()]
    assert [name.name.split("Z-")[1] for name in source.glob("0*")] == ["day.smf"]
    assert not (source / "gaps.jsonl").exists()


@pytest.mark.long
def test_killed_forwarder_delivers_sets_once_and_reports_gap(
    built: Path, programs: Programs, tmp_path: Path
) -> None:
    """A device does not wait: a set not yet on disk is lost, and the restart is a gap."""
    port, counter, folder = free_port(), tmp_path / "counter", tmp_path / "in"
    quiet = {"stderr": subprocess.DEVNULL}
    device = (
        built / "examples" / "device",
        counter,
        "--to",
        f"127.0.0.1:{port}",
        "--spool",
        tmp_path / "spool",
    )
    starts = {
        "receiver": lambda: programs.start(
            sys.executable, HERE / "receiver_process.py", folder, port, **quiet
        ),
        "forwarder": lambda: programs.start(*device, "/dev/made", **quiet),
    }
    running = kill_them(starts, iterations(100, 5), random.Random(21))
    last = int(counter.read_text())
    eventually(lambda: sets(received(folder), partial=True)[-1:] > [last])
    for name in ("forwarder", "receiver"):
        running[name].kill()
        running[name].wait()
        # The receiver has time to make the last data durable.
        time.sleep(0.5)
    with Receiver(folder, port=0) as receiver:
        [source] = receiver.sources()
        numbers = sets(received(folder))
        restarts = [gap for gap in source.gaps() if gap["reason"] == "restart"]
        assert len(restarts) == len([*source.gaps()])
    assert numbers == sorted(set(numbers))
    missing = set(range(1, numbers[-1] + 1)) - set(numbers)
    # Each kill of the forwarder loses at most the set being read.
    assert len(missing) <= len(restarts)
    assert numbers[-1] > last


@pytest.mark.long
def test_full_spool_drops_oldest_sets_and_counts_them(
    built: Path, programs: Programs, tmp_path: Path
) -> None:
    port, counter, folder = free_port(), tmp_path / "counter", tmp_path / "in"
    program = programs.start(
        *(built / "examples" / "device", counter, "--to", f"127.0.0.1:{port}", "--spool", tmp_path / "spool"),
        *("--spool-size", "1M", "/dev/made"),
        stderr=subprocess.DEVNULL,
    )
    # No receiver runs, and the device does not wait.
    eventually(lambda: counter.exists() and int(counter.read_text() or 0) > 900)
    assert sum(part.stat().st_size for part in (tmp_path / "spool").glob("*.seg")) <= 1 << 20
    with Receiver(folder, port=port) as receiver:
        last = int(counter.read_text())
        eventually(lambda: sets(received(folder), partial=True)[-1:] > [last])
        program.kill()
        program.wait()
    # All data that arrived is now durable.
    [source] = receiver.sources()
    gaps, numbers = [*source.gaps()], sets(received(folder))
    assert numbers == sorted(set(numbers))
    missing = set(range(1, numbers[-1] + 1)) - set(numbers)
    assert {gap["reason"] for gap in gaps} == {"spool_full"}
    assert sum(int(gap["sets"]) for gap in gaps) == len(missing) > 0


def sets(capture: bytes, *, partial: bool = False) -> list[int]:
    """Return the set numbers of a capture; check that each set is unchanged."""
    numbers, at = [], 0
    while at < len(capture):
        start, end = (int.from_bytes(capture[at + place : at + place + 4], "big") for place in (4, 8))
        data = capture[at + 12 : at + 12 + end - start + 1]
        if partial and len(data) <= end - start:
            break
        number = int.from_bytes(data[20:28], "big")
        assert capture[at] == 0xC5
        assert len(data) == 100 + number * 7919 % 3800
        assert set(data[28:]) == {number & 0xFF}
        numbers.append(number)
        at += 12 + len(data)
    return numbers


def test_standard_input_is_sent_completely(built: Path, programs: Programs, tmp_path: Path) -> None:
    with Receiver(tmp_path / "in", port=0) as receiver:
        port = receiver.address[1]
        program = programs.start(
            *(built / "zlens-forward", "--to", f"localhost:{port}", "--spool", tmp_path / "spool"),
            *("--name", "smf", "-"),
            stdin=subprocess.PIPE,
        )
        data = draws("a stream").randbytes(3_000_000).hex()
        _, log = program.communicate(data, timeout=30)
        assert program.returncode == 0, log
        assert received(tmp_path / "in") == data.encode()
        eventually(lambda: receiver.sources()[0].durable.ended)
        assert [line.split()[2] for line in log.splitlines()] == [
            "event=started",
            "event=connected",
            "event=ended",
        ]


def test_forwarder_keeps_data_after_signal(built: Path, programs: Programs, tmp_path: Path) -> None:
    path = tmp_path / "day.smf"
    path.write_bytes(b"a" * 2_000_000)
    spool = tmp_path / "spool"
    port = free_port()
    command = (built / "zlens-forward", "--to", f"127.0.0.1:{port}", "--spool", spool, path)
    # No receiver runs: the forwarder ends with its data in the spool.
    program = programs.start(*command)
    eventually(lambda: sum(part.stat().st_size for part in spool.glob("*.seg")) > 2_000_000)
    program.send_signal(signal.SIGTERM)
    _, log = program.communicate(timeout=30)
    assert (program.returncode, "complete=false" in log) == (0, True), log
    with Receiver(tmp_path / "in", port=port):
        program = programs.start(*command)
        eventually(lambda: len(received(tmp_path / "in")) == 2_000_000)
        program.send_signal(signal.SIGTERM)
        _, log = program.communicate(timeout=30)
        assert (program.returncode, "complete=true" in log) == (0, True), log


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates from the commands of docs/forward.md."""
    tools.require("openssl", present=shutil.which("openssl") is not None)
    folder = tmp_path_factory.mktemp("certificates")
    text = (ROOT / "docs" / "forward.md").read_text(encoding="utf-8")
    [commands] = [part for part in text.split("```") if part.startswith("sh\nopenssl")]
    script = commands.removeprefix("sh\n").replace("perf.example.com", "localhost")
    subprocess.run(["bash", "-ec", script], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("secret", ["token", "certificate"])
def test_certificates_and_tokens_are_checked(
    built: Path, programs: Programs, tmp_path: Path, certificates: Path, secret: str
) -> None:
    pem = {path.name: str(path) for path in certificates.iterdir()}
    (tmp_path / "token").write_text("a-secret\n")
    (tmp_path / "wrong").write_text("another\n")
    for name in ("token", "wrong"):
        (tmp_path / name).chmod(0o600)
    token = secret == "token"
    access = AccessPolicy(
        pem["receiver.pem"],
        pem["receiver.key"],
        client_ca=None if token else pem["ca.pem"],
        token="a-secret" if token else None,
    )
    with Receiver(tmp_path / "in", port=0, access=access) as receiver:
        command = [
            built / "zlens-forward",
            "--to",
            f"localhost:{receiver.address[1]}",
            "--spool",
            tmp_path / "s",
        ]
        right = ["--ca", pem["ca.pem"]]
        secrets = {
            "right": ["--token-file", tmp_path / "token"],
            "wrong": ["--token-file", tmp_path / "wrong"],
        }
        if not token:
            secrets["right"] = ["--cert", pem["lnx1.pem"], "--key", pem["lnx1.key"]]
        for trust, shown, status, said in (
            (right, secrets["right"], 0, "accepted"),
            (right, secrets["wrong"], 1, "token is not the receiver's" if token else "cannot be reached"),
            (right, [], 1, "cannot be reached"),
            (["--ca", pem["lnx1.pem"]], secrets["right"], 1, "cannot be reached"),
            ([*right, "--server-name", "other"], secrets["right"], 1, "not valid for name"),
            ([], secrets["right"], 1 if token else 2, "cannot be reached" if token else "--ca"),
        ):
            program = programs.start(*command, *trust, *shown, "--check", "-")
            _, log = program.communicate(timeout=30)
            assert (program.returncode, said in log) == (status, True), log
            assert "a-secret" not in log
        assert receiver.sources() == []
        program = programs.start(*command, *right, *secrets["right"], "-", stdin=subprocess.PIPE)
        program.communicate("x" * 1_000_000, timeout=30)
        assert (program.returncode, received(tmp_path / "in")) == (0, b"x" * 1_000_000)


@pytest.mark.long
def test_s390x_forwarder_sends_same_bytes(tmp_path: Path, certificates: Path) -> None:
    """Big-endian, with its own TLS, on an emulated machine; `make forward-s390x` builds it."""
    program = ROOT / "target/s390x/s390x-unknown-linux-gnu/forward/zlens-forward"
    present = program.exists() and shutil.which("qemu-s390x-static") is not None
    tools.require("emulated forwarder", present=present)
    pem = {path.name: str(path) for path in certificates.iterdir()}
    access = AccessPolicy(pem["receiver.pem"], pem["receiver.key"], client_ca=pem["ca.pem"])
    data = draws("Linux on Z").randbytes(2_000_000)
    with Receiver(tmp_path / "in", port=0, access=access) as receiver:
        port = receiver.address[1]
        command = ["qemu-s390x-static", program, "--to", f"localhost:{port}", "--spool", tmp_path / "s", "-"]
        shown = ["--ca", pem["ca.pem"], "--cert", pem["lnx1.pem"], "--key", pem["lnx1.key"]]
        done = subprocess.run([*command, *shown], input=data, capture_output=True, timeout=120)
        assert (done.returncode, received(tmp_path / "in") == data) == (0, True), done.stderr


def test_forwarder_rejects_invalid_arguments(built: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for arguments, status, said in (
        (["--help"], 0, ""),
        (["-"], 2, "--to says where the receiver is; see zlens-forward --help"),
        (["--to", "perf.example.com:1", "-"], 2, "specify --ca"),
        (
            ["--to", "localhost:1", "--ca", tmp_path / "file", "-"],
            2,
            "has no certificate; expected a PEM file",
        ),
        (["--to", "localhost:1", "--spool", tmp_path / "s", "/dev/no/monreader"], 1, "modprobe monreader"),
        (["--to", "localhost:1", "--spool", tmp_path / "s", tmp_path / "no"], 1, "name a file that exists"),
        (["--to", "localhost:1", "--spool", tmp_path / "file", "-"], 3, "the spool"),
    ):
        done = subprocess.run(
            [built / "zlens-forward", *map(str, arguments)], capture_output=True, text=True, timeout=30
        )
        assert (done.returncode, said in done.stderr) == (status, True), done.stderr
        assert done.stderr.count("\n") <= 1


def test_forward_document_has_help(built: Path) -> None:
    text = (ROOT / "docs" / "forward-reference.md").read_text(encoding="utf-8")
    done = subprocess.run([built / "zlens-forward", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout in text
