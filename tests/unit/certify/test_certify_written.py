"""Promises as they are written: what is read, what is refused with its place, what is derived and marked."""

from __future__ import annotations

import pytest
import yaml

from policycheck.app import lint_texts
from policycheck.certify.claims import MODULES, NAMES, UnknownClaimError, claims, find
from policycheck.certify.promise import TeamPromise
from policycheck.certify.written import WrittenError, problems_of, read, settle
from policycheck.lint.settings import Settings
from policycheck.model.inventory import Inventory, Node

HEAD = {"apiVersion": "policycheck.dev/v1", "kind": "Promises"}
GPU = "nvidia.com/gpu"


class Arena:
    """As much of an arena as promises are settled with."""

    scope = ""
    classes = {"high": 1000, "low": 10}
    pod_classes = {"batch": 5}
    accelerators = (GPU, "nvidia.com/mig-1g.10gb")
    inventory = Inventory((Node("n", {"rack": "a"}, allocatable={GPU: 8}),), known=True)
    quota = {
        "a": {("h100", GPU): 8, ("h100", "cpu"): 64000},
        "b": {("h100", GPU): 4},
        "idle": {("h100", "cpu"): 1},
    }

    def queues(self):
        return sorted(self.quota)

    def nominal(self, queue):
        return self.quota[queue]


def settled(text, **more):
    value = {**HEAD, **yaml.safe_load(text)}
    return settle(
        read(value), Arena(), source="p.yaml", digest="ab", at=lambda path: ".".join(map(str, path)), **more
    )


def team(text):
    return settled("teams:\n  - " + text.replace("\n", "\n    ")).promises.teams[0]


def test_everything_that_can_be_promised():
    found = settled(
        """
teams:
  - name: alpha
    owner: alpha@example.com
    queues: [a, b]
    guarantee: {nvidia.com/gpu: {h100: 8, l4: 2}, cpu: 64}
    burst: 12.5%
    within: 1h30m
    preemptions: 2
    shapes:
      - name: train
        queues: a
        count: 3
        pods: 4
        gpus: 8
        requests: {cpu: 500m, memory: 1Gi}
        topology: {required: rack, sliceLevel: rack, sliceSize: 2}
        nodeSelector: {gpu: h100}
        tolerations: [{key: gpu, operator: Exists}]
        priorityClass: high
        podPriorityClass: batch
        maxRunTime: 2d
      - name: pair
        podSets: [{name: head, requests: {cpu: 1}}, {name: worker, pods: 2, gpus: 1}]
protection: {protected: high, experiments: [], serving: [high], while: always}
losses: {nodes: 1, domain: rack}
gangs: {wholeWithin: 30m}
topology: {maxDomains: 1}
thrash: {preemptions: 3}
slo:
  - {stream: production, seeds: [1, 2], horizon: 7d, wait: {p90: 4h}, preempted: 5%, stretch: {p99: 2.5}, utilisation: 60%}
checks: {spot: 10m}
required: [guarantee-honoured, slo]
"""
    )
    promises = found.promises
    assert found.unclear == ()
    alpha = promises.teams[0]
    assert alpha._replace(shapes=()) == TeamPromise(
        "alpha",
        ("a", "b"),
        {GPU: 10, "cpu": 64000},
        {("h100", GPU): 8, ("l4", GPU): 2},
        125,
        (),
        5_400_000,
        2,
        "",
        (),
        "teams.0",
    )
    train, pair = alpha.shapes
    assert (train.name, train.priority, train.limit, train.jobs, train.queues) == (
        "train",
        1000,
        172_800_000,
        3,
        ("a",),
    )
    (pods,) = train.pod_sets
    assert (pods.pods, pods.requests, pods.priority_class) == (
        4,
        {"cpu": 500, "memory": 2**30, GPU: 8},
        "batch",
    )
    assert pods.topology is not None
    assert (pods.topology.mode, pods.topology.level, pods.topology.slice_size) == ("required", "rack", 2)
    assert [(s.name, s.pods, s.requests) for s in pair.pod_sets] == [
        ("head", 1, {"cpu": 1000}),
        ("worker", 2, {GPU: 1}),
    ]
    assert promises.protection.protected == ("high",)
    assert promises.protection.experiments == ()
    assert promises.protection.mode == "always"
    assert (promises.losses.nodes, promises.losses.level) == (1, "rack")
    assert (promises.whole_within, promises.domains, promises.thrash) == (1_800_000, 1, 3)
    assert promises.slo[0].stretch == {"p99": 2500}
    assert promises.required == ("guarantee-honoured", "slo")
    assert (promises.owners, promises.source, promises.digest) == (
        {"alpha": "alpha@example.com"},
        "p.yaml",
        "ab",
    )
    assert promises.derived == ()


