"""The smallest change of the configuration after which a failed claim holds.

A Remedy is a few edits of objects. What helps is found by trying: the files are edited, everything is read
again, and the claim is tested again; nothing is proposed that was not seen to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from policycheck.certify.verdict import FAILS, HOLDS, NOT_APPLICABLE, Verdict
from policycheck.model.origin import ObjectKey, Path

MOST = 40  # remedies tried for one verdict


class ObjectEdit(NamedTuple):
    """One change of an object in its newest form. ``action`` is set or remove."""

    key: ObjectKey
    path: Path
    value: Any = None
    action: str = "set"


class Remedy(NamedTuple):
    """Edits that belong together, in words. ``rank``: whom it touches, the least first."""

    words: str
    rank: int
    edits: tuple[ObjectEdit, ...]

    @property
    def size(self) -> tuple[int, int, str]:
        """Smallest first: fewest fields, then whom it touches."""
        return len(self.edits), self.rank, self.words


class Repaired(NamedTuple):
    """What came of looking. ``diff`` is a unified diff of the user's own files; "" when nothing helped, and
    ``why`` says what was tried.
    """

    claim: str
    subject: str
    words: tuple[str, ...]
    diff: str
    tried: int
    after: Verdict | None = None
    why: str = ""


def candidates(remedies: Iterable[Remedy]) -> Iterator[tuple[Remedy, ...]]:
    """Single remedies, the smallest first, then pairs of them that touch different fields."""
    known = sorted(dict.fromkeys(remedies), key=lambda one: one.size)
    yield from ((one,) for one in known)
    pairs = sorted(
        combinations(known, 2), key=lambda two: (sum(len(r.edits) for r in two), [r.size for r in two])
    )
    for one, other in pairs:
        if not {(e.key, e.path) for e in one.edits} & {(e.key, e.path) for e in other.edits}:
            yield one, other


def repair(
    failed: Verdict,
    before: Sequence[Verdict],
    remedies: Iterable[Remedy],
    tested: Callable[[tuple[Remedy, ...], str], tuple[Sequence[Verdict], str] | str],
) -> Repaired:
    """The smallest of ``remedies`` (or pair of them) after which the claim holds for the subject and fails
    for no other that it held for. ``tested`` gives the verdicts of the claim about one subject ("" for all)
    on the edited files and their diff, or says why the edit can not be made.
    """
    was_fine = {v.subject for v in before if v.outcome != FAILS}
    tried, refused = 0, ""
    for chosen in candidates(remedies):
        if tried >= MOST:
            break
        tried += 1
        found = tested(chosen, failed.subject)
        if isinstance(found, str):
            refused = refused or found
            continue
        after = next((v for v in found[0] if v.subject == failed.subject), None)
        if after is None or after.outcome not in (HOLDS, NOT_APPLICABLE):
            continue
        whole = tested(chosen, "")
        if isinstance(whole, str):
            continue
        verdicts, diff = whole
        if not {v.subject for v in verdicts if v.outcome == FAILS} & was_fine:
            return Repaired(failed.claim, failed.subject, tuple(r.words for r in chosen), diff, tried, after)
    why = (
        f"none of {tried} changes that were tried makes it hold"
        if tried
        else "no change is known that may help"
    )
    if refused:
        why += f"; some could not be made in the files: {refused}"
    return Repaired(failed.claim, failed.subject, (), "", tried, None, why)
