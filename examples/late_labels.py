"""Labels that come later, or never, or turn out wrong: predictions wait, and are scored and learned with the label."""

from stream_bayes import NaiveBayes
from stream_bayes.core.events.event import Event, Kind
from stream_bayes.core.events.pending import Pending
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.models.served import served

HOUR = 3600.0
pending = Pending(wait_for=24 * HOUR, on_expiry="negative")  # what nobody complains of within a day was fine
step = Step(served(NaiveBayes()), pending=pending)

# Payments as they come; whether one was fraud is known hours later, or never said.
step.process(
    [
        Event({"country": "abroad", "hour": "night"}, key="a", time=0 * HOUR, position=0),
        Event({"country": "home", "hour": "day"}, key="b", time=1 * HOUR, position=1),
        Event({}, True, key="a", time=5 * HOUR, position=2, kind=Kind.LABEL),
        Event({"country": "abroad", "hour": "night"}, key="c", time=6 * HOUR, position=3),
        Event({"country": "home", "hour": "night"}, key="d", time=30 * HOUR, position=4),
    ]
)
for output in step.collect_outputs():
    print(output.key, output.prediction, dict(output.probabilities))
print(f"{step.learned} learned, {pending.waiting} waiting; {pending.counts['expired']} given up as negative")

# The first one was not fraud after all: unlearned, and learned as what it was.
step.process([Event({}, False, key="a", time=31 * HOUR, position=5, kind=Kind.CORRECTION)])
print(step.model.answer({"country": "abroad", "hour": "night"}))
assert pending.counts["corrected"] == 1

# A correction of what is long forgotten is not guessed at.
step.process([Event({}, False, key="z", time=32 * HOUR, position=6, kind=Kind.CORRECTION)])
print(step.letters[-1].reason)
