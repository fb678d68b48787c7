"""Outputs of the lint step, one a line: name=value. Arguments: the exit code, the folder of the reports."""
# ruff: noqa: INP001 - a script, in no package

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

FILES = {"json-file": "json", "sarif-file": "sarif", "junit-file": "xml"}


def outputs(code: str, folder: Path) -> Iterator[tuple[str, object]]:
    """Names and values, as action.yml lists them."""
    summary: dict[str, int] = {}
    whole = folder / "policycheck.json"
    if whole.is_file():
        summary = json.loads(whole.read_text(encoding="utf-8"))["summary"]
    counts = {name: summary.get(name, 0) for name in ("errors", "warnings", "infos")}
    yield "exit-code", code
    yield "verdict", {"0": "pass", "1": "fail"}.get(code, "error")
    yield "findings", sum(counts.values())
    yield from counts.items()
    yield "new-findings", sum(counts.values())
    yield "known-findings", summary.get("knownBefore", 0)
    yield "suppressed", summary.get("suppressed", 0)
    for name, ending in FILES.items():
        file = folder / f"policycheck.{ending}"
        yield name, file if file.is_file() else ""


if __name__ == "__main__":
    for name, value in outputs(sys.argv[1], Path(sys.argv[2])):
        sys.stdout.write(f"{name}={value}\n")
