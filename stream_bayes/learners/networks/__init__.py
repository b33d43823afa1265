"""Learners that are Bayesian networks: `bayes_net` over all variables, `bayes_net_classifier` with a class.

`encoder` makes the encoder of a network's events, `answers` translates evidence and reads tables, `conditional_table`
is P(variable | parents) with credible intervals, `surprise` the explanation of a score, `view` a copy that other
threads use, and `samples` turns rows into a sample for structure search.
"""
