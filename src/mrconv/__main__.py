"""``python -m mrconv``, the same as the command ``mrconv``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
