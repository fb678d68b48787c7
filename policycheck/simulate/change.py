"""The smallest change after which something holds, found by trying changed states.

Nothing here knows what is changed: an Option says how far it can be turned and what a turn makes of
the state, and a predicate decides. What is found has been tried, and so has one step less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S")

Turn = tuple[int, ...]  # how far each dial of an option is turned


class Change(NamedTuple):
    """One field that becomes something else, in words. ``share`` is how much that is of what is asked,
    in thousandths; 0 when it is no amount.
    """

    kind: str
    where: str  # "ClusterQueue vision"
    field: str
    before: str
    after: str
    share: int = 0


class Option(NamedTuple, Generic[S]):
    """A way of changing the state: dials that go from 0 (as it is) to ``most``.

    ``rank`` orders options whose change is equally large; lower touches fewer people.
    """

    kind: str
    rank: int
    most: Turn
    apply: Callable[[Turn], S]
    describe: Callable[[Turn], tuple[Change, ...]]


class Remedy(NamedTuple, Generic[S]):
    """An option turned just as far as it takes, and the state in which that was tried."""

    option: Option[S]
    turn: Turn
    state: S
    changes: tuple[Change, ...]

    @property
    def size(self) -> tuple[int, int, int]:
        """Smallest first: fewest fields, then whom it touches (rank), then the share of what is asked."""
        return len(self.changes), self.option.rank, max((c.share for c in self.changes), default=0)


class ExhaustedError(Exception):
    """The predicate may not be asked any more."""


class Budget(Generic[S]):
    """A predicate that may be asked so many times. Raises ExhaustedError when it is asked once more."""

    def __init__(self, works: Callable[[S], bool], most: int) -> None:
        self._works = works
        self.left = most

    def __call__(self, state: S) -> bool:
        """Whether it holds in ``state``."""
        if self.left <= 0:
            raise ExhaustedError
        self.left -= 1
        return self._works(state)


def least(works: Callable[[int], bool], fails: int, holds: int) -> int:
    """The value at which ``works`` begins, known to fail at ``fails`` and to hold at ``holds`` above it.

    Holds at the value returned and fails one below it, also when there are several such places.
    """
    while holds - fails > 1:
        middle = (fails + holds) // 2
        if works(middle):
            holds = middle
        else:
            fails = middle
    return holds


def turn(option: Option[S], works: Callable[[S], bool]) -> Remedy[S] | None:
    """The option turned as little as suffices, one dial after the other; None when all is not enough.

    The state as it is must be known to fail.
    """
    at = list(option.most)
    if not any(at) or not works(option.apply(option.most)):
        return None

    def tried(dial: int) -> Callable[[int], bool]:
        return lambda value: works(option.apply((*at[:dial], value, *at[dial + 1 :])))

    for dial, most in enumerate(option.most):
        others = any(at[:dial]) or any(at[dial + 1 :])
        # With every other dial at 0 the state is as it was, and that is known to fail.
        at[dial] = 0 if most == 0 or (others and tried(dial)(0)) else least(tried(dial), 0, most)
    found = tuple(at)
    return Remedy(option, found, option.apply(found), option.describe(found))


def search(options: Iterable[Option[S]], works: Callable[[S], bool]) -> Iterator[Remedy[S]]:
    """Every option that helps, in the order given; ends early when the predicate is exhausted."""
    for option in options:
        try:
            found = turn(option, works)
        except ExhaustedError:
            return
        if found is not None:
            yield found
