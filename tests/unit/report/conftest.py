"""Lets the tests of this folder import the timelines that stand beside those of the simulation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "simulate"))
