"""What can not arrive, and why: the one error of mixes, traces and annotations."""

from __future__ import annotations

from collections.abc import Sequence


class ArrivalsError(ValueError):
    """What was asked for can not be read, or can not arrive here. ``problems`` are sentences, each with its
    place, what was found and what is allowed. ``broken`` of them are lines that could be left out.
    """

    def __init__(self, problems: Sequence[str], broken: int = 0) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)
        self.broken = broken
