"""Weighted counts: a commutative group that adds, takes back, merges, fades and saves."""
