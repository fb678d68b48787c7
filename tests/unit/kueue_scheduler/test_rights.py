import pytest

from policycheck.model.amount import UNLIMITED
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
from policycheck.systems.kueue.rights import KueueRights

GPU = ("f", "gpu")


def queue(name, quota, cohort="", preemption=Preemption(), **more):  # noqa: B008 - immutable
    group = ResourceGroup(("gpu",), (FlavorQuotas("f", {"gpu": quota}),))
    return ClusterQueue(name, cohort, (group,), preemption=preemption, **more)


def rights(*queues, cohorts=(), **more):
    objects = KueueObjects(
        {q.name: q for q in queues}, {c.name: c for c in cohorts}, flavors={"f": ResourceFlavor("f")}, **more
    )
    return KueueRights(objects)


ANY = Preemption("LowerPriority", "Any")


def test_what_is_lent_is_sure_only_when_it_can_be_taken_back():
    found = rights(
        queue("sure", Quota(8), "c", ANY),
        queue("kept", Quota(8, None, 3), "c"),
        queue("lent", Quota(8), "c"),
        queue("alone", Quota(8)),
    )
    assert [found.guarantee(q, *GPU) for q in ("sure", "kept", "lent", "alone")] == [8, 5, 0, 8]
    assert [found.kept(q, *GPU) for q in ("sure", "kept", "lent", "alone")] == [0, 5, 0, 8]
    assert [(s.queue, s.promised, s.available) for s in found.shortfalls()] == [
        ("kept", 8, 5),
        ("lent", 8, 0),
    ]
    assert all("reclaimWithinCohort is Never" in s.why for s in found.shortfalls())


def test_potential_and_burst():
    found = rights(queue("a", Quota(8, 2), "c", ANY), queue("b", Quota(8, None, 3), "c", ANY))
    assert found.potential("a", *GPU) == 10
    assert found.burst("a", *GPU) == 2
    assert found.potential("b", *GPU) == 16
    assert found.burst("b", *GPU) == 8
    assert rights(queue("u", Quota(UNLIMITED))).burst("u", *GPU) == UNLIMITED


def test_a_queue_that_takes_no_workloads_guarantees_nothing_but_still_lends():
    found = rights(queue("held", Quota(8), "c", ANY, stop_policy="Hold"), queue("b", Quota(0), "c"))
    assert found.guarantee("held", *GPU) == 0
    assert found.potential("b", *GPU) == 8
    assert found.shortfalls()[0].why == "the queue is inactive: Stopped"


def test_what_is_not_there_has_no_rights():
    found = rights(queue("a", Quota(8)))
    assert found.queues() == ["a"]
    assert found.resources("a") == [GPU]
    assert found.resources("zz") == []
    assert found.guarantee("zz", *GPU) == found.potential("a", "other", "gpu") == found.burst("zz", *GPU) == 0
    assert found.may_take("a", "zz") == {}


def what(taking):
    return taking.reason, taking.lower_only, taking.at_most


@pytest.mark.parametrize(
    ("preemption", "fair", "own", "borrowing"),
    [
        (Preemption(), False, ("", False, None), ("", False, None)),
        (Preemption("Never", "Any"), False, ("InCohortReclamation", False, None), ("", False, None)),
        (Preemption("Never", "LowerPriority"), False, ("InCohortReclamation", True, None), ("", False, None)),
        (
            Preemption("Never", "Any", BorrowWithinCohort("LowerPriority", 5)),
            False,
            ("InCohortReclamation", False, None),
            ("InCohortReclaimWhileBorrowing", True, 5),
        ),
        (
            Preemption("Never", "LowerPriority"),
            True,
            ("InCohortReclamation", True, None),
            ("InCohortFairSharing", True, None),
        ),
    ],
)
def test_the_policy_of_the_taker_decides(preemption, fair, own, borrowing):
    more = {"configuration": Configuration(fair_sharing=FairSharing())} if fair else {}
    found = rights(queue("a", Quota(4), "c", preemption), queue("b", Quota(4), "c", ANY), **more)
    taking = found.may_take("a", "b")
    assert what(taking["own"]) == own
    assert what(taking["borrowing"]) == borrowing


def test_own_workloads_and_strangers():
    newer = Preemption("LowerOrNewerEqualPriority", "Any")
    found = rights(
        queue("a", Quota(4), "c", newer),
        queue("b", Quota(4), "other"),
        queue("n", Quota(4)),
        cohorts=[Cohort("c")],
    )
    assert found.may_take("a", "a")["any"].newer_equal
    assert found.may_take("a", "a")["any"].reason == "InClusterQueue"
    assert not found.may_take("n", "n")["any"].may
    assert found.may_take("a", "b") == {}
