"""Models that an earlier version saved: they load for ever, answer as they did, and are saved as they were.

The file was written once, by `write`; it is never written anew, only joined by files of later formats.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from river import compose, drift, metrics, preprocessing, stats, utils

from stream_bayes import NaiveBayes, Nominal, Numeric, Schema, Thresholds
from stream_bayes.core.events.event import Partition
from stream_bayes.learners.wrappers.deciding_classifier import DecidingClassifier
from stream_bayes.saving.river.model_state import configuration_digest, fix_order, model_state, restore_model
from stream_bayes.saving.snapshots.snapshot import Snapshot

GOLDEN = Path(__file__).parents[2] / "golden" / "snapshot-1-models.zip"

SCHEMA = Schema({"sky": Nominal(["grey", "blå"]), "heat": Numeric()}, target="weather")
EVENTS: list[tuple[dict[Any, Any], Any, float]] = [
    ({"sky": "grey", "heat": 12.5, "wind": True}, "rain", 1.0),
    ({"sky": "blå", "heat": 25.25, ("a", 1): b"\xff"}, "sun", 2.0),
    ({"sky": "grey", "heat": 20.0}, "sun", 0.5),
    ({"sky": "violet\n", "heat": -3.75, "wind": False}, "rain", 1.0),
    ({"heat": 30.0, "wind": None}, ("storm", 9), 1.5),
]

# As they were when the file was written.
EXPECTED: dict[str, Any] = {
    "learner": {"rain": 0.999491183256695, "sun": 0.0005088167433050696, ("storm", 9): 0.0},
    "declared": {"rain": 0.9993076232037152, "sun": 0.0006923767962847105, ("storm", 9): 0.0},
    "pipeline": {"rain": 0.6031751893745195, "sun": 0.3968248106254806},
    "metrics": [0.8888888888888888, 0.45751633986928103, 1.0],
    "detector": 2.8666666666666667,
    "statistic": 10.997771400257632,
}

PROBE = {"sky": "grey", "heat": 15.0, "wind": True}


def blank() -> dict[str, Any]:
    """Models with something of everything, before they learn."""
    scaled = compose.SelectType(float) | preprocessing.StandardScaler()
    numbers_scaled = compose.TransformerUnion(compose.SelectType(str), scaled)
    deciding = DecidingClassifier(NaiveBayes(predictive="plug-in"), Thresholds(0.6))
    made: dict[str, Any] = {
        "learner": NaiveBayes(predictive="plug-in"),
        "declared": NaiveBayes(predictive="plug-in", schema=SCHEMA, half_life=50.0),
        "pipeline": compose.Select("sky", "heat") | numbers_scaled | deciding,
        "metrics": metrics.base.Metrics(
            [metrics.Accuracy(), metrics.MacroF1(), utils.Rolling(metrics.CohenKappa, window_size=3)]
        ),
        "detector": drift.ADWIN(),
        "statistic": stats.Quantile(0.25),
    }
    for one in made.values():
        fix_order(one)
    return made


def write() -> None:
    """Write the file. For a new format only, under a new name."""
    models = blank()
    for number, (x, y, w) in enumerate(EVENTS * 9):
        for name in ("learner", "declared"):
            models[name].learn_one(
                {key: x[key] for key in x if name == "learner" or key in SCHEMA.features}, y, w=w
            )
        if "sky" in x:
            models["metrics"].update(y, models["pipeline"].predict_one(x))
            models["pipeline"].learn_one(x, y)
        models["detector"].update(number % 7)
        models["statistic"].update(x["heat"])
    snapshot = Snapshot(
        learner="NaiveBayes",
        sections={name: model_state(model) for name, model in models.items()},
        configuration=configuration_digest(models["pipeline"]),
        positions={Partition("log"): 45},
        clock=45,
        package="0.1.0",
    )
    GOLDEN.write_bytes(snapshot.to_bytes())


@pytest.fixture
def loaded() -> dict[str, Any]:
    sections = Snapshot.from_bytes(GOLDEN.read_bytes()).sections
    return {name: restore_model(model, sections[name]) for name, model in blank().items()}


def test_what_was_saved_once_is_saved_the_same_today(loaded: dict[str, Any]) -> None:
    file = GOLDEN.read_bytes()
    snapshot = Snapshot.from_bytes(file)
    river = {"river": "0.26.1"}  # which wrote the file; the one that is installed may be another
    sections = {name: model_state(model) | river for name, model in loaded.items()}
    again = Snapshot(
        sections=sections,
        **{
            key: getattr(snapshot, key)
            for key in ("learner", "configuration", "positions", "clock", "package")
        },
    )
    assert again.to_bytes() == file
    assert snapshot.configuration == configuration_digest(loaded["pipeline"])


def test_what_was_saved_once_answers_as_it_did(loaded: dict[str, Any]) -> None:
    assert loaded["learner"].predict_proba_one(PROBE) == pytest.approx(EXPECTED["learner"], rel=1e-9)
    declared = {"sky": "grey", "heat": 15.0}
    assert loaded["declared"].predict_proba_one(declared) == pytest.approx(EXPECTED["declared"], rel=1e-9)
    assert loaded["pipeline"].predict_proba_one(declared) == pytest.approx(EXPECTED["pipeline"], rel=1e-9)
    assert loaded["metrics"].get() == pytest.approx(EXPECTED["metrics"], rel=1e-9)
    assert loaded["detector"].estimation == pytest.approx(EXPECTED["detector"], rel=1e-9)
    assert loaded["statistic"].get() == pytest.approx(EXPECTED["statistic"], rel=1e-9)
    loaded["learner"].learn_one(PROBE, "rain")
    assert loaded["learner"].clock == 46
