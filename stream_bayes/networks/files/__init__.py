"""Files of other tools: Bayesian networks in the Interchange Format (`bif`).

`bif_tokens` splits a text into tokens with their positions, `bif_tables` checks the numbers of a block, and `bif` reads
and writes whole files.
"""
