"""Pseudo-random draws that a seed determines, for restarts of searches."""

from __future__ import annotations

__all__ = ["Draws"]

MASK = 2**64 - 1


class Draws:
    """Draws from a seed: the same on every machine.

    The generator is SplitMix64 (Steele, Lea and Flood 2014).

    Parameters
    ----------
    seed
        A whole number of at least 0.

    Examples
    --------
    >>> draws = Draws(7)
    >>> draws.below(10), sorted(draws.some(4, 4)), len(set(draws.some(100, 5)))
    (3, [0, 1, 2, 3], 5)
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & MASK

    def below(self, limit: int) -> int:
        """Draw one of the numbers 0 to limit - 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) * limit >> 64

    def some(self, limit: int, number: int) -> list[int]:
        """Draw different ones of the numbers 0 to limit - 1."""
        drawn: dict[int, None] = {}
        while len(drawn) < min(number, limit):
            drawn[self.below(limit)] = None
        return list(drawn)
