"""Exact answers given findings, with cached junction trees.

One tree over all variables answers for single variables, for variables that share a clique, and for all variables.
Other questions get a tree of their own, and so do all questions if the tree over all variables takes too much memory.
Such a tree depends on the targets and on which variables are observed; it contains only the tables that the question
needs, and one pass over it is variable elimination.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.inference._findings import Findings
from stream_bayes.core.inference._propagation import FINE, IMPOSSIBLE, LOST, Propagation
from stream_bayes.core.inference.coded_network import CodedNetwork
from stream_bayes.core.inference.junction_tree import JunctionTree, joint_size
from stream_bayes.core.inference.plans import Plan, Question, cells_needed, plan_for, tree_for
from stream_bayes.errors import BudgetExceeded

__all__ = ["Exact"]

Floats: TypeAlias = NDArray[np.float64]

CELL_BYTES = 8
CACHED_TREES = 64


@dataclass(slots=True)
class CachedTree:
    """A tree and the cells it needs; after its first use, its plan and the passes over it as well."""

    tree: JunctionTree
    cells: int
    plan: Plan | None = None
    passes: Propagation | None = None


@dataclass(slots=True)
class CachedTargets:
    """Target variables, the number of their joint values, and the clique to read them from."""

    variables: NDArray[np.longlong]
    cells: int
    clique: int  # in the tree over all variables; -1 if no clique contains all targets


@dataclass(slots=True)
class Exact:
    """Exact answers given findings. The caller sets the findings, and may refill the tables between queries.

    Notes
    -----
    Targets are variables that were not observed, ascending. Answers are arrays over their codes, with the last
    target varying fastest; None if the evidence has probability zero. If the cells would not fit, `BudgetExceeded` is
    raised before any allocation.

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
    memory_budget: int  # the most bytes that the cells may take
    reason: str = ""  # of the last answer's method; do not pass it
    _everything: Question = field(init=False)
    _cached: OrderedDict[Question, CachedTree] = field(init=False, default_factory=OrderedDict)
    _targets: dict[tuple[int, ...], CachedTargets] = field(init=False, default_factory=dict)
    _cells: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._everything = Question(tuple(range(len(self.network.sizes))))
        self._cells = np.zeros(0)

    @property
    def bytes_for_everything(self) -> int:
        """The bytes that the tree over all variables needs."""
        return CELL_BYTES * self._tree(self._everything).cells

    # -- questions ---------------------------------------------------------------------------------------------------

    def joint(self, targets: tuple[int, ...]) -> Floats | None:
        """Return the joint probabilities of some variables."""
        wanted = self._targets_of(targets)
        answer = np.empty(wanted.cells)
        self.findings.need_for(wanted.variables)
        if wanted.clique >= 0:
            passes = self._ready(self._everything)
            possible = self._propagated(passes, partial(passes.outward_to, wanted.clique))
            if possible:
                passes.read(wanted.clique, wanted.variables, answer)
        else:
            passes = self._ready(self._question(targets))
            possible = self._propagated(passes)
            if possible:
                passes.message(answer)
        return answer if possible else None

    def marginals(self) -> list[Floats] | None:
        """Return the probabilities of each variable's codes; 0 and 1 for an observed variable."""
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
        """Return the logarithm of the probability of the evidence."""
        self.findings.need_for_evidence()
        passes = self._ready(self._everything if self._fits(self._everything) else self._question(()))
        if not self._propagated(passes):
            return -np.inf
        return float(passes.message(np.empty(1)) + self.findings.log_scale)

    def best(self) -> tuple[list[int], float] | None:
        """Return the codes of all variables in a most probable row, and the logarithm of its probability."""
        self.findings.need_all()
        passes = self._ready(self._for_all())
        if passes.inward_best(self._cells) == IMPOSSIBLE:
            return None
        codes = np.empty(len(self.network.sizes), np.int32)
        passes.trace_back(codes)
        return codes.tolist(), float(passes.message(np.empty(1)) + self.findings.log_scale)

    def families(self) -> Floats | None:
        """Return P(variable, its parents | evidence) for each variable, end to end as the network's tables are."""
        self.findings.need_all()
        passes = self._ready(self._for_all())
        if not self._propagated(passes, passes.outward):
            return None
        answer = np.zeros(len(self.network.conditionals.cells))
        passes.add_families(answer, 1.0)
        return answer

    def expect(self, target: Floats, weight: float) -> float:
        """Add a weight times P(variable, its parents | evidence) to cells laid out as the network's tables are.

        Return the logarithm of the probability of the evidence. If it is impossible, nothing is added.
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

    def over(self, variables: Sequence[int]) -> Floats | None:
        """Return the joint probabilities of some variables, observed or not, with an axis for each in
        the order given.
        """
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
        """Send messages inward and then outward; return False if the evidence is impossible."""
        for inward in (passes.inward, passes.inward_logs):  # the first is fast, the second cannot underflow
            outcome = inward(self._cells)
            if outcome == FINE:
                outcome = outward()
            if outcome != LOST:
                break
        return bool(outcome == FINE)

    # -- trees -------------------------------------------------------------------------------------------------------

    def _targets_of(self, targets: tuple[int, ...]) -> CachedTargets:
        if targets not in self._targets:
            clique = self._plan(self._everything).clique_of(targets) if self._fits(self._everything) else -1
            cells = joint_size(targets, self.network.sizes)
            if clique < 0 and CELL_BYTES * cells > self.memory_budget:
                raise self._too_large(cells)
            if len(self._targets) >= CACHED_TREES + len(self.network.sizes):
                self._targets.clear()
            self._targets[targets] = CachedTargets(np.array(targets, np.longlong), cells, clique)
        return self._targets[targets]

    def _for_all(self) -> Question:
        """Return the question about all variables; given the observed ones if it does not fit otherwise."""
        if self._fits(self._everything):
            return self._everything
        return Question(self._everything.families, self._observed())

    def _question(self, targets: tuple[int, ...]) -> Question:
        """Return the question for the tables that the findings mark as needed."""
        needed = tuple(np.flatnonzero(np.asarray(self.findings.needed)).tolist())
        return Question(needed, self._observed(), targets, both_ways=False)

    def _observed(self) -> frozenset[int]:
        return frozenset(np.flatnonzero(np.asarray(self.findings.observed) >= 0).tolist())

    def _tree(self, question: Question) -> CachedTree:
        cached = self._cached.get(question)
        if cached is None:
            tree = tree_for(question, self.network.parents, self.network.sizes)
            cached = self._cached[question] = CachedTree(
                tree, cells_needed(question, tree, self.network.sizes)
            )
            if len(self._cached) > CACHED_TREES:
                oldest = next(old for old in self._cached if old is not self._everything)
                del self._cached[oldest]
        return cached

    def _fits(self, question: Question) -> bool:
        return CELL_BYTES * self._tree(question).cells <= self.memory_budget

    def _plan(self, question: Question) -> Plan:
        cached = self._tree(question)
        if cached.plan is None:
            if CELL_BYTES * cached.cells > self.memory_budget:
                raise self._too_large(cached.cells)
            cached.plan = plan_for(question, cached.tree, self.network.parents, self.network.sizes)
        return cached.plan

    def _ready(self, question: Question) -> Propagation:
        """Return the passes for a question, with room for its cells."""
        cached = self._tree(question)
        plan = self._plan(question)
        if cached.passes is None:
            cached.passes = Propagation(self.findings, plan)
        if question is not self._everything:
            self._cached.move_to_end(question)
        if len(self._cells) < plan.cells:
            for other in self._cached.values():
                if other.passes is not None:
                    other.passes.release_cells()
            self._cells = np.zeros(0)
            self._cells = np.empty(plan.cells)
        scope = "over all variables" if question is self._everything else "for this question"
        self.reason = f"the tables of the tree {scope} take {CELL_BYTES * cached.cells:,} bytes"
        return cached.passes

    def _too_large(self, cells: int) -> BudgetExceeded:
        return BudgetExceeded(
            f"an exact answer would need {CELL_BYTES * cells:,} bytes, the budget is {self.memory_budget:,}; raise "
            "memory_budget, query fewer variables at once, or use a sampling method"
        )
