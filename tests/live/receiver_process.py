"""A receiver as a program for tests that kill it: receiver_process.py FOLDER PORT."""

from __future__ import annotations

import sys
import threading

from zlens.live.receiver import Receiver, ReceiverLimits

if __name__ == "__main__":
    # Files end often, so that kills also hit file changes.
    with Receiver(sys.argv[1], port=int(sys.argv[2]), limits=ReceiverLimits(rotate_bytes=100_000)):
        threading.Event().wait()
