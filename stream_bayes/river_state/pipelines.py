"""The state of a whole model: a learner, and whatever stands around it.

    {"format": 1,
     "model": {"class": "Pipeline", "steps": [["StandardScaler", {"class": ..., "parameters": {...}, "holds": {...}}],
                                              ["NaiveBayes", {"class": "NaiveBayes", "state": {...}, "number": 0}]]},
     "arrays": {"0-weight": ..., "0-present": ...}}

A learner of this package brings its own `state()`, whose arrays stand together with those of other learners, each
under the number of its learner. `restore_pipeline` gives the state to a model that was made from the same
configuration: nothing is made because a state says so.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from river import compose

from stream_bayes.core.values.checks import refusing_bad_state
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadState, OtherConfiguration
from stream_bayes.learners.classifier.base import BayesClassifier
from stream_bayes.learners.classifier.state import Content, saved_parameter
from stream_bayes.learners.costs import Costs, Thresholds
from stream_bayes.learners.deciding_classifier import DecidingClassifier
from stream_bayes.river_state import composers, drift, statistics  # noqa: F401  # they register
from stream_bayes.river_state.location import Place
from stream_bayes.river_state.parameters import compare_parameters, written_parameter
from stream_bayes.river_state.registry import (
    Codec,
    codec_of,
    configuration_of,
    is_known,
    register,
    restored_object,
    saved_object,
    told_by,
    use,
    use_for_derived,
)

__all__ = [
    "PipelineContent",
    "check_saveable",
    "configuration_digest",
    "pipeline_content",
    "pipeline_state",
    "register",
    "restore_pipeline",
    "settle",
]

FORMAT = 1

Write = Callable[[Any, Place], dict[str, Any]]


class PipelineContent(NamedTuple):
    """Everything a model held at one moment. Its state can be written while the model goes on learning."""

    model: dict[str, Any]
    # Where in `model` the state of each goes, and what it held.
    learners: list[tuple[dict[str, Any], Content]]

    def state(self) -> dict[str, Any]:
        """All of it: JSON values, and arrays under "arrays"."""
        arrays = {}
        for number, (written, content) in enumerate(self.learners):
            state = content.state()
            arrays.update({f"{number}-{name}": array for name, array in state.pop("arrays").items()})
            written.update(state)
        return {"format": FORMAT, "model": self.model, "arrays": arrays}


def pipeline_content(model: Any) -> PipelineContent:
    """Everything a model is now, for a snapshot: a stream has to wait for this, and not for the `state()` of it.

    Raises
    ------
    CannotSave
        If there is a step whose state cannot be held; it says which.
    """
    place = Place()
    return PipelineContent(saved_object(model, place), place.learners)


def pipeline_state(model: Any) -> dict[str, Any]:
    """Everything a model is: JSON values, and arrays under "arrays". Taking it changes nothing.

    Parameters
    ----------
    model
        A learner of this package, a pipeline that ends in one, a metric, a drift detector, or anything else of River's
        that is known here.

    Raises
    ------
    CannotSave
        If there is a step whose state cannot be held; it says which.

    Examples
    --------
    >>> from river import preprocessing
    >>> from stream_bayes import GaussianNB
    >>> model = preprocessing.StandardScaler() | GaussianNB()
    >>> for height, label in [(1.5, "short"), (1.9, "tall"), (1.6, "short"), (2.0, "tall")]:
    ...     model.learn_one({"height": height}, label)
    >>> state = pipeline_state(model)
    >>> fresh = preprocessing.StandardScaler() | GaussianNB()
    >>> restore_pipeline(fresh, state).predict_one({"height": 1.55})
    'short'
    """
    return pipeline_content(model).state()


def restore_pipeline(model: Any, state: Mapping[str, Any]) -> Any:
    """A model that was made like this one, and has this state. The one that is given stays as it is.

    Parameters
    ----------
    model
        Made from the same configuration as the one that was saved, and not trained.
    state
        What `pipeline_state` returned, possibly long ago, or what somebody says it did.

    Raises
    ------
    BadState
        If the state is not whole, or was altered.
    OtherConfiguration
        If the model was configured otherwise; it says which step and which parameter.
    """
    if not isinstance(state, Mapping) or "format" not in state:
        raise BadState("this is no state of a model: expected what pipeline_state() returned")
    if state["format"] != FORMAT:
        raise BadState(
            f"the model's state has format {shown(state['format'])}, this version reads {FORMAT}; "
            "a newer version of stream_bayes wrote it, upgrade to read it"
        )
    with refusing_bad_state():
        place = Place(arrays=dict(state["arrays"]))
        saved, _, _ = place.fields(state, "model", "format", "arrays")
        restored = restored_object(copy.deepcopy(model), saved, place)
        if place.taken != place.arrays.keys():
            raise place.wrong(
                "no arrays but those of its learners", sorted(place.arrays.keys() - place.taken)
            )
        return restored


def check_saveable(model: Any) -> None:
    """Raise `CannotSave` for a model whose state no snapshot could hold. To be called at start.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> check_saveable((lambda x: x) | compose.Prefixer("a_") | NaiveBayes())
    Traceback (most recent call last):
        ...
    stream_bayes.errors.CannotSave: step '<lambda>': a FuncTransformer holds a function, and a snapshot never holds \
