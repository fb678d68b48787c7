"""Decisions that tell the code from its mutants: recorded ones, and ones worked out by hand from a rule.

``recorded.yaml`` restates further recorded decisions of the real scheduler; ``rules.yaml`` has small
situations with the rule that decides them and the sum behind the expectation. The order in which
objects are listed decides nothing, so each is asked forwards and backwards.
"""

import os
import sys
from pathlib import Path

import pytest
import yaml

sys.path[:0] = [str(Path(__file__).parents[2])]

from conformance.compact import expand  # noqa: E402 - tests are no package
from conformance.expectations import EXPECT, Same  # noqa: E402
from conformance.restate import restate  # noqa: E402
from conformance.write_fixtures import recorded  # noqa: E402

from policycheck.systems.kueue.case import run  # noqa: E402

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("POLICYCHECK_RECORDED", HERE.parents[3] / "shared" / "conformance" / "kueue"))


def situations(name):
    return list(yaml.safe_load_all((HERE / name).read_text()))


RECORDED, RULES = situations("recorded.yaml"), situations("rules.yaml")


@pytest.mark.parametrize("doc", RULES + RECORDED, ids=lambda d: d["name"])
@pytest.mark.parametrize("backwards", [False, True], ids=["", "backwards"])
def test_decided_so(doc, backwards):
    case = expand(doc)
    if backwards:
        case["objects"].reverse()
    got = run(case)
    assert "unsupported" not in got
    assert EXPECT(Same, doc["area"], got) == doc["expect"]


def test_every_rule_is_named_and_worked_out():
    assert all(d["rule"] and d["why"] for d in RULES)
    names = [d["name"] for d in RULES + RECORDED]
    assert len(set(names)) == len(names)


@pytest.mark.shared
def test_recorded_situations_are_what_the_record_says():
    if not SHARED.is_dir():
        pytest.skip("no recorded cases beside the checkout")
    record = {f"{c['suite']} / {c['name']}": c for c in recorded(SHARED)}
    for doc in RECORDED:
        assert restate(record[doc["source"]], doc["name"]) == doc
