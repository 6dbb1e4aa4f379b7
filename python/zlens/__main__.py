"""`python -m zlens` is the program zlens."""

import sys

try:
    from zlens.cli import INTERRUPTED, program
except KeyboardInterrupt:
    sys.exit(130)

try:
    program()
except KeyboardInterrupt:
    # Before the command began, or after it ended.
    sys.exit(INTERRUPTED)
