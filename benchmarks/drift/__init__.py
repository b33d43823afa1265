"""Streams that drift: what following costs and gains, what the options of `DriftAdaptive` are worth."""
