"""Structures found from rows of a known network, ALARM: hill climbing and trees, beside pyAgrum and pybnesian.

All get the same rows: ours as codes, the others as the data frames they take, with all labels known beforehand.
Making these is not timed; putting equal rows together is, for it is part of our search.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness import Case, Contest, Side
from benchmarks.networks.questions import CLASS, alarm, file_of
from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.scores import BIC
from stream_bayes.core.search.tree_search import chow_liu_tree, tan_structure

__all__ = ["cases"]

ROWS = 100_000
NEW = 5_000  # rows that come between two searches
RESTARTS = 40
OF_PYBNESIAN, OF_PYAGRUM, OF_FIRST, OF_TREE = 2.0, 4.0, 5.0, 500.0  # times as fast as that peer, at least


@cache
def rows() -> Any:
    return Inference(alarm()).sample_codes(ROWS + NEW, np.random.default_rng(1))


def sample_of(codes: Any) -> Sample:
    network = alarm()
    names = network.structure.variables
    columns: dict[Any, Any] = {v: codes[:, k] for k, v in enumerate(names)}
    return Sample(columns, {v: len(network.states[v]) for v in names})


def timed(work: Callable[[], object]) -> Side:
    """Return a pass that does the work once."""

    def run(events: Any) -> float:
        start = perf_counter()
        work()
        return perf_counter() - start

    return Side(1, run, list)


def contest(ours: Callable[[], object], peer: Callable[[], Callable[[], object]] | None = None) -> Contest:
    return Contest([None], timed(ours), timed(peer()) if peer else None)


def frame() -> Any:
    """Return the rows as labels, in columns that know all of them."""
    import pandas as pd

    network = alarm()
    codes = rows()[:ROWS]
    return pd.DataFrame(
        {
            str(v): pd.Categorical.from_codes(codes[:, k].astype(int), [str(s) for s in network.states[v]])
            for k, v in enumerate(network.structure.variables)
        }
    )


def pyagrum_climbs() -> Callable[[], Any]:
    import pyagrum

    data = frame().astype(str)
    template = _template(pyagrum)

    def work() -> object:
        learner = pyagrum.BNLearner(data, template)
        learner.setNumberOfThreads(1)
        learner.useGreedyHillClimbing()
        learner.useScoreBIC()
        return learner.learnDAG()

    return work


def _template(pyagrum: Any) -> Any:
    """Return a network with the labels alone."""
    network = alarm()
    made = pyagrum.BayesNet()
    for v in network.structure.variables:
        made.add(pyagrum.LabelizedVariable(str(v), str(v), [str(s) for s in network.states[v]]))
    return made


def pyagrum_tree() -> Callable[[], object]:
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    data = "is " + frame().astype(str)  # plain TRUE and FALSE it would read as booleans, and then not find

    def work() -> object:
        classifier = BNClassifier(type_processor=DiscreteTypeProcessor(), learningMethod="TAN")
        classifier.fit(data.drop(columns=CLASS), data[CLASS])
        return classifier

    return work


def pybnesian_climbs() -> Callable[[], Any]:
    import pybnesian

    data = frame()
    return lambda: pybnesian.hc(data, bn_type=pybnesian.DiscreteBNType(), score="bic", operators=["arcs"])


def installed(package: str) -> bool:
    """Return whether a peer is installed, after saying so where it is not."""
    if find_spec(package) is None:
        print(f"benchmarks: {package} is not installed, so it is left out", file=sys.stderr)
        return False
    return True


def climbs(search: HillClimbing) -> Callable[[], object]:
    sample = sample_of(rows()[:ROWS])
    return lambda: search.search(sample.collapsed(), rng=np.random.default_rng(1))


def climbs_from_a_tree(search: HillClimbing) -> Callable[[], object]:
    """Return a search whose tree is found within the timed part."""
    sample = sample_of(rows()[:ROWS])

    def work() -> object:
        together = sample.collapsed()
        return search.search(together, chow_liu_tree(together), rng=np.random.default_rng(1))

    return work


def below(search: HillClimbing, tree: bool, peer: Callable[[], Structure]) -> Contest:
    """By how much a peer's structure scores better than ours."""

    def run(events: Any) -> float:
        sample = sample_of(rows()[:ROWS]).collapsed()
        start = chow_liu_tree(sample) if tree else None
        ours = search.search(sample, start, rng=np.random.default_rng(1))
        return score_of(sample, peer()) - ours.score

    return Contest([None], Side(1, run, list))


