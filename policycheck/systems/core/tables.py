"""A table of machines: CSV with a header, one row a machine (or several, with a number column).

Columns are found by their usual names, or told: ``{"name": "sn", "gpus": "gpu", "model": "model"}``.
A column whose name holds a "/" is a node label. Other columns are named, never silently dropped.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping

from policycheck.model import amount
from policycheck.model.inventory import Accelerators, Node, Range
from policycheck.record import NamedTuple
from policycheck.source.document import Span, TextTrouble
from policycheck.systems.gpu import resources

# Role -> names by which its column is found, without case. The unit of an amount is in its role.
ROLES: Mapping[str, tuple[str, ...]] = {
    "name": ("name", "sn", "node", "node_name", "host", "hostname", "machine", "machine_id"),
    "nodes": ("nodes", "machines", "node_count"),
    "gpus": ("gpus", "gpu", "gpu_count", "gpu_num", "num_gpu", "num_gpus", "gpu_capacity_num"),
    "model": ("model", "gpu_model", "product", "gpu_product", "gpu_type"),
    "cpu": ("cpu", "cpus", "cpu_num", "cores"),
    "cpu_milli": ("cpu_milli",),
    "memory": ("memory",),
    "memory_mib": ("memory_mib", "mem_mib"),
    "memory_gib": ("memory_gib", "mem_gib"),
}
_LARGEST = 10**12


class Table(NamedTuple):
    """What a table gave: nodes in the order of rows, what was wrong, and columns nobody read."""

    nodes: tuple[Node, ...]
    troubles: tuple[TextTrouble, ...]
    unread: tuple[str, ...]


_LONGEST_HEADER = 100_000  # the reader of tables refuses fields beyond 131,072 characters


def is_table(text: str) -> bool:
    """Whether the text begins with a CSV header in which a column of GPUs can be found."""
    header = text.lstrip("\ufeff").partition("\n")[0]
    return "," in header and len(header) < _LONGEST_HEADER and "gpus" in columns_of(_split(header))


def _split(line: str) -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")]), [])


def columns_of(header: list[str]) -> dict[str, str]:
    """The column of each role that the header has, by the usual names."""
    lower = {name.strip().lower(): name for name in header}
    return {role: lower[n] for role, names in ROLES.items() for n in names[::-1] if n in lower}


def read(text: str, columns: Mapping[str, str] | None = None) -> Table:
    """The machines of a table. ``columns`` maps roles to column names and wins over guessing.

    A row that can not be read is a trouble with its line and gives no machine.
    """
    reader = csv.DictReader(io.StringIO(text.lstrip("\ufeff"), newline=""), strict=True)
    try:
        header = list(reader.fieldnames or ())
    except csv.Error as error:
        return Table((), (_trouble(1, f"not a CSV header: {error}"),), ())
    told = {**columns_of(header), **(columns or {})}
    wrong = [_no_role(role, name, header) for role, name in told.items() if _no_role(role, name, header)]
    if not wrong and "gpus" not in told:
        wrong.append(f"no column with the number of GPUs among {', '.join(header)}; name it with gpus=COLUMN")
    if wrong:
        return Table((), tuple(_trouble(1, why) for why in wrong), ())
    made: list[Node] = []
    troubles: list[TextTrouble] = []
    try:
        for row in reader:
            _row(row, told, reader.line_num, made, troubles)
    except csv.Error as error:
        troubles.append(_trouble(reader.line_num, f"not CSV: {error}"))
    unread = tuple(n for n in header if n not in told.values() and "/" not in n)
    return Table(tuple(made), tuple(troubles), unread)


def _no_role(role: str, name: str, header: list[str]) -> str:
    if role not in ROLES:
        return f"{role} is no role of a column; roles are {', '.join(ROLES)}"
    if name not in header:
        return f"there is no column {name} for {role}; the columns are {', '.join(header)}"
    return ""


def _trouble(line: int, message: str) -> TextTrouble:
    return TextTrouble("bad-table", Span(line, 1, line, 1), message)


def _row(
    row: dict[str | None, str | None],
    told: Mapping[str, str],
    line: int,
    made: list[Node],
    troubles: list[TextTrouble],
) -> None:
    if None in row or None in row.values():
        troubles.append(_trouble(line, f"line {line} has more or fewer fields than the header"))
        return
    fields = {str(key): (value or "").strip() for key, value in row.items()}
    try:
        made.append(_node(fields, told, len(made) + 1))
    except (amount.QuantityError, ValueError) as error:
        troubles.append(_trouble(line, f"line {line}: {error}"))


def _node(fields: Mapping[str, str], told: Mapping[str, str], ordinal: int) -> Node:
    def text(role: str) -> str:
        return fields[told[role]] if role in told else ""

    gpus = _whole("gpus", text("gpus") or "0")
    machines = _whole("nodes", text("nodes")) if "nodes" in told else 1
    model = text("model") if gpus else ""
    labels = {key: value for key, value in fields.items() if "/" in key and value}
    allocatable = {**_amounts(text), **({resources.NVIDIA: gpus} if gpus else {})}
    found = None
    if gpus:
        exact = Range(gpus, gpus)
        found = Accelerators(model, exact, exact, resource=resources.NVIDIA)
    return Node(
        name=text("name") or f"row-{ordinal}",
        labels=labels,
        allocatable=allocatable,
        accelerators=found,
        machines=machines,
        most=machines,
        source="table",
    )


def _amounts(text: Callable[[str], str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for role, resource, unit in (
        ("cpu", "cpu", ""),
        ("cpu_milli", "cpu", "m"),
        ("memory", "memory", ""),
        ("memory_mib", "memory", "Mi"),
        ("memory_gib", "memory", "Gi"),
    ):
        written = text(role)
        if written:
            found[resource] = amount.amount(resource, written + unit)
    return found


def _whole(role: str, text: str) -> int:
    value = amount.quantity(text)
    if value.denominator != 1 or not 0 <= value <= _LARGEST:
        raise ValueError(f"{role} is {text!r}; it has to be a whole number of at least 0")
    return int(value)
