"""Saving a model to a file and loading it again, without pickle.

The file is a snapshot (see `saving.snapshots.snapshot`): a zip of numbers and JSON that is checked byte for byte when
it is read, so a file from a stranger cannot run code. It names a class, never anything to import. Snapshots that a
pipeline takes are loaded in the same way, and `stream-bayes explain` and `run --warm-start` read what `save` writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from stream_bayes.core.measures.coverage_control import LabelSets, saved_sets
from stream_bayes.core.values.checks import refusing_bad_state
from stream_bayes.data.schema import Schema
from stream_bayes.errors import (
    BadSnapshot,
    BadState,
    CannotSave,
    NoSnapshot,
    NotSupported,
    OtherConfiguration,
    StreamBayesError,
)
from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.learners.base.base import BayesClassifier, is_within_window
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.base.state import loaded_parameter, saved_parameter
from stream_bayes.learners.catalogue import DECLARED, SEVERAL_LABELS, UNLABELLED, class_named
from stream_bayes.learners.factory import Learner
from stream_bayes.learners.wrappers.half_life_choice import HalfLifeChoice
from stream_bayes.learners.wrappers.model_per_key import ModelPerKey
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier
from stream_bayes.registry import Registry
from stream_bayes.saving.model_snapshot import SECTION, has_own_state, snapshot_of
from stream_bayes.saving.snapshots.single_file import read_snapshot, write_snapshot
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore

__all__ = [
    "SETS",
    "load",
    "load_answering",
    "load_beside",
    "load_learner",
    "load_network",
    "load_sets",
    "restored",
    "save",
    "save_with",
]

SETS = "sets"  # the section of the thresholds, as in the snapshots of pipelines


def save(model: Any, path: str | os.PathLike[str], *, key: bytes | None = None) -> None:
    """Save a model to a file, readable by its owner only. A file of that name is replaced in one step.

    Parameters
    ----------
    model
        A learner of this package, a `SpamFilter`, or a River pipeline, transformer or metric whose classes are
        registered (see `stream_bayes.saving.river`).
    path
        The file, such as `"model.zip"`.
    key
        A secret of at least 16 bytes to sign the file with. `load` then needs it and refuses altered files.

    Raises
    ------
    CannotSave
        If a part of the model cannot be saved, such as a function in a pipeline; the message names it. The file is read
        back and the model loaded from it before it takes the place of an older one.
    SnapshotNotWritten
        If the disk refuses the file, or the model is too large for one.

    Examples
    --------
    >>> import stream_bayes
    >>> from tempfile import TemporaryDirectory
    >>> model = stream_bayes.NaiveBayes()
    >>> model.learn_one({"sky": "grey"}, "rain")
    >>> with TemporaryDirectory() as directory:
    ...     stream_bayes.save(model, f"{directory}/model.zip")
    ...     stream_bayes.load(f"{directory}/model.zip").predict_one({"sky": "grey"})
    'rain'
    """
    _save(model, path, key, {})


def save_with(model: Any, beside: Mapping[str, Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Save a model to a file, as `save` does, and states of what belongs to it beside it, such as `SETS`."""
    _save(model, path, None, beside)


def load_beside(path: Path, name: str, key: bytes | None = None) -> Mapping[str, Any] | None:
    """Return a state that was saved beside a model; None if there is none of this name."""
    return _snapshot_at(path, key).sections.get(name)


def _save(model: Any, path: str | os.PathLike[str], key: bytes | None, beside: Mapping[str, Any]) -> None:
    check_is_whole(model)
    snapshot = snapshot_of(model, beside=beside)
    write_snapshot(Path(path), snapshot, key, check=lambda read: _check_loads(model, read))


def _check_loads(model: Any, snapshot: Snapshot) -> None:
    """Raise `CannotSave` if a snapshot of a model, read back from its file, cannot be loaded."""
    state = snapshot.sections[SECTION]
    try:
        if has_own_state(model):
            type(model).from_state(state, *([model.key] if _is_of_a_product(model) else []))
        elif restored(snapshot.learner, state) is None:
            from stream_bayes.saving.river.model_state import restore_model

            restore_model(model.clone(), state)
    except (BadState, OtherConfiguration) as error:
        raise CannotSave(
            f"the {snapshot.learner} was not saved, as it could not be loaded again: {error}; "
            "this is a fault of stream_bayes, please report it"
        ) from error


def check_is_whole(model: Any) -> None:
    """Raise `CannotSave` for a learner that a window was made around: without the window it cannot be loaded."""
    if issubclass(type(model), BayesClassifier) and is_within_window(model):
        raise CannotSave(
            f"the {type(model).__name__} is part of a SlidingWindow, which holds its events; save the window"
        )


