"""What operators are made of: a place in objects of a kind, and what is done to it.

A path is written with blanks, since keys hold dots and slashes: ``spec resourceGroups * flavors``;
``*`` is every item of a list or every value of a map.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml

from mutate.base import Change, Edit, Object, Ref, World, label

Make = Callable[[World], Iterator[Edit]]
When = Callable[[Object], bool]
GPU = "nvidia.com/gpu"
CELL = "spec resourceGroups * flavors * resources *"
LABELS = "metadata labels"
QUEUE_LABEL = f"{LABELS} kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = f"{LABELS} kueue.x-k8s.io/priority-class"
# The kinds of the base that run pods and that a rule about workloads has to see.
WORKLOADS = ("Job", "RayJob", "RayService", "Pod", "Deployment", "StatefulSet", "JobSet")


class Operator(NamedTuple):
    """One kind of fault. ``topics`` are what is expected to notice (topics.py gives the rules).

    ``most`` bounds the places that are tried; they are spread evenly over those that there are.
    """

    id: str
    source: str
    about: str
    topics: tuple[str, ...]
    make: Make
    most: int = 6


def always(it: Object) -> bool:
    return True


def named(*names: str) -> When:
    return lambda it: it["metadata"]["name"] in names


def found(it: Any, path: str) -> list[tuple[tuple[Any, ...], Any]]:
    """The places that a path with stars leads to, with what is there."""
    here: list[tuple[tuple[Any, ...], Any]] = [((), it)]
    for step in path.split():
        here = [pair for at, value in here for pair in _step(at, value, step)]
    return here


def _step(at: tuple[Any, ...], value: Any, step: str) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if step == "*":
        pairs = (
            enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
        )
        yield from (((*at, key), inner) for key, inner in pairs)
    elif isinstance(value, dict) and step in value:
        yield (*at, step), value[step]
    elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
        yield (*at, int(step)), value[int(step)]


def get(it: Any, path: str, default: Any = None) -> Any:
    places = found(it, path)
    return places[0][1] if places else default


def reach(it: Any, at: tuple[Any, ...]) -> Any:
    for key in at:
        it = it[key]
    return it


def show(it: Object, at: tuple[Any, ...]) -> str:
    """A path with list items by name."""
    parts: list[str] = []
    for key in at:
        if isinstance(it, list):
            item = it[key] if key < len(it) else None
            word = item.get("name") or item.get("nodeLabel") if isinstance(item, dict) else None
            parts.append(f"[{word or key}]")
        else:
            parts.append(f".{key}" if parts else str(key))
        it = it.get(key) if isinstance(it, dict) else item if isinstance(it, list) else None
    return "".join(parts)


def on(change: Callable[[Object], None]) -> Change:
    """A Change of the object alone."""
    return lambda container, n: change(container[n])


def edit(ref: Ref, it: Object, change: Callable[[Object], None], where: str = "") -> Edit:
    return Edit(f"{label(it)}{':' if where else ''}{where}", ((ref, on(change)),))


def each(kinds: str, when: When, change: Callable[[Object], None]) -> Make:
    """Every object of the kinds, changed as a whole."""

    def make(world: World) -> Iterator[Edit]:
        for ref, it in world.objects(*kinds.split()):
            if when(it):
                yield edit(ref, it, change)

    return make


def put(kinds: str, path: str, value: Any, when: When = always) -> Make:
    """A field gets a value, written or not; a function is given the old value (None to leave it)."""

    def make(world: World) -> Iterator[Edit]:
        *above, leaf = path.split()
        for ref, it in world.objects(*kinds.split()):
            if not when(it):
                continue
            for at, parent in _parents(it, above):
                key = int(leaf) if isinstance(parent, list) else leaf
                old = get(parent, leaf)
                new = value(old) if callable(value) else value
                if new is None or (new == old and type(new) is type(old)):
                    continue
                yield edit(ref, it, _putter(at, key, new), show(it, (*at, key)))

    return make


def _parents(it: Object, above: list[str]) -> list[tuple[tuple[Any, ...], Any]]:
    places = found(it, " ".join(above))
    if places or "*" in above or any(step.isdigit() for step in above):
        return places
    return [(tuple(above), {})]  # maps that are not written yet are made


def _putter(at: tuple[Any, ...], leaf: str | int, new: Any) -> Callable[[Object], None]:
    def change(it: Object) -> None:
        for key in at:
            if isinstance(it, dict) and it.get(key) is None:
                it[key] = {}
            it = it[key]
        it[leaf] = copy.deepcopy(new)

    return change


def swap(kinds: str, path: str, value: Callable[[Any], Any], when: When = always) -> Make:
    """A value that is written becomes another one; None leaves it."""

    def make(world: World) -> Iterator[Edit]:
        for ref, it in world.objects(*kinds.split()):
            for at, old in found(it, path) if when(it) else ():
                new = value(old)
                if new is not None and new != old:
                    yield edit(ref, it, _setter(at, new), show(it, at))

    return make


def _setter(at: tuple[Any, ...], new: Any) -> Callable[[Object], None]:
    def change(it: Object) -> None:
        reach(it, at[:-1])[at[-1]] = copy.deepcopy(new)

    return change


def drop(kinds: str, path: str, when: When = always) -> Make:
    """A field or an item is left out."""

    def make(world: World) -> Iterator[Edit]:
        for ref, it in world.objects(*kinds.split()):
            for at, _ in found(it, path) if when(it) else ():
                yield edit(ref, it, _dropper(at), show(it, at))

    return make


def _dropper(at: tuple[Any, ...]) -> Callable[[Object], None]:
    def change(it: Object) -> None:
        del reach(it, at[:-1])[at[-1]]

    return change


def rename(kinds: str, path: str, new: str, when: When = always) -> Make:
    """A key is written differently; its place in the map stays."""

    def make(world: World) -> Iterator[Edit]:
        for ref, it in world.objects(*kinds.split()):
            for at, _ in found(it, path) if when(it) else ():
                yield edit(ref, it, _renamer(at, new), show(it, at))

    return make


def _renamer(at: tuple[Any, ...], new: str) -> Callable[[Object], None]:
    def change(it: Object) -> None:
        holder = reach(it, at[:-1])
        pairs = [(new if key == at[-1] else key, value) for key, value in holder.items()]
        holder.clear()
        holder.update(pairs)

    return change


def remove(kinds: str, when: When = always) -> Make:
    """An object is gone."""

    def make(world: World) -> Iterator[Edit]:
        for ref, it in world.objects(*kinds.split()):
            if when(it):
                yield Edit(label(it), ((ref, _pop),))

    return make


def _pop(container: list[Any], n: int) -> None:
    del container[n]


def twice(kinds: str, change: Callable[[Object], None], when: When = always) -> Make:
    """An object is there a second time, with another content."""

    def make(world: World) -> Iterator[Edit]:
        for ref, it in world.objects(*kinds.split()):
            if when(it):
                yield Edit(label(it), ((ref, _doubler(change)),))

    return make


def _doubler(change: Callable[[Object], None]) -> Change:
    def double(container: list[Any], n: int) -> None:
        other = copy.deepcopy(container[n])
        change(other)
        container.insert(n + 1, other)

    return double


def add(place: str, beside: tuple[str, str], text: str) -> Make:
    """More objects, written after the one of that kind and name."""

    def make(world: World) -> Iterator[Edit]:
        ref, _ = world.one(*beside)
        more = list(yaml.safe_load_all(text))

        def insert(container: list[Any], n: int) -> None:
            container[n + 1 : n + 1] = copy.deepcopy(more)

        yield Edit(place, ((ref, insert),))

    return make


def configured(place: str, change: Callable[[Object], None]) -> Make:
    """The Configuration inside its ConfigMap is changed."""

    def make(world: World) -> Iterator[Edit]:
        ref, _ = world.one("ConfigMap", "kueue-manager-config")
        yield Edit(f"Configuration:{place}", ((ref, embedded("controller_manager_config.yaml", change)),))

    return make


def embedded(key: str, change: Callable[[Object], None]) -> Change:
    """A Change of the YAML that a ConfigMap holds under a key."""

    def edit_text(it: Object) -> None:
        inner = yaml.safe_load(it["data"][key])
        change(inner)
        it["data"][key] = yaml.safe_dump(inner, sort_keys=False)

    return on(edit_text)


def both(*makes: Make) -> Make:
    """One fault that takes several edits: the first place of each."""

    def make(world: World) -> Iterator[Edit]:
        edits = [next(m(world)) for m in makes]
        yield Edit(" + ".join(e.place for e in edits), tuple(c for e in edits for c in e.changes))

    return make


def given(first: Make, make: Make) -> Make:
    """Every place of an operator, in a base that is another one in a place of its own."""

    def combined(world: World) -> Iterator[Edit]:
        before = next(first(world))
        yield from (Edit(f"{e.place} given {before.place}", e.changes + before.changes) for e in make(world))

    return combined


def many(*makes: Make) -> Make:
    """The places of several, one after the other."""
    return lambda world: (e for m in makes for e in m(world))


def but(make: Make, word: str) -> Make:
    """Without the places whose name has the word in it."""
    return lambda world: (e for e in make(world) if word not in e.place)


def templates(it: Object) -> list[tuple[Any, ...]]:
    """Paths of the pod templates of a workload; for a Pod of the object itself."""
    if it["kind"] == "Pod":
        return [()]
    paths = (
        "spec template",
        "spec * headGroupSpec template",
        "spec * workerGroupSpecs * template",
        "spec replicatedJobs * template spec template",
    )
    return [at for path in paths for at, _ in found(it, path)]


def pods(change: Callable[[Object], None], when: When = always, kinds: tuple[str, ...] = WORKLOADS) -> Make:
    """Every pod template with a GPU, changed in place."""

    def make(world: World) -> Iterator[Edit]:
        for ref, it in world.objects(*kinds):
            for at in templates(it) if when(it) else ():
                if wants(reach(it, at)):
                    yield edit(ref, it, _within(at, change), show(it, at))

    return make


def _within(at: tuple[Any, ...], change: Callable[[Object], None]) -> Callable[[Object], None]:
    return lambda it: change(reach(it, at))


def wants(template: Object) -> dict[str, str]:
    """The accelerators that a pod asks for."""
    requests = get(template, "spec containers 0 resources requests", {})
    return {name: amount for name, amount in requests.items() if name.startswith("nvidia.com/")}


def resources(change: Callable[[Object], None], when: When = always) -> Make:
    """The resources of the first container of every pod template with a GPU."""
    return pods(lambda template: change(template["spec"]["containers"][0]["resources"]), when)
