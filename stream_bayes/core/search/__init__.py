"""Search for the structure of a Bayesian network in a sample of rows.

`sample` holds the rows and numbers their configurations, `completions` fills in missing values. By score:
`hill_climbing` (a `climb` and its restarts), `order_search`, `exact_search` and `k2` maximise one of `scores`, which
`family_scorer` counts and caches family by family; they return a `search_result`. `score_search` has what the first
three share, `scored_families` is what they ask of scores, and `constraints` are their edges and limits, `saved_search`
reads them from their JSON, and `mixed_scores` are scores over names and numbers, whose inner loops `_linear_scores`
has. By mutual information from `pair_tables`: `tree_search`. By tests of independence: `pc`, which directs edges in a
`pdag`. `structure_score` scores a given structure, `edge_posterior` each edge. `_counting` and `_climbing` have the
other inner loops.
"""
