"""What an engine of inference knows, and what it makes of rows of codes: samples, likelihoods, expectations, scores.

Questions by name are asked in `inference`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from stream_bayes.core.inference._conditionals import Conditionals, Findings
from stream_bayes.core.inference._markov_blanket import BlanketScores
from stream_bayes.core.inference._sampling import Sampler
from stream_bayes.core.inference.coded_network import CodedNetwork, Evidence, Network, Tables
from stream_bayes.core.inference.exact import Exact
from stream_bayes.core.inference.sampling import drawn_rows
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadValue, InUse

__all__ = ["MEMORY_BUDGET", "CodedInference", "checked_generator"]

MEMORY_BUDGET = 2**28  # bytes


class CodedInference:
    """A network's tables, what is known of a row, and the plans that are kept, which depend on structure and sizes.

    One question at a time: another thread needs an engine of its own.

    Parameters
    ----------
    network, memory_budget
        As `Inference` takes them.
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

    # -- the network -------------------------------------------------------------------------------------------------

    @property
    def structure(self) -> Structure:
        """The structure that is asked."""
        return self._network.structure

    @property
    def conditionals(self) -> Conditionals:
        """The tables as they are held, in the order of the variables' names, for what fills them anew by itself."""
        return self._network.conditionals

    @property
    def bytes_for_everything(self) -> int:
        """What exact answers about all variables need; within the budget, they are the fast ones too."""
        return self._exact.bytes_for_everything

    def load(self, network: Network) -> None:
        """Go on with another network. While structure and numbers of labels are the same, all plans are kept; else they
        are worked out anew. If it is refused, nothing has changed.
        """
        if self._network.fits(network):
            self._network.load(network)
        else:
            self._begin(CodedNetwork(network))

    def update(self, tables: Tables) -> None:
        """Take over the tables of some variables. If one is refused, nothing has changed.

        Examples
        --------
        >>> from stream_bayes.core.inference.inference import Inference
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.5, 0.5]})
        >>> engine = Inference(coin)
        >>> engine.update({"coin": [3, 1]})
        >>> engine.query("coin")["heads"]
        0.75
        """
        self._network.fill(tables)

    # -- rows of codes -----------------------------------------------------------------------------------------------

    def sample(self, n: int, rng: np.random.Generator) -> dict[Any, list[Value]]:
        """Draw rows, as columns of labels.

        Examples
        --------
        >>> from stream_bayes.core.inference.inference import Inference
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.5, 0.5]})
        >>> Inference(coin).sample(4, np.random.default_rng(1))
        {'coin': ['tails', 'tails', 'heads', 'tails']}
        """
        columns = self.sample_codes(n, rng).T.tolist()
        named = zip(self._network.variables, self._network.labels, columns, strict=True)
        return {v: [labels[code] for code in column] for v, labels, column in named}

    def sample_codes(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
        """Draw rows of codes: a column for each variable by name, codes as places among its labels."""
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise BadValue(f"n: expected a number of rows, got {shown(n)}")
        network = self._network
        with self._asking({}):
            self._findings.look_at_all()
            sampler = Sampler(self._findings, network.order)
            codes, _ = drawn_rows(sampler, network, range(len(network.sizes)), int(n), checked_generator(rng))
        return codes

    def log_likelihoods(self, codes: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The log-likelihood of each row of codes, as `sample_codes` draws them; -1 is missing and summed out."""
        rows = self._rows(codes)
        answer = np.empty(len(rows))
        with self._asking({}):
            self._network.conditionals.log_likelihoods(rows, answer)
            for row in np.flatnonzero(np.isnan(answer)).tolist():
                self._findings.forget()
                for v in np.flatnonzero(rows[row] >= 0).tolist():
                    self._findings.observe(v, rows[row, v])
                answer[row] = self._exact.log_evidence()
        return answer

    def add_expected(
        self, codes: npt.ArrayLike, weights: npt.NDArray[np.float64], target: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Add to cells, laid out as `conditionals` are, what is expected of each row of codes, times its weight: the
        probabilities of each variable with its parents, -1 being missing. Exact. The log-likelihoods of the rows; of
        one that is impossible nothing is added.

        Examples
        --------
        >>> from stream_bayes.core.inference.inference import Inference
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.25, 0.75]})
        >>> counts = np.zeros(2)
        >>> Inference(coin).add_expected(np.array([[0], [-1]], np.int32), np.ones(2), counts).round(3).tolist()
        [-1.386, 0.0]
        >>> counts.tolist()
        [1.25, 0.75]
        """
        rows = self._rows(codes)
        answer = np.empty(len(rows))
        with self._asking({}):
            for place, row in enumerate(rows.tolist()):
                self._findings.forget()
                for v, code in enumerate(row):
                    if code >= 0:
                        self._findings.observe(v, code)
                answer[place] = self._exact.expect(target, float(weights[place]))
        return answer

    def blanket_scores(self, variable: Any, codes: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """For each row of codes, and each label of a variable, log P(label, the rest of the row) up to a term that the
        labels share. The variable's own column is not read. NaN where a code that matters is missing, -1.

        Only the tables that hold the variable are read: its own and its children's.

        Examples
        --------
        >>> from stream_bayes.core.inference.inference import Inference
        >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
        >>> lawn = DiscreteNetwork(
        ...     Structure({"rain": [], "lawn": ["rain"]}),
        ...     states={"rain": ["yes", "no"], "lawn": ["wet", "dry"]},
        ...     tables={"rain": [0.25, 0.75], "lawn": [[0.5, 0.5], [0.5, 0.5]]},
        ... )
        >>> np.exp(Inference(lawn).blanket_scores("rain", [[0, -1]])).round(6)
        array([[0.125, 0.375]])
        """
        place = self._network.place(variable)
        if place not in self._blankets:
            self._blankets[place] = BlanketScores(self._network.conditionals, place)
        rows = self._shaped(codes)
        answer = np.empty((len(rows), self._network.sizes[place]))
        bad = self._blankets[place].write(rows, answer)
        if bad >= 0:
            raise self._bad_codes(rows, bad)
        return answer

    # -- parts -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _asking(self, evidence: Evidence | None) -> Iterator[None]:
        if not self._findings.claim():
            raise InUse("this engine is answering another thread; give each thread one of its own")
        try:
            if evidence:
                self._network.note(evidence, self._findings)
            yield
        finally:
            self._findings.release()

    def _rows(self, codes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        rows = self._shaped(codes)
        wrong = (rows < -1) | (rows >= np.array(self._network.sizes))
        if wrong.any():
            raise self._bad_codes(rows, int(np.flatnonzero(wrong.any(axis=1))[0]))
        return rows

    def _shaped(self, codes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        given = np.asarray(codes)
        if given.ndim != 2 or given.shape[1] != len(self._network.sizes) or given.dtype.kind not in "iu":
            raise BadValue(
                f"codes: expected rows of whole numbers, a column for each of the {len(self._network.sizes)} variables "
                f"by name; got {given.dtype} in the shape {given.shape}"
            )
        return np.ascontiguousarray(given, np.int32)

    def _bad_codes(self, rows: npt.NDArray[np.int32], row: int) -> BadValue:
        sizes = np.array(self._network.sizes)
        v = int(np.flatnonzero((rows[row] < -1) | (rows[row] >= sizes))[0])
        return BadValue(
            f"row {row}, variable {shown(self._network.variables[v])}: expected a code below {sizes[v]}, or -1 where "
            f"it is missing; got {rows[row, v]}"
        )


def checked_generator(rng: np.random.Generator | None) -> np.random.Generator:
    """The generator that sampling needs, or an error that says so."""
    if not isinstance(rng, np.random.Generator):
        raise BadValue(
            f"rng: sampling needs a numpy.random.Generator, got {shown(rng)}; pass numpy.random.default_rng(seed)"
        )
    return rng
