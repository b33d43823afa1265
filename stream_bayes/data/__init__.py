"""Declared features and data frames.

`schema` holds the features (`features`: nominal or numeric) and classes of a stream. It encodes frames of any library
(`frames`, a column at a time in `frame_columns`) to `columns`, which learners take without encoding again.
"""
