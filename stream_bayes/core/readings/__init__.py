"""From counts to scores: log P(y, x) for each class, and the structures that are derived from counts.

A kernel `_name` scores; the file `name` beside it derives. `_reading` is the base: smoothing, the class prior, and the
loop over rows that tests, then trains. `_information` computes mutual information, `_terms` the products of AODE's
super-parents, `_event_counts` reads counts between bins.
"""
