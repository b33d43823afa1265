"""Instructions of the kernels and paths that matter, against a committed baseline: speed that cannot slip unnoticed.

`python -m benchmarks.guard` counts them, and fails if a path takes over 3 % more than in the baseline; `--only LDA`
counts the paths that a regular expression finds. `make bench-guard` writes the baseline anew.
"""
