"""Bayesian networks that learn, with a class and without."""
