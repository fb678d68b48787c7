import json
import os
from pathlib import Path

import pytest

from policycheck.systems.kueue.target import (
    LATEST,
    Target,
    TargetError,
    default,
    gates,
    parse_version,
    strategy,
)

SHARED = Path(
    os.environ.get("POLICYCHECK_RECORDED", Path(__file__).parents[4] / "shared" / "conformance" / "kueue")
)


@pytest.mark.parametrize(
    ("text", "version"),
    [("0.19", (0, 19)), ("v0.19.2", (0, 19)), ("0.20.0-devel", (0, 20)), (" 1.0+x ", (1, 0))],
)
def test_versions(text, version):
    assert parse_version(text) == version


@pytest.mark.parametrize("text", ["", "latest", "0", "0.x", "0.19beta"])
def test_what_is_no_version_says_how_to_write_one(text):
    with pytest.raises(TargetError, match=r"0\.19"):
        parse_version(text)


def test_defaults_follow_the_version():
    assert default("SchedulingEquivalenceHashing", (0, 17)) is False
    assert default("SchedulingEquivalenceHashing", (0, 18)) is True
    assert default("TopologyAwareScheduling", (0, 13)) is False
    assert default("TopologyAwareScheduling", (0, 14)) is True
    assert default("ConcurrentAdmission", (0, 13)) is False
    assert default("NoSuchGate", (0, 20)) is None


def test_a_gate_set_to_false_turns_off_what_depends_on_it():
    off = gates(Target(gates={"TopologyAwareScheduling": False}))
    assert not off["TASRecomputeAssignmentWithinSchedulingCycle"]
    assert not off["TASFailedNodeReplacementFailFast"]


def test_a_gate_set_to_true_turns_on_what_it_needs():
    on = gates(Target((0, 13), {"TASFailedNodeReplacementFailFast": True}))
    assert on["TopologyAwareScheduling"]
    assert on["TASFailedNodeReplacement"]


def test_two_gates_tell_this_from_the_last_release():
    before, now = strategy(Target((0, 19))), strategy(Target(LATEST))
    assert (before.keeps_scan, now.keeps_scan) == (False, True)
    assert (before.recomputes_overlap, now.recomputes_overlap) == (False, True)
    assert before._replace(keeps_scan=True, recomputes_overlap=True) == now


@pytest.mark.shared
def test_defaults_are_those_recorded():
    file = SHARED / "feature-gates.json"
    if not file.is_file():
        pytest.skip("no recorded gates beside the checkout")
    recorded = json.loads(file.read_text())["defaults"]
    ours = gates(Target(LATEST))
    assert {k: v for k, v in ours.items() if k in recorded} == {
        k: v for k, v in recorded.items() if k in ours
    }
