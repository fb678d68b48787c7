"""What every check needs: the state, documents by kind, places inside queues, and words for lists."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts
from policycheck.model.origin import DocumentId, ObjectKey, Path
from policycheck.systems.core.link import CoreState
from policycheck.systems.core.podspec import items, mapping
from policycheck.systems.kueue import CONFIG_GROUP, GROUP, sums
from policycheck.systems.kueue.model import Configuration
from policycheck.systems.kueue.state import FlavorResource, KueueState, Tree
from policycheck.wording import join

Found = Iterator[Hit | Skip]
Params = Mapping[str, object]
T = TypeVar("T")
_WORD_ENDS = re.compile(r"[-_.]")
_SEVERAL = 2
# east and west are this near, train and trian are nearer.
_ANOTHER = 0.75


def derived(cluster: Cluster, make: Callable[[Cluster], T]) -> T:
    """What ``make`` gives for ``cluster``, worked out once for all the checks that ask.

    A Cluster is frozen and ``make`` a pure function of it, so this is a property that it keeps.
    """
    kept: dict[object, object] = cluster.__dict__.setdefault("_derived", {})
    if make not in kept:
        kept[make] = make(cluster)
    return cast("T", kept[make])


def settled(cluster: Cluster, make: Callable[[Cluster], T]) -> T:
    """The same for what workloads have no part in: a cluster that differs from another in workloads alone has
    it from that one (``inherit``), worked out there, on all of its queues.
    """
    while (whole := cluster.__dict__.get("_whole")) is not None:
        cluster = whole
    kept: dict[object, object] = cluster.__dict__.setdefault("_settled", {})
    if make not in kept:
        kept[make] = make(cluster)
    return cast("T", kept[make])


def inherit(cluster: Cluster, older: Cluster, *, same_queues: bool) -> None:
    """Lets ``cluster`` have what is worked out for ``older``, from which it differs in workloads (and in what is
    in focus) alone, or (not ``same_queues``) in anything but its hardware.
    """
    if same_queues:
        cluster.__dict__["_whole"] = older
    elif cluster.inventory is older.inventory:
        cluster.__dict__["_settled"] = {_shelf: shelf(older)}


def ground(cluster: Cluster) -> sums.Ground:
    """The nodes behind every flavor."""
    return settled(cluster, _ground)


def _ground(cluster: Cluster) -> sums.Ground:
    return sums.ground(state(cluster), cluster.inventory, shelf(cluster))


def ceilings(cluster: Cluster) -> sums.Ceilings:
    """What every queue could have at most."""
    return settled(cluster, _ceilings)


def _ceilings(cluster: Cluster) -> sums.Ceilings:
    return sums.Ceilings(state(cluster))


def shelf(cluster: Cluster) -> sums.Shelf:
    """The nodes by label."""
    return settled(cluster, _shelf)


def _shelf(cluster: Cluster) -> sums.Shelf:
    return sums.Shelf(cluster.inventory)


def state(cluster: Cluster) -> KueueState:
    """Kueue's state of a cluster."""
    found = cluster.systems.get("kueue")
    if not isinstance(found, KueueState):
        raise TypeError("the cluster was linked without Kueue")
    return found


def core(cluster: Cluster) -> CoreState:
    """Kubernetes' own state of a cluster."""
    found = cluster.systems.get("core")
    return found if isinstance(found, CoreState) else CoreState()


def documents(cluster: Cluster, kind: str, group: str = GROUP) -> Iterator[tuple[DocumentId, Facts]]:
    """Every document of a kind, also those that define one object differently."""
    keys = cluster.index.kinds.get((group, kind), {})
    for key in sorted(keys):
        for identity in keys[key]:
            yield identity, cluster.entries[identity].facts


def whence(cluster: Cluster, kind: str, name: str, namespace: str = "") -> DocumentId | None:
    """The first document that defines one of Kueue's objects."""
    ids = cluster.index.ids(ObjectKey(GROUP, kind, namespace, name))
    return ids[0] if ids else None


def configuration(cluster: Cluster) -> tuple[DocumentId, Facts] | Skip:
    """The one Configuration in sight, or why none can be spoken of."""
    found = list(documents(cluster, "Configuration", CONFIG_GROUP))
    if not found:
        return Skip(
            "no Configuration of Kueue is in sight; add the ConfigMap kueue-manager-config to the input"
        )
    if len({cluster.entries[identity].origin.digest for identity, _ in found}) > 1:
        return Skip(
            f"{len(found)} different Configurations of Kueue are in sight; which one holds is not known"
        )
    return found[0]


