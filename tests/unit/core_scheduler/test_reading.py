"""What a pod template says about other pods."""

from __future__ import annotations

from policycheck.model.placement import PodAffinity, PodTerm, Requirement, Selector, Spread, WeightedPodTerm
from policycheck.systems.core.podspec import pod_set

X = Selector((Requirement("app", "In", ("x",)),))


def read(spec, labels=None):
    troubles = []
    template = {"metadata": {"labels": labels or {}}, "spec": spec}
    found = pod_set("main", 1, template, (), troubles)
    assert troubles == []
    return found


def term(**more):
    return {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "zone", **more}


def required(*terms):
    return {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}


def test_nothing_said():
    assert read({}).neighbours is None
    assert read({"affinity": {"nodeAffinity": {}}}).neighbours is None
    assert read({}).spread == ()


def test_affinity_and_anti_affinity():
    found = read(
        {
            "affinity": {
                "podAffinity": required(term(namespaces=["a", "b"])),
                "podAntiAffinity": {
                    **required(term(namespaceSelector={}), {"topologyKey": "host"}),
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 30, "podAffinityTerm": term()},
                    ],
                },
            }
        }
    )
    assert found.neighbours == PodAffinity(
        (PodTerm("zone", X, ("a", "b")),),
        (PodTerm("zone", X, (), Selector()), PodTerm("host", None)),
        (WeightedPodTerm(-30, PodTerm("zone", X)),),
    )


def test_keys_of_the_pods_own_labels_are_resolved():
    affinity = {
        "podAffinity": required(term(matchLabelKeys=["release", "missing"], mismatchLabelKeys=["tenant"]))
    }
    found = read({"affinity": affinity}, {"release": "1", "tenant": "t"})
    (one,) = found.neighbours.near
    assert one.selector.requirements[1:] == (
        Requirement("release", "In", ("1",)),
        Requirement("tenant", "NotIn", ("t",)),
    )


def test_spread_with_and_without_defaults():
    plain = {"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}
    full = {
        "topologyKey": "host",
        "maxSkew": 1,
        "minDomains": 3,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["release"],
    }
    found = read({"topologySpreadConstraints": [plain, full]}, {"release": "1"})
    narrowed = Selector((*X.requirements, Requirement("release", "In", ("1",))))
    assert found.spread == (
        Spread("zone", 2, True, None),
        Spread("host", 1, False, narrowed, 3, heeds_affinity=False, heeds_taints=True),
    )


def test_malformed_parts_are_read_past():
    found = read(
        {
            "affinity": {
                "podAffinity": required(None, {"topologyKey": 5, "labelSelector": []}),
                "podAntiAffinity": 3,
            },
            "topologySpreadConstraints": [None, {"maxSkew": "many"}],
        }
    )
    assert found.neighbours.near == (PodTerm("", None), PodTerm("5", None))
    assert found.spread == (Spread("", 1, True, None), Spread("", 1, True, None))
