"""From sums to lines: what a number is expected to be, given others.

`_summed` reads the sums of a store, which unlearn and merge; `_fading` keeps a root of sums of its own, whose older
events count less. `random_fourier_features` turns numbers into waves, on which a line is nearly a Gaussian process;
`gaussian_process` is the exact one, over a few hundred events. `missing_columns` fills in columns that an event lacks.
`logistic` is the regression of labels, `tree` one with a line in each leaf.
"""
