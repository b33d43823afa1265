"""Bayesian networks whose tables are read from counts, so that they follow a stream.

`family_counts` counts each variable with its parents, `batches` many events at once; `em` replaces counts by expected
counts for events with missing values. `counted_network` reads tables from these counts (`_smoothed_rows` holds the
formula), and `live_inference` keeps an inference engine up to date with them.

With a class variable: `labelled_counts` counts by class, `class_reading` scores the classes by the class's Markov
blanket (`_class_reading`), or by exact inference in a `labelled_network` and its relevant `subnetwork` if values are
missing.
"""
