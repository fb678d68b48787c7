"""From one file's bytes to its objects, and to an account of what in it was understood."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from policycheck.source.build import Builder, Built, Limits, RawTrouble
from policycheck.source.document import Document, DocumentId, FileReport, Path, TextTrouble
from policycheck.source.jsondoc import JsonValue, NotJson, looks_like_json, read_json
from policycheck.source.template import (
    NotChecked,
    is_object,
    judge_broken,
    may_be_template,
    unrendered,
    what_else,
)
from policycheck.source.text import Lines, Piece, TextError, decode, pieces

__all__ = ["LIMITS", "Limits", "ParsedFile", "Unchecked", "digest", "load_values", "parse"]

LIMITS = Limits()
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False).encode
# Beyond this, duplicate keys in JSON are reported without their position: finding it costs a second parse.
_SECOND_LOOK = 8 * 1024 * 1024


class Unchecked(NamedTuple):
    """A stretch of a file that is no readable Kubernetes object, and why."""

    document: int
    line: int
    column: int
    why: str
    failed: bool  # it should have been readable: exit code 3


class ParsedFile(NamedTuple):
    """What one file holds. ``report`` accounts for all of it."""

    documents: tuple[Document, ...]
    report: FileReport
    unchecked: tuple[Unchecked, ...] = ()


def parse(file: str, data: bytes, limits: Limits = LIMITS) -> ParsedFile:
    """The objects of a file in their order, Lists taken apart. Never raises on content.

    A document that can not be read does not keep the others from being read: files are cut at `---` first.
    """
    largest = limits.json_size if data[:1024].lstrip()[:1] == b"{" else limits.size
    if len(data) > largest:
        why = f"longer than the {largest:,} bytes that one file may have: split it"
        return _nothing(file, Unchecked(0, 1, 1, why, failed=True))
    try:
        text = decode(data)
    except TextError as error:
        broken = data[:].decode("utf-8", "replace")
        line, column = Lines(broken).place(error.offset) if error.offset else (1, 1)
        return _nothing(file, Unchecked(0, line, column, error.why, failed=True))
    return _Reader(file, text, limits).run()


def load_values(file: str, data: bytes, limits: Limits = LIMITS) -> list[tuple[int, Any]]:
    """The values of a file that need not hold Kubernetes objects (settings, pools, mixes): (line, value).

    Raises TextError whose text has file, line and column.
    """
    text = decode(data)
    lines = Lines(text)
    found: list[tuple[int, Any]] = []
    for piece in pieces(text):
        try:
            values = _values(text[piece.start : piece.end], limits)
            found.extend((lines.place(piece.start + value.start)[0], value.value) for value in values)
        except TextError as error:
            line, column = lines.place(piece.start + error.offset)
            raise TextError(
                piece.start + error.offset, f"{file}:{line}:{column}: {error.why}", error.code
            ) from error
    return found


def digest(value: Any) -> str:
    """sha256 (hex) of the canonical JSON: keys sorted, no blanks, ASCII. Equal values, equal digest."""
    return hashlib.sha256(_canonical(value).encode("ascii")).hexdigest()


def _nothing(file: str, unchecked: Unchecked) -> ParsedFile:
    report = FileReport(file, "notChecked", unchecked.line, _why(unchecked), failed=unchecked.failed)
    return ParsedFile((), report, (unchecked,))


def _why(unchecked: Unchecked) -> str:
    return f"column {unchecked.column}: {unchecked.why}" if unchecked.failed else unchecked.why


class _Value(NamedTuple):
    """One value of a piece; offsets count from the piece's start."""

    value: Any
    start: int
    troubles: tuple[RawTrouble, ...]
    items: dict[Path, int]


def _values(text: str, limits: Limits) -> list[_Value]:
    """The values of one piece: one, or several when JSON values follow each other. Raises TextError."""
    if looks_like_json(text):
        try:
            return [_from_json(value, text, limits) for value in read_json(text, limits.depth)]
        except NotJson:
            pass
    built = Builder(limits).run(text)
    return [_Value(built.value, built.start, built.troubles, built.items)] if built else []


def _from_json(value: JsonValue, text: str, limits: Limits) -> _Value:
    troubles: tuple[RawTrouble, ...] = ()
    if value.duplicates:
        troubles = _json_duplicates(value, text, limits)
    return _Value(value.value, value.start, troubles, value.items)


