"""Customers change their behaviour: compare a model that follows drift with one that does not.

python examples/drift.py
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from stream_bayes import TAN, DriftAdaptive

VISITS = 12_000
CHANGES = (5_000, 9_000)  # a new season begins, and the old one comes back


def visits() -> Iterator[tuple[dict[str, str], str]]:
    """Yield visits to a shop, each with its outcome."""
    rng = random.Random(7)
    for number in range(VISITS):
        visit = {
            "weather": rng.choice(["sun", "rain"]),
            "day": rng.choice(["weekday", "weekend"]),
            "from": rng.choice(["search", "mail", "friend"]),
        }
        if CHANGES[0] <= number < CHANGES[1]:
            likely = visit["from"] == "friend" or visit["weather"] == "sun"
        else:
            likely = visit["weather"] == "rain" and visit["day"] == "weekend"
        yield visit, "buys" if rng.random() < (0.9 if likely else 0.1) else "looks"


static, adaptive = TAN(), DriftAdaptive(TAN())
right = {"static": 0, "adaptive": 0}
for visit, bought in visits():
    for name, model in (("static", static), ("adaptive", adaptive)):
        answer = model.predict_learn_one(visit, bought)
        right[name] += bool(answer) and max(answer, key=answer.__getitem__) == bought

print(
    "the customers changed their behaviour after", " and ".join(f"{number:,}" for number in CHANGES), "visits"
)
for entry in adaptive.log.entries:
    print(f"  after {entry['event']:,}: {entry['what']}, for a drift since {entry['since']:,}")
for name, count in right.items():
    print(f"{name}: {count / VISITS:.1%} right")
