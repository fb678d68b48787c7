"""What the policies say and what a cycle decides are the same, for any configuration."""

from hypothesis import given, settings
from hypothesis import strategies as st

from policycheck.simulate.matrix import Priority
from policycheck.systems.kueue.matrix import Takings
from policycheck.systems.kueue.model import (
    BorrowWithinCohort,
    ClusterQueue,
    Cohort,
    Configuration,
    FairSharing,
    FlavorQuotas,
    KueueObjects,
    Preemption,
    Quota,
    ResourceFlavor,
    ResourceGroup,
)
from policycheck.systems.kueue.target import Target

GPU = "nvidia.com/gpu"
PRIORITIES = (Priority("high", 100), Priority("middle", 10), Priority("low", 1))
LIMIT = st.one_of(st.none(), st.integers(0, 6))


def group(quota):
    return (ResourceGroup((GPU,), (FlavorQuotas("a", {GPU: quota}),)),)


@st.composite
def policies(draw):
    reclaim = draw(st.sampled_from(["Never", "LowerPriority", "Any"]))
    borrow = BorrowWithinCohort()
    if reclaim != "Never" and draw(st.booleans()):
        borrow = BorrowWithinCohort("LowerPriority", draw(st.sampled_from([None, 1, 10, 50])))
    within = draw(st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]))
    return Preemption(within, reclaim, borrow)


@st.composite
def worlds(draw):
    """Two to five queues in a tree of up to three levels, classical or fair."""
    cohorts = {"root": Cohort("root")}
    for name in draw(st.sampled_from([(), ("x",), ("x", "y"), ("x", "y", "z")])):
        parent = draw(st.sampled_from(sorted(cohorts)))
        quota = Quota(draw(st.integers(0, 3)), draw(LIMIT), draw(LIMIT))
        cohorts[name] = Cohort(name, parent, group(quota), draw(st.sampled_from([None, 500, 2000])))
    if draw(st.booleans()):
        cohorts["root"] = Cohort("root", "", group(Quota(draw(st.integers(0, 4)))))
    queues = {}
    for number in range(draw(st.integers(2, 5))):
        quota = Quota(draw(st.integers(0, 6)), draw(LIMIT), draw(LIMIT))
        queues[f"q{number}"] = ClusterQueue(
            f"q{number}",
            draw(st.sampled_from(sorted(cohorts))),
            group(quota),
            preemption=draw(policies()),
            fair_weight=draw(st.sampled_from([None, 0, 500, 1000, 3000])),
        )
    strategies = draw(
        st.sampled_from(
            [
                None,
                FairSharing(),
                FairSharing(("LessThanInitialShare",)),
                FairSharing(("LessThanOrEqualToFinalShare",)),
            ]
        )
    )
    return KueueObjects(
        cluster_queues=queues,
        cohorts=cohorts,
        flavors={"a": ResourceFlavor("a")},
        configuration=Configuration(fair_sharing=strategies),
    )


@given(worlds(), st.sampled_from([Target(), Target((0, 16))]))
@settings(max_examples=300)
def test_policy_and_decision_agree(objects, target):
    takings = Takings(objects, objects.cluster_queues, target)
    for taker in takings.queues:
        for holder in takings.queues:
            row = takings.row(taker, holder, PRIORITIES)
            for way in row.ways:
                wrong = [cell for cell in way.cells if cell.differs]
                assert not wrong, (taker, holder, way.situation, wrong)
