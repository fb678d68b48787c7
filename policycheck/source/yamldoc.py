"""From one file's bytes to its objects, and to an account of what in it was understood."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any, Literal

from policycheck.digest import sha256
from policycheck.record import NamedTuple
from policycheck.source.build import Builder, Built, Limits, RawTrouble
from policycheck.source.document import Document, DocumentId, FileReport, Path, TextTrouble
from policycheck.source.jsondoc import JsonValue, NotJson, looks_like_json, read_json
from policycheck.source.object import NotChecked, is_object, may_be_template
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
    kind: str = ""  # of the object that it would be, as far as the text tells
    name: str = ""  # "" also when a template is to fill it in


class ParsedFile(NamedTuple):
    """What one file holds. ``report`` accounts for all of it.

    ``others`` are mappings that are no Kubernetes objects and hold a mark that was asked for; they
    count as unchecked until ``admit`` takes them in.
    """

    documents: tuple[Document, ...]
    report: FileReport
    unchecked: tuple[Unchecked, ...] = ()
    others: tuple[Document, ...] = ()


def parse(file: str, data: bytes, limits: Limits = LIMITS, marks: tuple[str, ...] = ()) -> ParsedFile:
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
    return _Reader(file, text, limits, marks).run()


def admit(parsed: ParsedFile, known: Collection[DocumentId]) -> ParsedFile:
    """``parsed`` with those of its ``others`` that somebody knows after all among its documents."""
    taken = [document for document in parsed.others if document.id in known]
    if not taken:
        return parsed
    numbers = {document.id.document for document in taken}
    unchecked = tuple(one for one in parsed.unchecked if one.failed or one.document not in numbers)
    documents = tuple(sorted((*parsed.documents, *taken), key=lambda document: document.id))
    report = _report(parsed.report.file, documents, unchecked)
    others = tuple(document for document in parsed.others if document.id not in known)
    return ParsedFile(documents, report, unchecked, others)


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
    return sha256(_canonical(value).encode("ascii")).hexdigest()


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

    def __init__(self, file: str, text: str, limits: Limits, marks: tuple[str, ...]) -> None:
        self.file = file
        self.marks = marks
        self.others: list[Document] = []
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
                from policycheck.source.template import judge_broken, sketch

                self._note(number, piece, judge_broken(body, error), *sketch(body))
                values = []
            for offset, value in enumerate(values):
                self._take(number + offset, piece, value, body)
            # A piece without a value counts as one too: its number must not depend on whether it parses.
            number += max(len(values), 1)
            if len(self.documents) > self.limits.documents:
                why = f"more than {self.limits.documents} objects in one file: split it"
                self._note(number, piece, NotChecked(0, why, failed=True))
                break
        documents, unchecked = tuple(self.documents), tuple(self.unchecked)
        return ParsedFile(documents, _report(self.file, documents, unchecked), unchecked, tuple(self.others))

    def _take(self, number: int, piece: Piece, value: _Value, body: str) -> None:
        """Adds the objects of one value, or the reason why there is none."""
        if value.value is None:
            return
        troubles = self._troubles(piece, value.troubles)
        hinted = may_be_template(body)
        for path, item in _objects(value.value):
            start = value.items.get(path, value.start)
            known = is_object(item)
            if not known:
                from policycheck.source.template import what_else

                self._note(number, piece, NotChecked(start, what_else(self.file, item)))
                if path or not isinstance(item, dict) or not any(mark in body for mark in self.marks):
                    continue
            if hinted and self._is_template(number, piece, body, item, known=known):
                continue
            own = (
                tuple(_within(t, len(path)) for t in troubles if t.path[: len(path)] == path)
                if troubles
                else ()
            )
            line = self.lines.place(piece.start + start)[0]
            made = Document(DocumentId(self.file, number, path), line, item, digest(item), own)
            (self.documents if known else self.others).append(made)

    def _is_template(self, number: int, piece: Piece, body: str, item: Any, *, known: bool) -> bool:
        """Whether an object is still to be filled in; says so when it is one that is ``known``."""
        from policycheck.source.template import identity_of, unrendered

        found = unrendered(body, item)
        if found is not None and known:
            self._note(number, piece, found, *identity_of(item))
        return found is not None

    def _troubles(self, piece: Piece, raw: tuple[RawTrouble, ...]) -> tuple[TextTrouble, ...]:
        return tuple(
            TextTrouble(
                t.code,
                self.lines.span(piece.start + t.start, piece.start + t.end),
                t.message,
                t.path,
                t.mend,
            )
            for t in raw
        )

    def _note(self, number: int, piece: Piece, why: NotChecked, kind: str = "", name: str = "") -> None:
        line, column = self.lines.place(min(piece.start + why.offset, len(self.text)))
        self.unchecked.append(Unchecked(number, line, column, why.why, why.failed, kind, name))


def _within(trouble: TextTrouble, steps: int) -> TextTrouble:
    """The trouble with paths counted from the item of a List that is so many steps down."""
    mend = trouble.mend and trouble.mend._replace(path=trouble.mend.path[steps:])
    return trouble._replace(path=trouble.path[steps:], mend=mend)


def _report(file: str, documents: tuple[Document, ...], unchecked: tuple[Unchecked, ...]) -> FileReport:
    if not unchecked:
        return FileReport(file, "checked", documents=len(documents))
    first = next((u for u in unchecked if u.failed), unchecked[0])
    state: Literal["partly", "notChecked"] = "partly" if documents else "notChecked"
    return FileReport(file, state, first.line, _why(first), first.failed, len(documents))


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
