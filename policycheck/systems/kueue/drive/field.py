"""What Workloads with quota want of nodes, and how far Kueue's own placements are spread.

On start Kueue adds the labels of a podset's flavors to its selector, and their tolerations (documentation
"Resource Flavor"). A topology that goes down to the hostname names the node; any other names a domain,
in which the default scheduler chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policycheck.model.workload import PodSet
from policycheck.simulate.events import NEVER, Spread
from policycheck.simulate.job import Job
from policycheck.simulate.measure import least_domains
from policycheck.simulate.placer import Set, Where
from policycheck.simulate.scheduler import Grant, SetGrant
from policycheck.systems.kueue.model import ResourceFlavor
from policycheck.systems.kueue.scheduler.domains import HOSTNAME, Domains
from policycheck.systems.kueue.scheduler.session import Session

_Labels = tuple[tuple[str, str], ...]


class Field:
    """Grants of one session as demands on nodes. Podsets with the flavors they got are made once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._flavors = session.world.objects.flavors
        self._made: dict[tuple[int, tuple[str, ...], _Labels], tuple[PodSet, PodSet]] = {}

    def sets(self, job: Job, grant: Grant) -> list[Set]:
        """Every podset with quota, as its flavors and its domains change it."""
        specs = {spec.name: spec for spec in job.pod_sets}
        found: list[Set] = []
        for given in grant.sets:
            spec = specs.get(given.name)
            if spec is not None:
                found += self._of(job, spec, given)
        return found

    def _of(self, job: Job, spec: PodSet, given: SetGrant) -> Iterable[Set]:
        flavors = tuple(dict.fromkeys(given.flavors.values()))
        if given.placement is None:
            yield Set(self._spec(spec, flavors, ()), given.pods, job.models, job.milli)
            return
        levels, domains = given.placement
        if levels[-1] == HOSTNAME:
            fixed = tuple((values[-1], pods) for values, pods in domains)
            yield Set(self._spec(spec, flavors, ()), given.pods, job.models, job.milli, fixed)
            return
        for values, pods in domains:
            where = tuple(zip(levels, values, strict=True))
            yield Set(self._spec(spec, flavors, where), pods, job.models, job.milli)

    def _spec(self, spec: PodSet, flavors: tuple[str, ...], where: _Labels) -> PodSet:
        key = (id(spec), flavors, where)
        found = self._made.get(key)
        if found is None or found[0] is not spec:
            known = [self._flavors[name] for name in flavors if name in self._flavors]
            found = self._made[key] = (spec, _changed(spec, known, dict(where)))
        return found[1]

    def where(self, grant: Grant) -> Where:
        """The lowest domains that were chosen: nodes, where the topology goes down to the hostname."""
        found: dict[str, int] = {}
        for one in grant.sets:
            for values, pods in one.placement[1] if one.placement is not None else ():
                found[values[-1]] = found.get(values[-1], 0) + pods
        return tuple(found.items())

    # -- how far a gang is spread -------------------------------------------------------------------

    def spread(self, job: Job, grant: Grant) -> Spread:
        """Domains spanned at every level above the hostname by all podsets together, and the least possible
        with what was free then (for several podsets a bound: the most that one of them needs).
        """
        land = self._session.land
        if land is None:
            return ()
        spanned: dict[str, set[int]] = {}
        least: dict[str, int] = {}
        specs = {spec.name: spec for spec in job.pod_sets}
        for given in grant.sets:
            flavor = next((f for f in given.flavors.values() if f in land.fields), "")
            if given.placement is None or not flavor:
                continue
            domains = land.fields[flavor]
            leaves = [domains.where[v] for v, _ in given.placement[1] if v in domains.where]
            for level, key in enumerate(domains.levels):
                if key == HOSTNAME:
                    continue
                here = {domains.above(leaf, level) for leaf in leaves}
                spanned.setdefault(key, set()).update(here)
                needs = 1 if len(here) == 1 else self._least(domains, flavor, level, given, specs[given.name])
                least[key] = max(least.get(key, 1), needs)
        return tuple((key, len(here), min(least[key], len(here))) for key, here in spanned.items())

    def _least(self, domains: Domains, flavor: str, level: int, given: SetGrant, spec: PodSet) -> int:
        """The fewest domains of a level that could have held the podset just before it was placed."""
        land = self._session.land
        assert land is not None  # noqa: S101 - asked where there is one
        asks = [(r, amount) for r, amount in spec.requests.items() if amount > 0]
        columns = [(domains.free.get(r, []), land.used(flavor, r), amount) for r, amount in asks]
        own = {domains.where[v]: n for v, n in given.placement[1]} if given.placement is not None else {}
        held: dict[int, int] = {}
        for leaf in range(domains.leaves):
            if not domains.live[leaf]:
                continue
            fits = min(
                ((free[leaf] - used[leaf]) // a if free else 0 for free, used, a in columns), default=0
            )
            pods = max(0, fits) + own.get(leaf, 0)
            if pods:
                domain = domains.above(leaf, level)
                held[domain] = held.get(domain, 0) + pods
        return least_domains(held.values(), given.pods) or 1

    # -- what there is ------------------------------------------------------------------------------

    def total(self, resource: str) -> int:
        """What usable nodes of flavors with a topology have of ``resource``, each node once."""
        land = self._session.land
        if land is None:
            return NEVER
        nodes = {n.name: n for d in land.fields.values() for machines in d.machines for n in machines}
        return sum((node.free(resource) or 0) * max(1, node.machines) for node in nodes.values())


def _changed(spec: PodSet, flavors: Iterable[ResourceFlavor], where: Mapping[str, str]) -> PodSet:
    """The podset as it is started: selectors and tolerations of its flavors, labels of its domain."""
    selector = {**spec.node_selector, **where}
    tolerations = spec.tolerations
    for flavor in flavors:
        selector.update(flavor.node_labels)
        tolerations += tuple(t for t in flavor.tolerations if t not in tolerations)
    return spec._replace(node_selector=selector, tolerations=tolerations)
