"""What cannot be saved is said at start, and what was saved under another configuration is refused by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from river import base, compose, drift, feature_extraction, metrics, naive_bayes, preprocessing, stats, utils

from stream_bayes import DecidingClassifier, GaussianNB, NaiveBayes, Thresholds
from stream_bayes.errors import BadState, BadValue, CannotSave, OtherConfiguration
from stream_bayes.saving.river import compiled_objects as natives
from stream_bayes.saving.river.model_state import check_saveable, model_state, register, restore_model


def double(x: dict[str, Any]) -> dict[str, Any]:
    return x


class AlwaysFirst:
    def decide(self, probabilities: Mapping[Any, float]) -> Any:
        return next(iter(probabilities), None)


class Derived(preprocessing.StandardScaler):
    """Holds more than a StandardScaler, for all that is known."""


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (compose.FuncTransformer(double) | NaiveBayes(), "step 'double': a FuncTransformer holds a function"),
        (
            compose.Prefixer("a") | (compose.Select("x") + compose.FuncTransformer(double)) | NaiveBayes(),
            "step 'TransformerUnion', step 'double': a FuncTransformer",
        ),
        (
            preprocessing.StandardScaler() | naive_bayes.GaussianNB(),
            "step 'GaussianNB': no snapshot can hold the state of a river.naive_bayes.gaussian.GaussianNB",
        ),
        (Derived() | GaussianNB(), "step 'Derived': no snapshot can hold"),
        (
            feature_extraction.BagOfWords(tokenizer=str.split) | NaiveBayes(),
            "step 'BagOfWords', tokenizer: its value is .* never holds code",
        ),
        (compose.SelectType(np.ndarray), "^types: its value is"),
        (drift.KSWIN(), "it has no seed"),
        (preprocessing.FeatureHasher(), "it has no seed"),
        (DecidingClassifier(NaiveBayes(), AlwaysFirst()), "^rule: a AlwaysFirst decides by code"),
        (metrics.Accuracy() + metrics.RollingROCAUC() + metrics.VBeta(), "metric 3: no snapshot can hold"),
        (preprocessing.StatImputer(("a", stats.AutoCorr(lag=1))), "imputers"),
    ],
)
def test_a_model_that_no_snapshot_can_hold_is_refused_at_start(model: Any, said: str) -> None:
    with pytest.raises(CannotSave, match=said):
        check_saveable(model)


def test_an_attribute_that_is_not_known_is_not_lost_silently() -> None:
    model = preprocessing.StandardScaler()
    model.added_by_a_newer_river = 1  # type: ignore[attr-defined]  # that is the point
    with pytest.raises(
        CannotSave, match=r"River .* in other parts than are known here: added_by_a_newer_river"
    ):
        check_saveable(model)


def test_a_state_names_its_river_and_is_refused_where_another_keeps_other_parts() -> None:
    model = preprocessing.StandardScaler() | GaussianNB()
    state = {**model_state(model), "river": "0.1"}
    assert restore_model(model, state)  # an older one that kept the same
    model["StandardScaler"].added_by_a_newer_river = 1  # that is the point
    with pytest.raises(
        BadState, match=r"saved with River 0.1, and River .* StandardScaler in other parts: added_by"
    ):
        restore_model(model, state)
    state["model"]["steps"][0][1]["parameters"]["of_old"] = 1
    with pytest.raises(BadState, match=r"\(saved with River 0.1, read with River "):
        restore_model(model, state)
    for altered in (None, 26, ["0.26"]):
        with pytest.raises(BadState, match="does not say which River wrote it"):
            restore_model(model, {**state, "river": altered})


def test_compiled_objects_of_another_form_are_refused_when_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = model_state(stats.EWMean())
    monkeypatch.setattr(natives, "stats", None)
    monkeypatch.delattr(natives.EW_MEAN, "is_known", raising=False)
    with pytest.raises(
        BadState, match="keeps a RsEWMean in other parts: the bytes of its pickle; load it with River"
    ):
        restore_model(stats.EWMean(), state)


@pytest.mark.parametrize("value", [np.float32(0.1), "five", 10**400, [1]])
def test_what_a_step_holds_and_no_snapshot_can_is_refused_by_name(value: Any) -> None:
    model = preprocessing.StandardScaler() | GaussianNB()
    model["StandardScaler"].means["größe"] = value
    with pytest.raises(CannotSave, match="step 'StandardScaler', means, 'größe': "):
        model_state(model)


def test_a_mean_that_a_nan_has_reached_is_kept_as_it_is() -> None:
    model = preprocessing.StandardScaler()
    model.learn_one({"a": math.nan, "b": 1.0})
    restored = restore_model(preprocessing.StandardScaler(), model_state(model))
    assert math.isnan(restored.means["a"])
    assert restored.means["b"] == 1.0


def test_pipelines_nest_so_deep_and_no_deeper() -> None:
    model: Any = compose.Prefixer("a")
    for _ in range(15):
        model = compose.Pipeline(model)
    check_saveable(model)
    with pytest.raises(CannotSave, match="more than 16 objects stand within one another"):
        check_saveable(compose.Pipeline(model))


@pytest.mark.parametrize(
    ("saved", "model", "said"),
    [
        (
            preprocessing.StandardScaler() | GaussianNB(),
            preprocessing.StandardScaler(window_size=5) | GaussianNB(),
            "step 'StandardScaler', window_size: the snapshot was taken with None, the model is configured with 5",
        ),
        (
            compose.Select("a", "b") | NaiveBayes(),
            compose.Select("a", "c") | NaiveBayes(),
            "step 'Select', keys: the snapshot was taken with",
        ),
        (
            compose.Prefixer("a") | NaiveBayes(strength=2.0),
            compose.Prefixer("a") | NaiveBayes(),
            "step 'NaiveBayes', strength: the snapshot was taken with 2.0, the model is configured with 1.0",
        ),
        (NaiveBayes(strength=2.0), NaiveBayes(), "^strength"),
        (compose.Prefixer("a"), compose.Suffixer("a"), "taken with a 'Prefixer', the model has a Suffixer"),
        (
            compose.Prefixer("a") | NaiveBayes(),
            compose.Prefixer("a") | compose.Suffixer("b") | NaiveBayes(),
            r"taken with the steps \['Prefixer', 'NaiveBayes'\]",
        ),
        (
            DecidingClassifier(NaiveBayes(), Thresholds(0.7)),
            DecidingClassifier(NaiveBayes(), Thresholds(0.8)),
            "^rule",
        ),
        (metrics.F1(pos_val="a"), metrics.F1(pos_val="b"), "pos_val"),
        (
            utils.Rolling(stats.Mean, 5),
            utils.Rolling(stats.Var, 5),
            "taken with a 'Mean', the model has a Var",
        ),
        (utils.Rolling(stats.Mean, 5), utils.Rolling(stats.Mean, 6), "window_size"),
        (drift.ADWIN(delta=0.1), drift.ADWIN(delta=0.2), "delta"),
        (
            preprocessing.StatImputer(("a", stats.Mean())),
            preprocessing.StatImputer(("a", stats.Mean()), ("b", stats.Mean())),
            "imputers: the snapshot was taken with 1 of these",
        ),
        (
            preprocessing.OneHotEncoder(categories={"a": {1, 2}}),
            preprocessing.OneHotEncoder(categories={"a": {1, 3}}),
            "categories",
        ),
    ],
)
def test_a_model_that_is_configured_otherwise_is_refused_by_step_and_parameter(
    saved: Any, model: Any, said: str
) -> None:
    with pytest.raises(OtherConfiguration, match=said):
        restore_model(model, model_state(saved))


def test_names_tell_classes_apart() -> None:
    class StandardScaler(base.Transformer):
        """Another one."""

        def transform_one(self, x: Any) -> Any:
            return x

    with pytest.raises(BadValue, match="a class named StandardScaler is registered already"):
        register(StandardScaler)


@pytest.mark.parametrize("state", [None, [], {}, {"format": 2}, {"format": "1"}, {"format": 1}, "x"])
def test_what_is_no_state_at_all_is_refused(state: Any) -> None:
    with pytest.raises(BadState):
        restore_model(NaiveBayes(), state)


def test_arrays_of_no_learner_are_refused() -> None:
    model = compose.Prefixer("a") | NaiveBayes()
    state = model_state(model)
    with pytest.raises(BadState, match="no arrays but those of its learners"):
        restore_model(model, {**state, "arrays": {**state["arrays"], "7-weight": np.zeros(3)}})
    with pytest.raises(BadState):
        restore_model(model, {**state, "arrays": {}})


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (drift.ADWIN(), natives.ADAPTIVE_WINDOW),
        (stats.EWMean(), natives.EW_MEAN),
        (stats.RollingQuantile(0.5, 3), natives.SORTED_WINDOW),
        (metrics.RollingROCAUC(), natives.CURVE),
    ],
)
def test_compiled_objects_of_another_form_are_refused_at_start(
    model: Any, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kind.is_known
    monkeypatch.setattr(kind, "is_known", False)
    with pytest.raises(CannotSave, match="in other parts than are known here: the bytes of its pickle"):
        check_saveable(model)
