"""Detecting drift and replacing the model.

    x, y -> `adaptive`     the present model predicts, then learns; its loss is the signal
            `watch`        a detector of River's on the signal: stable, warning or drift; since which event
            `candidates`   models that start from the events since then, by a search in the loop or in the background
            `trial`        all predict and learn; judged by log loss after 25 events, 50 more, 100 more, ...
            `succession`   adopts or refuses them; retired models are tried again at the next drift
            `log`          each step, with its event, scores and changed edges

`recent_events` stores the newest events as codes, `family_detectors` watch each feature by itself, `family_changes`
tests each family of a network without a class, whose tables are counted again one by one, by the tables that
`family_cells` makes of names and of the residuals of numbers, `recall` gives a family back what it had counted before a
change, one of the `remembered_families`, `detectors` names River's detectors, and `renewal` tries a candidate although
no drift was seen. `adaptive_regression` follows drift of numbers, which `forecast_changes` sees in where targets fall
in their forecasts. All of this depends on the order of events alone, and all of it is in snapshots: a restart runs a
search again. A value has the same code in the present model, in the stored events and in each candidate.
"""
