"""Python's search for reference cycles, left out where there are none to find."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection(*, kept: bool = False) -> Iterator[None]:
    """Many objects and no garbage: looking for it takes longer than making them. What is ``kept`` afterwards is
    not looked through as soon as this is over either: it counts as old.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            if kept and not gc.get_freeze_count():  # else what somebody else has frozen would thaw
                gc.freeze()
                gc.unfreeze()
            gc.enable()
