"""The compact inventory: alike machines grouped, fit to be committed.

No host names, addresses or annotations are in it; values of topology labels stay, since without them
nobody can say what fits into a rack. Reading it back gives the same totals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policycheck.model import amount
from policycheck.model.capacity import HOSTNAME, expand
from policycheck.model.facts import Trouble
from policycheck.model.inventory import NONE, Accelerators, Inventory, Node, Range
from policycheck.model.levels import is_candidate
from policycheck.model.placement import Taint
from policycheck.systems.core import nodes as node_objects

KEY = "compactInventory"
VERSION = 1
_ADDRESS = re.compile(r"(?:^|[^0-9])(?:\d{1,3}[.-]){3}\d{1,3}(?:$|[^0-9])")
_IDENTITIES = re.compile(r"(?:instance-id|machine-id|provider-?id|nodeclaim|serial|gfd\.timestamp|/uuid)$")
_MOST = 100_000  # machines or GPUs that one number may stand for; beyond it is a slip
_HOSTS = 200_000  # machines that one file may stand for
_NAME_SHORTEST = 6  # a shorter host name may be part of a value by chance
_MANY = 8  # so many nodes with a value each make a label an identity
# Labels that tell what a machine is, which may differ on all machines of a small cluster.
_KINDS = re.compile(
    r"(?:^|\.)(?:kubernetes\.io|k8s\.io|nvidia\.com|amd\.com|intel\.com|karpenter\.sh|k8s\.aws|google\.com|azure\.com)/"
)
_NODE_KEYS = frozenset(
    {
        "nodes",
        "max",
        "hosts",
        "name",
        "source",
        "labels",
        "taints",
        "allocatable",
        "capacity",
        "committed",
        "notReady",
        "cordoned",
        "accelerators",
        "oddities",
    }
)


def is_compact(value: Mapping[str, Any]) -> bool:
    """Whether a document is an inventory that ``write`` made."""
    return KEY in value


def write(inventory: Inventory, dated: str) -> str:
    """The inventory as YAML, sorted. ``dated`` is the day it was taken, as YYYY-MM-DD."""
    import yaml

    dropped = _telling_apart(inventory.nodes)
    counts: dict[str, list[int | None]] = {}
    bodies: dict[str, dict[str, Any]] = {}
    for node in inventory.nodes:
        body = _group(node, dropped)
        key = json.dumps(body, sort_keys=True)
        bodies[key] = body
        low, most = counts.get(key, [0, 0])
        counts[key] = [
            (low or 0) + node.machines,
            None if most is None or node.most is None else most + node.most,
        ]
    groups = [
        _counted(bodies[key], counts[key]) for key in sorted(bodies, key=lambda k: _order(bodies[k], k))
    ]
    head = "# GPU inventory by `policycheck inventory --write`: alike machines grouped, no host names.\n"
    if dropped:
        head += f"# Left out, a value of its own on each node: {', '.join(sorted(dropped))}\n"
    value = {KEY: VERSION, "dated": dated, "groups": groups}
    hosts = [node.name for node in inventory.nodes if node.source in ("node", "slices", "table")]
    odd = sorted(text for text in inventory.oddities if not any(host in text for host in hosts))
    if odd:
        value["oddities"] = odd
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return head + str(yaml.dump(value, Dumper=dumper, sort_keys=False, width=110, allow_unicode=True))


def _telling_apart(nodes: Sequence[Node]) -> frozenset[str]:
    """Labels that no level is and whose value is another on every node: identities, not groups."""
    alone = own_values(nodes, _MANY)
    return frozenset(key for key in alone if not is_candidate(key) and not _KINDS.search(key))


def own_values(nodes: Iterable[Node], least: int) -> frozenset[str]:
    """Labels that at least so many nodes carry, and no two with the same value."""
    carriers: dict[str, int] = {}
    values: dict[str, set[str]] = {}
    for node in nodes:
        for key, value in node.labels.items():
            carriers[key] = carriers.get(key, 0) + 1
            values.setdefault(key, set()).add(value)
    return frozenset(key for key, n in carriers.items() if n >= least and len(values[key]) == n)


def _names_host(node: Node, key: str, value: str) -> bool:
    """Whether a label's value gives the machine away."""
    hosts = {h for h in (node.name, node.labels.get(HOSTNAME, "")) if h}
    if value in hosts or _ADDRESS.search(value) or _IDENTITIES.search(key):
        return True
    return any(len(h) >= _NAME_SHORTEST and h in value for h in hosts)


