"""Which inventory format a file is in, found from its content, and reading it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from policycheck.model.facts import Trouble
from policycheck.model.inventory import Node
from policycheck.model.workload import Workload
from policycheck.record import NamedTuple
from policycheck.source import yamldoc
from policycheck.source.document import Document, DocumentId, FileReport
from policycheck.source.text import TextError, decode
from policycheck.systems.core import compact, elastic, nodes, pools, slices, tables

ACCEPTED = (
    "Node objects (kubectl get nodes -o json), ResourceSlices, a CSV table with a column of GPUs, a pool file "
    "(pools: [{name, nodes, gpus, product}]), the file of inventory --write, eksctl ClusterConfig, Karpenter "
    "NodePool, GKE node pools (gcloud container node-pools list --format=json), Cluster API MachineDeployment"
)
_LATER = "not read yet: {}; write a pool file instead, or take kubectl get nodes -o json"
_BY_SUFFIX = {
    ".tf": "Terraform source, whose numbers stand in variables and modules",
    ".tfvars": "Terraform variables",
    ".tfstate": "Terraform state",
    ".conf": "Slurm configuration",
}
_SLINKY = frozenset({"nodesets", "slurm", "slurmctld", "compute", "controller"})


class Part(NamedTuple):
    """What one file gave."""

    report: FileReport
    nodes: tuple[tuple[DocumentId, Node], ...] = ()
    slices: tuple[slices.DeviceSlice, ...] = ()
    workloads: tuple[Workload, ...] = ()
    dated: str = ""
    oddities: tuple[str, ...] = ()


class _Collector:
    """Gathers what the documents of one file give, and what was wrong with them."""

    def __init__(self, file: str, *, named: bool) -> None:
        self.file = file
        self.named = named  # by the user; what was merely found in a folder may be something else
        self.nodes: list[tuple[DocumentId, Node]] = []
        self.slices: list[slices.DeviceSlice] = []
        self.workloads: list[Workload] = []
        self.wrong: list[tuple[int | None, str, bool]] = []  # line, why, failed
        self.others: dict[str, int] = {}
        self.dated = ""
        self.oddities: list[str] = []
        self.documents = 0

    def troubled(self, line: int | None, troubles: list[Trouble], *, failed: bool) -> None:
        """Notes troubles of one document, each with its path."""
        for trouble in troubles:
            self.wrong.append((line, f"{_dotted(trouble.path)}: {trouble.message}", failed))

    def part(self) -> Part:
        """The result, with the file's account."""
        if not (self.nodes or self.slices or self.workloads or self.wrong):
            self._nothing()
        return Part(
            self._report(),
            tuple(self.nodes),
            tuple(self.slices),
            tuple(self.workloads),
            self.dated,
            tuple(self.oddities),
        )

    def _nothing(self) -> None:
        if self.others:
            seen = ", ".join(f"{n} {kind}" for kind, n in sorted(self.others.items()))
            self.wrong.append((None, f"holds no inventory ({seen})", False))
        else:
            self.wrong.append((None, self.unknown("no"), self.named))

    def unknown(self, what: str) -> str:
        """Why a file is no inventory, with what is accepted when the user meant it as one."""
        accepted = f". Accepted are {ACCEPTED}" if self.named else ""
        return f"{what} inventory in a format that is known{accepted}"

    def _report(self) -> FileReport:
        if not self.wrong:
            return FileReport(self.file, "checked", documents=self.documents)
        line, why, failed = next((w for w in self.wrong if w[2]), self.wrong[0])
        more = f" (and {len(self.wrong) - 1} more)" if len(self.wrong) > 1 else ""
        has_any = bool(self.nodes or self.slices or self.workloads)
        state = "partly" if has_any else "notChecked"
        return FileReport(self.file, state, line, why + more, failed, self.documents)  # type: ignore[arg-type]


