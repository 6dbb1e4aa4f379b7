"""What forwarders send, as sources: one for each name that a forwarder has."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from zlens.live.feeds import MAX_READ_BYTES, FeedChunk, FeedGroup, Position
from zlens.live.received_files import ReadPosition, ReceivedFiles, RetentionPolicy
from zlens.live.receiver import Receiver


class ForwarderFeeds(FeedGroup):
    """All sources of a receiver, which listens as long as its owner lets it."""

    def __init__(self, receiver: Receiver, keep: RetentionPolicy | None = None) -> None:
        """keep: what stays of files once their intervals are closed; None: everything."""
        self._receiver = receiver
        self._keep = keep or RetentionPolicy()
        self._feeds: dict[str, _Source] = {}

    def current_feeds(self) -> list[_Source]:
        for received in self._receiver.sources():
            if received.name not in self._feeds:
                self._feeds[received.name] = _Source(received, self._keep)
        return [*self._feeds.values()]


class _Source:
    """The bytes of one source that are durable."""

    seekable = True
    #: A forwarder may come again.
    ended = False

    def __init__(self, received: ReceivedFiles, keep: RetentionPolicy) -> None:
        self.name = f"forwarder {received.name}"
        self._keep = keep
        self._received = received
        self._place = ReadPosition()
        self._gaps = 0

    def seek(self, position: Position) -> None:
        self._place = ReadPosition(position["file"], position["offset"])
        self._gaps = position["gaps"]

    def read(self) -> FeedChunk | None:
        data, place = self._received.read(self._place, MAX_READ_BYTES)
        if not data:
            return None
        notes = [_note(gap) for gap in islice(self._received.gaps(), self._gaps, None)]
        self._place = place
        self._gaps += len(notes)
        return FeedChunk(data, {"file": place.file, "offset": place.offset, "gaps": self._gaps}, tuple(notes))

    def release_before(self, position: Position) -> None:
        self._received.forget(ReadPosition(position["file"], position["offset"]), self._keep)

    def close(self) -> None:
        return None


def _note(gap: Mapping[str, Any]) -> str:
    amounts = [f"{gap[name]} {name}" for name in ("sets", "bytes") if gap.get(name) not in (None, "0")]
    what = str(gap.get("reason", "unknown")).replace("_", " ")
    return f"the forwarder reports a gap: {', '.join([what, *amounts])}"
