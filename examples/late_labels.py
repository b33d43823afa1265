"""Labels that come later, never, or turn out wrong: predictions are held, then scored and learned with the label."""

from stream_bayes import NaiveBayes, streams
from stream_bayes.streams import Event, Kind

HOUR = 3600.0

# Payments as they come. A label follows hours later, or never; some are corrected.
events = [
    Event({"country": "abroad", "hour": "night"}, key="a", time=0 * HOUR),
    Event({"country": "home", "hour": "day"}, key="b", time=1 * HOUR),
    Event({}, True, key="a", time=5 * HOUR, kind=Kind.LABEL),
    Event({"country": "abroad", "hour": "night"}, key="c", time=6 * HOUR),
    Event({"country": "home", "hour": "night"}, key="d", time=30 * HOUR),
    # The first payment was no fraud after all: unlearn it, then learn it with the right label.
    Event({}, False, key="a", time=31 * HOUR, kind=Kind.CORRECTION),
    # A correction for an unknown payment becomes a dead letter.
    Event({}, False, key="z", time=32 * HOUR, kind=Kind.CORRECTION),
]
outputs, dead_letters = [], []
result = streams.run(
    events,
    NaiveBayes(),
    # Without a complaint within a day, a payment counts as no fraud.
    late_labels=streams.Pending(wait_for=24 * HOUR, on_expiry="negative"),
    predictions=outputs.extend,
    dead_letters=dead_letters.extend,
)
for output in outputs:
    print(output.key, output.prediction, dict(output.probabilities))
counts = result.pending.counts
print(f"{result.learned} learned, {result.pending.waiting} waiting, {counts['expired']} expired as negative")
print(result.model.predict_proba_one({"country": "abroad", "hour": "night"}))
assert counts["corrected"] == 1
print(dead_letters[-1].key, dead_letters[-1].reason)
