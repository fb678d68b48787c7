"""What arrives in a simulation: by a mix, a trace, or the workloads of the manifests themselves."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

from policycheck import data
from policycheck.digest import sha256
from policycheck.simulate.job import Arrivals
from policycheck.simulate.mix import Host, Mix, Site
from policycheck.simulate.trace import Trace
from policycheck.simulate.tracesetting import TraceSetting
from policycheck.simulate.trouble import ArrivalsError

if TYPE_CHECKING:
    from policycheck.app.gather import Sources
    from policycheck.model.cluster import Cluster

Read = Callable[[str], bytes]


class Offering(NamedTuple):
    """What the user asks to arrive: a mix or a trace, beside what the manifests hold. Times in ms.

    ``horizon`` and ``load`` of 0 leave them to the mix. ``manifests``: the batch jobs of the manifests too,
    which a mix or a trace else stands in for; their services always run. ``usual``: how long jobs of
    manifests run that do not say it (0: an hour).
    """

    mix: Mix | None = None
    trace: Trace | None = None
    setting: TraceSetting = TraceSetting()
    seed: int = 1
    horizon: int = 0
    load: float = 0.0
    manifests: bool = False
    usual: int = 0


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
    from policycheck.systems.kueue.doors import capacity, doors, state_of

    state, inventory = state_of(cluster), cluster.inventory
    units, whence = capacity(state.objects, inventory, resource)
    hosts = tuple(Host(n.name, n.labels) for n in inventory.nodes if n.usable and n.machines == 1)
    priorities = {name: one.value for name, one in state.objects.priority_classes.items()}
    return Site(doors(state, inventory, resource), units, hosts, priorities), whence


def arrivals(cluster: Cluster, offering: Offering) -> Arrivals:
    """Everything that arrives in a linked cluster. Raises ArrivalsError for what can not be."""
    parts = [_of_manifests(cluster, offering)]
    if offering.mix is not None and any(k.arrives for k in offering.mix.classes):
        parts.append(_of_mix(cluster, offering.mix, offering))
    if offering.trace is not None:
        parts.append(_of_trace(cluster, offering.trace, offering))
    return joined([part for part in parts if part.jobs or part.notes] or parts)


def joined(parts: Sequence[Arrivals]) -> Arrivals:
    """Several arrivals as one. Raises ArrivalsError when two jobs have one id."""
    if len(parts) == 1:
        return parts[0]
    jobs = sorted((job for part in parts for job in part.jobs), key=lambda job: (job.submit, job.id))
    names = Counter(job.id for job in jobs)
    twice = [job for job in jobs if names[job.id] > 1]
    if twice:
        places = " and ".join(job.origin for job in twice if job.id == twice[0].id)
        raise ArrivalsError([f"two jobs are called {twice[0].id}: {places}; give one another name"])
    return Arrivals(
        tuple(jobs),
        tuple(change for part in parts for change in part.nodes),
        max(part.horizon for part in parts),
        " and ".join(part.source for part in parts),
        sha256("".join(part.digest for part in parts).encode()).hexdigest(),
        tuple(note for part in parts for note in part.notes),
    )


def _of_manifests(cluster: Cluster, offering: Offering) -> Arrivals:
    from policycheck.systems.kueue.written import ASSUMED, Usual, written

    classes = offering.mix.classes if offering.mix is not None else ()
    replaced = offering.trace is not None or any(k.arrives for k in classes)
    only = replaced and not offering.manifests
    found = written(cluster, offering.seed, Usual(classes, offering.usual or ASSUMED, only))
    notes = list(found.notes)
    if only and found.jobs:
        notes.append(f"{len(found.jobs)} services of the manifests run beside what arrives")
    digest = sha256(repr([(j.id, j.origin) for j in found.jobs]).encode()).hexdigest() if found.jobs else ""
    return Arrivals(found.jobs, (), offering.horizon, "manifests", digest, tuple(notes))


def _of_mix(cluster: Cluster, mix: Mix, offering: Offering) -> Arrivals:
    from policycheck.simulate.generate import generate

    if not mix.resource:
        gpus = any(shape.gpus for k in mix.classes for shape in k.shapes)
        mix = mix._replace(resource=_principal(cluster, mix.file, accelerator=gpus))
    place, whence = site(cluster, mix.resource)
    made = generate(mix, place, offering.seed, horizon=offering.horizon, load=offering.load)
    load = offering.load or mix.load
    if not load:
        return made
    note = f"the load is {load:.0%} of {place.capacity:,} {mix.resource}, which is what {whence} have"
    return made._replace(notes=(note, *made.notes))


def _of_trace(cluster: Cluster, trace: Trace, offering: Offering) -> Arrivals:
    from policycheck.simulate.replay import replay

    resource = offering.setting.resource or _principal(cluster, trace.file, accelerator=True)
    place, _ = site(cluster, resource)
    return replay(trace, place, resource, offering.seed, offering.setting.replaying, horizon=offering.horizon)


def _principal(cluster: Cluster, asker: str, *, accelerator: bool) -> str:
    """The resource that queues have quota in; an accelerator is asked for where jobs have some."""
    from policycheck.systems.gpu.resources import is_accelerator
    from policycheck.systems.kueue.doors import state_of
    from policycheck.systems.kueue.drive.facts import principal

    found = principal(state_of(cluster).objects)
    if accelerator and not is_accelerator(found):
        what = f"asks for accelerators, and the queues in sight have quota in {found} and in no accelerator"
        raise ArrivalsError([f"{asker}: {what}; give queues that have, or write its name (resource: ...)"])
    return found


def load_trace(name: str, read: Read, setting: TraceSetting | None = None) -> tuple[Trace, TraceSetting]:
    """A CSV file, gzipped or not, with the settings given, or those in ``NAME.yaml`` beside it.

    Raises ArrivalsError.
    """
    from policycheck.simulate.trace import BY_ARRIVAL
    from policycheck.simulate.tracefile import read as read_trace

    chosen = trace_setting(name, read) if setting is None else setting
    if chosen.replaying.order == BY_ARRIVAL:  # how long they ran says nothing there
        chosen = chosen._replace(reading=chosen.reading._replace(never_ran=True))
    return read_trace(name, _lines(name, read), chosen.reading), chosen


def trace_setting(name: str, read: Read) -> TraceSetting:
    """The settings beside a trace; the defaults when there are none. Raises ArrivalsError."""
    from policycheck.simulate.tracesetting import read as read_setting

    beside = f"{name}.yaml"
    try:
        text = read(beside)
    except OSError:
        return TraceSetting()
    return read_setting(beside, text)


def _lines(name: str, read: Read) -> Iterator[bytes]:
    """The lines of a file. One on disk is not read as a whole: a trace may be long."""
    try:
        with _opened(name, read) as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield from gzip.GzipFile(fileobj=file) if packed else file
    except OSError as error:  # BadGzipFile is one
        raise ArrivalsError([f"{name}: can not be read: {error.strerror or error}"]) from None
    except (EOFError, zlib.error) as error:
        raise ArrivalsError([f"{name}: the gzipped text is broken: {error}; copy the file again"]) from None


def _opened(name: str, read: Read) -> IO[bytes]:
    if os.path.isfile(name):  # noqa: PTH113 - as above
        return open(name, "rb")  # noqa: PTH123 - the caller closes it
    return io.BytesIO(read(name))
