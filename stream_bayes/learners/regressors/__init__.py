"""Learners of numbers: a file for each family of regressors."""
