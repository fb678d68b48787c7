"""How much hangs on chance."""

from __future__ import annotations

from policycheck.systems.core.scheduler.score import MOST, Profile, Weights
from policycheck.systems.core.scheduler.span import Span, span


def test_without_ties_the_answer_is_exact(placer, node, pods):
    one = placer(node("a", cpu=64, memory=256, gpus=8), node("b", gpus=4))
    found = span(one, [("t/job", [pods(3, gpus=4)])])
    assert found == Span(3, 3, 3, 1, 1, 1, False)
    assert found.is_exact
    short = span(one, [("t/job", [pods(4, gpus=4)]), ("t/more", [pods(1, gpus=1)])])
    assert (short.least, short.most, short.whole_most) == (3, 3, 0)
    assert one.held == {}


def test_where_small_pods_go_decides_whether_the_large_one_fits(placer, node, pods):
    # Equal nodes, and a pod without requests that counts for nothing: the second may join it or not.
    careless = Profile(weights=Weights(fit=0, balanced=0))
    one = placer(node("a", gpus=2), node("b", gpus=2), profile=careless)
    jobs = [("t/x", [pods(gpus=1)]), ("t/y", [pods(gpus=1)]), ("t/z", [pods(gpus=2)])]
    found = span(one, jobs, draws=4)
    assert (found.asked, found.least, found.most) == (3, 2, 3)
    assert (found.whole_least, found.whole_most) == (2, 3)
    assert found.tried == 6
    assert not found.is_exact
    assert found == span(one, jobs, draws=4)


def test_a_profile_that_packs_narrows_it(placer, node, pods):
    packs = Profile(MOST, (("nvidia.com/gpu", 1),), weights=Weights(balanced=0))
    one = placer(node("a", gpus=2), node("b", gpus=2), profile=packs)
    jobs = [("t/x", [pods(gpus=1)]), ("t/y", [pods(gpus=1)]), ("t/z", [pods(gpus=2)])]
    found = span(one, jobs)
    assert (found.least, found.most, found.by_chance) == (3, 3, True)