def _json_duplicates(value: JsonValue, text: str, limits: Limits) -> tuple[RawTrouble, ...]:
    if value.end - value.start <= _SECOND_LOOK:
        try:
            built: Built | None = Builder(limits).run(text[value.start : value.end])
        except TextError:
            built = None
        if built:
            found = [t for t in built.troubles if t.code == "duplicate-key"]
            return tuple(t._replace(start=t.start + value.start, end=t.end + value.start) for t in found)
    message = "a key is written twice in one mapping: the API server keeps the last; delete one of them"
    return (RawTrouble("duplicate-key", value.start, value.start + 1, message, ()),)


class _Reader:
    """Reads one file; keeps the accounts."""

    def __init__(self, file: str, text: str, limits: Limits) -> None:
        self.file = file
        self.text = text
        self.limits = limits
        self.lines = Lines(text)
        self.documents: list[Document] = []
        self.unchecked: list[Unchecked] = []

    def run(self) -> ParsedFile:
        number = 0
        for piece in pieces(self.text):
            body = self.text[piece.start : piece.end]
            try:
                values = _values(body, self.limits)
            except TextError as error:
                self._note(number, piece, judge_broken(body, error))
                values = []
            for offset, value in enumerate(values):
                self._take(number + offset, piece, value, body)
            # A piece without a value counts as one too: its number must not depend on whether it parses.
            number += max(len(values), 1)
            if len(self.documents) > self.limits.documents:
                why = f"more than {self.limits.documents} objects in one file: split it"
                self._note(number, piece, NotChecked(0, why, failed=True))
                break
        return ParsedFile(tuple(self.documents), self._report(), tuple(self.unchecked))

    def _take(self, number: int, piece: Piece, value: _Value, body: str) -> None:
        """Adds the objects of one value, or the reason why there is none."""
        if value.value is None:
            return
        troubles = self._troubles(piece, value.troubles)
        hinted = may_be_template(body)
        for path, item in _objects(value.value):
            start = value.items.get(path, value.start)
            if not is_object(item):
                self._note(number, piece, NotChecked(start, what_else(self.file, item)))
                continue
            template = unrendered(body, item) if hinted else None
            if template is not None:
                self._note(number, piece, template)
                continue
            own = (
                tuple(t._replace(path=t.path[len(path) :]) for t in troubles if t.path[: len(path)] == path)
                if troubles
                else ()
            )
            line = self.lines.place(piece.start + start)[0]
            identity = DocumentId(self.file, number, path)
            self.documents.append(Document(identity, line, item, digest(item), own))

    def _troubles(self, piece: Piece, raw: tuple[RawTrouble, ...]) -> tuple[TextTrouble, ...]:
        return tuple(
            TextTrouble(
                t.code, self.lines.span(piece.start + t.start, piece.start + t.end), t.message, t.path
            )
            for t in raw
        )

    def _note(self, number: int, piece: Piece, why: NotChecked) -> None:
        line, column = self.lines.place(min(piece.start + why.offset, len(self.text)))
        self.unchecked.append(Unchecked(number, line, column, why.why, why.failed))

    def _report(self) -> FileReport:
        if not self.unchecked:
            return FileReport(self.file, "checked", documents=len(self.documents))
        first = next((u for u in self.unchecked if u.failed), self.unchecked[0])
        state = "partly" if self.documents else "notChecked"
        return FileReport(self.file, state, first.line, _why(first), first.failed, len(self.documents))  # type: ignore[arg-type]


def _objects(value: Any) -> Iterator[tuple[Path, Any]]:
    """The value itself, or the items of a List and of Lists in it, in their order."""
    stack: list[tuple[Path, Any]] = [((), value)]
    while stack:
        path, at = stack.pop()
        items = _items(at)
        if items is None:
            yield path, at
            continue
        head = {} if at["kind"] == "List" else {"kind": at["kind"][:-4], "apiVersion": at.get("apiVersion")}
        numbered = reversed(list(enumerate(items)))
        stack.extend(((*path, "items", n), _complete(item, head)) for n, item in numbered)


def _items(value: Any) -> list[Any] | None:
    """The items of a List (kind ``List`` or ``NodeList``); None for any other value."""
    if not isinstance(value, dict):
        return None
    kind, items = value.get("kind"), value.get("items")
    return items if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list) else None


def _complete(item: Any, head: dict[str, Any]) -> Any:
    """An item of a typed List as an object of its own: raw API answers leave out kind and apiVersion there."""
    if head and isinstance(item, dict) and "kind" not in item and "apiVersion" not in item:
        return {**head, **item}
    return item
