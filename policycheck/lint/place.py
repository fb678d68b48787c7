"""Paths as people read them, and the fingerprint of a finding."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from policycheck.digest import sha256
from policycheck.lint.subject import expand
from policycheck.model.facts import Facts
from policycheck.model.origin import ObjectKey, Path

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def dotted(path: Path, value: object) -> str:
    """``spec.groups[0].flavors[name=h100].limit``: items by name where that tells them apart.

    ``value`` is what the path leads into; what can not be followed keeps its positions.
    """
    return _joined(_named(path, value))


def written_dotted(facts: Facts, path: Path) -> str:
    """The dotted path, as the field was written, of ``path`` in the newest form of ``facts``."""
    written = facts.written(path)
    names = _named(path, facts.value)
    if written == path:
        return _joined(names)
    # Conversion exchanges a beginning of the path: from the end on, steps are the same.
    kept = 0
    while kept < min(len(path), len(written)) and path[-1 - kept] == written[-1 - kept]:
        kept += 1
    head: list[str | int] = list(written[: len(written) - kept])
    for at, step in enumerate(head):
        if isinstance(step, int) and at < len(path) and path[at] == step:
            head[at] = names[at]
    return _joined([*head, *names[len(names) - kept :]])


class _Name(str):
    """A list item by name: already in brackets."""

    __slots__ = ()


def _named(path: Path, value: Any) -> list[str | int]:
    steps: list[str | int] = []
    for step in path:
        steps.append(_item_name(value, step) if isinstance(step, int) else step)
        value = next((found for _, found in expand(value, (step,))), None)
    return steps


def _item_name(items: object, at: int) -> str | int:
    """``[name=x]`` when the items are objects with names, each its own."""
    if not isinstance(items, (list, tuple)) or at >= len(items):
        return at
    names = [item.get("name") if isinstance(item, Mapping) else None for item in items]
    name = names[at]
    if not isinstance(name, str) or not name or names.count(name) > 1:
        return at
    return _Name(f"[name={name}]")


def _joined(steps: list[str | int]) -> str:
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif isinstance(step, _Name):
            text += step
        elif _BARE.match(step):
            text += f".{step}" if text else step
        else:
            text += f"['{step}']"
    return text


def fingerprint(rule: str, key: ObjectKey | None, path: str, discriminator: str, turn: int = 0) -> str:
    """32 hex digits that stay when the file moves, other lines change, or others are renamed.

    ``turn`` counts findings that agree in everything else.
    """
    parts = [rule, *(key or ("", "", "", "")), path, discriminator, str(turn)]
    return sha256("\x00".join(parts).encode()).hexdigest()[:32]
