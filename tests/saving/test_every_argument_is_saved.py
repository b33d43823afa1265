"""Every constructor argument of every learner, in the types that it accepts, through files, JSON and TOML.

`VALUES` lists for each argument what somebody may give; what a class refuses, it refuses when it is made. Classes that
share an argument share its values out: each takes a fifth of those that it accepts, and each comes to some class.
"""

from __future__ import annotations

import inspect
import json
import tomllib
import warnings
from collections import Counter, OrderedDict
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from river import compose

import stream_bayes
from stream_bayes import (
    AODE,
    BayesianRegression,
    BayesNet,
    Binning,
    DiscreteNetwork,
    DriftAdaptive,
    FourierFeatures,
    NaiveBayes,
    Nominal,
    Numeric,
    Schema,
    SlidingWindow,
    Structure,
)
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.errors import BadValue, NotSupported, StreamBayesError
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.catalogue import LEARNERS, REGRESSORS
from stream_bayes.learners.factory import make_learner, make_regressor
from stream_bayes.saving.river.model_state import model_state, restore_model
from tests.shares import least_tried

CLASSES: dict[str, Any] = {
    **LEARNERS,
    **REGRESSORS,
    "a network": BayesNet,
    "a learner that follows drift": DriftAdaptive,
}
SCHEMA = Schema({"a": Nominal(["x", ("y", 1), True]), "n": Numeric(cuts=[0.5, 1.5])}, ["u", "v"], "class")
GRAPH = {"class": [], "a": ["class"], "b": ("a", "class")}
PRIORS = ({"u": 0.25, "v": 0.75}, {np.str_("u"): np.float64(0.5), ("v", 1): 0.5}, {True: 0.5, b"v": 0.5})

NUMBERS: tuple[Any, ...] = (2, 0.5, 25.0, np.float64(20.5), np.int64(20), np.float32(0.5))
COUNTS: tuple[Any, ...] = (2, 30, True, np.int64(3), np.uint8(3), 2.0, None)
NAMES: tuple[Any, ...] = ("a", np.str_("a"), ("a", 1), 7, b"a", None)
VALUES: dict[str, tuple[Any, ...]] = {
    "alpha": NUMBERS,
    "binning": ("quantile", np.str_("mdl"), Binning("mdl", bins=4, window=40), None),
    "class_prior": (
        "counted",
        np.str_("uniform"),
        *PRIORS,
        OrderedDict(PRIORS[0]),
        MappingProxyType(PRIORS[0]),
    ),
    "combine": ("best", "mixture", np.str_("mixture")),
    "ddof": (*NUMBERS, 0.0),
    "detector": ("adwin", np.str_("adwin")),
    "every": COUNTS,
    "features": (
        "fourier",
        np.str_("fourier"),
        FourierFeatures(count=16),
        FourierFeatures({"n": (1, 2.5)}, length=1.5, count=16, seed=3),
        None,
    ),
    "half_life": (*NUMBERS, "7d", np.str_("2h"), None),
    "half_lives": (
        [10, 100],
        (None, 10.5),
        [None, np.float64(3.5)],
        [5],
        np.array([10.0, 20.0]),
        (np.int64(3), 4),
    ),
    "judge_after": COUNTS,
    "key": NAMES,
    "k": (0, 2, np.int64(2), True),
    "label_memory": (0, 3, np.int64(1), True),
    "lags": (0, 3, np.int64(1), True),
    "learner": (
        NaiveBayes,
        lambda: AODE(class_prior=PRIORS[0]),
        lambda: SlidingWindow(NaiveBayes(), 9),
        lambda: BayesianRegression(strength=0.5),
    ),
    "loss_half_life": (*NUMBERS, None),
    "margin": (*NUMBERS, 0),
    "max_keys": COUNTS,
    "max_values": COUNTS,
    "memory_budget": (10**8, np.int64(10**8), 1e8, None),
    "min_count": NUMBERS,
    "neighbours": COUNTS,
    "missing": ("skip", "em", np.str_("skip")),
    "network": (DiscreteNetwork(Structure({"a": []}), {"a": ["x", "y"]}, {"a": [0.5, 0.5]}), None),
    "network_weight": NUMBERS,
    "numbers": ("gaussian", "bins", np.str_("bins"), Binning("mdl", bins=4, window=40)),
    "parent": NAMES,
    "parents": ({"a": "b"}, {("a", 1): 7}, OrderedDict(a="b"), MappingProxyType({"a": "b"}), {"a": None}),
    "policy": ("both", "background", np.str_("both")),
    "predictive": ("student-t", np.str_("plug-in")),
    "prior": ("laplace", "m-estimate", np.str_("laplace")),
    "rate": NUMBERS,
    "readings": (["nb", "tan"], ("nb", np.str_("aode")), [np.str_("lda")]),
    "renew": (True, False, np.bool_(True)),
    "retired": (0, 1, np.int64(1)),
    "root": NAMES,
    "schema": (SCHEMA, None),
    "search": (HillClimbing(max_parents=2), None),
    "search_delay": (0, 5, np.int64(5)),
    "seed": (0, 10**30, np.int64(3)),
    "shrinkage": ("oas", np.str_("oas"), 0.5, np.float64(0.25), None),
    "signal": ("loss", np.str_("error"), None),
    "size": COUNTS,
    "slides": (True, False),
    "step": (*NUMBERS, None),
    "strength": (*NUMBERS, 0, None),
    "structure": ("learn", np.str_("learn"), GRAPH, MappingProxyType(GRAPH), Structure(GRAPH), None),
    "subsumption": (*NUMBERS, None),
    "target": ("class", np.str_("class"), ("class", 1), None),
    "trend_half_life": NUMBERS,
    "trials": COUNTS,
    "true_threshold": (*NUMBERS, 0, 1),
    "unlabelled": ("refuse", "em", np.str_("em")),
    "unseen": ("novel", "refuse", np.str_("novel")),
    "variance": (None, "classes", np.str_("both")),
    "variance_floor": NUMBERS,
    "weight": NUMBERS,
    "weights": (None, "mutual-information", np.str_("mutual-information")),
    "window": (*COUNTS, 500),
}
NEEDED: dict[str, dict[str, Any]] = {  # what a class, or an argument, is not made without
    "ode": {"parents": {"a": "b"}},
    "sliding-window": {"learner": NaiveBayes, "size": 9},
    "half-life-choice": {"learner": NaiveBayes},
    "model-per-key": {"learner": NaiveBayes, "key": "a"},
    "half-life-regression": {"learner": BayesianRegression},
    "drift-regression": {"learner": BayesianRegression},
    "a learner that follows drift": {"learner": NaiveBayes},
    "a network": {"structure": {"a": [], "b": ["a"]}},
    "size": {"learner": AODE},
    "slides": {"window": 20},
    "network": {"structure": None},
}


