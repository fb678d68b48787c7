"""Changes to files that leave everything else as it is: comments, quotes, order, blanks.

A scalar or a key is replaced where it stands. What adds or removes lines goes through yaml-edit, loaded only
then. A path may lead into YAML that stands as text in a literal block. Each change is verified by reading the
new text: it must hold exactly the old data with the change made, else the change is dropped and the text stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from policycheck.record import NamedTuple
from policycheck.source.block import literal
from policycheck.source.document import Change, Path, Span
from policycheck.source.outline import Entry, Node, child, outline
from policycheck.source.scalar import is_unsendable, read_plain
from policycheck.source.spans import numbered
from policycheck.source.text import Lines, TextError
from policycheck.source.yamldoc import digest, load_values

__all__ = [
    "Change",
    "Dropped",
    "Edit",
    "Edited",
    "apply",
    "changed",
    "edit",
    "in_order",
    "replace_scalar",
    "scalar_text",
]

_DEEPEST = 5  # texts inside of texts
# What needs no quotes wherever it stands, flow collections included.
_PLAIN = re.compile(r"[A-Za-z0-9_./+-][A-Za-z0-9_./+@=-]*")


class Edit(NamedTuple):
    """New text for a stretch of old text; offsets in code points, ``end`` exclusive."""

    start: int
    end: int
    new: str


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
    """The text with the changes made one after another, each on the result of those before it.

    Line ends stay what they are when all are the same.
    """
    breaks = text.count("\r\n")
    is_dos = breaks > 0 and breaks == text.count("\n") == text.count("\r")
    if is_dos:
        text = text.replace("\r\n", "\n")
    done: list[Change] = []
    dropped: list[Dropped] = []
    parts: _Parts | None = None  # the text taken apart, until something else than a document changes
    for change in changes:
        try:
            if change.action in _TIDY:
                text, parts = _tidied(parts.text if parts else text, change), None
            else:
                parts = parts or _Parts(text)
                parts.change(change)
        except (_CanNotError, TextError) as error:
            dropped.append(Dropped(change, str(error)))
        else:
            done.append(change)
    text = parts.text if parts else text
    return Edited(text.replace("\n", "\r\n") if is_dos else text, tuple(done), tuple(dropped))


def in_order(changes: Iterable[Change]) -> list[Change]:
    """The changes, each once, so that none moves what another one points at: cuts first, from the end of each
    file on.
    """
    known = list({repr(change): change for change in changes}.values())
    cuts = [change for change in known if change.action in _TIDY]
    data = [change for change in known if change.action not in _TIDY]
    return [*sorted(cuts, key=lambda change: (change.id.file, change.value), reverse=True), *data]


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
    is_plain = _PLAIN.fullmatch(value) and value != "-" and not is_unsendable(value)
    if quote != '"' and is_plain and read_plain(value) == value:
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
            at[step] = nested(change.path[n + 1 :], change.value)
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


def nested(path: Path, value: Any) -> Any:
    """``value`` beneath the keys of ``path``. Raises KeyError for an item of a list, which has no place by itself."""
    for step in reversed(path):
        if not isinstance(step, str):
            raise KeyError(step)
        value = {step: value}
    return value


_TIDY = ("uncomment", "unrepeat")


def _tidied(text: str, change: Change) -> str:
    """The text without something that is no data, verified: no value in the file is another one than before."""
    from policycheck.source import tidy

    cut = tidy.uncomment if change.action == "uncomment" else tidy.unrepeat
    new = cut(text, change.value)
    if new is None:
        raise _CanNotError("what was to go does not stand there by itself")
    if _digests(change.id.file, text) != _digests(change.id.file, new):
        raise _CanNotError("the text could not be changed without changing something else")
    return new


def _digests(file: str, text: str) -> list[str]:
    return [digest(value) for _, value in load_values(file, text.encode())]


class _Parts:
    """A text as its documents and what stands between them: a change costs what its document does."""

    def __init__(self, text: str) -> None:
        self._parts: list[str] = []
        self._json: list[bool] = []
        at = 0
        for piece, value in numbered(text):
            start, end = piece.start, piece.end
            if value is not None:
                start, end = piece.start + value.start, piece.start + value.end
            self._parts += (text[at:start], text[start:end])
            self._json.append(value is not None)
            at = end
        self._parts.append(text[at:])

    @property
    def text(self) -> str:
        """The whole of it."""
        return "".join(self._parts)

    def change(self, change: Change, depth: int = 0) -> None:
        """Makes a change, verified. Raises _CanNotError and TextError."""
        number = change.id.document
        if not 0 <= number < len(self._json):
            raise _CanNotError("the document is not there any more")
        at = 2 * number + 1
        self._parts[at] = _changed(self._parts[at], change, is_json=self._json[number], depth=depth)


def _changed(body: str, change: Change, *, is_json: bool, depth: int) -> str:
    """The text of one document with a change made and verified."""
    full = change._replace(path=(*change.id.prefix, *change.path))
    values = [value for _, value in load_values(change.id.file, body.encode())]
    if len(values) != 1:
        raise _CanNotError("the document is no single value")
    inside = _text_on_the_way(values[0], full.path)
    if inside is not None:
        full = _outer(full, *inside, depth)
    try:
        wanted = changed(values[0], full)
    except (KeyError, IndexError, TypeError) as error:
        raise _CanNotError(f"there is no such place in the document: {error}") from error
    new = _by_block(body, full) if inside is not None else _by_span(body, full, is_json=is_json)
    if new is None:
        if is_json:
            raise _CanNotError("adding to JSON and removing from it is left to you")
        new = _by_structure(body, full)
    # By digest, since 1 == True == 1.0 in Python.
    if _digests(change.id.file, new) != [digest(wanted)]:
        raise _CanNotError("the text could not be changed without changing something else")
    return new


def _text_on_the_way(value: Any, path: Path) -> tuple[int, str] | None:
    """The number of steps to a text that the path goes on into, and the text."""
    for n, step in enumerate(path):
        if isinstance(value, str):
            return n, value
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return None


def _outer(change: Change, steps: int, text: str, depth: int) -> Change:
    """The change of a text as a whole that makes the change inside of it."""
    if depth >= _DEEPEST:
        raise _CanNotError(f"texts inside of texts, more than {_DEEPEST} deep")
    why = "the text in it holds no such place"
    for number in range(sum(1 for _ in numbered(text))):
        inner = change._replace(id=change.id._replace(document=number, prefix=()), path=change.path[steps:])
        parts = _Parts(text)
        try:
            parts.change(inner, depth + 1)
        except (_CanNotError, TextError) as error:
            why = str(error)
        else:
            new = parts.text
            # A block at the end of a file may end without a line break, and then goes on doing so.
            kept = new if text.endswith("\n") else new.rstrip("\n")
            return change._replace(path=change.path[:steps], action="set", value=kept)
    raise _CanNotError(why)


def _by_block(body: str, change: Change) -> str | None:
    """The text with a literal block written anew, in which only lines that differ are others than before."""
    node: Node | None = outline(body)
    for step in change.path:
        found = child(node, step) if node is not None else None
        node = found.node if isinstance(found, Entry) else found
    block = None if node is None or not node.is_literal else literal(body, node)
    if node is None or block is None:
        raise _CanNotError("text that holds YAML is only changed where it stands in a literal block (|)")
    new = block.written(change.value)
    return apply(body, [Edit(node.start, node.end, new)])


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
                at.set(step, nested(change.path[n + 1 :], change.value))
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
