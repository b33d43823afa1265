"""Bayesian networks as values: `structure` (the graph) and `discrete_network` (the graph with its tables).

`graph_algorithms` are those over numbered vertices, `structure_input` reads and checks dicts, edges and networkx
graphs, `equivalence` compares structures, `pictures` draws them, and `dot` writes them for Graphviz. `noisy_or` makes a
table from causes, `unrolling` repeats a network over time. Nothing here learns or answers questions.
"""
