"""Small JSON files kept between runs. Losing one, or not being able to write it, costs only time."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any


def read(path: Path | None) -> dict[str, Any]:
    """The map in ``path``; empty when there is none that can be read."""
    if path is None:
        return {}
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def write(path: Path | None, value: dict[str, Any]) -> None:
    """Write ``value`` to ``path``, whole or not at all: another run may be reading it."""
    if path is None:
        return
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_text(json.dumps(value, sort_keys=True, separators=(",", ":")), encoding="utf-8")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
