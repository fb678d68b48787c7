"""What source hands on: documents with values, and an account of every file.

A ``Path`` addresses a value inside one object: keys are strings, list positions integers.
Lines and columns count from 1, in code points; they are looked up late, from the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from policycheck.record import NamedTuple

Path = tuple[str | int, ...]


class DocumentId(NamedTuple):
    """Identity of one object's text: the file, the YAML document in it, the item of a List."""

    file: str  # as the user wrote it, '/' separated; "<stdin>" for standard input
    document: int = 0  # 0-based number of the YAML document in the file
    prefix: Path = ()  # path of the object inside the document: ("items", 3) in a List


class Span(NamedTuple):
    """A stretch of text; lines and columns from 1 in code points, ends exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


Action = Literal["set", "remove", "rename", "uncomment", "unrepeat"]


class Change(NamedTuple):
    """A change of one object's data. ``value`` is the new value, or the new key of a rename.

    ``set`` makes what is missing on the way; the index after a list's last appends. ``uncomment`` and
    ``unrepeat`` change no data: they take away the comment at the Span ``value``, or the earlier one of two
    equal keys, of which ``value`` is the later.
    """

    id: DocumentId
    path: Path
    action: Action
    value: Any = None


class Mend(NamedTuple):
    """A Change that reading proposes, before it is known which document it is of; the path as written.

    ``is_sure``: it says the same in other words, or the only thing that can be meant.
    """

    path: Path
    action: Action
    value: Any = None
    is_sure: bool = True


class TextTrouble(NamedTuple):
    """Something about the text itself: a duplicate key, an ambiguous scalar, a tab.

    ``code``: ``duplicate-key``, ``ambiguous-scalar``, ``not-utf8``, ``alias-bomb``, ...
    """

    code: str
    span: Span
    message: str  # what was found, what it means to the API server, what to write
    path: Path = ()
    mend: Mend | None = None


class Document(NamedTuple):
    """One object as text and values. Never holds a node tree.

    ``value`` is what a Kubernetes API server would read: plain dict, list, str, int, float, bool,
    None. ``digest`` is the sha256 of the canonical JSON of ``value``.
    """

    id: DocumentId
    line: int  # on which the object begins
    value: Mapping[str, Any]
    digest: str
    troubles: tuple[TextTrouble, ...] = ()


class FileReport(NamedTuple):
    """What became of one file. Nothing that was given is missing from the list of these.

    ``state``: "checked" (all of it was understood), "partly" (some documents were, ``line`` and
    ``why`` tell of the first that was not) or "notChecked" (nothing: a template, a fragment, no
    Kubernetes object). ``failed`` marks what could not be read although it should (exit code 3).
    """

    file: str
    state: Literal["checked", "partly", "notChecked"]
    line: int | None = None
    why: str = ""
    failed: bool = False
    documents: int = 0
