"""Which workload a name means."""

import pytest

from policycheck.model.origin import ObjectKey
from policycheck.model.workload import PodSet, Workload
from policycheck.systems.core.link import CoreState
from policycheck.systems.kueue.model import Configuration, KueueObjects, KueueWorkload
from policycheck.systems.kueue.state import KueueState
from policycheck.systems.kueue.why.find import UnknownWorkloadError, choose, known, unmanaged

LABEL = "kueue.x-k8s.io/queue-name"
POD = PodSet("main", 1, {})


def job(namespace, name, kind="Job", group="batch", **more):
    return Workload(ObjectKey(group, kind, namespace, name), "batch", (POD,), **more)


def made(namespace, name, number=""):
    source = ObjectKey("batch", "Job", namespace, name)
    return KueueWorkload(namespace, f"job-{name}{number}", "q", (POD,), source=source)


def state(*workloads, configuration=Configuration()):  # noqa: B008 - immutable
    objects = KueueObjects(
        workloads={(w.namespace, w.name): w for w in workloads}, configuration=configuration
    )
    return KueueState(objects, {}, {}, {}, frozenset())


def core(*jobs):
    return CoreState(workloads={j.key: j for j in jobs})


NAMED = [(0, n) for n in known(state(made("a", "train"), made("b", "train"), made("a", "eval")), core())]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("a/job-train", "a/job-train"),
        ("b/train", "b/job-train"),
        ("Job/eval", "a/job-eval"),
        ("job/eval", "a/job-eval"),
        ("a/job/train", "a/job-train"),
        (" eval ", "a/job-eval"),
    ],
)
def test_every_way_of_naming_one(asked, found):
    assert choose(asked, NAMED)[1].id == found


def test_what_could_be_several_is_not_guessed():
    with pytest.raises(UnknownWorkloadError, match="could be a/job-train, b/job-train"):
        choose("train", NAMED)
    twice = [*NAMED, (1, NAMED[0][1])]
    with pytest.raises(UnknownWorkloadError, match="is in 2 scopes"):
        choose(NAMED[0][1].id, twice)


def test_what_is_near_is_offered():
    with pytest.raises(UnknownWorkloadError, match="did you mean a/job-eval"):
        choose("job/evla", NAMED)
    with pytest.raises(UnknownWorkloadError, match="there are a/job-eval"):
        choose("zzzzzz", NAMED)
    with pytest.raises(UnknownWorkloadError, match="nor any other"):
        choose("x", [])


def test_one_object_that_becomes_several_is_one_name():
    found = known(state(made("a", "train", "-0"), made("a", "train", "-1")), core(job("a", "train")))
    assert [(n.id, n.alike) for n in found] == [("a/job-train-0", 2)]


def test_jobs_in_no_queue_are_known_too():
    found = known(state(made("a", "train")), core(job("a", "train"), job("a", "loose")))
    assert [(n.id, n.queued is None) for n in found] == [("a/job-train", False), ("a/loose", True)]


@pytest.mark.parametrize(
    ("workload", "configuration", "held", "text"),
    [
        (job("a", "x"), Configuration(), False, "no label"),
        (job("kube-system", "x"), Configuration(), False, "leaves namespace kube-system alone"),
        (job("a", "x", "Widget", "example.com"), Configuration(), False, "no integration for Widget"),
        (job("a", "x"), Configuration(frameworks=("pod",)), False, "batch/job is not enabled"),
        (job("a", "x"), Configuration(manage_jobs_without_queue_name=True), True, "holds back every job"),
        (
            job("a", "x")._replace(pod_sets=(POD._replace(labels={LABEL: "q"}),)),
            Configuration(),
            False,
            "on its pods, not on the Job itself",
        ),
    ],
)
def test_why_no_workload_is_made(workload, configuration, held, text):
    answer = unmanaged(workload, state(configuration=configuration), core(workload))
    assert answer[0] is held
    assert text in answer[1]
