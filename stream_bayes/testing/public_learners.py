"""Every public learner of the package, in the settings that differ in how they work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.binning import Binning
from stream_bayes.learners.classifiers.discriminant import LDA, QDA
from stream_bayes.learners.classifiers.kdb import KDB
from stream_bayes.learners.classifiers.live_choice import LiveChoice
from stream_bayes.learners.classifiers.naive_bayes import GaussianNB, NaiveBayes
from stream_bayes.learners.classifiers.one_dependence import A2DE, AODE, SPODE
from stream_bayes.learners.classifiers.text import BernoulliNB, ComplementNB, MultinomialNB
from stream_bayes.learners.classifiers.trees import ODE, TAN
from stream_bayes.learners.wrappers.sliding_window import SlidingWindow
from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier

__all__ = ["learners"]

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
GIVEN = {"spam": 0.25, "ham": 0.5, "never met": 0.25}

PAIRED = Schema({"colour": ["red", "green"], "mixed": Nominal([1, "1", (True, 2.5)]), "wet": Nominal()})
CUT = Schema({"wet": Nominal(), "size": Numeric(cuts=[0.0, 1.5]), "heat": Numeric(cuts=[2.0])})
# What every learner over pairs takes; they share a store and an encoder, and one goes through all of it.
PAIRS: list[dict[str, Any]] = [
    {"prior": "laplace", "strength": 0.5},
    {"strength": 0.0},
    {"class_prior": GIVEN},
    {"half_life": 50.0},
    {"max_values": 3},
    {"schema": PAIRED},
    {"schema": CUT},
    {"binning": Binning("mdl", bins=4, window=40)},
    {"binning": None},
]
SOME_PAIRS: list[dict[str, Any]] = [
    {},
    {"prior": "laplace", "strength": 0.0, "class_prior": GIVEN},
    {"half_life": 50.0, "max_values": 3},
]

# The class has a parent of one kind and children of all, some of which have further parents.
DEPENDENT = {
    "class": ["wet"],
    "wet": [],
    "colour": ["class", "wet"],
    "size": ["class"],
    "größe": ["class", "wet"],
}
OF_PAIRED = {"class": [], "wet": ["class"], "colour": ["class", "wet"], "mixed": ["class", "colour", "wet"]}
OF_CUT = {"class": [], "wet": ["class"], "size": ["class", "wet"], "heat": ["class", "size"]}

SETTINGS: dict[type[BayesClassifier], list[dict[str, Any]]] = {
    NaiveBayes: [
        {},
        {"prior": "m-estimate", "strength": 0.5},
        {"strength": 0.0},
        {"class_prior": "uniform"},
        {"class_prior": GIVEN},
        {"half_life": 20.0},
        {"variance": "classes"},
        {"variance": "features", "variance_floor": 1e-3},
        {"variance": "both"},
        {"predictive": "plug-in"},
        {"predictive": "plug-in", "variance": "classes", "ddof": 0.0},
        {"predictive": "plug-in", "variance": "features", "variance_floor": 1e-3, "half_life": 20.0},
        {"numbers": "bins"},
        {"numbers": Binning("mdl", bins=4, window=40), "half_life": 50.0},
        {"max_values": 3},
        {"schema": OPEN},
        {"schema": CLOSED, "prior": "m-estimate"},
        {"schema": CLOSED, "half_life": 50.0, "strength": 0.0},
    ],
    GaussianNB: [
        {},
        {"strength": 1.0, "class_prior": "uniform"},
        {"variance": "classes", "half_life": 20.0},
        {"variance": "both", "class_prior": GIVEN},
        {"predictive": "plug-in"},
        {"schema": MEASURED},
    ],
    LDA: [
        {},
        {"shrinkage": 0.25, "class_prior": GIVEN},
        {"half_life": 50.0, "max_values": 3},
        {"schema": MEASURED, "shrinkage": 0.0},
        {"schema": OPEN, "ddof": 1.0, "strength": 0.0},
    ],
    QDA: [
        {},
        {"shrinkage": 0.5, "half_life": 20.0},
        {"schema": CLOSED, "prior": "m-estimate"},
        {"schema": MEASURED, "class_prior": "uniform"},
    ],
    AODE: [
        *({"min_count": 1.0} | settings for settings in PAIRS),
        {},
        {"subsumption": 3.0, "min_count": 2.0},
        {"subsumption": 3.0, "min_count": 2.0, "half_life": 30.0},
        {"weights": "mutual-information", "min_count": 1.0},
    ],
    A2DE: [*SOME_PAIRS, {"schema": CUT}, {"subsumption": 3.0, "min_count": 2.0}],
    SPODE: [*SOME_PAIRS, {"schema": PAIRED}, {"parent": "colour"}, {"loss_half_life": None}],
    ODE: [{"parents": {"wet": "colour", "größe": "wet"}} | settings for settings in SOME_PAIRS],
    TAN: [*SOME_PAIRS, {"schema": CUT}, {"root": "wet", "every": 5}],
    KDB: [
        *SOME_PAIRS,
        {"schema": PAIRED},
        {"k": 0},
        {"every": 5},
        *({"k": 2, "window": 500} | settings for settings in PAIRS),
        {"k": 2},
        {"k": 3, "every": 7, "window": 100},
        {"k": 3, "half_life": 20.0, "every": 10},
    ],
    LiveChoice: [
        *SOME_PAIRS,
        {"schema": CUT},
        {"combine": "best"},
        {"combine": "best", "readings": ("tan", "aode"), "loss_half_life": None},
        {"readings": ("spode", "nb")},
        {"readings": ("a2de", "tan", "aode")},
        {"readings": ("weighted", "gaussian", "lda", "aode")},
        {"readings": ("weighted", "gaussian", "qda"), "schema": CUT, "half_life": 30.0},
        {"readings": ("kdb3", "nb", "lda")},
    ],
    BayesNetClassifier: [
        *({"structure": None} | settings for settings in SOME_PAIRS),
        {"structure": None, "schema": CUT},
        {"window": 150},
        {"schema": CUT, "half_life": 50.0, "class_prior": GIVEN},
        {"structure": DEPENDENT},
        {"structure": DEPENDENT, "strength": 0.0},
        {"structure": DEPENDENT, "half_life": 50.0, "max_values": 3},
        {"structure": OF_PAIRED, "schema": PAIRED, "prior": "laplace"},
        {"structure": OF_CUT, "schema": CUT, "class_prior": GIVEN},
    ],
    **{
        kind: [
            {},
            {"alpha": 0.0},
            {"alpha": 0.1, "class_prior": "counted"},
            {"class_prior": GIVEN},
            {"half_life": 20.0},
            {"max_values": 5},
            {"schema": WORDS},
        ]
        for kind in (MultinomialNB, ComplementNB, BernoulliNB)
    },
}

# What is put behind a window, and its size: less than the laws teach, or more.
SLIDING: list[tuple[type[BayesClassifier], dict[str, Any], int]] = [
    (NaiveBayes, {}, 12),
    (NaiveBayes, {}, 1000),
    (NaiveBayes, {"half_life": 20.0, "prior": "m-estimate"}, 25),
    (NaiveBayes, {"schema": CLOSED}, 1),
    (GaussianNB, {"variance": "both"}, 25),
    (AODE, {"min_count": 1.0}, 25),
    (AODE, {"schema": CUT, "half_life": 50.0}, 25),
    (A2DE, {"schema": CUT}, 25),
    (SPODE, {"max_values": 3}, 25),
    (TAN, {}, 25),
    (KDB, {"k": 2}, 25),
    (KDB, {"k": 2, "schema": CUT}, 1000),
    (LiveChoice, {}, 25),
    (LiveChoice, {"readings": ("weighted", "gaussian", "lda"), "combine": "best"}, 25),
    (BayesNetClassifier, {"structure": DEPENDENT}, 25),
    (BayesNetClassifier, {"window": 80}, 80),
    (BayesNetClassifier, {"structure": OF_CUT, "schema": CUT}, 25),
]


def learners() -> dict[str, BayesClassifier]:
    """Return every public learner, new, in each setting worth testing, by a name with the setting.

    Examples
    --------
    >>> list(learners())[:3]
    ['NaiveBayes', 'NaiveBayes(prior=m-estimate, strength=0.5)', 'NaiveBayes(strength=0.0)']
    """
    return dict(_named_learners())


def _named_learners() -> Iterator[tuple[str, BayesClassifier]]:
    for kind, settings in SETTINGS.items():
        for arguments in settings:
            shown = ", ".join(f"{name}={_shown(value)}" for name, value in arguments.items())
            yield f"{kind.__name__}({shown})" if shown else kind.__name__, kind(**arguments)
    yield "BernoulliNB(true_threshold=1)", BernoulliNB(true_threshold=1)
    for kind, arguments, size in SLIDING:
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in arguments.items())
        yield f"SlidingWindow({kind.__name__}({shown}), {size})", SlidingWindow(kind(**arguments), size)


def _shown(value: object) -> str:
    if isinstance(value, Schema):
        return "closed" if value is CLOSED else "declared"
    return "given" if isinstance(value, dict) else str(value)
