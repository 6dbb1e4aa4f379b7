"""Follow systems while they run, print a line for each interval that closes, and serve the web UI.

SOURCE is a growing file, a folder that receives files, /dev/monreader, a named pipe, or - (standard input):
z/VM monitor data as MONWRITE or the live stream provides it, SMF records with descriptor words, or the counts
of perf stat -I. With forwarder://HOST:PORT, zlens listens there for what zlens-forward sends. http:// and
https:// addresses of an HMC exporter or of RMF's Distributed Data Server are polled, and so are files with
their text. Press Ctrl-C to stop.

Examples:
  zlens live monwrite.data
  zlens live /data/monwrite --lake lake --keep 1d
  zlens live forwarder://0.0.0.0:4739 --certificate receiver.pem --key receiver.key --client-ca ca.pem \\
    --lake lake
  zlens live https://exporter.example.com:9291/metrics --poll 30s --poll-login login --lake lake
  zlens live https://dds.example.com:8803/metrics/m3 --poll-login login --lake lake
  perf stat -I 60000 -a -A -x, -e CPU_CYCLES,INSTRUCTIONS 2>&1 | zlens live - --tz +01:00
  zlens live --replay zlens-demo/zldemo.monwrite --speed 60
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from zlens.cli import INTERRUPTED, inputs, private_files, serve, serve_options
from zlens.cli.streams import print_message
from zlens.errors import InputError, QueryError
from zlens.inputs.options import parse_duration
from zlens.inputs.unix_time import from_unix_us
from zlens.schema.plain_text import replace_controls

if TYPE_CHECKING:
    from zlens.cli.serve_options import ServeOptions
    from zlens.live.alerts import FindingAlert
    from zlens.live.feeds import Feed, FeedGroup
    from zlens.live.notifications import Notifier, Webhook
    from zlens.live.polling import Login
    from zlens.live.received_files import RetentionPolicy
    from zlens.live.receiver import AccessPolicy
    from zlens.live.watch_step import WatchStep
    from zlens.live.watcher import Watcher
    from zlens.server.live_updates import LiveWorkspace
    from zlens.server.sql_workers import SqlWorkers
    from zlens.server.workspace import Workspace

OPTIONS = f"""
SOURCE* -> sources         file, folder, device, address, or -
--replay FILE...           replay a recording as if live (repeatable)
--speed N:float            replay speed relative to real time (1)
retention:
--lake DIR                 import received data into a lake; a restart resumes where it stopped
--part LENGTH [1h]         length of data imported at a time (1h)
--raw LENGTH [1h]          raw records that can be queried (1h)
--keep LENGTH [1d]         measures kept in memory (1d)
--grace LENGTH [10s]       grace period for SMF records after the end of their interval (10s)
{private_files.option("the lake and what is received")}
findings:
--on-finding COMMAND...    run COMMAND when findings appear or clear; it reads them as JSON from its input
                           (repeatable)
--webhook URL...           send the same by POST; @FILE: the URL is in a file, env:NAME: in a variable
                           (repeatable)
--finding-hold LENGTH [0]  report a finding after it has held, or been clear, for this long (0)
--finding-pause LENGTH [60s]  minimum time between two messages (60s)
forwarders:
--received DIR             folder for what forwarders send (LAKE/.live/received)
--received-keep LENGTH     remove received files older than this once their intervals are closed (default:
                           keep all)
--received-size GB:float   keep at most this many GB per forwarder; remove the oldest files (default: keep
                           all)
