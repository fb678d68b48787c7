"""Facts: what one document says, free of file and position, picklable, cacheable by digest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.origin import ObjectKey, Path
from policycheck.record import NamedTuple
from policycheck.source.document import Mend


class Trouble(NamedTuple):
    """Something in the document that could not be read as what it should be.

    ``code`` names the schema rule that reports it (``unknown-field``, ``bad-quantity``,
    ``wrong-type``, ``bad-enum``, ``missing-field``, ``dead-version``, ``not-settable``). The path is in the *written*
    document.
    """

    code: str
    path: Path
    message: str  # what was found, what is allowed, what to do
    on_key: bool = False  # points at the key, not the value
    mend: Mend | None = None  # what would be right, where that can be told


class Rename(NamedTuple):
    """A value that conversion moved: where it is in the newest form, where it was written."""

    new: Path
    written: Path


class Facts(NamedTuple):
    """One object as read.

    ``value`` is the object in its newest served form, nulls pruned and defaulted as the API server
    would; ``typed`` is the owning system's own type, or None for a kind nobody reads.
    """

    key: ObjectKey
    api_version: str  # as written
    system: str  # name of the system that reads this kind; "" when none does
    value: Mapping[str, Any]
    typed: object | None = None
    renames: tuple[Rename, ...] = ()
    troubles: tuple[Trouble, ...] = ()

    def written(self, path: Path) -> Path:
        """The path in the written document of a path in the newest form (longest rename wins)."""
        best: Rename | None = None
        for rename in self.renames:
            if path[: len(rename.new)] == rename.new and (best is None or len(rename.new) > len(best.new)):
                best = rename
        return path if best is None else best.written + path[len(best.new) :]