code; write it as a transformer class of your own, and register that
    """
    pipeline_state(model)


def settle(model: Any) -> None:
    """Make every order in a model that River leaves to a set, and so to hashes, the order of the names.

    Features that `Select` hands on, and labels over which a metric sums, are then in the same order in every process.
    To be called at start, before anything is learned. Nothing else of the model changes.

    Examples
    --------
    >>> from river import compose
    >>> select = compose.Select("size", "colour", "age")
    >>> settle(select)
    >>> list(select.transform_one({"age": 3, "size": 2, "colour": "red"}))
    ['age', 'colour', 'size']
    """
    codec = codec_of(model, Place())
    codec.settle(model)
    for part in codec.parts(model):
        settle(part)


def configuration_digest(model: Any) -> str:
    """64 hex digits that are equal for models with the same steps and parameters, whatever they have learned.

    Examples
    --------
    >>> from river import preprocessing
    >>> one, other = preprocessing.MinMaxScaler(), preprocessing.MinMaxScaler(window_size=10)
    >>> one.learn_one({"x": 1.0})
    >>> configuration_digest(one) == configuration_digest(preprocessing.MinMaxScaler())
    True
    >>> configuration_digest(one) == configuration_digest(other)
    False
    """
    text = json.dumps(configuration_of(model, Place()), separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class _Learner(Codec):
    """A learner of this package, which writes and checks its own state."""

    def saved(self, held: BayesClassifier, place: Place) -> dict[str, Any]:
        written: dict[str, Any] = {}  # by the content's `state`
        place.learners.append((written, held.content()))
        return {"state": written, "number": len(place.learners) - 1}

    def configured(self, held: BayesClassifier, place: Place) -> dict[str, Any]:
        return {"parameters": _parameters_of(held)}

    def restored(self, made: BayesClassifier, saved: dict[str, Any], place: Place) -> BayesClassifier:
        state, number = place.fields(saved, "state", "number")
        if not isinstance(state, Mapping) or type(number) is not int:
            raise place.wrong("the state of a learner", state)
        compare_parameters(_parameters_of(made), state.get("parameters"), place)
        names = {name for name in place.arrays if name.partition("-")[0] == str(number)}
        place.taken.update(names)
        arrays = {name.partition("-")[2]: place.arrays[name] for name in names}
        try:
            return type(made).from_state({**state, "arrays": arrays})
        except BadState as error:
            raise type(error)(f"{place}: {error}") from error


def _parameters_of(learner: BayesClassifier) -> dict[str, Any]:
    return {name: saved_parameter(value) for name, value in learner._get_params().items()}


class _Steps(Codec):
    """A pipeline or a union of transformers: objects with names, in their order.

    Parameters
    ----------
    attribute
        Where they are.
    """

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute

    def saved(self, held: Any, place: Place) -> dict[str, Any]:
        return {"steps": self._written(held, place, saved_object)}

    def configured(self, held: Any, place: Place) -> dict[str, Any]:
        return {"steps": self._written(held, place, configuration_of)}

    def _written(self, held: Any, place: Place, write: Write) -> list[Any]:
        return [[name, write(step, place.step(name))] for name, step in getattr(held, self.attribute).items()]

    def restored(self, made: Any, saved: dict[str, Any], place: Place) -> Any:
        (written,) = place.fields(saved, "steps")
        steps = getattr(made, self.attribute)
        pairs = [place.items(pair) for pair in place.items(written)]
        names = [pair[0] for pair in pairs if len(pair) == 2]
        if names != list(steps) or len(names) < len(pairs):
            raise OtherConfiguration(
                f"{place}: the snapshot was taken with the steps {shown(names)}, the model has {shown(list(steps))}; "
                "use the former configuration, or begin anew without the snapshot"
            )
        for name, step in pairs:
            steps[name] = restored_object(steps[name], step, place.step(name))
        return made

    def parts(self, held: Any) -> Iterator[Any]:
        return iter(getattr(held, self.attribute).values())


class _Pipeline(_Steps):
    def restored(self, made: Any, saved: dict[str, Any], place: Place) -> Any:
        super().restored(made, saved, place)
        made._plan = None  # it would go on with the steps that were replaced
        return made


class _Deciding(Codec):
    """A rule behind a classifier: {"rule": {...}, "classifier": {...}}."""

    def saved(self, held: DecidingClassifier, place: Place) -> dict[str, Any]:
        return {
            "rule": self._rule(held, place),
            "classifier": saved_object(held.classifier, place.at("classifier")),
        }

    def configured(self, held: DecidingClassifier, place: Place) -> dict[str, Any]:
        return {
            "rule": self._rule(held, place),
            "classifier": configuration_of(held.classifier, place.at("classifier")),
        }

    def _rule(self, held: DecidingClassifier, place: Place) -> Any:
        rule, place = held.rule, place.at("rule")
        if type(rule) not in (Costs, Thresholds):
            raise place.cannot(
                f"a {type(rule).__name__} decides by code, and a snapshot never holds code; use Costs or Thresholds, "
                "or put the rule behind the stream's output"
            )
        return {type(rule).__name__: written_parameter(vars(rule), place, is_known, saved_object)}

    def restored(self, made: DecidingClassifier, saved: dict[str, Any], place: Place) -> DecidingClassifier:
        rule, classifier = place.fields(saved, "rule", "classifier")
        compare_parameters({"rule": self._rule(made, place)}, {"rule": rule}, place)
        made.classifier = restored_object(made.classifier, classifier, place.at("classifier"))
        return made

    def parts(self, held: DecidingClassifier) -> Iterator[Any]:
        yield held.classifier


class _Function(Codec):
    """A function, which is code."""

    def saved(self, held: Any, place: Place) -> dict[str, Any]:
        raise place.cannot(
            "a FuncTransformer holds a function, and a snapshot never holds code; "
            "write it as a transformer class of your own, and register that"
        )

    configured = saved

    def restored(self, made: Any, saved: dict[str, Any], place: Place) -> Any:
        return self.saved(made, place)


use_for_derived(BayesClassifier, _Learner())
use(compose.Pipeline, _Pipeline("steps"))
use(compose.TransformerUnion, _Steps("transformers"))
use(compose.TransformerProduct, _Steps("transformers"))
use(compose.FuncTransformer, _Function())
use(DecidingClassifier, _Deciding())
told_by("stream_bayes.river_state.detectors", "river.drift")
told_by("stream_bayes.river_state.metrics", "river.metrics")
told_by("stream_bayes.river_state.transformers", "river.preprocessing", "river.feature_extraction")
