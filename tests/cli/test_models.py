"""`stream-bayes models`: every learner of the package has a name there, and its arguments."""

from __future__ import annotations

import json

import pytest

import stream_bayes
from stream_bayes import AdaptiveBayes, HalfLifeChoice, ModelPerKey
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.catalogue import LEARNERS, REGRESSORS, declaration_of
from stream_bayes.learners.factory import make_learner
from tests.cli.test_snapshots import run


def test_every_public_learner_has_a_name() -> None:
    public = {getattr(stream_bayes, name) for name in stream_bayes.__all__}
    learners = {item for item in public if isinstance(item, type) and issubclass(item, BayesClassifier)}
    assert set(LEARNERS.values()) == learners | {AdaptiveBayes, HalfLifeChoice, ModelPerKey}


def test_each_can_be_made_by_its_name() -> None:
    for name, made in LEARNERS.items():
        assert type(make_learner(name, declaration_of(name).example)) is made


@pytest.mark.needs("mail")
def test_the_list_names_all_and_one_shows_its_arguments() -> None:
    assert [row["name"] for row in json.loads(run("models", "--json").stdout)] == [
        *LEARNERS,
        *REGRESSORS,
        "spam-filter",
    ]
    (row,) = json.loads(run("models", "aode", "--json").stdout)
    assert "min_count" in row["arguments"]
    assert "min_count" in run("models", "aode").stdout
    (row,) = json.loads(run("models", "spam-filter", "--json").stdout)
    assert "costs" in row["arguments"] and "key" not in row["arguments"]


def test_every_argument_has_a_default_and_a_meaning_of_its_own() -> None:
    for row in json.loads(run("models", "--json").stdout):
        assert [each["name"] for each in row["parameters"]] == row["arguments"]
        for each in row["parameters"]:
            assert each["meaning"] and "As in `" not in each["meaning"], (row["name"], each)
    (row,) = json.loads(run("models", "tan", "--json").stdout)
    strength = next(each for each in row["parameters"] if each["name"] == "strength")
    # As AODE's documentation has it.
    assert strength["default"] == "1.0" and "smoothing" in strength["meaning"]
    shown = " ".join(run("models", "ode").stdout.split())
    assert "--arg NAME=VALUE" in shown


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    result = run("models", "aodee")
    assert result.exit_code == 3
    assert "did you mean 'aode'?" in result.stderr
