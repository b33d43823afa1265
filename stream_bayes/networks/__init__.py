"""Bayesian networks: learn them from a stream, query them, search for their structure, read and write them.

Learn and query
    BayesNet                a joint model of all variables, learned one event at a time
    DynamicNetwork          a joint model of events and the newest ones before them: forecasts
    MixedNetwork            a joint model of names and numbers: densities, forecasts, anomalies
    LatentClass             groups that nobody named, in names and numbers
    BayesNetClassifier      River's classifier over a graph that contains the class
    ConditionalTable        P(variable | parents) with credible intervals, from `BayesNet.cpt`

Networks as values
    Structure               a directed acyclic graph: d-separation, Markov blankets, moral graph, CPDAG, SHD
    DiscreteNetwork         a structure with its conditional tables
    read_network, write_network         files in BIF, XMLBIF, XDSL (GeNIe) and NET (Hugin), by their ending
    read_diagram, write_diagram         influence diagrams in XDSL, NET and XMLBIF
    read_bif, write_bif     files in the Interchange Format (BIF)
    noisy_or                the table of an effect of which each cause is enough by itself
    to_pgmpy, from_pgmpy, to_pyagrum, from_pyagrum      models of these packages
    Difference, EquivalenceClass        structures compared; the structures that no data can distinguish

Infer
    Inference               exact (junction tree), likelihood weighting, Gibbs sampling, most probable explanation
    Posterior, MostProbable, Sampled    its answers
    InfluenceDiagram        decisions and utilities over a network: the best policy, what knowing more is worth;
    Decision, Utility       its parts
    average_effect          what setting a variable does to another; adjustment_set, the variables to adjust for
    table_sensitivities, finding_impacts    how an answer follows the tables, and each finding of the evidence:
    TableSensitivity, FindingImpact         their answers

Search for a structure
    sample_of(rows)         a data frame, columns or dicts as a `Sample`; `BayesNet.recent()` returns one, too
    ExactSearch             by score: the optimum, for at most 20 variables
    HillClimbing            by score, with tabu list and restarts
    BOSS                    by score, over orders of the variables: higher than hill climbing, and slower
    K2Search                by score, with a known order of the variables
    PC                      by tests of independence; its test is `g_test`, which returns a `GTest`
    chow_liu_tree, tan_structure        trees by mutual information
    BIC, AIC, BDeu, K2, LogLikelihood   scores, all of them a `Score`
    mixed_structure(rows)   hill climbing over names and numbers, for a `MixedNetwork`
    score(structure, rows)  the score of a given structure
    edge_confidence         the share of bootstrap replicates that have an edge
    edge_posterior          the probability of each edge over all structures, for at most 16 variables
    average_network         the structure that probabilities of edges suggest
    hidden_states           the number of states of a hidden variable, by rows that were not learned; a `HiddenStates`
    hidden_structure        the graph with a hidden variable, by structural EM; a `HiddenStructure`
    FamilyScorer            scores of families, cached between searches
    SearchResult, Move, ConstraintResult    results

Examples
--------
>>> from stream_bayes.networks import BayesNet, HillClimbing, Inference, sample_of
>>> rows = [{"rain": rain, "lawn": lawn} for rain, lawn in 20 * [("yes", "wet"), ("no", "dry"), ("no", "wet")]]
>>> found = HillClimbing(max_parents=2).search(sample_of(rows))
>>> found.structure.cpdag().reversible
(('lawn', 'rain'),)
>>> model = BayesNet(found.structure)
>>> model.learn_many(rows)
>>> round(model.query("rain", {"lawn": "wet"})["yes"], 3)
0.5
>>> Inference(model.to_network()).most_probable({"lawn": "dry"})["rain"]
'no'
"""

from typing import TYPE_CHECKING

from stream_bayes.lazy_imports import front

if TYPE_CHECKING:
    from stream_bayes.core.inference.effects import adjustment_set, average_effect
    from stream_bayes.core.inference.inference import Inference
    from stream_bayes.core.inference.influence_diagram import Decision, InfluenceDiagram, Utility
    from stream_bayes.core.inference.posterior import MostProbable, Posterior, Sampled
    from stream_bayes.core.inference.sensitivity import (
        FindingImpact,
        TableSensitivity,
        finding_impacts,
        table_sensitivities,
    )
    from stream_bayes.core.networks.discrete_network import DiscreteNetwork
    from stream_bayes.core.networks.equivalence import Difference, EquivalenceClass
    from stream_bayes.core.networks.noisy_or import noisy_or
    from stream_bayes.core.networks.structure import Structure
    from stream_bayes.core.search.edge_posterior import average_network, edge_posterior
    from stream_bayes.core.search.exact_search import ExactSearch
    from stream_bayes.core.search.family_scorer import FamilyScorer
    from stream_bayes.core.search.hill_climbing import HillClimbing
    from stream_bayes.core.search.k2 import K2Search
    from stream_bayes.core.search.order_search import BOSS
    from stream_bayes.core.search.pc import PC, ConstraintResult, GTest, g_test
    from stream_bayes.core.search.sample import Sample
    from stream_bayes.core.search.scores import AIC, BIC, K2, BDeu, LogLikelihood, Score
    from stream_bayes.core.search.search_result import Move, SearchResult
    from stream_bayes.core.search.structure_score import edge_confidence, score
    from stream_bayes.core.search.tree_search import chow_liu_tree, tan_structure
    from stream_bayes.networks.bayes_net import BayesNet
    from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier
    from stream_bayes.networks.conditional_table import ConditionalTable
    from stream_bayes.networks.dynamic_network import DynamicNetwork
    from stream_bayes.networks.files.bif import read_bif, write_bif
    from stream_bayes.networks.files.network_files import (
        read_diagram,
        read_network,
        write_diagram,
        write_network,
    )
    from stream_bayes.networks.files.other_tools import from_pgmpy, from_pyagrum, to_pgmpy, to_pyagrum
    from stream_bayes.networks.latent_class import LatentClass
    from stream_bayes.networks.mixed_network import MixedNetwork
    from stream_bayes.networks.mixed_search import mixed_structure
    from stream_bayes.networks.samples import sample_of
    from stream_bayes.networks.state_numbers import HiddenStates, hidden_states
    from stream_bayes.networks.structural_em import HiddenStructure, hidden_structure