def score_of(sample: Sample, structure: Structure) -> float:
    place = {name: number for number, name in enumerate(sample.variables)}
    above = [[place[parent] for parent in structure.parents(name)] for name in sample.variables]
    return FamilyScorer(sample, BIC()).total(above)


def pybnesians() -> Structure:
    """Return the structure found by pybnesian."""
    return Structure.from_edges(pybnesian_climbs()().arcs(), list(alarm().structure.variables))


def pyagrums() -> Structure:
    """Return the structure found by pyAgrum."""
    names = [str(name) for name in alarm().structure.variables]
    return Structure.from_edges([(names[a], names[b]) for a, b in pyagrum_climbs()().arcs()], names)


def climbs_again() -> Contest:
    """Return a search some rows later, from the last one's result and counts."""
    first, new = sample_of(rows()[:ROWS]).collapsed(), sample_of(rows()[ROWS:]).collapsed()
    whole = sample_of(rows()).collapsed()
    start = HillClimbing(restarts=0).search(first).structure

    def run(events: Any) -> float:
        scorer = FamilyScorer(first, BIC())
        HillClimbing(restarts=0).search(first, scorer=scorer)
        begun = perf_counter()
        scorer.follow(whole, new)
        HillClimbing(restarts=0).search(whole, start, scorer=scorer)
        return perf_counter() - begun

    return Contest([None], Side(1, run, list), timed(climbs(HillClimbing(restarts=0))))


def cases() -> list[Case]:
    """Return the lines of the report; none where the network is not installed, as the queries of networks report."""
    if file_of("alarm") is None:
        return []
    named = f"ALARM, {ROWS:,} rows"
    searches = {
        "hill climbing": (HillClimbing(restarts=0), False),
        "hill climbing from a tree, 2 restarts": (HillClimbing(restarts=2), True),
        "hill climbing from a tree, tabu": (HillClimbing(tabu=10, patience=5, restarts=0), True),
    }
    restarted = f"hill climbing, {RESTARTS} restarts"
    found: list[Case] = []
    if installed("pybnesian"):
        for work, (search, tree) in searches.items():
            ours = climbs_from_a_tree(search) if tree else climbs(search)
            found += [
                Case(
                    f"{work}, {named}",
                    partial(contest, ours, pybnesian_climbs),
                    "pybnesian hc",
                    OF_PYBNESIAN,
                    unit="ms",
                ),
                Case(
                    f"{work}, {named}: BIC below pybnesian's",
                    partial(below, search, tree, pybnesians),
                    limit=0.0,
                    unit="nats",
                    once=True,
                ),
            ]
    if installed("pyagrum"):
        found += [
            Case(
                f"{restarted}, {named}",
                lambda: contest(climbs(HillClimbing(restarts=RESTARTS)), pyagrum_climbs),
                "pyAgrum greedy hill climbing",
                OF_PYAGRUM,
                unit="ms",
            ),
            Case(
                f"{restarted}, {named}: BIC below pyAgrum's",
                lambda: below(HillClimbing(restarts=RESTARTS), False, pyagrums),
                limit=0.0,
                unit="nats",
                once=True,
            ),
            Case(
                f"TAN, {named}",
                lambda: contest(
                    lambda: tan_structure(sample_of(rows()[:ROWS]).collapsed(), CLASS), pyagrum_tree
                ),
                "pyAgrum BNClassifier, with its tables",
                OF_TREE,
                unit="ms",
            ),
        ]
    again = f"hill climbing again after {NEW:,} rows, {named}"
    return [*found, Case(again, climbs_again, "the first search", OF_FIRST, unit="ms")]
