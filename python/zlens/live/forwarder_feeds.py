"""Feeds of data from forwarders: one for each source name."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from zlens.live.feeds import MAX_READ_BYTES, Feed, FeedChunk, FeedGroup, Position
from zlens.live.received_files import ReadPosition, ReceivedFiles, RetentionPolicy
from zlens.live.receiver import Receiver


class ForwarderFeeds(FeedGroup):
    """Feeds of all sources of a receiver. The owner starts and stops the receiver."""

    def __init__(self, receiver: Receiver, keep: RetentionPolicy | None = None) -> None:
        """keep: retention of files after their intervals are closed; None: all files are retained."""
        self._receiver = receiver
        self._keep = keep or RetentionPolicy()
        self._feeds: dict[str, _Source] = {}

    def current_feeds(self) -> list[_Source]:
        for received in self._receiver.sources():
            if received.name not in self._feeds:
                self._feeds[received.name] = _Source(received, self._keep)
        return [*self._feeds.values()]


class _Source(Feed):
    """Feed of the durable bytes of one source, which never ends: a forwarder may connect again."""

    seekable = True

    def __init__(self, received: ReceivedFiles, keep: RetentionPolicy) -> None:
        self.name = f"forwarder {received.name}"
        self._keep = keep
        self._received = received
        self._position = ReadPosition()
        self._gaps = 0

    def seek(self, position: Position) -> None:
        self._position = ReadPosition(position["file"], position["offset"])
        self._gaps = position["gaps"]

    def read(self) -> FeedChunk | None:
        data, position = self._received.read(self._position, MAX_READ_BYTES)
        if not data:
            return None
        notes = [_note(gap) for gap in islice(self._received.gaps(), self._gaps, None)]
        self._position = position
        self._gaps += len(notes)
        return FeedChunk(
            data, {"file": position.file, "offset": position.offset, "gaps": self._gaps}, tuple(notes)
        )

    def release_before(self, position: Position) -> None:
        self._received.forget(ReadPosition(position["file"], position["offset"]), self._keep)


def _note(gap: Mapping[str, Any]) -> str:
    amounts = [f"{gap[name]} {name}" for name in ("sets", "bytes") if gap.get(name) not in (None, "0")]
    what = str(gap.get("reason", "unknown")).replace("_", " ")
    return f"the forwarder reports a gap: {', '.join([what, *amounts])}"
