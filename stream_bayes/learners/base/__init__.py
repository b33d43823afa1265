"""The verbs that all classifiers share: learn, unlearn, predict, merge, save, explain.

`base` has the public verbs for one sample, `batches` for many rows, `samples` test-then-train. `state` saves and
merges. `prior_tables` are priors that users write. `predictions`, `explanation`, `intervals`, `cumulants` and
`feature_tables` read a model. `arguments`, `binning` and `traits` describe one; `parameters` reads the meaning of
arguments from docstrings.
"""
