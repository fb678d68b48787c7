"""The page on mixes names every key, and what it shows can be used."""

from __future__ import annotations

import re

import pytest

from policycheck.app.arrivals import presets
from policycheck.data import root
from policycheck.simulate import mixfile, tracesetting
from policycheck.simulate.column import NAMES
from policycheck.simulate.mixmodel import ClassModel, MixModel
from policycheck.simulate.mixpart import ArrivalModel, MatchModel, ReplicasModel, SpreadModel, TopologyModel
from policycheck.simulate.tracemodel import TraceModel
from policycheck.systems.kueue import written

PAGE = root() / "docs" / "mixes.md"


@pytest.fixture(scope="module")
def page():
    if not PAGE.is_file():
        pytest.skip("the documentation is not part of the package")
    return PAGE.read_text()


@pytest.mark.parametrize(
    "model",
    [MixModel, ClassModel, ArrivalModel, SpreadModel, TopologyModel, ReplicasModel, MatchModel, TraceModel],
)
def test_every_key_is_on_the_page(page, model):
    keys = [field.alias or name for name, field in model.model_fields.items()]
    assert [key for key in keys if not re.search(rf"\b{re.escape(key)}\b", page)] == []


def test_every_field_annotation_and_preset_is_on_the_page(page):
    named = [
        *NAMES,
        written.DURATION,
        written.SUBMIT,
        written.CHECKPOINT,
        written.STARTUP,
        written.COPIES,
        written.EVERY,
    ]
    assert [name for name in (*named, *presets()) if f"`{name}" not in page] == []


def test_what_the_page_shows_can_be_read(page):
    mix, trace = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert [k.name for k in mixfile.read("docs.yaml", mix.encode()).classes] == [
        "experiment",
        "training",
        "chat",
    ]
    assert tracesetting.read("docs.yaml", trace.encode()).replaying.compress == 10


def test_every_duration_that_the_page_shows_can_be_read(page):
    shown = re.findall(r"`(\{(?:mean|exponential|uniform|constant|odds|values|quantiles): ?.*?\})`", page)
    assert len(shown) == 7
    for form in shown:
        text = f"mix: x\nrate: 1/h\nhorizon: 1d\nclasses:\n  - {{name: a, share: 1, gpus: 1, duration: {form}}}\n"
        assert mixfile.read("docs.yaml", text.encode()).classes[0].duration.mean() > 0