def arguments() -> Iterator[tuple[str, str]]:
    for name, kind in CLASSES.items():
        yield from (
            (name, argument) for argument in inspect.signature(kind.__init__).parameters if argument != "self"
        )


def made(name: str, argument: str, value: Any) -> Any | None:
    """The learner with this argument; None if it is refused."""
    given = {**NEEDED.get(name, {}), **NEEDED.get(argument, {}), argument: value}
    names = inspect.signature(CLASSES[name].__init__).parameters
    given = {one: known() if callable(known) else known for one, known in given.items() if one in names}
    try:
        return CLASSES[name](**given)
    except (StreamBayesError, ValueError):
        return None


SHARE = 5  # of the values that a class accepts, one of so many


@cache
def accepted(argument: str) -> dict[str, list[int]]:
    """Return the places in `VALUES` of what each class with this argument accepts."""
    assert argument in VALUES, (
        f"no learner had the argument {argument!r} before: add some values to VALUES, above"
    )
    return {
        name: [
            place for place, value in enumerate(VALUES[argument]) if made(name, argument, value) is not None
        ]
        for name, other in arguments()
        if other == argument
    }


@cache
def shares(argument: str) -> dict[str, list[int]]:
    """Return the places of those that each class is tried with: what no class before was, and a fifth at least."""
    tried: Counter[int] = Counter()
    chosen = {}
    for name, places in accepted(argument).items():
        new = sum(not tried[place] for place in places)
        chosen[name] = least_tried(places, max(new, -(-len(places) // SHARE)), tried)
    return chosen


def taught(model: Any) -> Any:
    for number in range(30):
        x = {"a": "xy"[number % 2], "b": "z"} if number % 3 else {"b": "z"}
        try:
            if isinstance(model, BayesNet):
                model.learn_one(x)
            else:
                model.learn_one(x, number % 7 if isinstance(model, BayesRegressor) else "uv"[number % 2])
        except StreamBayesError:
            break  # a bag of words, a time that is missing, a closed schema: what was learned is saved
    return model


def bytes_of(model: Any) -> str:
    state = model_state(model)
    arrays = {name: array.tobytes() for name, array in state.pop("arrays").items()}
    return json.dumps(state) + repr(sorted(arrays.items()))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "argument"), list(arguments()))
def test_an_argument_that_is_accepted_is_saved_and_loaded(name: str, argument: str, tmp_path: Path) -> None:
    places = shares(argument)[name]
    assert places, f"no value of {argument} is accepted"
    for place in places:
        value = VALUES[argument][place]
        model = taught(made(name, argument, value))
        stream_bayes.save(model, tmp_path / "model.zip")
        try:
            loaded = stream_bayes.load(tmp_path / "model.zip")
        except NotSupported:  # a file never names what to import
            loaded = stream_bayes.load(tmp_path / "model.zip", made(name, argument, value))
        assert bytes_of(loaded) == bytes_of(model), value
        again = stream_bayes.load(tmp_path / "model.zip", made(name, argument, value))
        assert bytes_of(again) == bytes_of(model), value
        if not isinstance(model, BayesNet):
            piped = compose.Prefixer("p ") | model.clone()
            restored = restore_model(compose.Prefixer("p ") | model.clone(), model_state(piped))
            assert bytes_of(restored) == bytes_of(piped), value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "argument"), [pair for pair in arguments() if pair[0] in (*LEARNERS, *REGRESSORS)]
)
def test_an_argument_out_of_json_or_toml_is_saved_and_loaded(
    name: str, argument: str, tmp_path: Path
) -> None:
    for place in shares(argument)[name]:
        value = VALUES[argument][place]
        text = as_json(value)
        if text is None or argument == "schema":
            continue
        given = {"learner": "nb", "size": 9, "parents": {"a": "b"}}
        needed = {one: known for one, known in given.items() if one in NEEDED.get(name, {})}
        read: dict[str, Any] = {**needed, argument: json.loads(text)}
        readings = {repr(read): read}  # mostly JSON and TOML say the same
        if value is not None:
            toml = ", ".join(f"{key} = {as_toml(part)}" for key, part in read.items())
            written = tomllib.loads(f"arguments = {{ {toml} }}")["arguments"]
            readings[repr(written)] = written
        for table in readings.values():
            try:
                model = make_regressor(name, table) if name in REGRESSORS else make_learner(name, table)
            except StreamBayesError:
                continue
            stream_bayes.save(taught(model), tmp_path / "model.zip")
            assert bytes_of(stream_bayes.load(tmp_path / "model.zip")) == bytes_of(model), table


