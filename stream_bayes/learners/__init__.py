"""The public learners: River estimators over a store of counts, a file for each family.

`catalogue` declares each of them once; `factory` makes them from the names and arguments of files and commands. `base`
has the verbs that all share, `classifiers`, `regressors` and `sequences` the models, `wrappers` windows and choices
around other learners, and `adaptive` the mixture of experts. Bayesian networks are in `networks`.
"""
