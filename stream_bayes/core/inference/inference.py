"""Inference in a Bayesian network: exact if the tables fit into memory, otherwise from samples.

Everything that depends on structure and sizes alone is computed once and cached: the junction tree, and for questions
that it cannot answer a tree for each kind of question. Tables may change between questions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from stream_bayes.core.inference._conditionals import Conditionals
from stream_bayes.core.inference._findings import Findings
from stream_bayes.core.inference._markov_blanket import BlanketScores
from stream_bayes.core.inference._sampling import Sampler
from stream_bayes.core.inference.coded_network import CodedNetwork, Evidence, GivenTables, Network
from stream_bayes.core.inference.exact import Exact
from stream_bayes.core.inference.posterior import MostProbable, Posterior, Sampled
from stream_bayes.core.inference.questions import NamedQuestions
from stream_bayes.core.inference.sampling import SampledTable, SamplingSettings, drawn_rows, estimates
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadValue, BudgetExceeded, ImpossibleEvidence, InUse

__all__ = ["MEMORY_BUDGET", "Inference"]

T = TypeVar("T")

MEMORY_BUDGET = 2**28  # bytes

METHODS = ("auto", "exact", "likelihood-weighting", "gibbs")


class Inference(NamedQuestions):
    """Posteriors, most probable explanations, probabilities and samples of a network.

    It answers one question at a time: give each thread its own `Inference`.

    Parameters
    ----------
    network
        A `DiscreteNetwork`, or any object with its `structure`, `states` and `tables`. Rows of tables are divided by
        their sums. The tables are copied; `load` and `update` replace them.
    memory_budget
        The most bytes that the tables of exact inference may take; 2**28 if not given. It is checked before any
        allocation.

    Raises
    ------
    BadStructure
        If tables are missing, have a wrong shape, or have a row that is no distribution.

    Notes
    -----
    Evidence is a dict with a variable's label, or for soft evidence a likelihood for each of its labels. None and NaN
    mean not observed. The first question makes a plan, which takes milliseconds to a second. Each further question
    takes time in proportion to the cells of the cliques' tables, without the variables that are irrelevant to it.
    Evidence makes these tables smaller.

    Examples
    --------
    >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
    >>> from stream_bayes.core.networks.structure import Structure
    >>> lawn = DiscreteNetwork(
    ...     Structure({"rain": [], "lawn": ["rain"]}),
    ...     states={"rain": ["yes", "no"], "lawn": ["wet", "dry"]},
    ...     tables={"rain": [0.2, 0.8], "lawn": [[0.9, 0.1], [0.05, 0.95]]},
    ... )
    >>> engine = Inference(lawn)
    >>> answer = engine.query("rain", {"lawn": "wet"})
    >>> round(answer["yes"], 6), answer.method
    (0.818182, 'exact')
    >>> round(engine.query("rain", {"lawn": {"wet": 0.6, "dry": 0.3}})["yes"], 6)
    0.311475
    """

    def __init__(self, network: Network, *, memory_budget: int | None = None) -> None:
        if memory_budget is None:
            memory_budget = MEMORY_BUDGET
        if not isinstance(memory_budget, int) or memory_budget < 1:
            raise BadValue(f"memory_budget: expected a positive number of bytes, got {shown(memory_budget)}")
        self.memory_budget = memory_budget
        self._begin(CodedNetwork(network))

    def _begin(self, network: CodedNetwork) -> None:
        self._network = network
        self._findings = Findings(network.conditionals)
        self._exact = Exact(network, self._findings, self.memory_budget)
        self._blankets: dict[int, BlanketScores] = {}

    # -- the network ----------------------------------------------------------------------------------------------

    @property
    def structure(self) -> Structure:
        """The structure of the network."""
        return self._network.structure

    @property
    def conditionals(self) -> Conditionals:
        """The tables in the order of the variables' names, for callers that fill them directly."""
        return self._network.conditionals

    @property
    def bytes_for_everything(self) -> int:
        """The bytes that exact answers about all variables need; they are fast if this is within the budget."""
        return self._exact.bytes_for_everything

    def load(self, network: Network) -> None:
        """Replace the network. Plans stay if structure and numbers of labels are the same. An error leaves all
        unchanged.
        """
        if self._network.matches(network):
            self._network.load(network)
        else:
            self._begin(CodedNetwork(network))

    def update(self, tables: GivenTables) -> None:
        """Replace the tables of some variables. An error leaves everything unchanged.

        Examples
        --------
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.5, 0.5]})
        >>> engine = Inference(coin)
        >>> engine.update({"coin": [3, 1]})
        >>> engine.query("coin")["heads"]
        0.75
        """
        self._network.fill(tables)

    # -- questions ---------------------------------------------------------------------------------------------------

    def query(
        self,
        targets: Any,  # a variable or a list of them
        evidence: Evidence | None = None,
        *,
        method: str = "auto",
        rng: np.random.Generator | None = None,
        samples: int = 10_000,
        chains: int = 4,
        burn_in: int = 500,
    ) -> Posterior:
        """Return the probabilities of one variable's labels given evidence, or of several variables' combinations.

        Parameters
        ----------
        targets
            A variable: the answer maps its labels. Or a list of variables: the answer maps tuples of labels, in that
            order.
        evidence
            The labels of observed variables, or likelihoods of their labels.
        method
            "exact", "likelihood-weighting" or "gibbs"; or "auto": exact if that fits into the memory budget, otherwise
            likelihood weighting if an `rng` is given.
        rng
            The source of randomness, for methods that sample.
        samples
            The number of samples counted, over all chains together.
        chains, burn_in
            For Gibbs sampling: the number of chains, and the number of sweeps at the start of each that are not
            counted.

        Raises
        ------
        ImpossibleEvidence
            If the evidence has probability zero, or no sample agreed with it.
        BudgetExceeded
            If an exact answer would not fit. Nothing has been allocated.
        NotSupported
            If the method is Gibbs sampling and a table has a zero: a chain could be trapped and never reach some rows.
        """
        several = targets if isinstance(targets, list) else [targets]
        numbers = [self._network.number(v) for v in several]
        if not numbers or len(set(numbers)) < len(numbers):
            raise BadValue(f"targets: expected a variable or a list of different ones, got {shown(targets)}")
        labels: Iterable[Any] = self._network.labels[numbers[0]]
        if isinstance(targets, list):
            labels = product(*[self._network.labels[v] for v in numbers])
        settings = SamplingSettings(samples, chains, burn_in)
        with self._entered(evidence):
            reason = "requested"
            if method in ("auto", "exact"):
                try:
                    table = self._possible(self._exact.over(numbers), evidence)
                    return self._exact_answer(table, labels, method)
                except BudgetExceeded as error:
                    method, reason = _instead(error, method, rng)
            found_by_samples = self._sampled(method, [numbers], settings, rng)
            return _from_samples(next(found_by_samples), labels, method, reason, settings)

    def marginals(
        self,
        evidence: Evidence | None = None,
        *,
        method: str = "auto",
        rng: np.random.Generator | None = None,
        samples: int = 10_000,
        chains: int = 4,
        burn_in: int = 500,
    ) -> dict[Any, Posterior]:
        """Return the probabilities of every variable's labels given evidence; for the parameters see `query`.

        Examples
        --------
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> from stream_bayes.core.networks.structure import Structure
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.5, 0.5]})
        >>> Inference(coin).marginals()
        {'coin': Posterior({'heads': 0.5, 'tails': 0.5}, method='exact')}
        """
        network = self._network
        settings = SamplingSettings(samples, chains, burn_in)
        with self._entered(evidence):
            reason = "requested"
            named = list(zip(network.variables, network.labels, strict=True))
            if method in ("auto", "exact"):
                try:
                    tables = self._possible(self._every_marginal(), evidence)
                    return {
                        v: self._exact_answer(one, labels, method)
                        for (v, labels), one in zip(named, tables, strict=True)
                    }
                except BudgetExceeded as error:
                    method, reason = _instead(error, method, rng)
            drawn = self._sampled(method, [[v] for v in range(len(named))], settings, rng)
            return {
                v: _from_samples(one, labels, method, reason, settings)
                for (v, labels), one in zip(named, drawn, strict=True)
            }

    def _every_marginal(self) -> list[npt.NDArray[np.float64]] | None:
        """Return the probabilities of each variable's codes: together, or one at a time if together they do not fit.

        A question about one variable leaves out what is irrelevant to it.
        """
        try:
            return self._exact.marginals()
        except BudgetExceeded:
            marginals = []
            for v in range(len(self._network.sizes)):
                answer = self._exact.over([v])
                if answer is None:
                    return None
                marginals.append(answer)
            return marginals

    def most_probable(self, evidence: Evidence | None = None) -> MostProbable:
        """Return the most probable labels of all variables together, given evidence. Exact; ties always go to the same
        row.

        Raises
        ------
        ImpossibleEvidence
            If the evidence has probability zero.
        BudgetExceeded
            If the answer would not fit. Nothing has been allocated.

        Examples
        --------
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> from stream_bayes.core.networks.structure import Structure
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.25, 0.75]})
        >>> Inference(coin).most_probable()["coin"]
        'tails'
        """
        network = self._network
        with self._entered(evidence):
            codes, log_probability = self._possible(self._exact.best(), evidence)
        named = zip(network.variables, network.labels, codes, strict=True)
        return MostProbable({v: labels[code] for v, labels, code in named}, log_probability)

    def log_probability(self, evidence: Evidence) -> float:
        """Return the logarithm of the probability of evidence; -inf if it is impossible. Exact.

        For a complete row this is its log-likelihood. Missing variables are summed out, and likelihoods are not
        normalised.

        Examples
        --------
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> from stream_bayes.core.networks.structure import Structure
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.25, 0.75]})
        >>> Inference(coin).log_probability({"coin": None})
        0.0
        """
        with self._entered(evidence):
            return self._exact.log_evidence()

    def probability_of_evidence(self, evidence: Evidence) -> float:
        """Return the probability of evidence; likelihoods of soft evidence are not normalised. Exact."""
        return math.exp(self.log_probability(evidence))

    def families(self, evidence: Evidence | None = None) -> dict[Any, npt.NDArray[np.float64]]:
        """Return P(variable, its parents | evidence) for each variable, with the axes of its table. Exact.

        These are the expected counts of a row with missing values in expectation maximisation.

        Examples
        --------
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> from stream_bayes.core.networks.structure import Structure
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.25, 0.75]})
        >>> Inference(coin).families()
        {'coin': array([0.25, 0.75])}
        """
        network = self._network
        with self._entered(evidence):
            flat = self._possible(self._exact.families(), evidence)
        start = np.asarray(network.conditionals.start)
        return {
            variable: flat[start[v] : start[v + 1]].reshape(
                [network.sizes[u] for u in (*network.parents[v], v)]
            )
            for v, variable in enumerate(network.variables)
        }

    # -- rows of codes -----------------------------------------------------------------------------------------------

    def sample(
        self, n: int, rng: np.random.Generator, evidence: Mapping[Any, Any] | None = None
    ) -> dict[Any, list[Value]]:
        """Draw rows, as columns of labels; given evidence, from the exact distribution given it.

        Parameters
        ----------
        n
            The number of rows.
        rng
            The source of randomness.
        evidence
            As `query` takes it. It costs a question for each variable of each different row at most.

        Raises
        ------
        ImpossibleEvidence
            If the evidence has probability zero.

        Examples
        --------
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.5, 0.5]})
        >>> Inference(coin).sample(4, np.random.default_rng(1))
        {'coin': ['tails', 'tails', 'heads', 'tails']}
        """
        if evidence:
            return self._sample_under(checked_rows(n), checked_generator(rng), evidence)
        columns = self.sample_codes(n, rng).T.tolist()
        named = zip(self._network.variables, self._network.labels, columns, strict=True)
        return {v: [labels[code] for code in column] for v, labels, column in named}

    def _sample_under(
        self, n: int, rng: np.random.Generator, evidence: Mapping[Any, Any]
    ) -> dict[Any, list[Value]]:
        """Draw rows given evidence: one variable after another, rows that are alike so far together."""
        variables = self._network.variables
        columns: dict[Any, list[Value]] = {v: [] for v in variables}
        alike = [(0, dict(evidence), n)]  # the number of variables drawn, their values, and the rows
        while alike:
            drawn, values, rows = alike.pop()
            if drawn == len(variables):
                for v, column in columns.items():
                    column += [values[v]] * rows
                continue
            answer = self.query(variables[drawn], values)
            shares = np.array(list(answer.values()))
            counts = rng.multinomial(rows, shares / shares.sum()).tolist()
            for label, count in zip(answer, counts, strict=True):
                if count:
                    alike.append((drawn + 1, {**values, variables[drawn]: label}, count))
        order = rng.permutation(n).tolist()
        return {v: [column[row] for row in order] for v, column in columns.items()}

    def sample_codes(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
        """Draw rows of codes: a column for each variable by name, with codes as positions among its labels."""
        number, network = checked_rows(n), self._network
        with self._entered({}):
            self._findings.need_all()
            sampler = Sampler(self._findings, network.order)
            codes, _ = drawn_rows(sampler, network, range(len(network.sizes)), number, checked_generator(rng))
        return codes

    def log_likelihoods(self, codes: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the log-likelihood of each row of codes as from `sample_codes`; missing codes, -1, are summed out."""
        rows = self._network.rows(codes)
        answer = np.empty(len(rows))
        with self._entered({}):
            self._network.conditionals.log_likelihoods(rows, answer)
            for row in np.flatnonzero(np.isnan(answer)).tolist():
                self._findings.clear()
                for v in np.flatnonzero(rows[row] >= 0).tolist():
                    self._findings.observe(v, rows[row, v])
                answer[row] = self._exact.log_evidence()
        return answer

    def add_expected(
        self, codes: npt.ArrayLike, weights: npt.NDArray[np.float64], target: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Add the expected counts of rows of codes to cells laid out as `conditionals` are; return the log-likelihoods.

        The expected counts of a row are P(variable, its parents | row) times its weight. A code of -1 is missing.
        Exact; an impossible row adds nothing.

        Examples
        --------
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.25, 0.75]})
        >>> counts = np.zeros(2)
        >>> Inference(coin).add_expected(np.array([[0], [-1]], np.int32), np.ones(2), counts).round(3).tolist()
        [-1.386, 0.0]
        >>> counts.tolist()
        [1.25, 0.75]
        """
        rows = self._network.rows(codes)
        answer = np.empty(len(rows))
        with self._entered({}):
            for index, row in enumerate(rows.tolist()):
                self._findings.clear()
                for v, code in enumerate(row):
                    if code >= 0:
                        self._findings.observe(v, code)
                answer[index] = self._exact.expect(target, float(weights[index]))
        return answer

    def blanket_scores(self, variable: Any, codes: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return, for each row of codes and each label, log P(label, the rest of the row) up to a term all labels
        share.

        Only the variable's own table and its children's are read, and not the variable's own column. The scores of a
        row are NaN if a code of the Markov blanket is missing, -1.

        Examples
        --------
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> lawn = DiscreteNetwork(
        ...     Structure({"rain": [], "lawn": ["rain"]}),
        ...     states={"rain": ["yes", "no"], "lawn": ["wet", "dry"]},
        ...     tables={"rain": [0.25, 0.75], "lawn": [[0.5, 0.5], [0.5, 0.5]]},
        ... )
        >>> np.exp(Inference(lawn).blanket_scores("rain", [[0, -1]])).round(6)
        array([[0.125, 0.375]])
        """
        number = self._network.number(variable)
        if number not in self._blankets:
            self._blankets[number] = BlanketScores(self._network.conditionals, number)
        rows = self._network.shaped(codes)
        answer = np.empty((len(rows), self._network.sizes[number]))
        bad = self._blankets[number].write(rows, answer)
        if bad >= 0:
            raise self._network.bad_codes(rows, bad)
        return answer

    # -- parts -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _entered(self, evidence: Evidence | None) -> Iterator[None]:
        if not self._findings.claim():
            raise InUse(
                "this engine is answering another thread; give each thread an engine of its own, or query the view() "
                "of a learner"
            )
        try:
            if evidence:
                self._network.enter(evidence, self._findings)
            yield
        finally:
            self._findings.release()

    def _possible(self, answer: T | None, evidence: Evidence | None) -> T:
        if answer is None:
            raise ImpossibleEvidence(
                f"the evidence has probability 0, so nothing follows from it: {shown(dict(evidence or {}))}; take "
                "some of it back, or smooth the tables"
            )
        return answer

    def _exact_answer(self, table: npt.NDArray[np.float64], labels: Iterable[Any], method: str) -> Posterior:
        reason = "requested" if method == "exact" else self._exact.reason
        return Posterior(dict(zip(labels, table.ravel().tolist(), strict=True)), "exact", reason)

    def _sampled(
        self,
        method: str,
        groups: list[list[int]],
        settings: SamplingSettings,
        rng: np.random.Generator | None,
    ) -> Iterator[SampledTable]:
        if method not in METHODS:
            raise BadValue(f"method: expected one of {', '.join(METHODS)}, got {shown(method)}")
        return estimates(method, self._network, self._findings, groups, settings, checked_generator(rng))


def _instead(error: BudgetExceeded, method: str, rng: np.random.Generator | None) -> tuple[str, str]:
    """Return the method to use when an exact answer does not fit, and the reason; or raise the error again."""
    if method == "auto" and rng is not None:
        return "likelihood-weighting", str(error)
    if method == "auto":
        raise BudgetExceeded(f"{error}, which needs rng=numpy.random.default_rng(seed)") from None
    raise error


def _from_samples(
    table: SampledTable, labels: Iterable[Any], method: str, reason: str, settings: SamplingSettings
) -> Posterior:
    keys = list(labels)
    errors = dict(zip(keys, table.errors.tolist(), strict=True))
    sampled = Sampled(settings.samples, table.effective, errors, table.r_hat)
    return Posterior(dict(zip(keys, table.shares.tolist(), strict=True)), method, reason, sampled)


def checked_generator(rng: np.random.Generator | None) -> np.random.Generator:
    """Return the generator that sampling needs; raise `BadValue` if there is none."""
    if not isinstance(rng, np.random.Generator):
        raise BadValue(
            f"rng: sampling needs a numpy.random.Generator, got {shown(rng)}; pass numpy.random.default_rng(seed)"
        )
    return rng


def checked_rows(n: object) -> int:
    """Return a number of rows; raise `BadValue` if it is none."""
    if not isinstance(n, (int, np.integer)) or n < 0:
        raise BadValue(f"n: expected a number of rows, got {shown(n)}")
    return int(n)
