"""Cuts that change no data: a comment that asks for something, the earlier of two equal keys."""

from __future__ import annotations

from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.reader import ReaderError

from policycheck.record import NamedTuple
from policycheck.source.document import Span
from policycheck.source.text import Lines, pieces


def uncomment(text: str, span: Span) -> str | None:
    """The text without the comment at a span, and without its line when it has it to itself; None when no
    comment stands there.
    """
    lines = Lines(text)
    start = lines.start(span.line) + span.column - 1
    if text[start : start + 1] != "#":
        return None
    head, tail = text[:start], text[start:].split("\n", 1)
    own = head.rpartition("\n")[2]
    if not own.strip():
        return head[: len(head) - len(own)] + (tail[1] if len(tail) > 1 else "")
    return head.rstrip(" \t") + ("\n" + tail[1] if len(tail) > 1 else "")


class _Key(NamedTuple):
    text: str
    start: int
    value_end: int  # of the last that is written of its value
    next: int  # where the next key of the mapping begins, or the mapping ends


def unrepeat(text: str, span: Span) -> str | None:
    """The text without the entry whose key stands again at a span; None when it can not go by itself."""
    lines = Lines(text)
    at = lines.start(span.line) + span.column - 1
    piece = next((p for p in pieces(text) if p.start <= at < p.end), None)
    if piece is None:
        return None
    keys = _siblings(text[piece.start : piece.end], at - piece.start)
    later = next((key for key in keys if key.start == at - piece.start), None)
    earlier = [
        key for key in keys if later is not None and key.text == later.text and key.start < later.start
    ]
    if not earlier:
        return None
    cut = earlier[-1]
    start, end, following = (piece.start + n for n in (cut.start, cut.value_end, cut.next))
    row = text.rfind("\n", 0, start) + 1
    if text[row:start].strip():
        return text[:start] + text[following:] if "\n" not in text[start:following] else None
    stop = text.find("\n", max(end - 1, start))
    rest = text[end : stop if stop >= 0 else len(text)].strip()
    if rest and not rest.startswith("#"):
        return None
    return text[:row] + (text[stop + 1 :] if stop >= 0 else "")


class _Open:
    """A collection being read; of a mapping with its keys so far."""

    def __init__(self, *, is_mapping: bool) -> None:
        self.is_mapping = is_mapping
        self.waits = True  # for a key
        self.keys: list[list[Any]] = []
        self.end = 0


def _siblings(text: str, at: int) -> list[_Key]:
    """The keys of the mapping that has a key at an offset."""
    stack = [_Open(is_mapping=False)]
    try:
        parser = CParser(text)
        try:
            while (event := parser.get_event()) is not None and not isinstance(event, StreamEndEvent):
                done = _took(stack, event, at)
                if done is not None:
                    return done
        finally:
            parser.dispose()
    except (yaml.MarkedYAMLError, ReaderError):
        return []
    return []


def _took(stack: list[_Open], event: Any, at: int) -> list[_Key] | None:
    """Reads on; the keys, once the mapping that is looked for ends."""
    start, end = event.start_mark.index, event.end_mark.index
    top = stack[-1]
    if isinstance(event, ScalarEvent | AliasEvent):
        if top.is_mapping and top.waits:
            top.keys.append([getattr(event, "value", ""), start, end])
        top.end = end
        top.waits = not top.waits
    elif isinstance(event, MappingStartEvent | SequenceStartEvent):
        stack.append(_Open(is_mapping=isinstance(event, MappingStartEvent)))
    elif isinstance(event, MappingEndEvent | SequenceEndEvent):
        closed = stack.pop()
        if end > start:
            closed.end = end
        outer = stack[-1]
        outer.end, outer.waits = max(outer.end, closed.end), not outer.waits
        if any(key[1] == at for key in closed.keys):
            nexts = [*(key[1] for key in closed.keys[1:]), closed.end]
            return [_Key(t, s, e, n) for (t, s, e), n in zip(closed.keys, nexts, strict=True)]
    if stack[-1].keys:
        stack[-1].keys[-1][2] = max(stack[-1].keys[-1][2], stack[-1].end)
    return None