def _group(node: Node, dropped: frozenset[str]) -> dict[str, Any]:
    """A node as its group's entry, without the number of machines. Empty fields are left out."""
    is_pool = node.source in ("pool", "elastic")
    labels = {k: v for k, v in sorted(node.labels.items()) if k not in dropped}
    if not is_pool:
        labels = {k: v for k, v in labels.items() if not _names_host(node, k, v)}
    fields: dict[str, Any] = {
        "name": node.name if is_pool else "",
        "source": node.source if node.source in ("pool", "elastic", "table", "slices") else "",
        "hosts": HOSTNAME in node.labels,
        "notReady": not node.ready,
        "cordoned": node.unschedulable,
        "labels": labels,
        "taints": sorted(
            f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}" for t in node.taints
        ),
        "accelerators": None if node.accelerators is None else _accelerators(node.accelerators),
        "committed": _amounts(node.committed),
        "oddities": sorted(node.oddities),
    }
    body = {key: value for key, value in fields.items() if value}
    if node.allocatable is not None:
        body["allocatable"] = _amounts(node.allocatable)
    if node.capacity is not None and node.capacity != node.allocatable:
        body["capacity"] = _amounts(node.capacity)
    return body


def _amounts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {resource: amount.write(resource, amounts[resource]) for resource in sorted(amounts)}


def _range(value: Range) -> Any:
    if value.is_exact and not value.why:
        return value.low
    return {"low": value.low, "high": value.high, "why": value.why}


def _accelerators(found: Accelerators) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "model": found.model,
        "modelSource": found.model_source,
        "resource": found.resource,
        "physical": _range(found.physical),
        "schedulable": _range(found.schedulable),
        "sharing": found.sharing,
        "profile": found.profile,
        "slices": dict(sorted(found.slices.items())),
        "shares": dict(sorted(found.shares.items())),
    }
    body = {k: v for k, v in fields.items() if v or k in ("physical", "schedulable")}
    if found.replicas != 1:
        body["replicas"] = found.replicas
    return body


def _counted(body: Mapping[str, Any], count: list[int | None]) -> dict[str, Any]:
    low, most = count
    entry: dict[str, Any] = {"nodes": low}
    if most != low:
        entry["max"] = "unbounded" if most is None else most
    return {**entry, **body}


def _order(body: Mapping[str, Any], key: str) -> tuple[str, str, str, str]:
    found = body.get("accelerators", {})
    return (
        "" if found else "~",
        found.get("model", ""),
        json.dumps(body.get("labels", {}), sort_keys=True),
        key,
    )


def read(value: Mapping[str, Any], troubles: list[Trouble]) -> tuple[Node, ...]:
    """The nodes of a compact inventory; groups that had host names become single nodes again,
    ``node-0001`` and so on, so that the host stays a level of topology.
    """
    if value.get(KEY) != VERSION:
        message = f"{KEY} is {value.get(KEY)!r}; this version reads {VERSION}"
        troubles.append(Trouble("bad-enum", (KEY,), message))
        return ()
    entries = value.get("groups")
    if not isinstance(entries, list):
        troubles.append(Trouble("wrong-type", ("groups",), "groups has to be a list"))
        return ()
    found: list[Node] = []
    ordinal = 0
    for position, entry in enumerate(entries):
        before = len(troubles)
        made = _node(entry, position, troubles)
        if made is None or len(troubles) > before:
            continue
        if ordinal + made.machines > _HOSTS:
            message = f"more than {_HOSTS} machines in one inventory; split it"
            troubles.append(Trouble("too-many", ("groups", position), message))
            break
        if not entry.get("hosts") or made.machines != made.most:
            found.append(made)
            continue
        for one in expand(made._replace(name="host", most=made.machines)):
            ordinal += 1
            name = f"node-{ordinal:04d}"
            found.append(one._replace(name=name, labels={**one.labels, HOSTNAME: name}))
    return tuple(found)


