"""Evidence that stays valid however often it is looked at: e-values.

An e-value is a number whose mean is at most 1 if nothing has changed, so that it exceeds 1/a with a probability of at
most a. `exchangeability` has those of a table P(value | configuration) against the newest events.
"""
