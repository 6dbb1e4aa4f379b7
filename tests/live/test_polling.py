"""Tests of polling an HMC exporter: HTTP, TLS and files; failed polls; secrets."""

from __future__ import annotations

import http.server
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from replay import PATIENCE_S, arrivals, differences, play

from iterations import quick_subset
from zlens import lake
from zlens.cli import main
from zlens.errors import InputError, QueryError
from zlens.live import polling
from zlens.live.feeds import FeedChunk
from zlens.live.polling import Login, PolledAddress, PolledFile, PollError, PollingFeed
from zlens.live.watcher import RetentionLimits, Watcher
from zlens.readers.openmetrics.streaming import add_timestamps, interval_s
from zlens.session.session import CoreSession

TEXT = b"""# HELP zhmc_partition_ifl_processor_count Number of IFLs
# TYPE zhmc_partition_ifl_processor_count gauge
zhmc_partition_ifl_processor_count{cpc="BOX",partition="ONE"} 4.0
zhmc_partition_processor_usage_ratio{cpc="BOX",partition="ONE"} %s
python_info{version="3.12"} 1.0
"""


def scrape(ratio: str) -> bytes:
    return TEXT % ratio.encode()


def monitor3(ratio: str) -> bytes:
    """Return RMF metrics of a machine, a system and a sysplex."""
    return (
        b'mvs_rmf_m3_mintime{sysplex="A"} 100\n'
        b'mvs_lpar_actual_msu_h{sysplex="A",cpc_id="CPC1",lpar_name="P1",line_type="CP"} %s\n'
        b'mvs_job_cp_eappl_percent{sysplex="A",sysname="S1",job_name="J",asid_dec="20"} 1.5\n# EOF\n'
    ) % ratio.encode()


class Handler(http.server.BaseHTTPRequestHandler):
    answer: Callable[[http.server.BaseHTTPRequestHandler], None]

    def do_GET(self) -> None:
        type(self).answer(self)

    def log_message(self, *_: object) -> None:
        return None