def _dotted(path: tuple[str | int, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "document"


def read(
    file: str,
    read_bytes: Callable[[str], bytes],
    columns: Mapping[str, str] | None = None,
    *,
    named: bool = True,
) -> Part:
    """What one file holds of an inventory. Never raises on content; OSError becomes its report.

    A file that is something else failed when the user ``named`` it, and else is merely not checked.
    """
    try:
        data = read_bytes(file)
    except OSError as error:
        why = f"can not be read: {error.strerror or error}"
        return Part(FileReport(file, "notChecked", None, why, failed=True))
    suffix = next((s for s in _BY_SUFFIX if file.lower().endswith(s)), "")
    if suffix:
        return Part(FileReport(file, "notChecked", None, _LATER.format(_BY_SUFFIX[suffix]), failed=named))
    collector = _Collector(file, named=named)
    table = _table_text(file, data, columns)
    if table is not None:
        _table(collector, table, columns)
    else:
        _documents(collector, data)
    return collector.part()


def _table_text(file: str, data: bytes, columns: Mapping[str, str] | None) -> str | None:
    """The text when the file is a table, else None."""
    try:
        text = decode(data)
    except TextError:
        return None
    is_named = file.lower().endswith((".csv", ".tsv"))
    return (
        text
        if is_named or (columns and not text.lstrip().startswith(("{", "["))) or tables.is_table(text)
        else None
    )


def _table(collector: _Collector, text: str, columns: Mapping[str, str] | None) -> None:
    found = tables.read(text, columns)
    collector.documents = len(found.nodes)
    collector.nodes = [(DocumentId(collector.file), node) for node in found.nodes]
    collector.wrong = [(t.span.line, t.message, True) for t in found.troubles]
    if found.unread:
        collector.oddities.append(
            f"table columns not used: {', '.join(found.unread)} (a node label's name holds a /)"
        )
    if found.nodes and not any(node.labels for node in found.nodes):
        collector.oddities.append("a table without labels: no flavor can be matched to its nodes")


def _documents(collector: _Collector, data: bytes) -> None:
    parsed = yamldoc.parse(collector.file, data)
    for document in parsed.documents:
        collector.documents += 1
        _object(collector, document)
    if not parsed.unchecked:
        return
    broken = [u for u in parsed.unchecked if u.failed]
    collector.wrong += [(u.line, u.why, True) for u in broken]
    if broken:
        return
    try:
        values = yamldoc.load_values(collector.file, data)
    except TextError:  # a template or a fragment, which was recognised as one before
        collector.wrong += [(u.line, u.why, collector.named) for u in parsed.unchecked]
        return
    for number, (line, value) in enumerate(values):
        _value(collector, DocumentId(collector.file, number), line, value)


def _object(collector: _Collector, document: Document) -> None:
    value, troubles = document.value, list[Trouble]()
    kind, group = str(value.get("kind", "")), str(value.get("apiVersion", "")).rpartition("/")[0]
    if kind == "Node" and not group:
        node = nodes.node(value, troubles)
        collector.nodes.append((document.id, node))
        collector.troubled(document.line, troubles, failed=False)
    elif kind == "ResourceSlice":
        collector.slices.append(slices.read(value, troubles))
        collector.troubled(document.line, troubles, failed=False)
    elif kind in ("DaemonSet", "Pod"):
        _workload(collector, value, group, kind)
    elif elastic.kind_of(value):
        collector.nodes += [(document.id, node) for node in elastic.read(value, troubles)]
        collector.troubled(document.line, troubles, failed=True)
    elif pools.is_pool_file(value) or compact.is_compact(value):
        _value(collector, document.id, document.line, value)
    else:
        collector.others[kind] = collector.others.get(kind, 0) + 1


def _workload(collector: _Collector, value: Mapping[str, Any], group: str, kind: str) -> None:
    from policycheck.systems.core import facts

    version = str(value.get("apiVersion", "")).rpartition("/")[2]
    read_facts = facts.read(value, group, kind, version)
    if read_facts is not None and isinstance(read_facts.typed, Workload):
        collector.workloads.append(read_facts.typed)


def _value(collector: _Collector, place: DocumentId, line: int, value: Any) -> None:
    """A document that is no Kubernetes object."""
    troubles: list[Trouble] = []
    found: tuple[Node, ...] = ()
    if elastic.is_gke(value):
        found = elastic.read_gke(value, troubles)
    elif not isinstance(value, Mapping):
        if value is not None:
            collector.wrong.append((line, collector.unknown("no"), collector.named))
        return
    elif isinstance(value.get("kind"), str) and "metadata" in value:
        return  # an object: it was taken before
    elif compact.is_compact(value):
        found = compact.read(value, troubles)
    elif pools.is_pool_file(value):
        found = pools.read(value, troubles)
    else:
        collector.wrong.append((line, _unread(collector, value), collector.named))
        return
    if isinstance(value, Mapping):
        collector.dated = compact.dates([value])
        told = value.get("oddities")
        collector.oddities += [str(o) for o in told] if isinstance(told, list) else []
    collector.documents += 1
    collector.nodes += [(place, node) for node in found]
    collector.troubled(line, troubles, failed=True)


def _unread(collector: _Collector, value: Mapping[str, Any]) -> str:
    """What a mapping without kind is, as far as its keys tell."""
    if "switches" in value and "blocks" in value:
        return _LATER.format("a Topograph model, which tells of topology and of no GPUs")
    if _SLINKY & set(value):
        return _LATER.format("chart values (Slinky)")
    keys = ", ".join(str(k) for k in list(value)[:4])
    return collector.unknown(f"a mapping with {keys}: no")
