"""``python -m edgewise`` is the command ``edgewise``."""

import sys

from edgewise.cli import main

if __name__ == "__main__":
    sys.exit(main())
