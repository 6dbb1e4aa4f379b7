"""Tests of data from forwarders, which is followed like a local growing file."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_forwarder import Peer
from replay import differences, split_points

import zlens
from zlens.cli import main
from zlens.live import protocol
from zlens.live.forwarder_feeds import ForwarderFeeds
from zlens.live.protocol import FrameKind
from zlens.live.received_files import RetentionPolicy
from zlens.live.receiver import Receiver
from zlens.live.watcher import Watcher

#: Bytes per record.
SIZE = 200_000


def deliver(receiver: Receiver, data: bytes, at: int, until: int) -> None:
    """Send a range of the records of a file over a separate connection."""
    peer = Peer(receiver)
    needed = peer.greet(kind="file").sequence
    assert needed == at
    for number in range(at, until):
        if number == 0:
            peer.send(FrameKind.BEGIN, 0, protocol.encode_fields({"file": "day.monwrite"}))
        else:
            peer.send(FrameKind.DATA, number, data[(number - 1) * SIZE : number * SIZE])
    peer.acknowledged(until)
    peer.close()


@pytest.mark.long
def test_measures_are_those_of_file(demo_folder: Path, tmp_path: Path) -> None:
    file = demo_folder / "zldemo.monwrite"
    data = file.read_bytes()
    records = 1 + -(-len(data) // SIZE)
    with Receiver(tmp_path / "received", port=0) as receiver:
        live = Watcher([ForwarderFeeds(receiver)], lake=None, findings=False)
        try:
            assert live.step() is None
            for at, until in ((0, 4), (4, records // 2), (records // 2, records)):
                deliver(receiver, data, at, until)
                while live.step() is not None:
                    pass
            live.finish()
            [stream] = live.streams
            assert stream.name == "forwarder lnx1"
            with zlens.open(file) as recorded, live.session() as session:
                assert differences(recorded._core, session) == []
        finally:
            live.close()


@pytest.mark.long
def test_received_files_are_removed_after_close(demo_folder: Path, tmp_path: Path) -> None:
    file = demo_folder / "zldemo.monwrite"
    cut = split_points(file, 1)[30]
    data = file.read_bytes()
    folder, into = tmp_path / "received", str(tmp_path / "lake")
    with Receiver(folder, port=0) as receiver:
        live = Watcher([ForwarderFeeds(receiver, RetentionPolicy(bytes=0))], lake=into, findings=False)
        peer = Peer(receiver)
        sequence = peer.greet(kind="file").sequence
        for part in (data[:cut], data[cut:]):
            peer.send(FrameKind.BEGIN, sequence, protocol.encode_fields({"file": "part.monwrite"}))
            for at in range(0, len(part), SIZE):
                sequence += 1
                peer.send(FrameKind.DATA, sequence, part[at : at + SIZE])
            sequence += 1
            peer.acknowledged(sequence)
            while live.step() is not None:
                pass
            # The file being read stays, and the previous one while its intervals are open.
            assert len(list(folder.glob("lnx1/*.monwrite"))) == 1
        peer.close()
        live.close()
    # After a restart, reading resumes without the first file.
    with Receiver(folder, port=0) as receiver:
        live = Watcher([ForwarderFeeds(receiver, RetentionPolicy(bytes=0))], lake=into, findings=False)
        while live.step() is not None:
            pass
        live.finish()
        with zlens.open(file) as recorded, live.session() as session:
            assert differences(recorded._core, session, ["load", "cpu"]) == []
        live.close()


def test_options_of_received_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, says in (
        (["x.data", "--received-keep", "1d"], "need a source forwarder://HOST:PORT"),
        (["forwarder://127.0.0.1:0", "--received-keep", "soon"], "'soon' is not a length of time"),
        (["forwarder://127.0.0.1:0", "--received-size", "-1"], "--received-size -1 is not a size"),
    ):
        assert main(["live", "--no-serve", *words]) == 2
        assert says in capsys.readouterr().err


def test_gap_is_problem(demo_folder: Path, tmp_path: Path) -> None:
    data = (demo_folder / "zldemo.monwrite").read_bytes()
    with Receiver(tmp_path / "received", port=0) as receiver:
        live = Watcher([ForwarderFeeds(receiver)], lake=None, findings=False)
        try:
            deliver(receiver, data, 0, 8)
            while live.step() is not None:
                pass
            peer = Peer(receiver)
            peer.greet(kind="file")
            peer.send(
                FrameKind.GAP, 8, protocol.encode_fields({"reason": "restart", "sets": "0", "bytes": "0"})
            )
            peer.acknowledged(9)
            peer.close()
            peer = Peer(receiver)
            assert peer.greet(kind="file").sequence == 9
            for number in range(9, 16):
                peer.send(FrameKind.DATA, number, data[(number - 2) * SIZE : (number - 1) * SIZE])
            peer.acknowledged(16)
            peer.close()
            problems = []
            while (step := live.step()) is not None:
                problems += step.problems
            assert any("the forwarder reports a gap: restart" in str(problem.detail) for problem in problems)
        finally:
            live.close()


def test_addresses_of_forwarders(tmp_path: Path, capsys) -> None:
    for words, message in (
        (["forwarder://127.0.0.1"], "is not an address"),
        (["forwarder://127.0.0.1:0", "forwarder://127.0.0.1:1"], "there is one address for forwarders"),
        (["forwarder://0.0.0.0:0"], "0.0.0.0 can be reached by others"),
    ):
        assert main(["live", *words, "--no-serve", "--received", str(tmp_path / "r")]) == 2
        assert message in capsys.readouterr().err
    assert main(["live", "forwarder://127.0.0.1:0", "--no-serve"]) == 2
    assert "name it with --received or --lake" in capsys.readouterr().err
