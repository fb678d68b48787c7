"""Where keys, values and list items of one document stand: an outline of offsets, built from events.

Aliases share the outline of their anchor, so that a path through them ends where the value is written.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.reader import ReaderError

from policycheck.source.scalar import HINTS, key_of, read_plain
from policycheck.source.text import TextError


class Entry:
    """A key of a mapping and what it leads to."""

    __slots__ = ("end", "node", "start")

    def __init__(self, start: int, end: int, node: Node) -> None:
        self.start = start  # of the key
        self.end = end
        self.node = node


class Node:
    """A value: offsets of its text, and what is in it. ``end`` is that of its last written leaf."""

    __slots__ = ("end", "entries", "is_literal", "items", "merges", "start")

    def __init__(self, start: int, end: int, *, is_literal: bool = False) -> None:
        self.start = start
        self.end = end
        self.is_literal = is_literal  # a block scalar (|): its lines stand in the text as they are
        self.entries: dict[str, Entry] | None = None
        self.items: list[Node] | None = None
        self.merges: list[Node] | None = None

    def entry(self, key: str) -> Entry | None:
        """The entry of a mapping under a key; what ``<<`` brings counts where the key itself is missing."""
        waiting, seen = [self], set()
        while waiting:
            node = waiting.pop(0)
            if id(node) in seen:
                continue
            seen.add(id(node))
            if node.entries is not None and key in node.entries:
                return node.entries[key]
            for merged in node.merges or ():
                waiting.extend(merged.items or [merged])
        return None


_MERGE: Any = object()


class _Open:
    """A container being read, with the key that waits for its value."""

    __slots__ = ("key", "key_end", "key_start", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.key: Any = None
        self.key_start = self.key_end = 0

    def take(self, child: Node, *, is_alias: bool) -> None:
        """Puts a finished child in its place."""
        node = self.node
        if not is_alias:
            node.end = max(node.end, child.end)
        if node.items is not None:
            node.items.append(child)
        elif self.key is _MERGE:
            node.merges = [*(node.merges or ()), child]
        elif node.entries is not None:
            node.entries[self.key] = Entry(self.key_start, self.key_end, child)
        self.key = None


def outline(text: str) -> Node | None:
    """The outline of the first document in the text, None for an empty one. Raises TextError."""
    root = Node(0, 0)
    root.items = []
    try:
        parser = CParser(text)
        try:
            _read(parser, root)
        finally:
            parser.dispose()
    except (yaml.MarkedYAMLError, ReaderError) as error:
        raise TextError(0, str(error)) from error
    return root.items[0] if root.items else None


def child(node: Node, step: str | int) -> Entry | Node | None:
    """What a step of a path leads to: an entry of a mapping, or an item of a list."""
    if isinstance(step, str):
        return node.entry(step)
    items = node.items
    return items[step] if items is not None and 0 <= step < len(items) else None


def _read(parser: Any, root: Node) -> None:
    anchors: dict[str, Node] = {}
    stack = [_Open(root)]
    while True:
        event = parser.get_event()
        kind = event.__class__
        top = stack[-1]
        if kind is ScalarEvent:
            if top.node.entries is not None and top.key is None:
                _key(top, event, anchors)
            else:
                is_literal = event.style == "|"
                node = Node(event.start_mark.index, event.end_mark.index, is_literal=is_literal)
                _anchor(event, node, anchors)
                top.take(node, is_alias=False)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            at = event.start_mark.index
            node = Node(at, event.end_mark.index if event.flow_style else at)
            if kind is MappingStartEvent:
                node.entries = {}
            else:
                node.items = []
            _anchor(event, node, anchors)
            if top.node.entries is not None and top.key is None:
                raise TextError(at, "a mapping or list stands where a key belongs")
            stack.append(_Open(node))
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            node = stack.pop().node
            # A block's end mark lies at the next token; that of a flow collection after its bracket.
            if event.end_mark.index > event.start_mark.index:
                node.end = max(node.end, event.end_mark.index)
            stack[-1].take(node, is_alias=False)
        elif kind is AliasEvent:
            _alias(top, event, anchors)
        elif event is None or kind is StreamEndEvent or (kind is DocumentStartEvent and root.items):
            return


def _key(top: _Open, event: Any, anchors: dict[str, Node]) -> None:
    text = event.value
    plain = event.implicit[0] and not event.style
    top.key = _MERGE if plain and text == "<<" else text
    if plain and text != "<<" and (not text or text[0] in HINTS):
        top.key = key_of(read_plain(text)) or text
    top.key_start, top.key_end = event.start_mark.index, event.end_mark.index
    _anchor(event, Node(top.key_start, top.key_end), anchors)


def _alias(top: _Open, event: Any, anchors: dict[str, Node]) -> None:
    start, end = event.start_mark.index, event.end_mark.index
    node = anchors.get(event.anchor)
    if top.node.entries is not None and top.key is None:
        top.key, top.key_start, top.key_end = f"*{event.anchor}", start, end
        return
    top.node.end = max(top.node.end, end)
    top.take(node or Node(start, end), is_alias=True)


def _anchor(event: Any, node: Node, anchors: dict[str, Node]) -> None:
    if event.anchor is not None:
        anchors[event.anchor] = node