def load(path: str | os.PathLike[str], model: Any = None, *, key: bytes | None = None) -> Any:
    """Return the model that was saved to a file, or the model in a snapshot of a pipeline.

    Parameters
    ----------
    path
        A file that `save` or `stream-bayes snapshot export` wrote, or a pipeline's directory of snapshots, of which
        the newest sound one is read.
    model
        A model constructed with the same arguments as the saved one. It stays unchanged; the result is a new model with
        the saved state. Learners of this package and `SpamFilter` do not need it, except a filter with hashed tokens,
        for its key. Other objects of River need it, because a file never names classes to import.
    key
        The key that the file is signed with.

    Raises
    ------
    NoSnapshot
        If there is no such file.
    BadState
        If the file is not a saved model, is broken, or its signature does not match.
    OtherConfiguration
        If `model` has other settings than the saved one; the message names the parameter.
    NotSupported
        If the saved model needs `model`, and it is not given.

    Examples
    --------
    >>> import stream_bayes
    >>> from river import preprocessing
    >>> from tempfile import TemporaryDirectory
    >>> def make():
    ...     return preprocessing.StandardScaler() | stream_bayes.GaussianNB()
    >>> model = make()
    >>> for height, label in [(1.5, "short"), (1.9, "tall"), (1.6, "short"), (2.0, "tall")]:
    ...     model.learn_one({"height": height}, label)
    >>> with TemporaryDirectory() as directory:
    ...     stream_bayes.save(model, f"{directory}/model.zip", key=b"sixteen or more bytes")
    ...     loaded = stream_bayes.load(f"{directory}/model.zip", make(), key=b"sixteen or more bytes")
    >>> loaded.predict_one({"height": 1.55})
    'short'
    """
    snapshot = _snapshot_at(Path(path), key)
    state = _model_section(snapshot, path)
    if model is None:
        loaded = restored(snapshot.learner, state)
        if loaded is None:
            raise NotSupported(
                f"{path} holds a {snapshot.learner}; pass a model that was made as the saved one was: "
                f"stream_bayes.load({str(path)!r}, model)"
            )
        return loaded
    if not has_own_state(model):
        from stream_bayes.saving.river.model_state import restore_model

        return restore_model(model, state)
    if snapshot.learner != type(model).__name__:
        raise OtherConfiguration(f"{path} holds a {snapshot.learner}, not a {type(model).__name__}")
    loaded = type(model).from_state(state, *([model.key] if _is_of_a_product(model) else []))
    _compare(_parameters(loaded), _parameters(model), path)
    return loaded


def restored(name: str, state: Mapping[str, Any], key: bytes | None = None) -> Any:
    """Return the model of a class of this package from its state; None for a class that `load` needs a model for.
    `name` is that of the class, as a snapshot holds it; `key` that of a filter's hashed tokens.

    Raises
    ------
    BadState
        If the state is not valid.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> restored("NaiveBayes", NaiveBayes().state()).clock, restored("Pipeline", {})
    (0, None)
    """
    if name in _FROM_PARAMETERS:
        return _from_parameters(name, state)
    if name in STATES:
        return STATES[name].from_state(state, key)
    kind = class_named(name)
    return None if kind is None else kind.from_state(state)


def load_learner(path: Path, key: bytes | None = None) -> Learner:
    """Return the classifier in a file or directory; of a `DriftAdaptive`, its present model.

    Raises
    ------
    NotSupported
        If the snapshot holds no classifier of this package.
    """
    model = load_answering(path, key)
    if _is_of_a_product(model) or isinstance(model, BayesNet | BayesRegressor):
        raise _no_learner(path, type(model).__name__)
    return model


def load_sets(path: Path, level: float, key: bytes | None = None) -> LabelSets:
    """Return the thresholds of sets of labels in a file or directory, of one level of coverage.

    Raises
    ------
    NotSupported
        If it holds none of this level.
    """
    saved = _snapshot_at(path, key).sections.get(SETS)
    kept = saved_sets(saved)
    if saved is None or kept is None or level not in kept.levels:
        levels = (
            "no sets of labels"
            if kept is None
            else f"sets of the coverage {', '.join(map(str, kept.levels))}"
        )
        raise NotSupported(
            f"{path} holds {levels}: their thresholds are learned with the model, by `train --coverage {level}`, or in "
            f"a pipeline with coverage = {level} under [model]"
        )
    sets = LabelSets((level,), kept.by_class)
    sets.load(saved)
    return sets


def load_network(path: Path, key: bytes | None = None) -> BayesNet | BayesNetClassifier:
    """Return the network in a file or directory; of a `DriftAdaptive`, its present model.

    Raises
    ------
    NotSupported
        If the snapshot holds no network.
    """
    model = load_answering(path, key)
    if not isinstance(model, BayesNet | BayesNetClassifier):
        raise NotSupported(
            f"{path}: expected a network, as BayesNet or BayesNetClassifier, got a {type(model).__name__}"
        )
    return model


