"""Several gates at once: Holm's step-down correction."""

from collections.abc import Sequence


def holm(levels: Sequence[float], level: float) -> list[bool]:
    """Which of several levels still count when the chance of any false one shall stay at ``level``.

    Sorted ascending, the k-th of n levels (from 0) counts if it is less than level / (n - k) and all before it count.
    Less than, not at most, as a bound that touches its limit is not beyond it. Equal levels share one fate. Valid under
    any dependence between the gates. Holm 1979.

    Args:
        levels: one-sided p-values, as ``mean_level`` and its kin give them, in any order; none is fine.
        level: the chance of one or more false rejections, such as (1 - confidence) / 2.

    Returns:
        For each level whether it counts, in the order given.

    Raises:
        ValueError: a level is not between 0 and 1.
    """
    if not all(0 <= p <= 1 for p in (level, *levels)):
        raise ValueError("levels lie between 0 and 1")
    counts = [False] * len(levels)
    for rank, place in enumerate(sorted(range(len(levels)), key=levels.__getitem__)):
        if not levels[place] * (len(levels) - rank) < level:
            break
        counts[place] = True
    return counts
