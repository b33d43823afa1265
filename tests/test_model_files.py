"""Saving a model to a file and loading it: every learner, pipelines, filters; keys; what is refused."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from river import compose, linear_model, preprocessing

import stream_bayes
from stream_bayes import AODE, BayesNet, DriftAdaptive, GaussianNB, NaiveBayes, SlidingWindow
from stream_bayes.errors import (
    BadSnapshot,
    BadState,
    CannotSave,
    NoSnapshot,
    NotSupported,
    OtherConfiguration,
    SnapshotNotWritten,
)
from stream_bayes.learners.base.state import CountLearner
from stream_bayes.mail import SpamFilter
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.testing import learners

KEY = b"sixteen or more bytes"
WEATHER = [({"sky": "grey", "wind": 3.5}, "rain"), ({"sky": "blue", "wind": 1.0}, "dry")] * 3


def taught(model: Any) -> Any:
    for x, y in WEATHER:
        model.learn_one(x, y)
    return model


def scaled() -> Any:
    return (compose.Select("wind") | preprocessing.StandardScaler()) | GaussianNB()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.zip"


@pytest.mark.parametrize("name", sorted({name.partition("(")[0]: name for name in learners()}.values()))
def test_every_public_learner_is_loaded_from_its_file_alone(name: str, path: Path) -> None:
    model = learners()[name]
    stream_bayes.save(model, path)
    loaded = stream_bayes.load(path)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)


def test_a_loaded_learner_answers_and_learns_as_the_saved_one(path: Path) -> None:
    model = taught(AODE(min_count=1.0))
    stream_bayes.save(model, path)
    loaded = stream_bayes.load(path)
    for x, y in WEATHER:
        assert loaded.predict_learn_one(x, y) == model.predict_learn_one(x, y)


def test_a_network_is_saved_too(path: Path) -> None:
    model = BayesNet({"rain": [], "wet": ["rain"]})
    model.learn_one({"rain": True, "wet": True})
    stream_bayes.save(model, path)
    model_again = stream_bayes.load(path)
    assert type(model_again) is BayesNet
    assert model_again.clock == model.clock == 1
    assert repr(model_again.state()) == repr(model.state())


def test_a_spam_filter_is_saved_too_and_its_key_is_not(path: Path) -> None:
    model = SpamFilter(key=KEY)
    model.learn_one({"free": 1}, "spam")
    stream_bayes.save(model, path)
    assert KEY not in path.read_bytes()
    loaded = stream_bayes.load(path, SpamFilter(key=KEY))
    assert loaded.predict_proba_one({"free": 1}) == model.predict_proba_one({"free": 1})
    with pytest.raises(BadState):
        stream_bayes.load(path)


@pytest.mark.parametrize(
    "make", [scaled, lambda: DriftAdaptive(NaiveBayes()), lambda: linear_pipeline(), lambda: NaiveBayes()]
)
def test_a_model_is_loaded_into_one_that_is_made_alike(make: Callable[[], Any], path: Path) -> None:
    model, other = taught(make()), make()
    stream_bayes.save(model, path)
    loaded = stream_bayes.load(path, other)
    x = {"sky": "grey", "wind": 2.0}
    assert loaded.predict_proba_one(x) == model.predict_proba_one(x)
    assert other.predict_proba_one(x) == make().predict_proba_one(x)


def linear_pipeline() -> Any:
    return preprocessing.OneHotEncoder() | NaiveBayes()


def test_a_pipeline_is_not_made_from_its_file_alone(path: Path) -> None:
    stream_bayes.save(taught(scaled()), path)
    with pytest.raises(NotSupported, match="pass a model"):
        stream_bayes.load(path)


@pytest.mark.parametrize(
    ("saved", "given"),
    [
        (NaiveBayes(), NaiveBayes(strength=0.5)),
        (NaiveBayes(), AODE()),
        (SlidingWindow(NaiveBayes(), 5), NaiveBayes()),
        (SpamFilter(), SpamFilter(max_tokens=1000)),
        (scaled(), scaled()["StandardScaler"] | GaussianNB()),
    ],
)
def test_a_model_that_is_made_otherwise_is_refused(saved: Any, given: Any, path: Path) -> None:
    stream_bayes.save(saved, path)
    with pytest.raises(OtherConfiguration):
        stream_bayes.load(path, given)


def test_what_a_file_cannot_hold_is_refused_and_the_file_stays(path: Path) -> None:
    stream_bayes.save(taught(NaiveBayes()), path)
    before = path.read_bytes()
    for model in (compose.FuncTransformer(lambda x: x) | NaiveBayes(), linear_model.LogisticRegression()):
        with pytest.raises(CannotSave):
            stream_bayes.save(model, path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_signed_file_needs_its_key(path: Path) -> None:
    stream_bayes.save(taught(NaiveBayes()), path, key=KEY)
    assert stream_bayes.load(path, key=KEY).clock == len(WEATHER)
    for key in (None, KEY[::-1]):
        with pytest.raises(BadSnapshot, match=str(path)):
            stream_bayes.load(path, key=key)


def test_a_file_that_is_altered_or_absent_or_of_something_else_is_refused(path: Path) -> None:
    with pytest.raises(NoSnapshot):
        stream_bayes.load(path)
    stream_bayes.save(taught(NaiveBayes()), path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BadSnapshot, match=str(path)):
        stream_bayes.load(path)
    path.write_bytes(Snapshot(learner="Counter", sections={"metrics": {"seen": 1}}).to_bytes())
    with pytest.raises(BadSnapshot, match="holds no model"):
        stream_bayes.load(path)


def test_the_newest_snapshot_of_a_directory_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(NoSnapshot):
        stream_bayes.load(tmp_path)
    store = SnapshotStore(tmp_path, key=KEY)
    store.take_over()
    for model in (NaiveBayes(), taught(NaiveBayes())):
        store.save(Snapshot(learner="NaiveBayes", sections={"model": model.state()}))
    assert stream_bayes.load(tmp_path, key=KEY).clock == len(WEATHER)


def test_a_file_is_for_its_owner_alone_and_replaced_in_one_step(path: Path) -> None:
    stream_bayes.save(NaiveBayes(), path)
    stream_bayes.save(taught(NaiveBayes()), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]
    assert stream_bayes.load(path).clock == len(WEATHER)


def test_a_disk_that_refuses_a_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotWritten, match=r"model\.zip"):
        stream_bayes.save(NaiveBayes(), tmp_path / "absent" / "model.zip")


@pytest.mark.parametrize(
    "make", [NaiveBayes, stream_bayes.AdaptiveBayes, lambda: DriftAdaptive(NaiveBayes()), scaled]
)
def test_what_cannot_be_loaded_again_is_not_saved(
    make: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, model = tmp_path / "model.zip", taught(make())
    stream_bayes.save(model, file)
    before = file.read_bytes()
    model.learn_one({"wind": 2.0}, "dry")

    def refuse(cls: Any, state: Any) -> Any:
        raise BadState("it lacks something")

    monkeypatch.setattr(CountLearner, "from_state", classmethod(refuse))
    with pytest.raises(CannotSave, match=r"could not be loaded again.*it lacks something"):
        stream_bayes.save(model, file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model.zip"]


def test_a_saved_model_says_how_many_events_it_has_learned(tmp_path: Path) -> None:
    for make in (NaiveBayes, stream_bayes.AdaptiveBayes, lambda: DriftAdaptive(NaiveBayes()), scaled):
        stream_bayes.save(taught(make()), tmp_path / "model.zip")
        assert Snapshot.from_bytes((tmp_path / "model.zip").read_bytes()).clock == len(WEATHER)


def test_a_learner_that_is_part_of_a_window_is_saved_with_its_window_alone(tmp_path: Path) -> None:
    window = taught(SlidingWindow(NaiveBayes(), 3))
    with pytest.raises(CannotSave, match="save the window"):
        stream_bayes.save(window.learner, tmp_path / "model.zip")
    stream_bayes.save(window, tmp_path / "model.zip")
