"""Long series cut down to what a screen can show, without losing an extreme.

Time is cut into equal stretches. Of each the moments are kept at which a value is least and greatest,
and the first; everything that is drawn so was true at exactly that time, and no peak is missing. What
moves between two kept moments within one stretch is not drawn. A series that is short enough stays whole.
"""

from __future__ import annotations

from collections.abc import Sequence

POINTS = 480  # moments of a series that is as wide as a page


def moments(
    times: Sequence[int], columns: Sequence[Sequence[int]], end: int, most: int = POINTS
) -> list[int]:
    """Positions in ``times`` (which increase) to be drawn, for values that hold from a time on.

    At most ``most`` when there is room for every extreme of every column, else as many as those are.
    """
    size = len(times)
    if size <= most:
        return list(range(size))
    per_stretch = 1 + 2 * len(columns)
    count = max(1, most // per_stretch)
    width = max(1, -(-max(end, times[-1] + 1) // count))
    kept: set[int] = set()
    begin = 0
    while begin < size:
        stretch = times[begin] // width
        until = begin
        while until < size and times[until] // width == stretch:
            until += 1
        inside = range(begin, until)
        kept.add(begin)
        for column in columns:
            kept.add(min(inside, key=column.__getitem__))
            kept.add(max(inside, key=column.__getitem__))
        begin = until
    return sorted(kept)


def is_thinned(size: int, most: int = POINTS) -> bool:
    """Whether a series of so many moments is drawn in part."""
    return size > most
