"""What classifiers that follow a drift hold."""

from __future__ import annotations

from typing import Any

from stream_bayes.learners.half_life_choice import HalfLifeChoice
from stream_bayes.river_state.kinds import COUNT, WEIGHT, Listed
from stream_bayes.river_state.registry import OBJECTS, register

__all__: list[str] = []


def _choice_fits(held: Any) -> bool:
    """A loss for each half-life, and the leader is one of them."""
    members = len(held.half_lives)
    return len(held._losses) == members and held._leader < members and held._since <= held.clock


register(
    HalfLifeChoice,
    {"_members": OBJECTS, "_losses": Listed(WEIGHT), "_leader": COUNT, "_since": COUNT},
    fits=_choice_fits,
)
