"""Changes to files that leave everything else as it is: comments, quotes, order, blanks.

A scalar or a key is replaced where it stands. What adds or removes lines goes through yaml-edit, loaded only
then. Each change is verified by reading the new text: it must hold exactly the old data with the change
made, else the change is dropped and the text stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from policycheck.record import NamedTuple
from policycheck.source.document import DocumentId, Path, Span
from policycheck.source.outline import Entry, Node, child, outline
from policycheck.source.scalar import read_plain
from policycheck.source.spans import numbered
from policycheck.source.text import Lines, TextError
from policycheck.source.yamldoc import digest, load_values

# What needs no quotes wherever it stands, flow collections included.
_PLAIN = re.compile(r"[A-Za-z0-9_./+-][A-Za-z0-9_./+@=-]*")


class Edit(NamedTuple):
    """New text for a stretch of old text; offsets in code points, ``end`` exclusive."""

    start: int
    end: int
    new: str


class Change(NamedTuple):
    """A change of one object's data. ``value`` is the new value, or the new key of a rename.

    ``set`` makes what is missing on the way; the index after a list's last appends.
    """

    id: DocumentId
    path: Path
    action: Literal["set", "remove", "rename"]
    value: Any = None


class Dropped(NamedTuple):
    """A change that was not made, and why."""

    change: Change
    why: str


class Edited(NamedTuple):
    """A file's text after its changes."""

    text: str
    done: tuple[Change, ...]
    dropped: tuple[Dropped, ...]


class _CanNotError(Exception):
    """Why a change can not be made."""


def edit(text: str, changes: Iterable[Change]) -> Edited:
    """The text with the changes made one after another, each on the result of those before it."""
    done: list[Change] = []
    dropped: list[Dropped] = []
    for change in changes:
        try:
            text = _changed(text, change)
        except (_CanNotError, TextError) as error:
            dropped.append(Dropped(change, str(error)))
        else:
            done.append(change)
    return Edited(text, tuple(done), tuple(dropped))


def replace_scalar(text: str, span: Span, value: str | float | bool | None) -> Edit:
    """The edit that writes a scalar over a span, in the quotes that the old one had."""
    lines = Lines(text)
    start = lines.start(span.line) + span.column - 1
    end = lines.start(span.end_line) + span.end_column - 1
    return Edit(start, end, scalar_text(value, text[start : start + 1]))


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits made. Raises ValueError when two of them overlap."""
    parts: list[str] = []
    at = 0
    for one in sorted(edits):
        if one.start < at:
            raise ValueError(f"two edits overlap at offset {one.start}")
        parts += (text[at : one.start], one.new)
        at = one.end
    return "".join((*parts, text[at:]))


def scalar_text(value: str | float | bool | None, quote: str = "") -> str:
    """A scalar as YAML that an API server reads as just this value, in flow collections too."""
    if not isinstance(value, str):
        return json.dumps(value)
    if quote == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if quote != '"' and _PLAIN.fullmatch(value) and value != "-" and read_plain(value) == value:
        return value
    return json.dumps(value, ensure_ascii=not value.isprintable())


def changed(value: Any, change: Change) -> Any:
    """The data with a change made; ``change.path`` counts from ``value``. Raises KeyError or IndexError."""
    if not change.path:
        raise KeyError("the whole of a document")
    # Through JSON, so that what aliases shared is apart: a change of one use must not look like one of all.
    whole = json.loads(json.dumps(value))
    at = whole
    *way, last = change.path
    for n, step in enumerate(way):
        if isinstance(at, dict) and step not in at and change.action == "set":
            at[step] = _nested(change.path[n + 1 :], change.value)
            return whole
        at = at[step]
    if change.action == "remove":
        del at[last]
    elif change.action == "rename":
        if change.value in at:
            raise KeyError(change.value)
        at[change.value] = at.pop(last)
    elif isinstance(at, list) and last == len(at):
        at.append(change.value)
    else:
        at[last] = change.value
    return whole


def _nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        if not isinstance(step, str):
            raise KeyError(step)
        value = {step: value}
    return value


def _changed(text: str, change: Change) -> str:
    """The text with one change made and verified."""
    start, end, is_json = _region(text, change.id.document)
    body = text[start:end]
    full = change._replace(path=(*change.id.prefix, *change.path))
    values = [value for _, value in load_values(change.id.file, body.encode())]
    if len(values) != 1:
        raise _CanNotError("the document is no single value")
    try:
        wanted = changed(values[0], full)
    except (KeyError, IndexError, TypeError) as error:
        raise _CanNotError(f"there is no such place in the document: {error}") from error
    new = _by_span(body, full, is_json=is_json)
    if new is None:
        if is_json:
            raise _CanNotError("adding to JSON and removing from it is left to you")
        new = _by_structure(body, full)
    # By digest, since 1 == True == 1.0 in Python.
    if [digest(value) for _, value in load_values(change.id.file, new.encode())] != [digest(wanted)]:
        raise _CanNotError("the text could not be changed without changing something else")
    return text[:start] + new + text[end:]


def _region(text: str, document: int) -> tuple[int, int, bool]:
    for number, (piece, value) in enumerate(numbered(text)):
        if number == document:
            if value is None:
                return piece.start, piece.end, False
            return piece.start + value.start, piece.start + value.end, True
    raise _CanNotError("the document is not there any more")


def _by_span(body: str, change: Change, *, is_json: bool) -> str | None:
    """The text with a scalar or key written over; None when the change is of another sort."""
    node: Node | None = outline(body)
    entry: Entry | None = None
    for step in change.path:
        found = child(node, step) if node is not None else None
        if found is None:
            return None
        entry, node = (found, found.node) if isinstance(found, Entry) else (None, found)
    if node is None or change.action == "remove":
        return None
    if change.action == "rename":
        if entry is None:
            return None
        old = body[entry.start : entry.start + 1]
        return apply(body, [Edit(entry.start, entry.end, scalar_text(change.value, '"' if is_json else old))])
    if node.entries is not None or node.items is not None or isinstance(change.value, dict | list):
        return None
    quote = '"' if is_json else body[node.start : node.start + 1]
    new = scalar_text(change.value, quote)
    blank = " " if node.start == node.end and not body[: node.start].endswith((" ", "\t")) else ""
    return apply(body, [Edit(node.start, node.end, blank + new)])


def _by_structure(body: str, change: Change) -> str:
    """The text with an entry added, replaced or removed by yaml-edit."""
    import yaml_edit

    try:
        stream = yaml_edit.YamlFile.parse(body)
        if str(stream) != body:
            raise _CanNotError("the text is not kept as it is when it is edited")
        document: Any = stream.document()
        at = document.root()
        *way, last = change.path
        for n, step in enumerate(way):
            at = _opened(at)
            inner = at.get(step)
            if inner is None and change.action == "set":
                at.set(step, _nested(change.path[n + 1 :], change.value))
                return str(stream)
            at = inner
        _put(_opened(at), last, change)
    except (yaml_edit.YamlError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise _CanNotError(f"the text can not be changed there: {error}") from error
    return str(stream)


def _opened(node: Any) -> Any:
    """The mapping or list that a node of yaml-edit is."""
    inner = node.as_mapping() if node.is_mapping() else node.as_sequence()
    if inner is None:
        raise _CanNotError("an alias or a tag stands on the way")
    return inner


def _put(container: Any, last: str | int, change: Change) -> None:
    if change.action == "remove":
        del container[last]
    elif isinstance(last, int) and last == len(container):
        container.append(change.value)
    elif change.action == "set":
        container.set(last, change.value)
    else:
        raise _CanNotError("the key can not be renamed there")
