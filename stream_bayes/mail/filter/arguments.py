"""A filter from the arguments of a pipeline file."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from stream_bayes.checked_names import check_arguments, construction_errors
from stream_bayes.errors import BadValue
from stream_bayes.learners.factory import make_learner
from stream_bayes.learners.wrappers.decision_rules import Costs
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.messages import Classes
from stream_bayes.mail.filter.profiles import costs_of
from stream_bayes.mail.text.limits import Limits

__all__ = ["FILTER", "filter_arguments", "make_filter"]

FILTER = "spam-filter"  # its name among the models
NOT_IN_FILES = ("key", "salt")


def filter_arguments() -> list[str]:
    """Return the arguments that a file may give; not the key, which is a secret, nor a salt, which comes with a base.

    Examples
    --------
    >>> filter_arguments()[:2]
    ['classes', 'train']
    """
    return [name for name in inspect.signature(SpamFilter).parameters if name not in NOT_IN_FILES]


def make_filter(arguments: Mapping[str, Any], key: bytes | None = None) -> SpamFilter:
    """Return a filter with these arguments. Arguments are by name: `classes` is a list, the wanted one first;
    `costs` has the keys `false_positive` and perhaps `unsure`, as of `Costs.false_positive`, and `mistakes`, the costs
    {decision: {class: cost}}; `limits` those of `Limits`; `learner` has `kind`, and perhaps `arguments`. `key`
    hashes its tokens.

    Raises
    ------
    BadValue
        If there is no such argument. The error lists those that exist.

    Examples
    --------
    >>> make_filter({"costs": {"false_positive": 99}, "learner": {"kind": "bernoulli-nb"}}).learner
    BernoulliNB (...)
    """
    values = dict(arguments)
    check_arguments(FILTER, values, filter_arguments())
    with construction_errors(FILTER, arguments):
        if "classes" in values:
            values["classes"] = tuple(values["classes"])
        if values.get("costs") is not None:
            values["costs"] = _costs(values.get("classes", ("ham", "spam")), dict(values["costs"]))
        if values.get("limits") is not None:
            values["limits"] = Limits(**values["limits"])
        if values.get("learner") is not None:
            learner = dict(values["learner"])
            values["learner"] = make_learner(learner.pop("kind"), learner.pop("arguments", None))
            if learner:
                raise BadValue(f"learner has the keys kind and arguments, not {', '.join(learner)}")
        return SpamFilter(**values, key=key)


def _costs(classes: Classes, costs: dict[str, Any]) -> Costs:
    """Return the costs of a file."""
    lost_ham, unsure = costs.pop("false_positive"), costs.pop("unsure", None)
    mistakes = {
        (decision, name): cost
        for decision, row in costs.pop("mistakes", {}).items()
        for name, cost in row.items()
    }
    if costs:
        raise BadValue(f"costs has the keys false_positive, unsure and mistakes, not {', '.join(costs)}")
    return costs_of(classes, "tag", lost_ham, unsure, mistakes)
