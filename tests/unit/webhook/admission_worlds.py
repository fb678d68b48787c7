"""Clusters out of the examples of rules, and what linting all of one before and after a change finds."""

import functools
import random
from pathlib import Path

import yaml

from policycheck.app.admission import Change, Judge
from policycheck.app.bench import Bench
from policycheck.app.book import rulebook, systems
from policycheck.app.novelty import suppressions
from policycheck.app.reach import TOGETHER, is_work
from policycheck.app.sides import Run
from policycheck.app.world import World, read
from policycheck.lint import runner
from policycheck.lint.settings import Settings, Target
from policycheck.model.cluster import Entry, replace
from policycheck.model.origin import Origin
from policycheck.source.document import Span

RULES = Path(__file__).parents[3] / "rules"
TARGETS = {"kueue": Target("kueue", "0.19")}
KUEUE = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"


@functools.cache
def book():
    return rulebook()


@functools.cache
def examples():
    """The objects of every example of every rule that can stand in a cluster, example by example."""
    found = []
    for file in sorted(RULES.glob("*/*.yaml")):
        rule = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        for side in ("bad", "good"):
            for one in (rule.get("examples") or {}).get(side, []):
                texts = [one[key] for key in ("manifest", "context", "inventory", "before") if key in one]
                objects = [o for text in texts if isinstance(text, str) for o in _objects(text)]
                if objects:
                    found.append(objects)
    return found


def _objects(text):
    try:
        documents = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError):
        return  # some rules are about what is no YAML
    for value in documents:
        items = value.get("items", []) if isinstance(value, dict) and value.get("kind") == "List" else [value]
        for one in items:
            if not isinstance(one, dict) or not isinstance(one.get("kind"), str):
                continue
            meta = one.get("metadata")
            if one["kind"] == "Configuration" or (
                isinstance(meta, dict) and isinstance(meta.get("name"), str)
            ):
                yield one


def judge_of(world, settings=None):
    return Judge(Bench(world, book(), systems(), settings or Settings(), TARGETS))


def draw(rng, known, groups):
    """A random change of a cluster that knows these objects, or None."""
    chance = rng.random()
    if chance < 0.25 and known:
        return Change(known[rng.choice(sorted(known))], None)
    source = rng.choice(groups) if rng.random() < 0.5 else rng.choice(examples())
    value = rng.choice(source)
    facts = read(value)
    if facts.key.kind in ("Node", "ResourceSlice"):
        return None
    if chance < 0.6:
        same = [key for key in sorted(known) if key.kind == facts.key.kind and key != facts.key]
        if same:
            key = rng.choice(same)
            meta = {
                **value["metadata"],
                "name": key.name,
                **({"namespace": key.namespace} if key.namespace else {}),
            }
            facts = read({**value, "metadata": meta})
    return Change(known.get(facts.key), facts)


def lint(cluster):
    """Every finding of a cluster, by fingerprint; not of idle suppressions, which only a whole shows."""
    marks = tuple(mark for i in cluster.entries for mark in suppressions(cluster, i))
    found = runner.run(
        runner.Job(
            clusters=(cluster,),
            rulebook=book(),
            systems=systems(),
            locate=lambda *_: Span(1, 1, 1, 1),
            targets={cluster.scope: TARGETS},
            suppressions=marks,
        )
    )
    return {f.fingerprint: f for f in found.findings if f.name != "suppression-unused"}


def wanted(before, after, change):
    """What is new: the rules about all declared work together are not asked of a single workload."""
    apart = {rule.id for rule in book().rules if rule.check in TOGETHER} if is_work(change.facts) else set()
    was, now = lint(before), lint(after)
    return {mark: f for mark, f in now.items() if mark not in was and f.rule not in apart}


def both(world, judge, change):
    """The cluster before and after, with the waiting workloads that the judge looks at too."""
    base = world.cluster()
    key = change.facts.key
    ids = base.index.ids(key)

    def side(facts):
        changes = dict.fromkeys(ids)
        if facts is not None:
            first = ids[0] if ids else world.identity(key)
            changes[first] = Entry(facts, Origin(first, 1, "changed"))
        return replace(base, changes, base.inventory) if changes else base

    before, after = side(change.old), side(change.new)
    run = Run(judge.bench, change, -1, lambda: False, None, "")
    sides = run.sides(base)
    more = {i: e for i, e in sides.after.entries.items() if i not in after.entries}
    if more:
        before, after = (replace(c, more, c.inventory) for c in (before, after))
    return before, after


def queue(name, nominal=8, cohort="", flavor="h100", **spec):
    group = {
        "coveredResources": [GPU],
        "flavors": [{"name": flavor, "resources": [{"name": GPU, "nominalQuota": nominal}]}],
    }
    made = {"resourceGroups": [group], "namespaceSelector": {}, **spec}
    if cohort:
        made["cohortName"] = cohort
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": made}


def local(name, space, leads):
    meta = {"name": name, "namespace": space}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": meta, "spec": {"clusterQueue": leads}}


def flavor(name="h100"):
    labels = {"nvidia.com/gpu.product": name.upper()}
    meta = {"name": name}
    return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": meta, "spec": {"nodeLabels": labels}}


def node(name, gpus=8, product="H100", **labels):
    amounts = {"cpu": "192", "memory": "2000Gi", GPU: str(gpus), "pods": "110"}
    every = {"nvidia.com/gpu.product": product, "kubernetes.io/hostname": name, **labels}
    status = {
        "allocatable": amounts,
        "capacity": amounts,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": every}, "status": status}


def job(name, space="team-a", queue="main", pods=1, gpus=1, **meta):
    amounts = {GPU: gpus}
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    container = {"name": "main", "resources": {"requests": amounts, "limits": amounts}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": space, "labels": labels, **meta},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "suspend": True,
            "template": {"spec": {"containers": [container], "restartPolicy": "Never"}},
        },
    }


def small(*more, queues=2):
    """A cluster in order: queues of 8 GPUs each, as many nodes of 8."""
    world = World("live", required=())
    for one in (
        flavor(),
        *(node(f"n{n}") for n in range(queues)),
        *(queue(f"team-{n}", cohort="all") for n in range(queues)),
        *(local("main", f"team-{'abcdefgh'[n]}", f"team-{n}") for n in range(min(8, queues))),
        *(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{c}"}}
            for c in "abcdefgh"[:queues]
        ),
        *more,
    ):
        world.put(one)
    return world


def rng(seed):
    return random.Random(seed)
