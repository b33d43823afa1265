"""Inference in Bayesian networks: `inference` answers questions, `posterior` holds its answers.

A question is answered in these steps. `coded_network` turns names into codes and holds the tables (`_conditionals`);
evidence goes into `_findings`, which also marks the tables that the question needs. `exact` makes a junction tree
(`junction_tree`) and a plan (`plans`), and passes messages over it (`_cliques`, `_propagation`). If that does not fit
into memory, `sampling` draws rows (`_sampling`). `_markov_blanket` scores one variable given all others.

`questions` follow from others, `effects` are those of interventions, `influence_diagram` has decisions and utilities,
and `sensitivity` says what an answer depends on.
"""
