"""Graphs, and networks of conditional tables."""
