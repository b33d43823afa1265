"""Every learner of the catalogue, in the settings that differ in how they work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.binning import Binning
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.catalogue import LEARNERS, REGRESSION, REGRESSORS, declaration_of
from stream_bayes.learners.factory import make_learner, make_regressor

__all__ = ["learners", "regressors"]

OPEN = Schema({"colour": ["red", "green"], "mixed": Nominal([1, "1", (True, 2.5)]), "size": Numeric()})
CLOSED = Schema(
    {"colour": Nominal(["red", "green", "blue"], closed=True), "heat": Numeric()},
    classes=["cold", "mild", "hot", "never met"],
    target="weather",
    unknown="refuse",
)
MEASURED = Schema({"size": Numeric(), "heat": Numeric()}, classes=[0, 1, 2, 3])
WORDS = Schema(
    {word: Numeric() for word in ("free", "pills", "lunch", "notes", "straße")},
    classes=["spam", "ham", "other"],
)
PAIRED = Schema({"colour": ["red", "green"], "mixed": Nominal([1, "1", (True, 2.5)]), "wet": Nominal()})
CUT = Schema({"wet": Nominal(), "size": Numeric(cuts=[0.0, 1.5]), "heat": Numeric(cuts=[2.0])})
SCHEMAS = {  # by the names that the catalogue's settings use
    "open": OPEN,
    "closed": CLOSED,
    "measured": MEASURED,
    "words": WORDS,
    "paired": PAIRED,
    "cut": CUT,
}


def settings_of(name: str) -> list[dict[str, Any]]:
    """Return the settings to check the laws on, of a learner of the catalogue by its name.

    Examples
    --------
    >>> settings_of("adaptive"), settings_of("bernoulli-nb")[-1]
    ([{}], {'true_threshold': 1})
    """
    declared = declaration_of(name)
    if declared.settings is not None:
        return [dict(settings) for settings in declared.settings]
    own: Any = getattr(
        LEARNERS[name], "_unit_test_params", None
    )  # River's hook; of its own classes it yields {}
    return [dict(declared.example)] if declared.example or own is None else [dict(each) for each in own()]


def made(name: str, settings: Mapping[str, Any]) -> Any:
    """Return a new learner by its name in the catalogue, in a setting of its declaration."""
    schema = settings.get("schema")
    arguments = {argument: value for argument, value in settings.items() if argument != "schema"}
    make = make_regressor if declaration_of(name).task == REGRESSION else make_learner
    return make(name, arguments, None if schema is None else SCHEMAS[schema])


def counting_learners() -> dict[str, type[BayesClassifier]]:
    """Return the classes of the catalogue that obey laws: those over one store of counts."""
    return {name: kind for name, kind in LEARNERS.items() if issubclass(kind, BayesClassifier)}


def regressors() -> dict[str, BayesRegressor]:
    """Return every public regressor, new, in each setting worth testing, by a name with the setting.

    Examples
    --------
    >>> list(regressors())[:2]
    ['AdaptiveRegression', 'AdaptiveRegression(lags=0)']
    """
    return {
        label_of(name, settings): made(name, settings)
        for name in REGRESSORS
        for settings in settings_of(name)
    }


def learners() -> dict[str, BayesClassifier]:
    """Return every public learner that obeys laws, new, in each setting worth testing, by a name with the setting.

    Examples
    --------
    >>> list(learners())[:3]
    ['NaiveBayes', 'NaiveBayes(prior=m-estimate, strength=0.5)', 'NaiveBayes(strength=0.0)']
    """
    return {
        label_of(name, settings): made(name, settings)
        for name in counting_learners()
        for settings in settings_of(name)
    }


def label_of(name: str, settings: Mapping[str, Any]) -> str:
    """Return a setting of a learner as a test shows it.

    Examples
    --------
    >>> label_of("tan", {"root": "wet", "schema": "cut"}), label_of("sliding-window", {"learner": "nb", "size": 12})
    ('TAN(root=wet, schema=declared)', 'SlidingWindow(learner=NaiveBayes, size=12)')
    """
    shown = ", ".join(f"{argument}={_shown(argument, value)}" for argument, value in settings.items())
    kind = declaration_of(name).class_name
    return f"{kind}({shown})" if shown else kind


def _shown(argument: str, value: Any) -> str:
    if argument == "schema":
        return "closed" if value == "closed" else "declared"
    if argument == "learner":
        return label_of(value, {}) if isinstance(value, str) else label_of(value["kind"], value["arguments"])
    if argument in ("binning", "numbers") and isinstance(value, Mapping):
        return str(Binning.from_json(value))
    return "given" if isinstance(value, Mapping) else str(value)
