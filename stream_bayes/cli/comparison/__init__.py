"""The comparison of models on a stream, as `stream-bayes compare` shows it.

`request` has what is compared, on which rows, and what all kinds of models share. `classifiers`, `regressors` and
`networks` compare one kind each and print the result; `models` makes the models that are named.
"""
