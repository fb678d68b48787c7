"""``python -m policycheck``."""

import sys

from policycheck.adapters.cli import main

if __name__ == "__main__":
    sys.exit(main())
