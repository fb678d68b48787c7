"""What arrives in a simulation: by a mix, a trace, or the workloads of the manifests themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from policycheck import data
from policycheck.simulate.mix import Host, Mix, Site
from policycheck.simulate.trouble import ArrivalsError

if TYPE_CHECKING:
    from policycheck.app.gather import Sources
    from policycheck.model.cluster import Cluster
    from policycheck.simulate.job import Arrivals

Read = Callable[[str], bytes]


class Offering(NamedTuple):
    """What the user asks to arrive. Times in ms; 0 leaves them to the mix."""

    mix: Mix | None = None
    seed: int = 1
    horizon: int = 0
    load: float = 0.0


def presets() -> tuple[str, ...]:
    """Names of the mixes that come with the program."""
    folder = data.root() / "fixtures" / "mixes"
    return tuple(sorted(path.stem for path in folder.glob("*.yaml")))


def load_mix(name: str, read: Read) -> Mix:
    """The mix in a file, or the preset of that name (a file goes first). Raises ArrivalsError."""
    from policycheck.simulate.mixfile import read as read_mix

    if name in presets() and not os.path.isfile(name):  # noqa: PTH113 - a name, as the user wrote it
        path = data.root() / "fixtures" / "mixes" / f"{name}.yaml"
        return read_mix(f"{name}.yaml", path.read_bytes(), _beside(str(path), _bytes))
    try:
        text = read(name)
    except OSError as error:
        why = error.strerror or error
        shown = ", ".join(presets())
        raise ArrivalsError([f"{name}: can not be read: {why}; a mix is a file or one of {shown}"]) from None
    return read_mix(name, text, _beside(name, read))


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - as above
        return file.read()


def _beside(name: str, read: Read) -> Read:
    """Files that a mix names are looked for beside it."""
    folder = os.path.dirname(name)  # noqa: PTH120 - as above
    return lambda file: read(f"{folder}/{file}" if folder and not os.path.isabs(file) else file)  # noqa: PTH117


def mix_sources(mix: Mix) -> Mapping[str, bytes]:
    """Manifests of the queues and nodes that a mix brings, by file name; {} for one that brings none.

    Raises ArrivalsError.
    """
    if not mix.cluster:
        return {}
    if "manifests" in mix.cluster:
        return _packaged(mix)
    system = mix.cluster.get("system")
    if system != "kueue":
        raise ArrivalsError([f"{mix.file}: 'cluster.system' is {system!r}; allowed are 'kueue'"])
    from policycheck.simulate.ourfile import Places
    from policycheck.systems.kueue.preset import sources

    places = Places(mix.file, mix.text, {})
    try:
        made = sources(mix.cluster, lambda path: places.at(("cluster", *path)))
    except ValueError as error:
        raise ArrivalsError(str(error).splitlines()) from None
    return {f"{mix.name}/{name}": text for name, text in made.items()}


def _packaged(mix: Mix) -> Mapping[str, bytes]:
    """An example cluster that comes with the program, whole."""
    name = mix.cluster["manifests"]
    folder = data.root() / "fixtures" / "clusters" / str(name)
    if not isinstance(name, str) or "/" in name or not folder.is_dir():
        known = ", ".join(sorted(p.name for p in folder.parent.iterdir() if p.is_dir()))
        raise ArrivalsError([f"{mix.file}: 'cluster.manifests' is {name!r}; allowed are {known}"])
    files = sorted(path for path in folder.rglob("*") if path.suffix in {".yaml", ".yml", ".json"})
    return {path.relative_to(folder.parent).as_posix(): path.read_bytes() for path in files}


def with_mix(sources: Sources, mix: Mix) -> Sources:
    """``sources``, or the cluster that the mix brings when they name no path. Raises ArrivalsError."""
    if sources.paths:
        return sources
    held = dict(mix_sources(mix))
    if not held:
        return sources
    from policycheck.source.tree import Listing

    return sources._replace(
        paths=tuple(held), read=held.__getitem__, tree=Listing(list(held)), in_memory=True
    )


def site(cluster: Cluster, resource: str) -> tuple[Site, str]:
    """What a mix or a trace falls upon, and whence the capacity is known."""
    from policycheck.systems.kueue.checks.common import state
    from policycheck.systems.kueue.doors import capacity, doors

    objects, inventory = state(cluster).objects, cluster.inventory
    units, whence = capacity(objects, inventory, resource)
    hosts = tuple(Host(n.name, n.labels) for n in inventory.nodes if n.usable and n.machines == 1)
    priorities = {name: one.value for name, one in objects.priority_classes.items()}
    return Site(doors(objects, resource), units, hosts, priorities), whence


def arrivals(cluster: Cluster, offering: Offering) -> Arrivals:
    """Everything that arrives in a linked cluster. Raises ArrivalsError for what can not be."""
    from policycheck.simulate.generate import generate

    mix = offering.mix
    assert mix is not None  # noqa: S101
    place, _ = site(cluster, mix.resource)
    return generate(mix, place, offering.seed, horizon=offering.horizon, load=offering.load)
