"""What is due later: one heap of plain tuples, and the order in which things happen at one instant."""

from __future__ import annotations

from heapq import heappush

# A job ends, has stopped, loses or regains a node, ... : what frees something comes before what takes it.
FINISH, SETTLE, NODE, NODE_MADE, NODE_IDLE, AGREE, START, READY, TIMEOUT, LIMIT, RELAUNCH, PAUSE = range(12)
ABOUT_JOBS = frozenset({FINISH, SETTLE, AGREE, START, READY, TIMEOUT, LIMIT, RELAUNCH})
Due = tuple[int, int, int, int]  # time, what, number (of a job, change or node), ticket

FOREVER = 1 << 62


class Agenda:
    """The heap. A due whose ticket is no longer that of its job is void."""

    __slots__ = ("heap",)

    def __init__(self) -> None:
        self.heap: list[Due] = []

    def add(self, at: int, what: int, number: int, ticket: int) -> None:
        """``what`` is due at ``at``."""
        heappush(self.heap, (at, what, number, ticket))

    @property
    def next(self) -> int:
        """When something is due; FOREVER when nothing is."""
        return self.heap[0][0] if self.heap else FOREVER