def test_what_is_not_written_is_derived_and_marked():
    found = settled("teams: [{name: a, owner: x}]").promises
    first, second = found.teams
    assert (first.name, first.queues, first.guarantee) == ("a", ("a",), {GPU: 8})
    assert first.derived == ("queues", "guarantee", "shapes")
    assert (second.name, second.guarantee) == ("b", {GPU: 4})
    assert found.derived == ("team b", "protection.protected", "protection.experiments")
    assert (found.protection.protected, found.protection.experiments) == (("high",), ("low",))


def test_a_class_is_not_derived_for_both_roles():
    found = settled("protection: {protected: [high, low]}").promises.protection
    assert (found.protected, found.experiments, found.derived) == (("high", "low"), (), ("experiments",))


def test_a_team_without_a_queue_of_its_name_has_none():
    assert settled("teams: [{name: ghost, guarantee: {nvidia.com/gpu: 1}}]").promises.teams[0].queues == ()


def test_what_means_nothing_in_this_scope_is_said_with_its_place():
    found = settled(
        """
teams:
  - name: a
    shapes:
      - {name: s, gpus: 1, priorityClass: hihg, podPriorityClass: none, topology: {preferred: block}}
losses: {domain: zone}
"""
    )
    assert [line.partition(":")[0] for line in found.unclear] == [
        "teams.0.shapes.0.priorityClass",
        "teams.0.shapes.0.podPriorityClass",
        "teams.0.shapes.0.topology.preferred",
        "losses.domain",
    ]
    assert "did you mean 'high'" in found.unclear[0]


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("teams: [{name: a, queue: x}]", "teams.0.queue", "did you mean 'queues'"),
        ("teams: [{owner: x}]", "teams.0.name", "is missing"),
        ("teams: {a: 1}", "teams", "write a list"),
        ("teams: [{name: a/b}]", "teams.0.name", "a name has letters"),
        ("teams: [{name: a, burst: 0.5}]", "teams.0.burst", "write 0% to 100%"),
        ("teams: [{name: a, burst: 101%}]", "teams.0.burst", "write 0% to 100%"),
        ("teams: [{name: a, within: soon}]", "teams.0.within", "write a number with a unit"),
        ("teams: [{name: a, within: 0s}]", "teams.0.within", "is above"),
        ("teams: [{name: a, guarantee: {gpu: 6x}}]", "teams.0.guarantee.gpu", "not a quantity"),
        ("teams: [{name: a, guarantee: {gpu: {f: -1}}}]", "teams.0.guarantee.gpu", "0 or more"),
        ("teams: [{name: a, preemptions: true}]", "teams.0.preemptions", "write a whole number"),
        ("teams: [{name: a, isolated: x, burst: 5%}]", "teams.0", "borrows nothing"),
        ("teams: [{name: a, shapes: [{name: s}]}]", "teams.0.shapes.0", "asks for nothing"),
        ("teams: [{name: a, shapes: [{name: s, gpus: 1, pods: 0}]}]", "teams.0.shapes.0.pods", "1 or more"),
        (
            "teams: [{name: a, shapes: [{name: s, gpus: 1}, {name: s, gpus: 1}]}]",
            "teams.0",
            "stands there twice",
        ),
        (
            "teams: [{name: a, queues: q, shapes: [{name: s, gpus: 1, queues: r}]}]",
            "teams.0",
            "none of the team's: q",
        ),
        (
            "teams: [{name: a, shapes: [{name: s, pods: 2, podSets: [{gpus: 1}]}]}]",
            "teams.0.shapes.0",
            "each podset's own",
        ),
        (
            "teams: [{name: a, shapes: [{name: s, gpus: 1, topology: {required: a, preferred: b}}]}]",
            "teams.0.shapes.0.topology",
            "found required and preferred",
        ),
        (
            "teams: [{name: a, shapes: [{name: s, gpus: 1, topology: {required: a, sliceSize: 2}}]}]",
            "teams.0.shapes.0.topology",
            "go together",
        ),
        ("teams: [{name: a}, {name: a}]", "", "a stands there twice"),
        ("teams: [{name: a, queues: q}, {name: b, queues: q}]", "", "queue q is of a and of b"),
        ("protection: {while: sometimes}", "protection.while", "'within-guarantee', 'always'"),
        ("protection: {protected: x, experiments: x}", "protection", "one of the two"),
        ("losses: {node: 1}", "losses.node", "did you mean 'nodes'"),
        ("gangs: {}", "gangs.wholeWithin", "is missing"),
        ("topology: {maxDomains: 0}", "topology.maxDomains", "1 or more"),
        ("slo: [{stream: x}]", "slo.0", "bounds nothing"),
        ("slo: [{stream: x, wait: {p91: 1h}}]", "slo.0.wait.p91", "'p90'"),
        ("slo: [{stream: x, stretch: {p90: -1}}]", "slo.0.stretch.p90", "above 0"),
        ("checks: {x: 3 fortnights}", "checks.x", "write a number with a unit"),
        ("required: [guarantee]", "required", "did you mean 'guarantees-fit'"),
        ("metadata: 7", "metadata", "map of keys and values"),
    ],
)
def test_what_can_not_be_meant_is_refused_where_it_stands(text, path, said):
    found = problems_of({**HEAD, **yaml.safe_load(text)})
    assert [".".join(map(str, problem.path)) for problem in found] == [path]
    assert said in found[0].message


