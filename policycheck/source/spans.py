"""From a symbolic path to the place in the text: looked up late, and only in files that have findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from policycheck.record import NamedTuple
from policycheck.source.build import Limits
from policycheck.source.document import DocumentId, Path, Span
from policycheck.source.embedded import Step, Text, follow
from policycheck.source.jsondoc import JsonValue, NotJson, json_end, looks_like_json, read_json
from policycheck.source.outline import Entry, Node, child, outline
from policycheck.source.text import Lines, Piece, TextError, decode, pieces

ReadBytes = Callable[[str], bytes]
# libyaml takes no surrogate pairs, JSON does; for positions any escape of the same length will do.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


class Located(NamedTuple):
    """The place of a path.

    ``written`` is the part of the path that the text has; when that is not all, ``exact`` is False and the
    span is that of the nearest written parent's key.
    """

    span: Span
    written: Path
    exact: bool


def locate(data: bytes, identity: DocumentId, path: Path, *, on_key: bool = False) -> Located:
    """The place of one path in a file's bytes; see ``Spans.locate``."""
    return Spans(lambda _: data).locate(identity, path, on_key=on_key)


class Spans:
    """Places in files, each file read and each document outlined once."""

    def __init__(self, read: ReadBytes) -> None:
        self._read = read
        self._files: dict[str, _File] = {}

    def locate(self, identity: DocumentId, path: Path, *, on_key: bool = False) -> Located:
        """Where a path of an object is written.

        For a mapping entry from the start of its key to the end of its value, or the key alone when the
        value runs over several lines or ``on_key`` is set; for a list item the item, or its first line. A
        path that is not written gives the key (or item) of its nearest written parent. A file that changed
        or vanished since it was parsed gives its first character.
        """
        return self._file(identity.file).locate(identity, path, on_key=on_key)

    def lines(self, file: str) -> Lines:
        """The lines of a file, for excerpts; empty when it can not be read."""
        return self._file(file).lines

    def extent(self, identity: DocumentId) -> tuple[int, int]:
        """First and last line of an object."""
        return self._file(identity.file).extent(identity)

    def _file(self, name: str) -> _File:
        if name not in self._files:
            try:
                text = decode(self._read(name))
            except (OSError, TextError):
                text = ""
            self._files[name] = _File(text)
        return self._files[name]


def excerpt(lines: Lines, span: Span, around: int = 0) -> list[tuple[int, str]]:
    """The lines (number, text) of a span and ``around`` lines before and after it."""
    first, last = max(span.line - around, 1), min(span.end_line + around, len(lines))
    return [(number, lines.line(number)) for number in range(first, last + 1)]


def dotted(path: Path, value: Any) -> str:
    """A path for people: list items by name where they have one, ``flavors[name=h100].resources[0]``.

    Keys that are no plain words (label names) stand in brackets and quotes.
    """
    text = ""
    for step in path:
        inner: Any = None
        if isinstance(step, int):
            if isinstance(value, list) and 0 <= step < len(value):
                inner = value[step]
            name = inner.get("name") if isinstance(inner, Mapping) else None
            text += f"[name={name}]" if isinstance(name, str) and name else f"[{step}]"
        else:
            inner = value.get(step) if isinstance(value, Mapping) else None
            if _PLAIN_KEY.fullmatch(step):
                text += f".{step}" if text else step
            else:
                text += f'["{step}"]'
        value = inner
    return text


class _Stretch(NamedTuple):
    """Text that holds one object, or the List around it when ``skip`` does not cover the prefix."""

    start: int
    end: int
    skip: int  # leading steps of the prefix that the stretch is already inside


class _File:
    """One file's text and the outlines that were asked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = Lines(text)
        self._outlines: dict[tuple[int, int], Node | None] = {}
        self._numbered: list[tuple[Piece, JsonValue | None]] | None = None

    def locate(self, identity: DocumentId, path: Path, *, on_key: bool) -> Located:
        found = self._object(identity)
        if found is None:
            return Located(Span(1, 1, 1, 2 if self.text else 1), (), not path)
        at = follow(*found, Text(self.text), path)
        exact = at.written == len(path)
        start, end = _stretch_of(at, key_alone=on_key or not exact)
        outer = at.text.outward(start)
        return Located(self.lines.span(outer, outer + end - start), path[: at.written], exact)

    def extent(self, identity: DocumentId) -> tuple[int, int]:
        found = self._object(identity)
        if found is None:
            return (1, 1)
        node, base = found
        last = max(base + node.end - 1, base + node.start)
        return self.lines.place(base + node.start)[0], self.lines.place(last)[0]

    def _object(self, identity: DocumentId) -> tuple[Node, int] | None:
        """The outline of an object and the offset that its positions count from."""
        stretch = self._find(identity)
        if stretch is None:
            return None
        key = (stretch.start, stretch.end)
        if key not in self._outlines:
            body = self.text[stretch.start : stretch.end]
            if "\\u" in body:
                body = _SURROGATE.sub(r"\\u0041", body)
            try:
                self._outlines[key] = outline(body)
            except TextError:
                self._outlines[key] = None
        node = self._outlines[key]
        for step in identity.prefix[stretch.skip :]:
            inner = child(node, step) if node is not None else None
            node = inner.node if isinstance(inner, Entry) else inner
        return (node, stretch.start) if node is not None else None

    def _find(self, identity: DocumentId) -> _Stretch | None:
        if self._numbered is None:
            self._numbered = list(numbered(self.text))
        if not 0 <= identity.document < len(self._numbered):
            return None
        piece, value = self._numbered[identity.document]
        if value is None:
            return _Stretch(piece.start, piece.end, 0)
        prefix = identity.prefix
        if prefix in value.items:
            start = piece.start + value.items[prefix]
            return _Stretch(start, json_end(self.text, start), len(prefix))
        return _Stretch(piece.start + value.start, piece.start + value.end, 0)


def _stretch_of(at: Step, *, key_alone: bool) -> tuple[int, int]:
    """Offsets of what is underlined: one line at most."""
    node, entry, base, text = at.node, at.entry, at.base, at.text.text
    if entry is not None:
        one_line = node.end >= entry.end and _same_line(text, base + entry.start, base + node.end)
        end = entry.end if key_alone or not one_line else max(node.end, entry.end)
        return base + entry.start, base + end
    while not _same_line(text, base + node.start, base + node.end):
        first = next(iter(node.entries.values()), None) if node.entries else None
        if first is not None:
            return _stretch_of(at._replace(node=first.node, entry=first), key_alone=False)
        if not node.items:
            return base + node.start, base + node.start + 1
        node = node.items[0]
    return base + node.start, base + max(node.end, node.start + 1)


def _same_line(text: str, start: int, end: int) -> bool:
    return "\n" not in text[start:end] and "\r" not in text[start:end]


def numbered(text: str) -> Iterator[tuple[Piece, JsonValue | None]]:
    """The documents of a file in the numbering of parse."""
    for piece in pieces(text):
        body = text[piece.start : piece.end]
        if looks_like_json(body):
            try:
                for value in read_json(body, Limits().depth):
                    yield piece, value
                continue
            except NotJson:
                pass
        yield piece, None
