"""Drawings of networks with the posteriors of all variables given evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.inference.posterior import Posterior
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.equivalence import Difference, Edge
from stream_bayes.core.networks.pictures import MOST_BARS, belief_bars, drawn_structure, links_of, table_bars
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.pictures.html import block, plain_table
from stream_bayes.core.pictures.picture import Picture

__all__ = ["Queried", "drawn_network", "network_html"]

X = Mapping[Any, Any]
MOST_VARIABLES = 150  # of a network that is drawn with bars unless they are requested
MOST_BYTES = 2**24  # that exact answers about all variables may take, unless they are requested


class Queried(Protocol):
    """A network that answers: a `BayesNet` or a view of one."""

    @property
    def structure(self) -> Structure:
        """The parents of each variable."""

    def marginals(self, evidence: X | None = None) -> Mapping[Any, Posterior]:
        """Return the probabilities of every variable's values given evidence."""

    def query(self, targets: Any, evidence: X | None = None, *, level: float) -> Posterior:
        """Return the probabilities of a variable's values, with their intervals."""

    def to_network(self) -> DiscreteNetwork:
        """Return the network as a value."""


def drawn_network(
    network: DiscreteNetwork | Queried,
    evidence: X | None = None,
    *,
    tables: bool = False,
    level: float | None = None,
    difference: Difference | None = None,
    confidence: Mapping[Edge, float] | None = None,
    most: int = MOST_BARS,
) -> Picture:
    """Draw a network with a bar for the probability of each label given evidence.

    `evidence` is observed labels, or likelihoods of labels, by variable; observed variables get an orange border.
    `tables` draws P(variable | parents) in place of the posteriors: a row for each combination of the parents' labels.
    `level` is the probability of the credible interval that each bar gets, only for networks that count. `difference`
    are the changes that led to this structure: added edges are blue, reversed ones orange, removed ones dashed.
    `confidence` is that of edges, from 0 to 1. A node has `most` rows at most.

    Examples
    --------
    >>> from stream_bayes import BayesNet
    >>> model = BayesNet({"rain": [], "lawn": ["rain"]})
    >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "dry")]:
    ...     model.learn_one({"rain": rain, "lawn": lawn})
    >>> drawn_network(model, {"lawn": "wet"}).title
    'A network of 2 variables and 1 edge; 1 observed'
    """
    structure = network.structure
    links = links_of(structure.variables, structure.edges, difference, confidence)
    observed = {v: value for v, value in (evidence or {}).items() if value is not None and value == value}
    if tables:
        whole = network if isinstance(network, DiscreteNetwork) else network.to_network()
        bars = {
            v: table_bars(whole.tables[v], [whole.states[parent] for parent in structure.parents(v)], most)
            for v in structure.variables
        }
        return drawn_structure(structure.variables, links, bars, observed)
    if evidence is None and level is None and not _is_quick(network):
        return drawn_structure(structure.variables, links)
    answers = _answers(network)(evidence)
    if level is not None and not isinstance(network, DiscreteNetwork):
        answers = {
            v: answer if v in observed else network.query(v, evidence, level=level)
            for v, answer in answers.items()
        }
    bars = {
        v: belief_bars(answer, observed.get(v, ...), answer.intervals, most)
        for v, answer in answers.items()
        if None not in answer  # no value is known
    }
    return drawn_structure(structure.variables, links, bars, observed)


def network_html(network: Queried, caption: str) -> str:
    """Return a network for a notebook, with the posteriors of all variables where these are found in moments."""
    return block(plain_table(caption, (), ()), drawn_network(network).svg())


def _answers(network: DiscreteNetwork | Queried) -> Callable[[X | None], Mapping[Any, Posterior]]:
    return Inference(network).marginals if isinstance(network, DiscreteNetwork) else network.marginals


def _is_quick(network: DiscreteNetwork | Queried) -> bool:
    """Return True if the posteriors of all variables are found in moments."""
    if len(network.structure) > MOST_VARIABLES:
        return False
    if isinstance(network, DiscreteNetwork):
        return Inference(network).bytes_for_everything <= MOST_BYTES
    states = getattr(network, "states", {})
    cells = 0
    for variable in network.structure.variables:
        size = len(states.get(variable, ())) or 1
        for parent in network.structure.parents(variable):
            size *= len(states.get(parent, ())) or 1
        cells += size
    return cells * 64 <= MOST_BYTES
