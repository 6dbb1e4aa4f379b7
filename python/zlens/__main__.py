"""`python -m zlens` is the program zlens."""

import sys

from zlens.cli import main

sys.exit(main())
