"""Made-up events whose features lean to one value for each class."""

from __future__ import annotations

import random
from typing import Any

Event = tuple[dict[str, Any], Any]


def biased_events(
    seed: int, number: int, values: str = "xyz", classes: str = "uv", names: str = "abc"
) -> list[Event]:
    """So many events that have every feature; half the time a feature has any value."""
    source = random.Random(seed)
    made: list[Event] = []
    for _ in range(number):
        y = source.choice(classes)
        lean = {name: values[(classes.index(y) + place) % len(values)] for place, name in enumerate(names)}
        made.append(
            ({name: lean[name] if source.random() < 0.5 else source.choice(values) for name in names}, y)
        )
    return made
