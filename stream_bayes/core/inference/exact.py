"""Exact answers about findings, with the plans that they need kept.

One tree over all variables answers for single variables, for those that share a clique, and for everything. For the
rest, and where that tree takes too much memory, there is a tree for each kind of question: its targets, and which
variables are known. Such a tree holds only what matters to the question; one pass over it is variable elimination.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.inference._findings import Findings
from stream_bayes.core.inference._propagation import FINE, IMPOSSIBLE, LOST, Propagation
from stream_bayes.core.inference.coded_network import CodedNetwork
from stream_bayes.core.inference.elimination import CliqueTree
from stream_bayes.core.inference.junction_tree import Plan, Question, cells_needed, plan_for, tree_for
from stream_bayes.errors import BudgetExceeded

__all__ = ["Exact"]

Numbers: TypeAlias = NDArray[np.float64]

CELL_BYTES = 8
KEPT_TREES = 64


@dataclass(slots=True)
class CachedTree:
    """A tree, the cells it needs, and once it is used its plan and the passes over it."""

    tree: CliqueTree
    cells: int
    plan: Plan | None = None
    passes: Propagation | None = None


@dataclass(slots=True)
class CachedTargets:
    """Variables asked for, and how many combinations of codes they have."""

    variables: NDArray[np.longlong]
    cells: int
    clique: int  # of the tree of everything, to read them from; -1 if there is none


@dataclass(slots=True)
class Exact:
    """Answers about what findings know. The caller sets them, and fills the tables anew at any time in between.

    Parameters
    ----------
    network
        The tables.
    findings
        What is known.
    memory_budget
        How many bytes the cells may take.
    reason
        What the last answer was made with; nothing to be given.

    Notes
    -----
    CachedTargets are variables that were not observed, ascending. Answers are arrays over their codes, the last one's
    fastest; None where the evidence has probability zero. Where the cells would not fit, BudgetExceeded is raised
    before any is made.

    Examples
    --------
    >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
    >>> from stream_bayes.core.networks.structure import Structure
    >>> coin = CodedNetwork(DiscreteNetwork(Structure({"c": []}), {"c": ["head", "tail"]}, {"c": [0.5, 0.5]}))
    >>> exact = Exact(coin, Findings(coin.conditionals), memory_budget=1000)
    >>> exact.joint((0,))
    array([0.5, 0.5])
    """

    network: CodedNetwork
    findings: Findings
    memory_budget: int
    reason: str = ""
    _everything: Question = field(init=False)
    _kept: OrderedDict[Question, CachedTree] = field(init=False, default_factory=OrderedDict)
    _targets: dict[tuple[int, ...], CachedTargets] = field(init=False, default_factory=dict)
    _cells: Numbers = field(init=False)

    def __post_init__(self) -> None:
        self._everything = Question(tuple(range(len(self.network.sizes))))
        self._cells = np.zeros(0)

    @property
    def bytes_for_everything(self) -> int:
        """What the tree over all variables needs."""
        return CELL_BYTES * self._tree(self._everything).cells

    # -- questions ---------------------------------------------------------------------------------------------------

    def joint(self, targets: tuple[int, ...]) -> Numbers | None:
        """The probabilities of the combinations of some variables."""
        asked = self._asked(targets)
        answer = np.empty(asked.cells)
        self.findings.need_for(asked.variables)
        if asked.clique >= 0:
            passes = self._ready(self._everything)
            possible = self._propagated(passes, partial(passes.outward_to, asked.clique))
            if possible:
                passes.read(asked.clique, asked.variables, answer)
        else:
            passes = self._ready(self._question(targets))
            possible = self._propagated(passes)
            if possible:
                passes.message(answer)
        return answer if possible else None

    def marginals(self) -> list[Numbers] | None:
        """The probabilities of the codes of each variable; of an observed one they are 0 and 1."""
        question = self._for_all()
        self.findings.need_all()
        passes = self._ready(question)
        if not self._propagated(passes, passes.outward):
            return None
        homes = self._plan(question).homes
        answers = []
        for v, code in enumerate(np.asarray(self.findings.observed).tolist()):
            answer = np.zeros(self.network.sizes[v])
            if code >= 0:
                answer[code] = 1.0
            else:
                passes.read(homes[v], np.array([v], np.longlong), answer)
            answers.append(answer)
        return answers

    def log_evidence(self) -> float:
        """The logarithm of the probability of what is known."""
        self.findings.need_for_evidence()
        passes = self._ready(self._everything if self._fits(self._everything) else self._question(()))
        if not self._propagated(passes):
            return -np.inf
        return float(passes.message(np.empty(1)) + self.findings.log_scale)

    def best(self) -> tuple[list[int], float] | None:
        """The codes of all variables in a most probable row, and the logarithm of its probability."""
        self.findings.need_all()
        passes = self._ready(self._for_all())
        if passes.inward_best(self._cells) == IMPOSSIBLE:
            return None
        codes = np.empty(len(self.network.sizes), np.int32)
        passes.trace_back(codes)
        return codes.tolist(), float(passes.message(np.empty(1)) + self.findings.log_scale)

    def families(self) -> Numbers | None:
        """The probabilities of each variable with its parents, end to end as the network's tables are."""
        self.findings.need_all()
        passes = self._ready(self._for_all())
        if not self._propagated(passes, passes.outward):
            return None
        answer = np.zeros(len(self.network.conditionals.cells))
        passes.add_families(answer, 1.0)
        return answer

    def expect(self, target: Numbers, weight: float) -> float:
        """Add the probabilities of each variable with its parents to cells laid out as the network's tables are, times
        a weight. The logarithm of the probability of what is known; where that is impossible nothing is added.
        """
        self.findings.need_all()
        passes = self._ready(self._for_all())
        log_probability = -np.inf

        def outward() -> int:
            nonlocal log_probability
            log_probability = float(passes.message(np.empty(1)) + self.findings.log_scale)
            return int(passes.outward())

        if not self._propagated(passes, outward):
            return -np.inf
        passes.add_families(target, weight)
        return log_probability

    def over(self, variables: Sequence[int]) -> Numbers | None:
        """The probabilities of some variables, observed ones among them, with an axis for each in the order given."""
        observed = [self.findings.observed[v] for v in variables]
        free = tuple(sorted(v for v, code in zip(variables, observed, strict=True) if code < 0))
        answer = self.joint(free)
        if answer is None:
            return None
        sizes = self.network.sizes
        whole = np.zeros([sizes[v] for v in variables])
        axes = [free.index(v) for v in variables if v in free]
        whole[tuple([code if code >= 0 else slice(None) for code in observed])] = answer.reshape(
            [sizes[v] for v in free]
        ).transpose(axes)
        return whole

    def _propagated(self, passes: Propagation, outward: Callable[[], int] = lambda: FINE) -> bool:
        """Send messages inward, and maybe outward; whether what is known is possible."""
        for inward in (passes.inward, passes.inward_logs):  # the first is fast, the second loses nothing
            outcome = inward(self._cells)
            if outcome == FINE:
                outcome = outward()
            if outcome != LOST:
                break
        return bool(outcome == FINE)

    # -- trees -------------------------------------------------------------------------------------------------------

    def _asked(self, targets: tuple[int, ...]) -> CachedTargets:
        if targets not in self._targets:
            clique = self._plan(self._everything).clique_of(targets) if self._fits(self._everything) else -1
            cells = prod(self.network.sizes[v] for v in targets)
            if clique < 0 and CELL_BYTES * cells > self.memory_budget:
                raise self._too_large(cells)
            if len(self._targets) >= KEPT_TREES + len(self.network.sizes):
                self._targets.clear()
            self._targets[targets] = CachedTargets(np.array(targets, np.longlong), cells, clique)
        return self._targets[targets]

    def _for_all(self) -> Question:
        """A question about everything, where it does not fit without what is observed."""
        if self._fits(self._everything):
            return self._everything
        return Question(self._everything.families, self._observed())

    def _question(self, targets: tuple[int, ...]) -> Question:
        """A question for what the findings say is needed."""
        needed = tuple(np.flatnonzero(np.asarray(self.findings.needed)).tolist())
        return Question(needed, self._observed(), targets, both_ways=False)

    def _observed(self) -> frozenset[int]:
        return frozenset(np.flatnonzero(np.asarray(self.findings.observed) >= 0).tolist())

    def _tree(self, question: Question) -> CachedTree:
        kept = self._kept.get(question)
        if kept is None:
            tree = tree_for(question, self.network.parents, self.network.sizes)
            kept = self._kept[question] = CachedTree(tree, cells_needed(question, tree, self.network.sizes))
            if len(self._kept) > KEPT_TREES:
                oldest = next(old for old in self._kept if old is not self._everything)
                del self._kept[oldest]
        return kept

    def _fits(self, question: Question) -> bool:
        return CELL_BYTES * self._tree(question).cells <= self.memory_budget

    def _plan(self, question: Question) -> Plan:
        kept = self._tree(question)
        if kept.plan is None:
            if CELL_BYTES * kept.cells > self.memory_budget:
                raise self._too_large(kept.cells)
            kept.plan = plan_for(question, kept.tree, self.network.parents, self.network.sizes)
        return kept.plan

    def _ready(self, question: Question) -> Propagation:
        """The passes for a question, and room for its cells."""
        kept = self._tree(question)
        plan = self._plan(question)
        if kept.passes is None:
            kept.passes = Propagation(self.findings, plan)
        if question is not self._everything:
            self._kept.move_to_end(question)
        if len(self._cells) < plan.cells:
            for other in self._kept.values():
                if other.passes is not None:
                    other.passes.release_cells()
            self._cells = np.zeros(0)
            self._cells = np.empty(plan.cells)
        what = "over all variables" if question is self._everything else "for this question"
        self.reason = f"the tables of the tree {what} take {CELL_BYTES * kept.cells:,} bytes"
        return kept.passes

    def _too_large(self, cells: int) -> BudgetExceeded:
        return BudgetExceeded(
            f"an exact answer would need {CELL_BYTES * cells:,} bytes, the budget is {self.memory_budget:,}; raise "
            "memory_budget, ask for fewer variables at once, or take a method that samples"
        )
