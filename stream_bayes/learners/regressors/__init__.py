"""Learners of numbers: a file for each family of regressors.

`linear` is the regression over sums, with waves fitted to its `first_samples`; `gaussian_process` the exact one over
the newest events; `tree` has a regression in each leaf; `several_targets` has one for each target, on the same sums.
"""
