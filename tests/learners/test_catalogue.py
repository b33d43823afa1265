"""One entry in the catalogue, or an entry point of another package, is all that a learner needs."""

from __future__ import annotations

import importlib
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import stream_bayes
from stream_bayes import SlidingWindow, load, save, testing
from stream_bayes import sklearn as estimators
from stream_bayes.errors import BadValue
from stream_bayes.learners import catalogue
from stream_bayes.learners.catalogue import (
    DECLARED,
    LEARNERS,
    REGRESSION,
    REGRESSORS,
    Declaration,
    class_named,
)
from stream_bayes.learners.factory import make_learner
from tests.cli.test_snapshots import run
from tests.repository.declarations import written

BROUGHT = '''
from stream_bayes import NaiveBayes

class CautiousBayes(NaiveBayes):
    """Naive Bayes that smooths more.

    Parameters
    ----------
    strength
        The weight of the smoothing.

    Examples
    --------
    >>> CautiousBayes().strength
    5.0
    """

    def __init__(
        self, strength=5.0, class_prior="counted", half_life=None, schema=None, max_values=None, memory_budget=None
    ):
        super().__init__(
            strength=strength,
            class_prior=class_prior,
            half_life=half_life,
            schema=schema,
            max_values=max_values,
            memory_budget=memory_budget,
        )
'''
RAIN = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "dry")] * 20


def test_what_follows_from_the_catalogue_is_written() -> None:
    stale = [str(path) for path, text in written().items() if path.read_text("utf-8") != text]
    assert stale == [], "run `make declarations`"


def test_each_learner_has_a_whole_row_in_the_table_of_choices() -> None:
    cells = ("features", "depends_on", "prediction_time", "memory", "choose_if")
    empty = [(name, cell) for name, each in DECLARED.items() for cell in cells if not getattr(each, cell)]
    assert empty == [], "fill these cells in stream_bayes/learners/catalogue.py"


def test_reading_the_catalogue_imports_no_learner() -> None:
    code = (
        "import sys, stream_bayes.learners.catalogue as c; assert 'tan' in c.LEARNERS; "
        "print([m for m in sys.modules if m.startswith('stream_bayes.learners.') or m in ('numpy', 'river')])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "['stream_bayes.learners.catalogue']"


def test_every_class_of_the_catalogue_is_public_under_its_own_name() -> None:
    for name, declared in DECLARED.items():
        registry = REGRESSORS if declared.task == REGRESSION else LEARNERS
        assert (
            getattr(stream_bayes, declared.class_name) is registry[name] is class_named(declared.class_name)
        )
        assert declared.class_name in stream_bayes.__all__
        assert declared.estimator_name in estimators.__all__
        assert getattr(estimators, declared.estimator_name).kind is registry[name]


@pytest.fixture(params=["entry point", "register"])
def brought(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[type]:
    """Bring a learner of another package, as an entry point or by `register`."""
    (tmp_path / "cautious.py").write_text(BROUGHT)
    monkeypatch.syspath_prepend(str(tmp_path))
    if request.param == "entry point":
        metadata = tmp_path / "cautious-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: cautious\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(
            "[stream_bayes.learners]\ncautious = cautious:CautiousBayes\n"
        )
    module = importlib.import_module("cautious")
    if request.param == "register":
        LEARNERS.register("cautious", module.CautiousBayes)
    yield module.CautiousBayes
    LEARNERS._loaded.pop("cautious", None)
    vars(sys.modules["stream_bayes.sklearn.estimators"]).pop("CautiousBayesClassifier", None)
    vars(stream_bayes).pop("CautiousBayes", None)
    del sys.modules["cautious"]


def test_a_learner_of_another_package_has_all_that_ours_have(brought: type, tmp_path: Path) -> None:
    # Its name, in Python, in commands and within others.
    model = make_learner("cautious", {"strength": 3.0})
    assert type(model) is brought and class_named("CautiousBayes") is brought
    assert "cautious" in [row["name"] for row in json.loads(run("models", "--json").stdout)]
    window = make_learner("sliding-window", {"learner": "cautious", "size": 10})
    assert isinstance(window, SlidingWindow) and type(window.learner) is brought
    # The laws.
    assert "CautiousBayes" in testing.learners()
    testing.check_learner(testing.learners()["CautiousBayes"])
    # A file of its own, and one of a model around it.
    for each in (model, window):
        for x, y in RAIN:
            each.learn_one(x, y)
        save(each, tmp_path / "model.zip")
        assert load(tmp_path / "model.zip").predict_proba_one(RAIN[0][0]) == each.predict_proba_one(
            RAIN[0][0]
        )
    # scikit-learn.
    X, labels = np.array([[0, 1], [1, 1]] * 20), np.array(["rain", "dry"] * 20)
    estimator = estimators.CautiousBayesClassifier(strength=2.0, categorical_features="all")  # type: ignore[operator]  # made as it is used
    assert clone(estimator).fit(X, labels).score(X, labels) == 1.0
    assert pickle.loads(pickle.dumps(estimator)).strength == 2.0
    assert (
        estimators.BayesEstimator("cautious", categorical_features="all").fit(X, labels).score(X, labels)
        == 1.0
    )


def test_a_pipeline_runs_a_learner_of_another_package(
    brought: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.csv").write_text("sky,weather\n" + "grey,rain\nblue,dry\n" * 20)
    (tmp_path / "pipeline.toml").write_text(
        'name = "weather"\n[source]\nkind = "csv"\npath = "events.csv"\ntarget = "weather"\n'
        '[model]\nkind = "cautious"\n[predictions]\nkind = "jsonl"\npath = "out.jsonl"\n'
        '[dead_letters]\nkind = "jsonl"\npath = "dead.jsonl"\n[snapshots]\ndirectory = "state"\n'
    )
    result = run("run", "pipeline.toml")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "out.jsonl").read_text().splitlines()[-1])["prediction"] == "dry"


def test_an_entry_in_the_catalogue_is_all_that_a_new_learner_of_ours_needs(
    brought: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = Declaration("cautious:CautiousBayes", settings=({}, {"strength": 1.0}), choose_if="in doubt")
    monkeypatch.setitem(DECLARED, "cautious", declared)
    monkeypatch.setitem(catalogue._PATHS, "CautiousBayes", declared.path)
    # `make declarations` writes this list.
    monkeypatch.setattr(stream_bayes, "__all__", [*stream_bayes.__all__, "CautiousBayes"])
    assert getattr(stream_bayes, "CautiousBayes") is brought  # noqa: B009  (made as it is used)
    assert {"CautiousBayes", "CautiousBayes(strength=1.0)"} < set(testing.learners())
    texts = "\n".join(written().values())
    assert "from cautious import CautiousBayes" in texts
    assert "class CautiousBayesClassifier(OneClassifier): ..." in texts
    assert texts.count("| `CautiousBayes`") == 2  # in both tables of docs/which-learner.md


def test_an_unknown_learner_is_answered_with_the_nearest() -> None:
    with pytest.raises(BadValue, match="did you mean 'tan'"):
        LEARNERS["tann"]
