"""Public streams, learners of this package and of River on them, and a report: `python -m benchmarks.streams`.

`sources.py` has the streams, `models.py` the models, `scoring.py` the measures of a run, `ranks.py` mean ranks with
their critical difference, and `report.py` the tables.
"""
