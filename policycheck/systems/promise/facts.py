"""One document of promises to Facts: what is wrong with it becomes a trouble at its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.conform import prune
from policycheck.model.facts import Facts, Trouble
from policycheck.model.origin import ObjectKey
from policycheck.record import NamedTuple

TROUBLE = "bad-promise"


class Written(NamedTuple):
    """That promises are written, and whether they can be read."""

    readable: bool


def read(value: Mapping[str, Any], group: str, kind: str, version: str) -> Facts | None:
    """Facts of one document. Imports pydantic: only where there are promises."""
    from policycheck.certify.written import VERSION, problems_of

    clean = prune(value)
    troubles = [Trouble(TROUBLE, p.path, p.message, p.on_key) for p in problems_of(clean)]
    if not version:
        say = f"apiVersion is missing; write {group}/{VERSION}"
        troubles = [t for t in troubles if t.path != ("apiVersion",)]
        troubles.append(Trouble(TROUBLE, ("apiVersion",), say))
    meta = clean.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    key = ObjectKey(group, kind, "", name if isinstance(name, str) else "")
    api_version = clean.get("apiVersion")
    return Facts(
        key,
        api_version if isinstance(api_version, str) else "",
        "promise",
        clean,
        Written(not troubles),
        (),
        tuple(troubles),
    )
