"""Tokens to verdicts: the spam filter."""
