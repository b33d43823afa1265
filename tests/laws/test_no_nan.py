"""After little or odd learning each answer of each classifier is honest, or an error that says why; never NaN."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np
import pytest

from stream_bayes import NaiveBayes
from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.learners.catalogue import LEARNERS, declaration_of
from stream_bayes.testing.public_learners import label_of, made, settings_of
from stream_bayes.testing.sample_streams import LabelledSample, Streams
from tests.builds import EVERYTHING
from tests.shares import share_of

LEVELS = (1e-9, 0.95, 1.0 - 1e-12)


def settings() -> list[Any]:
    # Numbers of a half-life in stream time need samples with times: tests/laws/test_stream_time.py.
    each = [
        (name, own)
        for name in LEARNERS
        for own in settings_of(name)
        if not isinstance(own.get("half_life"), str)
    ]
    without = [(name, own) for name, own in each if own.get("strength") == 0.0]  # 0/0 and log 0 come about
    chosen = [*share_of(each, lambda case: case[0], 0), *(without if EVERYTHING else [])]
    return [
        pytest.param(name, own, id=label_of(name, own))
        for number, (name, own) in enumerate(chosen)
        if (name, own) not in chosen[:number]
    ]


def streams_of(model: Any) -> Streams:
    return Streams(model if hasattr(model, "inputs") else NaiveBayes())


def histories(streams: Streams) -> dict[str, list[LabelledSample]]:
    def scaled(value: Any) -> Any:
        return value * (1e9 if streams.bags else 1e97) if isinstance(value, float) else value

    usual, last = streams.samples(20), streams.labels[-1]
    return {
        "nothing": [],
        "one event": usual[:1],
        "one class": [each._replace(y=streams.labels[0]) for each in usual[:6]],
        "no evidence": [each._replace(x={}) for each in usual[:4]],
        "weights below 1": [each._replace(w=(1e-9, 0.01)[k % 2]) for k, each in enumerate(usual)],
        "a class without weight": [*usual, *(each._replace(w=0.0, y=last) for each in usual[:2])],
        "huge numbers": [each._replace(x={name: scaled(v) for name, v in each.x.items()}) for each in usual],
        "usual": usual,
    }


def numbers_in(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, float):
        yield value
    elif not isinstance(value, str) and hasattr(value, "__iter__"):
        for each in value:
            yield from numbers_in(each)


def posteriors(model: Any, feature: Any) -> list[Any]:
    found = model.posterior(feature)
    each = found.values() if isinstance(found, dict) else [found]
    return [(one.mean, one.variance, one.interval(0.9)) for one in each]


def drawn(model: Any, x: Any) -> list[Any]:
    draw = model.draw(np.random.default_rng(0))
    joint = draw.joint_log_likelihood(x) if hasattr(draw, "joint_log_likelihood") else None
    return [draw.predict_proba_one(x), joint or {}, model.simulate_one(x, 3, np.random.default_rng(1))]


def explained(model: Any, x: Any) -> list[Any]:
    why = model.explain_one(x)
    return [why.baseline, why.evidence]


def answers_of(name: str, model: Any, x: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    yield "probabilities", partial(model.predict_proba_one, x)
    for level in LEVELS:
        yield f"interval of {level}", partial(model.predict_interval_one, x, level)
    yield "explanation", partial(explained, model, x)
    cannot = declaration_of(name).cannot
    if "draws" not in cannot:
        yield "draw", partial(drawn, model, x)
    if "posteriors" not in cannot:
        for feature in (*x, getattr(model, "target_name", "class")):
            yield f"posterior of {feature!r}", partial(posteriors, model, feature)


@pytest.mark.filterwarnings("ignore")  # of values that are rare, and numbers that leave their bins
@pytest.mark.parametrize(("name", "own"), settings())
def test_whatever_was_learned_no_answer_is_nan(name: str, own: dict[str, Any]) -> None:
    streams = streams_of(made(name, own))
    probes = [{}, *streams.probes(4)[:2]]
    for what, samples in histories(streams).items():
        model = made(name, own)
        for sample in samples:
            model.learn_one(*sample)
        for x in probes:
            for verb, ask in answers_of(name, model, x):
                is_always_answered = verb.startswith(("probabilities", "interval"))
                with nullcontext() if is_always_answered else suppress(StreamBayesError):
                    answer = ask()
                    assert not any(map(math.isnan, numbers_in(answer))), (
                        f"{verb} after {what}, of {x}: {answer}"
                    )
        measured = [key for key, value in probes[1].items() if isinstance(value, float) and value == value]
        if what == "usual" and measured:
            for number in (math.inf, -math.inf):
                for verb in (model.predict_proba_one, model.predict_interval_one, model.learn_one):
                    with pytest.raises(BadValue):
                        verb({measured[0]: number}, *([streams.labels[0]] if verb == model.learn_one else []))
