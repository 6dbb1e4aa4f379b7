"""The program zlens: one module per command, each with `configure` (its arguments) and `run`.

A command prints its result on standard output, everything else on standard error, and returns the exit
status: 0 done, 1 done with problems under --strict, 2 no usable input or a wrong question, 130 interrupted.
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

from zlens.errors import Wording, ZlensError

DONE, WITH_PROBLEMS, UNUSABLE, INTERRUPTED = 0, 1, 2, 130
#: New objects between two searches for reference cycles.
_OBJECTS = 100_000
#: Signals that this command has received.
_signals: list[int] = []
_BROKEN = (
    "the query needs more than its 8 GB of memory, or broke the engine; "
    "select fewer rows and columns, or build shorter texts and lists"
)


def program() -> NoReturn:
    """Run the command that this process was started for, and end the process with its exit status."""
    status = main()
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        sys.exit(status)
    # Taking the interpreter apart, object by object, takes a tenth of the time of a short command.
    atexit._run_exitfuncs()
    # `main` has written what there was; what handlers add may find the streams closed.
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; the only exception raised is the SystemExit of --help."""
    # A command creates many lasting objects and few cycles; searching for cycles took a tenth of its time.
    gc.set_threshold(_OBJECTS, 50, 50)
    debug = bool(os.environ.get("ZLENS_DEBUG"))
    _open_streams()
    _signals.clear()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        from zlens.cli.parser import build

        if threading.current_thread() is threading.main_thread():
            # Exit normally on SIGTERM, so that temporary files are removed.
            signal.signal(signal.SIGTERM, _terminated)
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, _interrupted)
        try:
            arguments = build().parse_args(argv)
            if any("output" in vars(part) for part in getattr(arguments, "parts", [arguments])):
                from zlens.cli import output

                output.refuse_overwrite(arguments)
            if argv is None and arguments.run.__module__ == "zlens.cli.sql":
                from zlens.cli import watchdog

                # Only as a program of its own: what calls this function may have threads.
                ended = watchdog.run_watched()
                if ended is not None:
                    return ended if ended != watchdog.BROKEN else complain(_BROKEN)
            status: int = arguments.run(arguments)
        finally:
            sys.stdout.flush()
            if argv is not None and threading.current_thread() is threading.main_thread():
                # Called by another program, whose handlers stay its own.
                for number, handler in before.items():
                    signal.signal(number, handler)
        return status
    except ZlensError as error:
        if debug:
            raise
        if _signals:
            # Raised while the engine read a table, which made it an error of the query.
            return 128 + _signals[0]
        return complain(error.text_for(Wording.for_command_line))
    except KeyboardInterrupt:
        if debug:
            raise
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe; keep the interpreter from complaining when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        if debug:
            raise
        where = f"{error.filename}: " if error.filename else ""
        return complain(f"{where}{error.strerror or error}")
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


def _open_streams() -> None:
    """Give what the caller has closed: otherwise the next file opened would get what is printed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        handle = os.open(os.devnull, os.O_RDWR)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)
        # As Python opens them: one that was closed reads nothing, and writes to nowhere.
        setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8"))


def complain(sentence: str) -> int:
    """Print the reason for a failure on standard error and return the exit status."""
    from zlens.schema.plain_text import replace_controls

    # Messages quote file names and contents.
    with contextlib.suppress(OSError):
        print(f"zlens: {replace_controls(' '.join(sentence.split()), ' ')}", file=sys.stderr)
    return UNUSABLE


def _interrupted(number: int, frame: FrameType | None) -> None:
    _signals.append(number)
    raise KeyboardInterrupt


def _terminated(number: int, frame: FrameType | None) -> None:
    _signals.append(number)
    sys.exit(128 + number)
