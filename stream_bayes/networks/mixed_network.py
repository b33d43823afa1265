"""A Bayesian network over names and numbers, learned from a stream: densities, queries, forecasts and anomalies."""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from river import base

from stream_bayes.checked_names import closest
from stream_bayes.core.counts.joined_content import JoinedContent, parts_of
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.inference.posterior import Posterior
from stream_bayes.core.live_networks.family_sums import FamilySums
from stream_bayes.core.live_networks.mixed_completions import completions
from stream_bayes.core.live_networks.mixed_counts import Declared, MixedCounts
from stream_bayes.core.live_networks.mixed_draws import completed
from stream_bayes.core.live_networks.mixed_families import LiveFamilies
from stream_bayes.core.live_networks.mixed_inference import MixedInference
from stream_bayes.core.live_networks.normal_scores import NormalScores, ScoredMixture
from stream_bayes.core.measures.score_tail import ScoreTail
from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.mixed_scores import MixedSample, MixedScorer, search_mixed
from stream_bayes.core.values._weights import read_weight
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.inputs import feature_name
from stream_bayes.core.values.payloads import tagged_payload, untagged_payload
from stream_bayes.core.values.unknown_names import no_value_of
from stream_bayes.core.values.values import is_missing, shown
from stream_bayes.data.frames import Native, events_in
from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.errors import (
    BadValue,
    BadWeight,
    BudgetExceeded,
    CannotMerge,
    FeaturesIgnored,
    NotSupported,
    StreamBayesError,
    UnknownFeature,
)
from stream_bayes.learners.base.arguments import check_choice, check_count, check_number
from stream_bayes.learners.base.draws import checked_rng
from stream_bayes.learners.base.state import CountLearner, LearnerContent
from stream_bayes.learners.sequences.hidden_model import interval_of, mean_or_name
from stream_bayes.networks.answers import observed_shares
from stream_bayes.networks.growth import LEARN
from stream_bayes.networks.ignored_features import IgnoredFeatures, check_has_variable
from stream_bayes.networks.latent_class import LatentClass
from stream_bayes.networks.posterior_draws import DrawnMixedNetwork
from stream_bayes.networks.surprise import Surprise

__all__ = ["MixedNetwork", "declared_variables"]

X = Mapping[Any, Any]
FIRST_SEARCH = 50  # events
LEAST_ROWS = 20  # for a search
MOST_VARIABLES = 64
TAIL_EVENTS = 200
NO_TAIL = (-1, frozenset[Any](), ScoreTail([]))  # clock, variables, scores
RANKS = "ranks"
SAMPLES = 2_000  # draws of a question that is too large for an exact answer
SAMPLING = "likelihood-weighting"
WINDOW_EM = "window-em"
FIRST_STEPS, STEPS = 20, 3  # of EM: of the first run, and of later ones, which begin where it ended
SEARCH = HillClimbing(max_parents=3, restarts=0)


