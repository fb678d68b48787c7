"""YAML that stands as text inside of YAML: a ConfigMap's file, values of a chart.

A literal block (``|``) shows the inner text line by line, so places in it are places in the file. In
quoted and folded text they are not; there the key has to do.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from policycheck.record import NamedTuple
from policycheck.source.document import Path
from policycheck.source.outline import Entry, Node, child, outline
from policycheck.source.text import TextError, pieces

_LINE = re.compile(r"[^\r\n]+(?:\r\n|\n|\r)?|\r\n|\n|\r")


class Text(NamedTuple):
    """A text, and where its lines stand in the file: offsets of both, by line."""

    text: str
    starts: tuple[int, ...] = (0,)
    outer: tuple[int, ...] = (0,)

    def outward(self, offset: int) -> int:
        """The offset in the file of an offset in the text."""
        line = bisect_right(self.starts, offset) - 1
        return self.outer[line] + offset - self.starts[line]


class Step(NamedTuple):
    """How far a path leads: the node reached, the entry it stands under, the text they are in."""

    node: Node
    entry: Entry | None
    base: int  # that offsets of the node count from
    text: Text
    written: int  # steps that were found


def follow(node: Node, base: int, text: Text, path: Path) -> Step:
    """Follows ``path`` as far as it is written, into texts that hold YAML themselves."""
    at = _walk(Step(node, None, base, text, 0), path)
    while at.written < len(path) and at.node.is_literal:
        inner = _inside(at)
        roots = _roots(inner) if inner is not None else []
        deeper = [_walk(Step(root, None, start, inner, at.written), path) for start, root in roots if inner]
        # Which of several documents in the text is meant, the path alone tells.
        best = max(deeper, key=lambda step: step.written, default=at)
        if best.written == at.written:
            break
        at = best
    return at


def _walk(at: Step, path: Path) -> Step:
    node, entry, written = at.node, at.entry, at.written
    for step in path[at.written :]:
        found = child(node, step)
        if found is None:
            break
        entry = found if isinstance(found, Entry) else None
        node = found.node if isinstance(found, Entry) else found
        written += 1
    return at._replace(node=node, entry=entry, written=written)


def _roots(inner: Text) -> list[tuple[int, Node]]:
    found = []
    for piece in pieces(inner.text):
        try:
            root = outline(inner.text[piece.start : piece.end])
        except TextError:
            continue
        if root is not None:
            found.append((piece.start, root))
    return found


def _inside(at: Step) -> Text | None:
    """The text of a literal block with its indentation taken off; None when that can not be told."""
    start, end = at.base + at.node.start, at.base + at.node.end
    lines = _LINE.findall(at.text.text[start:end])
    if not lines or any(mark.isdigit() for mark in lines[0].partition("#")[0]):
        return None  # an explicit indentation counts from the parent, which is not known here
    first = next((line for line in lines[1:] if line.strip()), "")
    indent = len(first) - len(first.lstrip(" "))
    text, starts, outer = [], [], []
    size, offset = 0, start + len(lines[0])
    for line in lines[1:]:
        own = line[indent:] if line[:indent].isspace() and line.strip() else line.lstrip(" ")
        starts.append(size)
        outer.append(at.text.outward(offset + len(line) - len(own)))
        text.append(own)
        size += len(own)
        offset += len(line)
    return Text("".join(text), tuple(starts), tuple(outer)) if text else None
