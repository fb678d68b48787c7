"""Hypothesis draws the same examples in every run of `make test`; `make deep` draws many, anew."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "test", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", parent=settings.get_profile("test"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))


@pytest.fixture(autouse=True)
def _no_colour(monkeypatch):
    """What the terminal of the person who tests prefers is no part of a test."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
