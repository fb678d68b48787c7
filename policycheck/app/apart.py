"""Tasks done at once, in processes that share what was made before them.

A task is a function without arguments; what it gives has to be picklable. Processes are forked, so nothing is
handed over and nothing is loaded again. What a process does not give back, for whatever reason, is done here.
"""

from __future__ import annotations

import _pickle as pickle  # the module around it takes longer to load than to use
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

Made = TypeVar("Made")
_WIDTH = 2
_MOST = 2048  # tasks: their numbers fit into one page, which every pipe holds


def processors() -> int:
    """How many of the machine's processors this process may use."""
    with suppress(AttributeError, OSError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def done(tasks: Sequence[Callable[[], Made]], processes: int) -> list[Made]:
    """What the tasks give, in their order. With one process, or where none can be forked, one after another."""
    if processes < 2 or len(tasks) < 2 or len(tasks) > _MOST or not hasattr(os, "fork"):
        return [task() for task in tasks]
    found = _forked(tasks, min(processes, len(tasks)))
    return [found[n] if n in found else task() for n, task in enumerate(tasks)]


def _forked(tasks: Sequence[Callable[[], Made]], processes: int) -> dict[int, Made]:
    """What the processes gave back, by the number of the task."""
    numbers, fill = os.pipe()
    os.write(fill, b"".join(n.to_bytes(_WIDTH, "big") for n in range(len(tasks))))
    os.close(fill)
    children: list[tuple[int, int]] = []
    try:
        for _ in range(processes):
            receive, send = os.pipe()
            with (
                warnings.catch_warnings()
            ):  # the one other thread there may be writes progress, and holds nothing
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                _work(tasks, numbers, send)
            os.close(send)
            children.append((child, receive))
    except OSError:  # no more processes: those that there are take all tasks
        pass
    found: dict[int, Made] = {}
    for child, receive in children:
        with os.fdopen(receive, "rb") as stream:
            found.update(_received(stream.read()))
        os.waitpid(child, 0)
    os.close(numbers)
    return found


def _work(tasks: Sequence[Callable[[], Any]], numbers: int, send: int) -> None:
    """The life of a process: the next number, its task, until there is none; then all results at once."""
    made: dict[int, Any] = {}
    try:
        while taken := os.read(numbers, _WIDTH):  # a read of a few bytes that are there is not cut short
            number = int.from_bytes(taken, "big")
            made[number] = tasks[number]()
    except BaseException:  # noqa: BLE001, S110 - it is done again where it can be told
        pass
    with suppress(BaseException), os.fdopen(send, "wb") as stream:
        stream.write(pickle.dumps(made))
    os._exit(0)


def _received(data: bytes) -> dict[int, Any]:
    try:
        found = pickle.loads(data)
    except Exception:  # noqa: BLE001 - a process that was ended gives half of it, or nothing
        return {}
    return found if isinstance(found, dict) else {}
