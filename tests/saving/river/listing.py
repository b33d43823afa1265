"""Objects of every class that has a codec, in several settings, and what happens to them in a stream."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from river import compose, drift, feature_extraction, metrics, preprocessing, stats, utils
from river.drift import binary

from stream_bayes import (
    AODE,
    TAN,
    AdaptiveBayes,
    Costs,
    DecidingClassifier,
    DriftAdaptive,
    GaussianNB,
    HalfLifeChoice,
    ModelPerKey,
    MultinomialNB,
    NaiveBayes,
    PredictionSets,
    Thresholds,
)
from stream_bayes.mail import EmailTokens, Limits
from tests.saving.river.driving import (
    LABELS,
    WORDS,
    Drive,
    classifying,
    counting,
    counting_in_time,
    counting_two,
    counting_values,
    detecting,
    gaps,
    judging_flags,
    judging_labels,
    judging_numbers,
    judging_probabilities,
    nominals,
    numbers,
    rng_at,
    text,
    transforming,
)


@dataclass(frozen=True)
class Case:
    """An object, and what it answers to the events from one number up to another."""

    name: str
    make: Callable[[], Any]
    drive: Drive


def of_transformers() -> Iterator[tuple[Callable[[], Any], Drive]]:
    make: Callable[[], Any]
    p, f, c = preprocessing, feature_extraction, compose
    for make in (
        p.StandardScaler,
        lambda: p.StandardScaler(with_std=False),
        lambda: p.StandardScaler(window_size=7),
        p.MinMaxScaler,
        lambda: p.MinMaxScaler(window_size=7),
        p.MaxAbsScaler,
        lambda: p.MaxAbsScaler(window_size=7),
        p.RobustScaler,
        lambda: p.RobustScaler(with_centering=False, q_inf=0.1, q_sup=0.7),
        p.AdaptiveStandardScaler,
        p.Normalizer,
        p.Binarizer,
        lambda: p.Binarizer(threshold=0.5, dtype=float),
        lambda: p.FeatureHasher(n_features=5, seed=3),
        lambda: c.Select("whole", ("a", 1)),
        lambda: c.Discard("whole", "b"),
        lambda: c.SelectType(int, str),
        lambda: c.Prefixer("a_"),
        lambda: c.Suffixer("_ä"),
        lambda: c.Renamer({"whole": "w", "b": "c"}),
        lambda: c.Grouper(p.StandardScaler(), by="group"),
        lambda: p.StandardScaler() + c.Select("whole"),
        lambda: c.TransformerProduct(c.Select("whole"), c.Prefixer("x") | p.MinMaxScaler()),
        lambda: (
            (c.Discard(("a", 1)) | p.StandardScaler()) + (c.Select("whole") | p.MinMaxScaler(window_size=3))
        ),
    ):
        yield make, transforming(lambda event: {**numbers(event), "group": event % 3})
    yield (
        lambda: f.PolynomialExtender(degree=2),
        transforming(lambda event: {"a": event, "b": rng_at(event).random()}),
    )
    for make in (
        p.OneHotEncoder,
        lambda: p.OneHotEncoder(drop_zeros=True),
        lambda: p.OneHotEncoder(drop_first=True),
        lambda: p.OneHotEncoder(
            categories={"colour": set(WORDS), "flag": {True, False}, 7: {1, 2}, "maybe": {"x", None}}
        ),
        p.OrdinalEncoder,
        lambda: p.OrdinalEncoder(unknown_value=None, none_value=3),
    ):
        yield make, transforming(nominals)
    for make in (
        p.PreviousImputer,
        lambda: p.StatImputer(("a", stats.Mean()), ("b", stats.Mode()), ("c", "none")),
        lambda: p.StatImputer(("a", stats.Quantile(0.3)), ("b", stats.RollingMode(5))),
    ):
        yield make, transforming(gaps)
    for make in (
        f.BagOfWords,
        lambda: f.BagOfWords(stop_words={"the", "is"}, ngram_range=(1, 2), lowercase=False),
        f.TFIDF,
        lambda: f.TFIDF(normalize=False, ngram_range=(1, 2)),
    ):
        yield make, transforming(text)
    yield EmailTokens, transforming(text)
    yield (
        lambda: EmailTokens(on="mail", pairs=True, limits=Limits(tokens=5)),
        transforming(lambda event: {"mail": text(event).encode()}),
    )
    yield lambda: f.TFIDF(on="body"), transforming(lambda event: {"body": text(event)})


def of_statistics() -> Iterator[tuple[Callable[[], Any], Drive]]:
    make: Callable[[], Any]
    s = stats
    for make in (
        *(
            s.Count,
            s.Mean,
            s.Var,
            s.SEM,
            s.Sum,
            s.Min,
            s.Max,
            s.AbsMax,
            s.PeakToPeak,
            s.EWMean,
            s.EWVar,
            s.Kurtosis,
        ),
        *(s.Skew, s.Quantile, s.IQR, lambda: s.Quantile(0.9), lambda: s.IQR(0.1, 0.6), lambda: s.EWMean(0.2)),
        *(
            lambda: s.Kurtosis(bias=True),
            lambda: s.Skew(bias=True),
            lambda: s.Var(ddof=0),
            lambda: s.Shift(3),
        ),
        *(
            lambda: s.RollingMin(5),
            lambda: s.RollingMax(5),
            lambda: s.RollingAbsMax(5),
            lambda: s.RollingPeakToPeak(5),
        ),
        *(lambda: s.RollingQuantile(0.3, 7), lambda: s.RollingIQR(7), lambda: s.BayesianMean(1.0, 5.0)),
        *(
            lambda: s.Shift(1) | s.Mean(),
            lambda: utils.Rolling(s.Mean, 5),
            lambda: utils.Rolling(s.Var, 5, ddof=0),
        ),
    ):
        yield make, counting
    for make in (s.Mode, lambda: s.Mode(k=2), lambda: s.RollingMode(6), lambda: s.Entropy(fading_factor=0.9)):
        yield make, counting_values
    for make in (s.Cov, lambda: s.Cov(ddof=0), s.PearsonCorr):
        yield make, counting_two
    yield lambda: utils.TimeRolling(s.Mean, period=dt.timedelta(hours=1, seconds=3)), counting_in_time


def of_metrics() -> Iterator[tuple[Callable[[], Any], Drive]]:
    make: Callable[[], Any]
    m = metrics
    for make in (
        *(m.Accuracy, m.BalancedAccuracy, m.CohenKappa, m.GeometricMean, m.MacroF1, m.MicroF1, m.WeightedF1),
        *(
            m.MacroPrecision,
            m.MicroPrecision,
            m.WeightedPrecision,
            m.MacroRecall,
            m.MicroRecall,
            m.WeightedRecall,
        ),
        *(m.MacroJaccard, m.MicroJaccard, m.WeightedJaccard, m.ConfusionMatrix),
        *(lambda: m.MacroFBeta(2.0), lambda: m.MicroFBeta(2.0), lambda: m.WeightedFBeta(0.5)),
        lambda: m.MultiFBeta(dict.fromkeys([*LABELS, None], 0.5), dict.fromkeys([*LABELS, None], 1)),
        lambda: m.MultiFBeta(dict.fromkeys([*LABELS, None], 0.5), weights=None),
        *(lambda: m.F1(pos_val="spam"), lambda: m.Accuracy() + m.MacroF1() + m.CohenKappa()),
        *(lambda: m.ConfusionMatrix(classes=LABELS), lambda: utils.Rolling(m.Accuracy, 9)),
    ):
        yield make, judging_labels
    for make in (
        *(m.Precision, m.Recall, m.F1, m.Jaccard, m.MCC, m.ClassificationReport, m.FowlkesMallows),
        *(lambda: m.FBeta(2.0), lambda: m.F1(pos_val=False), lambda: m.ClassificationReport(decimals=4)),
        lambda: utils.Rolling(m.F1, 9),
    ):
        yield make, judging_flags
    for make in (
        *(
            m.LogLoss,
            m.CrossEntropy,
            m.ROCAUC,
            lambda: m.ROCAUC(n_thresholds=5),
            lambda: m.RollingROCAUC(window_size=8),
        ),
        *(lambda: m.RollingPRAUC(window_size=8), lambda: m.LogLoss() + m.Accuracy() + m.ROCAUC()),
        lambda: utils.Rolling(m.LogLoss, 9),
    ):
        yield make, judging_probabilities
    for make in (m.MAE, m.MSE, m.RMSE, m.RMSLE):
        yield make, judging_numbers


def of_detectors() -> Iterator[tuple[Callable[[], Any], Drive]]:
    make: Callable[[], Any]
    for make in (
        *(
            drift.ADWIN,
            lambda: drift.ADWIN(delta=0.1, clock=3, max_buckets=2, min_window_length=3, grace_period=5),
        ),
        *(
            lambda: drift.PageHinkley(min_instances=5, threshold=3.0),
            lambda: drift.PageHinkley(mode="up", threshold=3.0),
        ),
        *(lambda: drift.KSWIN(seed=3, window_size=30, stat_size=10), drift.NoDrift, binary.DDM, binary.EDDM),
        *(
            lambda: binary.DDM(warm_start=5),
            binary.HDDMA,
            binary.HDDMW,
            lambda: binary.HDDMA(two_sided_test=True),
        ),
        *(
            lambda: binary.HDDMW(two_sided_test=True, lambda_val=0.2),
            lambda: binary.FHDDM(sliding_window_size=20),
        ),
        lambda: binary.FHDDM(sliding_window_size=20, short_window_size=5),
    ):
        yield make, detecting


def of_models() -> Iterator[tuple[Callable[[], Any], Drive]]:
    p, c = preprocessing, compose

    def scaled() -> Any:
        return p.StandardScaler() | GaussianNB()

    costs = Costs(
        {"spam": {"spam": 0, "ham": 9}, "ham": {"spam": 1, "ham": 0}, "unsure": {"spam": 0.4, "ham": 0.4}}
    )
    for make, events in (
        (scaled, numbers),
        (lambda: c.Select("colour", "flag", 7) | NaiveBayes(), nominals),
        (lambda: p.OneHotEncoder() | c.Prefixer("f_") | MultinomialNB(), nominals),
        (lambda: (p.StandardScaler() + c.Select("whole")) | c.Discard("b") | GaussianNB(), numbers),
        (lambda: feature_extraction.TFIDF() | MultinomialNB(), text),
        (lambda: NaiveBayes(half_life=30), nominals),
        (lambda: c.Select("colour", "flag") | AODE(), nominals),
        (lambda: DecidingClassifier(p.OrdinalEncoder() | GaussianNB(), Thresholds(0.7)), nominals),
        (lambda: PredictionSets(p.OrdinalEncoder() | GaussianNB(), 0.7, by_class=True), nominals),
        (
            lambda: drift.DriftRetrainingClassifier(scaled(), binary.DDM(warm_start=5)),
            numbers,
        ),
        (
            lambda: drift.DriftRetrainingClassifier(NaiveBayes(), binary.EDDM(), train_in_background=False),
            nominals,
        ),
        (lambda: DriftAdaptive(NaiveBayes(), binary.DDM(warm_start=5), "error", judge_after=4), nominals),
        (
            lambda: DriftAdaptive(TAN(), drift.PageHinkley(min_instances=3, threshold=0.1), window=40),
            nominals,
        ),
        (lambda: HalfLifeChoice(NaiveBayes(), (None, 5.0), "mixture"), nominals),
        (lambda: ModelPerKey(NaiveBayes(), "colour", 3.0, max_keys=2), nominals),
        (AdaptiveBayes, numbers),
    ):
        yield make, classifying(events)
    yield (
        lambda: DecidingClassifier(scaled(), costs),
        lambda held, start, stop: [
            (held.learn_one(numbers(e), LABELS[e % 2]), held.predict_one(numbers(e)))[1]
            for e in range(start, stop)
        ],
    )


def cases() -> list[Case]:
    """All of them, under names of their own."""
    found: list[Case] = []
    used: dict[str, int] = {}
    for family in (of_transformers, of_statistics, of_metrics, of_detectors, of_models):
        for make, drive in family():
            made = type(make()).__name__
            used[made] = used.get(made, 0) + 1
            found.append(Case(made if used[made] == 1 else f"{made}-{used[made]}", make, drive))
    return found
