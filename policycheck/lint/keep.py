"""Small JSON files kept between runs. Losing one, or not being able to write it, costs only time."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any


def read(path: str | os.PathLike[str] | None) -> dict[str, Any]:
    """The map in ``path``; empty when there is none that can be read."""
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs start-up
            kept = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def write(path: str | os.PathLike[str] | None, value: dict[str, Any]) -> None:
    """Write ``value`` to ``path``, whole or not at all: another run may be reading it."""
    if path is None:
        return
    from pathlib import Path

    path = Path(path)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_text(json.dumps(value, sort_keys=True, separators=(",", ":")), encoding="utf-8")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
