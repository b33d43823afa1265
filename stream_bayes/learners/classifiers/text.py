"""Naive Bayes over bags of words, `{token: count}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from river.base import tags

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.draws.drawn_words import WordsThere, WordTables
from stream_bayes.core.encoding._bags import BagEncoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.readings._bags import BernoulliReading, ComplementReading, MultinomialReading
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.values.inputs import counted
from stream_bayes.data.schema import Numeric, Schema
from stream_bayes.errors import SchemaError, UnknownFeature
from stream_bayes.learners.base.arguments import check_number
from stream_bayes.learners.base.base import X
from stream_bayes.learners.base.explanation import Explanation
from stream_bayes.learners.base.posteriors import SharePosterior
from stream_bayes.learners.base.unlabelled import LearnsUnlabelled

__all__ = ["BernoulliNB", "ComplementNB", "MultinomialNB"]


class _BagClassifier(LearnsUnlabelled):
    """A classifier over bags of words, as `{token: count}` or as a list of tokens.

    Its store has one run of values, the tokens.
    """

    inputs: ClassVar[frozenset[str]] = frozenset({"bag"})
    reading_type: ClassVar[type[Reading]]

    def __init__(
        self,
        alpha: float,
        class_prior: Any,
        half_life: float | str | None,
        schema: Schema | None,
        max_values: int | None,
        memory_budget: int | None,
    ) -> None:
        self.alpha = alpha
        check_number("alpha", alpha)
        super().__init__(class_prior, half_life, schema, max_values, memory_budget)

    def _make_store(self, labels: Vocabulary) -> CountStore:
        schema = self.schema
        declared: tuple[str, ...] = ()
        if schema is not None:
            declared = tuple(schema.features)
            for name, spec in schema.features.items():
                if not isinstance(spec, Numeric):
                    raise SchemaError(
                        f"token {name!r} is declared nominal, but a bag of words holds counts: use Numeric()"
                    )
        encoder = BagEncoder(
            labels,
            Vocabulary(declared, self.max_values),
            declared=bool(declared),
            refuse=schema is not None and schema.unknown == "refuse",
            threshold=self._threshold(),
        )
        return CountStore(
            encoder,
            half_life=self.half_life,
            memory_budget=self.memory_budget,
            word_histogram=self.reading_type is BernoulliReading,
        )

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        return self.reading_type(
            store.tables, store.encoder.labels, strength=self.alpha, class_prior=class_prior
        )

    def _threshold(self) -> float | None:
        return None

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> Any:
        """Return P(token | class) as the model has it now.

        Parameters
        ----------
        feature
            The token.
        given
            The class, under the schema's `target` (`"class"` without a schema). Without it the
            probabilities for all classes are returned, by class.
        """
        label = self._given_label(given)
        code, labels = self._code(feature), self.store.encoder.labels
        return self._by_class(label, lambda y: self._share(code, labels.find(y)))

    def _code(self, token: Any) -> int:
        """Return the code of a token; raise `UnknownFeature` if it holds no samples."""
        code: int = self.store.encoder.nominal[0].vocabulary.lookup(token)
        if code < 0 or not self.store.tables.values.occupied[code]:
            raise UnknownFeature(f"token {token!r} holds no samples")
        return code

    def _table_posterior(self, feature: Any, label: Any, rest: Mapping[Any, Any]) -> Any:
        if rest:
            raise self._no_table(rest)
        code = self._code(feature)
        return self._by_class(label, lambda y: self._token_posterior(code, self.store.encoder.labels.find(y)))

    def _token_posterior(self, code: int, label: int) -> SharePosterior:
        weight, total = self._parameters(code, label)
        return SharePosterior({True: weight, False: total - weight})

    def explain_one(self, x: X) -> Explanation:
        """Return the evidence of each token for each class, as log-evidence that adds up."""
        return super().explain_one(counted(x) if isinstance(x, (list, tuple)) else x)

    def _share(self, code: int, label: int) -> float:
        weight, total = self._parameters(code, label)
        return weight / total

    def _weight(self, code: int, label: int) -> float:
        tables = self.store.tables
        return float(tables.values.weight[code * tables.values.layout.classes + label] / tables.unit)

    def _parameters(self, code: int, label: int) -> tuple[float, float]:
        """Return the smoothed weight of a word in a class, and that of all words together."""
        tables = self.store.tables
        total = float(tables.values.present[label] / tables.unit)
        vocabulary = int(tables.values.distinct[0])
        return self._weight(code, label) + self.alpha, total + self.alpha * vocabulary


class MultinomialNB(_BagClassifier):
    """Multinomial naive Bayes: a message is drawn word by word from its class's distribution.

    A message is a dict `{token: count}`, or a list of its tokens.
    P(w | y) = (n(y, w) + alpha) / (n(y) + alpha V), with V the words that hold samples now, or were declared;
    P(y) is the classes' share, unsmoothed. A word never learned is skipped (River's counts it as alpha in every
    class, which favours the class with the fewest words).

    Parameters
    ----------
    alpha
        The weight added to every word's count.
    class_prior
        `"counted"`, `"uniform"`, or `{label: probability}`, which also declares the classes.
    half_life
        The number of learned events after which a sample weighs half; None never forgets. Or a duration in stream time,
        such as `"7d"`: a sample then weighs by its own time, `at`, and the order of samples changes nothing.
    schema
        The classes, and the tokens if only some are to be counted, declared as `Numeric()`.
    max_values
        The number of tokens after which new ones share one code.
    memory_budget
        The most bytes to take; growth past it raises `BudgetExceeded` and learns nothing.
    unlabelled
        As in `NaiveBayes`.

    Notes
    -----
    Promises: as `NaiveBayes`; counts that are whole are exact. Time is in proportion to the tokens of a
    message, never to the vocabulary. Memory: 8 bytes for each class and token (16 with fractional weights or
    fading), and about 40 for each token in the vocabulary.

    Examples
    --------
    >>> from stream_bayes import MultinomialNB
    >>> model = MultinomialNB()
    >>> model.learn_one({"free": 2, "pills": 1}, "spam")
    >>> model.learn_one({"meeting": 1, "notes": 1}, "ham")
    >>> model.predict_one({"free": 1, "lunch": 1})
    'spam'
    >>> model.conditional("free")
    {'spam': 0.428..., 'ham': 0.166...}
    """

    reading_type = MultinomialReading
    tables_to_draw = WordTables

    def __init__(
        self,
        alpha: float = 1.0,
        class_prior: Any = "counted",
        half_life: float | str | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
        unlabelled: str = "refuse",
    ) -> None:
        self.unlabelled = unlabelled
        super().__init__(alpha, class_prior, half_life, schema, max_values, memory_budget)

    def _more_tags(self) -> set[str]:
        return {tags.POSITIVE_INPUT}


class ComplementNB(_BagClassifier):
    """Complement naive Bayes: a message belongs to the class whose complement it fits worst.

    The score of a class is the sum over words of -count log((n(w) - n(y, w) + alpha) / (n - n(y) + alpha V)),
    as in Rennie et al. 2003. It suits unbalanced classes. By default the class prior plays no part.

    Parameters
    ----------
    alpha, half_life, schema, max_values, memory_budget
        As in `MultinomialNB`.
    class_prior
        `"uniform"`, as River and scikit-learn have it; `"counted"` or `{label: probability}` adds the log prior.

    Notes
    -----
    Promises, time and memory: as `MultinomialNB`. The score is not a likelihood; an interval shows how well the words
    of the other classes are known.

    Examples
    --------
    >>> from stream_bayes import ComplementNB
    >>> model = ComplementNB()
    >>> model.learn_one({"free": 2, "pills": 1}, "spam")
    >>> model.learn_one({"meeting": 1, "notes": 1}, "ham")
    >>> model.predict_one({"free": 1, "lunch": 1})
    'spam'
    """

    reading_type = ComplementReading
    scores_events = False
    why_no_draws = "its score by the other classes is no probability of the event; MultinomialNB has draws"

    def __init__(
        self,
        alpha: float = 1.0,
        class_prior: Any = "uniform",
        half_life: float | str | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        super().__init__(alpha, class_prior, half_life, schema, max_values, memory_budget)

    def _more_tags(self) -> set[str]:
        return {tags.POSITIVE_INPUT}


class BernoulliNB(_BagClassifier):
    """Bernoulli naive Bayes: each word of the vocabulary is present or absent; counts are ignored.

    P(w | y) = (n(y, w) + alpha) / (n(y) + 2 alpha), and absent words are evidence, too.

    Parameters
    ----------
    alpha, class_prior, half_life, schema, max_values, memory_budget
        As in `MultinomialNB`.
    true_threshold
        A word is present if its count is above this.

    Notes
    -----
    Promises and memory: as `MultinomialNB`, with 4 more bytes for each class and token. The absent words are
    summed over a histogram of counts, so a prediction costs time in proportion to the message's tokens and to
    the number of *different* counts of a class, which grows with the square root of all tokens at most. With
    fractional weights or fading every prediction reads every word of the vocabulary.

    Examples
    --------
    >>> from stream_bayes import BernoulliNB
    >>> model = BernoulliNB()
    >>> model.learn_one({"free": 2, "pills": 1}, "spam")
    >>> model.learn_one({"meeting": 1, "notes": 1}, "ham")
    >>> model.predict_one({"free": 1, "lunch": 1})
    'spam'
    >>> model.conditional("free", given={"class": "ham"})
    0.333...
    """

    reading_type = BernoulliReading
    tables_to_draw = WordsThere

    def __init__(
        self,
        alpha: float = 1.0,
        true_threshold: float = 0.0,
        class_prior: Any = "counted",
        half_life: float | str | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.true_threshold = true_threshold
        check_number("true_threshold", true_threshold, least=-1e308)
        super().__init__(alpha, class_prior, half_life, schema, max_values, memory_budget)

    def _threshold(self) -> float | None:
        return self.true_threshold

    def _parameters(self, code: int, label: int) -> tuple[float, float]:
        tables = self.store.tables
        messages = float(tables.class_weight[label] / tables.unit)
        return self._weight(code, label) + self.alpha, messages + 2.0 * self.alpha