class Configured(NamedTuple):
    """The one Configuration in sight, and where it is."""

    id: DocumentId
    typed: Configuration


def configured(cluster: Cluster) -> Configured | None:
    """The one Configuration in sight; None when there is none, or several that differ."""
    where = configuration(cluster)
    if isinstance(where, Skip) or not isinstance(where[1].typed, Configuration):
        return None
    return Configured(where[0], where[1].typed)


def quota_places(value: Mapping[str, Any]) -> dict[FlavorResource, Path]:
    """Where each quota of a ClusterQueue or Cohort stands; of two for one pair, the first."""
    places: dict[FlavorResource, Path] = {}
    for flavor, path, raw in flavor_places(value):
        for m, resource in enumerate(items(mapping(raw).get("resources"))):
            name = mapping(resource).get("name")
            places.setdefault((flavor, str(name)), (*path, "resources", m))
    return places


def flavor_places(value: Mapping[str, Any]) -> Iterator[tuple[str, Path, Any]]:
    """Every flavor that a ClusterQueue or Cohort names: name, place, and what is written there."""
    for g, group in enumerate(items(mapping(value.get("spec")).get("resourceGroups"))):
        for f, flavor in enumerate(items(mapping(group).get("flavors"))):
            name = mapping(flavor).get("name")
            if isinstance(name, str) and name:
                yield name, ("spec", "resourceGroups", g, "flavors", f), flavor


def quota_place(
    cluster: Cluster, kind: str, name: str, pair: FlavorResource
) -> tuple[DocumentId, Path] | None:
    """Where a holder of quota writes the quota of one (flavor, resource)."""
    identity = whence(cluster, kind, name)
    if identity is None:
        return None
    path = quota_places(cluster.entries[identity].facts.value).get(pair)
    return None if path is None else (identity, path)


def undecided(tree: Tree) -> str:
    """Why nothing can be summed over ``tree``; "" when it can."""
    if tree.ambiguous:
        names = join([str(key) for key in tree.ambiguous])
        return (
            f"{names} {'is' if len(tree.ambiguous) == 1 else 'are'} defined differently in several documents"
        )
    if tree.cycle:
        return f"the cohorts {join(tree.cycle)} are each other's parents"
    return ""


def near(name: str, known: Iterable[str], cutoff: float = 0.75) -> str:
    """The one of ``known`` that ``name`` probably means; "" when none is near."""
    folded = {other.lower(): other for other in sorted(known, reverse=True) if other != name}
    found = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=cutoff)
    return folded[found[0]] if found else ""


def misspelt(name: str, known: Iterable[str]) -> str:
    """The one of ``known`` of which ``name`` is a misspelling; "" when that is not plain.

    ``team-1`` and ``team-2`` are two names, and so are ``queue-dws`` and ``queue-tas``, ``queue`` and
    ``queue-b``; what differs by more than a letter or two may be one too.
    """
    found = near(name, known, 0.84)
    if _without_digits(name) == _without_digits(found) or _has_other_word(name.lower(), found.lower()):
        return ""
    return found


def _has_other_word(name: str, found: str) -> bool:
    """Whether one word was added or exchanged: a long common part makes no misspelling of it."""
    mine, theirs = _WORD_ENDS.split(name), _WORD_ENDS.split(found)
    if len(mine) != len(theirs):
        short, long = sorted((mine, theirs), key=len)
        return set(short) <= set(long)
    if len(mine) < _SEVERAL:
        return False
    pairs = [(_without_digits(a), _without_digits(b)) for a, b in zip(mine, theirs, strict=True)]
    return any(difflib.SequenceMatcher(None, a, b).ratio() <= _ANOTHER for a, b in pairs if a != b)


def _without_digits(name: str) -> str:
    return "".join(c for c in name if not c.isdigit()).strip("-_.")


def meant(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` or nothing."""
    found = near(name, known)
    return f"; did you mean {found!r}?" if found else ""


def texts(value: object) -> tuple[str, ...]:
    """A parameter of type list."""
    return tuple(str(v) for v in value) if isinstance(value, (list, tuple)) else ()


def related(places: Sequence[tuple[DocumentId, Path, str]]) -> tuple[Related, ...]:
    """Other places of a hit; of many, the first eight."""
    return tuple(Related(*place) for place in places[:8])
