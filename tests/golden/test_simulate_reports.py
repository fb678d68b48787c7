"""The whole report of a simulation written by hand, wide, narrow and for programs."""

import sys
from pathlib import Path

import pytest

from policycheck.report.screen import Style
from policycheck.report.simulation import render_json
from policycheck.report.simulation_text import render_text

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "simulate"))

from story_help import story

LOOKS = {
    "story.txt": Style(),
    "story.narrow.txt": Style(width=44),
    "story.wide.txt": Style(width=120, verbose=True),
    "story.color.txt": Style(color=True),
    "story.ascii.txt": Style(ascii=True, quiet=True),
}


@pytest.mark.parametrize("name", LOOKS)
def test_text(name, golden_simulate):
    golden_simulate(name, render_text([story()], LOOKS[name]))


def test_json(golden_simulate):
    golden_simulate("story.json", render_json([story()], events=True))
