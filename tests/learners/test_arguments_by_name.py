"""A model of a file or the command line that cannot be made: the error names the argument, and what is wanted."""

from __future__ import annotations

import datetime
import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from stream_bayes.cli.comparison.regressors import compared_regressors
from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.catalogue import (
    EVENT_MODELS,
    LEARNERS,
    NETWORK,
    REGRESSORS,
    declaration_of,
)
from stream_bayes.learners.factory import (
    make_event_model,
    make_learner,
    make_network,
    make_regressor,
    make_search,
    make_target_model,
)
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.streams.pipelines.config import parse_config

# Arguments of the models of events that need some.
OF_EVENTS: dict[str, dict[str, Any]] = {
    "dynamic-network": {"lags": {"sky": [1]}},
    "hidden-markov": {"variables": ["sound"]},
    "latent-class": {"variables": ["sound"]},
    "markov-chain": {"variable": "page"},
}
Maker = Callable[[Mapping[str, Any]], object]


def registered() -> dict[str, tuple[Maker, type[Any], dict[str, Any]]]:
    """Return all registered models: how each is made, its class, and arguments to make it with."""
    models: dict[str, tuple[Maker, type[Any], dict[str, Any]]] = {}
    for name in LEARNERS:
        models[name] = (partial(make_learner, name), LEARNERS[name], dict(declaration_of(name).example))
    for name in REGRESSORS:
        models[name] = (partial(make_regressor, name), REGRESSORS[name], dict(declaration_of(name).example))
    for name in EVENT_MODELS:
        models[name] = (partial(make_event_model, name), EVENT_MODELS[name], OF_EVENTS.get(name, {}))
    models[f"{NETWORK} without a class"] = (
        make_network,
        BayesNet,
        {"structure": {"rain": [], "lawn": ["rain"]}},
    )
    return models


MODELS = registered()
SOME: list[Any] = [
    *("nonsense", "", "7d", -1, 1.5, True, None, float("nan"), float("inf"), 10**400, -(10**400)),
    *([], {}, [1, "x"], {"a": "b"}, [[]], [{}], [float("nan")], [10**400], {"a": [[1]]}, {"a": None}),
    datetime.date(2020, 1, 1),
]


def arguments_of(made: type[Any]) -> dict[str, inspect.Parameter]:
    return {name: each for name, each in inspect.signature(made).parameters.items() if name != "schema"}


def refusal(make: Maker, arguments: Mapping[str, Any]) -> str:
    """Return the text of the error that a model is refused with; "" if it is made. Other errors pass."""
    try:
        make(arguments)
    except StreamBayesError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", MODELS)
def test_without_a_required_argument_it_says_which_and_what_for(name: str) -> None:
    make, made, example = MODELS[name]
    make(example)
    for argument, parameter in arguments_of(made).items():
        if parameter.default is parameter.empty:
            rest = {key: value for key, value in example.items() if key != argument}
            with pytest.raises(StreamBayesError, match=rf"\b{argument}\b(: |, | must be )\w+ \w+") as raised:
                make(rest)
            assert "__init__" not in str(raised.value)


@pytest.mark.parametrize("name", MODELS)
def test_a_misspelt_argument_has_the_nearest_as_a_hint(name: str) -> None:
    make, made, example = MODELS[name]
    for argument in arguments_of(made):
        with pytest.raises(StreamBayesError, match=f"no argument '{argument}x'; did you mean '{argument}'"):
            make({**example, f"{argument}x": 1})


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.NeverEligible")
@pytest.mark.parametrize("name", MODELS)
def test_a_value_of_a_wrong_type_is_refused_by_the_name_of_its_argument(name: str) -> None:
    make, made, example = MODELS[name]
    refused = 0
    for argument in arguments_of(made):
        for value in SOME:
            if text := refusal(make, {**example, argument: value}):
                assert argument in text, value
                refused += 1
    assert refused > len(SOME) / 2


def test_what_a_required_argument_is_for_comes_from_the_documentation_of_the_class() -> None:
    with pytest.raises(
        StreamBayesError,
        match=r"^hidden-markov needs variables: the features that a state shows: a name, or a list",
    ):
        make_event_model("hidden-markov", {"states": 2})
    with pytest.raises(StreamBayesError, match=r"^sliding-window needs size: .*events"):
        make_learner("sliding-window", {"learner": "nb"})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"learner": "nonsense", "size": 5}, "'learner': 'nonsense'}: there is no model 'nonsense'"),
        (
            {"learner": {"kind": "nb", "arguments": {"strenght": 1}}, "size": 5},
            "nb has no argument 'strenght'; did you mean 'strength'",
        ),
        (
            {"learner": {"kind": "nb", "arguments": {"strength": "x"}}, "size": 5},
            "{'learner': {'kind': 'nb', 'arguments': {'strength': 'x'}}}: strength must be",
        ),
    ],
)
def test_an_error_inside_an_argument_says_where_it_is(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(StreamBayesError, match=re.escape(said)):
        make_learner("sliding-window", arguments)


def test_a_setting_of_a_search_is_refused_as_an_argument_is() -> None:
    with pytest.raises(
        StreamBayesError, match="search has no argument 'max_parent'; did you mean 'max_parents'"
    ):
        make_search({"max_parent": 2})
    with pytest.raises(StreamBayesError, match="max_parents: expected a whole number"):
        make_learner(NETWORK, {"search": {"max_parents": "2"}})


def test_a_model_of_several_targets_is_refused_by_name_where_there_is_one() -> None:
    for registry in (LEARNERS, REGRESSORS):
        with pytest.raises(StreamBayesError, match=r"several targets: name them all, as --target rain"):
            registry["multi-target-regression"]
    with pytest.raises(StreamBayesError, match="several targets"):
        compared_regressors(["multi-target-regression"], [], None)
    with pytest.raises(StreamBayesError, match="needs the list of its targets"):
        parse_config(
            'name = "n"\nmodel = { kind = "multi-target-regression" }\n'
            'source = { kind = "csv", path = "a.csv", target = "y" }'
        )
    with pytest.raises(StreamBayesError, match="no argument 'strenth'; did you mean 'strength'"):
        make_target_model("multi-target-regression", {"strenth": 1.0}, ["rain"])