--certificate FILE         certificate of this receiver (PEM)
--key FILE                 its key (PEM)
--client-ca FILE           forwarders must have certificates of this authority (PEM)
--forwarder-token FILE     forwarders must send the token in this file
polling of an HMC exporter or of RMF:
--poll SECONDS             time between two polls (default: the interval that the text states, else 60)
--poll-login FILE_OR_USER  file with a line USER:PASSWORD, or USER; zlens then prompts for the password
--poll-ca FILE             certificates to trust instead of the system's (PEM)
options:
--no-serve                 print lines only, without a page
{serve_options.OPTIONS}{inputs.reading()}
--group FILE               combine guests, devices, volumes and partitions into groups
"""
#: Seconds between two polls of the feeds, and minimum seconds between two workspaces of the web UI.
_PAUSE_S = 0.2
_PUBLISH_S = 1.0
#: Prefix of an address for forwarders.
_FORWARDER = "forwarder://"
#: Prefixes of polled addresses.
_POLLED = ("http://", "https://")
#: Maximum bytes of a file with the URL of a webhook.
_LONGEST_URL = 8192
#: Maximum bytes of a file with a login.
_LOGIN_SIZE = 4096


def run(arguments: argparse.Namespace) -> int:
    from zlens.live.watcher import RetentionLimits, Watcher

    if not arguments.sources and not arguments.replay:
        raise QueryError("nothing to follow", cure="name a SOURCE, or a recording with --replay FILE")
    if arguments.speed is not None and not (arguments.replay and arguments.speed > 0):
        raise QueryError("--speed needs --replay FILE and a number above 0", cure="leave it out")
    limits = RetentionLimits(
        raw=parse_duration(arguments.raw),
        measures=parse_duration(arguments.keep),
        part=parse_duration(arguments.part),
        grace=parse_duration(arguments.grace),
    )
    options = inputs.parse_options(arguments)
    with ExitStack() as stack:
        umask = stack.enter_context(private_files.private_files(arguments.lake, shared=arguments.shared))
        server = None if arguments.no_serve else stack.enter_context(serve_options.open_server(arguments))
        # Fork workers before any thread starts.
        workers = _workers(server)
        if workers is not None:
            stack.enter_context(closing(workers))
        notifier = _notifier(arguments, umask)
        if notifier is not None:
            stack.enter_context(closing(notifier))
        received = stack.enter_context(_forwarders(arguments))
        stop = stack.enter_context(_stop_event())
        feeds = _feeds(arguments, received)
        live = Watcher(feeds, options, lake=arguments.lake, limits=limits)
        loop = _Watching(live, stop, arguments.strict, notifier)
        try:
            if server is None:
                loop.run()
            else:
                names = [feed.name for feed in live.streams] or arguments.sources
                _serve(loop, server, names, workers, open=arguments.open)
        finally:
            loop.finish()
        return INTERRUPTED if stop.is_set() else loop.status


def _workers(server: ServeOptions | None) -> SqlWorkers | None:
    """Return workers for SQL and scenarios; None without a web UI or outside of Linux."""
    if server is None or sys.platform != "linux":
        return None
    from zlens.server.app import live_answers
    from zlens.server.sql_workers import SqlWorkers

    return SqlWorkers(live_answers(), server.listener, server.limits)


def _notifier(arguments: argparse.Namespace, umask: int) -> Notifier | None:
    """Return the notifier of findings; None without receivers."""
    if not arguments.on_finding and not arguments.webhook:
        return None
    from zlens.live.notifications import CommandHook, MessageReceiver, Notifier

    receivers: list[MessageReceiver] = [CommandHook.from_line(text, umask) for text in arguments.on_finding]
    receivers += map(_webhook, arguments.webhook)
    hold = 0.0 if arguments.finding_hold == "0" else parse_duration(arguments.finding_hold)
    return Notifier(receivers, hold, parse_duration(arguments.finding_pause), print_message)


def _webhook(text: str) -> Webhook:
    """Return the webhook of an option: a URL, @FILE or env:NAME, because many URLs contain a secret."""
    from zlens.live.notifications import Webhook
    from zlens.schema import user_files

    if text.startswith("@"):
        cure = "write one line, the URL"
        data = user_files.read_secret(text[1:], _LONGEST_URL, "URL", cure)
        return Webhook.from_url(user_files.decoded(data, text[1:], cure).strip(), text)
    if text.startswith("env:"):
        name = text.removeprefix("env:")
        if name not in os.environ:
            raise QueryError(f"the environment has no variable {name!r}", cure="set it to the URL")
        return Webhook.from_url(os.environ[name].strip(), text)
    return Webhook.from_url(text)


@contextmanager
def _forwarders(arguments: argparse.Namespace) -> Iterator[list[FeedGroup]]:
    """Yield the feeds of forwarders, if a source is an address for them."""
    names = [name for name in arguments.sources if name.startswith(_FORWARDER)]
    retention = _retention_policy(arguments)
    if not names:
        if retention != type(retention)():
            raise QueryError(
                "--received-keep and --received-size need a source forwarder://HOST:PORT",
                cure="leave them out",
            )
        yield []
        return
    if len(names) > 1:
        raise QueryError("there is one address for forwarders", cure="they may all send to it")
    from zlens.live.forwarder_feeds import ForwarderFeeds
    from zlens.live.receiver import Receiver

    if arguments.received is None and arguments.lake is None:
        raise QueryError(
            "data from forwarders is stored in a folder", cure="name it with --received or --lake"
        )
    folder = arguments.received or os.path.join(arguments.lake, ".live", "received")
    host, colon, port = names[0].removeprefix(_FORWARDER).rstrip("/").rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise QueryError(f"{names[0]!r} is not an address", expected="forwarder://HOST:PORT")
    receiver = Receiver(
        folder, host.strip("[]"), int(port), access=_access(arguments), report=_storage_reporter()
    )
    with receiver:
        host, number = receiver.address
        print_message(f"listening for forwarders on {host}:{number}")
        yield [ForwarderFeeds(receiver, retention)]


def _storage_reporter() -> Callable[[str, Mapping[str, object]], None]:
    """Return a function that prints write errors of a receiver, but not for each attempt of a forwarder."""
    last = ""

    def report(event: str, facts: Mapping[str, object]) -> None:
        nonlocal last
        text = f"{facts['file']}: {facts['reason']}" if "file" in facts else ""
        if text and text != last:
            print_message(text)
        if text or event == "connected":
            last = text

    return report


def _retention_policy(arguments: argparse.Namespace) -> RetentionPolicy:
    """Return the retention of received files."""
    from zlens.live.received_files import RetentionPolicy

    size = arguments.received_size
    if size is not None and not 0 <= size < math.inf:
        raise QueryError(f"--received-size {size:g} is not a size", expected="a number of GB, 0 or more")
    age = arguments.received_keep
    return RetentionPolicy(
        None if age is None else parse_duration(age), None if size is None else int(size * 1e9)
    )


def _access(arguments: argparse.Namespace) -> AccessPolicy:
    from zlens.live.receiver import AccessPolicy
    from zlens.schema import user_files

    token = None
    if arguments.forwarder_token is not None:
        cure = "write one line of 16 or more characters"
        data = user_files.read_secret(arguments.forwarder_token, 4096, "token", cure)
        token = data.decode("utf-8", "replace").strip()
        if len(token) < 16:
            raise InputError("contains no token", file=arguments.forwarder_token, cure=cure)
    if arguments.key is not None:
        user_files.check_secret(arguments.key)
    return AccessPolicy(arguments.certificate, arguments.key, arguments.client_ca, token)


def _login(arguments: argparse.Namespace) -> Login | None:
    """Return the login for polls, from a file or the terminal, because command lines are not secret."""
    from zlens.live.polling import Login
    from zlens.schema import user_files

    name = arguments.poll_login
    if name is None:
        return None
    if os.path.exists(name):
        data = user_files.read_secret(name, _LOGIN_SIZE, "login", "write one line, USER:PASSWORD")
        return Login.read_file(user_files.decoded(data, name, "write one line, USER:PASSWORD"), name)
    if ":" in name or os.sep in name:
        # Without its value, which may contain a password.
        raise QueryError("--poll-login is neither a file nor a user", cure="write USER:PASSWORD into a file")
    if sys.stdin is None or not sys.stdin.isatty():
        raise QueryError(
            "zlens cannot prompt for a password without a terminal", cure="write USER:PASSWORD into a file"
        )
    import getpass

    return Login(name, getpass.getpass(f"Password of {name}: "))


def _feeds(arguments: argparse.Namespace, received: list[FeedGroup]) -> list[Feed | FeedGroup]:
    from zlens.live import feeds as sources
    from zlens.live import polling

    feeds: list[Feed | FeedGroup] = [*received]
    named = [name for name in arguments.sources if not name.startswith(_FORWARDER)]
    polled = {
        name for name in named if name.startswith(_POLLED) or (os.path.isfile(name) and polling.is_text(name))
    }
    if not polled and (arguments.poll, arguments.poll_login, arguments.poll_ca) != (None, None, None):
        raise QueryError(
            "--poll, --poll-login and --poll-ca need a source that is polled",
            expected="http://..., https://... or a file with the text of an HMC exporter",
            cure="leave them out",
        )
    every_s = None if arguments.poll is None else parse_duration(arguments.poll)
    login = _login(arguments)
    for name in named:
        if name.startswith(_POLLED):
            address = polling.PolledAddress.parse(name, login, arguments.poll_ca)
            feeds.append(polling.PollingFeed(address, every_s))
        elif name in polled:
            feeds.append(polling.PollingFeed(polling.PolledFile(name), every_s))
        elif name == "-":
            if sys.stdin is None or sys.stdin.isatty():
                raise InputError("standard input is a terminal", cure="pipe data into zlens, or name a file")
            feeds.append(sources.ReaderThreadFeed("standard input", sys.stdin.fileno()))
        elif os.path.isdir(name):
            feeds.append(sources.FolderFeeds(name))
        elif Path(name).is_char_device():
            feeds.append(sources.ReaderThreadFeed(name, _open(name), device=True))
        elif Path(name).is_fifo():
            feeds.append(sources.ReaderThreadFeed(name, _open(name)))
        elif os.path.exists(name):
            feeds.append(sources.growing_file(name))
        else:
            raise InputError(
                "no such file or folder", file=name, cure="check the name; a folder may be empty"
            )
    names = [feed.name for feed in feeds if not isinstance(feed, sources.FeedGroup)]
    if len({*names}) < len(names):
        raise QueryError(
            "a source is named more than once", expected="sources that differ before the question mark"
        )
    clock = sources.ReplayClock(arguments.speed or 1.0)
    return [*feeds, *(sources.open_recording(path, clock) for path in arguments.replay)]


def _open(name: str) -> int:
    try:
        return os.open(name, os.O_RDONLY)
    except OSError as error:
        raise InputError(
            f"cannot be opened: {error.strerror}", file=name, cure="check its permissions"
        ) from None


@contextmanager
def _stop_event() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set."""
    stop = threading.Event()
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in previous:
        signal.signal(number, lambda *_: stop.set())
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Watching:
    """A loop over steps, which prints a line per closed interval."""

    def __init__(self, live: Watcher, stop: threading.Event, strict: bool, notifier: Notifier | None) -> None:
        self.live = live
        self._notifier = notifier
        self.stop = stop
        self.status = 0
        #: Exception that ended the loop.
        self.failed: BaseException | None = None
        self._strict = strict
        self._reload = threading.Event()
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda *_: self._reload.set())

    def run(self, publish: Callable[[WatchStep | None], None] = lambda _: None, stay: bool = False) -> None:
        """Step until stopped, or without `stay` until no more data will arrive."""
        is_reported = False
        while not self.stop.is_set():
            if self._reload.is_set():
                self._reload.clear()
                print_message(self.live.reload())
            step = self.live.step()
            publish(step)
            if self._notifier is not None:
                self._notify(self._notifier)
            if step is not None:
                self._print(step)
                # Free the sessions of the step and their open files, which are in reference cycles.
                gc.collect()
            elif self.live.done and not stay:
                return
            else:
                if self.live.done and not is_reported:
                    is_reported = True
                    print_message("no more data will arrive; press Ctrl-C to stop")
                time.sleep(_PAUSE_S)

    def _notify(self, notifier: Notifier) -> None:
        alerts = {} if self.live.alerts is None else self.live.alerts.open
        notifier.observe({key: alert.row() for key, alert in alerts.items()}, time.monotonic())

    def finish(self) -> None:
        """Import closed intervals into the lake and close the watcher."""
        try:
            self.live.finish()
        finally:
            self.live.close()

    def _print(self, step: WatchStep) -> None:
        for problem in step.problems:
            self.status = 1 if self._strict else 0
            print_message(f"{problem.file}: {problem.detail}")
        for message in (*step.errors, *step.notes):
            print_message(message)
        last = len(step.closed) - 1
        for index, closed in enumerate(step.closed):
            end = from_unix_us(closed.end_us)
            info = self.live.system(closed.system, closed.source)
            local = end if info is None else end.astimezone(info.zone())
            fields = [f"{local:%Y-%m-%d %H:%M:%S}", closed.system]
            if closed.seconds is not None:
                fields.append(f"{closed.seconds:g} s")
            if closed.busy_pct is not None:
                fields.append(f"busy {closed.busy_pct:.1f}%")
            if index == last:
                fields += [f"+ {_alert_label(alert)}" for alert in step.opened]
                fields += [f"- {_alert_label(alert)} after {_span(alert)}" for alert in step.cleared]
            print(replace_controls("  ".join(fields)), flush=True)


