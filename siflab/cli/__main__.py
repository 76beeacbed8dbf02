"""``python -m siflab.cli``."""

import sys

from siflab.cli import main

if __name__ == "__main__":
    sys.exit(main())
