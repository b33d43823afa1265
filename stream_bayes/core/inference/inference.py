"""Questions to a Bayesian network: exact answers where their tables fit into memory, and answers from samples.

Everything that depends on structure and sizes alone is worked out once and kept: the tree of cliques, and for questions
that it cannot answer a tree for each kind of question. Tables may change between questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from stream_bayes.core.inference.coded import MEMORY_BUDGET, CodedInference, checked_generator
from stream_bayes.core.inference.coded_network import Evidence
from stream_bayes.core.inference.posterior import MostProbable, Posterior, Sampled
from stream_bayes.core.inference.sampling import Estimate, SamplingSettings, estimates
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, BudgetExceeded, ImpossibleEvidence

__all__ = ["MEMORY_BUDGET", "Inference"]

T = TypeVar("T")

METHODS = ("auto", "exact", "likelihood-weighting", "gibbs")


class Inference(CodedInference):
    """Answers questions to a network: posteriors, most probable explanations, probabilities, samples.

    One question at a time: another thread needs an engine of its own.

    Parameters
    ----------
    network
        Its structure, the labels of its variables, and its tables: for each variable an array of probabilities with an
        axis for each parent, by name, and the variable's own axis last. Rows are divided by their sums. The tables are
        copied; `load` and `update` take new ones.
    memory_budget
        How many bytes the tables of exact inference may take, 2**28 if not given. It is asked before any is made.

    Raises
    ------
    BadStructure
        If tables are missing, of a wrong shape, or have a row that is no distribution.

    Notes
    -----
    Evidence is a dict: a variable's label, or a likelihood for each of its labels where what was seen is less certain.
    A missing one (None, NaN) says nothing. The first question works out a plan, which takes milliseconds to a second;
    each further one takes time in proportion to the cells of the tables of the cliques, which are smaller where
    variables are known, and leaves out what the graph says is irrelevant.

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
        """The probabilities of a variable's labels given evidence, or of the combinations of several variables'.

        Parameters
        ----------
        targets
            A variable: the answer maps its labels. Or a list of variables: it maps tuples of labels, in their order.
        evidence
            What is known.
        method
            "exact", "likelihood-weighting" or "gibbs"; or "auto", which is exact where that fits into the memory
            budget, and else likelihood weighting if there is an `rng`.
        rng
            Where chance comes from, for methods that sample.
        samples
            How many samples are counted, of all chains together.
        chains, burn_in
            Of Gibbs sampling: how many there are, and how many sweeps of each do not count.

        Raises
        ------
        ImpossibleEvidence
            If the evidence has probability zero, or no sample agreed with it.
        BudgetExceeded
            If an exact answer would not fit; nothing has been allocated.
        NotSupported
            If Gibbs sampling is asked for where a table holds a zero: it could be caught among some rows and never see
            the others.
        """
        several = targets if isinstance(targets, list) else [targets]
        asked = [self._network.place(v) for v in several]
        if not asked or len(set(asked)) < len(asked):
            raise BadValue(f"targets: expected a variable or a list of different ones, got {shown(targets)}")
        labels: Iterable[Any] = self._network.labels[asked[0]]
        if isinstance(targets, list):
            labels = product(*[self._network.labels[v] for v in asked])
        settings = SamplingSettings(samples, chains, burn_in)
        with self._asking(evidence):
            reason = "asked for"
            if method in ("auto", "exact"):
                try:
                    found = self._possible(self._exact.over(asked), evidence)
                    return self._exact_answer(found, labels, method)
                except BudgetExceeded as error:
                    method, reason = _instead(error, method, rng)
            found_by_samples = self._sampled(method, [asked], settings, rng)
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
        """The probabilities of every variable's labels given evidence; for the parameters see `query`.

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
        with self._asking(evidence):
            reason = "asked for"
            named = list(zip(network.variables, network.labels, strict=True))
            if method in ("auto", "exact"):
                try:
                    found = self._possible(self._exact.marginals(), evidence)
                    return {
                        v: self._exact_answer(one, labels, method)
                        for (v, labels), one in zip(named, found, strict=True)
                    }
                except BudgetExceeded as error:
                    method, reason = _instead(error, method, rng)
            drawn = self._sampled(method, [[v] for v in range(len(named))], settings, rng)
            return {
                v: _from_samples(one, labels, method, reason, settings)
                for (v, labels), one in zip(named, drawn, strict=True)
            }

    def most_probable(self, evidence: Evidence | None = None) -> MostProbable:
        """The most probable labels of all variables together, given evidence. Exact; of equally probable rows always
        the same one.

        Raises
        ------
        ImpossibleEvidence
            If the evidence has probability zero.
        BudgetExceeded
            If the answer would not fit; nothing has been allocated.

        Examples
        --------
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> from stream_bayes.core.networks.structure import Structure
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.25, 0.75]})
        >>> Inference(coin).most_probable()["coin"]
        'tails'
        """
        network = self._network
        with self._asking(evidence):
            codes, log_probability = self._possible(self._exact.best(), evidence)
        named = zip(network.variables, network.labels, codes, strict=True)
        return MostProbable({v: labels[code] for v, labels, code in named}, log_probability)

    def log_probability(self, evidence: Evidence) -> float:
        """The logarithm of the probability of evidence; of a whole row it is the row's log-likelihood, and what is
        missing from a row is summed out. Exact. Likelihoods count as they are given; -inf if it is impossible.

        Examples
        --------
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> from stream_bayes.core.networks.structure import Structure
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.25, 0.75]})
        >>> Inference(coin).log_probability({"coin": None})
        0.0
        """
        with self._asking(evidence):
            return self._exact.log_evidence()

    def families(self, evidence: Evidence | None = None) -> dict[Any, npt.NDArray[np.float64]]:
        """For each variable P(its parents, it | evidence), in the axes of its table: what expectation maximisation adds
        to the counts for a row with missing values. Exact.

        Examples
        --------
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> from stream_bayes.core.networks.structure import Structure
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.25, 0.75]})
        >>> Inference(coin).families()
        {'coin': array([0.25, 0.75])}
        """
        network = self._network
        with self._asking(evidence):
            flat = self._possible(self._exact.families(), evidence)
        start = np.asarray(network.conditionals.start)
        return {
            variable: flat[start[v] : start[v + 1]].reshape(
                [network.sizes[u] for u in (*network.parents[v], v)]
            )
            for v, variable in enumerate(network.variables)
        }

    # -- parts -------------------------------------------------------------------------------------------------------

    def _possible(self, answer: T | None, evidence: Evidence | None) -> T:
        if answer is None:
            raise ImpossibleEvidence(
                f"the evidence has probability 0, so nothing follows from it: {shown(dict(evidence or {}))}; take "
                "some of it back, or smooth the tables"
            )
        return answer

    def _exact_answer(self, found: npt.NDArray[np.float64], labels: Iterable[Any], method: str) -> Posterior:
        reason = "asked for" if method == "exact" else self._exact.reason
        return Posterior(dict(zip(labels, found.ravel().tolist(), strict=True)), "exact", reason)

    def _sampled(
        self,
        method: str,
        groups: list[list[int]],
        settings: SamplingSettings,
        rng: np.random.Generator | None,
    ) -> Iterator[Estimate]:
        if method not in METHODS:
            raise BadValue(f"method: expected one of {', '.join(METHODS)}, got {shown(method)}")
        return estimates(method, self._network, self._findings, groups, settings, checked_generator(rng))


def _instead(error: BudgetExceeded, method: str, rng: np.random.Generator | None) -> tuple[str, str]:
    """The method that stands in for an exact answer which does not fit, and why; or the error again."""
    if method == "auto" and rng is not None:
        return "likelihood-weighting", str(error)
    if method == "auto":
        raise BudgetExceeded(f"{error}, which needs rng=numpy.random.default_rng(seed)") from None
    raise error


def _from_samples(
    found: Estimate, labels: Iterable[Any], method: str, reason: str, settings: SamplingSettings
) -> Posterior:
    keys = list(labels)
    errors = dict(zip(keys, found.errors.tolist(), strict=True))
    sampled = Sampled(settings.samples, found.effective, errors, found.r_hat)
    return Posterior(dict(zip(keys, found.shares.tolist(), strict=True)), method, reason, sampled)