@contextmanager
def serving(
    answer: Callable[[http.server.BaseHTTPRequestHandler], None], context: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Run a server that responds with `answer`; return its address."""
    handler = type("Answering", (Handler,), {"answer": staticmethod(answer)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http{'' if context is None else 's'}://localhost:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def text(data: bytes, status: int = 200) -> Callable[[http.server.BaseHTTPRequestHandler], None]:
    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("content-length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    return answer


def missed(place: PolledAddress | PolledFile) -> PollError:
    with pytest.raises(PollError) as raised:
        place.fetch()
    return raised.value


def wait_for(feed: PollingFeed, count: int) -> list[FeedChunk]:
    return arrivals(feed, lambda arrived: len(arrived) >= count)


class Given:
    """A polled source with a list of results."""

    name = "given"

    def __init__(self, *polls: tuple[bytes, int] | PollError | None) -> None:
        self.polls = [*polls]

    def fetch(self) -> tuple[bytes, int] | None:
        poll = self.polls.pop(0) if self.polls else None
        if isinstance(poll, PollError):
            raise poll
        return poll


def test_timestamps_are_added_to_samples_without_one() -> None:
    stamped = add_timestamps(b'# HELP zhmc_a A\r\nzhmc_a{cpc="B"} 1\n\nzhmc_a{cpc="C"} 2 77\nother 1', 5000)
    assert stamped == b'# HELP zhmc_a A\nzhmc_a{cpc="B"} 1 5000\nzhmc_a{cpc="C"} 2 77\nother 1\n'


def test_length_of_intervals_of_text() -> None:
    length = b'mvs_rmf_m3_mintime{sysplex="A"} %s\n'
    assert interval_s(b"# TYPE mvs_rmf_m3_mintime gauge\n" + length % b"100") == 100
    assert interval_s(length % b"100" + length % b"60") is None, "they differ"
    for bad in (b"0", b"-1", b"NaN", b"+Inf", b"x"):
        assert interval_s(length % bad) is None
    assert interval_s(scrape("0.5")) is None


@pytest.mark.parametrize(
    ("requested_s", "text", "every_s"),
    [
        (None, b'mvs_rmf_m3_mintime{sysplex="A"} 0.02\n', 0.02),
        (0.01, b'mvs_rmf_m3_mintime{sysplex="A"} 7\n', 0.01),
    ],
)
def test_rmf_poll_period_equals_interval(requested_s: float | None, text: bytes, every_s: float) -> None:
    """Unless set by the user: a longer period misses intervals, a shorter one counts them twice."""
    feed = PollingFeed(Given((text, 1), (text, 2), (text, 3)), requested_s)
    try:
        assert len(wait_for(feed, 3)) == 3
        assert feed._every_s == every_s
    finally:
        feed.close()


def test_polled_rmf_is_stored_with_timestamps() -> None:
    """The end mark of an OpenMetrics text would end the stream, and its timestamps are in seconds."""
    text = b'mvs_cf_request_rate{sysplex="A"} 1\nmvs_cf_request_rate{sysplex="B"} 2 1700000000.5\n# EOF\n'
    stamped = add_timestamps(text, 5000)
    assert stamped.splitlines() == [
        b'mvs_cf_request_rate{sysplex="A"} 1 5000',
        b'mvs_cf_request_rate{sysplex="B"} 2 1700000000.5',
    ]


@pytest.mark.parametrize(
    ("program", "system", "text", "every_s", "samples"),
    quick_subset(1, [("hmc", "BOX", scrape, 60, 12), ("dds", "CPC1", monitor3, 100, 18)], several=True),
)
def test_measures_are_those_of_saved_scrapes(
    tmp_path: Path, program: str, system: str, text: Callable[[str], bytes], every_s: int, samples: int
) -> None:
    """The same in the lake, part by part, and after a restart."""
    moments = [1_700_000_000_000 + 1000 * every_s * number for number in range(6)]
    scrapes = [(text(f"0.{number}"), ms) for number, ms in enumerate(moments)]
    saved = tmp_path / "saved.prom"
    saved.write_bytes(b"".join(add_timestamps(*each) for each in scrapes))
    into = str(tmp_path / "lake")
    for given in (scrapes[:4], scrapes[3:]):
        feed = PollingFeed(Given(*given), 0.01)
        live = Watcher([feed], lake=into, limits=RetentionLimits(part=120.0, grace=0.01), findings=False)
        end = time.monotonic() + PATIENCE_S
        problems = []
        while time.monotonic() < end and live._newest.get((system, program)) != given[-1][1] * 1000:
            step = live.step()
            problems += step.problems if step is not None else []
        with CoreSession([str(saved)]) as recorded, live.session() as shown:
            if given[-1] == scrapes[-1]:
                assert differences(recorded, shown) == []
                # The fourth scrape arrived again after the restart.
                assert [problem.kind for problem in problems] == ["duplicate"]
        live.finish()
        live.close()
    with CoreSession([str(saved)]) as recorded, CoreSession([into]) as stored:
        assert differences(recorded, stored) == []
        ((rows,),) = stored.sql(f"SELECT count(*) FROM {program}_metric").rows
        assert rows == samples
    assert lake.check(into).faults == []


def test_recorded_scrapes_can_be_replayed(tmp_path: Path) -> None:
    from zlens.live.feeds import ReplayClock, open_recording

    saved = tmp_path / "saved.prom"
    saved.write_bytes(
        b"".join(add_timestamps(scrape("0.5"), 1_700_000_000_000 + 60_000 * n) for n in range(200))
    )
    live = Watcher(
        [open_recording(str(saved), ReplayClock(0))], limits=RetentionLimits(raw=86_400), findings=False
    )
    play(live)
    with CoreSession([str(saved)]) as recorded, live.session() as shown:
        assert differences(recorded, shown) == []
    live.close()


def test_polled_address_returns_current_text(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(text(scrape("0.5"))) as url:
        place = PolledAddress.parse(url)
        monkeypatch.setattr(polling.time, "time", lambda: 12.5)
        assert place.fetch() == (scrape("0.5"), 12_500)


def test_polled_response_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "MOST", 1000)
    with serving(text(b"x" * 1001)) as url:
        found = missed(PolledAddress.parse(url))
    assert "longer than 1,000 bytes" in found.why
    assert not found.again


def test_slow_poll_response_times_out() -> None:
    """Each read of the socket is in time; the complete response is not."""
    done = threading.Event()

    def slowly(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        while not done.wait(0.05):
            try:
                request.wfile.write(b"z")
            except OSError:
                return

    with serving(slowly) as url:
        place = PolledAddress.parse(url)
        place.timeout_s = 0.5
        found = missed(place)
        done.set()
    assert "no complete response" in found.why
    assert found.again


def test_temporary_poll_errors_are_retried() -> None:
    statuses = [503, 503, 200]

    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        text(scrape("0.5"), statuses.pop(0))(request)

    with serving(answer) as url:
        feed = PollingFeed(PolledAddress.parse(url), 3600, pause_s=0.01)
        (arrived,) = wait_for(feed, 1)
        feed.close()
    assert arrived.notes == ()
    assert statuses == []


def test_consecutive_failed_polls_are_one_gap() -> None:
    gone = PollError("it is gone")
    feed = PollingFeed(Given((scrape("1"), 1000), gone, gone, gone, None, (scrape("1"), 9000)), 0.01)
    found = wait_for(feed, 3)
    feed.close()
    assert [each.notes for each in found] == [
        (),
        ("a poll failed: it is gone",),
        ("3 polls before this one returned no data",),
    ]


def test_stale_polled_file_is_gap() -> None:
    same = [None] * 4
    # The file changes with every fifth poll, then not for many.
    texts = [(scrape("1"), 1000), *same, (scrape("1"), 2000), *[None] * 30, (scrape("1"), 3000)]
    feed = PollingFeed(Given(*texts), 0.001)
    found = wait_for(feed, 4)
    feed.close()
    assert [each.notes for each in found] == [
        (),
        (),
        ("20 polls found the same text; its program may have stopped",),
        ("30 polls found the same text before this one",),
    ]


def test_foreign_poll_text_is_gap() -> None:
    feed = PollingFeed(Given((b"# HELP zhmc_a A\npython_info 1\n", 1000)), 3600)
    (found,) = wait_for(feed, 1)
    feed.close()
    assert found.data == b""
    assert found.notes == ("a poll failed: it returned no sample of an HMC exporter or of RMF",)


def test_unread_polls_are_dropped() -> None:
    feed = PollingFeed(Given(*((scrape("1"), 1000 * number) for number in range(1, 60))), 0.001)
    end = time.monotonic() + PATIENCE_S
    while feed._place.polls and time.monotonic() < end:  # type: ignore[attr-defined]
        time.sleep(0.01)
    assert len(feed._handover) == polling._WAITING
    wait_for(feed, polling._WAITING)
    feed._handover.send_or_drop(b"", "the next")
    (found,) = wait_for(feed, 1)
    feed.close()
    assert found.notes[0].endswith("polls were left out: the program fell behind; the next")


def test_poll_does_not_follow_redirects_with_login() -> None:
    logins: list[str | None] = []

    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        logins.append(request.headers["authorization"])
        request.send_response(302)
        request.send_header("location", "http://localhost:1/")
        request.end_headers()

    with serving(answer) as url:
        place = PolledAddress.parse(f"{url}?token=topsecret", Login("me", "pass:word"))
        found = missed(place)
    assert logins == ["Basic bWU6cGFzczp3b3Jk"]
    assert found.why == "it answered 302"
    for said in (place.name, repr(place.login), found.why):
        assert not {"topsecret", "pass:word", "me:pass"} & {*said.replace("=", " ").split()}
        assert "word" not in said


def test_login_requires_tls() -> None:
    with pytest.raises(QueryError, match="unencrypted"):
        PolledAddress.parse("http://exporter.example.com/metrics", Login("me", "word"))
    with pytest.raises(QueryError) as raised:
        PolledAddress.parse("https://me:word@exporter.example.com/")
    assert "word@" not in str(raised.value)


def test_certificates_are_checked(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    extension = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*words.split(), *extension], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(text(scrape("0.5")), context) as url:
        fetched = PolledAddress.parse(url, Login("me", "word"), str(certificate)).fetch()
        assert fetched is not None
        assert fetched[0] == scrape("0.5")
        found = missed(PolledAddress.parse(url))
        assert "its certificate is not accepted" in found.why
    with pytest.raises(InputError, match="cannot be used"):
        PolledAddress.parse("https://localhost/", None, str(key))


def test_polled_file_is_read_after_change(tmp_path: Path) -> None:
    path = tmp_path / "hmc.prom"
    place = PolledFile(str(path))
    assert "No such file" in missed(place).why
    path.write_bytes(scrape("0.5"))
    first = place.fetch()
    assert first == (scrape("0.5"), path.stat().st_mtime_ns // 1_000_000)
    assert place.fetch() is None
    other = tmp_path / "new"
    other.write_bytes(scrape("0.6")[:-1])
    other.replace(path)
    assert missed(place).why == "it is being written"
    path.write_bytes(scrape("0.6"))
    second = place.fetch()
    assert second is not None
    assert second[0] == scrape("0.6")


def test_logins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Login.read_file("me:pass:word\n", "login").password == "pass:word"
    for wrong in ("", "me", ":word", "me:word\nother"):
        with pytest.raises(InputError) as raised:
            Login.read_file(wrong, "login")
        assert "word" not in str(raised.value).replace("PASSWORD", "")
    url = "https://localhost:1/metrics"
    for words, sentence in (
        ([url, "--poll-login", "me:word"], "neither a file nor a user"),
        ([url, "--poll-login", "me"], "without a terminal"),
        ([url, "--poll", "often"], "often"),
        ([url, url], "named more than once"),
        ([str(tmp_path), "--poll", "5"], "need a source that is polled"),
    ):
        assert main(["live", "--no-serve", *words]) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert "me:word" not in said


def test_one_label_at_two_addresses_is_two_systems(tmp_path: Path) -> None:
    """Each keeps its own values, also in the lake."""
    moments = [1_700_000_000_000 + 60_000 * number for number in range(4)]
    feeds = []
    for name, first in (("http://one:9291/metrics", 1), ("http://two:9291/metrics", 5)):
        place = Given(*((scrape(f"0.{first + number}"), ms) for number, ms in enumerate(moments)))
        place.name = name
        feeds.append(PollingFeed(place, 0.01))
    into = str(tmp_path / "lake")
    live = Watcher(feeds, lake=into, limits=RetentionLimits(part=120.0, grace=0.01), findings=False)
    end = time.monotonic() + PATIENCE_S
    systems = ("BOX", "BOX-two:9291")
    while time.monotonic() < end:
        live.step()
        if all(live._newest.get((system, "hmc")) == moments[-1] * 1000 for system in systems):
            break
    question = "SELECT system, count(DISTINCT interval_end) FROM hmc_metric GROUP BY 1 ORDER BY 1"
    with live.session() as shown:
        assert [info.system for info in shown.systems] == [*systems]
        assert shown.sql(question).rows == [(system, 4) for system in systems]
    live.finish()
    live.close()
    with CoreSession([into]) as stored:
        assert stored.sql(question).rows == [(system, 4) for system in systems]
        assert not [problem for problem in stored.problems if problem.kind in ("duplicate", "conflict")]
