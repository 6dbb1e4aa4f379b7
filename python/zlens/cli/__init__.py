"""The program zlens: one module per command, with its help as docstring, `OPTIONS` and `run`.

A command prints its result on standard output, everything else on standard error, and returns the exit
status: 0 done, 1 problems with --strict, 2 no usable input or invalid arguments, 130 interrupted.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from zlens.cli.streams import clean_streams, print_message
from zlens.errors import Wording, ZlensError

DONE, WITH_PROBLEMS, UNUSABLE, INTERRUPTED = 0, 1, 2, 130
#: New objects between two garbage collections.
_OBJECTS = 100_000
#: Numbers of the signals that this command has received.
_signals: list[int] = []
_BROKEN = (
    "the query needs more than its 8 GB of memory, or broke the engine; "
    "select fewer rows and columns, or build shorter texts and lists"
)


def program() -> NoReturn:
    """Run the command of this process and exit with its status."""
    status = main()
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        sys.exit(status)
    # Skip finalizing the interpreter, which needs a tenth of the time of a short command.
    atexit._run_exitfuncs()
    # `main` has flushed the streams; exit handlers may have closed them.
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; raises only the SystemExit of --help."""
    with clean_streams():
        return _main(argv)


def _main(argv: Sequence[str] | None) -> int:
    # A command creates many lasting objects and few cycles; collecting them needed a tenth of its time.
    gc.set_threshold(_OBJECTS, 50, 50)
    debug = bool(os.environ.get("ZLENS_DEBUG"))
    _signals.clear()
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        from zlens.cli.parser import COMMANDS, build

        if threading.current_thread() is threading.main_thread():
            # Exit normally on SIGTERM, so that temporary files are removed.
            signal.signal(signal.SIGTERM, _terminated)
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, _interrupted)
        try:
            words = sys.argv[1:] if argv is None else argv
            # The parser of each command takes a millisecond to build, so only that of a named one is built.
            commands = words[:1] if words and words[0] in COMMANDS else COMMANDS
            arguments = build(commands).parse_args(argv)
            if any("output" in vars(part) for part in getattr(arguments, "parts", [arguments])):
                from zlens.cli import output

                output.refuse_overwrite(arguments)
            if argv is None and arguments.run.__module__ == "zlens.cli.sql":
                from zlens.cli import watchdog

                # Only as a program of its own, because a calling program may have threads.
                watched_status = watchdog.run_watched()
                if watched_status is not None:
                    return watched_status if watched_status != watchdog.BROKEN else complain(_BROKEN)
            status: int = arguments.run(arguments)
        finally:
            sys.stdout.flush()
            if argv is not None and threading.current_thread() is threading.main_thread():
                # Restore the handlers of the calling program.
                for number, handler in previous.items():
                    signal.signal(number, handler)
        # A signal while the engine reads a table becomes an error of the query or the input.
        return 128 + _signals[0] if _signals else status
    except ZlensError as error:
        if debug:
            raise
        if _signals:
            return 128 + _signals[0]
        return complain(error.text_for(Wording.for_command_line))
    except KeyboardInterrupt:
        if debug:
            raise
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe; prevent an error when the interpreter flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        if debug:
            raise
        location = f"{error.filename}: " if error.filename else ""
        return complain(f"{location}{error.strerror or error}")
    except MemoryError:
        return complain("out of memory; narrow the query with --from and --to")
    except Exception as error:
        if debug:
            raise
        if _signals:
            return 128 + _signals[0]
        return complain(
            f"unexpected {type(error).__name__}: {error}; this is a bug in zlens: "
            "please report it with the command (ZLENS_DEBUG=1 shows the traceback)"
        )


def complain(sentence: str) -> int:
    """Print the reason for a failure on standard error and return the exit status."""
    print_message(sentence)
    return UNUSABLE


def _interrupted(number: int, frame: FrameType | None) -> None:
    _signals.append(number)
    raise KeyboardInterrupt


def _terminated(number: int, frame: FrameType | None) -> None:
    _signals.append(number)
    sys.exit(128 + number)
