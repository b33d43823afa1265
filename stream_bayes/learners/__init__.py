"""The public learners: River estimators over a store of counts, a file for each family.

`classifier` has the verbs that all share, `networks` the Bayesian networks. `sliding_window`, `half_life_choice`,
`live_choice` and `deciding_classifier` wrap or combine learners. `classifier_names` maps short names to classes,
`catalogue` the same with `adaptive`, for files and commands; `parameters` reads the meaning of arguments from
docstrings.
"""
