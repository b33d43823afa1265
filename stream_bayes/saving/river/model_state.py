"""The state of a whole model: a learner and everything around it.

    {"format": 1, "river": "0.26.1",
     "model": {"class": "Pipeline", "steps": [["StandardScaler", {"class": ..., "parameters": {...}, "holds": {...}}],
                                              ["NaiveBayes", {"class": "NaiveBayes", "state": {...}, "number": 0}]]},
     "arrays": {"0-weight": ..., "0-present": ...}}

A learner of this package brings its own `state()`, whose arrays stand together with those of other learners, each
under the number of its learner. `restore_model` gives the state to a model that was made from the same
configuration: a state never decides which objects are made.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from river import compose

from stream_bayes.core.values.checks import refusing_bad_state
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadState, OtherConfiguration
from stream_bayes.learners.base.state import CountLearner, LearnerContent, saved_parameter
from stream_bayes.learners.wrappers.deciding_classifier import DecidingClassifier
from stream_bayes.learners.wrappers.decision_rules import Costs, Thresholds
from stream_bayes.learners.wrappers.prediction_sets import PredictionSets
from stream_bayes.saving.river import adaptive_learners, composition, drift_learners, statistics  # noqa: F401  # they register
from stream_bayes.saving.river.location import RIVER, Location
from stream_bayes.saving.river.parameters import compare_parameters, encode_parameter
from stream_bayes.saving.river.registry import (
    ObjectCodec,
    codec_of,
    configuration_of,
    decode_object,
    encode_object,
    is_known,
    register,
    register_base,
    register_codec,
)

__all__ = [
    "ModelContent",
    "check_saveable",
    "configuration_digest",
    "fix_order",
    "model_content",
    "model_state",
    "register",
    "restore_model",
]

FORMAT = 1

Write = Callable[[Any, Location], dict[str, Any]]


class ModelContent(NamedTuple):
    """Everything a model held at one moment. Its state can be written while the model goes on learning."""

    model: dict[str, Any]
    # Where in `model` the state of each goes, and what it held.
    learners: list[tuple[dict[str, Any], LearnerContent]]

    def state(self) -> dict[str, Any]:
        """Return all of it: JSON values, and arrays under "arrays"."""
        arrays = {}
        for number, (written, content) in enumerate(self.learners):
            state = content.state()
            arrays.update({f"{number}-{name}": array for name, array in state.pop("arrays").items()})
            written.update(state)
        return {"format": FORMAT, "river": RIVER, "model": self.model, "arrays": arrays}


def model_content(model: Any) -> ModelContent:
    """Return everything a model is now, for a snapshot. A stream waits for this only, and not for its `state()`.

    Raises
    ------
    CannotSave
        If the state of a step cannot be held; the message names the step.
    """
    location = Location()
    return ModelContent(encode_object(model, location), location.learners)


def model_state(model: Any) -> dict[str, Any]:
    """Return everything a model is: JSON values, and arrays under "arrays". The model does not change. It is a learner
    of this package, a pipeline that ends in one, a metric, a drift detector, or anything else of River's that has a
    codec here.

    Raises
    ------
    CannotSave
        If the state of a step cannot be held; the message names the step.

    Examples
    --------
    >>> from river import preprocessing
    >>> from stream_bayes import GaussianNB
    >>> model = preprocessing.StandardScaler() | GaussianNB()
    >>> for height, label in [(1.5, "short"), (1.9, "tall"), (1.6, "short"), (2.0, "tall")]:
    ...     model.learn_one({"height": height}, label)
    >>> state = model_state(model)
    >>> fresh = preprocessing.StandardScaler() | GaussianNB()
    >>> restore_model(fresh, state).predict_one({"height": 1.55})
    'short'
    """
    return model_content(model).state()


def restore_model(model: Any, state: Mapping[str, Any]) -> Any:
    """Return a model made like the given one, with this state. The given one stays as it is. The given one is made from
    the same configuration as the one that was saved, and not trained. `state` was returned by `model_state`, and is not
    trusted.

    Raises
    ------
    BadState
        If the state is not whole, or was altered.
    OtherConfiguration
        If the model was configured otherwise; the message names the step and the parameter.
    """
    if not isinstance(state, Mapping) or "format" not in state:
        raise BadState("this is not a state of a model: expected what model_state() returned")
    if state["format"] != FORMAT:
        raise BadState(
            f"the model's state has format {shown(state['format'])}, this version reads {FORMAT}; "
            "a newer version of stream_bayes wrote it, upgrade to read it"
        )
    saved_with = state.get("river")
    if type(saved_with) is not str:
        raise BadState(
            f"the model's state does not say which River wrote it, but {shown(saved_with)}: it was altered"
        )
    with _naming_other_version(saved_with), refusing_bad_state():
        location = Location(arrays=dict(state["arrays"]), saved_with=saved_with)
        saved, *_ = location.fields(state, "model", "format", "river", "arrays")
        restored = decode_object(copy.deepcopy(model), saved, location)
        if location.taken != location.arrays.keys():
            raise location.altered(
                "no arrays but those of its learners", sorted(location.arrays.keys() - location.taken)
            )
        return restored


@contextmanager
def _naming_other_version(saved_with: str) -> Iterator[None]:
    """Add the versions of River to the error for a state that another one wrote, and that does not fit."""
    try:
        yield
    except BadState as error:
        if saved_with == RIVER or isinstance(error, OtherConfiguration):
            raise
        raise BadState(f"{error} (saved with River {saved_with[:20]}, read with River {RIVER})") from error


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
    model_state(model)


def fix_order(model: Any) -> None:
    """Make every order in a model that River leaves to a set, and so to hashes, the order of the names.

    Features that `Select` hands on, and labels over which a metric sums, are then in the same order in every process.
    To be called at start, before anything is learned. Nothing else of the model changes.

    Examples
    --------
    >>> from river import compose
    >>> select = compose.Select("size", "colour", "age")
    >>> fix_order(select)
    >>> list(select.transform_one({"age": 3, "size": 2, "colour": "red"}))
    ['age', 'colour', 'size']
    """
    codec = codec_of(model, Location())
    codec.fix_order(model)
    for inner in codec.parts(model):
        fix_order(inner)


def configuration_digest(model: Any) -> str:
    """Return 64 hex digits that are equal for models with the same steps and parameters, whatever they learned.

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
    text = json.dumps(configuration_of(model, Location()), separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class _Learner(ObjectCodec):
    """A learner of this package, which writes and checks its own state."""

    def encode(self, instance: CountLearner, location: Location) -> dict[str, Any]:
        written: dict[str, Any] = {}  # by the content's `state`
        location.learners.append((written, instance.content()))
        return {"state": written, "number": len(location.learners) - 1}

    def configuration(self, instance: CountLearner, location: Location) -> dict[str, Any]:
        return {"parameters": _parameters_of(instance)}

    def decode(self, made: CountLearner, saved: dict[str, Any], location: Location) -> CountLearner:
        state, number = location.fields(saved, "state", "number")
        if not isinstance(state, Mapping) or type(number) is not int:
            raise location.altered("the state of a learner", state)
        compare_parameters(_parameters_of(made), state.get("parameters"), location)
        try:
            return type(made).from_state({**state, "arrays": location.take_arrays(number)})
        except BadState as error:
            raise type(error)(f"{location}: {error}") from error


def _parameters_of(learner: CountLearner) -> dict[str, Any]:
    return {name: saved_parameter(value) for name, value in learner._get_params().items()}


class _Steps(ObjectCodec):
    """A pipeline or a union of transformers: objects with names, in their order. `attribute` is their location."""

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute

    def encode(self, instance: Any, location: Location) -> dict[str, Any]:
        return {"steps": self._written(instance, location, encode_object)}

    def configuration(self, instance: Any, location: Location) -> dict[str, Any]:
        return {"steps": self._written(instance, location, configuration_of)}

    def _written(self, instance: Any, location: Location, write: Write) -> list[Any]:
        return [
            [name, write(step, location.step(name))]
            for name, step in getattr(instance, self.attribute).items()
        ]

    def decode(self, made: Any, saved: dict[str, Any], location: Location) -> Any:
        (written,) = location.fields(saved, "steps")
        steps = getattr(made, self.attribute)
        pairs = [location.items(pair) for pair in location.items(written)]
        names = [pair[0] for pair in pairs if len(pair) == 2]
        if names != list(steps) or len(names) < len(pairs):
            raise OtherConfiguration(
                f"{location}: the snapshot was taken with the steps {shown(names)}, "
                f"the model has {shown(list(steps))}; use the former configuration, or start over without the snapshot"
            )
        for name, step in pairs:
            steps[name] = decode_object(steps[name], step, location.step(name))
        return made

    def parts(self, instance: Any) -> Iterator[Any]:
        return iter(getattr(instance, self.attribute).values())


class _Pipeline(_Steps):
    def decode(self, made: Any, saved: dict[str, Any], location: Location) -> Any:
        super().decode(made, saved, location)
        made._plan = None  # it refers to the steps that were replaced
        return made


class _Deciding(ObjectCodec):
    """A rule behind a classifier: {"rule": {...}, "classifier": {...}}."""

    def encode(self, instance: DecidingClassifier, location: Location) -> dict[str, Any]:
        return {
            "rule": self._rule(instance, location),
            "classifier": encode_object(instance.classifier, location.at("classifier")),
        }

    def configuration(self, instance: DecidingClassifier, location: Location) -> dict[str, Any]:
        return {
            "rule": self._rule(instance, location),
            "classifier": configuration_of(instance.classifier, location.at("classifier")),
        }

    def _rule(self, instance: DecidingClassifier, location: Location) -> Any:
        rule, location = instance.rule, location.at("rule")
        if type(rule) not in (Costs, Thresholds):
            raise location.cannot_save(
                f"a {type(rule).__name__} decides by code, and a snapshot never holds code; use Costs or Thresholds, "
                "or put the rule behind the stream's output"
            )
        return {type(rule).__name__: encode_parameter(vars(rule), location, is_known, encode_object)}

    def decode(
        self, made: DecidingClassifier, saved: dict[str, Any], location: Location
    ) -> DecidingClassifier:
        rule, classifier = location.fields(saved, "rule", "classifier")
        compare_parameters({"rule": self._rule(made, location)}, {"rule": rule}, location)
        return DecidingClassifier(
            decode_object(made.classifier, classifier, location.at("classifier")), made.rule
        )

    def parts(self, instance: DecidingClassifier) -> Iterator[Any]:
        yield instance.classifier


class _Sets(ObjectCodec):
    """Thresholds behind a classifier: {"settings": {...}, "sets": the state of `LabelSets`, "classifier": {...}}."""

    def encode(self, instance: PredictionSets, location: Location) -> dict[str, Any]:
        return {
            "settings": self._settings(instance),
            "sets": instance._sets.state(),
            "classifier": encode_object(instance.classifier, location.at("classifier")),
        }

    def configuration(self, instance: PredictionSets, location: Location) -> dict[str, Any]:
        return {
            "settings": self._settings(instance),
            "classifier": configuration_of(instance.classifier, location.at("classifier")),
        }

    def _settings(self, instance: PredictionSets) -> dict[str, Any]:
        return {"coverage": list(instance._sets.levels), "by_class": instance.by_class}

    def decode(self, made: PredictionSets, saved: dict[str, Any], location: Location) -> PredictionSets:
        settings, balances, classifier = location.fields(saved, "settings", "sets", "classifier")
        compare_parameters(self._settings(made), settings, location)
        sets = PredictionSets(
            decode_object(made.classifier, classifier, location.at("classifier")),
            made.coverage,
            made.by_class,
        )
        sets._sets.load(balances)
        return sets

    def parts(self, instance: PredictionSets) -> Iterator[Any]:
        yield instance.classifier


class _Function(ObjectCodec):
    """A function, which is code."""

    def encode(self, instance: Any, location: Location) -> dict[str, Any]:
        raise location.cannot_save(
            "a FuncTransformer holds a function, and a snapshot never holds code; "
            "write it as a transformer class of your own, and register that"
        )

    configuration = encode

    def decode(self, made: Any, saved: dict[str, Any], location: Location) -> Any:
        return self.encode(made, location)


register_base(CountLearner, _Learner())
register_codec(compose.Pipeline, _Pipeline("steps"))
register_codec(compose.TransformerUnion, _Steps("transformers"))
register_codec(compose.TransformerProduct, _Steps("transformers"))
register_codec(compose.FuncTransformer, _Function())
register_codec(DecidingClassifier, _Deciding())
register_codec(PredictionSets, _Sets())
