"""Classifiers, a file for each family.

`naive_bayes` (with Gaussian and in bins), `text` (multinomial, Bernoulli, complement), `one_dependence` (SPODE,
AODE, A2DE), `trees` (ODE, TAN), `kdb` and `live_choice` (the best of these lately) count names and bins. `discriminant`
(LDA, QDA) has sums of products, `logistic` the regression of labels, over waves too, and `neighbours` keeps events.
`ordered` is the base of those that depend on the order of events.
"""
