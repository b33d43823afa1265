"""Bayesian networks whose tables are read from counts, so that they follow a stream.

`family_counts` counts each variable with its parents, `batches` many events at once; `em` replaces counts by expected
counts for events with missing values. `counted_network` reads tables from these counts (`_smoothed_rows` holds the
formula), and `live_inference` keeps an inference engine up to date with them.

With a class variable: `labelled_counts` counts by class, `class_reading` scores the classes by the class's Markov
blanket (`_class_reading`), or by exact inference in a `labelled_network` and its relevant `subnetwork` if values are
missing.

Over names and numbers: `mixed_counts` counts (`family_sums` is one family of them), `mixed_families` reads
distributions from them (`_numeric_family` those of numbers), `mixed_inference` answers and `mixed_draws` draws;
`mixed_unrolling` has the families of events to come, `mixed_completions` fills in gaps by expectation maximisation,
`normal_scores` gives numbers any shape, `tails` are those of bins, and `novelty` keeps a share for values that were
never learned. With hidden states: a `hidden_chain` of `hidden_emissions`, and a `hidden_bank` of chains with different
numbers of states.
"""
