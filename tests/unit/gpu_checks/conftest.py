"""Lets the tests of this folder import ``gpu_help``, which stands beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
