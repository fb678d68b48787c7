"""Whether nodes can hold these gangs all at once: yes with a placement, no with a reason, or not known.

Bounds are counted first, then a placement is looked for, in several orders and with a bounded number of
steps; what was searched through without finding one is proved not to exist. Both answers are sound: a
placement can be replayed (``check``), and every bound is of an easier problem.
"""

from policycheck.simulate.hold.decide import STEPS, bounded, hold
from policycheck.simulate.hold.replay import BrokenError, Pattern, check
from policycheck.simulate.hold.shape import (
    ALONE,
    ANYWHERE,
    FAILS,
    HOLDS,
    UNKNOWN,
    Answer,
    Bound,
    Demand,
    Machines,
    Part,
    Placed,
    Room,
    Tried,
)

__all__ = [
    "ALONE",
    "ANYWHERE",
    "FAILS",
    "HOLDS",
    "STEPS",
    "UNKNOWN",
    "Answer",
    "Bound",
    "BrokenError",
    "Demand",
    "Machines",
    "Part",
    "Pattern",
    "Placed",
    "Room",
    "Tried",
    "bounded",
    "check",
    "hold",
]
