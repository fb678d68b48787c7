"""Write fixtures/conformance from a folder of recorded cases: python -m conformance.write_fixtures FOLDER."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .restate import documents

TARGET = Path(__file__).parents[2] / "fixtures" / "conformance"


def recorded(folder: Path) -> list[dict[str, object]]:
    """All recorded cases, in the order of files and lines."""
    return [json.loads(line) for f in sorted(folder.glob("*.jsonl")) for line in f.read_text().splitlines()]


def main(folder: str) -> None:
    """Write one file an area."""
    TARGET.mkdir(parents=True, exist_ok=True)
    for area, texts in documents(recorded(Path(folder))).items():
        (TARGET / f"{area}.yaml").write_text("---\n".join(texts))


if __name__ == "__main__":
    main(sys.argv[1])
