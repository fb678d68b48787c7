"""The fix of a finding as text that replaces text, for reports that offer it to be taken with a click."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from policycheck.app.fix import barred
from policycheck.lint.finding import Finding, Replacement
from policycheck.source.edit import Edit, edit, in_order
from policycheck.source.text import Lines, TextError, decode


def replacements(read: Callable[[str], bytes]) -> Callable[[Finding], tuple[Replacement, ...]]:
    """Gives what a finding's fix comes to in each file that it changes; nothing where it can not be made whole, or
    the file is none that people edit.
    """

    @cache
    def text(file: str) -> str | None:
        try:
            return decode(read(file))
        except (OSError, TextError):
            return None

    def replaced(finding: Finding) -> tuple[Replacement, ...]:
        found: list[Replacement] = []
        for file in dict.fromkeys(change.id.file for change in finding.changes):
            held = None if barred(file) else text(file)
            if held is None:
                return ()
            done = edit(held, in_order(change for change in finding.changes if change.id.file == file))
            if done.dropped:
                return ()
            lines = Lines(held)
            found.extend(
                Replacement(file, lines.span(one.start, one.end), one.new)
                for one in differences(held, done.text)
            )
        return tuple(found)

    return replaced


def differences(old: str, new: str) -> Iterator[Edit]:
    """The stretches of ``old`` that are others in ``new``, in order: line by line, then as short as can be."""
    from difflib import SequenceMatcher

    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    first, last = head, len(before) - tail
    starts = [sum(map(len, before[:first]))]
    for line in before[first:last]:
        starts.append(starts[-1] + len(line))
    middle = after[head : len(after) - tail]
    for tag, a, b, c, d in SequenceMatcher(None, before[first:last], middle, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _shortened(Edit(starts[a], starts[b], "".join(middle[c:d])), old)


def _shortened(one: Edit, old: str) -> Edit:
    """The same without what is alike at both ends."""
    was = old[one.start : one.end]
    head = _alike(was, one.new)
    tail = _alike(was[head:][::-1], one.new[head:][::-1])
    return Edit(one.start + head, one.end - tail, one.new[head : len(one.new) - tail])


def _alike(one: str | list[str], other: str | list[str]) -> int:
    """How many items both begin with."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))
