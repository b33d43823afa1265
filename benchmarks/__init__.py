"""Benchmarks: how fast the learners are against those that users have now. Run `python -m benchmarks`."""
