"""What holds for all tests."""

from __future__ import annotations

import signal

# Started in the background of a script, a program ignores Ctrl-C, and so would every program it starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
