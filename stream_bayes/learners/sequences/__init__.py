"""Learners of sequences: what follows what, with a key for many sequences at once."""