__all__ = [
    "AIC",
    "BIC",
    "BOSS",
    "K2",
    "PC",
    "BDeu",
    "BayesNet",
    "BayesNetClassifier",
    "ConditionalTable",
    "ConstraintResult",
    "Decision",
    "Difference",
    "DiscreteNetwork",
    "DynamicNetwork",
    "EquivalenceClass",
    "ExactSearch",
    "FamilyScorer",
    "FindingImpact",
    "GTest",
    "HiddenStates",
    "HiddenStructure",
    "HillClimbing",
    "Inference",
    "InfluenceDiagram",
    "K2Search",
    "LatentClass",
    "LogLikelihood",
    "MixedNetwork",
    "MostProbable",
    "Move",
    "Posterior",
    "Sample",
    "Sampled",
    "Score",
    "SearchResult",
    "Structure",
    "TableSensitivity",
    "Utility",
    "adjustment_set",
    "average_effect",
    "average_network",
    "chow_liu_tree",
    "edge_confidence",
    "edge_posterior",
    "finding_impacts",
    "from_pgmpy",
    "from_pyagrum",
    "g_test",
    "hidden_states",
    "hidden_structure",
    "mixed_structure",
    "noisy_or",
    "read_bif",
    "read_diagram",
    "read_network",
    "sample_of",
    "score",
    "table_sensitivities",
    "tan_structure",
    "to_pgmpy",
    "to_pyagrum",
    "write_bif",
    "write_diagram",
    "write_network",
]

__getattr__, __dir__ = front(
    __name__,
    {
        "core.inference.effects": (
            "adjustment_set",
            "average_effect",
        ),
        "core.inference.inference": ("Inference",),
        "core.inference.influence_diagram": (
            "Decision",
            "InfluenceDiagram",
            "Utility",
        ),
        "core.inference.sensitivity": (
            "FindingImpact",
            "TableSensitivity",
            "finding_impacts",
            "table_sensitivities",
        ),
        "core.networks.noisy_or": ("noisy_or",),
        "core.inference.posterior": (
            "MostProbable",
            "Posterior",
            "Sampled",
        ),
        "core.networks.discrete_network": ("DiscreteNetwork",),
        "core.networks.equivalence": (
            "Difference",
            "EquivalenceClass",
        ),
        "core.networks.structure": ("Structure",),
        "core.search.family_scorer": ("FamilyScorer",),
        "core.search.edge_posterior": ("average_network", "edge_posterior"),
        "core.search.exact_search": ("ExactSearch",),
        "core.search.hill_climbing": ("HillClimbing",),
        "core.search.k2": ("K2Search",),
        "core.search.order_search": ("BOSS",),
        "core.search.pc": (
            "PC",
            "ConstraintResult",
            "GTest",
            "g_test",
        ),
        "core.search.sample": ("Sample",),
        "core.search.scores": (
            "AIC",
            "BIC",
            "K2",
            "BDeu",
            "LogLikelihood",
            "Score",
        ),
        "core.search.search_result": (
            "Move",
            "SearchResult",
        ),
        "core.search.structure_score": (
            "edge_confidence",
            "score",
        ),
        "core.search.tree_search": (
            "chow_liu_tree",
            "tan_structure",
        ),
        "networks.files.bif": (
            "read_bif",
            "write_bif",
        ),
        "networks.files.network_files": (
            "read_diagram",
            "read_network",
            "write_diagram",
            "write_network",
        ),
        "networks.files.other_tools": (
            "from_pgmpy",
            "from_pyagrum",
            "to_pgmpy",
            "to_pyagrum",
        ),
        "networks.bayes_net": ("BayesNet",),
        "networks.bayes_net_classifier": ("BayesNetClassifier",),
        "networks.conditional_table": ("ConditionalTable",),
        "networks.dynamic_network": ("DynamicNetwork",),
        "networks.latent_class": ("LatentClass",),
        "networks.mixed_network": ("MixedNetwork",),
        "networks.structural_em": ("HiddenStructure", "hidden_structure"),
        "networks.state_numbers": ("HiddenStates", "hidden_states"),
        "networks.mixed_search": ("mixed_structure",),
        "networks.samples": ("sample_of",),
    },
)
