"""Numbers that leave the cuts of their bins: followed where cuts move, told of once where they stay."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import (
    AODE,
    KDB,
    TAN,
    AdaptiveBayes,
    BayesNetClassifier,
    Binning,
    LiveChoice,
    NaiveBayes,
    SlidingWindow,
    load,
    save,
)
from stream_bayes.errors import BadValue, CannotMerge, NotSupported, NumbersMoved
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.streams.served_models.corrections import unlearning_fault
from stream_bayes.testing.assertions import state_bytes

SHORT = 200  # events after which cuts stay
SHIFTS = [
    (10.0, 1.0),
    (0.0, 100.0),
    (1.0, 0.01),
]  # another level, units to hundredths, and hundredths to units

MAKERS: dict[str, Callable[[Binning], BayesClassifier]] = {
    "NaiveBayes": lambda binning: NaiveBayes(numbers=binning),
    "AODE": lambda binning: AODE(binning=binning),
    "TAN": lambda binning: TAN(binning=binning),
    "KDB": lambda binning: KDB(k=2, window=500, binning=binning),
    "LiveChoice": lambda binning: LiveChoice(readings=("nb", "tan", "aode"), binning=binning),
}
each = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def events(
    seed: int, count: int, level: float = 0.0, unit: float = 1.0
) -> Iterator[tuple[dict[str, Any], str]]:
    """Numbers about a level, whose classes differ by one and a half deviations; and a name that tells nothing."""
    rng = random.Random(seed)
    for _ in range(count):
        y = rng.choice(["low", "high"])
        x = {name: unit * (level + rng.gauss(1.5 * (y == "high"), 1.0)) for name in "abc"}
        yield {**x, "sky": rng.choice(["grey", "blue"])}, y


def right(model: Any, samples: Iterator[tuple[dict[str, Any], str]]) -> float:
    """The share of right answers to the last 300 events, each before it is learned."""
    answers = []
    for x, y in samples:
        answers.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    return sum(answers[-300:]) / 300


@each
def test_numbers_that_move_are_followed_where_cuts_move(make: Callable[[Binning], BayesClassifier]) -> None:
    moving = make(Binning(window=SHORT, moving=True))
    right(moving, events(1, 600))
    for seed, (level, unit) in enumerate(SHIFTS):
        begun_anew = make(Binning(window=SHORT))
        assert (
            right(moving, events(seed, 900, level, unit))
            > right(begun_anew, events(seed, 900, level, unit)) - 0.025
        )


def test_numbers_that_move_long_before_their_cuts_would_be_set_again_are_followed_or_told_of() -> None:
    model, staying = (
        AODE(binning=Binning(moving=True)),
        AODE(),
    )  # cuts are set at 2,560 numbers, and again at 5,120
    for one in (model, staying):
        right(one, events(1, 2_700))
    with pytest.warns(NumbersMoved):
        right(staying, events(2, 300, 10.0))
    assert right(model, events(2, 900, 10.0)) > right(AODE(), events(2, 900, 10.0)) - 0.025


@each
@pytest.mark.parametrize(("level", "unit"), SHIFTS)
def test_cuts_that_stay_are_said_to_be_left_once(
    make: Callable[[Binning], BayesClassifier], level: float, unit: float
) -> None:
    model = make(Binning(window=SHORT))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        right(model, events(1, 600))
        assert told == []
        right(model, events(2, 900, level, unit))
    assert {one.category for one in told} == {NumbersMoved}
    assert sorted(str(one.message).split("'")[1] for one in told) == ["a", "b", "c"]


@pytest.mark.filterwarnings("error::stream_bayes.errors.NumbersMoved")
def test_numbers_that_always_came_so_have_left_nothing() -> None:
    rng = random.Random(3)
    model = NaiveBayes(numbers=Binning(window=SHORT))
    for _ in range(3_000):
        x = {
            "mostly none": 0.0 if rng.random() < 0.95 else rng.random(),
            "skewed": rng.lognormvariate(0.0, 3.0),
            "switch": rng.choice([0, 1]),
            "constant": 7,
        }
        model.learn_one(x, rng.choice("ab"))


@pytest.mark.filterwarnings("error::stream_bayes.errors.NumbersMoved")
def test_the_default_learner_follows_numbers_and_says_nothing() -> None:
    model = AdaptiveBayes()
    right(model, events(1, 1_500))
    right(model, events(2, 500, 10.0))


@each
def test_a_learner_whose_cuts_move_goes_on_from_its_state_with_equal_bytes(
    make: Callable[[Binning], BayesClassifier], tmp_path: Path
) -> None:
    model = make(Binning(window=SHORT, moving=True))
    undisturbed = model.clone()
    samples = [*events(1, 500), *events(2, 500, 10.0)]
    for number, (x, y) in enumerate(samples):
        if number % 170 == 169:
            save(model, tmp_path / "model.zip")
            model = load(tmp_path / "model.zip")
        model.learn_one(x, y)
        undisturbed.learn_one(x, y)
    assert state_bytes(model) == state_bytes(undisturbed)


@each
def test_what_needs_cuts_that_stay_is_refused(make: Callable[[Binning], BayesClassifier]) -> None:
    model = make(Binning(moving=True))
    other = model.clone()
    for one in (model, other):
        right(one, events(1, 300))
    before = state_bytes(model)
    ((x, y),) = events(1, 1)
    with pytest.raises(NotSupported, match="moving"):
        model.unlearn_one(x, y)
    with pytest.raises(CannotMerge):
        model + other
    with pytest.raises(BadValue, match="moving"):
        SlidingWindow(model.clone(), 50)
    assert not model.traits.is_mergeable
    assert "moving" in (unlearning_fault(model, is_read_again=False) or "")
    assert state_bytes(model) == before


def test_arguments_are_checked() -> None:
    with pytest.raises(BadValue, match=r"binning\.moving must be True or False"):
        Binning(moving=1)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(BadValue, match="take TAN or KDB"):
        BayesNetClassifier(binning=Binning(moving=True))