def _node(entry: object, position: int, troubles: list[Trouble]) -> Node | None:
    path = ("groups", position)
    if not isinstance(entry, Mapping):
        troubles.append(
            Trouble("wrong-type", path, "a group is a mapping with nodes, labels and allocatable")
        )
        return None
    for key in entry:
        if key not in _NODE_KEYS:
            message = f"unknown key {key}; allowed are {', '.join(sorted(_NODE_KEYS))}"
            troubles.append(Trouble("unknown-field", (*path, str(key)), message, on_key=True))
    machines, most = _size(entry, path, troubles)
    taints = entry.get("taints")
    raw_taints = [_taint(t) for t in taints if isinstance(t, str)] if isinstance(taints, list) else []
    oddities = entry.get("oddities")
    return Node(
        name=str(entry.get("name") or f"group-{position + 1:03d}"),
        labels=node_objects.labels_of(entry.get("labels"), (*path, "labels"), troubles),
        taints=tuple(raw_taints),
        allocatable=node_objects.amounts_of(entry.get("allocatable"), (*path, "allocatable"), troubles),
        capacity=node_objects.amounts_of(
            entry.get("capacity", entry.get("allocatable")), (*path, "capacity"), troubles
        ),
        ready=entry.get("notReady") is not True,
        unschedulable=entry.get("cordoned") is True,
        accelerators=_read_accelerators(entry.get("accelerators"), (*path, "accelerators"), troubles),
        committed=node_objects.amounts_of(entry.get("committed"), (*path, "committed"), troubles) or {},
        machines=machines,
        most=most,
        oddities=tuple(str(o) for o in oddities) if isinstance(oddities, list) else (),
        source=str(entry.get("source") or "compact"),
    )


def _taint(text: str) -> Taint:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key, value, effect)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST


def _size(
    entry: Mapping[str, Any], path: tuple[str | int, ...], troubles: list[Trouble]
) -> tuple[int, int | None]:
    low, most = entry.get("nodes"), entry.get("max", entry.get("nodes"))
    if not _is_number(low):
        troubles.append(
            Trouble(
                "missing-field", (*path, "nodes"), f"a group needs nodes, a number of machines up to {_MOST}"
            )
        )
        return 0, 0
    if most == "unbounded":
        return int(str(low)), None
    if not _is_number(most) or most < low:
        message = f"max is {most!r}; it has to be unbounded or a number of at least nodes ({low})"
        troubles.append(Trouble("bad-range", (*path, "max"), message))
    return int(str(low)), int(most) if _is_number(most) else 0


def _read_range(value: object, path: tuple[str | int, ...], troubles: list[Trouble]) -> Range:
    if isinstance(value, int) and not isinstance(value, bool):
        return Range(value, value)
    if isinstance(value, Mapping):
        low, high = value.get("low"), value.get("high")
        if _is_number(low) and (high is None or _is_number(high)):
            return Range(int(str(low)), high, str(value.get("why") or ""))
    message = f"{path[-1]} is {value!r:.40}; it has to be a number, or low and high with why"
    troubles.append(Trouble("wrong-type", path, message))
    return NONE


def _read_accelerators(
    value: object, path: tuple[str | int, ...], troubles: list[Trouble]
) -> Accelerators | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        troubles.append(Trouble("wrong-type", path, "accelerators has to be a mapping"))
        return None

    def text(key: str) -> str:
        return str(value.get(key) or "") if isinstance(value, Mapping) else ""

    replicas = value.get("replicas", 1)
    return Accelerators(
        model=text("model"),
        physical=_read_range(value.get("physical"), (*path, "physical"), troubles),
        schedulable=_read_range(value.get("schedulable"), (*path, "schedulable"), troubles),
        slices=node_objects.amounts_of(value.get("slices"), (*path, "slices"), troubles) or {},
        shares=node_objects.amounts_of(value.get("shares"), (*path, "shares"), troubles) or {},
        sharing=text("sharing"),
        replicas=replicas if isinstance(replicas, int) else 1,
        resource=text("resource"),
        profile=text("profile"),
        model_source=text("modelSource"),
    )


def dates(values: Iterable[Mapping[str, Any]]) -> str:
    """The oldest day that compact inventories or pool files name; "" when none does."""
    found = sorted(str(v["dated"]) for v in values if isinstance(v.get("dated"), str))
    return found[0] if found else ""
