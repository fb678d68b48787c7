"""Our own small files for faults that public configurations have."""

from __future__ import annotations

from pathlib import Path

import pytest

from policycheck import app
from policycheck.lint.settings import Settings

SMALL = Path(__file__).parents[3] / "fixtures" / "small"
CASES = [
    ("cluster-queue-without-api-version", "", ["CR010 2:1"]),
    ("cohort-name-in-v1beta1", "", ["KQ003 2:1", "KQ001 10:3"]),
    ("flavor-unused", "", ["KQ503 13:3"]),
    ("flavors-same-labels", "", ["KQ502 8:5"]),
    ("flavors-same-labels", "flavors-same-labels-inventory", ["KQ110 33:15"]),
    ("placeholder-quota", "l4-inventory", ["KQ112 25:15"]),
    ("placeholder-quota-provisioned", "l4-inventory", []),
]


@pytest.mark.parametrize(("name", "inventory", "expected"), CASES, ids=lambda value: str(value) or "-")
def test_a_small_file_has_its_fault_and_no_other(name, inventory, expected):
    texts = {n: (SMALL / f"{n}.yaml").read_text(encoding="utf-8") for n in (name, inventory) if n}
    given = {inventory: texts[inventory]} if inventory else None
    result = app.lint_texts({f"{name}.yaml": texts[name]}, Settings(), inventory=given)
    found = [f"{f.rule} {f.place.span.line}:{f.place.span.column}" for f in result.findings]
    assert found == expected
    assert result.errors == ()


def test_every_small_file_has_a_case():
    files = {path.stem for path in SMALL.glob("*.yaml")}
    assert files == {name for case in CASES for name in case[:2] if name}
