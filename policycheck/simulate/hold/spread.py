"""All ways in which alike pods can be spread over groups of alike machines, fullest machines first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Choice = tuple[int, int, int]  # group, pods on each machine, machines
Spread = tuple[Choice, ...]


def spreads(pods: int, groups: Sequence[tuple[int, int]]) -> Iterator[Spread]:
    """Every way to put ``pods`` on ``groups``, each of (machines, pods that one of them takes).

    Machines of a group are alike, so a way is how many of them take how many pods. The first fills the
    groups in order, each machine to the brim; nothing is given twice.
    """
    after = [0] * (len(groups) + 1)  # what the groups from here on take together
    for g in range(len(groups) - 1, -1, -1):
        after[g] = after[g + 1] + groups[g][0] * groups[g][1]
    chosen: list[Choice] = []
    g, size, free, left = 0, (groups[0][1] if groups else 0), (groups[0][0] if groups else 0), pods
    while True:
        while left and g < len(groups):
            size = min(size, left)
            if left > free * size + after[g + 1]:
                break  # what is left does not fit any more
            if not size or not free:
                g += 1
                free, size = groups[g] if g < len(groups) else (0, 0)
                continue
            machines = min(free, left // size)
            chosen.append((g, size, machines))
            free -= machines
            left -= machines * size
            size -= 1
        if not left:
            yield tuple(chosen)
        if not chosen:
            return
        g, size, machines = chosen.pop()
        left += size  # one machine less of the last choice, and on with smaller numbers
        if machines > 1:
            chosen.append((g, size, machines - 1))
        free = groups[g][0] - sum(n for other, _, n in chosen if other == g)
        size -= 1