def _alert_label(alert: FindingAlert) -> str:
    finding = alert.finding
    return " ".join(filter(None, (finding.rule.id, finding.subject)))


def _span(alert: FindingAlert) -> str:
    seconds = ((alert.until_us or alert.since_us) - alert.since_us) // 1_000_000
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{seconds} s"


def _serve(
    loop: _Watching, server: ServeOptions, names: list[str], workers: SqlWorkers | None, *, open: bool
) -> None:
    from zlens.live.session_transfer import Published
    from zlens.server.app import create_app
    from zlens.server.live_updates import LiveWorkspace
    from zlens.server.running_requests import RunningRequests
    from zlens.server.workspace import Workspace

    live = loop.live

    def open_workspace() -> Workspace:
        session = live.session()
        return Workspace(session, names, workers, Published(session), live=True)

    served = LiveWorkspace(open_workspace())
    running = RunningRequests(server.limits)
    publisher = _Publisher(served, live, open_workspace)

    def follow() -> None:
        try:
            loop.run(publisher.publish, stay=True)
            publisher.flush()
        except BaseException as error:
            # Raised again by the main thread: without this thread the web UI would show old data.
            loop.failed = error
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=follow, name="zlens-live", daemon=True)

    def show() -> None:
        server.show(open=open)
        thread.start()

    app = create_app(served, server.guard(), running, log=server.log)
    try:
        serve.serve_app(app, running, server.listener, show, served.end)
    finally:
        loop.stop.set()
        if thread.ident is not None:
            thread.join()
        running.cancel_all()
        served.close()
    if loop.failed is not None:
        raise loop.failed


class _Publisher:
    """Publisher of new workspaces, at most one per _PUBLISH_S."""

    def __init__(self, served: LiveWorkspace, live: Watcher, open_workspace: Callable[[], Workspace]) -> None:
        self._served, self._live, self._open_workspace = served, live, open_workspace
        self._last = 0.0
        self._pending: WatchStep | None = None

    def publish(self, step: WatchStep | None) -> None:
        if step is not None:
            self._pending = step if self._pending is None else self._pending.merge(step)
        self._served.block(self._live.blocked is not None)
        if self._served.is_blocked:
            # The folder of the retained records may be away.
            return
        if time.monotonic() - self._last >= _PUBLISH_S:
            self.flush()

    def flush(self) -> None:
        if self._pending is None or self._served.is_blocked:
            return
        from zlens.server.live_updates import event

        step, self._pending = self._pending, None
        workspace = self._open_workspace()
        self._served.replace(workspace, event(workspace, self._live, step))
        self._last = time.monotonic()
