"""A pull request may bring any settings file: whatever stands in it is settings or an error with a place."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from policycheck.adapters.settings_file import SettingsError, load
from policycheck.lint.settings import Settings

PIECES = st.sampled_from(
    [
        "extends", "select", "ignore", "severity", "params", "per-path", "clusters", "suppressions", "rulebook", "target",
        "webhook", "max-days", "never", "paths", "name", "until", "KQ101", "all", "info", "0.1", "2027-01-31", "package:json",
        "../..", "-1", "1e309", "~", "true", "''", ": ", ":\n", "\n", "\n  ", "\n    - ", "\n- ", "[", "]", "{", "}", ", ", "&a",
        "*a", "!!python/object:os.system", "#", "|", "\t", "\x00", "\ud800", "é", "99999999999999999999999999999999",
    ]
)  # fmt: skip


def loaded(path):
    """Settings, or problems."""
    try:
        return load(path), []
    except SettingsError as error:
        return None, error.problems


@profile(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PIECES, max_size=25))
def test_any_text_is_settings_or_an_error_with_its_place(repository, pieces):
    path = repository / ".policycheck.yaml"
    path.write_bytes("".join(pieces).encode("utf-8", "surrogatepass"))
    got, problems = loaded(path)
    assert isinstance(got, Settings) or problems
    for problem in problems:
        assert re.match(r"[^:]+(:[^:]+)?:\d+:\d+: .", str(problem), re.DOTALL)


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 100_000,
        "a: &a [*a]",
        "\n".join(f"k{n}: 1" for n in range(5_000)),
        "ignore: [" + ", ".join(["KQ101"] * 100_000) + "]\nfail-on: x",
        "x" * 2_000_000,
    ],
)
def test_large_and_deep_ones_too(repository, text):
    path = repository / ".policycheck.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError):
        load(path)
