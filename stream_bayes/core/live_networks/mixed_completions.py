"""Events with gaps as weighted complete events: the expectation step of EM in a network over names and numbers.

What is missing above an observed value is filled in, parents first, given all that is there: a name by each of its
values, weighted by its probability; a number by two points, its mean less and plus its standard deviation. These have
the mean and the variance of a Gaussian, and the points of a number that is linear in it have its covariances. So the
sums of completed events are the expected sums. A number between two cuts has the points of Gauss and Legendre there.

What is missing with nothing observed below it stays missing: it tells nothing of any family.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from stream_bayes.core.live_networks.mixed_draws import completed
from stream_bayes.core.live_networks.mixed_inference import MixedInference
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.values.values import Value

__all__ = ["completions"]

MOST_COMPLETIONS = 64  # of an event; of more, draws stand for all
DRAWS = 16
LEAST_SHARE = 1e-6  # of an event: less is left out
POINTS = (0.5 - math.sqrt(1.0 / 12.0), 0.5 + math.sqrt(1.0 / 12.0))


def completions(
    inference: MixedInference, observed: Mapping[Value, Any], rng: np.random.Generator, draws: int = 0
) -> list[tuple[dict[Value, Any], float]]:
    """Return the completions of an event, with shares that sum to 1; `draws` of them if more than 0.

    Examples
    --------
    >>> from stream_bayes import MixedNetwork
    >>> model = MixedNetwork({"kind": [], "size": ["kind"]})
    >>> for k in range(40):
    ...     model.learn_one({"kind": "ab"[k % 2], "size": 10.0 * (k % 2) + k % 3})
    >>> for values, share in completions(model.inference, {"size": 1.0}, np.random.default_rng(0)):
    ...     print(values, round(share, 3))
    {'size': 1.0, 'kind': 'a'} 1.0
    >>> completions(model.inference, {"kind": "a"}, np.random.default_rng(0))  # nothing is below the size
    [({'kind': 'a'}, 1.0)]
    """
    structure = inference.counts.structure
    above = set().union(*(structure.ancestors(v) for v in observed)) if observed else set()
    missing = [
        v
        for v in structure.topological_order
        if v in above and v not in observed and _has_values(inference, v)
    ]
    rows = [(dict(observed), 1.0)]
    if draws:
        return _drawn(inference, observed, missing, rng, draws)
    for v in missing:
        rows = [
            ({**values, v: x}, share * chance)
            for values, share in rows
            for x, chance in _ways(inference, v, values)
            if share * chance >= LEAST_SHARE
        ]
        if len(rows) > MOST_COMPLETIONS:
            return _drawn(inference, observed, missing, rng, DRAWS)
    whole = math.fsum(share for _, share in rows)
    return [(values, share / whole) for values, share in rows]


def _has_values(inference: MixedInference, v: Value) -> bool:
    kind = inference.counts.kinds.get(v)
    return kind is True or (kind is False and bool(inference.families.states(v)))


def _ways(inference: MixedInference, v: Value, values: Mapping[Value, Any]) -> Iterator[tuple[Any, float]]:
    """Yield values for a missing variable, with their shares."""
    if not inference.counts.kinds[v]:
        yield from inference.shares(v, values).items()
        return
    mixture = inference.number(v, values)
    for share, component in zip(mixture.weights, mixture.components, strict=True):
        if isinstance(component, StudentT):
            away = component.standard_deviation
            points = component.mean - away, component.mean + away
        else:
            points = component.quantile(POINTS[0]), component.quantile(POINTS[1])
        for point in points:
            yield float(point), 0.5 * share


def _drawn(
    inference: MixedInference,
    observed: Mapping[Value, Any],
    missing: list[Value],
    rng: np.random.Generator,
    draws: int,
) -> list[tuple[dict[Value, Any], float]]:
    """Return completions that are drawn, with equal shares."""
    wanted = [*observed, *missing]
    drawn = [completed(inference, observed, rng) for _ in range(draws)]
    return [({v: each[v] for v in wanted}, 1.0 / draws) for each in drawn]
