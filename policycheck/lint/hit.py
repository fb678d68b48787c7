"""The minimum that a check returns; everything else is stamped by the runner."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.origin import DocumentId, Path
from policycheck.record import NamedTuple
from policycheck.source.document import Change


class Related(NamedTuple):
    """Another place that explains a hit, perhaps in another file."""

    id: DocumentId
    path: Path
    label: str  # what to say beneath the span: "flavor h100 covers 8 nodes x 8 GPUs"


class Hit(NamedTuple):
    """Where a rule's subject fails, and the values that its message shows.

    ``changes`` are what would mend it, with paths in the newest form (with ``raw``: as written), in this
    document or another; ``safety`` is given where they are less safe than the rule's fix says.

    ``path`` is in the newest served form of the object; when it is not written in the document the
    position becomes the key of the nearest written parent. With ``on_key`` the span is the key
    alone. ``raw`` marks a path that is already in the written document (schema rules).
    """

    id: DocumentId
    path: Path
    values: Mapping[str, object] = {}
    related: tuple[Related, ...] = ()
    on_key: bool = False
    raw: bool = False
    label: str = ""  # shown right of the caret; "" takes none
    discriminator: str = ""  # tells apart several hits of one rule on one path; enters the fingerprint
    changes: tuple[Change, ...] = ()
    safety: str = ""


class Skip(NamedTuple):
    """A check says that it could not decide something. Listed, never silently passed."""

    why: str
