"""Starts KAV from a checkout: ``python main.py`` is ``kav``."""

import sys

from kav.cli import main

if __name__ == "__main__":
    sys.exit(main())
