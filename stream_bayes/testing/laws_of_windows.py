"""Laws of forgetting: a window is what a learner of its events alone would be."""

from __future__ import annotations

from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.wrappers.sliding_window import SlidingWindow
from stream_bayes.testing.assertions import require, same_bytes, same_knowledge
from stream_bayes.testing.laws_of_predictions import learn_all
from stream_bayes.testing.sample_streams import FRACTIONAL, WHOLE, LabelledSample, Streams

__all__ = ["a_window_holds_the_newest_events"]

EVENTS = 60


def a_window_holds_the_newest_events(learner: BayesClassifier, streams: Streams) -> None:
    """Check that the counts equal those of a learner of the newest events only."""
    if not isinstance(learner, SlidingWindow):
        raise TypeError(f"a {type(learner).__name__} has no window")
    for weights in (WHOLE, FRACTIONAL):
        exact = weights is WHOLE and learner.half_life is None
        samples = [*streams.samples(EVENTS // 2, weights), *streams.extras(EVENTS // 2, weights)]
        samples.insert(EVENTS - 3, LabelledSample(samples[0].x, samples[0].y, 0.0))
        for number in (1, learner.size, learner.size + 1, len(samples)):
            _require_the_newest(learner, streams, samples[:number], exact=exact)
    samples = streams.samples(EVENTS)
    together = learner.clone()
    together.learn_many(*map(list, zip(*samples, strict=True)))
    one_by_one = learn_all(learner.clone(), samples)
    same_bytes(one_by_one, together, "learning more events together than are held")


def _require_the_newest(
    learner: SlidingWindow, streams: Streams, samples: list[LabelledSample], *, exact: bool
) -> None:
    """Demand equal counts, also after the newest event was unlearned and would have left the window."""
    model, fresh = learn_all(learner.clone(), samples), learner.learner.clone()
    weighty = [number for number, sample in enumerate(samples) if sample.w > 0.0]
    learn_all(fresh, samples[weighty[-learner.size :][0] :])  # those of weight 0 let time pass
    probes = streams.probes()
    same_knowledge(model, fresh, probes, f"the newest of {len(samples)} events", exact=exact)
    require(model.clock == len(samples), f"after {len(samples)} events the clock is at {model.clock}")
    for one in (model, fresh):
        one.unlearn_one(*samples[-1])
    same_knowledge(model, fresh, probes, "the newest events but one", exact=exact)
    if learner.size <= EVENTS:
        rest = streams.samples(learner.size)
        learn_all(model, rest)
        same_knowledge(
            model,
            learn_all(learner.learner.clone(), rest),
            probes,
            "the newest events after that",
            exact=exact,
        )
