"""What a podset asks of topology, resolved against the levels of one flavor.

Sources: KEP-2724 "Topology aware scheduling" and the annotations' reference page; facts 1b, 1c.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policycheck.model.workload import PodSet, TopologyRequest
from policycheck.systems.kueue.model import TopologyAssignment

NOTHING = TopologyRequest()
Layers = tuple[tuple[str, int], ...]  # (level key, pods in a slice), coarse to fine


class Ask(NamedTuple):
    """Pods of one podset that are to be placed in one flavor."""

    member: int
    pods: int
    each: Mapping[str, int]  # what one pod takes of a node, a pod slot aside
    spec: PodSet  # where it may go
    request: TopologyRequest
    implied: bool = False  # the queue has nothing but flavors with topology
    before: TopologyAssignment | None = None  # of the slice of an elastic job that is replaced
    key: object = None  # equal for asks that are alike but for ``pods`` and ``before``; None: nobody knows


class Wish(NamedTuple):
    """Level numbers count from the top. ``inner`` is the slice size at levels below the slices."""

    level: int
    slice_level: int
    slice_size: int
    required: bool
    spread: bool  # unconstrained: any domains will do
    inner: Mapping[int, int]
    layers: Layers  # when there are several


def layers_of(request: TopologyRequest) -> Layers:
    """Slices, however they were asked for."""
    if request.slices:
        return request.slices
    return ((request.slice_level, request.slice_size),) if request.slice_level else ()


def is_explicit(request: TopologyRequest | None) -> bool:
    """Whether topology is asked for."""
    return request is not None and bool(request.mode or layers_of(request))


def level_of(request: TopologyRequest, levels: Sequence[str], *, implied: bool) -> str:
    """The key of the level at which the search begins, or ""."""
    if request.mode in ("required", "preferred"):
        return request.level
    if layers_of(request):
        return levels[0]
    return levels[-1] if request.mode == "unconstrained" or implied else ""


def resolve(ask: Ask, levels: Sequence[str], *, multi_layer: bool) -> Wish | str:
    """The wish, or why there is none."""
    number = {key: n for n, key in enumerate(levels)}
    request = ask.request
    layers = layers_of(request)
    size = layers[0][1] if layers else 1
    if size <= 0:
        return "slice topology requested, but slice size not provided"
    key = level_of(request, levels, implied=ask.implied)
    if not key:
        return "topology level not specified"
    if key not in number:
        return f"no requested topology level: {key}"
    slice_key = layers[0][0] if layers else levels[-1]
    if slice_key not in number:
        return f"no requested topology level for slices: {slice_key}"
    level, slice_level = number[key], number[slice_key]
    if level > slice_level:
        return f"podset slice topology {slice_key} is above the podset topology {key}"
    inner = _inner(layers[1:] if multi_layer else (), levels, slice_level, size)
    if isinstance(inner, str):
        return inner
    spread = request.mode == "unconstrained" or ask.implied or (not request.mode and bool(layers))
    return Wish(level, slice_level, size, request.mode == "required", spread, inner, layers if inner else ())


def _inner(layers: Layers, levels: Sequence[str], above: int, size: int) -> dict[int, int] | str:
    """The slice size at each level below the outermost slices, levels between two layers included."""
    found: dict[int, int] = {}
    for key, inner in layers:
        if key not in levels:
            return f"no requested topology level for additional slice layer: {key}"
        at = levels.index(key)
        if at <= above:
            return f"additional slice layer topology {key} must be at a lower level than {levels[above]}"
        if inner <= 0 or size % inner:
            return f"additional slice layer size {inner} must evenly divide parent layer size {size}"
        found.update(dict.fromkeys(range(above + 1, at + 1), inner))
        above, size = at, inner
    return found
