"""A filter from the arguments of a pipeline file."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from stream_bayes.errors import BadValue
from stream_bayes.learners.factory import make_learner
from stream_bayes.learners.wrappers.decision_rules import Costs
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.text.limits import Limits
from stream_bayes.names import check_arguments, construction_errors

__all__ = ["FILTER", "filter_arguments", "make_filter"]

FILTER = "spam-filter"  # its name among the models


def filter_arguments() -> list[str]:
    """Return the arguments that a file may give; not the key, which is a secret.

    Examples
    --------
    >>> filter_arguments()[:2]
    ['labels', 'train']
    """
    return [name for name in inspect.signature(SpamFilter).parameters if name != "key"]


def make_filter(arguments: Mapping[str, Any], key: bytes | None = None) -> SpamFilter:
    """Return a filter with these arguments. Arguments are by name: `labels` is a list of two; `costs` has the keys
    `false_positive` and perhaps `unsure`, as of `Costs.false_positive`; `limits` those of `Limits`; `learner` has
    `kind`, and perhaps `arguments`. `key` hashes its tokens.

    Raises
    ------
    BadValue
        If there is no such argument. The error lists those that exist.

    Examples
    --------
    >>> make_filter({"costs": {"false_positive": 99}, "learner": {"kind": "bernoulli-nb"}}).learner
    BernoulliNB (...)
    """
    given = dict(arguments)
    check_arguments(FILTER, given, filter_arguments())
    with construction_errors(FILTER, arguments):
        if "labels" in given:
            given["labels"] = tuple(given["labels"])
        wanted, unwanted = given.get("labels", ("ham", "spam"))
        if given.get("costs") is not None:
            costs = dict(given["costs"])
            given["costs"] = Costs.false_positive(costs.pop("false_positive"), unwanted, wanted, **costs)
        if given.get("limits") is not None:
            given["limits"] = Limits(**given["limits"])
        if given.get("learner") is not None:
            learner = dict(given["learner"])
            given["learner"] = make_learner(learner.pop("kind"), learner.pop("arguments", None))
            if learner:
                raise BadValue(f"learner has the keys kind and arguments, not {', '.join(learner)}")
        return SpamFilter(**given, key=key)
