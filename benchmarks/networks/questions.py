"""Questions to a known network, ALARM: exact posteriors beside pyAgrum's lazy propagation, and scores of coded rows.

The network comes with pgmpy, or from a folder of .bif.gz files that STREAM_BAYES_BIF_DIR names; pyAgrum gets our
tables, in double precision. Both engines are kept; the evidence differs from question to question.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Case, Contest, Side, timed
from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.networks.files.bif import read_bif

__all__ = ["cases"]

QUESTIONS = 500
KNOWN = 5  # variables
ROWS = 50_000
CLASS = "HYPOVOLEMIA"


def file_of(name: str) -> Path | None:
    """Return the file of a known network, or None."""
    if named := os.environ.get("STREAM_BAYES_BIF_DIR"):
        folder = Path(named)
    elif (pgmpy := find_spec("pgmpy")) and pgmpy.origin:
        folder = Path(pgmpy.origin).parent / "utils" / "example_models"
    else:
        return None
    path = folder / f"{name}.bif.gz"
    return path if path.exists() else None


@cache
def alarm() -> DiscreteNetwork:
    path = file_of("alarm")
    assert path is not None, "cases() offers nothing without the file"
    return read_bif(path)


@cache
def questions() -> list[tuple[str, dict[str, int]]]:
    """Return a target and five known variables each, codes for labels, drawn from the network: they are possible."""
    network, rng = alarm(), np.random.default_rng(1)
    names: list[Any] = list(network.structure.variables)
    made = []
    for row in Inference(network).sample_codes(QUESTIONS, rng).tolist():
        target, *known = rng.permutation(len(names))[: KNOWN + 1].tolist()
        made.append((names[target], {names[v]: row[v] for v in known}))
    return made


def with_labels(raw: Any) -> list[Any]:
    states: Any = alarm().states
    return [(target, {v: states[v][code] for v, code in known.items()}) for target, known in raw]


def asks(engine: Inference) -> Callable[[Any], float]:
    return timed(lambda question: engine.query(*question))


def asks_after_loading(engine: Inference) -> Callable[[Any], float]:
    """Return a pass over a live network: its tables change before each query."""
    network = alarm()

    def ask(question: Any) -> None:
        engine.load(network)
        engine.query(*question)

    return timed(ask)


def pyagrum_side() -> Side | None:
    """Return the pass of the peer; None where it is not installed, after saying so."""
    if find_spec("pyagrum") is None:
        print("benchmarks: pyAgrum is not installed, so it is left out", file=sys.stderr)
        return None
    import pyagrum

    from tests.oracles.pyagrum.make_golden import as_pyagrum

    made = as_pyagrum(alarm())
    engine = pyagrum.LazyPropagation(made)

    def ask(question: Any) -> None:
        target, evidence = question
        engine.setEvidence(evidence)
        engine.setTargets({target})
        engine.makeInference()
        engine.posterior(target)

    return Side(QUESTIONS // 5, timed(ask), list)


def posteriors(asking: Callable[[Inference], Callable[[Any], float]]) -> Contest:
    engine = Inference(alarm())
    return Contest(questions(), Side(QUESTIONS, asking(engine), with_labels), pyagrum_side())


def blanket() -> Contest:
    """Return a variable of ALARM as the class of complete rows."""
    engine = Inference(alarm())
    codes = engine.sample_codes(ROWS, np.random.default_rng(2))

    return Contest([codes], Side(4, timed(lambda rows: engine.blanket_scores(CLASS, rows), ROWS), list))


def cases() -> list[Case]:
    """Return the report's lines; none, after saying so, where the network is not here."""
    if file_of("alarm") is None:
        print(
            "benchmarks: ALARM is not here, so questions to networks are left out; install pgmpy, or name a folder of "
            ".bif.gz files in STREAM_BAYES_BIF_DIR",
            file=sys.stderr,
        )
        return []
    peer = "pyAgrum LazyPropagation"
    return [
        Case("exact posterior, ALARM, 5 known", lambda: posteriors(asks), peer, 2.0),
        Case("exact posterior, ALARM, 5 known, new tables", lambda: posteriors(asks_after_loading), peer),
        Case(f"scores of {CLASS} in complete rows, ALARM", blanket, limit=0.667),
    ]
