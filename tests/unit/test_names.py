"""What the layers below the systems must not know, and what nothing may be shipped without."""

from pathlib import Path

import pytest

import policycheck

PACKAGE = Path(policycheck.__file__).parent
NEUTRAL = ("source", "model", "lint", "simulate", "certify", "report")


@pytest.mark.parametrize("layer", NEUTRAL)
def test_neutral_layers_name_no_system(layer):
    files = sorted((PACKAGE / layer).rglob("*.py"))
    assert files
    named = [
        f"{file.relative_to(PACKAGE)}: {word}"
        for file in files
        for word in ("kueue", "volcano")
        if word in file.read_text(encoding="utf-8").lower()
    ]
    assert named == []


def test_modules_stay_readable():
    lengths = {
        str(file.relative_to(PACKAGE)): len(file.read_text(encoding="utf-8").splitlines())
        for file in PACKAGE.rglob("*.py")
    }
    assert sorted(name for name, lines in lengths.items() if lines > 420) == []
