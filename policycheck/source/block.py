"""Literal blocks (``|``) written anew: the lines that stay the same stay as they stand."""

from __future__ import annotations

import difflib

from policycheck.record import NamedTuple
from policycheck.source.outline import Node


class Block(NamedTuple):
    """A literal block: its first line (``|``, with what stands behind it), and its lines as they stand."""

    head: str
    lines: tuple[str, ...]
    indent: str

    def written(self, text: str) -> str:
        """The block that holds ``text``."""
        old = [self._inner(line) for line in self.lines]
        new = text.splitlines(keepends=True)
        made: list[str] = [self.head]
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        for what, start, end, first, last in matcher.get_opcodes():
            if what == "equal":
                made.extend(self.lines[start:end])
            else:
                made.extend(self.indent + line if line.strip() else line for line in new[first:last])
        whole = "".join(line if line.endswith("\n") else f"{line}\n" for line in made)
        ends = bool(self.lines) and not self.lines[-1].endswith("\n")
        return whole.removesuffix("\n") if ends else whole

    def _inner(self, line: str) -> str:
        own = line.removeprefix(self.indent) if line.strip() else line.lstrip(" ")
        return own if own.endswith("\n") else f"{own}\n"


def literal(text: str, node: Node) -> Block | None:
    """The block at a node; None when its indentation is written out, or it is empty."""
    lines = text[node.start : node.end].splitlines(keepends=True)
    if len(lines) < 2 or any(mark.isdigit() for mark in lines[0].partition("#")[0]):
        return None
    first = next((line for line in lines[1:] if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" "))]
    return Block(lines[0], tuple(lines[1:]), indent) if indent else None
