"""The certified cluster and its changes lie beside the tests; neither is part of the product."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
