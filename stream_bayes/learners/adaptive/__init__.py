"""Experts over a stream, mixed by how well they predict: the learner to use when you do not know which.

`experts.py` lists the experts, `inputs.py` adds what some of them see besides the features (the last labels, numbers
relative to their recent mean, with the loops in `_trends.py`), `_encoding.py` turns an event into rows for all,
`admission.py` chooses what a store without room takes of it, `_panel.py` lets all predict it and mixes the answers,
`sleeping.py` decides which sleep, and `adaptive_bayes.py` is the learner.
"""
