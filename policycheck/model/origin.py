"""Where an object came from. The only place where the model knows of files."""

from __future__ import annotations

from policycheck.record import NamedTuple
from policycheck.source.document import DocumentId, Path

__all__ = ["DocumentId", "ObjectKey", "Origin", "Path"]


class Origin(NamedTuple):
    """What link attaches to Facts: whence they came and what the text was."""

    id: DocumentId
    line: int  # 1-based line on which the object begins
    digest: str  # sha256 hex of the object's values; equal values, equal digest
    reported: bool = True  # False for context: read, never reported


class ObjectKey(NamedTuple):
    """Identity of a Kubernetes object, whatever version it is written in."""

    group: str
    kind: str
    namespace: str  # "" for cluster-scoped objects
    name: str

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}"
