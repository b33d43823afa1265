"""`binning=`: a method's name, or all settings in one value, wherever a learner is made, saved or merged."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from stream_bayes import AODE, TAN, Binning
from stream_bayes.errors import BadState, BadValue, CannotMerge
from stream_bayes.learners.factory import make_learner
from tests.resealing import resealed

SETTINGS = Binning("mdl", bins=8, after=3, window=40)


def test_settings_cannot_be_changed_behind_a_learner() -> None:
    with pytest.raises(FrozenInstanceError):
        SETTINGS.bins = 9  # type: ignore[misc]  # wrong on purpose


def test_a_method_alone_stands_for_its_default_settings() -> None:
    rows = [({"size": float(number)}, "big" if number > 30 else "small") for number in range(60)]
    by_name, by_value = TAN(binning="mdl"), TAN(binning=Binning("mdl"))
    for x, y in rows:
        by_name.learn_one(x, y)
        by_value.learn_one(x, y)
    assert by_name.cuts_ == by_value.cuts_ != {}
    assert by_name.merge(TAN(binning=Binning("mdl"))).cuts_ == by_value.cuts_


def test_other_settings_do_not_merge() -> None:
    with pytest.raises(CannotMerge, match="differ in binning"):
        AODE(binning="mdl").merge(AODE(binning=SETTINGS))


def test_clones_and_states_keep_the_settings() -> None:
    model = AODE(binning=SETTINGS)
    assert model.clone().binning == SETTINGS
    assert AODE.from_state(model.state()).binning == SETTINGS


def test_a_state_with_other_settings_than_there_are_is_refused() -> None:
    state = AODE(binning=SETTINGS).state()
    state["parameters"]["binning"]["binning"]["windows"] = 3
    with pytest.raises(BadState, match="windows"):
        AODE.from_state(resealed(state))


def test_a_table_of_a_file_makes_the_settings() -> None:
    table: dict[str, Any] = {"method": "mdl", "bins": 8, "after": 3, "window": 40}
    made: Any = make_learner("tan", {"binning": table})
    assert made.binning == SETTINGS


def test_a_misspelt_setting_of_a_file_is_named() -> None:
    with pytest.raises(BadValue, match="binning has no argument 'windo'; did you mean 'window'"):
        make_learner("tan", {"binning": {"windo": 40}})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (
            {"method": "quantiles"},
            "binning.method must be one of 'quantile', 'equal-width', 'mdl', not 'quantiles'",
        ),
        ({"bins": 0}, "binning.bins must be a whole number of at least 1, not 0"),
        ({"after": 2.5}, "binning.after must be a whole number of at least 1, not 2.5"),
        ({"window": True}, "binning.window must be a whole number of at least 1, not True"),
    ],
)
def test_a_bad_setting_is_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(BadValue, match=named):
        Binning(**given)


@pytest.mark.parametrize("given", ["quantiles", 5, True, {"method": "mdl"}])
def test_what_is_no_binning_is_refused(given: Any) -> None:
    with pytest.raises(BadValue, match="binning must be one of 'quantile', 'equal-width', 'mdl', a Binning"):
        AODE(binning=given)
