"""From counts to scores: log P(y, x) for each class, by structures that are derived from counts (`core.structures`).

A kernel scores; the file of its name beside it derives, for `aode`, `spode`, `one_parent` (TAN, ODE), `kdb`, `choice`,
`discriminant` and `neighbours`. `weighted` is naive Bayes by information, `chain` reads sequences, `state` checks what
is loaded. `_reading` is the base: smoothing, the class prior, and the loop over rows that tests, then trains. `_terms`
computes the products of AODE's super-parents, `_event_counts` reads counts between bins.
"""
