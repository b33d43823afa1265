"""The verbs that all learners share: learn, unlearn, predict, merge, save, explain.

`base` has the public verbs for one sample, `batches` for many rows, `samples` test-then-train, `unlabelled` those
without a label; `pair_classifier` is the base over counts of pairs, `regressor` that of learners of numbers. `state`
saves and merges. `row_encoder` encodes under a schema, and `absent_variables` warns of names that never come.

`class_probabilities`, `credible_intervals`, `explanation`, `posteriors`, `draws`, `evidence`, `edges` and
`feature_tables` read a model. `arguments`, `binning`, `fourier_features`, `prior_tables` and `traits` describe one;
`parameters` reads the meaning of arguments from docstrings.
"""
