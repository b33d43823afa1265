"""From counts to scores: log P(y, x) for each class, by structures that are derived from counts (`core.structures`).

A kernel `_name` scores; the file `name` beside it derives. `_reading` is the base: smoothing, the class prior, and the
loop over rows that tests, then trains. `_terms` computes the products of AODE's super-parents, `_event_counts` reads
counts between bins.
"""