def load_answering(path: Path, key: bytes | None = None) -> Any:
    """Return the model in a file or directory, of a `DriftAdaptive` its present one: a learner, network or spam filter.

    Raises
    ------
    NotSupported
        If the snapshot holds none of these, or a filter whose tokens are hashed.
    """
    from stream_bayes.saving.river.drift_logs import answering_state

    snapshot = _snapshot_at(path, key)
    state = _model_section(snapshot, path)
    answering = answering_state(state)
    name, state = (snapshot.learner, state) if answering is None else (str(answering["learner"]), answering)
    model = restored(name, state)
    is_known = name in SEVERAL_LABELS or _is_of_a_product(model)
    if not (is_known or isinstance(model, Learner | BayesNet | BayesRegressor)):
        raise _no_learner(path, name)
    return model


def _no_learner(path: Path, name: str) -> NotSupported:
    expected = f"expected one of {', '.join(declared.class_name for declared in DECLARED.values())}"
    if name in UNLABELLED:
        return NotSupported(f"{path} holds a {name}, which is a model without a class; {expected}")
    return NotSupported(f"{path} holds a {name}, which only the program that made it can load; {expected}")


def _adaptive_bayes(state: Mapping[str, Any]) -> AdaptiveBayes:
    """Return a new `AdaptiveBayes`, made with the arguments in a state."""
    arguments = _made_parameters(state["model"]["parameters"])
    schema = arguments.pop("schema")
    return AdaptiveBayes(**arguments, schema=None if schema is None else Schema.from_json(schema))


def _around_learner(made_around: type[Any], state: Mapping[str, Any]) -> Any:
    """Return a new model of a class around a learner, both made with the arguments in a state."""
    parameters = dict(state["model"]["parameters"])
    template = parameters.pop("learner")["object"]
    arguments = {name: loaded_parameter(value) for name, value in template["state"]["parameters"].items()}
    made = class_named(template["class"])
    if made is None:
        raise BadState(f"a learner {template['class']!r} within a {made_around.__name__} is not known")
    return made_around(made(**arguments), **_made_parameters(parameters))


def _made_parameters(saved: Mapping[str, Any]) -> dict[str, Any]:
    from stream_bayes.saving.river.parameters import made_parameter

    return {name: made_parameter(value) for name, value in saved.items()}


def _from_parameters(name: str, state: Mapping[str, Any]) -> Any:
    """Return the model of a state, of a class that is made with the arguments in it."""
    from stream_bayes.saving.river.model_state import restore_model

    with refusing_bad_state():
        try:
            model = _FROM_PARAMETERS[name](state)
        except (TypeError, StreamBayesError) as error:
            raise BadState(f"the state's parameters do not make a {name}: {error}") from error
    return restore_model(model, state)


# The classes that are made with the arguments in a state, and then restored.
_FROM_PARAMETERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    AdaptiveBayes.__name__: _adaptive_bayes,
    HalfLifeChoice.__name__: partial(_around_learner, HalfLifeChoice),
    ModelPerKey.__name__: partial(_around_learner, ModelPerKey),
}


# The classes of products' models, by name: `from_state` takes a state and the key of hashed tokens, if any.
STATES: Registry[Any] = Registry("class of models", "states")


def _is_of_a_product(model: Any) -> bool:
    return any(base.__name__ in STATES and STATES[base.__name__] is base for base in type(model).__mro__)


def _snapshot_at(path: Path, key: bytes | None) -> Snapshot:
    if not path.is_dir():
        return read_snapshot(path, key)
    newest = SnapshotStore(path, key=key).latest()
    if newest is None:
        raise NoSnapshot(f"there are no snapshots in {path}")
    return newest.snapshot


def _model_section(snapshot: Snapshot, path: object) -> Mapping[str, Any]:
    if SECTION not in snapshot.sections:
        raise BadSnapshot(f"{path} holds no model, but {sorted(snapshot.sections)}")
    return snapshot.sections[SECTION]


def _parameters(model: Any) -> dict[str, Any]:
    if _is_of_a_product(model):
        return model.settings()
    return {name: saved_parameter(value) for name, value in model._get_params().items()}


def _compare(saved: Mapping[str, Any], arguments: Mapping[str, Any], path: object) -> None:
    others = [
        f"{name}={saved[name]!r}, not {arguments[name]!r}"
        for name in arguments
        if saved[name] != arguments[name]
    ]
    if others:
        raise OtherConfiguration(f"{path} holds a model with other arguments: {', '.join(others)}")