def test_another_version_or_kind_is_refused():
    assert [p.path for p in problems_of({"apiVersion": "policycheck.dev/v2", "kind": "Promises"})] == [
        ("apiVersion",)
    ]
    with pytest.raises(WrittenError, match="'kind' is 'Promise'"):
        read({"apiVersion": "policycheck.dev/v1", "kind": "Promise"})


@pytest.mark.parametrize(
    "place",
    [
        ("losses",),
        ("losses", "nodes"),
        ("metadata", "name"),
        ("checks", "x"),
        ("required",),
        ("gangs", "wholeWithin"),
        ("slo", 0, "preempted"),
        ("protection", "while"),
        ("teams", 0, "guarantee", "gpu", "h100"),
    ],
)
@pytest.mark.parametrize("deep", [100, 20_000])
def test_deep_nesting_is_refused_and_raises_nothing_else(deep, place):
    value = {}
    for _ in range(deep):
        value = {"a": value}
    found = problems_of({**HEAD, **_put(place, value)})
    assert {problem.path[0] for problem in found} == ({place[0]} if place[0] != "metadata" else set())


def _put(place, value):
    for key in reversed(place):
        value = [value] if key == 0 else {key: value}
    return value


def test_lint_reports_a_slip_at_its_place_and_calls_the_file_checked():
    text = "apiVersion: policycheck.dev/v1\nkind: Promises\nteams:\n  - name: a\n    guarantees: {nvidia.com/gpu: 8}\n"
    done = lint_texts({"promises.yaml": text}, Settings())
    assert [(f.rule, f.place.span.line, f.place.span.column) for f in done.findings] == [("CR040", 5, 5)]
    assert "did you mean 'guarantee'" in done.findings[0].message
    assert [(f.file, f.state) for f in done.files] == [("promises.yaml", "checked")]


def test_lint_says_that_the_version_is_missing_once():
    done = lint_texts({"p.yaml": "kind: Promises\nteams: []\n"}, Settings())
    assert [(f.rule, f.message) for f in done.findings] == [
        ("CR040", "apiVersion is missing; write policycheck.dev/v1")
    ]


def test_every_claim_has_the_name_under_which_it_is_listed():
    for claim in claims():
        assert find(claim.name) is claim
    assert {claim.name for claim in claims()} <= set(NAMES)
    assert len(NAMES) == len(set(NAMES)) == sum(map(len, MODULES.values()))
    with pytest.raises(UnknownClaimError, match="did you mean 'burst-usable'"):
        find("burst-usabel")


def test_every_key_is_in_the_documentation_and_its_example_is_read():
    from pathlib import Path

    from policycheck.certify.writtenmodel import PromisesModel

    page = (Path(__file__).parents[3] / "docs/promises.md").read_text()
    todo, keys = [PromisesModel.model_json_schema()], set()
    while todo:
        schema = todo.pop()
        keys |= set(schema.get("properties", {}))
        todo.extend(schema.get("$defs", {}).values())
    pods = {"key", "operator", "value", "effect"}  # of a toleration, as in a pod
    assert {key for key in keys - pods if f"`{key}" not in page and f"{key}:" not in page} == set()
    example = page.split("```yaml\n")[1].split("```")[0]
    assert problems_of(yaml.safe_load(example)) == ()
