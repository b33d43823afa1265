"""Noisy-OR: the table of an effect of which each cause is enough by itself, with some probability."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from stream_bayes.core.networks.discrete_network import Floats
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue

__all__ = ["noisy_or"]

MOST_CAUSES = 20


def noisy_or(strengths: Sequence[float], leak: float = 0.0) -> Floats:
    """Return P(effect | causes): the effect stays out if each cause that is there fails, and the leak does.

    P(no effect | causes) = (1 - leak) times the product of 1 - strength over the causes that are there.

    Parameters
    ----------
    strengths
        For each parent, in the order of the structure, the probability that it alone brings about the effect.
    leak
        The probability of the effect without any cause.

    Returns
    -------
    An array for `DiscreteNetwork`, with two labels on each axis: the first of each variable is "absent", as in
    `states={"cough": [False, True]}`.

    Raises
    ------
    BadValue
        If a number is no probability, or there are more than 20 causes: the table has 2 ** (causes + 1) cells.

    Examples
    --------
    >>> table = noisy_or([0.5, 0.8], leak=0.1)
    >>> [round(float(p), 2) for p in table[..., 1].ravel()]  # none, the second, the first, both
    [0.1, 0.82, 0.55, 0.91]
    """
    if isinstance(strengths, (str, bytes)) or not isinstance(strengths, Sequence):
        raise BadValue(
            f"strengths: expected a list of probabilities, one for each parent, got {shown(strengths)}"
        )
    if len(strengths) > MOST_CAUSES:
        raise BadValue(
            f"strengths: expected at most {MOST_CAUSES} causes, as the table doubles with each; got {len(strengths)}"
        )
    for what, p in (*(("strengths", p) for p in strengths), ("leak", leak)):
        if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0.0 <= p <= 1.0:
            raise BadValue(f"{what}: expected probabilities, got {shown(p)}")
    table = np.empty((2,) * (len(strengths) + 1))
    for present in product((0, 1), repeat=len(strengths)):
        fails = 1.0 - leak
        for is_there, strength in zip(present, strengths, strict=True):
            fails *= 1.0 - strength if is_there else 1.0
        table[present] = fails, 1.0 - fails
    return table
