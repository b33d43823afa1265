"""Learners of sequences: what follows what, with a key for many sequences at once.

`markov_chain` counts values by those before them, `hidden_markov` learns hidden states (`hidden_model` is what it shows
of them). `keyed_sequences` keeps the newest values of each key, `shown_values` says what an event shows, and
`sequence_learner` has what these learners share, such as how unexpected an event is.
"""
