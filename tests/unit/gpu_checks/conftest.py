"""Lets the tests of this folder import ``check_help``, which stands beside the tests of the other checks."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "checks"))
