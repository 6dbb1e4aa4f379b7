"""Tests of the receiver: acknowledged data is durable; no peer makes it fail, grow or wait forever."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fake_forwarder import STREAM, Peer, eventually
from hypothesis import given, settings
from hypothesis import strategies as st

import tools
from iterations import iterations
from zlens.cli.live import _storage_reporter
from zlens.errors import ReceiverError
from zlens.live import protocol
from zlens.live.protocol import END_OF_SET, Frame, FrameKind
from zlens.live.received_files import GAPS, STATE, ReadPosition, ReceivedFiles, RetentionPolicy
from zlens.live.receiver import AccessPolicy, Receiver, ReceiverLimits


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    with Receiver(tmp_path / "in", port=0) as receiver:
        yield receiver


def contents(receiver: Receiver, name: str = "lnx1") -> list[bytes]:
    source = next((one for one in receiver.sources() if one.name == name), None)
    return [path.read_bytes() for path in source.files] if source else []


def test_received_records_are_stored_and_acknowledged(receiver: Receiver) -> None:
    peer = Peer(receiver)
    assert peer.greet() == Frame(FrameKind.WELCOME, 0)
    for number, data in enumerate([b"ab", b"c", b"def"]):
        peer.send(FrameKind.DATA, number, data, END_OF_SET)
    peer.acknowledged(3)
    assert contents(receiver) == [b"abcdef"]
    [source] = receiver.sources()
    assert source.durable.size == 6
    assert source.files[0].suffix == ".monreader"


def test_returning_forwarder_resumes(receiver: Receiver) -> None:
    first = Peer(receiver)
    first.greet()
    first.send(FrameKind.DATA, 0, b"ab")
    first.acknowledged(1)
    first.send(FrameKind.DATA, 1, b"half of a frame")
    first.socket.shutdown(socket.SHUT_WR)
    first.close()
    second = Peer(receiver)
    following = second.greet().sequence
    assert following == 2
    second.send(FrameKind.DATA, 2, b"!")
    second.acknowledged(3)
    assert contents(receiver) == [b"abhalf of a frame!"]


def test_new_connection_replaces_old_one(receiver: Receiver) -> None:
    old = Peer(receiver)
    old.greet()
    new = Peer(receiver)
    assert new.greet().kind is FrameKind.WELCOME
    new.send(FrameKind.DATA, 0, b"new")
    new.acknowledged(1)
    with pytest.raises((EOFError, ConnectionError)):
        old.read()


def test_restart_truncates_unacknowledged_data(tmp_path: Path) -> None:
    with Receiver(tmp_path, port=0) as receiver:
        peer = Peer(receiver)
        peer.greet()
        peer.deliver(0, b"durable")
        [path] = receiver.sources()[0].files
    # As after a crash before the state is written.
    path.write_bytes(b"durable and more")
    (path.parent / "00000002-20261125T021500Z.monreader").write_bytes(b"never listed")
    (path.parent / GAPS).write_text('{"half')
    with Receiver(tmp_path, port=0) as receiver:
        assert contents(receiver) == [b"durable"]
        assert [*receiver.sources()[0].gaps()] == []
        peer = Peer(receiver)
        assert peer.greet().sequence == 1
        peer.deliver(1, b"!")
        assert contents(receiver) == [b"durable!"]


def test_removed_file_is_not_continued(tmp_path: Path) -> None:
    with Receiver(tmp_path, port=0) as receiver:
        peer = Peer(receiver)
        peer.greet()
        peer.deliver(0, b"imported and removed")
        [path] = receiver.sources()[0].files
    path.unlink()
    with Receiver(tmp_path, port=0) as receiver:
        peer = Peer(receiver)
        assert peer.greet().sequence == 1
        peer.deliver(1, b"next")
        [new] = receiver.sources()[0].files
        assert (new.name > path.name, new.read_bytes()) == (True, b"next")


def test_gaps_are_listed_with_position(receiver: Receiver) -> None:
    peer = Peer(receiver)
    peer.greet()
    peer.send(FrameKind.DATA, 0, b"one", END_OF_SET)
    peer.send(FrameKind.GAP, 1, protocol.encode_fields({"reason": "overflow"}))
    peer.send(FrameKind.GAP, 2, protocol.encode_fields({"reason": "spool_full", "sets": 5, "next": 9}))
    peer.deliver(9, b"ten")
    [source] = receiver.sources()
    assert [(gap["reason"], gap["sequence"], gap["size"]) for gap in source.gaps()] == [
        ("overflow", 1, 3),
        ("spool_full", 2, 3),
    ]
    # Between sets, a capture continues after a gap.
    assert contents(receiver) == [b"oneten"]


@pytest.mark.parametrize(("kind", "flags"), [("monreader", 0), ("file", END_OF_SET)])
def test_gap_within_data_starts_new_file(receiver: Receiver, kind: str, flags: int) -> None:
    peer = Peer(receiver)
    peer.greet(kind=kind)
    peer.send(FrameKind.DATA, 0, b"cut", flags)
    peer.send(FrameKind.GAP, 1, protocol.encode_fields({"reason": "spool_full", "next": 5}))
    peer.deliver(5, b"whole")
    assert contents(receiver) == [b"cut", b"whole"]


def test_durable_data_is_read_once(tmp_path: Path) -> None:
    with Receiver(tmp_path, port=0, limits=ReceiverLimits(rotate_bytes=4)) as receiver:
        peer = Peer(receiver)
        peer.greet()
        [source] = receiver.sources()
        read, place = b"", ReadPosition()
        assert source.read(place, 10) == (b"", place)
        for number, data in enumerate([b"abcdef", b"gh", b"ij", b"k"]):
            peer.deliver(number, data)
            while (part := source.read(place, 4))[0]:
                assert len(part[0]) <= 4
                read, place = read + part[0], part[1]
        assert read == b"abcdefghijk"
        # Data in the file that is not in the state may be truncated.
        with open(source.files[-1], "ab") as file:
            file.write(b"later")
        assert source.read(place, 10)[0] == b""
        # Files that are no longer needed can be removed.
        source.files[0].unlink()
        assert source.read(ReadPosition(), 10)[0] == b"ghij"


def test_capture_files_end_after_set(tmp_path: Path) -> None:
    with Receiver(tmp_path, port=0, limits=ReceiverLimits(rotate_bytes=4)) as receiver:
        peer = Peer(receiver)
        peer.greet()
        for number, (data, flags) in enumerate(
            [(b"abcd", 0), (b"ef", END_OF_SET), (b"g", END_OF_SET), (b"hij", 0)]
        ):
            peer.send(FrameKind.DATA, number, data, flags)
        peer.acknowledged(4)
        assert contents(receiver) == [b"abcdef", b"ghij"]


def test_received_files_equal_forwarded_files(receiver: Receiver) -> None:
    peer = Peer(receiver)
    peer.greet(kind="file")
    peer.send(FrameKind.BEGIN, 0, protocol.encode_fields({"file": "../../day one.smf"}))
    peer.send(FrameKind.DATA, 1, b"1" * 500_000, END_OF_SET)
    peer.send(FrameKind.BEGIN, 2, protocol.encode_fields({"file": "day2.smf"}))
    peer.send(FrameKind.DATA, 3, b"2", END_OF_SET)
    peer.send(FrameKind.END, 4)
    peer.acknowledged(4)
    assert contents(receiver) == [b"1" * 500_000, b"2"]
    [source] = receiver.sources()
    assert [path.name.split("Z-")[1] for path in source.files] == [".._.._day_one.smf", "day2.smf"]
    assert source.durable.ended


def test_spools_have_separate_sequence_numbers(receiver: Receiver) -> None:
    other = STREAM[::-1]
    for stream, following, data in ((STREAM, 0, b"a"), (other, 0, b"b"), (STREAM, 1, b"c")):
        peer = Peer(receiver)
        assert peer.greet(stream=stream).sequence == following
        peer.deliver(following, data)
        peer.close()
    assert contents(receiver) == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": "9"}, "version"),
        ({"name": "../etc"}, "name"),
        ({"name": ".lock"}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"kind": "disk"}, "kind"),
        ({"stream": "short"}, "stream"),
    ],
)
def test_invalid_hello_is_refused(receiver: Receiver, fields: dict[str, str], reason: str) -> None:
    answer = Peer(receiver).greet(**fields)
    assert answer.kind is FrameKind.REFUSED
    assert reason in answer.fields["reason"]
    assert not any((receiver.folder / "lnx1").glob("0*"))


def test_receiver_requires_token(tmp_path: Path) -> None:
    with Receiver(tmp_path, port=0, access=AccessPolicy(token="secret")) as receiver:
        assert Peer(receiver).greet().kind is FrameKind.REFUSED
        assert Peer(receiver).greet(token="secret2").kind is FrameKind.REFUSED
        assert Peer(receiver).greet(token="secret").kind is FrameKind.WELCOME


def test_receiver_check_leaves_no_file(receiver: Receiver) -> None:
    assert Peer(receiver).greet(check="yes").kind is FrameKind.WELCOME
    assert receiver.sources() == []


@pytest.mark.parametrize(
    "frames",
    [
        [Frame(FrameKind.DATA, 7, b"x")],
        [Frame(FrameKind.HELLO)],
        [Frame(FrameKind.WELCOME)],
        [Frame(FrameKind.GAP, 0, protocol.encode_fields({"next": 0}))],
        [Frame(FrameKind.GAP, 0, protocol.encode_fields({"next": "many"}))],
        # Made durable, these would refuse all further records of the stream.
        [Frame(FrameKind.GAP, 0, protocol.encode_fields({"next": 2**64 - 1}))],
        [Frame(FrameKind.GAP, 0, protocol.encode_fields({"next": 2**63}))],
        [Frame(FrameKind.GAP, 0, protocol.encode_fields({"next": "9" * 4000}))],
        [Frame(FrameKind.GAP, 0, protocol.encode_fields({"next": "\u0669"}))],
        [Frame(FrameKind.GAP, 2**64 - 1, protocol.encode_fields({"reason": "overflow"}))],
        [Frame(FrameKind.GAP, 0, b"\xff\xfe")],
        [Frame(FrameKind.GAP, 0, b"a\n" * 100)],
    ],
)
def test_out_of_sequence_frame_ends_connection(receiver: Receiver, frames: list[Frame]) -> None:
    peer = Peer(receiver)
    peer.greet()
    for frame in frames:
        peer.socket.sendall(frame.encode())
    assert peer.read().kind is FrameKind.REFUSED
    assert peer.socket.recv(1) == b""
    peer = Peer(receiver)
    assert peer.greet() == Frame(FrameKind.WELCOME, 0)
    peer.deliver(0, b"data")


def test_oversized_frames_are_rejected(receiver: Receiver) -> None:
    peer = Peer(receiver)
    # Before the peer is known, only the length of a hello is accepted.
    peer.socket.sendall(Frame(FrameKind.HELLO, 0, b"a" * (protocol.MOST_TEXT + 1)).encode())
    assert peer.read().kind is FrameKind.REFUSED
    peer = Peer(receiver)
    peer.greet()
    head = bytearray(Frame(FrameKind.DATA).encode())
    head[4:8] = (protocol.MAX_PAYLOAD + 1).to_bytes(4, "big")
    peer.socket.sendall(head)
    assert peer.read().kind is FrameKind.REFUSED


@settings(max_examples=iterations(200, 10), deadline=None)
@given(noise=st.binary(max_size=300), greeted=st.booleans())
def test_receiver_survives_any_bytes(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, greeted: bool
) -> None:
    with Receiver(tmp_path_factory.mktemp("in"), port=0) as receiver:
        peer = Peer(receiver)
        if greeted:
            peer.greet()
        peer.socket.sendall(noise)
        peer.socket.shutdown(socket.SHUT_WR)
        peer.close()
        assert Peer(receiver).greet() == Frame(FrameKind.WELCOME, 0)


def test_silent_peer_is_disconnected(tmp_path: Path) -> None:
    events: list[str] = []
    limits = ReceiverLimits(handshake_s=0.1, idle_s=0.1)
    with Receiver(
        tmp_path, port=0, limits=limits, report=lambda event, facts: events.append(event)
    ) as receiver:
        silent = Peer(receiver)
        greeted = Peer(receiver)
        greeted.greet()
        # An incomplete frame, then nothing.
        greeted.socket.sendall(Frame(FrameKind.DATA, 0, b"abc").encode()[:-1])
        for peer in (silent, greeted):
            with pytest.raises((EOFError, ConnectionError)):
                peer.read()
        eventually(lambda: events.count("silent") == 2)
        assert contents(receiver) == []


def test_connections_are_limited(tmp_path: Path) -> None:
    with Receiver(tmp_path, port=0, limits=ReceiverLimits(connections=2, sources=2)) as receiver:
        peers = [Peer(receiver) for _ in range(4)]
        for name, peer in zip(("lnx1", "lnx2"), peers, strict=False):
            assert peer.greet(name=name).kind is FrameKind.WELCOME
        assert "2 connections" in peers[2].greet(name="lnx3").fields["reason"]
        # A returning forwarder replaces its old connection, and a check needs none.
        assert peers[3].greet(name="lnx1").kind is FrameKind.WELCOME
        assert Peer(receiver).greet(name="lnx3", check="yes").kind is FrameKind.WELCOME
        peers[1].send(FrameKind.END)
        peers[1].acknowledged(0)
        eventually(lambda: "2 sources" in Peer(receiver).greet(name="lnx3").fields.get("reason", ""))


@pytest.mark.parametrize("is_secure", [False, True])
def test_silent_connections_do_not_block_forwarders(tmp_path: Path, is_secure: bool) -> None:
    # 32 of them took all places until their timeout.
    access = AccessPolicy()
    wrap = None
    if is_secure:
        if shutil.which("openssl") is None:
            pytest.skip(tools.reason("openssl"))
        _certificate(tmp_path, "ca")
        access = AccessPolicy(str(tmp_path / "ca.pem"), str(tmp_path / "ca.key"))
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        context.check_hostname = False
        wrap = context.wrap_socket
    events: list[str] = []
    limits = ReceiverLimits(handshake_s=60)
    with Receiver(
        tmp_path / "in",
        port=0,
        access=access,
        limits=limits,
        report=lambda event, facts: events.append(event),
    ) as receiver:
        known = Peer(receiver, wrap)
        assert known.greet().kind is FrameKind.WELCOME
        silent = [Peer(receiver) for _ in range(40)]
        eventually(lambda: events.count("turned_away") == 32)
        for peer in silent[:32]:
            with pytest.raises((EOFError, ConnectionError)):
                peer.read()
        eventually(lambda: sum(thread.name == "connection" for thread in threading.enumerate()) == 9)
        known.deliver(0, b"data")
        assert Peer(receiver, wrap).greet(name="lnx2").kind is FrameKind.WELCOME


def test_write_error_keeps_durable_data(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Peer(receiver)
    peer.greet()
    peer.deliver(0, b"durable")
    with monkeypatch.context() as patch:

        def full(handle: int) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr("zlens.live.received_files.os.fsync", full)
        peer.send(FrameKind.DATA, 1, b"lost", END_OF_SET)
        assert "No space left" in peer.read().fields["reason"]
    assert contents(receiver) == [b"durable"]
    peer = Peer(receiver)
    assert peer.greet().sequence == 1
    peer.deliver(1, b"!")
    assert contents(receiver) == [b"durable!"]


def test_write_error_names_file_and_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts: list[dict[str, object]] = []

    def report(event: str, values: Mapping[str, object]) -> None:
        if event == "refused":
            facts.append(dict(values))

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with Receiver(tmp_path / "in", port=0, report=report) as receiver:
        peer = Peer(receiver)
        peer.greet()
        peer.deliver(0, b"durable")
        with monkeypatch.context() as patch:
            patch.setattr("zlens.live.received_files.os.fsync", full)
            peer.send(FrameKind.DATA, 1, b"lost", END_OF_SET)
            reason = peer.read().fields["reason"]
        [path] = receiver.sources()[0].files
        # The forwarder is on another machine, which the path does not concern.
        assert reason == "the receiver cannot write: no space left (No space left on device)"
        eventually(lambda: facts)
        assert facts == [{"peer": "127.0.0.1", "reason": reason, "file": str(path)}]


@pytest.mark.parametrize("name", [GAPS, STATE])
def test_error_of_small_file_names_it(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ReceivedFiles(tmp_path / "in", rotate_bytes=1 << 20, rotate_s=3600)
    files.begin_stream("monreader", STREAM)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("zlens.live.received_files.os.fsync", full)
    gap = Frame(FrameKind.GAP, 0, payload=protocol.encode_fields({"reason": "lost"}))
    with pytest.raises(OSError, match="No space") as error:
        files.apply_record(gap) if name == GAPS else files.commit()
    assert error.value.filename == str(files.folder / name)


def test_live_prints_write_error_of_receiver_once(capsys: pytest.CaptureFixture[str]) -> None:
    report = _storage_reporter()
    refused = {"peer": "127.0.0.1", "reason": "the receiver cannot write: no space left", "file": "/in/1.mon"}
    for event, facts in [
        *[("refused", refused)] * 3,
        ("refused", {"peer": "127.0.0.1", "reason": "the token is not the receiver's"}),
        ("refused", refused),
        ("connected", {"peer": "127.0.0.1"}),
        ("refused", refused),
    ]:
        report(event, facts)
    line = "zlens: /in/1.mon: the receiver cannot write: no space left\n"
    assert capsys.readouterr().err == line * 2


def test_removed_folder_is_created_again(receiver: Receiver) -> None:
    peer = Peer(receiver)
    peer.greet()
    peer.deliver(0, b"removed")
    shutil.rmtree(receiver.folder / "lnx1")
    peer.send(FrameKind.DATA, 1, b"more", END_OF_SET)
    assert "cannot write" in peer.read().fields["reason"]
    peer = Peer(receiver)
    assert peer.greet().sequence == 1
    peer.deliver(1, b"more")
    assert contents(receiver) == [b"more"]


def test_remote_peers_need_tls_and_secret(tmp_path: Path) -> None:
    for access in (
        AccessPolicy(),
        AccessPolicy(token="secret"),
        AccessPolicy(certificate="c", key="k"),
        AccessPolicy(certificate="c"),
        AccessPolicy(client_ca="c", token="secret"),
    ):
        with pytest.raises(ReceiverError) as error:
            Receiver(tmp_path, "0.0.0.0", 0, access=access).start()
        assert error.value.file is None


@pytest.mark.parametrize(
    "state",
    ["", "{", "[]", '{"streams": {"a": "b"}}', '{"streams": {"a": 18446744073709551616}}', '{"color": 1}'],
)
def test_invalid_receiver_state_is_rejected(tmp_path: Path, state: str) -> None:
    (tmp_path / "lnx1").mkdir()
    (tmp_path / "lnx1" / STATE).write_text(state)
    with pytest.raises(ReceiverError, match="state of a received source") as error:
        Receiver(tmp_path, port=0).start()
    assert error.value.file == str(tmp_path / "lnx1" / STATE)


def test_lost_receiver_state_overwrites_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "lnx1"
    folder.mkdir()
    (folder / "00000007-20261125T021500Z.monreader").write_bytes(b"old")
    with Receiver(tmp_path, port=0) as receiver:
        peer = Peer(receiver)
        peer.greet()
        peer.deliver(0, b"new")
        assert contents(receiver) == [b"old", b"new"]


def test_one_receiver_writes_to_folder(receiver: Receiver) -> None:
    with pytest.raises(ReceiverError, match="another receiver"):
        Receiver(receiver.folder, port=0).start()
    with pytest.raises(ReceiverError, match="cannot listen"):
        Receiver(receiver.folder.parent / "other", port=receiver.address[1]).start()


@pytest.mark.skipif(shutil.which("openssl") is None, reason=tools.reason("openssl"))
def test_forwarder_certificates_are_required(tmp_path: Path) -> None:
    for name in ("ca", "other"):
        _certificate(tmp_path, name)
    access = AccessPolicy(*(str(tmp_path / name) for name in ("ca.pem", "ca.key", "ca.pem")))

    def wrapped(name: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        context.check_hostname = False
        context.load_cert_chain(tmp_path / f"{name}.pem", tmp_path / f"{name}.key")
        return context

    with Receiver(tmp_path / "in", "0.0.0.0", 0, access=access) as receiver:
        peer = Peer(receiver, lambda plain: wrapped("ca").wrap_socket(plain))
        assert peer.greet() == Frame(FrameKind.WELCOME, 0)
        peer.send(FrameKind.DATA, 0, b"x" * 200_000, END_OF_SET)
        peer.deliver(1, b"y" * 200_000)
        with pytest.raises((ssl.SSLError, EOFError, ConnectionError)):
            Peer(receiver, lambda plain: wrapped("other").wrap_socket(plain)).greet()
        with pytest.raises((EOFError, ConnectionError)):
            Peer(receiver).greet()
        assert contents(receiver) == [b"x" * 200_000 + b"y" * 200_000]


@pytest.mark.parametrize(
    ("first", "last", "reason"),
    # A clock that is a day slow shows a new certificate as not valid yet.
    [(-9, -1, "CERTIFICATE_VERIFY_FAILED"), (1, 9, "CERTIFICATE_VERIFY_FAILED"), (-9, 9, None)],
)
def test_certificates_are_valid_for_their_time(
    tmp_path: Path, first: int, last: int, reason: str | None
) -> None:
    tools.require("openssl", present=shutil.which("openssl") is not None)
    _certificate(tmp_path, "ca")
    _dated_certificate(tmp_path, "lnx1", first, last)
    access = AccessPolicy(*(str(tmp_path / name) for name in ("ca.pem", "ca.key", "ca.pem")))
    reasons: list[object] = []
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    context.check_hostname = False
    context.load_cert_chain(tmp_path / "lnx1.pem", tmp_path / "lnx1.key")
    with Receiver(
        tmp_path / "in", port=0, access=access, report=lambda _, facts: reasons.append(facts.get("reason"))
    ) as receiver:
        if reason is None:
            assert Peer(receiver, context.wrap_socket).greet().kind is FrameKind.WELCOME
            return
        with pytest.raises((ssl.SSLError, EOFError, ConnectionError)):
            Peer(receiver, context.wrap_socket).greet()
        eventually(lambda: reason in reasons)
        assert receiver.sources() == []


@pytest.mark.skipif(shutil.which("openssl") is None, reason=tools.reason("openssl"))
def test_old_tls_is_refused(tmp_path: Path) -> None:
    _certificate(tmp_path, "ca")
    access = AccessPolicy(str(tmp_path / "ca.pem"), str(tmp_path / "ca.key"))
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    context.check_hostname = False
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with Receiver(tmp_path / "in", port=0, access=access) as receiver:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            Peer(receiver, context.wrap_socket)
        context.maximum_version = ssl.TLSVersion.TLSv1_3
        assert Peer(receiver, context.wrap_socket).greet().kind is FrameKind.WELCOME


def test_receiver_clock_does_not_change_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver(tmp_path, port=0, limits=ReceiverLimits(rotate_bytes=1)) as receiver:
        peer = Peer(receiver)
        peer.greet()
        # 2026, 1970, 2036: the time is part of each name, after its number.
        for number, now in enumerate([1_795_000_000.0, 0.0, 2_080_000_000.0]):
            monkeypatch.setattr("zlens.live.received_files.time.time", lambda now=now: now)
            peer.deliver(number, b"abc"[number : number + 1])
        [source] = receiver.sources()
        position, data = ReadPosition(), b""
        while True:
            more, position = source.read(position, 100)
            if not more:
                break
            data += more
        assert data == b"abc"
        assert [path.name[9:13] for path in source.files] == ["2026", "1970", "2035"]


def _dated_certificate(folder: Path, name: str, first: int, last: int) -> None:
    """Make a certificate of the authority `ca`, valid between two days from now."""
    now = datetime.now(UTC)
    dates = [f"{now + timedelta(days=day):%Y%m%d%H%M%SZ}" for day in (first, last)]
    _openssl(
        folder,
        *f"req -new -newkey rsa:2048 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr".split(),
    )
    (folder / "index.txt").touch()
    (folder / "ca.cnf").write_text(
        "[ca]\ndefault_ca=own\n[own]\ndatabase=index.txt\nnew_certs_dir=.\ndefault_md=sha256\npolicy=any\n"
        "rand_serial=yes\n[any]\ncommonName=supplied\n"
    )
    sign = f"ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -in {name}.csr -out {name}.pem -notext"
    _openssl(folder, *sign.split(), "-startdate", dates[0], "-enddate", dates[1])


def _certificate(folder: Path, name: str) -> None:
    request = f"-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -keyout {name}.key -out {name}.pem"
    _openssl(folder, "req", *request.split())


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def test_receiver_state_is_readable(receiver: Receiver) -> None:
    peer = Peer(receiver)
    peer.greet()
    peer.deliver(0, b"abc")
    state = json.loads((receiver.folder / "lnx1" / STATE).read_text())
    assert (state["kind"], state["streams"], state["size"]) == ("monreader", {STREAM: 1}, 3)


# Removal ------------------------------------------------------------------------------------------


@pytest.fixture
def several(receiver: Receiver) -> ReceivedFiles:
    """Five files of 100 bytes of one source; the last one grows."""
    peer = Peer(receiver)
    peer.greet(kind="file")
    for number in range(5):
        peer.send(FrameKind.BEGIN, 2 * number, protocol.encode_fields({"file": f"{number}.data"}))
        peer.send(FrameKind.DATA, 2 * number + 1, b"." * 100)
    peer.acknowledged(10)
    peer.close()
    [source] = receiver.sources()
    assert len(source.files) == 5
    return source


def test_files_are_retained_without_policy(several: ReceivedFiles) -> None:
    assert several.forget(ReadPosition(several.files[-1].name, 100), RetentionPolicy()) == []
    assert len(several.files) == 5


def test_old_files_are_removed_up_to_read_position(several: ReceivedFiles) -> None:
    files = several.files
    for path in files[:3]:
        os.utime(path, (0, 0))
    # The file at the read position stays, whatever its age.
    assert several.forget(ReadPosition(files[2].name, 100), RetentionPolicy(age_s=3600)) == files[:2]
    assert several.files == files[2:]
    assert several.forget(ReadPosition(files[4].name, 0), RetentionPolicy(age_s=3600)) == files[2:3]
    assert several.forget(ReadPosition(files[4].name, 0), RetentionPolicy(age_s=3600)) == []
    # Reading continues after a position in a removed file.
    assert several.read(ReadPosition(files[1].name, 50), 1000) == (
        b"." * 100,
        ReadPosition(files[3].name, 100),
    )


def test_oldest_files_beyond_size_are_removed(several: ReceivedFiles) -> None:
    files = several.files
    end = ReadPosition(files[-1].name, 100)
    assert several.forget(end, RetentionPolicy(bytes=500)) == []
    assert several.forget(end, RetentionPolicy(bytes=499)) == files[:1]
    assert several.forget(end, RetentionPolicy(bytes=150)) == files[1:4]
    # The growing file is never removed.
    assert several.forget(end, RetentionPolicy(bytes=0)) == []
    assert several.files == files[-1:]


def test_receiver_continues_after_removal(receiver: Receiver, several: ReceivedFiles) -> None:
    several.forget(ReadPosition(several.files[-1].name, 100), RetentionPolicy(bytes=0))
    peer = Peer(receiver)
    assert peer.greet(kind="file").sequence == 10
    peer.send(FrameKind.DATA, 10, b"more")
    peer.acknowledged(11)
    assert contents(receiver) == [b"." * 100 + b"more"]
