"""The one declaration of each learner: its name, class, estimator, abilities, and the settings that are tested.

`DECLARED` is a table of texts and plain values, so reading it imports no learner; `LEARNERS`, the classifiers, and
`REGRESSORS` import a class when it is asked for. From the table come the names in pipeline files and on the command
line, the learners of `stream_bayes` and `stream_bayes.sklearn`, the classes that a saved state may name, the laws' and
River's checks, and the tables of docs/which-learner.md. Packages of other authors bring learners as entry points of the
groups `stream_bayes.learners` and `stream_bayes.regressors`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stream_bayes.registry import Registry, load

__all__ = [
    "DECLARED",
    "DEFAULT",
    "DEFAULT_REGRESSOR",
    "EVENT_MODELS",
    "LEARNERS",
    "NETWORK",
    "REGRESSION",
    "REGRESSORS",
    "SEVERAL_TARGETS",
    "TARGET_MODELS",
    "UNLABELLED",
    "VERBS",
    "Declaration",
    "class_named",
    "declaration_of",
    "inner_names",
    "path_of_class",
]

DEFAULT = "adaptive"  # where none is named
DEFAULT_REGRESSOR = "adaptive-regression"  # the same, for labels that are numbers
REGRESSION = "regression"  # the task of learners whose label is a number
SEVERAL_TARGETS = "multi-target-regression"  # where a label is several numbers
NETWORK = "bayes-net"  # a BayesNetClassifier, or without a class a BayesNet

# What a learner can do beside learning and predicting one event, by the words of docs/which-learner.md.
VERBS = {
    "unlearn": "`unlearn_one` takes back an event",
    "merge": "`merge` and `+` add the counts of another one; not with `max_values`, or cut points that differ",
    "intervals": "`predict_interval_one` gives credible intervals; of classifiers `predict_interval_many` too",
    "posteriors": "`posterior` gives mean, variance and intervals of each table",
    "draws": "`draw` gives a model drawn from the posterior, `simulate_one` labels; `GaussianProcess` has `draw_many`",
    "explains features": "`explain_one` gives the evidence of each feature",
    "half-life": "old events fade, by `half_life=`",
    "unlabelled": 'events without a label count as far as they help, by `unlabelled="em"`; not with `half_life`',
    "many rows": "`learn_many` and `predict_many`",
    "loads alone": "`load(path)` needs no model beside the file",
    "workers": "`[workers]` sum its shards, if all features and cut points are declared",
}

Settings = Mapping[
    str, Any
]  # arguments as in a pipeline file; `schema` is a name of `testing.public_learners`


class Declaration(NamedTuple):
    """The declaration of one learner."""

    path: str  # of its class, as "module:Class"
    features: str = ""  # this and the next four are its row in docs/which-learner.md
    depends_on: str = ""
    prediction_time: str = ""
    memory: str = ""
    choose_if: str = ""
    # its name in `stream_bayes.sklearn`; by default that of the class with `Classifier` or `Regressor` after it
    estimator: str = ""
    # Arguments to make one with, for a learner that cannot be made without any. They are the estimator's defaults.
    example: Settings = {}  # noqa: RUF012  (never written)
    # other defaults of the estimator, as rows of a table have no order
    unordered: Settings = {}  # noqa: RUF012  (never written)
    # True if it may be the learner of a window, a choice of half-lives or a spam filter
    can_be_wrapped: bool = True
    cannot: tuple[str, ...] = ()  # the `VERBS` that it refuses in all settings
    # the `VERBS` that it has in some settings: which, in words, and an example
    only: Mapping[str, tuple[str, Settings]] = {}
    # The settings that differ in how they work: the laws are checked on each. None: those of River's
    # `_unit_test_params`, by default one without arguments.
    settings: tuple[Settings, ...] | None = None
    river: tuple[Settings, ...] = ({},)  # the settings that River's own checks run on
    task: str = "classification"  # "classification", or "regression" where the label is a number

    @property
    def class_name(self) -> str:
        """The name of its class."""
        return self.path.rpartition(":")[2]

    @property
    def estimator_name(self) -> str:
        """The name of its estimator in `stream_bayes.sklearn`."""
        return (
            self.estimator or f"{self.class_name}{'Regressor' if self.task == REGRESSION else 'Classifier'}"
        )


PRIOR = {"spam": 0.25, "ham": 0.5, "never met": 0.25}
# What every learner over pairs takes; they share a store and an encoder, and AODE and KDB go through all of it.
PAIRS: tuple[dict[str, Any], ...] = (
    {"prior": "laplace", "strength": 0.5},
    {"strength": 0.0},
    {"class_prior": PRIOR},
    {"half_life": 50.0},
    {"max_values": 3},
    {"schema": "paired"},
    {"schema": "cut"},
    {"binning": {"method": "mdl", "bins": 4, "window": 40}},
    {"binning": None},
)
SOME_PAIRS: tuple[dict[str, Any], ...] = (
    {},
    {"prior": "laplace", "strength": 0.0, "class_prior": PRIOR},
    {"half_life": 50.0, "max_values": 3},
)
TEXT: tuple[dict[str, Any], ...] = (
    {},
    {"alpha": 0.0},
    {"alpha": 0.1, "class_prior": "counted"},
    {"class_prior": PRIOR},
    {"half_life": 20.0},
    {"max_values": 5},
    {"schema": "words"},
)
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

MIXED, BINNED, COUNTS = "nominal and numeric", "nominal and binned", "counts of words"

DECLARED: dict[str, Declaration] = {
    DEFAULT: Declaration(
        "stream_bayes.learners.adaptive.adaptive_bayes:AdaptiveBayes",
        MIXED,
        "all of these, and the last labels",
        "some 11 times AODE, 2 to 22",
        "at most 32 MB for all tables, or `memory_budget`",
        "you do not know which, and the data drifts",
        estimator="AdaptiveClassifier",
        unordered={"label_memory": 0},
        can_be_wrapped=False,
        cannot=("posteriors", "draws", "unlearn", "merge", "half-life", "workers", "unlabelled"),
    ),
    "nb": Declaration(
        "stream_bayes.learners.classifiers.naive_bayes:NaiveBayes",
        MIXED,
        "the class",
        "features",
        "values",
        "there are many features or few events; a baseline",
        settings=(
            {},
            {"prior": "m-estimate", "strength": 0.5},
            {"strength": 0.0},
            {"class_prior": "uniform"},
            {"class_prior": PRIOR},
            {"half_life": 20.0},
            {"variance": "classes"},
            {"variance": "features", "variance_floor": 1e-3},
            {"variance": "both"},
            {"predictive": "plug-in"},
            {"predictive": "plug-in", "variance": "classes", "ddof": 0.0},
            {"predictive": "plug-in", "variance": "features", "variance_floor": 1e-3, "half_life": 20.0},
            {"numbers": "bins"},
            {"numbers": {"method": "mdl", "bins": 4, "window": 40}, "half_life": 50.0},
            {"max_values": 3},
            {"schema": "open"},
            {"schema": "closed", "prior": "m-estimate"},
            {"schema": "closed", "half_life": 50.0, "strength": 0.0},
        ),
        river=({}, {"prior": "m-estimate", "half_life": 100.0, "variance": "classes"}),
    ),
    "gaussian-nb": Declaration(
        "stream_bayes.learners.classifiers.naive_bayes:GaussianNB",
        "numeric",
        "the class",
        "features",
        "features",
        "each number has one peak in each class",
        cannot=("unlabelled",),
        settings=(
            {},
            {"strength": 1.0, "class_prior": "uniform"},
            {"variance": "classes", "half_life": 20.0},
            {"variance": "both", "class_prior": PRIOR},
            {"predictive": "plug-in"},
            {"schema": "measured"},
        ),
        river=({}, {"strength": 1.0, "variance": "both"}),
    ),
    "lda": Declaration(
        "stream_bayes.learners.classifiers.discriminant:LDA",
        MIXED,
        "the class; numbers on each other",
        "square of the numbers",
        "values, and pairs of numbers",
        "numbers are correlated, alike in all classes",
        cannot=("unlabelled",),
        settings=(
            {},
            {"shrinkage": 0.25, "class_prior": PRIOR},
            {"half_life": 50.0, "max_values": 3},
            {"schema": "measured", "shrinkage": 0.0},
            {"schema": "open", "predictive": "plug-in", "ddof": 1.0, "strength": 0.0},
        ),
    ),
    "qda": Declaration(
        "stream_bayes.learners.classifiers.discriminant:QDA",
        MIXED,
        "the class; numbers on each other",
        "square of the numbers",
        "values, and pairs of numbers for each class",
        "numbers are correlated, differently in each class",
        cannot=("unlabelled",),
        settings=(
            {},
            {"predictive": "plug-in", "shrinkage": 0.5, "half_life": 20.0},
            {"schema": "closed", "prior": "m-estimate"},
            {"schema": "measured", "class_prior": "uniform"},
        ),
        river=({"shrinkage": 0.1},),
    ),
    "bayesian-logistic": Declaration(
        "stream_bayes.learners.classifiers.logistic:BayesianLogistic",
        MIXED,
        "nothing: the class depends on them; each adds to its log-odds, or with waves all together",
        "square of the coefficients up to 192; beyond, that of the columns up to 192",
        "the same",
        "features say the same in part, and probabilities count",
        can_be_wrapped=False,
        cannot=("posteriors", "unlearn", "merge", "workers", "unlabelled"),
        settings=(
            {},
            {"strength": 0.1, "half_life": 20.0},
            {"features": "fourier", "seed": 3, "half_life": 50.0},
            {"max_values": 3},
            {"schema": "open"},
            {"schema": "closed", "half_life": 50.0},
        ),
        river=({}, {"half_life": 100.0}),
    ),
    "nearest-neighbours": Declaration(
        "stream_bayes.learners.classifiers.neighbours:NearestNeighbours",
        MIXED,
        "nothing: events like this one have its class",
        "features times `window`",
        "the same",
        "boundaries have any form, and follow the stream",
        can_be_wrapped=False,
        cannot=("posteriors", "draws", "unlearn", "merge", "workers", "unlabelled"),
        settings=(
            {},
            {"window": 30, "neighbours": 3, "half_life": 20.0},
            {"max_values": 3},
            {"schema": "open", "window": 1, "neighbours": 1},
            {"schema": "closed"},
        ),
        river=({}, {"window": 50, "neighbours": 5}),
    ),
    "multinomial-nb": Declaration(
        "stream_bayes.learners.classifiers.text:MultinomialNB",
        COUNTS,
        "the class",
        "words of the message",
        "vocabulary",
        "you classify text",
        settings=TEXT,
    ),
    "complement-nb": Declaration(
        "stream_bayes.learners.classifiers.text:ComplementNB",
        COUNTS,
        "the class",
        "words of the message",
        "vocabulary",
        "you classify text, and some classes are rare",
        cannot=("draws", "unlabelled"),
        settings=TEXT,
    ),
    "bernoulli-nb": Declaration(
        "stream_bayes.learners.classifiers.text:BernoulliNB",
        COUNTS,
        "the class",
        "words of the message",
        "vocabulary",
        "you classify short texts, and absent words matter too",
        cannot=("unlabelled",),
        settings=(*TEXT, {"true_threshold": 1}),
        river=({}, {"half_life": 100.0}),
    ),
    "spode": Declaration(
        "stream_bayes.learners.classifiers.one_dependence:SPODE",
        BINNED,
        "the class and one feature",
        "features",
        "pairs of values",
        "one feature dominates",
        only={"workers": ("with `parent=`", {"parent": "colour"})},
        settings=(*SOME_PAIRS, {"schema": "paired"}, {"parent": "colour"}, {"loss_half_life": None}),
    ),
    "aode": Declaration(
        "stream_bayes.learners.classifiers.one_dependence:AODE",
        BINNED,
        "the class and each feature in turn",
        "pairs of features",
        "pairs of values",
        "you need good probabilities and no structure",
        settings=(
            *({"min_count": 1.0} | each for each in PAIRS),
            {},
            {"subsumption": 3.0, "min_count": 2.0},
            {"subsumption": 3.0, "min_count": 2.0, "half_life": 30.0},
            {"weights": "mutual-information", "min_count": 1.0},
        ),
        river=({}, {"min_count": 1.0, "weights": "mutual-information", "binning": "mdl"}),
    ),
    "a2de": Declaration(
        "stream_bayes.learners.classifiers.one_dependence:A2DE",
        BINNED,
        "the class and each pair in turn",
        "triples of features",
        "triples of values",
        "there are few features and many events",
        settings=(*SOME_PAIRS, {"schema": "cut"}, {"subsumption": 3.0, "min_count": 2.0}),
    ),
    "ode": Declaration(
        "stream_bayes.learners.classifiers.trees:ODE",
        BINNED,
        "the class and the parent that you give",
        "features",
        "pairs of values",
        "you know the parents",
        settings=tuple({"parents": {"wet": "colour", "größe": "wet"}} | each for each in SOME_PAIRS),
        river=({"parents": {"x0": "x1"}},),
    ),
    "tan": Declaration(
        "stream_bayes.learners.classifiers.trees:TAN",
        BINNED,
        "the class and a parent",
        "features",
        "pairs of values",
        "you want a tree to read, and speed",
        settings=(*SOME_PAIRS, {"schema": "cut"}, {"root": "wet", "every": 5}),
    ),
    "kdb": Declaration(
        "stream_bayes.learners.classifiers.kdb:KDB",
        BINNED,
        "the class and k features",
        "features",
        "pairs, and with k of 2 or more the parents' values",
        "three features interact (`k=2`)",
        only={
            "merge": ("with k below 2", {"k": 1}),
            "workers": ("with k below 2", {"k": 1}),
            "unlabelled": ("with k below 2", {"k": 1}),
        },
        settings=(
            *SOME_PAIRS,
            {"schema": "paired"},
            {"k": 0},
            {"every": 5},
            *({"k": 2, "window": 500} | each for each in PAIRS),
            {"k": 2},
            {"k": 3, "every": 7, "window": 100},
            {"k": 3, "half_life": 20.0, "every": 10},
        ),
        river=({}, {"k": 2}, {"k": 3, "window": 50, "every": 20}),
    ),
    NETWORK: Declaration(
        "stream_bayes.networks.bayes_net_classifier:BayesNetClassifier",
        BINNED,
        "its Markov blanket",
        "children of the class",
        "tables of the graph",
        "you have a graph, or want one that grows",
        estimator="BayesNetworkClassifier",
        only={
            "merge": ("unless the structure is learned", {"structure": None}),
            "workers": ("unless the structure is learned", {"structure": None}),
            "unlabelled": ("unless the structure is learned", {"structure": None}),
        },
        settings=(
            *({"structure": None} | each for each in SOME_PAIRS),
            {"structure": None, "schema": "cut"},
            {"window": 150},
            {"schema": "cut", "half_life": 50.0, "class_prior": PRIOR},
            {"structure": DEPENDENT},
            {"structure": DEPENDENT, "strength": 0.0},
            {"structure": DEPENDENT, "half_life": 50.0, "max_values": 3},
            {"structure": OF_PAIRED, "schema": "paired", "prior": "laplace"},
            {"structure": OF_CUT, "schema": "cut", "class_prior": PRIOR},
        ),
        river=(
            {},
            {"structure": None},
            {"structure": {"class": [], "x0": ["class"], "x1": ["class", "x0"]}},
        ),
    ),
    "live-choice": Declaration(
        "stream_bayes.learners.classifiers.live_choice:LiveChoice",
        "nominal and numeric, binned or not",
        "whichever predicts best",
        "as AODE, TAN and KDB together",
        "pairs of values",
        "you do not know which, and time matters",
        cannot=("draws", "unlabelled"),
        only={"merge": ("without `kdb2` and higher", {}), "workers": ("without `kdb2` and higher", {})},
        settings=(
            *SOME_PAIRS,
            {"schema": "cut"},
            {"combine": "best"},
            {"combine": "best", "readings": ("tan", "aode"), "loss_half_life": None},
            {"readings": ("spode", "nb")},
            {"readings": ("a2de", "tan", "aode")},
            {"readings": ("weighted", "gaussian", "lda", "aode")},
            {"readings": ("weighted", "gaussian", "qda"), "schema": "cut", "half_life": 30.0},
            {"readings": ("kdb3", "nb", "lda")},
        ),
        river=({}, {"combine": "best", "binning": "equal-width"}),
    ),
    "sliding-window": Declaration(
        "stream_bayes.learners.wrappers.sliding_window:SlidingWindow",
        "as the learner",
        "as the learner",
        "as the learner",
        "the learner's, and the events held",
        "only the newest events count",
        example={"learner": "nb", "size": 10_000},
        can_be_wrapped=False,
        cannot=("merge", "half-life", "workers", "unlabelled"),
        settings=(
            *({"learner": "nb", "size": size} for size in (12, 1000)),
            {
                "learner": {"kind": "nb", "arguments": {"half_life": 20.0, "prior": "m-estimate"}},
                "size": 25,
            },
            {"learner": "nb", "schema": "closed", "size": 1},
            {"learner": {"kind": "gaussian-nb", "arguments": {"variance": "both"}}, "size": 25},
            {"learner": {"kind": "aode", "arguments": {"min_count": 1.0}}, "size": 25},
            {"learner": {"kind": "aode", "arguments": {"half_life": 50.0}}, "schema": "cut", "size": 25},
            {"learner": "a2de", "schema": "cut", "size": 25},
            {"learner": {"kind": "spode", "arguments": {"max_values": 3}}, "size": 25},
            {"learner": "tan", "size": 25},
            {"learner": {"kind": "kdb", "arguments": {"k": 2}}, "size": 25},
            {"learner": {"kind": "kdb", "arguments": {"k": 2}}, "schema": "cut", "size": 1000},
            {"learner": "live-choice", "size": 25},
            {
                "learner": {
                    "kind": "live-choice",
                    "arguments": {"readings": ("weighted", "gaussian", "lda"), "combine": "best"},
                },
                "size": 25,
            },
            {"learner": {"kind": NETWORK, "arguments": {"structure": DEPENDENT}}, "size": 25},
            {"learner": {"kind": NETWORK, "arguments": {"window": 80}}, "size": 80},
            {
                "learner": {"kind": NETWORK, "arguments": {"structure": OF_CUT}},
                "schema": "cut",
                "size": 25,
            },
        ),
        river=({"learner": "nb", "size": 50}, {"learner": "aode", "size": 50}),
    ),
    "half-life-choice": Declaration(
        "stream_bayes.learners.wrappers.half_life_choice:HalfLifeChoice",
        "as the learner",
        "as the learner",
        "the learner's, for each half-life",
        "the learner's, for each half-life",
        "you do not know how fast to forget",
        example={"learner": "nb"},
        can_be_wrapped=False,
        cannot=("posteriors", "draws", "unlearn", "merge", "half-life", "workers", "unlabelled"),
        settings=({"learner": "nb"}, {"learner": "live-choice", "combine": "mixture"}),
    ),
    "model-per-key": Declaration(
        "stream_bayes.learners.wrappers.model_per_key:ModelPerKey",
        "as the learner",
        "as the learner",
        "the learner's, and a pass over its counts",
        "the learner's, and each key's own counts",
        "customers or machines differ, and each has few events",
        example={"learner": "nb", "key": "x1"},
        can_be_wrapped=False,
        cannot=("posteriors", "draws", "merge", "half-life", "workers", "unlabelled"),
        settings=(
            {"learner": "nb", "key": "wet"},
            {"learner": "nb", "key": "wet", "weight": 0.0, "max_keys": 1},
            {
                "learner": {"kind": "aode", "arguments": {"min_count": 1.0}},
                "key": "wet",
                "weight": 5,
                "schema": "cut",
            },
        ),
        river=({"learner": "nb", "key": "x0"}, {"learner": "nb", "key": "x0", "weight": 0.0}),
    ),
    DEFAULT_REGRESSOR: Declaration(
        "stream_bayes.learners.adaptive.adaptive_regression:AdaptiveRegression",
        "nominal and numeric",
        "the target; on each other, and the last targets",
        "square of the columns, at most 125",
        "columns, at most 60, times 1,024 kept events",
        "the label is a number",
        estimator="AdaptiveRegressor",
        unordered={"lags": 0},
        can_be_wrapped=False,
        cannot=(
            "posteriors",
            "draws",
            "unlearn",
            "merge",
            "explains features",
            "half-life",
            "workers",
            "unlabelled",
        ),
        settings=({}, {"lags": 0}, {"schema": "open", "lags": 1, "max_values": 3}),
        river=({}, {"lags": 0}),
        task=REGRESSION,
    ),
    "bayesian-regression": Declaration(
        "stream_bayes.learners.regressors.linear:BayesianRegression",
        "nominal and numeric",
        "the target; all on each other",
        "square of the columns; after an event once their cube",
        "pairs of columns: numbers, and values of nominal features",
        "the label is a number, and you unlearn, merge or explain",
        estimator="BayesianRegressor",
        cannot=("posteriors", "unlabelled"),
        only={
            "merge": ("without `window`, unless the first events set the scales of Fourier features", {}),
            "workers": ("without `window`, unless the first events set the scales of Fourier features", {}),
        },
        settings=(
            {},
            {"strength": 1.0},
            {"strength": 0.01, "schema": "open"},
            {"half_life": 50.0},
            {"half_life": "7d"},
            {"max_values": 3},
            {"window": 12},
            {"window": 1000, "half_life": 50.0, "schema": "open"},
            {"features": {"count": 12}},
            {"features": {"scales": {"size": (1.0, 2.0), "heat": (0.0, 1.0)}, "count": 24}, "strength": 1.0},
        ),
        river=({}, {"strength": 1.0}, {"half_life": 100.0}, {"features": {"count": 8}}),
        task=REGRESSION,
    ),
    "gaussian-process": Declaration(
        "stream_bayes.learners.regressors.gaussian_process:GaussianProcess",
        "nominal and numeric",
        "the target; all on each other, in any smooth way",
        "events of the window; after an event once their cube",
        "events of the window",
        "the label is a number, there are few events, and intervals shall widen where nothing is known",
        estimator="GaussianProcessRegressor",
        cannot=("posteriors", "merge", "half-life", "workers", "unlabelled"),
        settings=({"window": 40}, {"window": 12, "schema": "open", "max_values": 3}),
        river=({"window": 20},),
        task=REGRESSION,
    ),
    "bayesian-tree": Declaration(
        "stream_bayes.learners.regressors.tree:BayesianTree",
        "nominal and numeric",
        "the target; on each other where a split says so",
        "columns, at most 14; sometimes their cube",
        "square of the columns, times leaves and bins",
        "the label is a number, and a feature decides which others count",
        estimator="BayesianTreeRegressor",
        cannot=("posteriors", "draws", "unlearn", "merge", "half-life", "workers", "unlabelled"),
        settings=({}, {"schema": "open", "max_values": 3}),
        river=({},),
        task=REGRESSION,
    ),
    "drift-regression": Declaration(
        "stream_bayes.drift.adaptive_regression:DriftAdaptiveRegression",
        "as the learner",
        "as the learner",
        "the learner's",
        "twice the learner's, and the events kept",
        "the label is a number, and the world changes all at once",
        estimator="DriftAdaptiveRegressor",
        example={"learner": "bayesian-regression"},
        can_be_wrapped=False,
        cannot=("posteriors", "draws", "unlearn", "merge", "half-life", "workers", "unlabelled"),
        settings=(
            {"learner": "bayesian-regression", "window": 64},
            {
                "learner": {"kind": "bayesian-regression", "arguments": {"half_life": 50.0, "window": 40}},
                "judge_after": 3,
            },
            {"learner": "gaussian-process", "window": 100},
            {"learner": "bayesian-tree", "schema": "open", "judge_after": 10},
        ),
        river=({"learner": "bayesian-regression"}, {"learner": "bayesian-tree", "window": 100}),
        task=REGRESSION,
    ),
    "half-life-regression": Declaration(
        "stream_bayes.learners.wrappers.half_life_regression:HalfLifeRegression",
        "as the learner",
        "as the learner",
        "the learner's",
        "the learner's, for each half-life",
        "the label is a number, and you do not know how fast to forget",
        estimator="HalfLifeRegressor",
        example={"learner": "bayesian-regression"},
        can_be_wrapped=False,
        cannot=("posteriors", "draws", "unlearn", "merge", "half-life", "workers", "unlabelled"),
        settings=(
            {"learner": "bayesian-regression", "half_lives": [None, 20.0]},
            {"learner": "bayesian-regression", "half_lives": [5.0], "schema": "open"},
        ),
        river=({"learner": "bayesian-regression", "half_lives": [None, 50.0]},),
        task=REGRESSION,
    ),
}


# Models of events without a label, by class: imported and saved as learners are, with verbs of their own.
UNLABELLED = {
    "BayesNet": "stream_bayes.networks.bayes_net:BayesNet",
    "DynamicNetwork": "stream_bayes.networks.dynamic_network:DynamicNetwork",
    "HiddenMarkov": "stream_bayes.learners.sequences.hidden_markov:HiddenMarkov",
    "LatentClass": "stream_bayes.networks.latent_class:LatentClass",
    "MixedNetwork": "stream_bayes.networks.mixed_network:MixedNetwork",
    "MarkovChain": "stream_bayes.learners.sequences.markov_chain:MarkovChain",
}


# Models of several labels, by class; as those of events.
SEVERAL_LABELS = {
    "MultiTargetRegression": "stream_bayes.learners.regressors.several_targets:MultiTargetRegression"
}


_OF_EVENTS = {
    "dynamic-network": UNLABELLED["DynamicNetwork"],
    "hidden-markov": UNLABELLED["HiddenMarkov"],
    "latent-class": UNLABELLED["LatentClass"],
    "markov-chain": UNLABELLED["MarkovChain"],
    "mixed-network": UNLABELLED["MixedNetwork"],
}


def _paths(task: str) -> dict[str, str]:
    return {name: declared.path for name, declared in DECLARED.items() if declared.task == task}


_RUN_AS_EVENTS = (
    "it learns events without a label: run it in a pipeline (run, replay) without a target, or from Python; for names "
    "and numbers there is stream-bayes anomalies, too"
)
_NAME_ALL_TARGETS = (
    "it learns several targets: name them all, as --target rain --target river, or target = ['rain', 'river'] in a "
    "pipeline's source; for one target: bayesian-regression"
)
LEARNERS: Registry[type[Any]] = Registry(
    "model",
    "learners",
    _paths("classification"),
    refusals={**dict.fromkeys(_OF_EVENTS, _RUN_AS_EVENTS), SEVERAL_TARGETS: _NAME_ALL_TARGETS},
)
# Models of several targets.
TARGET_MODELS: Registry[type[Any]] = Registry(
    "model of several targets", "target_models", {SEVERAL_TARGETS: SEVERAL_LABELS["MultiTargetRegression"]}
)
# Models of events without a label that a pipeline runs, besides `NETWORK`.
EVENT_MODELS: Registry[type[Any]] = Registry("model of events", "event_models", _OF_EVENTS)
REGRESSORS: Registry[type[Any]] = Registry(
    "regressor", "regressors", _paths(REGRESSION), refusals={SEVERAL_TARGETS: _NAME_ALL_TARGETS}
)


def declaration_of(name: str) -> Declaration:
    """Return the declaration of a learner; one that another package brings has the defaults.

    Examples
    --------
    >>> declaration_of("tan").estimator_name
    'TANClassifier'
    """
    if name in DECLARED:
        return DECLARED[name]
    made = REGRESSORS[name] if name in REGRESSORS else LEARNERS[name]
    task = REGRESSION if name in REGRESSORS else "classification"
    return Declaration(f"{made.__module__}:{made.__name__}", task=task)


def inner_names(task: str = "classification") -> Iterator[str]:
    """Yield the names of the learners of a task that may be the learner of another one."""
    registry = REGRESSORS if task == REGRESSION else LEARNERS
    return (name for name in registry if declaration_of(name).can_be_wrapped)


def path_of_class(name: str) -> str | None:
    """Return `"module:Class"` for a class of this package by its name, without importing it; None for another one.

    Examples
    --------
    >>> path_of_class("TAN"), path_of_class("Pipeline")
    ('stream_bayes.learners.classifiers.trees:TAN', None)
    """
    return _PATHS.get(name)


_PATHS = {declared.class_name: declared.path for declared in DECLARED.values()} | UNLABELLED | SEVERAL_LABELS
_NAMES = {declared.class_name: name for name, declared in DECLARED.items()}


def class_named(name: str) -> type[Any] | None:
    """Return the class of models of a name, such as a state holds; None if none is listed.

    Examples
    --------
    >>> class_named("TAN")
    <class 'stream_bayes.learners.classifiers.trees.TAN'>
    """
    if name in _NAMES:
        registry = REGRESSORS if DECLARED[_NAMES[name]].task == REGRESSION else LEARNERS
        return registry[_NAMES[name]]
    if name in UNLABELLED or name in SEVERAL_LABELS:
        return load(_PATHS[name])
    others = (one[each] for one in (LEARNERS, REGRESSORS) for each in one if each not in DECLARED)
    return next((made for made in others if made.__name__ == name), None)
