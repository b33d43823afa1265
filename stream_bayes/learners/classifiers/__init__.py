"""Classifiers, a file for each family."""
