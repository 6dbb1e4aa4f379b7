"""`python -m zlens` is the program zlens."""

import sys

try:
    from zlens.cli import INTERRUPTED, main
except KeyboardInterrupt:
    sys.exit(130)

try:
    sys.exit(main())
except KeyboardInterrupt:
    # Before the command began, or after it ended.
    sys.exit(INTERRUPTED)
