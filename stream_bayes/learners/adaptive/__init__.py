"""Experts over a stream, mixed by how well they predict: the learner to use when you do not know which.

`experts.py` lists the experts, `inputs.py` adds what some of them see besides the features (the last labels, numbers
relative to their recent mean, with the loops in `_trends.py`), `_encoding.py` turns an event into rows for all,
`_panel.py` lets all predict it and mixes the answers, and `sleeping.py` decides which sleep. Where a store has no room
for all features, `information.py` ranks them, and it is filled anew from `newest_events.py`, as it is when numbers have
left their bins (`moved_numbers.py`). `adaptive_bayes.py` is the learner.
"""
