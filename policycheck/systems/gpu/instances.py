"""Machine types of clouds and what accelerators they carry: an assumption, always named as one.

The table is ``instances.csv`` beside this module; a caller may pass another or lay rows over it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache

from policycheck.record import NamedTuple


class Instance(NamedTuple):
    """One machine type. ``memory`` is GB per device as the vendor counts."""

    type: str
    gpus: int
    model: str
    memory: int
    resource: str

    @property
    def title(self) -> str:
        """Model with its memory, as people say it: ``A100 40GB``."""
        return f"{self.model} {self.memory}GB" if self.memory else self.model


class Table(NamedTuple):
    """Machine types by name, and how old the knowledge is."""

    rows: Mapping[str, Instance]
    dated: str

    def find(self, machine_type: str) -> Instance | None:
        """The row of a machine type; ``ml.p5.48xlarge`` is found as ``p5.48xlarge``."""
        return self.rows.get(machine_type) or self.rows.get(machine_type.removeprefix("ml."))


# Families that carry no accelerator. GCP's n1 is not among them: GPUs may be attached to it.
_PLAIN = re.compile(
    r"(?:ml\.)?(?:a|c|d|h|hpc|i|im|is|m|mac|r|t|u|x|z)\d[a-z0-9-]*\.[a-z0-9-]+\Z"
    r"|(?:c2|c2d|c3|c3d|c4|c4a|c4d|e2|h3|m1|m2|m3|m4|n2|n2d|n4|t2a|t2d|z3)-[a-z0-9-]+\Z"
    r"|Standard_[ABDEFGHLM]\d"
)


def is_plain(machine_type: str) -> bool:
    """Whether the machine type is of a family known to carry no accelerator (``c5.2xlarge``)."""
    return bool(_PLAIN.match(machine_type))


def parse(text: str) -> Table:
    """A table out of its text: ``# dated: ...`` comments, a header, one row a type.

    Raises ValueError when a row is short or a number is none.
    """
    import csv

    lines = text.splitlines()
    dated = next((x.partition(":")[2].strip() for x in lines if x.startswith("# dated:")), "")
    rows: dict[str, Instance] = {}
    for row in csv.DictReader(line for line in lines if line and not line.startswith("#")):
        try:
            rows[row["type"]] = Instance(
                row["type"], int(row["gpus"]), row["model"], int(row["memory_gb"]), row["resource"]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"machine type table: row {row!r} needs type, gpus, model, memory_gb and resource, "
                "gpus and memory_gb as integers"
            ) from error
    return Table(rows, dated)


@cache
def builtin() -> Table:
    """The table that comes with the package; read once, when first asked for."""
    beside = os.path.join(os.path.dirname(__file__), "instances.csv")  # noqa: PTH118, PTH120 - pathlib costs start-up
    with open(beside, encoding="utf-8") as file:  # noqa: PTH123 - as above
        return parse(file.read())


def overlay(table: Table, more: Table) -> Table:
    """``table`` with the rows of ``more`` in place of or beside its own."""
    return Table({**table.rows, **more.rows}, more.dated or table.dated)