class MixedNetwork(CountLearner, base.AnomalyDetector):
    """A Bayesian network whose variables have names or numbers: a conditional linear Gaussian network.

    A number is linear in its numeric parents, with coefficients and a variance of its own for each combination of its
    nominal parents. Its own density is not cut into bins, so a number far out is improbable however far it is. A name
    depends on the bins of numeric parents.

    Parameters
    ----------
    structure
        The parents of each variable: a `Structure`, or `{variable: [parent, ...]}`. Other features of events are
        ignored, with the warning `FeaturesIgnored`. `"learn"`, the default: all features are variables,
        at most 64. The structure is searched by marginal likelihood after 50 events, after twice as many each time, and
        from `window` events on after every further `window`. New families are counted over the window.
    strength
        The weight of the prior, in events, above 0. For names it is spread over a variable's values; numbers have the
        mean and variance of the variable alone, without correlations.
    schema
        The declared variables: `Nominal` for names, also if they are numbers, and `Numeric`. Of others the first value
        decides: strings, bytes, bools and tuples are names. `Numeric(cuts=...)` are the bins that names below a number
        depend on. Default: cuts that tell most of the name in its first `window` events, found after 50 of them, and
        after twice as many each time; such networks do not unlearn or merge.
    max_values
        The number of values of a nominal variable after which new ones share one, `"<other>"`; such networks do not
        merge. Default: no limit.
    window
        With `structure="learn"`: the number of newest events that are searched, and cut for names below numbers. Such
        networks do not unlearn or merge.
    transform
        `"ranks"` makes each number the normal score of its rank before it is linear in others: a Gaussian copula, for
        heavy tails and skewed numbers. The ranks are those of the newest `window` events, found after 50, and after
        twice as many each time; all is counted over the window then. With a given structure they stay after `window`
        events. Densities are those of the numbers, so losses compare. Such networks do not unlearn or merge, and take
        no cuts. None takes numbers as they are.

    missing
        The treatment of events with missing variables. `"skip"` counts an event in the families of which it has all
        variables. `"window-em"` counts the newest `window` events again, after 50, after twice as many each time and
        then after every further `window`: by expectation maximisation, each with what is missing above its values
        filled in by its expected sums. Later events count as with `"skip"` until then. It uses all values, learns
        variables that no event has if a schema declares their names, and takes a millisecond for each event with gaps.
        Such networks do not unlearn or merge.
    classes
        The number of latent classes beside the network, or `"learn"`, as `LatentClass` takes them: events are scored by
        the mean of the network's density and that of the classes, which found more anomalies in tables than either.
        `query`, `sample` and forecasts are the network's own. Such networks do not unlearn or merge, and take no
        weights. None: the network alone.

    Notes
    -----
    Given its parents, a number has the Student's t distribution of a normal-inverse-Wishart posterior, a name its
    smoothed share; see docs/maths/mixed-networks.md. An event without some variable of a family is not counted there.

    Promises: sums hold 159 bits, so densities are equal to 1e-9 of themselves in any order, split, merge, and after
    unlearning. Every event has a finite density, from the second on. `query` is exact: missing names are enumerated, at
    most 2**16 combinations; missing numbers are integrated out as Gaussians, in parts where they are cut. Where another
    number depends on such a one, each of its bins stands for eight points. Of more combinations, some are drawn.

    Memory: for each combination of names above a number with d numeric parents, 24 bytes for each of (d + 1)(d + 2) / 2
    sums and 100 for each number.

    Examples
    --------
    >>> from stream_bayes import MixedNetwork
    >>> model = MixedNetwork({"kind": [], "size": ["kind"], "price": ["kind", "size"]})
    >>> for k in range(200):
    ...     kind, each = ("flat", 3.0) if k % 2 else ("house", 2.0)
    ...     size = 50.0 + k % 37 + 60.0 * (kind == "house")
    ...     model.learn_one({"kind": kind, "size": size, "price": each * size + k % 7})
    >>> price = model.query("price", {"kind": "flat", "size": 70})
    >>> round(price.mean, 1), [round(bound, 1) for bound in price.interval(0.9)]
    (212.8, [205.8, 219.8])
    >>> round(model.query("kind", {"size": 95})["house"], 3)
    0.266
    >>> odd = model.explain_one({"kind": "flat", "size": 70, "price": 900})
    >>> odd.oddest[0], round(model.score_one({"kind": "flat", "size": 70, "price": 214}), 1), odd.total > 100
    ('price', 6.4, True)
    """

    store: MixedCounts

    def __init__(
        self,
        structure: Any = LEARN,
        strength: float = 1.0,
        schema: Schema | None = None,
        max_values: int | None = None,
        window: int = 2_000,
        transform: str | None = None,
        missing: str = "skip",
        classes: int | Sequence[int] | str | None = None,
    ) -> None:
        self.strength = strength
        self.schema = schema
        self.max_values = max_values
        self.window = window
        self.transform = transform
        self.missing = missing
        self.classes = classes
        self.is_growing = isinstance(structure, str) and structure == LEARN
        if not (self.is_growing or isinstance(structure, (Structure, Mapping))):
            raise BadValue(
                f"structure must be a Structure, a dict {{variable: [parent, ...]}} or {LEARN!r}, not "
                f"{shown(structure)}"
            )
        check_count("window", window)
        check_number("strength", strength, above=True)
        if max_values is not None:
            check_count("max_values", max_values)
        check_choice("transform", transform, (None, RANKS))
        check_choice("missing", missing, ("skip", WINDOW_EM))
        declared = declared_variables(schema)
        if transform == RANKS and declared.cuts:
            raise BadValue(
                f"transform={RANKS!r} finds cuts among ranks; declare {shown([*declared.cuts])} without any, Numeric()"
            )
        if self.is_growing:
            structure = dict.fromkeys(declared.kinds, ())
        graph = structure if isinstance(structure, Structure) else Structure(structure)
        cut_over = 0 if self.is_growing else window
        self.store = MixedCounts(graph, declared, max_values, float(strength), cut_over)
        self._ignored = IgnoredFeatures(graph, schema, takes_all=self.is_growing and schema is None)
        self.families = LiveFamilies(self.store, float(strength))
        self.inference = MixedInference(self.families)
        self._recent: deque[tuple[dict[Any, Any], float]] = deque(maxlen=window)  # events and weights
        self._ranks: dict[Any, NormalScores] = {}
        self._next_search = FIRST_SEARCH if self.is_growing else min(FIRST_SEARCH, window)
        self._is_full = False
        names = [v for v, is_number in declared.kinds.items() if not is_number]
        self._classes = (
            None if classes is None else LatentClass(classes=classes, max_values=max_values, names=names)
        )
        self._tail: tuple[int, frozenset[Any], ScoreTail] = NO_TAIL
        self._limits: Callable[[Sequence[Any]], HillClimbing] = lambda variables: SEARCH

    def limit_to(self, limits: Callable[[Sequence[Any]], HillClimbing]) -> None:
        """Search for structures with the limits that a function returns for the variables that are searched."""
        self._limits = limits

    @property
    def structure(self) -> Structure:
        """The graph as it is now."""
        return self.store.structure

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, w: float = 1.0) -> None:
        """Learn an event: all of it, or nothing if any part is refused.

        Parameters
        ----------
        x
            The event, `{variable: value}`. An absent value, None or NaN is missing.
        w
            The weight; 2.0 is the same as learning it twice.

        Raises
        ------
        BadValue
            If a number is infinite or beyond 1e100.
        KindChanged
            If a variable with numbers gets a name, or one with names a number.
        """
        weight = read_weight(w)
        if self._classes is not None and weight != 1.0:
            raise BadWeight(f"latent classes learn each event once, and this one has the weight {w!r}")
        if weight == 0.0:
            self.store.read(x)  # nothing is learned, of its kinds and names neither
            return
        if self.is_growing:
            self._take_variables(x)
        values = self.store.read(x)
        if self._classes is not None:
            self._classes.learn_one(values)
        self.store.add(self._scored(values), weight)
        if self._keeps_window:
            self._recent.append((values, weight))
            if self.clock >= self._next_search:
                self._derive_anew()
        if len(values) != len(x):
            self._ignored.warn(x)

    def _take_variables(self, x: X) -> None:
        """Make variables of the features that are new, up to MOST_VARIABLES."""
        if not isinstance(x, Mapping) or self.schema is not None or self._is_full:
            return  # what is no event is refused when it is read
        variables = self.store.structure.variables
        new = [
            feature_name(name) for name, value in x.items() if name not in variables and not is_missing(value)
        ]
        if not new:
            return
        self.store.read(x)  # an event that is refused brings no variables
        MixedCounts(Structure(dict.fromkeys(new, ()))).read(x)
        free = MOST_VARIABLES - len(variables)
        if len(new) > free:
            self._is_full = True
            warnings.warn(
                f"there are more than {MOST_VARIABLES} features; {shown(new[free:])} and any later ones are ignored. "
                "Declare those that matter in a schema",
                FeaturesIgnored,
                stacklevel=3,
            )
            new = new[:free]
        parents = {v: self.store.structure.parents(v) for v in variables}
        self.store.reshape(Structure({**parents, **dict.fromkeys(new, ())}))

    @property
    def _has_window(self) -> bool:
        """True for a network that derives something from its newest events, now or at its beginning."""
        return self.is_growing or self.transform is not None or self.missing == WINDOW_EM

    @property
    def _keeps_window(self) -> bool:
        """True if the newest events are kept, to derive from them what no sum has."""
        return self.is_growing or self._ranks_change or self.missing == WINDOW_EM

    @property
    def _ranks_change(self) -> bool:
        """True while the ranks of numbers are to be found: for good with a structure that is learned."""
        return self.transform == RANKS and (self.is_growing or self._next_search <= self.window)

    def _derive_anew(self) -> None:
        """Find ranks and structure anew over the window, and what its events with gaps have most probably."""
        clock = self.clock
        self._next_search = 2 * clock if clock < self.window else clock + self.window
        if not self.is_growing and clock < self.window:
            self._next_search = min(self._next_search, self.window)  # for good over the whole window
        if self.transform == RANKS:
            self._rank()
        if self.is_growing:
            self._search()
        if self.missing == WINDOW_EM:
            self._expect(FIRST_STEPS if clock <= FIRST_SEARCH else STEPS)
        if not self._keeps_window:
            self._recent.clear()
        self._tail = NO_TAIL

    def _rank(self) -> None:
        """Rank numbers by those of the window, and count the window by these ranks."""
        before, kinds = self._ranks, self.store.kinds
        self._ranks = {}
        for v in (v for v, is_number in kinds.items() if is_number):
            there = [(x[v], weight) for x, weight in self._recent if v in x and weight > 0.0]
            if len(there) >= LEAST_ROWS:
                self._ranks[v] = NormalScores.of(*np.array(there).T)
            elif v in before:
                self._ranks[v] = before[v]

        def moved(v: Any, cut: float) -> float:
            number = before[v].number(cut) if v in before else cut
            return self._ranks[v].score(number) if v in self._ranks else number

        self.store.recount(((self._scored(values), weight) for values, weight in self._recent), moved)

    def _expect(self, steps: int) -> None:
        """Count the window by expectation maximisation. Names that no event had begin with draws, to differ at all."""
        rng, store = np.random.default_rng(self.clock), self.store
        recent = [(self._scored(values), weight) for values, weight in self._recent]
        has_begun = all(store.families[v].tables.clock for v in store.families)
        for step in range(steps):
            draws = 0 if has_begun or step else 1
            rows = [
                (completed_values, weight * share)
                for values, weight in recent
                for completed_values, share in completions(self.inference, values, rng, draws)
            ]
            store.count_expected(rows)

    def _scored(self, values: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """Return values with the scores of numbers that are ranked."""
        ranks = self._ranks
        return values if not ranks else {v: ranks[v].score(x) if v in ranks else x for v, x in values.items()}

    def recount(self, starts: Mapping[Any, int], events: Sequence[tuple[int, Row]]) -> None:
        """Count the families of variables that changed again, each from its clock on; the graph stays.

        A structure that is learned is searched next in a window of events after the change.
        """
        read = [(clock, self.store.values_in(row), row.weight) for clock, row in events]
        self.store.recount_families(starts, read)
        if self.is_growing:
            newer = sum(clock >= max(starts.values()) for clock, _, _ in read)
            while len(self._recent) > newer:
                self._recent.popleft()
            self._next_search = self.clock + self.window
        self._tail = NO_TAIL

    def recall(self, sums: FamilySums) -> None:
        """Add counts and sums from before a change to a family that has returned; the graph stays."""
        self.store.add_sums(sums)
        self._tail = NO_TAIL

    def _search(self) -> None:
        """Change to the structure with the highest score over the window, among variables that most events have."""
        kinds = self.store.kinds
        recent = [(self._scored(values), weight) for values, weight in self._recent]
        events = [values for values, _ in recent]
        often = {v: kind for v, kind in kinds.items() if 2 * sum(v in x for x in events) > len(events)}
        if len(events) < LEAST_ROWS or len(often) < 2:
            return
        sample = MixedSample.of(events, often, self.store.declared)
        scorer = MixedScorer(sample, float(self.strength))
        best = search_mixed(self._limits(sample.variables), scorer).structure
        parents = {v: best.parents(v) if v in best else () for v in self.store.structure.variables}
        before, column = self.store.structure, {v: k for k, v in enumerate(sample.variables)}
        cuts = {
            (p, v): scorer.cuts(column[p], column[v]).cuts
            for p, v in best.edges
            if kinds[p] and not kinds[v] and before.parents(v) != best.parents(v)
        }
        self.store.reshape(Structure(parents), recent, cuts)

    def learn_many(self, X: Native) -> None:
        """Learn many events in their order, dicts or the rows of a data frame; stop at the first that is refused."""
        for x in events_in(X):
            self.learn_one(x)

    def unlearn_one(self, x: X, w: float = 1.0) -> None:
        """Unlearn an event with its weight. Raise `NotLearned`, with nothing changed, if it was not learned."""
        for parent, child in () if self.is_growing else self.store.cut_in_stream:
            raise NotSupported(
                f"the cuts of {shown(parent)} above {shown(child)} rest on events that were learned; declare them to "
                f"unlearn: Schema({{{shown(parent)}: Numeric(cuts=[...]), ...}})"
            )
        if self.is_growing:
            raise NotSupported(
                f"structure={LEARN!r} counts new families over a window: events cannot be unlearned"
            )
        if self.transform == RANKS:
            raise NotSupported(
                f"transform={RANKS!r} counts by the ranks of a window: events cannot be unlearned"
            )
        if self.missing == WINDOW_EM:
            raise NotSupported(
                f"missing={WINDOW_EM!r} counts expected sums of a window: events cannot be unlearned"
            )
        if self._classes is not None:
            raise NotSupported(
                "latent classes are learned by expectation maximisation: events cannot be unlearned"
            )
        weight = read_weight(w)
        self.store.subtract(self.store.read(x), weight)

    # -- answers ------------------------------------------------------------------------------------------------------

    def query(
        self,
        target: Any,
        evidence: X | None = None,
        samples: int = SAMPLES,
        rng: np.random.Generator | None = None,
    ) -> Any:
        """Return the distribution of a variable given others.

        Parameters
        ----------
        target
            The variable.
        evidence
            `{variable: value}`; None and NaN count as not observed.
        samples
            The number of draws by likelihood weighting, each about a millisecond, if more than 2**16 combinations of
            missing names matter; 0 refuses such a question.
        rng
            The source of randomness of draws. None: equal questions to equal networks have equal answers.

        Returns
        -------
        A `Posterior` for names, `{value: probability}`; a `StudentMixture` for numbers, with `mean`, `interval` and
        `log_density`. `method` is `"exact"`, or `"likelihood-weighting"`; then `sampled` has the standard errors of the
        probabilities, or of the `"mean"`, and the number of independent draws of the same precision.

        Raises
        ------
        UnknownFeature
            If the structure has no such variable.
        BadValue
            If the evidence has a name that was never learned, or the number that is the target.
        NoValueKnown
            If no value of a variable that matters is known.
        BudgetExceeded
            If more than 2**16 combinations of missing names matter, and `samples` is 0.
        """
        evidence = {} if evidence is None else evidence
        if not isinstance(evidence, Mapping):
            raise BadValue(f"evidence comes as a dict {{variable: value}}, not as {shown(evidence)}")
        if samples != 0:
            check_count("samples", samples)
        for v in (target, *evidence):
            self._check_variable(v)
        values = self.store.read(evidence)
        for v, value in self.novel_values(values).items():
            raise BadValue(f"variable {shown(v)}: {shown(value)} was never learned; nothing follows from it")
        if not self._has_value(target):
            raise no_value_of([target])
        has_names = self.store.kinds[target] is False
        if target in values:
            shares = observed_shares(target, values[target], self.names_of(target))
            return Posterior(shares, "exact", "it is observed")
        scored = self._scored(values)
        try:
            if has_names:
                return Posterior(self.inference.shares(target, scored), "exact", "it fits")
            return self._in_numbers(target, self.inference.number(target, scored))
        except BudgetExceeded as error:
            if not samples:
                raise
            rng, reason = np.random.default_rng(0) if rng is None else checked_rng(rng), str(error)
        if has_names:
            shares, sampled = self.inference.sampled_shares(target, scored, samples, rng)
            return Posterior(shares, SAMPLING, reason, sampled)
        return self._in_numbers(target, self.inference.sampled_number(target, scored, samples, rng))

    def _in_numbers(self, target: Any, forecast: StudentMixture) -> StudentMixture:
        """Return the distribution of a number from that of its score, if it is ranked."""
        return ScoredMixture(forecast, self._ranks[target]) if target in self._ranks else forecast

    def predict_proba_one(self, x: X, variable: Any) -> dict[Any, float]:
        """Return P(variable | the other values of an event) of a variable with names; new names count as missing.

        It is empty if no value of the variable is known.
        """
        answer = self._answer(x, variable)
        if isinstance(answer, StudentMixture):
            raise BadValue(
                f"{shown(variable)} has numbers: predict_one and predict_interval_one forecast them"
            )
        return dict(answer)

    def predict_one(self, x: X, variable: Any) -> Any:
        """Return the most probable name, or the mean, of a variable given the other values; None before any value."""
        return mean_or_name(self._answer(x, variable))

    def predict_interval_one(self, x: X, variable: Any, level: float = 0.95) -> tuple[float, float] | None:
        """Return the interval that holds a number with a probability, given the other values; None before any."""
        return interval_of(self._answer(x, variable), level, variable)

    def _answer(self, x: X, variable: Any) -> Any:
        """Return the distribution of a variable given the other values of an event; empty before any value."""
        self._check_variable(variable)
        self._ignored.warn(x)
        if not self._has_value(variable):
            return {}
        values = self.store.read({v: value for v, value in x.items() if v != variable})
        # An event of a stream has no time for draws.
        return self.query(
            variable, {v: x for v, x in values.items() if v not in self.novel_values(values)}, samples=0
        )

    def log_density_one(self, x: X) -> float:
        """Return the logarithm of the density of an event: of its names the probability, of its numbers the density.

        Missing values are summed out. If there are more than 256 combinations of missing names, those of the most
        values are left out: what depends on them is predicted as in a configuration without events, as it is below a
        name that was never learned. Such a name counts with the share of names held once, at least half a one.
        Densities depend on the units of numbers: events with the same variables compare.

        Raises
        ------
        UnknownFeature
            If the event is not empty and has none of the network's variables.
        """
        return self.log_likelihood_and_novel(x)[0]

    def _score(self, read: Mapping[Any, Any]) -> float:
        values = self._known(read)
        if not values:
            return 0.0
        slopes = math.fsum(ranks.log_slope(values[v]) for v, ranks in self._ranks.items() if v in values)
        score = 0.0 - self.inference.log_density(self._scored(values)) - slopes
        if self._classes is None:
            return score
        beside = self._classes.score_one(values)
        least = min(score, beside)
        return least + math.log(2.0) - math.log1p(math.exp(least - max(score, beside)))

    def log_likelihood_and_novel(self, x: X) -> tuple[float, Iterable[Any]]:
        """Return the log-density of an event, and the variables whose name was never learned."""
        values = self._read(x)
        self._ignored.warn(x)
        return 0.0 - self._score(values), self.novel_values(values)

    def _read(self, x: X) -> dict[Any, Any]:
        """Return the values of an event to be judged. Raise `UnknownFeature` if it has none of the variables."""
        values = self.store.read(x)
        if not (values or self._ignored.takes_all):
            check_has_variable(x, self.store.structure)
        return values

    def score_one(self, x: X) -> float:
        """Return minus the log-density of an event, in nats: the larger, the more unexpected.

        Numbers have no last bin: the farther out one is, the larger is the score. `p_value_one` says
        how rare it is.
        """
        return 0.0 - self.log_likelihood_and_novel(x)[0]

    def score_learn_one(self, x: X, w: float = 1.0) -> float:
        """Return `score_one` of an event, then learn it."""
        score = self.score_one(x)
        self.learn_one(x, w)
        return score

    def p_value_one(self, x: X) -> float:
        """Return the probability that an event as usual scores at least as high as this one does.

        Usual are 200 events of the window, each scored as if it had not been learned (but for latent classes, which do
        not forget), by the variables that this one has. Beyond them the tail of their scores goes on, unless its scores
        are equal. They are computed again for other variables, and whenever the events have grown by a twentieth.
        It is 1 before any event.

        Raises
        ------
        NotSupported
            If the structure is given: then no window is kept.

        Examples
        --------
        >>> import numpy as np
        >>> model, rng = MixedNetwork(), np.random.default_rng(1)
        >>> model.learn_many({"a": rng.normal(), "b": "xy"[k % 2]} for k in range(200))
        >>> model.p_value_one({"a": 9.0, "b": "x"}) < 1e-4 < 0.2 < model.p_value_one({"a": 0.5, "b": "x"})
        True
        """
        if not self.is_growing:
            raise NotSupported(
                f"a p-value needs the window of structure={LEARN!r}; or take river.anomaly.QuantileFilter"
            )
        values = self._read(x)
        self._ignored.warn(x)
        return self._tail_of(frozenset(values)).p_value(self._score(values))

    def _tail_of(self, variables: frozenset[Any]) -> ScoreTail:
        """Return the scores of events of the window, by these of their variables alone."""
        clock, before, tail = self._tail
        if not len(tail) or before != variables or self.clock > 1.05 * clock:
            step = max(1, len(self._recent) // TAIL_EVENTS)
            chosen = list(self._recent)[::-step][:TAIL_EVENTS]
            twin = self.twin()  # it forgets events for a while
            tail = ScoreTail(twin.score_without(values, weight, variables) for values, weight in chosen)
            self._tail = self.clock, variables, tail
        return tail

    def score_without(self, values: Mapping[Any, Any], weight: float, variables: frozenset[Any]) -> float:
        """Return the score of a learned event, by these of its variables, as if it had not been learned."""
        scored, part = self._scored(values), {v: value for v, value in values.items() if v in variables}
        try:
            self.store.subtract(scored, weight)
        except StreamBayesError:  # of a family that was counted again, without this event
            return self._score(part)
        score = self._score(part)
        self.store.add(scored, weight)
        return score

    def explain_one(self, x: X) -> Surprise:
        """Return the surprise of each value of an event, parents first; they add up to `score_one(x)`.

        `excess` compares each with the mean surprise of its variable there, so names and numbers compare. Where numbers
        are missing whose variables have observed children, a part is by Gaussians and the sum differs a little.
        """
        return self.explain_after({}, x)

    def explain_after(self, past: X, x: X) -> Surprise:
        """Return the surprise of each value of an event, given values of other variables that came before."""
        values = self._known(self._read(x))
        self._ignored.warn(x)
        novel = self.novel_values(values)
        nats: dict[Any, float] = {}
        expected: dict[Any, float] = {}
        before = self.values_known(past)
        scored = self._scored(values)
        for v in self.store.structure.topological_order:
            if v not in values:
                continue
            if v in novel:
                nats[v], expected[v] = -math.log(self.families.novel_share(v)), 0.0
                before[v] = values[v]
                continue
            rest = self.inference.bounded(before, v)
            if self.store.kinds[v]:
                forecast = self._in_numbers(v, self.inference.number(v, rest))
                nats[v], expected[v] = -forecast.log_density(values[v]), forecast.entropy
            else:
                shares = self.inference.shares(v, rest)
                nats[v] = -math.log(shares[values[v]])
                expected[v] = -math.fsum(p * math.log(p) for p in shares.values() if p > 0.0)
            before[v] = scored[v]
        if self._classes is not None:
            scores = [self._score({v: values[v] for v in [*nats][:k]}) for k in range(len(nats) + 1)]
            nats = {v: one - other for v, one, other in zip(nats, scores[1:], scores[:-1], strict=True)}
        return Surprise(nats, expected, tuple(novel))

    def sample(self, n: int, rng: np.random.Generator) -> list[dict[Any, Any]]:
        """Draw events, each variable given its parents, from what is predicted of the next event.

        Raises `NoValueKnown` if a variable has no known value.
        """
        check_count("n", n)
        self._check_begun()
        return [self._as_numbers(completed(self.inference, {}, rng)) for _ in range(n)]

    def draw(self, rng: np.random.Generator) -> DrawnMixedNetwork:
        """Return a network with tables drawn from their posterior: what the truth may be, given the events.

        The mean of the density of a complete event over draws is the network's own. Structure, cuts and the prior are
        held. Draws read the counts as they are now; equal sources of randomness give equal draws.

        Examples
        --------
        >>> import numpy as np
        >>> model = MixedNetwork({"size": [], "price": ["size"]})
        >>> for k in range(12):
        ...     model.learn_one({"size": 40.0 + 7 * k % 30, "price": 200.0 + 5 * (7 * k % 30) + 9 * (k % 3)})
        >>> rng = np.random.default_rng(0)
        >>> means = [model.draw(rng).query("price", {"size": 50}).mean for _ in range(200)]
        >>> round(float(np.mean(means))), round(model.query("price", {"size": 50}).mean)
        (258, 258)
        """
        return DrawnMixedNetwork(self.twin(), checked_rng(rng))

    def simulate_one(self, x: X, n: int, rng: np.random.Generator) -> list[dict[Any, Any]]:
        """Return `n` events like x, drawn in one world that the counts and x allow.

        A world is a draw of the tables, given the counts and x. The events are independent in it, so what they have in
        common is the doubt about the tables; `sample` takes a new world for each event.

        Parameters
        ----------
        x
            The event: its values are those of every event returned. Others are drawn.
        n
            The number of events.
        rng
            The source of randomness.
        """
        check_count("n", n)
        self._check_begun()
        values, rng = self._read(x) if x else {}, checked_rng(rng)
        for v, value in self.novel_values(values).items():
            raise BadValue(f"variable {shown(v)}: {shown(value)} was never learned; nothing follows from it")
        world, scored = self.twin(), self._scored(values)
        if values:
            world.store.add_to_families(completed(self.inference, scored, rng), 1.0)
        drawn = DrawnMixedNetwork(world, rng)
        return [self._as_numbers(completed(drawn.inference, scored, rng)) | values for _ in range(n)]

    def _check_begun(self) -> None:
        if not self.store.structure.variables:
            raise no_value_of([])

    def _as_numbers(self, scored: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return values with numbers in place of their scores: the inverse of `_scored`."""
        ranks = self._ranks
        return {v: ranks[v].number(x) if v in ranks else x for v, x in scored.items()}

    def _known(self, values: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the values of variables of which a value was learned; nothing is known about the others."""
        return {v: value for v, value in values.items() if v in self.store.kinds}

    def values_known(self, x: X) -> dict[Any, Any]:
        """Return the values of an event from which something follows: without names that were never learned."""
        values = self._known(self.store.read(x))
        novel = self.novel_values(values)
        return {v: value for v, value in self._scored(values).items() if v not in novel}

    def novel_values(self, values: Mapping[Any, Any]) -> dict[Any, Any]:
        kinds = self.store.kinds
        return {v: x for v, x in values.items() if kinds.get(v) is False and x not in self.families.states(v)}

    def _has_value(self, v: Any) -> bool:
        is_nominal = self.store.kinds.get(v) is False
        return bool(self.families.states(v)) if is_nominal else self.families.unit(v).weight > 0.0

    def _check_variable(self, v: Any) -> None:
        structure = self.store.structure
        if isinstance(v, list) or v not in structure:
            raise UnknownFeature(
                f"the network has no variable {shown(v)}{closest(str(v), map(str, structure))} It has "
                f"{shown([*structure])}"
            )

    def merge(self, other: Self) -> Self:
        """Add the counts of another network of the same arguments, which stays unchanged.

        Raises `CannotMerge` if the two differ, or their structures are learned.
        """
        if self.transform == RANKS:
            raise CannotMerge(f"transform={RANKS!r}: two networks rank numbers differently; leave it out")
        if self._classes is not None:
            raise CannotMerge("the latent classes of two networks are not the same classes")
        if self.missing == WINDOW_EM:
            raise CannotMerge(f"missing={WINDOW_EM!r} counts expected sums of a window, which do not add up")
        if self.is_growing:
            raise CannotMerge(
                f"structure={LEARN!r}: two networks may have different structures; give the structure"
            )
        return super().merge(other)

    def _get_params(self) -> dict[str, Any]:
        params = super()._get_params()
        return params | {"structure": LEARN} if self.is_growing else params

    @property
    def memory_bytes(self) -> int:
        """The bytes of the sums, the names not counted; with those of latent classes beside the network."""
        return super().memory_bytes + (0 if self._classes is None else self._classes.memory_bytes)

    def content(self) -> LearnerContent:
        """Return a copy of all that the network holds."""
        content = super().content()
        if self._classes is None:
            return content
        beside = {"network": content.store, "classes": self._classes.content().store}
        return content._replace(store=JoinedContent(beside))

    def derived_state(self) -> dict[str, Any]:
        beside = {} if self._classes is None else {"classes": self._classes.derived_state()}
        if not self._has_window:
            return beside
        recent = [[tagged_payload(list(values.items())), weight] for values, weight in self._recent]
        return {
            "structure": self.structure.to_json(),
            "recent": recent,
            "next_search": self._next_search,
            "is_full": self._is_full,
            "ranks": [[tagged_payload([v]), ranks.to_json()] for v, ranks in self._ranks.items()],
            **beside,
        }

    def load_parts(self, store: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
        if self._classes is not None:
            parts = parts_of(store, ("network", "classes"))
            with refusing_bad_state():
                beside, store = derived["classes"], parts["network"]
                derived = {name: saved for name, saved in derived.items() if name != "classes"}
            self._classes.load_parts(parts["classes"], beside)
        if self.is_growing:
            with refusing_bad_state():
                structure = Structure.from_json(derived["structure"])
                expect(
                    len(structure.variables) <= max(MOST_VARIABLES, len(self.structure.variables)),
                    "it has more variables than 64",
                )
                self.store.reshape(structure)
        super().load_parts(store, derived)

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        if not self._has_window:
            super().load_derived(derived)
            return
        expect(set(derived) == {"structure", "recent", "next_search", "is_full", "ranks"}, "it has no window")
        for name, saved in derived["ranks"]:
            (v,) = untagged_payload(name)
            expect(self.transform == RANKS and self.store.kinds.get(v) is True, "it ranks what is no number")
            self._ranks[v] = NormalScores.from_json(saved)
        for saved, weight in derived["recent"]:
            values = dict(map(tuple, untagged_payload(saved)))
            expect(self.store.read(values) == values, "its window holds other values than were learned")
            expect(type(weight) is float and 0.0 < weight < math.inf, "an event of its window has no weight")
            self._recent.append((values, weight))
        expect(len(derived["recent"]) <= self.window, "it holds more events than its window")
        expect(
            type(derived["next_search"]) is int and type(derived["is_full"]) is bool, "it has no next search"
        )
        self._next_search, self._is_full = derived["next_search"], derived["is_full"]

    @property
    def clock(self) -> int:
        """The number of events learned."""
        return self.store.clock

    def names_of(self, variable: Any) -> list[Any]:
        """Return the names of a variable that were declared or learned; none of one with numbers."""
        self._check_variable(variable)
        return [*self.families.states(variable)] if self.store.kinds.get(variable) is False else []

    @property
    def kinds(self) -> dict[Any, str]:
        """`"nominal"` or `"numeric"` for each variable that was declared or learned."""
        return {v: "numeric" if kind else "nominal" for v, kind in self.store.kinds.items()}


def declared_variables(schema: Schema | None) -> Declared:
    """Return what a schema declares of variables."""
    if schema is None:
        return Declared()
    if not isinstance(schema, Schema):
        raise BadValue(f"schema must be a Schema, as Schema({{'sky': Nominal()}}), not {shown(schema)}")
    names = {v: spec for v, spec in schema.features.items() if isinstance(spec, Nominal)}
    numbers = {v: spec for v, spec in schema.features.items() if isinstance(spec, Numeric)}
    return Declared(
        kinds={v: v in numbers for v in schema.features},
        states={v: tuple(spec.values or ()) for v, spec in names.items()},
        max_values={v: spec.max_values for v, spec in names.items() if spec.max_values is not None},
        closed=frozenset(v for v, spec in names.items() if spec.closed),
        cuts={v: spec.cuts for v, spec in numbers.items() if spec.cuts is not None},
        refuses=schema.unknown == "refuse",
    )