def as_json(value: Any) -> str | None:
    """An argument as JSON; None if it has no such form."""
    if isinstance(value, (Binning, FourierFeatures)):
        return json.dumps(value.to_json())
    try:
        return json.dumps(value.tolist() if isinstance(value, np.ndarray) else value)
    except TypeError:
        return None


def as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(k)} = {as_toml(v)}" for k, v in value.items() if v is not None)
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(as_toml(part) for part in value if part is not None) + "]"
    return json.dumps(value)


def test_every_argument_has_values() -> None:
    assert {argument for _, argument in arguments()} == VALUES.keys()
    for argument in VALUES:
        tried, all_accepted = ({*chain(*each.values())} for each in (shares(argument), accepted(argument)))
        assert tried == all_accepted, argument


def test_loading_makes_the_same_kind_of_half_lives(tmp_path: Path) -> None:
    for lives in ([10, 100], (10, 100), [None, 2.5]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            stream_bayes.save(stream_bayes.HalfLifeChoice(NaiveBayes(), lives), tmp_path / "model.zip")
            loaded = stream_bayes.load(tmp_path / "model.zip")
        assert loaded.half_lives == lives
        assert type(loaded.half_lives) is type(lives)


@pytest.mark.parametrize(
    "wrap", [stream_bayes.HalfLifeChoice, DriftAdaptive, lambda one: SlidingWindow(one, 9)]
)
def test_a_learner_that_is_part_of_a_window_is_refused_within_another(wrap: Any) -> None:
    learner = NaiveBayes()
    SlidingWindow(learner, 5)
    with pytest.raises(BadValue, match="part of a SlidingWindow"):
        wrap(learner)
