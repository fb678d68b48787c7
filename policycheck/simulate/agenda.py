"""What is due later: one heap of integers, and the order in which things happen at one instant."""

from __future__ import annotations

from heapq import heappop, heappush

# A job ends, has stopped, loses or regains a node, ... : what frees something comes before what takes it.
FINISH, SETTLE, NODE, NODE_MADE, NODE_IDLE, AGREE, START, READY, TIMEOUT, LIMIT, RELAUNCH, PAUSE = range(12)
ABOUT_JOBS = frozenset({FINISH, SETTLE, AGREE, START, READY, TIMEOUT, LIMIT, RELAUNCH})
Due = tuple[int, int, int, int]  # time, what, number (of a job, change or node), ticket

FOREVER = 1 << 62


_TICKET, _NUMBER, _WHAT = 32, 40, 4  # bits
_AT = _TICKET + _NUMBER + _WHAT


class Agenda:
    """The heap. A due whose ticket is no longer that of its job is void. Each is one integer, which takes half of
    the memory of a tuple and is compared at once.
    """

    __slots__ = ("heap",)

    def __init__(self) -> None:
        self.heap: list[int] = []

    def add(self, at: int, what: int, number: int, ticket: int) -> None:
        """``what`` is due at ``at``."""
        heappush(self.heap, ((at << _WHAT | what) << _NUMBER | number) << _TICKET | ticket)

    @property
    def next(self) -> int:
        """When something is due; FOREVER when nothing is."""
        return self.heap[0] >> _AT if self.heap else FOREVER

    def take(self) -> Due:
        """What is due next, taken from the heap."""
        due = heappop(self.heap)
        rest = due >> _TICKET
        kind = rest >> _NUMBER
        return (
            kind >> _WHAT,
            kind & (1 << _WHAT) - 1,
            rest & (1 << _NUMBER) - 1,
            due & (1 << _TICKET) - 1,
        )
