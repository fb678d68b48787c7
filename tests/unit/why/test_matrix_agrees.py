"""What the policies say and what a cycle decides are the same, for any configuration."""

from hypothesis import given
from hypothesis import strategies as st

from policycheck.report.matrix import render_json, render_text
from policycheck.report.screen import Style
from policycheck.simulate.matrix import Group, Matrix, Priority, Rank, named
from policycheck.systems.kueue.contest import Arena
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
from policycheck.systems.kueue.rights import KueueRights
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
def test_policy_and_decision_agree(objects, target):
    takings = Takings(objects, objects.cluster_queues, target)
    for taker in takings.queues:
        for holder in takings.queues:
            row = takings.row(taker, holder, PRIORITIES)
            for way in row.ways:
                wrong = [cell for cell in way.cells if cell.differs]
                assert not wrong, (taker, holder, way.situation, wrong)


@given(worlds())
def test_what_happens_is_allowed_by_the_rights(objects):
    takings, rights = Takings(objects, objects.cluster_queues), KueueRights(objects)
    for taker in takings.queues:
        for holder in takings.queues:
            row = takings.row(taker, holder, PRIORITIES, run=False)
            may = rights.may_take(taker, holder)
            assert any(taking.may for taking in may.values()) or not row.happens
            assert {t.reason for t in may.values()} <= {way.taking.reason for way in row.ways}


@given(worlds(), st.data())
def test_what_happens_in_any_situation_is_in_the_matrix(objects, data):
    """Quota held at random, a taker at random: whoever is taken stands in the matrix, with the reason."""
    objects = objects._replace(configuration=Configuration())
    arena, names = (
        Arena(objects, objects.cluster_queues, ("a", GPU), Target()),
        sorted(objects.cluster_queues),
    )
    session = arena._session.fork()
    tree, held = session.trees[arena.number], []
    for number in range(data.draw(st.integers(1, 8))):
        name = data.draw(st.sampled_from(names))
        free = tree.free(arena.place[name])
        if free:
            amount = data.draw(st.integers(1, min(free, 8)))
            tree.add(arena.place[name], amount)
            priority = data.draw(st.sampled_from([1, 10, 100]))
            held.append(arena.holding(name, f"h{number}", amount, priority, "2026-01-01T00:00:01Z"))
    taker = data.draw(st.sampled_from(names))
    ask = arena.asking(
        taker,
        "taker",
        data.draw(st.integers(1, 6)),
        data.draw(st.sampled_from([1, 10, 100])),
        "2026-01-01T00:00:02Z",
    )
    session = arena._session.fork()
    session.offer([*held, ask])
    takings = Takings(objects, names)
    for victim in (v for decision in session.cycle(1 << 62) for v in decision.victims):
        ways = takings.row(taker, victim.queue, PRIORITIES, run=False).ways
        assert victim.reason in {way.taking.reason for way in ways if way.pairs}


def two(first, second, *, fair=None, classes=PRIORITIES, **quotas):
    queues = {
        name: ClusterQueue(name, "all", group(quotas.get(name, Quota(4))), preemption=policy)
        for name, policy in (("mine", first), ("theirs", second))
    }
    objects = KueueObjects(
        cluster_queues=queues,
        flavors={"a": ResourceFlavor("a")},
        configuration=Configuration(fair_sharing=fair),
    )
    takings = Takings(objects, queues)
    rows = tuple(takings.row(t, h, classes) for t in takings.queues for h in takings.queues)
    return Matrix(
        "", tuple(classes), False, fair is not None, (Group("cohort all", takings.queues, rows),), "x"
    )


def lines(matrix):
    return render_text([matrix], Style()).split("\n\n")[-1].splitlines()


ANY, NEVER = Preemption("LowerPriority", "Any"), Preemption()


def test_the_policy_is_that_of_the_taker():
    assert lines(two(ANY, NEVER)) == [
        "cohort all",
        "  mine",
        "    from itself: lower priority                                   InClusterQueue",
        "    from theirs: any priority, to get back its own quota     InCohortReclamation",
        "  theirs",
        "    not from itself: withinClusterQueue is Never",
        "    not from mine: reclaimWithinCohort is Never",
    ]


def test_what_is_never_lent_is_never_taken_back():
    found = two(ANY, ANY, mine=Quota(4, None, 0))
    assert lines(found)[3:5] == [
        "    not from theirs: its own quota is never on loan there and",
        "      borrowWithinCohort is Never",
    ]


def test_shares_are_a_condition():
    """Who owns nothing takes from who borrows more; the cohort's own quota is what both borrow."""
    queues = {name: ClusterQueue(name, "all", group(Quota(0)), preemption=ANY) for name in ("mine", "theirs")}
    objects = KueueObjects(
        cluster_queues=queues,
        cohorts={"all": Cohort("all", "top", group(Quota(6)))},
        flavors={"a": ResourceFlavor("a")},
        configuration=Configuration(fair_sharing=FairSharing()),
    )
    way = Takings(objects, queues).row("mine", "theirs", PRIORITIES).ways[-1]
    assert (way.situation, way.taking.reason, way.happens) == ("borrowing", "InCohortFairSharing", True)
    assert {cell.ran for cell in way.cells} == {"InCohortFairSharing"}
    assert "share" in way.taking.when


def test_a_difference_is_shown_as_a_fault_of_ours():
    matrix = two(ANY, NEVER)
    row = matrix.groups[0].rows[1]
    way = row.ways[0]
    wrong = way._replace(cells=(way.cells[0]._replace(ran=""), *way.cells[1:]))
    broken = matrix._replace(groups=(Group("g", ("mine", "theirs"), (row._replace(ways=(wrong,)),)),))
    assert len(broken.differing) == 1
    assert "internal error" in render_text([broken], Style())
    assert '"differing": 1' in render_json([broken])


def test_without_classes_priorities_stand_for_an_order():
    assert named({}) == ((Priority("higher", 1), Priority("lower", 0)), True)
    assert named({"only": 5})[0] == (Priority("only", 5), Priority("no class", 0))
    assert [p.name for p in named({"a": 1, "b": 2})[0]] == ["b", "a"]


def test_unlimited_quota_is_never_contested():
    found = two(ANY, ANY, mine=Quota((1 << 63) - 1), theirs=Quota((1 << 63) - 1))
    assert not found.differing
    assert not any(row.happens for group_ in found.groups for row in group_.rows)


def test_relations_of_two_priorities():
    assert [Rank(5, v).relation for v in (4, 5, 6)] == ["lower", "equal and older", "higher"]
    assert Rank(5, 5, True).relation == "equal and newer"
