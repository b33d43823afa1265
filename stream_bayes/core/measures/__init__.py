"""Prequential measures of a stream of predictions."""
